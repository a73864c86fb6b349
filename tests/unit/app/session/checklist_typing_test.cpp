// Checklist: types with unknown dims, facts about dims, and what is refused when a model is compiled.
#include "compiler/infer/infer.h"
#include "tests/unit/app/session/checklist.h"

namespace dyn {
namespace {

using test::Passed;
using testing::AllOf;
using testing::HasSubstr;

TEST(Checklist, C1_DimsParsePrintAndRoundTrip) {
  const char* text =
      "fn @main(%x: Tensor[(?0, n, 7, 2*n + 1), f32]) -> (Tensor[(?0, n, 7, 2*n + 1), f32]) {\n"
      "  return %x\n}\n";
  IrContext first, second;
  Result<Module> module = test::parseText(first, text);
  ASSERT_TRUE(module.ok()) << module.error().toString();
  EXPECT_EQ(print(*module), text);
  Result<Module> again = test::parseText(second, print(*module));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(print(*again), text);
}

TEST(Checklist, C2_BroadcastOfUnknownDims) {
  Passed m(
      R"(fn @main(%n: Tensor[(n), f32], %k: Tensor[(k), f32], %one: Tensor[(1), f32], %five: Tensor[(5), f32]) {
  %a = add(%n, %one)
  %b = add(%n, %five)
  %c = add(%n, %k)
  return %a, %b, %c
})");
  ASSERT_TRUE(m.ok()) << m.error->toString();
  EXPECT_EQ(m.typeText("a"), "Tensor[(n), f32]");  // (?, 1) → ?
  EXPECT_EQ(m.typeText("b"), "Tensor[(5), f32]");  // (?, d) → d, and ? is checked to be 1 or d
  const Dim both = m.dim("c", 0);                  // (?, ?) → ?
  EXPECT_FALSE(both.isConstant());
  EXPECT_EQ(m.count(m.typed, ops::checkOp), 2);
}

TEST(Checklist, C3_RelationsHoldForSizesZeroAndOne) {
  for (const char* body :
       {"%y = add(%x, %z)", "%y = matmul(%x, %w)", "%y = concat(%x, %z) {axis = 0}",
        "%y = transpose(%x) {perm = [1, 0]}", "%y = reduce_sum(%x, %i) {keepdims = 1}",
        "%y = softmax(%x) {axis = -1}", "%s = constant() {value = i64[1] [-1]} %y = reshape(%x, %s)",
        "%y = gather(%x, %i) {axis = 1}", "%a, %y = split(%x) {axis = 0}", "%y = nonzero(%x)",
        "%y = shape(%x)"}) {
    SCOPED_TRACE(body);
    std::vector<std::vector<HostTensor>> inputs;
    for (int64_t n : {0, 1, 3})
      for (int64_t k : {1, 2})
        inputs.push_back(
            {test::reals({n, k}, 1), test::reals({n, k}, 2), test::reals({k, n}, 3), test::ints({0})});
    test::expectSame(
        "fn @main(%x: Tensor[(a, b), f32], %z: Tensor[(c, d), f32], %w: Tensor[(e, f), f32], %i: "
        "Tensor[(1), i64]) {\n" +
            std::string(body) + "\nreturn %y\n}",
        inputs);
  }
}

TEST(Checklist, C4_SizesThatDependOnValuesAreUnknown) {
  Passed m(
      R"(fn @main(%a: Tensor[(), i64], %x: Tensor[(8), f32], %b: Tensor[(1, 6, 4), f32], %s: Tensor[(1, 2, 6), f32]) {
  %one = constant() {value = i64[] 1}
  %zero = constant() {value = i64[] 0}
  %r = range(%zero, %a, %one)
  %w = nonzero(%x)
  %u, %f, %i, %c = unique(%x)
  %k = non_max_suppression(%b, %s)
  return %r, %w, %u, %k
})");
  ASSERT_TRUE(m.ok()) << m.error->toString();
  EXPECT_FALSE(m.dim("r", 0).isConstant());
  EXPECT_FALSE(m.dim("w", 1).isConstant());
  EXPECT_EQ(m.dim("w", 0).constant(), 1);
  EXPECT_FALSE(m.dim("u", 0).isConstant());
  EXPECT_FALSE(m.dim("k", 0).isConstant());
  EXPECT_EQ(m.dim("k", 1).constant(), 3);
}

TEST(Checklist, C5_ABroadcastThatDoesNotFitIsAnErrorWithOperatorAndDims) {
  const char* text =
      "fn @main(%x: Tensor[(n), f32], %z: Tensor[(k), f32]) {\n  %y = add(%x, %z)\n  return %y\n}";
  IrContext ir;
  Result<Module> module = test::parseText(ir, text);
  ASSERT_TRUE(module.ok());
  Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*module);
  if (!compiled.ok()) GTEST_SKIP() << compiled.error().toString();
  Result<std::vector<HostTensor>> wrong = (*compiled)->run({test::reals({2}), test::reals({3})});
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, AllOf(HasSubstr("add"), HasSubstr("2"), HasSubstr("3")));
  test::expectSame(text, {{test::reals({2}), test::reals({2})},
                          {test::reals({1}), test::reals({4})},
                          {test::reals({4}), test::reals({1})},
                          {test::reals({0}), test::reals({1})}});
}

