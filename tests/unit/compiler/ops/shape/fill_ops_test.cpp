// range, constant_of_shape, one_hot, eye_like, trilu, tile, pad, center_crop_pad, depth_to_space,
// space_to_depth, reverse_sequence.
#include "tests/unit/compiler/ops/lowered_op.h"
#include "vm/include/abi/dyn_kernel.h"

namespace dyn::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

HostTensor counting(std::vector<int64_t> shape, Dtype dtype = Dtype::f32) {
  HostTensor tensor = *HostTensor::create(dtype, std::move(shape));
  for (int64_t i = 0; i < tensor.elementCount(); ++i) tensor.setReal(i, static_cast<double>(i));
  return tensor;
}

TEST(Range, CountsUpAndDown) {
  for (Dtype dtype : {Dtype::i16, Dtype::i32, Dtype::i64}) {
    const auto range = [&](int64_t start, int64_t limit, int64_t delta) {
      return elements(
          checkLowered(OpCase("range", {scalar(start, dtype), scalar(limit, dtype), scalar(delta, dtype)})));
    };
    EXPECT_THAT(range(2, 9, 3), ElementsAre(2, 5, 8));
    EXPECT_THAT(range(2, 8, 3), ElementsAre(2, 5));
    EXPECT_THAT(range(5, -2, -3), ElementsAre(5, 2, -1));
    EXPECT_THAT(range(5, 5, 1), ElementsAre());
    EXPECT_THAT(range(5, 9, -1), ElementsAre());
  }
}

TEST(Range, SizeIsADimExpression) {
  Program program = inferText(
      "fn @main(%x: Tensor[(n), f32]) {\n"
      "  %n = size(%x)\n"
      "  %a = constant() {value = i64[] 0}\n"
      "  %b = constant() {value = i64[] 3}\n"
      "  %d = constant() {value = i64[] 1}\n"
      "  %y = range(%a, %n, %d)\n"
      "  %z = range(%b, %n, %d)\n"
      "  return %y, %z\n"
      "}");
  EXPECT_THAT(program.text(), HasSubstr("-> (Tensor[(n), i64], Tensor[(max(0, n - 3)), i64])"));
}

TEST(Range, LimitReadAtRunTimeMayBeNegative) {
  Program program = inferText(
      "fn @main(%n: Tensor[(), i64]) {\n"
      "  %a = constant() {value = i64[] 0}\n"
      "  %d = constant() {value = i64[] 1}\n"
      "  %y = range(%a, %n, %d)\n"
      "  return %y\n"
      "}");
  EXPECT_THAT(shapeOf(run(program, {scalar(-2)})), ElementsAre(0));
  EXPECT_THAT(shapeOf(run(program, {scalar(2)})), ElementsAre(2));
}

TEST(Range, DeltaZero) {
  EXPECT_EQ(runError(OpCase("range", {scalar(0), scalar(3), scalar(0)})).id, DiagnosticId::dimDomain);
}

TEST(RangeReal, CountsInReals) {
  OpCase test("range_real", {reals({}, {1}), reals({}, {2}), reals({}, {0.25})});
  EXPECT_THAT(elements(checkOp(test)), ElementsAre(1, 1.25, 1.5, 1.75));
  test.constants = {0, 1, 2};
  EXPECT_THAT(elements(checkOp(test)), ElementsAre(1, 1.25, 1.5, 1.75));
  OpCase down("range_real",
              {reals({}, {10}, Dtype::f64), reals({}, {4}, Dtype::f64), reals({}, {-2.5}, Dtype::f64)});
  EXPECT_THAT(elements(checkOp(down)), ElementsAre(10, 7.5, 5));
}

TEST(ConstantOfShape, EveryValue) {
  const auto filled = [](HostTensor shape, Attributes attributes = {}) {
    OpCase test("constant_of_shape", {std::move(shape)}, std::move(attributes));
    test.dynamic = false;  // a shape of unknown length leaves the rank open
    return checkLowered(test);
  };
  EXPECT_THAT(elements(filled(vec({3}))), ElementsAre(0, 0, 0));
  EXPECT_THAT(elements(filled(vec({2, 1}), {{"value", vec({-7})}})), ElementsAre(-7, -7));
  EXPECT_THAT(elements(filled(vec({2}), {{"value", vec({1}, Dtype::boolean)}})), ElementsAre(1, 1));
  EXPECT_THAT(shapeOf(filled(vec({0, 4}))), ElementsAre(0, 4));
  EXPECT_THAT(shapeOf(filled(vec({}))), ElementsAre());
}

TEST(ConstantOfShape, NegativeSizes) {
  OpCase known("constant_of_shape", {vec({-1})});
  known.constants = {0};
  EXPECT_EQ(inferError(known).id, DiagnosticId::shapeMismatch);
  Program program = inferText("fn @main(%s: Tensor[(1), i64]) { %y = constant_of_shape(%s) return %y }");
  EXPECT_EQ(runTextError(program, {vec({-1})}).id, DiagnosticId::shapeCheckFailed);
}

