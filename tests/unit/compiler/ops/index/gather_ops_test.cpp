// gather, gather_nd, gather_elements, scatter_elements, scatter_nd.
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
HostTensor ints(std::vector<int64_t> shape, std::initializer_list<int64_t> values, Dtype dtype = Dtype::i64) {
  return vec(values, dtype).reshaped(std::move(shape));
}

TEST(Gather, PicksSlicesAlongAnAxis) {
  OpCase rows("gather", {counting({3, 2}), ints({2, 2}, {0, -1, 2, 1})});
  auto results = checkLowered(rows);
  EXPECT_THAT(shapeOf(results), ElementsAre(2, 2, 2));
  EXPECT_THAT(elements(results), ElementsAre(0, 1, 4, 5, 4, 5, 2, 3));
  OpCase columns("gather", {counting({2, 3}), ints({2}, {2, -3}, Dtype::i32)}, {{"axis", int64_t{-1}}});
  EXPECT_THAT(elements(checkLowered(columns)), ElementsAre(2, 0, 5, 3));
}

TEST(Gather, ScalarIndexRemovesTheAxis) {
  auto results = checkLowered(OpCase("gather", {counting({2, 3}), scalar(1)}));
  EXPECT_THAT(shapeOf(results), ElementsAre(3));
  EXPECT_THAT(elements(results), ElementsAre(3, 4, 5));
}

TEST(Gather, EmptyIndicesAndAllDtypes) {
  EXPECT_THAT(shapeOf(checkLowered(OpCase("gather", {counting({0, 3}), ints({0}, {})}))), ElementsAre(0, 3));
  for (Dtype dtype : {Dtype::boolean, Dtype::u8, Dtype::i16, Dtype::i64, Dtype::f64, Dtype::f16, Dtype::bf16})
    checkLowered(OpCase("gather", {counting({4, 2}, dtype), ints({3}, {3, 0, -2})}));
}

TEST(Gather, Strings) {
  OpCase test("gather", {HostTensor::strings({3}, {"a", "b", "c"}), ints({2}, {-1, 0})});
  auto results = checkOp(test);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_THAT(results[0].tensor().stringValues(), ElementsAre("c", "a"));
}

TEST(Gather, OutOfRangeIsAnErrorAndAFault) {
  for (int64_t bad : {3, -4}) {
    OpCase test("gather", {counting({3}), ints({1}, {bad})});
    EXPECT_THAT(runError(test).message, HasSubstr("out of range"));
    EXPECT_EQ(loweredFault(test), DYN_KERNEL_INDEX_OUT_OF_RANGE);
  }
}

TEST(Gather, WhereNothingIsReadNoIndexIsWrong) {
  EXPECT_THAT(shapeOf(checkLowered(OpCase("gather", {counting({3, 0}), ints({2}, {9, -9})}))),
              ElementsAre(2, 0));
  OpCase slices("gather_nd", {counting({3, 0}), ints({2, 1}, {9, -9})});
  slices.dynamic = false;
  EXPECT_THAT(shapeOf(checkLowered(slices)), ElementsAre(2, 0));
}

TEST(Gather, DimTakenOutOfAShapeStaysADim) {
  Program program = inferText(
      "fn @main(%x: Tensor[(n, m), f32]) {\n"
      "  %s = shape(%x)\n"
      "  %i = constant() {value = i64[2] [-1, 0]}\n"
      "  %d = gather(%s, %i)\n"
      "  %y = constant_of_shape(%d)\n"
      "  return %y\n"
      "}");
  EXPECT_THAT(program.text(), HasSubstr("-> (Tensor[(m, n), f32])"));
  EXPECT_EQ(checkCount(program.inferred.module), 0);
}

TEST(GatherNd, RowsOfCoordinates) {
  OpCase single("gather_nd", {counting({2, 2}), ints({2, 2}, {0, 0, 1, -1})});
  single.dynamic = false;  // a symbolic last dim leaves the rank open
  EXPECT_THAT(elements(checkLowered(single)), ElementsAre(0, 3));
  OpCase slices("gather_nd", {counting({2, 2, 2}), ints({2, 1, 1}, {1, 0})});
  slices.dynamic = false;
  auto results = checkLowered(slices);
  EXPECT_THAT(shapeOf(results), ElementsAre(2, 1, 2, 2));
  EXPECT_THAT(elements(results), ElementsAre(4, 5, 6, 7, 0, 1, 2, 3));
}

TEST(GatherNd, BatchDims) {
  OpCase test("gather_nd", {counting({2, 2, 2}), ints({2, 1}, {1, 0})}, {{"batch_dims", int64_t{1}}});
  test.dynamic = false;
  EXPECT_THAT(elements(checkLowered(test)), ElementsAre(2, 3, 4, 5));
}

TEST(GatherNd, Errors) {
  OpCase test("gather_nd", {counting({2, 2}), ints({1, 2}, {0, 2})});
  EXPECT_EQ(loweredFault(test), DYN_KERNEL_INDEX_OUT_OF_RANGE);
  EXPECT_EQ(inferError(OpCase("gather_nd", {counting({2, 2}), ints({1, 3}, {0, 0, 0})})).id,
            DiagnosticId::rankMismatch);
  EXPECT_THAT(inferTextError("fn @main(%x: Tensor[(2, 2), f32], %i: Tensor[(3, k), i64]) "
                             "{ %y = gather_nd(%x, %i) return %y }")
                  .message,
              HasSubstr("the rank of the result can not be known"));
}

