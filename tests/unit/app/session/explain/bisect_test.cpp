// Bisection finds faults that tests plant: passes of the table with something wrong behind them, registered
// nowhere but here.
#include "app/session/explain/bisect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/session/session.h"
#include "app/session/views/pass_views.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/pass_table.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/text_module.h"

namespace dyn {
namespace {

using testing::HasSubstr;
using Verdict = BisectStep::Verdict;

// Five steps in a row, of which the planted faults touch one or two.
constexpr const char* kModel =
    R"(fn @main(%x: Tensor[(n, 4), f32], %w: Tensor[(4, 4), f32]) -> (Tensor[(n, 4), f32], Tensor[(n, 4), f32]) {
  %c = constant() {value = f32[4] [1, 2, 3, 4]}
  %d = neg(%c)
  %a = matmul(%x, %w)
  %b = relu(%a)
  %e = matmul(%b, %w)
  %f = add(%e, %d)
  %g = softmax(%f) {axis = -1}
  %h = matmul(%g, %w)
  %i = matmul(%h, %w)
  %j = add(%i, %f)
  %k = tanh(%j)
  return %k, %b
}
)";

const PassDef& realPass(std::string_view name) {
  for (const PassDef& row : passTable())
    if (row.name == name) return row;
  return passTable()[0];
}

// The pass, and then `change` on every operation of its result.
Result<Module> spoilt(std::string_view pass, const Module& module, PassContext& context,
                      const std::function<void(Op&)>& change) {
  DYN_TRY(Module right, realPass(pass).run(module, context));
  return rewriteFunctions(right, [&](const Function& function) -> Result<const Function*> {
    Function wrong = function;
    for (const Op*& op : wrong.ops) {
      Op copy = *op;
      change(copy);
      if (copy.def != op->def || !(copy.attributes == op->attributes))
        op = module.context->own(std::move(copy));
    }
    return wrong.ops == function.ops ? &function : module.context->own(std::move(wrong));
  });
}

Result<Module> wrongFuse(const Module& module, PassContext& context) {
  return spoilt("fuse", module, context, [](Op& op) {
    if (op.def == &ops::addOp) op.def = &ops::subOp;
  });
}

Result<Module> wrongFold(const Module& module, PassContext& context) {
  return spoilt("fold", module, context, [](Op& op) {
    const HostTensor* value = op.attributes.tensor("value");
    if (op.def != &ops::constantOp || value->realAt(0) != -1) return;
    HostTensor other = *value;
    other.setReal(2, -2.5);
    op.attributes.set("value", other);
  });
}

// Every planned buffer at the same place.
Result<Module> wrongPlan(const Module& module, PassContext& context) {
  IrContext& ir = *module.context;
  return spoilt("plan", module, context, [&](Op& op) {
    if (op.def == &ops::allocOp && op.attributes.has("offset"))
      op.attributes.set("offset", Shape{ir.dims().constant(0)});
  });
}

class BisectTest : public testing::Test {
 protected:
  // Runs the standard pipeline with `run` in place of the pass of that name, and bisects.
  Result<BisectAnswer> bisectWith(std::string_view pass, Result<Module> (*run)(const Module&, PassContext&)) {
    DYN_TRY(module_, test::parseText(ir_, kModel));
    Pipeline pipeline = standardPipeline();
    planted_ = realPass(pass);
    planted_.run = run;
    for (PipelineItem& item : pipeline)
      if (item.pass->name == pass) item.pass = &planted_;
    TraceStep import;
    import.kind = StepKind::import;
    import.name = "import";
    import.after = module_;
    trace_.steps.push_back(import);
    DYN_TRY(Module placed, runPipeline(module_, pipeline, trace_));
    (void)placed;
    std::vector<Value> inputs;
    for (std::vector<int64_t> shape : {std::vector<int64_t>{3, 4}, {4, 4}}) {
      HostTensor tensor = *HostTensor::create(Dtype::f32, shape);
      for (int64_t i = 0; i < tensor.elementCount(); ++i)
        tensor.setReal(i, static_cast<double>((7 * i + 3) % 11) / 8 - 0.5);
      inputs.emplace_back(std::move(tensor));
    }
    BisectRequest request{trace_, pipeline, std::move(inputs), Tolerance{}, {}, {}, {}};
    request.runProgram = [&](const Module& module, const std::vector<Value>& values) {
      return runPlaced(module, values, CompileOptions{}, SessionOptions{.threadCount = 1}, interruption_);
    };
    return bisect(request);
  }

  bool canCompile() {
    IrContext ir;
    Result<Module> module = test::parseText(ir, kModel);
    return module.ok() && compileModel(*module, CompileOptions{}).ok();
  }

  IrContext ir_;
  Module module_;
  PassDef planted_;
  Trace trace_;
  Interruption interruption_;
};

int64_t opsOf(const Sample& sample) { return static_cast<int64_t>(countOps(sample.module)); }

bool holds(const Sample& sample, const OpDef& def) {
  bool found = false;
  forEachOp(sample.module, [&](const Function&, const Op& op) { found = found || op.def == &def; });
  return found;
}

// What was written can be read again.
void expectParses(const Sample& sample) {
  PrintOptions whole;
  whole.maxInlineElements = -1;
  const std::string text = print(sample.module, whole);
  IrContext ir;
  Result<Module> again = test::parseText(ir, text);
  EXPECT_TRUE(again.ok()) << again.error().toString() << "\n" << text;
}

