// Reductions, argmax and softmax: values by hand, then sweeps over sizes 0, 1 and primes, reference against kernel.
#include <cmath>

#include "tests/unit/compiler/ops/op_test.h"

namespace dyn::test {

namespace {

using testing::DoubleNear;
using testing::ElementsAre;

OpCase reduce(std::string_view name, HostTensor x, std::initializer_list<int64_t> axes,
              int64_t keepdims = 0) {
  OpCase c(name, {std::move(x), vec(axes)}, {{"keepdims", keepdims}});
  c.constants = {1};
  return c;
}

TEST(Reduce, ValuesByHand) {
  const HostTensor x = reals({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(elements(checkOp(reduce("reduce_sum", x, {1}))), ElementsAre(6, 15));
  EXPECT_THAT(elements(checkOp(reduce("reduce_sum", x, {-2}))), ElementsAre(5, 7, 9));
  EXPECT_THAT(elements(checkOp(reduce("reduce_prod", x, {0, 1}))), ElementsAre(720));
  EXPECT_THAT(elements(checkOp(reduce("reduce_mean", x, {1}))), ElementsAre(2, 5));
  EXPECT_THAT(elements(checkOp(reduce("reduce_max", x, {0}))), ElementsAre(4, 5, 6));
  EXPECT_THAT(elements(checkOp(reduce("reduce_min", x, {1}))), ElementsAre(1, 4));
  EXPECT_THAT(elements(checkOp(reduce("reduce_l1", reals({3}, {1, -2, 3}), {0}))), ElementsAre(6));
  EXPECT_THAT(elements(checkOp(reduce("reduce_l2", reals({2}, {3, 4}), {0}))), ElementsAre(5));
  EXPECT_THAT(elements(checkOp(reduce("reduce_sum_square", x, {1}))), ElementsAre(14, 77));
  EXPECT_THAT(elements(checkOp(reduce("reduce_log_sum", x, {1}))),
              ElementsAre(DoubleNear(std::log(6.0), 1e-5), DoubleNear(std::log(15.0), 1e-5)));
  // No overflow, and -inf for nothing but -inf.
  EXPECT_THAT(elements(checkOp(reduce("reduce_log_sum_exp", reals({2}, {1000, 1000}), {0}))),
              ElementsAre(DoubleNear(1000 + std::log(2.0), 1e-3)));
  EXPECT_THAT(elements(checkOp(reduce("reduce_log_sum_exp", reals({1}, {-INFINITY}), {0}))),
              ElementsAre(-INFINITY));
}

TEST(Reduce, IntegersAtTheEndsOfTheirType) {
  // log(0) is below every integer.
  EXPECT_THAT(elements(checkOp(reduce("reduce_log_sum", vec({0, 0}, Dtype::i32), {0}))),
              ElementsAre(INT32_MIN));
  EXPECT_THAT(elements(checkOp(reduce("reduce_log_sum_exp", integers({2, 0}, 0, 1, Dtype::i32), {1}))),
              ElementsAre(INT32_MIN, INT32_MIN));
}

TEST(Reduce, KeepsOrDropsAxes) {
  const HostTensor x = real({2, 3, 5});
  EXPECT_EQ(shapeOf(checkOp(reduce("reduce_sum", x, {0, 2}, 1))), (std::vector<int64_t>{1, 3, 1}));
  EXPECT_EQ(shapeOf(checkOp(reduce("reduce_sum", x, {0, 2}, 0))), (std::vector<int64_t>{3}));
  EXPECT_EQ(shapeOf(checkOp(OpCase("reduce_max", {x}, {{"keepdims", int64_t{0}}}))), std::vector<int64_t>{});
  const OpCase none("reduce_sum_square", {x}, {{"noop_with_empty_axes", int64_t{1}}});
  EXPECT_EQ(shapeOf(checkOp(none)), (std::vector<int64_t>{2, 3, 5}));
}

TEST(Reduce, EmptyInputGivesNeutralElement) {
  const HostTensor x = real({2, 0});
  EXPECT_THAT(elements(checkOp(reduce("reduce_sum", x, {1}))), ElementsAre(0, 0));
  EXPECT_THAT(elements(checkOp(reduce("reduce_prod", x, {1}))), ElementsAre(1, 1));
  EXPECT_THAT(elements(checkOp(reduce("reduce_max", x, {1}))), ElementsAre(-INFINITY, -INFINITY));
  EXPECT_THAT(elements(checkOp(reduce("reduce_min", integers({0}, 0, 1, Dtype::i32), {0}))),
              ElementsAre(2147483647));
}

TEST(Reduce, TheMeanOfNoIntegersIsZero) {
  const HostTensor none = *HostTensor::create(Dtype::i32, {2, 0});
  EXPECT_THAT(elements(checkOp(reduce("reduce_mean", none, {1}))), ElementsAre(0, 0));
}

TEST(Reduce, IntegersWrapAndCompareBySign) {
  EXPECT_THAT(elements(checkOp(reduce("reduce_sum", vec({200, 100}, Dtype::u8), {0}))), ElementsAre(44));
  EXPECT_THAT(elements(checkOp(reduce("reduce_max", vec({-1, 1}, Dtype::i8), {0}))), ElementsAre(1));
  EXPECT_THAT(elements(checkOp(reduce("reduce_mean", vec({-3, -4}, Dtype::i32), {0}))), ElementsAre(-3));
  EXPECT_THAT(elements(checkOp(reduce("reduce_max", vec({0, 1, 0}, Dtype::boolean), {0}))), ElementsAre(1));
  EXPECT_THAT(elements(checkOp(reduce("reduce_min", vec({0, 1, 0}, Dtype::boolean), {0}))), ElementsAre(0));
}

TEST(Reduce, Sweep) {
  const char* names[] = {"reduce_sum", "reduce_mean", "reduce_max",         "reduce_min",
                         "reduce_l1",  "reduce_l2",   "reduce_log_sum_exp", "reduce_sum_square"};
  for (const char* name : names) {
    for (Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16}) {
      for (std::vector<int64_t> shape : {std::vector<int64_t>{1, 1, 1}, {2, 7, 3}, {0, 3, 2}, {5, 1, 11}}) {
        SCOPED_TRACE(std::string(name) + " " + std::string(toString(dtype)));
        OpCase c = reduce(name, real(shape, dtype), {1});
        c.tolerance = dtype == Dtype::f16 ? 2e-3 : 1e-5;
        checkOp(c);
      }
    }
  }
}

// Whether a dim stays is decided when it runs; the same kernel serves all axes.
TEST(Reduce, AxesMayBeValuesWhenTheyKeepTheirDims) {
  for (const char* name : {"reduce_sum", "reduce_mean", "reduce_max", "reduce_log_sum_exp", "reduce_l2"}) {
    for (std::vector<int64_t> shape : {std::vector<int64_t>{2, 3, 5}, {1, 1, 1}, {7, 1, 2}, {3, 0, 2}}) {
      for (const HostTensor& axes : {vec({0}), vec({-1}), vec({1, 0}), vec({-3, 2}), vec({2, 0, 1})}) {
        SCOPED_TRACE(name);
        checkOp(OpCase(name, {real(shape), axes}));
      }
    }
  }
  const HostTensor x = reals({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(elements(checkOp(OpCase("reduce_sum", {x, vec({1})}))), ElementsAre(6, 15));
  EXPECT_EQ(shapeOf(checkOp(OpCase("reduce_sum", {x, vec({-2})}))), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(runError(OpCase("reduce_sum", {x, vec({2})})).id, DiagnosticId::shapeCheckFailed);
  EXPECT_EQ(runError(OpCase("reduce_sum", {x, vec({1, -1})})).id, DiagnosticId::shapeCheckFailed);
}

TEST(Reduce, UnknownAxesAreUnsupportedWhenDimsGo) {
  const OpCase unknown("reduce_sum", {real({2}), vec({0})}, {{"keepdims", int64_t{0}}});
  EXPECT_EQ(inferError(unknown).id, DiagnosticId::unsupportedFeature);
  OpCase twice = reduce("reduce_sum", real({2, 2}), {0, -2});
  EXPECT_EQ(inferError(twice).id, DiagnosticId::badAttribute);
}

TEST(Reduce, ShapeContentsStayKnown) {
  const Program p = inferText(
      "fn @main(%x: Tensor[(n, 3, m), f32]) { %s = shape(%x) %c = reduce_prod(%s) {keepdims = 1} "
      "%y = reshape(%x, %c) return %y }");
  EXPECT_THAT(p.text(), testing::HasSubstr("Tensor[(3*m*n), f32]"));
}

TEST(ArgExtreme, FirstLastAndNaN) {
  const HostTensor x = reals({2, 3}, {1, 3, 3, 5, 2, 5});
  const Attributes last{{"axis", int64_t{1}}, {"keepdims", int64_t{0}}, {"select_last_index", int64_t{1}}};
  const Attributes first{{"axis", int64_t{1}}, {"keepdims", int64_t{0}}};
  EXPECT_THAT(elements(checkOp(OpCase("argmax", {x}, first))), ElementsAre(1, 0));
  EXPECT_THAT(elements(checkOp(OpCase("argmax", {x}, last))), ElementsAre(2, 2));
  EXPECT_THAT(elements(checkOp(OpCase("argmin", {x}, first))), ElementsAre(0, 1));
  EXPECT_THAT(elements(checkOp(OpCase("argmax", {reals({1, 3}, {1, NAN, 3})}, first))), ElementsAre(1));
  EXPECT_THAT(elements(checkOp(OpCase("argmax", {vec({7, 9, 9}, Dtype::u8)}))), ElementsAre(1));
}

TEST(Cumsum, ExclusiveAndReverse) {
  const HostTensor x = reals({3}, {1, 2, 3});
  EXPECT_THAT(elements(checkOp(OpCase("cumsum", {x, scalar(0)}))), ElementsAre(1, 3, 6));
  EXPECT_THAT(elements(checkOp(OpCase("cumsum", {x, scalar(-1)}, {{"exclusive", int64_t{1}}}))),
              ElementsAre(0, 1, 3));
  EXPECT_THAT(elements(checkOp(OpCase("cumsum", {x, scalar(0)}, {{"reverse", int64_t{1}}}))),
              ElementsAre(6, 5, 3));
}

TEST(Softmax, RowsAddUpToOne) {
  for (const char* name : {"softmax", "log_softmax", "hardmax", "lp_normalization"}) {
    for (int64_t axis : {0, 1, -1}) {
      for (std::vector<int64_t> shape : {std::vector<int64_t>{2, 3, 5}, {1, 1, 1}, {3, 0, 2}, {7, 13, 1}})
        checkOp(OpCase(name, {real(shape)}, {{"axis", axis}}));
    }
  }
  const std::vector<double> y = elements(checkOp(OpCase("softmax", {reals({1, 2}, {1000, 1000})})));
  EXPECT_THAT(y, ElementsAre(0.5, 0.5));
  EXPECT_THAT(elements(checkOp(OpCase("hardmax", {reals({3}, {1, 4, 4})}))), ElementsAre(0, 1, 0));
  EXPECT_THAT(elements(checkOp(OpCase("lp_normalization", {reals({1, 2}, {0, 0})}))), ElementsAre(0, 0));
}

}  // namespace
}  // namespace dyn::test
