// Code of this process as text: where functions end, loops, and what they call.
#include "compiler/codegen/object/running_code.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/codegen/llvm/machine_catalog.h"

namespace dyn {
namespace {

volatile int sink = 0;

__attribute__((noinline)) void shownCallee(int value) { sink = sink + value; }

__attribute__((noinline)) void shownCaller(int count) {
  for (int i = 0; i < count; ++i) shownCallee(i);
  sink = sink * 3;
}

size_t linesOf(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(RunningCode, showsAFunctionToItsEndAndThoseThatItCalls) {
  Result<MachineDescription> machine = detectHost();
  ASSERT_TRUE(machine.ok());
  const auto texts = textsOfRunningCode(
      *machine, {reinterpret_cast<const void*>(&shownCaller), reinterpret_cast<const void*>(&shownCallee)},
      1000);
  ASSERT_TRUE(texts.ok()) << texts.error().toString();
  ASSERT_EQ(texts->size(), 2u);
  const std::string &caller = (*texts)[0], &callee = (*texts)[1];
  EXPECT_EQ(caller.rfind("# ", 0), 0u) << caller;
  EXPECT_NE(caller.find("shownCaller"), std::string::npos) << caller;
  EXPECT_NE(caller.find("shownCallee"), std::string::npos) << "what it calls: " << caller;
  EXPECT_EQ(callee.find("shownCaller"), std::string::npos)
      << "nothing of the functions beside it: " << callee;
  EXPECT_EQ(caller.find(".byte"), std::string::npos) << "every byte is an instruction: " << caller;
  EXPECT_NE(caller.find(".L"), std::string::npos) << "a loop has a label: " << caller;
#if defined(__x86_64__)
  EXPECT_NE(callee.find("ret"), std::string::npos) << callee;
#endif
}

TEST(RunningCode, isCutAtSoManyInstructions) {
  Result<MachineDescription> machine = detectHost();
  ASSERT_TRUE(machine.ok());
  const auto texts = textsOfRunningCode(*machine, {reinterpret_cast<const void*>(&shownCaller)}, 4);
  ASSERT_TRUE(texts.ok()) << texts.error().toString();
  EXPECT_LE(linesOf((*texts)[0]), 4u + 8u) << (*texts)[0];
}

TEST(RunningCode, isOfThisArchitectureAlone) {
  Result<MachineDescription> machine = machinePreset("aarch64");
  if (!machine.ok()) GTEST_SKIP() << "there is no such preset";
  const auto texts = textsOfRunningCode(*machine, {reinterpret_cast<const void*>(&shownCaller)}, 10);
#if defined(__x86_64__)
  ASSERT_FALSE(texts.ok());
  EXPECT_EQ(texts.error().id, DiagnosticId::unsupportedFeature);
#endif
}

}  // namespace
}  // namespace dyn
