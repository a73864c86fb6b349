// What a node of a long model costs in memory, from the file to the program: a model of a million nodes is to
// fit where one of a thousand does.
#include <gtest/gtest.h>

#include "compiler/lower/lowered_module.h"
#include "compiler/passes/pass_table.h"
#include "tests/robustness/allocation_hook.h"
#include "tests/robustness/compiled_program.h"
#include "tests/robustness/onnx_builder.h"

namespace dyn::robustness {
namespace {

constexpr int kNodes = 20'000;

std::string chain() {
  OnnxModel model;
  model.input("v0", kFloat, {"n", "4"}).output("v" + std::to_string(kNodes));
  for (int i = 0; i < kNodes; ++i) {
    const std::string in = "v" + std::to_string(i), out = "v" + std::to_string(i + 1);
    model.node(i % 2 ? "Neg" : "Sin", {in.c_str()}, {out.c_str()});
  }
  return model.bytes();
}

class PerNode {
 public:
  int64_t live() const { return (liveBytes() - liveBefore_) / kNodes; }
  int64_t allocated() const {
    return static_cast<int64_t>(allocationsOfThisThread().bytes - before_.bytes) / kNodes;
  }

 private:
  int64_t liveBefore_ = liveBytes();
  AllocationCount before_ = allocationsOfThisThread();
};

// The limits are what is there and a fifth.
TEST(BytesPerNode, ofAChain) {
  const std::string source = chain();
  const PerNode all;
  IrContext ir;
  Result<Module> module = importBytes(ir, source);
  ASSERT_TRUE(module.ok()) << module.error().toString();
  EXPECT_LE(all.allocated(), 1200) << "allocated while it was read, of which " << all.live() << " stay";
  EXPECT_LE(all.live(), 240) << "an operation, its name and place";

  // One more operation for each, with its type: what is fused shares it.
  const PerNode ofPasses;
  std::vector<Module> trace{*module};
  for (const PipelineItem& item : standardPipeline()) {
    PassContext context;
    context.options = item.options;
    Result<Module> after = item.pass->run(trace.back(), context);
    ASSERT_TRUE(after.ok()) << item.pass->name << ": " << after.error().toString();
    trace.push_back(*std::move(after));
  }
  EXPECT_LE(ofPasses.live(), 240) << "after the passes";
  Result<LoweredModule> lowered = lowerModule(trace.back(), LowerOptions());
  ASSERT_TRUE(lowered.ok()) << lowered.error().toString();
  EXPECT_LE(ofPasses.live(), 250) << "and the program";
}

}  // namespace
}  // namespace dyn::robustness