TEST(OneHot, EveryAxis) {
  const HostTensor values = reals({2}, {0, 5});
  OpCase last("one_hot", {vec({1, -1, 3, -4}), scalar(3), values});
  EXPECT_THAT(elements(checkLowered(last)), ElementsAre(0, 5, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0));
  OpCase first("one_hot", {vec({1, 0}), vec({2}), values}, {{"axis", int64_t{0}}});
  first.dynamic = false;  // the values' length would be symbolic
  EXPECT_THAT(elements(checkLowered(first)), ElementsAre(0, 5, 5, 0));
}

TEST(EyeLike, Diagonals) {
  EXPECT_THAT(elements(checkLowered(OpCase("eye_like", {counting({2, 3})}, {{"k", int64_t{1}}}))),
              ElementsAre(0, 1, 0, 0, 0, 1));
  OpCase flags("eye_like", {counting({2, 2})}, {{"dtype", Dtype::boolean}, {"k", int64_t{-1}}});
  EXPECT_THAT(elements(checkLowered(flags)), ElementsAre(0, 0, 1, 0));
}

TEST(Trilu, Triangles) {
  const HostTensor x = reals({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(elements(checkLowered(OpCase("trilu", {x}))), ElementsAre(1, 2, 3, 0, 5, 6));
  EXPECT_THAT(elements(checkLowered(OpCase("trilu", {x, scalar(1)}))), ElementsAre(0, 2, 3, 0, 0, 6));
  EXPECT_THAT(elements(checkLowered(OpCase("trilu", {x, scalar(-1)}, {{"upper", int64_t{0}}}))),
              ElementsAre(0, 0, 0, 4, 0, 0));
  checkLowered(OpCase("trilu", {counting({2, 3, 3}, Dtype::boolean)}, {{"upper", int64_t{0}}}));
}

TEST(Tile, RepeatsEachAxis) {
  auto results = checkLowered(OpCase("tile", {counting({2, 2}), vec({1, 2})}));
  EXPECT_THAT(shapeOf(results), ElementsAre(2, 4));
  EXPECT_THAT(elements(results), ElementsAre(0, 1, 0, 1, 2, 3, 2, 3));
  EXPECT_THAT(shapeOf(checkLowered(OpCase("tile", {counting({2, 2}), vec({0, 3})}))), ElementsAre(0, 6));
  OpCase folded("tile", {counting({3}), vec({2})});
  folded.constants = {1};
  EXPECT_THAT(elements(checkLowered(folded)), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_EQ(runError(OpCase("tile", {counting({3}), vec({-1})})).id, DiagnosticId::shapeCheckFailed);
}

struct PadRow {
  std::string mode;
  int64_t size;
  std::vector<int64_t> pads;
  std::vector<double> expected;
};

TEST(Pad, ModesOfOneAxis) {
  const PadRow rows[] = {
      {"constant", 3, {2, 1}, {0, 0, 0, 1, 2, 0}},
      {"constant", 3, {-1, 2}, {1, 2, 0, 0}},
      {"constant", 4, {-1, -2}, {1}},
      {"constant", 2, {-3, 2}, {0}},
      {"edge", 3, {2, 1}, {0, 0, 0, 1, 2, 2}},
      {"edge", 3, {-1, 2}, {1, 2, 2, 2}},
      {"reflect", 3, {2, 1}, {2, 1, 0, 1, 2, 1}},
      {"reflect", 3, {5, 0}, {1, 0, 1, 2, 1, 0, 1, 2}},
      {"reflect", 4, {-1, 2}, {1, 2, 3, 2, 1}},
      {"reflect", 1, {2, 1}, {0, 0, 0, 0}},
      {"wrap", 3, {2, 4}, {1, 2, 0, 1, 2, 0, 1, 2, 0}},
      {"wrap", 3, {1, -1}, {1, 0, 1}},
  };
  for (const PadRow& row : rows) {
    SCOPED_TRACE(row.mode + " of " + std::to_string(row.size));
    for (bool isConstant : {false, true}) {
      OpCase test("pad", {counting({row.size}), HostTensor::vectorInt(Dtype::i64, row.pads)},
                  {{"mode", row.mode}});
      if (isConstant) test.constants = {1};
      EXPECT_EQ(elements(checkLowered(test)), row.expected);
    }
  }
}

TEST(Pad, ValueAndAxes) {
  OpCase test("pad", {counting({2, 2}), vec({1, 0}), reals({}, {9}), vec({-1})});
  test.constants = {3};
  EXPECT_THAT(elements(checkLowered(test)), ElementsAre(9, 0, 1, 9, 2, 3));
  OpCase strings("pad", {HostTensor::strings({1}, {"a"}), vec({0, 1}), HostTensor::strings({}, {"z"})});
  auto results = checkOp(strings);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_THAT(results[0].tensor().stringValues(), ElementsAre("a", "z"));
}

TEST(Pad, Errors) {
  EXPECT_EQ(runError(OpCase("pad", {counting({2}), vec({-2, -1})})).id, DiagnosticId::shapeCheckFailed);
  EXPECT_EQ(runError(OpCase("pad", {counting({0}), vec({1, 0})}, {{"mode", std::string("edge")}})).id,
            DiagnosticId::shapeCheckFailed);
  EXPECT_EQ(inferError(OpCase("pad", {counting({2}), vec({1, 0, 1})})).id, DiagnosticId::shapeMismatch);
}

TEST(CenterCropPad, CutsAndPads) {
  EXPECT_THAT(elements(checkLowered(OpCase("center_crop_pad", {counting({5}), vec({2})}))),
              ElementsAre(1, 2));
  EXPECT_THAT(elements(checkLowered(OpCase("center_crop_pad", {reals({2}, {1, 2}), vec({5})}))),
              ElementsAre(0, 1, 2, 0, 0));
  OpCase axes("center_crop_pad", {counting({2, 3}), vec({1})}, {{"axes", std::vector<int64_t>{-1}}});
  EXPECT_THAT(elements(checkLowered(axes)), ElementsAre(1, 4));
}

TEST(DepthToSpace, BothModesAndBack) {
  OpCase dcr("depth_to_space", {counting({1, 8, 1, 2})}, {{"block", int64_t{2}}});
  auto results = checkLowered(dcr);
  EXPECT_THAT(shapeOf(results), ElementsAre(1, 2, 2, 4));
  EXPECT_THAT(elements(results), ElementsAre(0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15));
  OpCase crd("depth_to_space", {counting({1, 8, 1, 2})},
             {{"block", int64_t{2}}, {"mode", std::string("crd")}});
  EXPECT_THAT(elements(checkLowered(crd)), ElementsAre(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15));
  ASSERT_EQ(results.size(), 1u);
  OpCase back("space_to_depth", {results[0].tensor()}, {{"block", int64_t{2}}});
  EXPECT_TRUE(checkLowered(back)[0].tensor().identical(counting({1, 8, 1, 2})));
  EXPECT_EQ(inferError(OpCase("depth_to_space", {counting({1, 6, 1, 1})}, {{"block", int64_t{2}}})).id,
            DiagnosticId::shapeMismatch);
}

TEST(ReverseSequence, BothLayouts) {
  OpCase timeFirst("reverse_sequence", {counting({3, 2}), vec({3, 2})});
  timeFirst.dynamic = false;
  EXPECT_THAT(elements(checkLowered(timeFirst)), ElementsAre(4, 3, 2, 1, 0, 5));
  OpCase batchFirst("reverse_sequence", {counting({2, 3}), vec({1, 3})},
                    {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}});
  EXPECT_THAT(elements(checkLowered(batchFirst)), ElementsAre(0, 1, 2, 5, 4, 3));
  OpCase bad("reverse_sequence", {counting({2, 1}), vec({3})});
  EXPECT_THAT(runError(bad).message, HasSubstr("out of range"));
  EXPECT_EQ(loweredFault(bad), DYN_KERNEL_INDEX_OUT_OF_RANGE);
}

// The examples of the rows type-check and, as they are written, run.
TEST(FillExamples, TypeCheck) {
  for (const OpDef* row :
       {&ops::gatherOp, &ops::gather_ndOp, &ops::gather_elementsOp, &ops::scatter_elementsOp,
        &ops::scatter_ndOp, &ops::rangeOp, &ops::range_realOp, &ops::constant_of_shapeOp, &ops::one_hotOp,
        &ops::eye_likeOp, &ops::triluOp, &ops::tileOp, &ops::padOp, &ops::center_crop_padOp,
        &ops::depth_to_spaceOp, &ops::space_to_depthOp, &ops::reverse_sequenceOp}) {
    SCOPED_TRACE(std::string(row->name));
    inferText(row->example);
  }
}

// As PyTorch's older exporter counts the repeats of repeat_interleave: the size at one place, ones elsewhere.
TEST(OneHot, ContentsAreKnown) {
  Program p = inferText(R"(
    fn @main(%x: Tensor[(b, 4), f32], %y: Tensor[(f), f32], %z: Tensor[(b*f, 4), f32]) {
      %pair = concat(i64[1] [1], shape(%y)) {axis = 0}
      %repeats = one_hot(i64[1] [1], i64[] 3, %pair)
      %many = tile(unsqueeze(%x, i64[1] [1]), reshape(%repeats, i64[1] [-1]))
      %w = add(reshape(%many, i64[2] [-1, 4]), %z)
      %last = one_hot(i64[2] [-1, 7], i64[] 2, %pair) {axis = 0}
      %v = expand(f32[] 0.0, reshape(%last, i64[1] [-1]))
      return %w, %v
    })");
  EXPECT_EQ(checkCount(p.inferred.module), 0) << p.text();
  const std::vector<Value> results = run(p, {real({3, 4}), real({5}), real({15, 4})});
  EXPECT_EQ(shapeOf(results, 0), (std::vector<int64_t>{15, 4}));
  EXPECT_EQ(shapeOf(results, 1), (std::vector<int64_t>{1, 1, 5, 1}));
}

}  // namespace
}  // namespace dyn::test
