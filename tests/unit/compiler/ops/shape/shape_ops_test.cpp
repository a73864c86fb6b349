// Operators on shapes: exact sizes for 0, 1, primes, negative bounds and steps; sizes given as run-time
// values.
#include "tests/unit/compiler/ops/lowered_op.h"

namespace dyn::test {
namespace {

using Shapes = std::vector<int64_t>;
using ::testing::HasSubstr;

OpCase withConstants(OpCase test, std::vector<int> constants) {
  test.constants = std::move(constants);
  return test;
}

// Both ways: the vector operands as inputs of the program, and as constants of it.
Shapes shapeBothWays(const OpCase& test, std::vector<int> constants) {
  const Shapes dynamic = shapeOf(checkOp(test));
  const Shapes fixed = shapeOf(checkOp(withConstants(test, std::move(constants))));
  EXPECT_EQ(dynamic, fixed);
  return fixed;
}

TEST(ShapeOps, ShapeAndSize) {
  for (const Shapes& shape : {Shapes{}, {0}, {7}, {2, 0, 3}, {2, 3, 5}}) {
    EXPECT_EQ(shapeOf(checkOp({"shape", {real(shape)}})), (Shapes{static_cast<int64_t>(shape.size())}));
    EXPECT_EQ(shapeOf(checkOp({"size", {real(shape)}})), (Shapes{}));
  }
  Attributes part{{"start", int64_t{-2}}, {"end", int64_t{9}}};
  EXPECT_EQ(elements(checkOp({"shape", {real({2, 3, 5})}, part})), (std::vector<double>{3, 5}));
  Attributes none{{"start", int64_t{2}}, {"end", int64_t{1}}};
  EXPECT_EQ(shapeOf(checkOp({"shape", {real({2, 3, 5})}, none})), (Shapes{0}));
}

TEST(ShapeOps, Reshape) {
  EXPECT_EQ(shapeBothWays({"reshape", {real({2, 6}), vec({3, -1})}}, {1}), (Shapes{3, 4}));
  EXPECT_EQ(shapeBothWays({"reshape", {real({2, 6}), vec({0, 2, 3})}}, {1}), (Shapes{2, 2, 3}));
  EXPECT_EQ(shapeBothWays({"reshape", {real({1}), HostTensor::vectorInt(Dtype::i64, {})}}, {1}), (Shapes{}));
  EXPECT_EQ(shapeBothWays({"reshape", {real({7}), vec({1, 7, 1})}}, {1}), (Shapes{1, 7, 1}));
  Attributes zero{{"allowzero", int64_t{1}}};
  EXPECT_EQ(shapeBothWays({"reshape",
                           {
                               real({0, 3}),
                               vec({3, 0}),
                           },
                           zero},
                          {1}),
            (Shapes{3, 0}));
  EXPECT_EQ(inferError(withConstants({"reshape", {real({2, 3}), vec({7})}}, {1})).id,
            DiagnosticId::shapeMismatch);
  EXPECT_EQ(inferError(withConstants({"reshape", {real({2, 3}), vec({-1, -1})}}, {1})).id,
            DiagnosticId::badAttribute);
  EXPECT_EQ(runError({"reshape", {real({2, 3}), vec({4, 2})}}).id, DiagnosticId::shapeCheckFailed);
  EXPECT_EQ(runError(withConstants({"reshape", {real({2, 3}), vec({-1, 4})}}, {1})).id,
            DiagnosticId::shapeCheckFailed);
}

TEST(ShapeOps, ReshapeMinusOneIsExact) {
  Program p = inferText(R"(
    fn @main(%x: Tensor[(n, 6), f32]) {
      %s = constant() {value = i64[3] [-1, 2, 3]}
      %y = reshape(%x, %s)
      %z = constant() {value = i64[2] [0, -1]}
      %w = reshape(%y, %z)
      return %y, %w
    })");
  EXPECT_THAT(p.text(), HasSubstr("%y = reshape(%x, %s) : Tensor[(n, 2, 3), f32]"));
  EXPECT_THAT(p.text(), HasSubstr("%w = reshape(%y, %z) : Tensor[(n, 6), f32]"));
  for (int64_t n : {0, 1, 5}) EXPECT_EQ(shapeOf(run(p, {real({n, 6})}), 1), (Shapes{n, 6}));
}

// What joins and parts again the same axes: the size between is 1, also where there are no elements at all.
TEST(ShapeOps, ReshapeMinusOneOfAsManyElementsIsOne) {
  Program p = inferText(R"(
    fn @main(%x: Tensor[(b, 4, s), f32]) {
      %size = shape(%x)
      %b = gather(%size, i64[1] [0]) {axis = 0}
      %s = gather(%size, i64[1] [2]) {axis = 0}
      %joined = reshape(%x, concat(mul(%b, i64[1] [4]), i64[1] [1], %s) {axis = 0}) {allowzero = 1}
      %y = reshape(%joined, concat(%b, i64[1] [4], i64[1] [-1], %s) {axis = 0}) {allowzero = 1}
      return %y
    })");
  EXPECT_THAT(p.text(), HasSubstr("{allowzero = 1} : Tensor[(b, 4, 1, s), f32]"));
  for (int64_t b : {0, 1, 5})
    for (int64_t s : {0, 1, 3}) EXPECT_EQ(shapeOf(run(p, {real({b, 4, s})}), 0), (Shapes{b, 4, 1, s}));
}

// Batch and heads in one axis, as older exporters write attention: the size that is left is that of the
// sequence, whatever the batch.
TEST(ShapeOps, ReshapeMinusOneBesideAJoinedAxis) {
  Program p = inferText(R"(
    fn @main(%x: Tensor[(b, 4, s, 6), f32]) {
      %b = gather(shape(%x), i64[1] [0]) {axis = 0}
      %many = mul(%b, i64[1] [4])
      %y = reshape(%x, concat(%many, i64[1] [-1], i64[1] [6]) {axis = 0}) {allowzero = 1}
      %z = reshape(%x, concat(%many, i64[1] [-1], i64[1] [4]) {axis = 0}) {allowzero = 1}
      return %y, %z
    })");
  EXPECT_THAT(p.text(), HasSubstr("{allowzero = 1} : Tensor[(4*b, s, 6), f32]"));
  EXPECT_THAT(p.text(), HasSubstr("{allowzero = 1} : Tensor[(4*b, s + floordiv(s, 2), 4), f32]"));
  for (int64_t b : {0, 1, 5})
    for (int64_t s : {0, 2, 6}) {
      const std::vector<Value> results = run(p, {real({b, 4, s, 6})});
      EXPECT_EQ(shapeOf(results, 0), (Shapes{4 * b, s, 6}));
      EXPECT_EQ(shapeOf(results, 1), (Shapes{4 * b, s * 3 / 2, 4}));
    }
}

TEST(ShapeOps, SqueezeUnsqueeze) {
  EXPECT_EQ(shapeOf(checkOp(withConstants({"squeeze", {real({1, 3, 1, 5}), vec({0, -2})}}, {1}))),
            (Shapes{3, 5}));
  OpCase all("squeeze", {real({1, 3, 1, 5})});
  all.dynamic = false;  // without axes the dims must be known
  EXPECT_EQ(shapeOf(checkOp(all)), (Shapes{3, 5}));
  EXPECT_EQ(inferError(withConstants({"squeeze", {real({2, 3}), vec({0})}}, {1})).id,
            DiagnosticId::shapeMismatch);
  EXPECT_EQ(runError(withConstants({"squeeze", {real({2, 3}), vec({0})}}, {1})).id,
            DiagnosticId::shapeCheckFailed);
  EXPECT_EQ(shapeOf(checkOp(withConstants({"unsqueeze", {real({3, 5}), vec({0, -1})}}, {1}))),
            (Shapes{1, 3, 5, 1}));
  EXPECT_EQ(inferError(withConstants({"unsqueeze", {real({3}), vec({0, 0})}}, {1})).id,
            DiagnosticId::badAttribute);
  EXPECT_EQ(inferTextError("fn @main(%x: Tensor[(n), f32]) { %y = squeeze(%x) return %y }").id,
            DiagnosticId::unsupportedFeature);
}

TEST(ShapeOps, TransposeExpand) {
  for (const Shapes& shape : {Shapes{}, {0}, {7}, {2, 0, 3}, {2, 3, 5}, {1, 7, 2}}) {
    checkOp({"transpose", {real(shape)}});
  }
  Attributes perm{{"perm", std::vector<int64_t>{1, 2, 0}}};
  EXPECT_EQ(shapeOf(checkOp({"transpose", {real({2, 3, 5})}, perm})), (Shapes{3, 5, 2}));
  EXPECT_EQ(elements(checkOp({"transpose", {reals({2, 3}, {1, 2, 3, 4, 5, 6})}})),
            (std::vector<double>{1, 4, 2, 5, 3, 6}));
  Attributes twice{{"perm", std::vector<int64_t>{0, 0}}};
  EXPECT_EQ(inferError({"transpose", {real({2, 3})}, twice}).id, DiagnosticId::badAttribute);
  EXPECT_EQ(shapeBothWays({"expand", {real({3, 1}), vec({2, 1, 6})}}, {1}), (Shapes{2, 3, 6}));
  EXPECT_EQ(shapeBothWays({"expand", {real({3, 1}), vec({1})}}, {1}), (Shapes{3, 1}));
  EXPECT_EQ(shapeBothWays({"expand", {real({1}), vec({0})}}, {1}), (Shapes{0}));
  EXPECT_EQ(runError({"expand", {real({3}), vec({2})}}).id, DiagnosticId::shapeCheckFailed);
}

TEST(ShapeOps, SliceSweep) {
  // Against a count made by walking, for all bounds around the ends and steps both ways.
  for (int64_t n : {0, 1, 5}) {
    for (int64_t start : {-9, -6, -1, 0, 2, 5, 9}) {
      for (int64_t end : {-9, -5, -1, 0, 3, 5, 9}) {
        for (int64_t step : {-2, -1, 1, 3}) {
          std::vector<double> expected;
          int64_t s = start < 0 ? start + n : start, e = end < 0 ? end + n : end;
          s = std::max<int64_t>(0, std::min(s, step > 0 ? n : n - 1));
          e = step > 0 ? std::max<int64_t>(0, std::min(e, n)) : std::max<int64_t>(-1, std::min(e, n - 1));
          for (int64_t i = s; n > 0 && (step > 0 ? i < e : i > e); i += step)
            expected.push_back(static_cast<double>(i));
          HostTensor x = *HostTensor::create(Dtype::i32, {n});
          for (int64_t i = 0; i < n; ++i) x.setInt(i, i);
          OpCase test("slice", {x, vec({start}), vec({end}), vec({0}), vec({step})});
          SCOPED_TRACE("n " + std::to_string(n) + " [" + std::to_string(start) + ":" + std::to_string(end) +
                       ":" + std::to_string(step) + "]");
          EXPECT_EQ(elements(checkOp(withConstants(test, {1, 2, 3, 4}))), expected);
          if (step == 1 || step == -2) {
            EXPECT_EQ(elements(checkOp(withConstants(test, {3, 4}))), expected);
          }
        }
      }
    }
  }
}

TEST(ShapeOps, SliceForms) {
  Program p = inferText(R"(
    fn @main(%x: Tensor[(n, m), f32]) {
      %one = constant() {value = i64[1] [1]}
      %last = constant() {value = i64[1] [-1]}
      %zero = constant() {value = i64[1] [0]}
      %end = constant() {value = i64[1] [9223372036854775807]}
      %low = constant() {value = i64[1] [-9223372036854775808]}
      %a = slice(%x, %one, %end)
      %b = slice(%x, %zero, %last)
      %c = slice(%x, %last, %end)
      %d = slice(%x, %last, %low, %zero, %last)
      return %a, %b, %c, %d
    })");
  const std::string text = p.text();
  EXPECT_THAT(text, HasSubstr("%a = slice(%x, %one, %end) : Tensor[(max("));
  EXPECT_THAT(text, HasSubstr("%c = slice(%x, %last, %end) : Tensor[(min("));
  EXPECT_THAT(text, HasSubstr("%d = slice(%x, %last, %low, %zero, %last) : Tensor[(n, m), f32]"));
  for (int64_t n : {0, 1, 4}) run(p, {real({n, 2})});
}

// Bounds and steps that are values, of any sign and far out of range.
TEST(ShapeOps, SliceOfValues) {
  const int64_t far = INT64_MAX, low = INT64_MIN;
  struct Row {
    std::vector<int64_t> starts, ends, axes, steps;
  };
  const Row rows[] = {
      {{1}, {3}, {0}, {1}},       {{0, 1}, {2, far}, {0, 1}, {1, 2}}, {{-1}, {low}, {-1}, {-1}},
      {{far}, {0}, {1}, {-2}},    {{2, 0}, {1, 1}, {1, 0}, {1, 3}},   {{-2, 3}, {far, low}, {0, -1}, {1, -3}},
      {{1}, {1}, {0}, {low + 1}}, {{0}, {far}, {1}, {far}},           {{-far}, {far}, {-2}, {2}},
  };
  for (const Row& row : rows) {
    for (std::vector<int64_t> shape : {std::vector<int64_t>{5, 7}, {1, 1}, {3, 0}, {2, 3}}) {
      const auto vector = [](const std::vector<int64_t>& v) { return HostTensor::vectorInt(Dtype::i64, v); };
      OpCase slice("slice",
                   {real(shape), vector(row.starts), vector(row.ends), vector(row.axes), vector(row.steps)});
      slice.constants = {3};
      checkLowered(slice);
    }
  }
  EXPECT_EQ(runError(OpCase("slice", {real({3}), vec({0}), vec({2}), std::nullopt, vec({0})})).id,
            DiagnosticId::shapeCheckFailed);
}

// Bounds for some axes, put among those of all: what is known stays known.
TEST(ShapeOps, SliceOfScatteredBounds) {
  const Program p = inferText(
      "fn @main(%x: Tensor[(n, m), f32]) { %s = shape(%x) %a = constant() {value = i64[1] [-1]} "
      "%e = constant() {value = i64[1] [2]} %ends = scatter_elements(%s, %a, %e) "
      "%z = constant() {value = i64[2] [0, 0]} %y = slice(%x, %z, %ends) return %y }");
  EXPECT_THAT(p.text(), testing::HasSubstr("Tensor[(n, min(2, m)), f32]"));
}

TEST(ShapeOps, Concat) {
  auto axis = [](int64_t a) { return Attributes{{"axis", a}}; };
  EXPECT_EQ(shapeOf(checkOp({"concat", {real({2, 3}), real({0, 3}), real({5, 3})}, axis(0)})),
            (Shapes{7, 3}));
  EXPECT_EQ(shapeOf(checkOp({"concat", {real({2, 3}), real({2, 1})}, axis(-1)})), (Shapes{2, 4}));
  EXPECT_EQ(elements(checkOp({"concat", {reals({2, 1}, {1, 2}), reals({2, 2}, {3, 4, 5, 6})}, axis(1)})),
            (std::vector<double>{1, 3, 4, 2, 5, 6}));
  EXPECT_EQ(inferError({"concat", {real({2, 3}), real({2, 4})}, axis(0)}).id, DiagnosticId::shapeMismatch);
  EXPECT_EQ(runError({"concat", {real({2, 3}), real({2, 4})}, axis(0)}).id, DiagnosticId::shapeCheckFailed);
}

TEST(ShapeOps, Split) {
  for (int64_t n : {0, 1, 2, 6, 7}) {
    OpCase test("split", {real({n, 2})}, {{"axis", int64_t{0}}});
    test.results = 3;
    std::vector<Value> parts = checkOp(test);
    int64_t sum = 0;
    for (int i = 0; i < 3; ++i) sum += shapeOf(parts, i)[0];
    EXPECT_EQ(sum, n);
  }
  OpCase sized("split", {real({2, 7}), vec({3, 0, 4})}, {{"axis", int64_t{-1}}});
  sized.results = 3;
  for (const std::vector<int>& constants : {std::vector<int>{}, {1}}) {
    std::vector<Value> parts = checkOp(withConstants(sized, constants));
    EXPECT_EQ(shapeOf(parts, 0), (Shapes{2, 3}));
    EXPECT_EQ(shapeOf(parts, 1), (Shapes{2, 0}));
    EXPECT_EQ(shapeOf(parts, 2), (Shapes{2, 4}));
  }
  OpCase wrong("split", {real({7}), vec({3, 3})});
  wrong.results = 2;
  EXPECT_EQ(runError(wrong).id, DiagnosticId::shapeCheckFailed);
}

}  // namespace
}  // namespace dyn::test
