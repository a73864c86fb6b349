// Checklist: what a program leaves to its loader. Each test is named after the line of the checklist that it
// shows to hold.
#include <gmock/gmock.h>

#include "tests/unit/vm/vm_harness.h"

namespace dyn::vm::test {
namespace {

using testing::ElementsAre;

const std::string kAddConstant =
    std::string(kKernelRows) +
    "constant \"w\" f32 [2] offset 0\nfunction f parameters 1 results 1\n loadconst v1 c0\n const r0 2\n"
    " newtensor v2 f32 0 [r0]\n launch k0 r0 r0 [v0 v1 v2] []\n ret [v2]\n";

// f of {1, 2} in a program loaded with this host.
std::vector<float> result(const std::vector<uint8_t>& bytes, TestHost& host) {
  const dyn_host callbacks = host.host();
  dyn_module* raw = nullptr;
  EXPECT_EQ(dyn_module_load_memory(bytes.data(), bytes.size(), &callbacks, &raw), DYN_OK)
      << dyn_last_message();
  const ModuleHandle module(raw);
  const dyn_options options = {};
  dyn_context* made = nullptr;
  EXPECT_EQ(dyn_context_create(raw, &options, &made), DYN_OK) << dyn_last_message();
  const ContextHandle context(made);
  const float x[] = {1, 2};
  const int64_t shape = 2;
  dyn_value* value = nullptr;
  EXPECT_EQ(dyn_value_tensor(made, DYN_F32, 1, &shape, x, sizeof x, &value), DYN_OK);
  const Value input(value);
  EXPECT_EQ(dyn_context_run_function(made, "f", &value, 1), DYN_OK) << dyn_last_message();
  dyn_value* output = nullptr;
  EXPECT_EQ(dyn_context_get_output(made, 0, &output), DYN_OK);
  return dataOf<float>(Value(output));
}

TEST(Checklist, C37_ConstantsAreBoundWhenAProgramIsLoaded) {
  const std::vector<uint8_t> bytes = serializeProgram(assemble(kAddConstant));
  Program again;
  ASSERT_TRUE(parseProgram(bytes.data(), bytes.size(), again).ok());
  ASSERT_EQ(again.constants.size(), 1u);
  EXPECT_EQ(serializeProgram(again), bytes)
      << "the constant's row comes back, and its bytes are nobody's here";
  const float tens[] = {10, 20}, hundreds[] = {100, 200};
  TestHost first, second;
  first.constants = {tens};
  second.constants = {hundreds};
  EXPECT_THAT(result(bytes, first), ElementsAre(11, 22));
  EXPECT_THAT(result(bytes, second), ElementsAre(101, 202));
  TestHost none;
  const dyn_host callbacks = none.host();
  dyn_module* module = nullptr;
  EXPECT_NE(dyn_module_load_memory(bytes.data(), bytes.size(), &callbacks, &module), DYN_OK);
  EXPECT_EQ(module, nullptr);
}

TEST(Checklist, C39_TheSameBytecodeRunsWithTwoLibrariesOfKernels) {
  const std::vector<uint8_t> bytes = serializeProgram(assemble(kAddConstant));
  const float w[] = {10, 20};
  TestHost adds, multiplies;
  adds.constants = multiplies.constants = {w};
  multiplies.kernels["add"] = [](void* const* buffers, const int64_t*, int64_t begin, int64_t end,
                                 void*) -> int32_t {
    const auto *a = static_cast<const float*>(buffers[0]), *b = static_cast<const float*>(buffers[1]);
    for (int64_t i = begin; i < end; ++i) static_cast<float*>(buffers[2])[i] = a[i] * b[i];
    return DYN_KERNEL_OK;
  };
  EXPECT_THAT(result(bytes, adds), ElementsAre(11, 22));
  EXPECT_THAT(result(bytes, multiplies), ElementsAre(10, 40));
}

}  // namespace
}  // namespace dyn::vm::test