TEST(Checklist, C6_ChecksAreInsertedOnlyWhereAKnownDimIsDemanded) {
  Passed accepted(R"(fn @main(%x: Tensor[(4), f32]) {
  %y = relu(%x) : Tensor[(?), f32]
  return %y
})");
  ASSERT_TRUE(accepted.ok());
  EXPECT_EQ(accepted.count(accepted.typed, ops::checkOp), 0);
  Passed demanded(R"(fn @main(%x: Tensor[(?), f32]) {
  %y = relu(%x) : Tensor[(4), f32]
  %z = neg(%y) : Tensor[(4), f32]
  return %z
})");
  ASSERT_TRUE(demanded.ok()) << demanded.error->toString();
  EXPECT_EQ(demanded.count(demanded.typed, ops::checkOp), 1);
}

std::string growingLoop(const std::string& type) {
  return "fn @main(%n: Tensor[(), i64], %x: Tensor[(3), f32]) {\n"
         "  %t = constant() {value = bool[] true}\n"
         "  %y = loop(%n, %t, %x) {carried = 1} body (%i: Tensor[(), i64], %a: " +
         type + ") -> (Tensor[(), bool], " + type +
         ") {\n    %c = constant() {value = bool[] true}\n    %b = concat(%a, %a) {axis = 0}\n    return %c, "
         "%b\n  }\n"
         "  return %y\n}";
}

TEST(Checklist, C7_AGrowingLoopNeedsAnUnknownDim) {
  Passed open(growingLoop("Tensor[(?), f32]"));
  ASSERT_TRUE(open.ok()) << open.error->toString();
  EXPECT_FALSE(open.dim("y", 0).isConstant());
  Passed wrong(growingLoop("Tensor[(3), f32]"));
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error->id, DiagnosticId::shapeMismatch) << wrong.error->toString();
}

TEST(Checklist, C8_EqualDimsBecomeOneSymbol) {
  Passed m(R"(fn @main(%x: Tensor[(n, k), f32], %w: Tensor[(m, j), f32]) {
  %p = matmul(%x, %w)
  %t = transpose(%w) {perm = [1, 0]}
  %q = matmul(%p, %t)
  return %q
})");
  ASSERT_TRUE(m.ok()) << m.error->toString();
  // k and m are one class from the product on.
  EXPECT_EQ(m.ir.facts().canonical(m.dim("x", 1)), m.ir.facts().canonical(m.dim("w", 0)));
  std::set<SymbolId> symbols;
  for (size_t axis : {0, 1})
    for (SymbolId s : symbolsOf(m.ir.facts().canonical(m.dim("q", axis)))) symbols.insert(s);
  EXPECT_EQ(symbols.size(), 2u);
}

TEST(Checklist, C9_FalselyDynamicDimsBecomeNumbers) {
  Passed m(R"(fn @main(%x: Tensor[(4, 6), f32]) {
  %s = shape(%x)
  %i = constant() {value = i64[1] [1]}
  %d = gather(%s, %i) {axis = 0}
  %m = constant() {value = i64[1] [-1]}
  %to = concat(%d, %m) {axis = 0}
  %y = reshape(%x, %to) : Tensor[(?, ?), f32]
  return %y
})");
  ASSERT_TRUE(m.ok()) << m.error->toString();
  EXPECT_EQ(m.typeText("y"), "Tensor[(6, 4), f32]");
}

TEST(Checklist, C11_SizesThatCanBeComputedAreNumbersAndASecondTimeChangesNothing) {
  Passed m(R"(fn @main(%x: Tensor[(4, 6), f32], %z: Tensor[(n, 2), f32]) {
  %s = shape(%x)
  %y = constant_of_shape(%s) {value = f32[1] [0]}
  %two = constant() {value = i64[2] [1, 2]}
  %t = tile(%z, %two)
  return %y, %t
})");
  ASSERT_TRUE(m.ok()) << m.error->toString();
  EXPECT_EQ(m.typeText("y"), "Tensor[(4, 6), f32]");
  EXPECT_EQ(m.typeText("t"), "Tensor[(n, 4), f32]");
  Result<InferredModule> again = inferTypes(m.typed);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->module == m.typed);
}

TEST(Checklist, C13_EveryOperatorHasAShapeRule) {
  for (const OpDef* op : opTable()) EXPECT_NE(op->infer, nullptr) << op->name;
}

TEST(Checklist, M2_ARankChangeIsRejectedWithTheOperandsName) {
  Passed m(
      "fn @main(%x: Tensor[(n, 4), f32], %w: Tensor[(4), f32]) {\n  %y = transpose(%w) {perm = [1, 0]}\n  "
      "return %y\n}");
  ASSERT_FALSE(m.ok());
  IrContext ir;
  Result<Module> module =
      test::parseText(ir, "fn @main(%x: Tensor[(n, 4), f32]) {\n  %y = relu(%x)\n  return %y\n}");
  Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*module);
  if (!compiled.ok()) GTEST_SKIP() << compiled.error().toString();
  Result<std::vector<HostTensor>> wrong = (*compiled)->run({test::reals({4})});
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, HasSubstr("\"x\""));
}

