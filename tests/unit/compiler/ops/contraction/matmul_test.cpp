// Products of matrices, einsum, convolutions and pools: values by hand, then sweeps, reference against kernel.
#include "tests/unit/compiler/ops/op_test.h"

namespace dyn::test {

namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using Shapes = std::vector<int64_t>;

const Attributes kTransposed{{"transpose_a", int64_t{1}}, {"transpose_b", int64_t{1}}};

TEST(Matmul, ValuesByHand) {
  const HostTensor a = reals({2, 2}, {1, 2, 3, 4}), b = reals({2, 2}, {5, 6, 7, 8});
  EXPECT_THAT(elements(checkOp({"matmul", {a, b}})), ElementsAre(19, 22, 43, 50));
  EXPECT_THAT(elements(checkOp({"matmul", {a, b}, kTransposed})), ElementsAre(23, 31, 34, 46));
  EXPECT_THAT(elements(checkOp({"matmul", {a, reals({2}, {1, 1})}})), ElementsAre(3, 7));
  EXPECT_THAT(elements(checkOp({"matmul", {reals({2}, {1, 1}), b}})), ElementsAre(12, 14));
  EXPECT_THAT(elements(checkOp({"matmul", {reals({2}, {1, 2}), reals({2}, {3, 4})}})), ElementsAre(11));
}

TEST(Matmul, SweepOfRanksAndSizes) {
  const std::vector<std::pair<Shapes, Shapes>> cases = {
      {{1, 1}, {1, 1}},       {{7, 3}, {3, 5}},       {{0, 3}, {3, 5}},         {{2, 0}, {0, 3}},
      {{2, 7, 3}, {3, 5}},    {{3}, {2, 3, 5}},       {{2, 5, 3}, {3}},         {{2, 1, 4, 3}, {5, 3, 2}},
      {{1, 4, 3}, {6, 3, 2}}, {{0, 4, 3}, {1, 3, 2}}, {{2, 3, 11}, {2, 11, 13}}};
  for (const auto& [a, b] : cases) {
    for (Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16}) {
      OpCase test("matmul", {real(a, dtype), real(b, dtype, 2)});
      test.tolerance = dtype == Dtype::f16 ? 4e-3 : 1e-5;
      checkOp(test);
    }
    checkOp({"matmul", {integers(a, -9, 9, Dtype::i32), integers(b, -9, 9, Dtype::i32, 2)}});
  }
}

TEST(Matmul, InnerDimsMustAgree) {
  EXPECT_EQ(inferError({"matmul", {real({2, 3}), real({4, 2})}}).id, DiagnosticId::shapeMismatch);
  EXPECT_EQ(inferError({"matmul", {real({}), real({4, 2})}}).id, DiagnosticId::rankMismatch);
}

TEST(Matmul, PackedGivesTheSame) {
  const Program p = inferText(
      "fn @main(%a: Tensor[(n, 3), f32], %b: Tensor[(5, 3), f32]) { %p = pack_b(%b) {transpose = 1} "
      "%y = gemm_packed(%a, %p) {n = dims(5), k = dims(3)} %z = matmul(%a, %b) {transpose_b = 1} return %y, "
      "%z }");
  const std::vector<Value> results = run(p, {real({4, 3}), real({5, 3}, Dtype::f32, 2)});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results[0].identical(results[1]));
}

TEST(MatmulInteger, ZeroPointsPerRowAndColumn) {
  const HostTensor a = integers({3, 5}, 0, 255, Dtype::u8), b = integers({5, 2}, -128, 127, Dtype::i8);
  checkOp({"matmul_integer", {a, b}});
  checkOp({"matmul_integer", {a, b, scalar(7, Dtype::u8), scalar(-3, Dtype::i8)}});
  checkOp({"matmul_integer", {a, b, vec({1, 2, 3}, Dtype::u8), vec({4, 5}, Dtype::i8)}});
  EXPECT_THAT(
      elements(checkOp({"matmul_integer",
                        {vec({2, 3}, Dtype::u8).reshaped({1, 2}), vec({4, 5}, Dtype::u8).reshaped({2, 1}),
                         scalar(1, Dtype::u8), scalar(2, Dtype::u8)}})),
      ElementsAre(8));
}

TEST(MatmulInteger, PackedGivesTheSame) {
  const Program p = inferText(
      "fn @main(%a: Tensor[(b, n, 3), u8], %b: Tensor[(5, 3), i8], %z: Tensor[(), u8], %y: Tensor[(5), i8]) "
      "{ %p = pack_bytes(%b) {transpose = 1} "
      "%c = matmul_integer_packed(%a, %p, %z, %y) {n = dims(5), k = dims(3)} "
      "%t = transpose(%b) {perm = [1, 0]} %d = matmul_integer(%a, %t, %z, %y) return %c, %d }");
  const std::vector<Value> results =
      run(p, {integers({2, 4, 3}, 0, 255, Dtype::u8), integers({5, 3}, -128, 127, Dtype::i8),
              scalar(200, Dtype::u8), integers({5}, -128, 127, Dtype::i8, 2)});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results[0].identical(results[1]));
}

