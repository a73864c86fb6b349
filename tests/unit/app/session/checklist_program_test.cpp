// Checklist: groups of operations, memory, and what a program launches.
#include <set>
#include <sstream>

#include "app/session/views/memory_views.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/pass_table.h"
#include "tests/support/paths.h"
#include "tests/unit/app/session/checklist.h"

namespace dyn {
namespace {

using test::Passed;
using testing::HasSubstr;

class ChecklistProgram : public test::ChecklistSession {};

constexpr const char* kChain = R"(fn @main(%x: Tensor[(n, 16), f32], %w: Tensor[(16, 16), f32]) {
  %a = matmul(%x, %w)
  %b = softmax(%a) {axis = -1}
  %c = matmul(%b, %w)
  %d = softmax(%c) {axis = -1}
  %e = matmul(%d, %w)
  %f = softmax(%e) {axis = -1}
  return %f
})";

// The sizes of what comes out of a group are those that its operations give one by one.
TEST(Checklist, C15_AGroupHasTheShapesOfItsOperations) {
  Passed m(R"(fn @main(%x: Tensor[(n, m), f32], %b: Tensor[(m), f32]) {
  %a = add(%x, %b)
  %t = transpose(%a) {perm = [1, 0]}
  %r = relu(%t)
  %ax = constant() {value = i64[1] [0]}
  %s = reduce_sum(%r, %ax) {keepdims = 0}
  return %r, %s
})");
  ASSERT_TRUE(m.ok()) << m.error->toString();
  const Module& fused = m.trace.find("fuse")->after;
  EXPECT_GT(m.count(fused, ops::fusedOp), 0);
  InterpreterOptions asserted;
  asserted.shapes = ShapeAssertion::on;
  for (int64_t n : {0, 1, 2, 7})
    for (int64_t k : {0, 1, 5}) {
      const std::vector<Value> inputs = {test::reals({n, k}), test::reals({k})};
      Result<std::vector<Value>> apart = interpret(m.typed, inputs, asserted),
                                 grouped = interpret(fused, inputs, asserted);
      ASSERT_TRUE(apart.ok() && grouped.ok());
      for (size_t i = 0; i < 2; ++i) EXPECT_EQ((*apart)[i].tensor().shape(), (*grouped)[i].tensor().shape());
    }
}

TEST(Checklist, C16_AValueDependentOperationIsNotFusedBehindItsProducer) {
  Passed m(R"(fn @main(%x: Tensor[(n), f32]) {
  %r = relu(%x)
  %i = nonzero(%r)
  %f = cast(%i) {to = f32}
  %g = mul(%f, %f)
  %h = exp(%g)
  return %h
})");
  ASSERT_TRUE(m.ok()) << m.error->toString();
  const Module& fused = m.trace.find("fuse")->after;
  int64_t forward = 0;
  forEachOp(fused, [&](const Function& function, const Op& op) {
    EXPECT_TRUE(op.def != &ops::nonzeroOp || &function == fused.main());
    if (op.def == &ops::fusedOp)
      forward = std::max<int64_t>(forward, static_cast<int64_t>(op.regions[0]->ops.size()));
  });
  EXPECT_EQ(forward, 3);  // what follows is one kernel
}

// The host reads the elements of the inputs that sizes are made of, each once, and of no others.
TEST_F(ChecklistProgram, C17_OnlyInputsThatSizesNeedAreReadByTheHost) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  load(
      R"(fn @main(%x: Tensor[(n, 6), f32], %count: Tensor[(), i64], %w: Tensor[(n, 6), i64], %to: Tensor[(2), i64]) {
  %zero = constant() {value = i64[] 0}
  %one = constant() {value = i64[] 1}
  %steps = range(%zero, %count, %one)
  %r = reshape(%x, %to)
  %s = shape(%w)
  %u = add(%w, %w)
  %e = exp(%r)
  return %steps, %e, %u, %s
})");
  const std::string program = text(":bytecode");
  std::multiset<std::string> read;
  std::istringstream lines(program);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    for (std::string word; words >> word;)
      if (word == "item") {
        std::string result, from;
        words >> result >> from;
        read.insert(from);
      }
  }
  EXPECT_EQ(read, (std::multiset<std::string>{"v1", "v3", "v3"})) << program;
  const auto ran = run("--dim n=4 --input count=5 --input to=[8,3]");
  EXPECT_EQ(ran->outputs[0].value.tensor().shape(), std::vector<int64_t>{5});
  EXPECT_EQ(ran->outputs[1].value.tensor().shape(), (std::vector<int64_t>{8, 3}));
}

