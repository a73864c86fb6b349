// The table of builtins: which rows are flat, and what a flat kernel may take of its caller.
#include "tests/unit/vm/kernels/builtin_harness.h"

namespace dyn::vm::test {
namespace {

TEST(FlatRows, EveryRowThatOnlyWritesIntoTensorsIsFlat) {
  int flat = 0;
  for (const BuiltinRow* each : builtinTable()) {
    const BuiltinRow& row = *each;
    EXPECT_EQ(row.isFlat(), row.traits.isFlat()) << row.name;
    EXPECT_EQ(row.isFlat(), row.flat.run != nullptr) << row.name;
    EXPECT_TRUE(row.isFlat() || !row.flat.scratchBytes) << row.name;
    EXPECT_FALSE(row.isFlat() && row.is(calls::DRY_RUN))
        << row.name << ": a dry run of a flat row is its first function";
    EXPECT_FALSE(!row.isFlat() && row.is(calls::SETTINGS)) << row.name;
    flat += row.isFlat() ? 1 : 0;
  }
  EXPECT_GE(flat, 20);
}

class FlatCallTest : public BuiltinTest {};

TEST_F(FlatCallTest, AKernelRefusesMemoryThatIsTooSmall) {
  Tensor *x = floats({2, 5, 5}), *y = output({2});
  const BuiltinRow& row = *findBuiltin("det");
  const auto half = [&](const DynBuiltinCall* call, uint64_t* bytes) {
    const int32_t status = row.flat.scratchBytes(call, bytes);
    EXPECT_EQ(*bytes, 256u);  // 25 doubles, in whole lines
    *bytes /= 2;
    return status;
  };
  const Status status = callFlat(half, row.flat.run, {x}, {}, {y});
  EXPECT_EQ(status.code, DYN_INTERNAL);
  EXPECT_EQ(status.message, "the call has too little scratch memory");
}

TEST_F(FlatCallTest, WhatIsNoTensorDoesNotReachAKernel) {
  Tensor* y = output({2});
  const Status status = call("det", {list({})}, {}, {y});
  EXPECT_EQ(status.code, DYN_BAD_INPUT);
}

TEST_F(FlatCallTest, FaultsKeepTheirTexts) {
  Tensor *x = floats({2, 5, 4}), *y = output({2});
  const Status status = call("det", {x}, {}, {y});
  EXPECT_EQ(status.code, DYN_BAD_INPUT);
  EXPECT_EQ(status.message, "det: argument 0 must be square matrices of f32 or f64, got f32[2,5,4]");
}

// A pool, called as C would: structures filled by hand, threads that are no threads.
TEST(FlatInterface, AKernelRunsWithoutTheVm) {
  const auto parallel = [](const DynBuiltinContext*, int64_t count, int32_t tasks, DynBuiltinRange body,
                           void* user) {
    for (int32_t task = 0; task < tasks; ++task) body(user, count * task / tasks, count * (task + 1) / tasks);
  };
  DynBuiltinContext context = {};
  context.threads = 3;
  context.parallel = parallel;
  context.cancelled = [](const DynBuiltinContext*) { return 0; };
  context.fault = [](const DynBuiltinContext*, const char* text) { ADD_FAILURE() << text; };
  const int64_t from[] = {1, 1, 4}, to[] = {1, 1, 2}, scalars[] = {0, 0};
  float x[] = {1, 5, 3, 2}, y[] = {0, 0};
  const int32_t numbers[] = {1, 0, 2, 2, 1};
  const DynTensorView argument{x, from, nullptr, 4, 3, DYN_F32}, result{y, to, nullptr, 2, 3, DYN_F32};
  DynBuiltinCall call{&context, nullptr, &argument, &result, scalars, numbers, 1, 1, 2, 5, nullptr, 0};
  const DynBuiltinKernel& kernel = findBuiltin("pool")->flat;
  ASSERT_EQ(kernel.scratchBytes(&call, &call.scratchBytes), DYN_OK);
  alignas(64) std::byte scratch[4096];
  ASSERT_LE(call.scratchBytes, sizeof scratch);
  call.scratch = scratch;
  ASSERT_EQ(kernel.run(&call), DYN_OK);
  EXPECT_EQ(y[0], 5);
  EXPECT_EQ(y[1], 3);
}

}  // namespace
}  // namespace dyn::vm::test
