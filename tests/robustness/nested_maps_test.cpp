// Operators that only move elements, one in the other: twice as many are twice the work, whichever they are,
// alone and in pairs. Index maps that are put together without a bound grow with every step, or double. The
// work is counted in allocations up to the program, as in linearity_test.cpp.
#include <gtest/gtest.h>

#include "compiler/lower/lowered_module.h"
#include "compiler/passes/pass_table.h"
#include "tests/robustness/allocation_hook.h"
#include "tests/robustness/compiled_program.h"
#include "tests/support/nested_maps.h"
#include "tests/support/share.h"

namespace dyn::robustness {
namespace {

constexpr int kFewest = 8, kMost = 64;
constexpr double kMostGrowth = 2.6;  // of twice as many; tables double when they are full

AllocationCount workOf(const std::string& text) {
  const AllocationCount before = allocationsOfThisThread();
  IrContext ir;
  Result<Module> module = parseText(ir, text);
  EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().toString());
  Result<Pipeline> pipeline = parsePipeline("", passTable(), standardPipeline());
  EXPECT_TRUE(pipeline.ok());
  if (!module.ok() || !pipeline.ok()) return {};
  for (const PipelineItem& item : *pipeline) {
    PassContext context;
    context.options = item.options;
    module = item.pass->run(*module, context);
    EXPECT_TRUE(module.ok()) << item.pass->name << ": " << (module.ok() ? "" : module.error().toString());
    if (!module.ok()) return {};
  }
  Result<LoweredModule> lowered = lowerModule(*module, LowerOptions());
  EXPECT_TRUE(lowered.ok()) << (lowered.ok() ? "" : lowered.error().toString());
  const AllocationCount after = allocationsOfThisThread();
  return {after.count - before.count, after.bytes - before.bytes};
}

void expectLinear(const std::vector<std::string>& names) {
  std::string what;
  for (const std::string& name : names) what += name + " ";
  AllocationCount half = workOf(test::nestedMaps(names, kFewest));
  for (int count = 2 * kFewest; count <= kMost; count *= 2) {
    const AllocationCount whole = workOf(test::nestedMaps(names, count));
    // It stops at the first: what doubles with each step would fill the memory at the next.
    ASSERT_LE(static_cast<double>(whole.count), kMostGrowth * static_cast<double>(half.count))
        << what << count << ": allocations";
    ASSERT_LE(static_cast<double>(whole.bytes), kMostGrowth * static_cast<double>(half.bytes))
        << what << count << ": bytes";
    half = whole;
  }
}

TEST(NestedMaps, eachAlone) {
  for (const test::MapStep& step : test::mapSteps()) expectLinear({step.name});
}

TEST(NestedMaps, inPairs) {
  const test::Share share(4);
  SCOPED_TRACE(share.text());
  size_t number = 0;
  for (const test::MapStep& a : test::mapSteps())
    for (const test::MapStep& b : test::mapSteps())
      if (a.name < b.name && share.has(number++)) expectLinear({a.name, b.name});
}

}  // namespace
}  // namespace dyn::robustness