TEST_F(ChecklistProgram, C18_EmptyResultsLaunchNothing) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  load(
      "fn @main(%x: Tensor[(n, 4), f32]) {\n  %y = exp(%x)\n  %z = transpose(%y) {perm = [1, 0]}\n  return "
      "%z\n}");
  auto empty = run("--dim n=0");
  EXPECT_EQ(empty->launchesCount, 0);
  EXPECT_EQ(empty->outputs[0].value.tensor().shape(), (std::vector<int64_t>{4, 0}));
  EXPECT_GT(run("--dim n=2")->launchesCount, 0);
}

TEST_F(ChecklistProgram, C19_ReshapesCopyNothingAndAChainIsOneInstruction) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  load(R"(fn @main(%x: Tensor[(n, 6), f32]) {
  %a = constant() {value = i64[2] [-1, 3]}
  %b = constant() {value = i64[3] [-1, 3, 1]}
  %c = constant() {value = i64[1] [-1]}
  %p = reshape(%x, %a)
  %q = reshape(%p, %b)
  %r = reshape(%q, %c)
  return %r
})");
  auto result = run("--dim n=4");
  EXPECT_EQ(result->launchesCount, 0);
  EXPECT_EQ(result->outputs[0].value.tensor().shape(), std::vector<int64_t>{24});
  const std::string program = text(":bytecode");
  size_t views = 0;
  for (size_t at = program.find("reshape"); at != std::string::npos; at = program.find("reshape", at + 1))
    ++views;
  EXPECT_EQ(views, 1u) << program;
}

TEST(Checklist, C20_EveryKernelWritesIntoMemoryThatIsMadeBefore) {
  Passed m(kChain);
  ASSERT_TRUE(m.ok()) << m.error->toString();
  const Module& placed = m.trace.find("bufferize")->after;
  std::set<ValueId> allocated;
  for (const Op* op : placed.main()->ops) {
    EXPECT_NE(op->def->lowering, LoweringKind::loops) << op->def->name;
    EXPECT_NE(op->def->lowering, LoweringKind::builtin) << op->def->name;
    if (op->def == &ops::allocOp) allocated.insert(op->results[0].id);
    if (op->def != &ops::intoOp) continue;
    const size_t outputs = static_cast<size_t>(op->attributes.integer("outputs"));
    for (size_t i = op->operands.size() - outputs; i < op->operands.size(); ++i)
      EXPECT_TRUE(allocated.count(op->operands[i]));
  }
  EXPECT_FALSE(allocated.empty());
}

TEST(Checklist, C21_PlacingAndPlanningASecondTimeChangesNothing) {
  Passed m(kChain);
  ASSERT_TRUE(m.ok()) << m.error->toString();
  Module current = m.placed;
  for (const char* name : {"bufferize", "plan"})
    for (const PassDef& pass : passTable())
      if (pass.name == name) {
        PassContext context;
        Result<Module> again = pass.run(current, context);
        ASSERT_TRUE(again.ok()) << again.error().toString();
        EXPECT_TRUE(*again == current) << name;
      }
}

// The refusals in full are in static_test.cpp.
TEST_F(ChecklistProgram, C12_AStaticBuildRefusesAnyDynamicValueInside) {
  const std::string model = folder_.write("m.dyn", R"(fn @main(%x: Tensor[(4), f32]) {
  %i = nonzero(%x)
  %c = cast(%i) {to = f32}
  %s = reduce_sum(%c) {keepdims = 0}
  return %s
})");
  EXPECT_TRUE(line(":load " + model)->ok());
  const std::string error =
      errorOf(":load " + model + " --static");  // inputs and outputs are static, what is between is not
  EXPECT_THAT(error, testing::AllOf(HasSubstr("nonzero"), HasSubstr("dim 1")));
}