TEST(GatherElements, OneByOne) {
  OpCase test("gather_elements", {counting({3, 3}), ints({2, 3}, {1, 2, 0, -1, 0, 0})});
  EXPECT_THAT(elements(checkLowered(test)), ElementsAre(3, 7, 2, 6, 1, 2));
  OpCase last("gather_elements", {counting({2, 2}), ints({2, 2}, {0, 0, 1, 0})}, {{"axis", int64_t{1}}});
  EXPECT_THAT(elements(checkLowered(last)), ElementsAre(0, 0, 3, 2));
  OpCase smaller("gather_elements", {counting({2, 3}), ints({2, 1}, {1, -2})});
  EXPECT_THAT(elements(checkLowered(smaller)), ElementsAre(3, 0));
  OpCase bad("gather_elements", {counting({2}), ints({1}, {2})});
  EXPECT_EQ(loweredFault(bad), DYN_KERNEL_INDEX_OUT_OF_RANGE);
  EXPECT_EQ(inferError(OpCase("gather_elements", {counting({2, 2}), ints({2, 3}, {0, 0, 0, 0, 0, 0})})).id,
            DiagnosticId::shapeMismatch);
}

TEST(ScatterElements, ReplacesAndReduces) {
  const HostTensor data = reals({1, 5}, {1, 2, 3, 4, 5}), updates = reals({1, 2}, {1.5, 2.5});
  const HostTensor indices = ints({1, 2}, {1, -4});  // twice the same element
  const auto scattered = [&](std::string reduction) {
    return elements(checkOp(OpCase("scatter_elements", {data, indices, updates},
                                   {{"axis", int64_t{1}}, {"reduction", std::move(reduction)}})));
  };
  EXPECT_THAT(scattered("none"), ElementsAre(1, 2.5, 3, 4, 5));
  EXPECT_THAT(scattered("add"), ElementsAre(1, 6, 3, 4, 5));
  EXPECT_THAT(scattered("mul"), ElementsAre(1, 7.5, 3, 4, 5));
  EXPECT_THAT(scattered("max"), ElementsAre(1, 2.5, 3, 4, 5));
  EXPECT_THAT(scattered("min"), ElementsAre(1, 1.5, 3, 4, 5));
}

TEST(ScatterElements, UnsignedAndErrors) {
  HostTensor data = ints({2}, {-1, 5}, Dtype::u64);  // 2^64 - 1
  auto results = checkOp(OpCase("scatter_elements", {data, ints({2}, {0, 1}), ints({2}, {7, 7}, Dtype::u64)},
                                {{"reduction", std::string("max")}}));
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].tensor().intAt(0), -1);
  EXPECT_EQ(results[0].tensor().intAt(1), 7);
  OpCase bad("scatter_elements", {counting({2}), ints({1}, {2}), counting({1})});
  EXPECT_THAT(runError(bad).message, HasSubstr("out of range"));
  OpCase unknown("scatter_elements", {counting({2}), ints({1}, {0}), counting({1})},
                 {{"reduction", std::string("mean")}});
  EXPECT_EQ(inferError(unknown).id, DiagnosticId::badAttribute);
}

// The numbers stand in vm/kernels/builtins.def: axis; 0 none, 1 add, 2 mul, 3 min, 4 max.
TEST(ScatterElements, BuiltinArguments) {
  const std::pair<std::string, int32_t> rows[] = {
      {"none", 0}, {"add", 1}, {"mul", 2}, {"min", 3}, {"max", 4}};
  for (const auto& [reduction, number] : rows) {
    IrContext ir;
    OpCase test("scatter_elements", {counting({2, 3}), ints({2, 1}, {0, 0}), counting({2, 1})},
                {{"axis", int64_t{-1}}, {"reduction", reduction}});
    auto inferred = inferTypes(moduleOf(ir, test, DimStyle::fixed));
    ASSERT_TRUE(inferred.ok());
    const Function& main = *inferred->module.main();
    std::vector<Type> types;
    for (const Parameter& parameter : main.parameters) types.push_back(parameter.type);
    const auto call = ops::scatter_elementsOp.builtin.describe({*main.ops.back(), types});
    ASSERT_TRUE(call.ok());
    EXPECT_THAT(call->numbers, ElementsAre(1, number));
    EXPECT_TRUE(call->scalars.empty());
  }
}

TEST(ScatterNd, Slices) {
  OpCase test("scatter_nd", {counting({3, 2}), ints({2, 1}, {2, 0}), reals({2, 2}, {9, 8, 7, 6})});
  test.dynamic = false;
  EXPECT_THAT(elements(checkOp(test)), ElementsAre(7, 6, 2, 3, 9, 8));
  OpCase twice("scatter_nd", {counting({2}), ints({2, 1}, {1, 1}), reals({2}, {10, 20})},
               {{"reduction", std::string("add")}});
  twice.dynamic = false;
  EXPECT_THAT(elements(checkOp(twice)), ElementsAre(0, 31));
  OpCase bad("scatter_nd", {counting({3, 2}), ints({2, 1}, {2, 0}), counting({2, 3})});
  EXPECT_EQ(inferError(bad).id, DiagnosticId::shapeMismatch);
}

}  // namespace
}  // namespace dyn::test