TEST(ConvInteger, ZeroPointsAndPadding) {
  const HostTensor x = vec({1, 2, 3, 4}, Dtype::u8).reshaped({1, 1, 2, 2}),
                   w = vec({1, -1, 2, 3}, Dtype::i8).reshaped({1, 1, 2, 2});
  EXPECT_THAT(elements(checkOp({"conv_integer", {x, w}})), ElementsAre(1 - 2 + 6 + 12));
  // Outside lies the zero point: it adds nothing.
  EXPECT_THAT(
      elements(checkOp({"conv_integer", {x, w, scalar(1, Dtype::u8)}, {{"pads", Shapes{1, 1, 0, 0}}}})),
      ElementsAre(0, 3, 6, 12));
  for (int64_t group : {1, 2})
    for (Dtype left : {Dtype::u8, Dtype::i8})
      for (Dtype right : {Dtype::u8, Dtype::i8}) {
        const HostTensor image = integers({2, 4, 7, 6}, left == Dtype::u8 ? 0 : -128, 127, left),
                         filters =
                             integers({6, 4 / group, 3, 2}, right == Dtype::u8 ? 0 : -128, 127, right, 2);
        const Attributes attributes{
            {"group", group}, {"pads", Shapes{1, 0, 2, 1}}, {"strides", Shapes{2, 1}}};
        checkOp({"conv_integer", {image, filters}, attributes});
        checkOp(
            {"conv_integer", {image, filters, scalar(3, left), integers({6}, 0, 100, right, 3)}, attributes});
      }
  EXPECT_EQ(inferError({"conv_integer", {real({1, 1, 2, 2}), w}}).id, DiagnosticId::dtypeMismatch);
  EXPECT_EQ(inferError({"conv_integer", {x, w, std::nullopt, integers({3}, 0, 1, Dtype::i8)}}).id,
            DiagnosticId::shapeMismatch);
}

OpCase einsum(std::string equation, std::vector<std::optional<HostTensor>> operands) {
  return OpCase("einsum", std::move(operands), {{"equation", std::move(equation)}});
}

