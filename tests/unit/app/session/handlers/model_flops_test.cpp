// The arithmetic of a model as a formula, and values of formulas.
#include "app/engine/model/model_flops.h"

#include "app/engine/model/formula.h"
#include "app/engine/model/model_info.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

class ModelFlops : public test::SessionFixture {
 protected:
  ModelInfo infoOf(const std::string& text) {
    EXPECT_TRUE(loadText(text)->ok());
    const auto outcome = line(":info");
    EXPECT_TRUE(outcome->ok());
    return outcome->as<ModelInfo>() ? *outcome->as<ModelInfo>() : ModelInfo();
  }
};

TEST_F(ModelFlops, aProductIsTwoForEachMultiplyAdd) {
  const ModelInfo info = infoOf(
      "fn @main(%x: Tensor[(b, n, 4), f32]) {\n  %w = constant() {value = f32[4, 2] [1,2,3,4,5,6,7,8]}\n"
      "  %y = matmul(%x, %w)\n  return %y\n}\n");
  EXPECT_EQ(info.flops, "16*b*n");
  EXPECT_EQ(info.parametersCount, 8);
  EXPECT_EQ(formulaValue(info.flops, {{"b", 3}, {"n", 5}}), 240);
}

TEST_F(ModelFlops, twoProductsAddUp) {
  const ModelInfo info = infoOf(
      "fn @main(%x: Tensor[(n, 4), f32], %z: Tensor[(4, n), f32]) {\n  %s = matmul(%x, %z)\n"
      "  %y = matmul(%s, %x)\n  return %y\n}\n");
  EXPECT_EQ(formulaValue(info.flops, {{"n", 10}}), 2 * 10 * 10 * 4 + 2 * 10 * 4 * 10) << info.flops;
}

TEST_F(ModelFlops, aModelWithoutProductsHasNone) {
  EXPECT_EQ(infoOf("fn @main(%x: Tensor[(n), f32]) { relu(%x) }").flops, "0");
}

TEST_F(ModelFlops, whatIsRepeatedAnUnknownNumberOfTimesIsNotCounted) {
  EXPECT_EQ(infoOf("fn @f(%x: Tensor[(n, n), f32]) -> Tensor[(n, n), f32] { matmul(%x, %x) }\n"
                   "fn @main(%x: Tensor[(n, n), f32]) { @f(%x) }\n")
                .flops,
            "");
}

TEST(Formula, hasAValueWhereAllItsDimsHave) {
  EXPECT_EQ(formulaValue("24*seq*seq + 64*floordiv(seq + 15, 16)", {{"seq", 20}}), 24 * 400 + 64 * 2);
  EXPECT_EQ(formulaValue("min(512, seq)", {{"seq", 600}}), 512);
  EXPECT_EQ(formulaValue("7", {}), 7);
  EXPECT_EQ(formulaValue("seq", {}), std::nullopt);
  EXPECT_EQ(formulaValue("seq*", {{"seq", 1}}), std::nullopt);
  EXPECT_EQ(formulaValue("n*n*n", {{"n", int64_t{1} << 40}}), std::nullopt) << "more than 64 bits";
}

}  // namespace
}  // namespace dyn