TEST(Checklist, M3_OperatorsGiveFactsThatCanBeAskedFor) {
  Passed m(
      R"(fn @main(%a: Tensor[(n, 4), f32], %b: Tensor[(n, m), f32], %c: Tensor[(p, q), f32], %s: Tensor[(2), i64]) {
  %y = concat(%a, %b) {axis = 1}
  %r = reshape(%c, %s)
  %z = matmul(%b, %c)
  return %y, %r, %z
})");
  ASSERT_TRUE(m.ok()) << m.error->toString();
  const DimSolver& facts = m.ir.facts();
  EXPECT_EQ(facts.equal(m.dim("y", 0), m.dim("a", 0)), Answer::yes);
  EXPECT_EQ(facts.equal(m.dim("b", 1), m.dim("c", 0)), Answer::yes);  // contraction
  EXPECT_EQ(facts.equalElementCount(m.type("a").dims(), m.type("a").dims()), Answer::yes);
  EXPECT_EQ(facts.divides(4, m.dim("a", 1)), Answer::yes);
  EXPECT_EQ(facts.equal(m.dim("a", 0), m.dim("c", 1)), Answer::unknown);
  EXPECT_EQ(facts.equal(m.dim("y", 1), m.dim("b", 1)), Answer::no);
}

TEST(Checklist, M4_SplitPartsStayEqualDownToTheLastModule) {
  Passed m(R"(dim n in 2..64 multiple 2 because "user"
fn @main(%x: Tensor[(n, 3), f32]) {
  %a, %b = split(%x) {axis = 0}
  %y = add(%a, %b)
  return %y, %a, %b
})");
  ASSERT_TRUE(m.ok()) << m.error->toString();
  EXPECT_EQ(m.count(m.placed, ops::checkOp), 0);  // proved, not checked
  const std::vector<Type> types = m.placed.main()->resultTypes;
  EXPECT_EQ(m.ir.facts().equalShapes(types[1].dims(), types[2].dims()), Answer::yes);
  EXPECT_EQ(m.ir.facts().divides(2, m.dim("x", 0)), Answer::yes);
}

TEST(Checklist, M5_FactsPropagateInAllDirections) {
  // Between operands: ?x10 and 10x? are both 10x10.
  Passed operands(R"(fn @main(%a: Tensor[(n, 10), f32], %b: Tensor[(10, k), f32]) {
  %p = matmul(%b, %a)
  %q = matmul(%a, %b)
  %c = concat(%a, %q) {axis = 1}
  return %p, %c
})");
  ASSERT_TRUE(operands.ok()) << operands.error->toString();
  EXPECT_EQ(operands.ir.facts().equal(operands.dim("b", 1), operands.dim("a", 0)), Answer::yes);
  // Results → operands: what the result must be, its operand is.
  Passed result("fn @main(%x: Tensor[(n, 4), f32]) {\n  %y = relu(%x) : Tensor[(5, 4), f32]\n  return %y\n}");
  ASSERT_TRUE(result.ok()) << result.error->toString();
  EXPECT_EQ(result.ir.facts().canonical(result.dim("x", 0)).constant(), 5);
  // Shape arithmetic → tensors.
  Passed shape(R"(fn @main(%x: Tensor[(n, 6), f32]) {
  %s = shape(%x)
  %y = constant_of_shape(%s) {value = f32[1] [0]}
  %z = add(%x, %y)
  return %z
})");
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ(shape.typeText("z"), "Tensor[(n, 6), f32]");
  EXPECT_EQ(shape.count(shape.typed, ops::checkOp), 0);
}

TEST(Checklist, M6_FactsSurviveEveryPassAndACopyKeepsItsOwn) {
  Passed m(R"(dim n in 1..512 multiple 8 because "user"
fn @main(%x: Tensor[(n, k), f32], %w: Tensor[(m, 4), f32]) {
  %y = matmul(%x, %w)
  %z = softmax(%y) {axis = -1}
  return %z
})");
  ASSERT_TRUE(m.ok()) << m.error->toString();
  for (const TraceStep& step : m.trace.steps) {
    const std::string text = print(step.after);
    EXPECT_THAT(text,
                AllOf(HasSubstr("dim n in 1..512"), HasSubstr("dim n multiple 8"), HasSubstr("dim k == m")))
        << step.name;
  }
  DimSolver special(m.ir.facts());
  ASSERT_TRUE(special.addEqual(m.dim("x", 0), m.dim("x", 1), {"a version's guard", {}}).ok());
  EXPECT_EQ(special.equal(m.dim("x", 0), m.dim("w", 0)), Answer::yes);
  EXPECT_EQ(m.ir.facts().equal(m.dim("x", 0), m.dim("w", 0)), Answer::unknown);
}

}  // namespace
}  // namespace dyn