TEST(Einsum, Equations) {
  const HostTensor a = reals({2, 2}, {1, 2, 3, 4}), b = reals({2, 2}, {5, 6, 7, 8});
  EXPECT_THAT(elements(checkOp(einsum("ij,jk->ik", {a, b}))), ElementsAre(19, 22, 43, 50));
  EXPECT_THAT(elements(checkOp(einsum("ij->ji", {a}))), ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(elements(checkOp(einsum("ii", {a}))), ElementsAre(5));
  EXPECT_THAT(elements(checkOp(einsum("ii->i", {a}))), ElementsAre(1, 4));
  EXPECT_THAT(elements(checkOp(einsum("ij,ij->", {a, b}))), ElementsAre(70));
  EXPECT_THAT(elements(checkOp(einsum("i,j,k->ijk", {vec({1, 2}), vec({3, 4}), vec({5})}))),
              ElementsAre(15, 20, 30, 40));
  EXPECT_EQ(shapeOf(checkOp(einsum("b...d,...de->b...e", {real({2, 3, 5}), real({1, 5, 7})}))),
            (Shapes{2, 3, 7}));
  EXPECT_EQ(shapeOf(checkOp(einsum("bhid,bhjd->bhij", {real({2, 3, 0, 5}), real({2, 3, 7, 5})}))),
            (Shapes{2, 3, 0, 7}));
  EXPECT_EQ(inferError(einsum("ij,jk->iq", {a, b})).id, DiagnosticId::badAttribute);
  EXPECT_EQ(inferError(einsum("ij->i", {a, b})).id, DiagnosticId::badAttribute);
}

Attributes window(std::vector<int64_t> strides, std::vector<int64_t> pads,
                  std::vector<int64_t> dilations = {1, 1}) {
  return {{"strides", std::move(strides)}, {"pads", std::move(pads)}, {"dilations", std::move(dilations)}};
}

TEST(Conv, ValuesByHand) {
  const HostTensor x = reals({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}),
                   w = reals({1, 1, 2, 2}, {1, 0, 0, -1});
  EXPECT_THAT(elements(checkOp({"conv", {x, w}})), ElementsAre(-4, -4, -4, -4));
  EXPECT_THAT(elements(checkOp({"conv", {x, w, reals({1}, {10})}, window({2, 2}, {1, 1, 0, 0})})),
              ElementsAre(9, 7, 3, 6));
}

TEST(Conv, Sweep) {
  for (Shapes x : {Shapes{2, 4, 7, 5}, {1, 4, 3, 3}, {0, 4, 5, 5}}) {
    for (int64_t group : {1, 2, 4}) {
      for (Attributes attributes : {window({1, 1}, {0, 0, 0, 0}), window({2, 1}, {1, 0, 2, 1}),
                                    window({3, 2}, {1, 1, 1, 1}, {1, 2})}) {
        attributes.set("group", group);
        const HostTensor w = real({8, 4 / group, 3, 2}, Dtype::f32, 3);
        checkOp({"conv", {real(x), w, real({8})}, attributes});
      }
    }
  }
  checkOp({"conv", {real({2, 3, 11}), real({5, 3, 3})}});
  checkOp({"conv", {real({1, 2, 4, 5, 3}), real({3, 2, 2, 3, 2})}});
  for (const char* mode : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    Attributes attributes = window({2, 3}, {0, 0, 0, 0});
    attributes.set("auto_pad", std::string(mode));
    checkOp({"conv", {real({1, 2, 7, 8}), real({3, 2, 3, 2})}, attributes});
  }
  EXPECT_EQ(runError({"conv", {real({1, 1, 2, 2}), real({1, 1, 3, 3})}}).id, DiagnosticId::shapeCheckFailed);
}

TEST(ConvTranspose, ScattersTheKernel) {
  const HostTensor x = reals({1, 1, 2, 2}, {1, 2, 3, 4}), w = reals({1, 1, 2, 2}, {1, 1, 1, 1});
  EXPECT_THAT(elements(checkOp({"conv_transpose", {x, w}})), ElementsAre(1, 3, 2, 4, 10, 6, 3, 7, 4));
  for (int64_t group : {1, 2}) {
    Attributes attributes = window({3, 2}, {1, 0, 0, 1}, {1, 2});
    attributes.set("group", group);
    checkOp({"conv_transpose",
             {real({2, 4, 3, 5}), real({4, 3, 3, 2}, Dtype::f32, 2), real({3 * group})},
             attributes});
    attributes.set("output_padding", std::vector<int64_t>{2, 1});
    checkOp({"conv_transpose", {real({1, 4, 2, 1}), real({4, 3, 3, 2}, Dtype::f32, 2)}, attributes});
  }
  Attributes sized{{"strides", std::vector<int64_t>{3, 2}}, {"output_shape", std::vector<int64_t>{10, 8}}};
  EXPECT_EQ(shapeOf(checkOp({"conv_transpose", {real({1, 1, 3, 3}), real({1, 2, 3, 3})}, sized})),
            (Shapes{1, 2, 10, 8}));
  Attributes same{{"strides", std::vector<int64_t>{2, 2}}, {"auto_pad", std::string("SAME_UPPER")}};
  EXPECT_EQ(shapeOf(checkOp({"conv_transpose", {real({1, 1, 3, 3}), real({1, 2, 3, 3})}, same})),
            (Shapes{1, 2, 6, 6}));
}

TEST(Pool, ValuesByHand) {
  const HostTensor x = reals({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  OpCase largest("max_pool", {x}, {{"kernel_shape", std::vector<int64_t>{2, 2}}});
  largest.results = 2;
  const std::vector<Value> results = checkOp(largest);
  EXPECT_THAT(elements(results), ElementsAre(5, 6, 8, 9));
  EXPECT_THAT(elements(results, 1), ElementsAre(4, 5, 7, 8));
  largest.attributes.set("storage_order", int64_t{1});
  EXPECT_THAT(elements(checkOp(largest), 1), ElementsAre(4, 7, 5, 8));
  Attributes mean{{"kernel_shape", std::vector<int64_t>{2, 2}}, {"pads", std::vector<int64_t>{1, 1, 0, 0}}};
  EXPECT_THAT(elements(checkOp({"average_pool", {x}, mean})), ElementsAre(1, 1.5, 2.5, 2.5, 3, 4, 5.5, 6, 7));
  mean.set("count_include_pad", int64_t{1});
  EXPECT_THAT(elements(checkOp({"average_pool", {x}, mean})),
              ElementsAre(0.25, 0.75, 1.25, 1.25, 3, 4, 2.75, 6, 7));
}

TEST(Pool, Sweep) {
  for (const char* name : {"max_pool", "average_pool", "lp_pool"}) {
    for (int64_t ceilMode : {0, 1}) {
      for (Attributes attributes : {window({1, 1}, {0, 0, 0, 0}), window({2, 3}, {1, 0, 1, 1}),
                                    window({2, 2}, {0, 1, 0, 1}, {2, 1})}) {
        attributes.set("kernel_shape", std::vector<int64_t>{3, 2});
        attributes.set("ceil_mode", ceilMode);
        checkOp({name, {real({2, 3, 8, 7})}, attributes});
        if (std::string_view(name) == "average_pool") {
          attributes.set("count_include_pad", int64_t{1});
          checkOp({name, {real({1, 2, 7, 9})}, attributes});
        }
      }
    }
    Attributes same{{"kernel_shape", std::vector<int64_t>{3, 2}},
                    {"auto_pad", std::string("SAME_LOWER")},
                    {"strides", std::vector<int64_t>{2, 2}}};
    checkOp({name, {real({1, 2, 7, 6})}, same});
  }
  checkOp({"max_pool",
           {integers({1, 1, 5, 5}, -9, 9, Dtype::i8)},
           {{"kernel_shape", std::vector<int64_t>{2, 2}}}});
  checkOp({"lp_pool", {real({1, 1, 9})}, {{"kernel_shape", std::vector<int64_t>{3}}, {"p", int64_t{3}}}});
}

}  // namespace
}  // namespace dyn::test