TEST_F(ChecklistProgram, C22_ThePlanSavesAllocationsAndCostsLittleOverAStaticOne) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  const std::string model = dyn::test::sourceFolder() + "/samples/models/bert/model.onnx";
  auto loaded = line(":load " + model);
  if (!loaded->ok() && loaded->exitCode() == 4) GTEST_SKIP() << loaded->error->message;
  ASSERT_TRUE(loaded->ok());
  const auto planned = run("--dim batch=2 --dim seq=64");
  auto again = line(":load " + model + " --dim batch=2 --dim seq=64 --static");
  ASSERT_TRUE(again->ok()) << again->error->message;
  const auto fixed = run("");
  EXPECT_LE(static_cast<double>(planned->peakBytes), 1.08 * static_cast<double>(fixed->peakBytes));
  ASSERT_TRUE(line(":set passes -plan")->ok());
  ASSERT_TRUE(line(":load " + model)->ok());
  const auto unplanned = run("--dim batch=2 --dim seq=64");
  // Buffers that are asked for one by one, against one arena and the results.
  EXPECT_LE(static_cast<double>(planned->allocationsCount),
            0.53 * static_cast<double>(unplanned->allocationsCount))
      << planned->allocationsCount << " with, " << unplanned->allocationsCount << " without the plan";
}

TEST(Checklist, C23_ThePlanChangesNoBit) {
  IrContext ir;
  Result<Module> module = test::parseText(ir, kChain);
  CompileOptions off;
  off.passes = "-plan";
  Result<std::unique_ptr<test::Compiled>> with = test::Compiled::make(*module),
                                          without = test::Compiled::make(*module, off);
  if (!with.ok()) GTEST_SKIP() << with.error().toString();
  ASSERT_TRUE(without.ok()) << without.error().toString();
  for (int64_t n : {0, 1, 5, 33}) {
    const std::vector<HostTensor> inputs = {test::reals({n, 16}, 4), test::reals({16, 16}, 5)};
    Result<std::vector<HostTensor>> a = (*with)->run(inputs), b = (*without)->run(inputs);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_TRUE(Value((*a)[0]).identical(Value((*b)[0]))) << n;
  }
}

TEST_F(ChecklistProgram, C24_MemoryEndsWithTheLastUse) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  load(kChain);
  // Six results of n x 16, of which no more than four are there at a time, the inputs aside.
  const int64_t one = 64 * 16 * 4;
  EXPECT_LE(run("--dim n=64")->peakBytes, 4 * one + one + 16 * 16 * 4);
  // A value that only one branch reads is gone in the other as well.
  load(R"(fn @main(%c: Tensor[(), bool], %x: Tensor[(n), f32]) {
  %a = sin(%x)
  %i = nonzero(%a)
  %f = cast(%i) {to = f32}
  %y = if(%c, %f, %x) then (%p: Tensor[(1, k), f32], %q: Tensor[(n), f32]) {
    %s = reduce_sum(%p) {keepdims = 0}
    return %s
  } else (%p2: Tensor[(1, k), f32], %q2: Tensor[(n), f32]) {
    %s2 = reduce_sum(%q2) {keepdims = 0}
    return %s2
  }
  return %y
})");
  const int64_t first = run("--dim n=1000 --input c=true")->peakBytes;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run("--dim n=1000 --input c=true")->peakBytes, first);
  EXPECT_LE(run("--dim n=1000 --input c=false")->peakBytes, first);
}

TEST_F(ChecklistProgram, C25_ThePoolIsBoundedUnderRandomShapes) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  IrContext ir;
  Result<Module> module = test::parseText(ir, R"(fn @main(%x: Tensor[(n), f32]) {
  %i = nonzero(%x)
  %f = cast(%i) {to = f32}
  %g = exp(%f)
  return %g
})");
  Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*module);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  auto peak = [&] {
    dyn_statistics statistics{};
    dyn_context_statistics((*compiled)->context.get(), &statistics);
    return statistics.peak_bytes;
  };
  ASSERT_TRUE((*compiled)->run({test::reals({4000})}).ok());
  const uint64_t largest = peak();
  std::mt19937 random(7);
  uint64_t most = 0;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE((*compiled)->run({test::reals({static_cast<int64_t>(random() % 400)})}).ok());
    most = std::max(most, static_cast<uint64_t>(peak()));
  }
  EXPECT_LE(most, 2 * largest);
}

