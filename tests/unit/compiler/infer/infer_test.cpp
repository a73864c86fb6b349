// Type inference: broadcast table, checks, annotations, contents, control flow, calls.
#include "compiler/infer/infer.h"

#include "tests/unit/compiler/ops/op_test.h"

namespace dyn::test {
namespace {

using ::testing::HasSubstr;

TEST(Infer, BroadcastOfSymbolsAndConstants) {
  Program p = inferText(R"(
    fn @main(%a: Tensor[(n, 1, 5), f32], %b: Tensor[(n, m, 1), f32]) {
      %y = add(%a, %b)
      return %y
    })");
  EXPECT_THAT(p.text(), HasSubstr("%y = add(%a, %b) : Tensor[(n, m, 5), f32]"));
  EXPECT_EQ(checkCount(p.inferred.module), 0);
}

TEST(Infer, UnknownAgainstConstantCostsOneCheck) {
  Program p = inferText(R"(
    fn @main(%a: Tensor[(n), f32], %b: Tensor[(4), f32]) {
      %y = add(%a, %b)
      %z = mul(%a, %b)
      return %y, %z
    })");
  EXPECT_THAT(p.text(), HasSubstr("%y = add(%a, %b) : Tensor[(4), f32]"));
  EXPECT_EQ(checkCount(p.inferred.module), 1) << p.text();
  EXPECT_EQ(shapeOf(run(p, {real({1}), real({4})})), (std::vector<int64_t>{4}));
  EXPECT_EQ(shapeOf(run(p, {real({4}), real({4})})), (std::vector<int64_t>{4}));
  Diagnostic wrong = runTextError(p, {real({3}), real({4})});
  EXPECT_EQ(wrong.id, DiagnosticId::shapeCheckFailed);
  EXPECT_THAT(wrong.message, HasSubstr("n = 3"));
}

TEST(Infer, TwoUnknownSizesBroadcast) {
  Program p = inferText(R"(
    fn @main(%a: Tensor[(n), f32], %b: Tensor[(m), f32]) {
      %y = add(%a, %b)
      return %y
    })");
  EXPECT_EQ(checkCount(p.inferred.module), 1);
  for (auto [n, m, expected] :
       {std::tuple{1, 7, 7}, {7, 1, 7}, {7, 7, 7}, {0, 1, 0}, {1, 0, 0}, {0, 0, 0}, {1, 1, 1}}) {
    EXPECT_EQ(shapeOf(run(p, {real({n}), real({m})})), (std::vector<int64_t>{expected}));
  }
  EXPECT_EQ(runTextError(p, {real({3}), real({4})}).id, DiagnosticId::shapeCheckFailed);
}

TEST(Infer, ProvablyWrongBroadcastNamesBothSizes) {
  Diagnostic wrong = inferTextError(R"(
    fn @main(%a: Tensor[(n, 2), f32], %b: Tensor[(n, 3), f32]) {
      %y = add(%a, %b)
      return %y
    })");
  EXPECT_EQ(wrong.id, DiagnosticId::shapeMismatch);
  EXPECT_THAT(wrong.message, HasSubstr("2 vs 3"));
  EXPECT_EQ(wrong.op, "add");
}

TEST(Infer, AnnotationUnknownAcceptsAndPreciseIsChecked) {
  Program p = inferText(R"(
    fn @main(%a: Tensor[(n), f32]) {
      %x = relu(%a) : Tensor[(?), f32]
      %y = relu(%x) : Tensor[(8), f32]
      return %y
    })");
  EXPECT_EQ(checkCount(p.inferred.module), 1) << p.text();
  EXPECT_EQ(shapeOf(run(p, {real({8})})), (std::vector<int64_t>{8}));
  EXPECT_EQ(runTextError(p, {real({7})}).id, DiagnosticId::shapeCheckFailed);
  EXPECT_EQ(inferTextError(R"(
    fn @main(%a: Tensor[(7), f32]) {
      %x = relu(%a) : Tensor[(8), f32]
      return %x
    })")
                .id,
            DiagnosticId::shapeMismatch);
}

TEST(Infer, ShapeArithmeticBecomesDims) {
  // Shape → slice → concat → reshape, as exporters write it: every size ends up as an expression of b and s.
  Program p = inferText(R"(
    fn @main(%x: Tensor[(b, s, 12), f32]) {
      %shape = shape(%x) {end = 2}
      %heads = constant() {value = i64[2] [3, 4]}
      %target = concat(%shape, %heads) {axis = 0}
      %split = reshape(%x, %target)
      %turned = transpose(%split) {perm = [0, 2, 1, 3]}
      %b = shape(%turned) {end = 1}
      %rest = constant() {value = i64[2] [-1, 12]}
      %back = concat(%b, %rest) {axis = 0}
      %t2 = transpose(%turned) {perm = [0, 2, 1, 3]}
      %y = reshape(%t2, %back)
      return %y
    })");
  EXPECT_THAT(p.text(), HasSubstr("%split = reshape(%x, %target) : Tensor[(b, s, 3, 4), f32]"));
  EXPECT_THAT(p.text(), HasSubstr("%y = reshape(%t2, %back) : Tensor[(b, s, 12), f32]"));
  EXPECT_EQ(checkCount(p.inferred.module), 0) << p.text();
  for (int64_t b : {0, 1, 2}) {
    for (int64_t s : {0, 1, 5})
      EXPECT_EQ(shapeOf(run(p, {real({b, s, 12})})), (std::vector<int64_t>{b, s, 12}));
  }
}

TEST(Infer, ContentsThroughArithmetic) {
  Program p = inferText(R"(
    fn @main(%x: Tensor[(n), f32], %y: Tensor[(2*n + 2), f32]) {
      %size = shape(%x)
      %one = constant() {value = i64[1] [1]}
      %two = constant() {value = i64[1] [2]}
      %a = add(%size, %one)
      %b = mul(%a, %two)
      %c = div(%b, %two)
      %target = concat(%two, %c) {axis = 0}
      %z = reshape(%y, %target)
      return %z
    })");
  EXPECT_THAT(p.text(), HasSubstr("%z = reshape(%y, %target) : Tensor[(2, n + 1), f32]"));
  EXPECT_EQ(checkCount(p.inferred.module), 0) << p.text();
  EXPECT_EQ(shapeOf(run(p, {real({3}), real({8})})), (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(runTextError(p, {real({3}), real({9})}).id, DiagnosticId::inputMismatch);
}

// As PyTorch's exporter writes the places of a square image.
TEST(Infer, ContentsOfSquares) {
  Program p = inferText(R"(
    fn @main(%x: Tensor[(n), f32], %y: Tensor[(n, n), f32]) {
      %size = shape(%x)
      %two = constant() {value = i64[1] [2]}
      %target = pow(%size, %two)
      %z = reshape(%y, %target)
      return %z
    })");
  EXPECT_THAT(p.text(), HasSubstr("%z = reshape(%y, %target) : Tensor[(n*n), f32]"));
  EXPECT_EQ(checkCount(p.inferred.module), 0) << p.text();
  EXPECT_EQ(shapeOf(run(p, {real({3}), real({3, 3})})), (std::vector<int64_t>{9}));
}

// Truncation is no floor below 0: of n = 0 the size is 1.
TEST(Infer, ContentsOfDivisionsWhoseSignIsUnknown) {
  Program p = inferText(R"(
    fn @main(%x: Tensor[(n), f32]) {
      %size = shape(%x)
      %one = constant() {value = i64[1] [1]}
      %five = constant() {value = i64[1] [5]}
      %four = constant() {value = i64[1] [4]}
      %zero = constant() {value = f32[] 0.0}
      %a = sub(%size, %one)
      %b = div(%a, %four)
      %c = add(%b, %one)
      %y = expand(%zero, %c)
      %d = sub(%size, %five)
      %e = div(%d, %four)
      %f = add(%e, %one)
      %z = expand(%zero, %f)
      return %y, %z
    })");
  EXPECT_THAT(p.text(), HasSubstr("%y = expand(%zero, %c) : Tensor[(floordiv(max(0, n - 1), 4) + 1), f32]"));
  for (int64_t n = 0; n < 12; ++n) {
    const std::vector<Value> results = run(p, {real({n})});
    EXPECT_EQ(shapeOf(results, 0), (std::vector<int64_t>{(n - 1) / 4 + 1})) << n;
    EXPECT_EQ(shapeOf(results, 1), (std::vector<int64_t>{(n - 5) / 4 + 1})) << n;
  }
}

// As PyTorch's exporter writes a padding: pairs in the other order, turned, then all begins and all ends.
TEST(Infer, ContentsThroughSlicesAndTransposesOfTables) {
  Program p = inferText(R"(
    fn @main(%x: Tensor[(h, w), f32]) {
      %s = shape(%x)
      %l = gather(%s, i64[1] [1]) {axis = 0}
      %r = mod(sub(i64[1] [7], mod(%l, i64[1] [7])), i64[1] [7])
      %all = concat(i64[1] [0], %r, i64[1] [2], i64[1] [0]) {axis = 0}
      %pairs = reshape(%all, i64[2] [-1, 2])
      %back = slice(%pairs, i64[1] [-1], i64[1] [-9223372036854775807], i64[1] [0], i64[1] [-1])
      %turned = transpose(%back) {perm = [1, 0]}
      %pads = reshape(%turned, i64[1] [-1])
      %y = pad(%x, %pads)
      return %y
    })");
  EXPECT_THAT(p.text(), HasSubstr("%y = pad(%x, %pads) : Tensor[(h + 2, 7*floordiv(w + 6, 7)), f32]"));
  EXPECT_EQ(shapeOf(run(p, {real({3, 5})})), (std::vector<int64_t>{5, 7}));
  EXPECT_EQ(shapeOf(run(p, {real({3, 14})})), (std::vector<int64_t>{5, 14}));
}

TEST(Infer, ValuesOfInputsBecomeBoundDims) {
  Program p = inferText(R"(
    fn @main(%x: Tensor[(n, 4), f32], %k: Tensor[(1), i64], %m: Tensor[(1), i64]) {
      %ones = constant() {value = f32[1, 1] [[1.0]]}
      %target = concat(%k, %m) {axis = 0}
      %y = expand(%ones, %target)
      %z = expand(%ones, %target)
      %w = add(%y, %z)
      return %w
    })");
  // One binding per element, however often it is used; the sum needs no check.
  const std::string text = p.text();
  size_t bindings = 0;
  for (size_t at = text.find("bind_dims"); at != std::string::npos; at = text.find("bind_dims", at + 1))
    ++bindings;
  EXPECT_EQ(bindings, 2u) << text;
  EXPECT_EQ(text.find("\"broadcast\""), std::string::npos) << text;
  EXPECT_EQ(shapeOf(run(p, {real({1, 4}), vec({3}), vec({5})})), (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(shapeOf(run(p, {real({1, 4}), vec({0}), vec({1})})), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(runTextError(p, {real({1, 4}), vec({-2}), vec({1})}).id, DiagnosticId::shapeCheckFailed);
}

TEST(Infer, IfJoinsBranches) {
  Program p = inferText(R"(
    fn @main(%c: Tensor[(), bool], %x: Tensor[(n, 3), f32]) {
      %y = if(%c, %x) then (%p: Tensor[(n, 3), f32]) {
        %s = concat(%p, %p) {axis = 0}
        return %s
      } else (%q: Tensor[(n, 3), f32]) {
        %r = relu(%q)
        return %r
      }
      %z = add(%y, %y)
      return %z
    })");
  EXPECT_THAT(p.text(), HasSubstr(", 3), f32]\n  return %z"));
  EXPECT_EQ(checkCount(p.inferred.module), 0) << p.text();
  EXPECT_EQ(shapeOf(run(p, {scalar(1, Dtype::boolean), real({2, 3})})), (std::vector<int64_t>{4, 3}));
  EXPECT_EQ(shapeOf(run(p, {scalar(0, Dtype::boolean), real({2, 3})})), (std::vector<int64_t>{2, 3}));
}

TEST(Infer, IfBranchesOfDifferentRankAreUnsupported) {
  Diagnostic wrong = inferTextError(R"(
    fn @main(%c: Tensor[(), bool], %x: Tensor[(n, 3), f32]) {
      %y = if(%c, %x) then (%p: Tensor[(n, 3), f32]) {
        return %p
      } else (%q: Tensor[(n, 3), f32]) {
        %flat = constant() {value = i64[1] [-1]}
        %r = reshape(%q, %flat)
        return %r
      }
      return %y
    })");
  EXPECT_EQ(wrong.id, DiagnosticId::unsupportedFeature);
  EXPECT_THAT(wrong.message, HasSubstr("then and else"));
}

TEST(Infer, BranchesWithKnownConditionAreTaken) {
  // Exporters write "squeeze if the dim is 1": the ranks of the branches differ, only one is right.
  Program p = inferText(R"(
    fn @main(%x: Tensor[(n, 3), f32]) {
      %d = shape(%x) {start = 1}
      %one = constant() {value = i64[1] [1]}
      %isOne = equal(%d, %one)
      %y = if(%isOne, %x) then (%p) {
        %a = constant() {value = i64[1] [1]}
        %s = squeeze(%p, %a)
        return %s
      } else (%q) {
        %r = relu(%q)
        return %r
      }
      return %y
    })");
  EXPECT_EQ(p.text().find(" if("), std::string::npos) << p.text();
  EXPECT_THAT(p.text(), HasSubstr("-> (Tensor[(n, 3), f32])"));
  EXPECT_EQ(shapeOf(run(p, {real({2, 3})})), (std::vector<int64_t>{2, 3}));
}

TEST(Infer, WhatFollowsBranchesOfDifferentRankIsInBoth) {
  Program p = inferText(R"(
    fn @main(%c: Tensor[(), bool], %x: Tensor[(n, 3), f32], %k: Tensor[(), f32]) {
      %y = if(%c, %x) then (%p: Tensor[(n, 3), f32]) {
        return %p
      } else (%q: Tensor[(n, 3), f32]) {
        %flat = constant() {value = i64[1] [-1]}
        %r = reshape(%q, %flat)
        return %r
      }
      %z = mul(%y, %k)
      %axes = constant() {value = i64[1] [0]}
      %s = reduce_sum(%z, %axes) {keepdims = 0}
      %t = size(%s)
      return %t
    })");
  EXPECT_NE(p.text().find(" if("), std::string::npos) << p.text();
  const auto result = [&](int condition) {
    return run(p, {scalar(condition, Dtype::boolean), real({2, 3}), real({})})[0].tensor().intAt(0);
  };
  EXPECT_EQ(result(1), 3);
  EXPECT_EQ(result(0), 1);
}

TEST(Infer, ABranchWhoseRankFitsNothingThatFollowsIsLeftBehindACheck) {
  // "Squeeze where the size is 1", and something of that rank behind it.
  Program p = inferText(R"(
    fn @main(%x: Tensor[(n, d, 3), f32]) {
      %d = shape(%x) {start = 1, end = 2}
      %one = constant() {value = i64[1] [1]}
      %isOne = equal(%d, %one)
      %y = if(%isOne, %x, %one) then (%p, %a) {
        %s = squeeze(%p, %a)
        return %s
      } else (%q, %b) {
        return %q
      }
      %t = transpose(%y) {perm = [1, 0]}
      return %t
    })");
  EXPECT_EQ(p.text().find(" if("), std::string::npos) << p.text();
  EXPECT_EQ(shapeOf(run(p, {real({2, 1, 3})})), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(shapeOf(run(p, {real({0, 1, 3})})), (std::vector<int64_t>{3, 0}));
  const Diagnostic wrong = runTextError(p, {real({2, 2, 3})});
  EXPECT_EQ(wrong.id, DiagnosticId::shapeCheckFailed);
  EXPECT_THAT(wrong.message, HasSubstr("else would be taken"));
}

TEST(Infer, TwoBranchesThatBothFitNothingAreAnError) {
  const Diagnostic wrong = inferTextError(R"(
    fn @main(%c: Tensor[(), bool], %x: Tensor[(n, 3), f32]) {
      %y = if(%c, %x) then (%p: Tensor[(n, 3), f32]) {
        return %p
      } else (%q: Tensor[(n, 3), f32]) {
        %flat = constant() {value = i64[1] [-1]}
        %r = reshape(%q, %flat)
        return %r
      }
      %t = transpose(%y) {perm = [2, 1, 0]}
      return %t
    })");
  EXPECT_THAT(wrong.notes, ::testing::Contains(HasSubstr("a branch before it was left")));
}

TEST(Infer, ConstantsAreEvaluatedForTheRulesBehind) {
  // Pairs of paddings, reversed: the sizes behind are sums, not values read at run time.
  Program p = inferText(R"(
    fn @main(%x: Tensor[(n, m), f32]) {
      %pairs = constant() {value = i64[2, 2] [[2, 3], [0, 0]]}
      %from = constant() {value = i64[1] [-1]}
      %to = constant() {value = i64[1] [-9223372036854775807]}
      %axis = constant() {value = i64[1] [0]}
      %back = slice(%pairs, %from, %to, %axis, %from)
      %columns = transpose(%back) {perm = [1, 0]}
      %pads = reshape(%columns, %from)
      %y = pad(%x, %pads)
      return %y
    })");
  EXPECT_EQ(p.text().find("bind_dims"), std::string::npos) << p.text();
  EXPECT_THAT(p.text(), HasSubstr("Tensor[(n, m + 5), f32]"));
}

TEST(Infer, ALoopInferredAgainMayKnowMoreThanItsAnnotation) {
  // The body's check names the annotation's `?`; the second time the size behind it is known.
  const std::string text = R"(
    fn @main(%trip: Tensor[(), i64], %x: Tensor[(n, 2), f32], %w: Tensor[(m, 2), f32]) {
      %y = loop(%trip, _, %w, %x) {carried = 1} body (%i: Tensor[(), i64], %acc: Tensor[(?7, 2), f32], %e: Tensor[(n, 2), f32]) {
        %go = constant() {value = bool[] true}
        check() {lhs = dims(n), rhs = dims(?7), relation = "broadcast", what = "add"}
        %next = add(%acc, %e)
        return %go, %next
      }
      return %y
    })";
  Program p = inferText(text);
  EXPECT_EQ(shapeOf(run(p, {scalar(3, Dtype::i64), real({4, 2}), real({4, 2})})),
            (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(shapeOf(run(p, {scalar(2, Dtype::i64), real({4, 2}), real({1, 2})})),
            (std::vector<int64_t>{4, 2}));
  Result<InferredModule> again = inferTypes(p.inferred.module);
  ASSERT_TRUE(again.ok()) << again.error().toString();
}

TEST(Infer, FactsOfABranchStayThere) {
  Program p = inferText(R"(
    fn @main(%c: Tensor[(), bool], %x: Tensor[(n), f32], %y: Tensor[(m), f32]) {
      %r = if(%c, %x, %y) then (%a: Tensor[(n), f32], %b: Tensor[(m), f32]) {
        %s = add(%a, %b) : Tensor[(4), f32]
        return %s
      } else (%a2: Tensor[(n), f32], %b2: Tensor[(m), f32]) {
        return %a2
      }
      %t = add(%x, %y)
      return %r, %t
    })");
  // The branch has its own checks; the sum behind it needs one again.
  EXPECT_THAT(p.text(), HasSubstr("what = \"add: axis 0 of the broadcast\"}\n  %t = add"));
  EXPECT_EQ(shapeOf(run(p, {scalar(0, Dtype::boolean), real({7}), real({1})}), 0), (std::vector<int64_t>{7}));
  EXPECT_EQ(runTextError(p, {scalar(1, Dtype::boolean), real({7}), real({1})}).id,
            DiagnosticId::shapeCheckFailed);
}

constexpr std::string_view kGrowingLoop = R"(
    fn @main(%trip: Tensor[(), i64], %x: Tensor[(1, 2), f32]) {
      %y = loop(%trip, _, %x, %x) {carried = 1} body (%i: Tensor[(), i64], %acc: Tensor[(ANNOTATION, 2), f32], %e: Tensor[(1, 2), f32]) {
        %go = constant() {value = bool[] true}
        %next = concat(%acc, %e) {axis = 0}
        return %go, %next
      }
      return %y
    })";

std::string growing(std::string annotation) {
  std::string text(kGrowingLoop);
  return text.replace(text.find("ANNOTATION"), 10, annotation);
}

TEST(Infer, GrowingLoopNeedsUnknownAccumulator) {
  Program p = inferText(growing("?"));
  for (int64_t trip : {0, 1, 5}) {
    EXPECT_EQ(shapeOf(run(p, {scalar(trip), real({1, 2})})), (std::vector<int64_t>{1 + trip, 2}));
  }
  Diagnostic wrong = inferTextError(growing("1"));
  EXPECT_EQ(wrong.id, DiagnosticId::shapeMismatch);
  EXPECT_THAT(wrong.message, HasSubstr("dim 0: 2 vs 1"));
  EXPECT_THAT(wrong.toString(), HasSubstr("`?`"));
}

TEST(Infer, LoopStacksScans) {
  Program p = inferText(R"(
    fn @main(%x: Tensor[(n), f32]) {
      %trip = constant() {value = i64[] 4}
      %last, %all = loop(%trip, _, %x) {carried = 1} body (%i: Tensor[(), i64], %s: Tensor[(n), f32]) {
        %go = constant() {value = bool[] true}
        %t = add(%s, %s)
        return %go, %t, %s
      }
      return %last, %all
    })");
  EXPECT_THAT(p.text(), HasSubstr("(Tensor[(n), f32], Tensor[(4, n), f32])"));
  std::vector<Value> results = run(p, {reals({2}, {1, 2})});
  EXPECT_EQ(elements(results, 0), (std::vector<double>{16, 32}));
  EXPECT_EQ(elements(results, 1), (std::vector<double>{1, 2, 2, 4, 4, 8, 8, 16}));
}

TEST(Infer, AConditionOfManyElementsIsNoCondition) {
  for (const char* dims : {"n", "2", "?"}) {
    const std::string text = "fn @main(%x: Tensor[(" + std::string(dims) + R"(), f32]) {
      %y = loop(_, _, %x) {carried = 1} body (%i: Tensor[(), i64], %s: Tensor[()" +
                             dims + R"(), f32]) {
        %go = less(%s, 4.0)
        %t = add(%s, %s)
        return %go, %t
      }
      return %y
    })";
    EXPECT_EQ(inferTextError(text).id, DiagnosticId::shapeMismatch) << text;
  }
}

TEST(Infer, WhileLoopStopsOnItsCondition) {
  Program p = inferText(R"(
    fn @main(%n: Tensor[(), i64], %limit: Tensor[(), i64]) {
      %start = less(%n, %limit)
      %y = loop(_, %start, %n, %limit) {carried = 1} body (%i: Tensor[(), i64], %v: Tensor[(), i64], %l: Tensor[(), i64]) {
        %w = add(%v, %v)
        %go = less(%w, %l)
        return %go, %w
      }
      return %y
    })");
  EXPECT_EQ(elements(run(p, {scalar(3), scalar(100)})), (std::vector<double>{192}));
  EXPECT_EQ(elements(run(p, {scalar(300), scalar(100)})), (std::vector<double>{300}));
}

TEST(Infer, CallsInstantiateTheSignature) {
  Program p = inferText(R"(
    fn @main(%x: Tensor[(n, 3), f32], %y: Tensor[(m, 5), f32]) {
      %a = call(%x) {callee = "twice"}
      %b = call(%y) {callee = "twice"}
      return %a, %b
    }
    fn @twice(%v: Tensor[(n, k), f32]) {
      %r = concat(%v, %v) {axis = 0}
      return %r
    })");
  const std::string text = p.text();
  EXPECT_THAT(text, HasSubstr("%a = call(%x) {callee = \"twice\"} : Tensor[(2*n, 3), f32]"));
  EXPECT_THAT(text, HasSubstr("%b = call(%y) {callee = \"twice\"} : Tensor[(2*m, 5), f32]"));
  EXPECT_EQ(shapeOf(run(p, {real({2, 3}), real({7, 5})}), 1), (std::vector<int64_t>{14, 5}));
}

TEST(Infer, CallBoundaryIsChecked) {
  constexpr std::string_view kText = R"(
    fn @main(%x: Tensor[(SIZE), f32], %y: Tensor[(m), f32]) {
      %a = call(%x, %y) {callee = "same"}
      return %a
    }
    fn @same(%v: Tensor[(k), f32], %w: Tensor[(k), f32]) {
      %r = add(%v, %w)
      return %r
    })";
  std::string text(kText);
  text.replace(text.find("SIZE"), 4, "n");
  Program p = inferText(text);
  EXPECT_EQ(checkCount(p.inferred.module), 1) << p.text();
  EXPECT_EQ(shapeOf(run(p, {real({4}), real({4})})), (std::vector<int64_t>{4}));
  EXPECT_EQ(runTextError(p, {real({4}), real({1})}).id, DiagnosticId::shapeCheckFailed);
}

TEST(Infer, RecursionNeedsResultTypes) {
  constexpr std::string_view kBody = R"( {
      %zero = constant() {value = i64[] 0}
      %done = less_equal(%k, %zero)
      %r = if(%done, %k, %x) then (%k1: Tensor[(), i64], %x1: Tensor[(n), f32]) {
        return %x1
      } else (%k2: Tensor[(), i64], %x2: Tensor[(n), f32]) {
        %one = constant() {value = i64[] 1}
        %less = sub(%k2, %one)
        %y = relu(%x2)
        %s = call(%less, %y) {callee = "down"}
        return %s
      }
      return %r
    })";
  const std::string main = R"(
    fn @main(%k: Tensor[(), i64], %x: Tensor[(a), f32]) {
      %y = call(%k, %x) {callee = "down"}
      return %y
    })";
  const std::string head = "\nfn @down(%k: Tensor[(), i64], %x: Tensor[(n), f32])";
  Diagnostic wrong = inferTextError(main + head + std::string(kBody));
  EXPECT_EQ(wrong.id, DiagnosticId::typeMismatch);
  EXPECT_THAT(wrong.message, HasSubstr("result types"));
  Program p = inferText(main + head + " -> (Tensor[(n), f32])" + std::string(kBody));
  EXPECT_THAT(p.text(), HasSubstr("%y = call(%k, %x) {callee = \"down\"} : Tensor[(a), f32]"));
  EXPECT_EQ(elements(run(p, {scalar(50'000), reals({2}, {-1, 3})})), (std::vector<double>{0, 3}));
}

TEST(Infer, ClosuresAreInvoked) {
  Program p = inferText(R"(
    fn @main(%x: Tensor[(n), f32], %y: Tensor[(n), f32]) {
      %f = closure(%x) {callee = "plus"}
      %r = invoke(%f, %y)
      return %r
    }
    fn @plus(%a: Tensor[(k), f32], %b: Tensor[(k), f32]) {
      %s = add(%a, %b)
      return %s
    })");
  EXPECT_THAT(p.text(), HasSubstr("%r = invoke(%f, %y) : Tensor[(n), f32]"));
  EXPECT_EQ(elements(run(p, {reals({2}, {1, 2}), reals({2}, {10, 20})})), (std::vector<double>{11, 22}));
}

TEST(Infer, MatchOverATree) {
  Program p = inferText(R"(
    type Tree { Leaf(Tensor[(2), f32]), Node(Tree, Tree) }
    fn @main(%x: Tensor[(2), f32]) {
      %l = construct(%x) {type = "Tree", constructor = "Leaf"}
      %n = construct(%l, %l) {type = "Tree", constructor = "Node"}
      %t = construct(%n, %l) {type = "Tree", constructor = "Node"}
      %s = call(%t) {callee = "sum"}
      return %s
    }
    fn @sum(%t: Tree) -> (Tensor[(2), f32]) {
      %r = match(%t) case Leaf(%x: Tensor[(2), f32]) {
        return %x
      } case Node(%a: Tree, %b: Tree) {
        %p = call(%a) {callee = "sum"}
        %q = call(%b) {callee = "sum"}
        %s = add(%p, %q)
        return %s
      }
      return %r
    })");
  EXPECT_EQ(elements(run(p, {reals({2}, {1, 5})})), (std::vector<double>{3, 15}));
}

TEST(Infer, ListsHoldDifferentSizes) {
  Program p = inferText(R"(
    fn @main(%x: Tensor[(n), f32], %y: Tensor[(m), f32], %i: Tensor[(), i64]) {
      %l = list(%x)
      %l2 = list_append(%l, %y)
      %e = list_at(%l2, %i)
      %k = list_length(%l2)
      return %e, %k
    })");
  EXPECT_EQ(shapeOf(run(p, {real({3}), real({5}), scalar(-1)})), (std::vector<int64_t>{5}));
  EXPECT_EQ(shapeOf(run(p, {real({3}), real({5}), scalar(0)})), (std::vector<int64_t>{3}));
  EXPECT_EQ(runTextError(p, {real({3}), real({5}), scalar(2)}).id, DiagnosticId::runtimeError);
}

TEST(Infer, HundredThousandOperations) {
  IrContext ir;
  Function main;
  main.name = "main";
  ValueId last = ir.newValue("x");
  main.parameters.push_back({last, ir.tensorType(Shape{ir.dims().symbol("n")}, Dtype::f32)});
  for (int i = 0; i < 100'000; ++i) {
    Op op;
    op.def = &ops::addOp;
    op.operands = {last, last};
    last = ir.newValue();
    op.results = {{last, {}}};
    main.ops.push_back(ir.own(std::move(op)));
  }
  main.results = {last};
  main.resultTypes = {Type()};
  Module module{&ir, {ir.own(std::move(main))}, {}};
  Result<InferredModule> inferred = inferTypes(module);
  ASSERT_TRUE(inferred.ok()) << inferred.error().toString();
  EXPECT_EQ(inferred->module.main()->resultTypes[0].toString(), "Tensor[(n), f32]");
  EXPECT_EQ(inferTypes(inferred->module)->module, inferred->module);
}

TEST(Infer, TenThousandNestedBranches) {
  IrContext ir;
  const Type scalarBool = ir.tensorType(Shape{}, Dtype::boolean);
  const Type vector = ir.tensorType(Shape{ir.dims().symbol("n")}, Dtype::f32);
  const Function* inner = nullptr;
  for (int depth = 0; depth <= 10'000; ++depth) {
    auto body = [&](const Function* nested) {
      Function function;
      function.name = ir.uniqueFunctionName("main");
      const ValueId condition = ir.newValue(), x = ir.newValue();
      function.parameters = {{condition, scalarBool}, {x, vector}};
      function.results = {x};
      function.resultTypes = {Type()};
      if (!nested) return ir.own(std::move(function));
      Function other;
      other.name = ir.uniqueFunctionName("main");
      const ValueId condition2 = ir.newValue(), x2 = ir.newValue();
      other.parameters = {{condition2, scalarBool}, {x2, vector}};
      other.results = {x2};
      other.resultTypes = {Type()};
      Op op;
      op.def = &ops::ifOp;
      op.operands = {condition, condition, x};
      const ValueId result = ir.newValue();
      op.results = {{result, {}}};
      op.regions.push_back(nested);
      op.regions.push_back(ir.own(std::move(other)));
      function.ops = {ir.own(std::move(op))};
      function.results = {result};
      return ir.own(std::move(function));
    };
    inner = body(inner);
  }
  Function main = *inner;
  main.name = "main";
  Module module{&ir, {ir.own(std::move(main))}, {}};
  Result<InferredModule> inferred = inferTypes(module);
  ASSERT_TRUE(inferred.ok()) << inferred.error().toString();
  Result<std::vector<Value>> results =
      interpret(inferred->module, {Value(scalar(1, Dtype::boolean)), Value(real({3}))});
  ASSERT_TRUE(results.ok()) << results.error().toString();
  EXPECT_EQ(shapeOf(*results), (std::vector<int64_t>{3}));
}

}  // namespace
}  // namespace dyn::test