TEST_F(BisectTest, NothingWrongNothingFound) {
  if (!canCompile()) GTEST_SKIP() << "no code generation";
  Result<BisectAnswer> answer = bisectWith("fuse", realPass("fuse").run);
  ASSERT_TRUE(answer.ok()) << answer.error().toString();
  EXPECT_FALSE(answer->finding);
  EXPECT_EQ(answer->steps.front().verdict, Verdict::baseline);
  EXPECT_EQ(answer->steps.back().by, Evaluation::program);
  EXPECT_EQ(answer->steps.back().verdict, Verdict::same);
}

TEST_F(BisectTest, FindsAWrongFusion) {
  Result<BisectAnswer> answer = bisectWith("fuse", wrongFuse);
  ASSERT_TRUE(answer.ok()) << answer.error().toString();
  ASSERT_TRUE(answer->finding);
  EXPECT_EQ(answer->finding->at.name, "fuse");
  EXPECT_EQ(answer->finding->at.by, Evaluation::reference);
  EXPECT_EQ(answer->finding->at.verdict, Verdict::differs);
  ASSERT_TRUE(answer->finding->reduced);
  EXPECT_EQ(opsOf(*answer->finding->reduced), 1) << print(answer->finding->reduced->module);
  EXPECT_TRUE(holds(*answer->finding->reduced, ops::addOp));
  expectParses(*answer->finding->reduced);
}

TEST_F(BisectTest, FindsAWrongConstant) {
  Result<BisectAnswer> answer = bisectWith("fold", wrongFold);
  ASSERT_TRUE(answer.ok()) << answer.error().toString();
  ASSERT_TRUE(answer->finding);
  EXPECT_EQ(answer->finding->at.name, "fold");
  ASSERT_TRUE(answer->finding->reduced);
  // The constant, and the operation that is folded into it.
  EXPECT_EQ(opsOf(*answer->finding->reduced), 2) << print(answer->finding->reduced->module);
  EXPECT_TRUE(holds(*answer->finding->reduced, ops::negOp));
  expectParses(*answer->finding->reduced);
}

TEST_F(BisectTest, FindsAWrongPlan) {
  if (!canCompile()) GTEST_SKIP() << "no code generation";
  Result<BisectAnswer> answer = bisectWith("plan", wrongPlan);
  ASSERT_TRUE(answer.ok()) << answer.error().toString();
  ASSERT_TRUE(answer->finding);
  EXPECT_EQ(answer->finding->at.name, "plan");
  EXPECT_EQ(answer->finding->at.by, Evaluation::program);
  EXPECT_FALSE(answer->finding->inCompilation);
  // The reference does not see memory; the snapshot before the plan runs right, and so does the plan's with
  // nothing shared.
  bool placeRan = false, unsharedRan = false;
  for (const BisectStep& step : answer->steps) {
    EXPECT_FALSE(step.by == Evaluation::reference && step.verdict == Verdict::differs) << step.name;
    placeRan |= step.name == "bufferize" && step.by == Evaluation::program && step.verdict == Verdict::same;
    unsharedRan |= step.by == Evaluation::unsharedProgram && step.verdict == Verdict::same;
  }
  EXPECT_TRUE(placeRan);
  EXPECT_TRUE(unsharedRan);
  ASSERT_TRUE(answer->finding->reduced);
  EXPECT_LT(opsOf(*answer->finding->reduced), static_cast<int64_t>(countOps(module_)));
  EXPECT_GE(opsOf(*answer->finding->reduced), 2);  // one buffer alone overlaps nothing
  expectParses(*answer->finding->reduced);
}

// A rounding that the user asked for is the one real "fault" a command can show: found, reduced, written, and
// seen again from the file.
TEST(BisectCommandTest, WritesTheReducedModuleAndItsInputs) {
  test::TemporaryFolder folder;
  const std::string model =
      folder.write("m.dyn", R"(fn @main(%x: Tensor[(n, 4), f32]) -> (Tensor[(n, 3), f32]) {
  %w = constant() {value = f32[4, 3] [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9], [1.1, 1.2, 1.3]]}
  %a = tanh(%x)
  %b = matmul(%a, %w)
  %c = relu(%b)
  return %c
}
)");
  SessionOptions options{.threadCount = 1};
  options.math = "bf16";
  Session session(options);
  auto line = [&](const std::string& text) {
    Result<Command> command = parseCommand(text);
    EXPECT_TRUE(command.ok()) << text;
    return session.execute(*command);
  };
  ASSERT_TRUE(line(":load " + model)->ok());
  const std::string file = model.substr(0, model.size() - 5) + "fault.dyn";
  auto outcome = line(":bisect --dim n=2 --rtol 1e-7 -o " + file);
  const BisectView* view = outcome->as<BisectView>();
  ASSERT_NE(view, nullptr) << (outcome->error ? outcome->error->message : "");
  EXPECT_EQ(outcome->exitCode(), 3);
  ASSERT_TRUE(view->first);
  EXPECT_EQ(view->first->name, "prepack");
  EXPECT_EQ(view->reducedFile, file);
  EXPECT_EQ(view->reducedOpsCount, 2);  // the product and its weights
  ASSERT_EQ(view->reducedInputs.size(), 1u);
  ASSERT_TRUE(line(":load " + file)->ok());
  auto again = line(":bisect --rtol 1e-7 --input " + view->reducedInputs[0].first + "=@" +
                    view->reducedInputs[0].second);
  ASSERT_NE(again->as<BisectView>(), nullptr) << (again->error ? again->error->message : "");
  ASSERT_TRUE(again->as<BisectView>()->first);
  EXPECT_EQ(again->as<BisectView>()->first->name, "prepack");
}

}  // namespace
}  // namespace dyn