TEST(Checklist, M7_GroupsAreMadeWhereSizesAreProvedEqualAndNowhereElse) {
  auto groups = [](const char* text) {
    Passed m(text);
    EXPECT_TRUE(m.ok());
    std::vector<size_t> sizes;
    forEachOp(m.trace.find("fuse")->after, [&](const Function&, const Op& op) {
      if (op.def == &ops::fusedOp) sizes.push_back(op.regions[0]->ops.size());
    });
    return sizes;
  };
  // Loop: one kernel; with a result of another size in between, not.
  EXPECT_EQ(groups("fn @main(%x: Tensor[(n), f32]) {\n %a = exp(%x)\n %b = neg(%a)\n return %b\n}"),
            std::vector<size_t>{2});
  EXPECT_TRUE(groups("fn @main(%x: Tensor[(n), f32], %z: Tensor[(m), f32]) {\n %a = exp(%x)\n %b = neg(%z)\n "
                     "return %a, %b\n}")
                  .empty());
  // Contraction with what follows of its own size; what follows of another size stays out.
  EXPECT_EQ(groups("fn @main(%x: Tensor[(n, k), f32], %w: Tensor[(k, m), f32]) {\n %a = matmul(%x, %w)\n %b "
                   "= relu(%a)\n "
                   "return %b\n}"),
            std::vector<size_t>{2});
  EXPECT_TRUE(groups("fn @main(%x: Tensor[(n, k), f32], %w: Tensor[(k, m), f32], %z: Tensor[(p, m), f32]) "
                     "{\n %a = matmul(%x, "
                     "%w)\n %b = relu(%z)\n return %a, %b\n}")
                  .empty());
}

TEST_F(ChecklistProgram, M8_SoftmaxAndLayerNormAreOneKernelEach) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  for (const char* body : {"%ax = constant() {value = i64[1] [-1]}\n%m = reduce_max(%x, %ax) {keepdims = "
                           "1}\n%d = sub(%x, %m)\n%e = exp(%d)\n"
                           "%s = reduce_sum(%e, %ax) {keepdims = 1}\n%y = div(%e, %s)",
                           "%y = softmax(%x) {axis = -1}", "%y = layer_norm(%x, %g, %g) {axis = -1}"}) {
    SCOPED_TRACE(body);
    load("fn @main(%x: Tensor[(n, k), f32], %g: Tensor[(k), f32]) {\n" + std::string(body) +
         "\nreturn %y\n}");
    EXPECT_EQ(run("--dim n=5 --dim k=7")->launchesCount, 1);
  }
}

TEST_F(ChecklistProgram, M14_ASteadyProgramAllocatesNothing) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  load(kChain);
  EXPECT_EQ(run("--dim n=40 --repeat 5 --warmup 2")->allocationsCount, 0);
  EXPECT_EQ(run("--dim n=17 --repeat 2 --warmup 1")->allocationsCount, 0);  // a smaller one fits
}

TEST_F(ChecklistProgram, M21_ThePeakIsAnExpressionThatRunsMeet) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  load(kChain);
  EXPECT_THAT(line(":plan")->as<PlanView>()->peak, HasSubstr("n"));
  std::mt19937 random(3);
  for (int i = 0; i < 50; ++i) {
    auto result = run("--dim n=" + std::to_string(random() % 200));
    ASSERT_TRUE(result->predictedPeakBytes);
    EXPECT_EQ(*result->predictedPeakBytes, result->peakBytes);
  }
}

TEST(Checklist, M23_GroupsCanBeSeenLimitedAndSwitchedOff) {
  const char* text =
      "fn @main(%x: Tensor[(n), f32]) {\n %a = exp(%x)\n %b = neg(%a)\n %c = tanh(%b)\n %d = sin(%c)\n "
      "return %d\n}";
  auto kernels = [&](const std::string& passes) {
    Passed m(text, passes);
    EXPECT_TRUE(m.ok()) << m.error->toString();
    return m.count(m.placed, ops::intoOp);
  };
  EXPECT_EQ(kernels(""), 1);
  EXPECT_EQ(kernels("+fuse{max=2}"), 2);
  EXPECT_EQ(kernels("-fuse"), 4);
  Passed m(text);
  EXPECT_THAT(print(m.trace.find("fuse")->after), HasSubstr("fused"));
}

}  // namespace
}  // namespace dyn
