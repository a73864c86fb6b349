// --static refuses what is dynamic and says why; dims given a value, a range or a multiple hold in the
// program and are checked when it runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/engine/model/model_info.h"
#include "app/engine/run/run_result.h"
#include "app/session/views/code_views.h"
#include "app/session/views/why_views.h"
#include "tests/support/sample_modules.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kStaticProduct =
    R"(fn @main(%x: Tensor[(batch, seq), f32], %w: Tensor[(seq, 4), f32]) -> (Tensor[(batch, 4), f32]) {
  %p = matmul(%x, %w)
  %y = relu(%p)
  return %y
}
)";
constexpr const char* kCounts = R"(fn @main(%x: Tensor[(n, 4), f32]) -> (Tensor[(2, k), i64]) {
  %i = nonzero(%x)
  return %i
}
)";
constexpr const char* kGrows =
    R"(fn @main(%n: Tensor[(), i64], %x: Tensor[(3), f32]) -> (Tensor[(?), f32]) {
  %t = constant() {value = bool[] true}
  %y = loop(%n, %t, %x) {carried = 1} body (%i: Tensor[(), i64], %a: Tensor[(?), f32]) -> (Tensor[(), bool], Tensor[(?), f32]) {
    %c = constant() {value = bool[] true}
    %b = concat(%a, %a) {axis = 0}
    return %c, %b
  }
  return %y
}
)";

class StaticTest : public test::SessionFixture {
 protected:
  std::vector<double> output(const std::string& arguments) {
    auto outcome = line(":run " + arguments);
    EXPECT_TRUE(outcome->ok()) << (outcome->ok() ? "" : outcome->error->message);
    std::vector<double> values;
    if (!outcome->ok()) return values;
    const HostTensor& y = outcome->as<RunResult>()->outputs[0].value.tensor();
    for (int64_t i = 0; i < y.elementCount(); ++i) values.push_back(y.realAt(i));
    return values;
  }
};

TEST_F(StaticTest, AnUnfixedSymbolIsNamedWithOperationDimAndCause) {
  auto outcome = loadText(kStaticProduct, "--static --dim seq=16");
  ASSERT_FALSE(outcome->ok());
  EXPECT_EQ(outcome->exitCode(), 2);
  EXPECT_THAT(outcome->error->message, AllOf(HasSubstr("matmul"), HasSubstr("dim 0"), HasSubstr("batch"),
                                             HasSubstr("axis 0 of input x")));
  EXPECT_EQ(outcome->error->op, "matmul");
  EXPECT_TRUE(outcome->error->place.known());
  EXPECT_THAT(outcome->error->notes, testing::Contains(HasSubstr("--dim batch=N")));
}

TEST_F(StaticTest, EveryOpenSymbolIsTold) {
  auto outcome = loadText(kStaticProduct, "--static");
  ASSERT_FALSE(outcome->ok());
  std::string all = outcome->error->message;
  for (const std::string& note : outcome->error->notes) all += "\n" + note;
  EXPECT_THAT(all, AllOf(HasSubstr("--dim batch=N"), HasSubstr("--dim seq=N")));
}

TEST_F(StaticTest, AValueDependentSizeIsRefusedWhateverIsFixed) {
  auto outcome = loadText(kCounts, "--static --dim n=3");
  ASSERT_FALSE(outcome->ok());
  EXPECT_EQ(outcome->exitCode(), 4);
  EXPECT_THAT(outcome->error->message,
              AllOf(HasSubstr("nonzero"), HasSubstr("dim 1"), HasSubstr("depends on values")));
  EXPECT_TRUE(loadText(kCounts, "--dim n=3")->ok());
}

TEST_F(StaticTest, ALoopThatGrowsATensorIsRefusedOneThatKeepsItIsNot) {
  auto grows = loadText(kGrows, "--static");
  ASSERT_FALSE(grows->ok());
  EXPECT_EQ(grows->exitCode(), 4);
  EXPECT_THAT(grows->error->message, AllOf(HasSubstr("loop"), HasSubstr("control flow changes a size")));
  auto steady = loadText(test::kSineLoop, "--static --dim k=5");
  EXPECT_TRUE(steady->ok()) << steady->error->message;
}

TEST_F(StaticTest, ARefusedModelIsNotLoaded) {
  ASSERT_TRUE(loadText(test::kSineLoop, "--dim k=5")->ok());
  ASSERT_FALSE(loadText(kGrows, "--static")->ok());
  auto info = line(":info");
  EXPECT_EQ(info->as<ModelInfo>()->inputs[1].shape, std::vector<std::string>{"5"});
}

TEST_F(StaticTest, AStaticBuildGivesTheSameResults) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(loadText(kStaticProduct, "")->ok());
  const std::vector<double> expected = output("--dim batch=3 --dim seq=16");
  auto loaded = loadText(kStaticProduct, "--static --dim batch=3 --dim seq=16");
  ASSERT_TRUE(loaded->ok()) << loaded->error->message;
  EXPECT_EQ(loaded->as<ModelInfo>()->inputs[0].shape, (std::vector<std::string>{"3", "16"}));
  const std::vector<double> actual =
      output("--dim batch=3 --dim seq=16");  // naming the fixed dims is allowed
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-5);
  EXPECT_EQ(output("").size(), 12u);
  // No symbol is left anywhere down to the program.
  auto placed = line(":ir plan");
  EXPECT_THAT(placed->as<IrText>()->text.substr(placed->as<IrText>()->text.find("fn @main")),
              testing::Not(HasSubstr("batch")));
}

TEST_F(StaticTest, AnotherValueOfAFixedDimIsRefused) {
  ASSERT_TRUE(loadText(kStaticProduct, "--dim seq=16")->ok());
  auto outcome = line(":run --dim batch=2 --dim seq=24");
  ASSERT_FALSE(outcome->ok());
  EXPECT_THAT(outcome->error->message, HasSubstr("seq = 16"));
}

TEST_F(StaticTest, FixedRangedAndFreeDimsTogether) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(loadText(kStaticProduct, "--dim batch=2 --dim seq=1..512:8")->ok());
  EXPECT_EQ(output("--dim seq=8").size(), 8u);
  EXPECT_EQ(output("--dim seq=512").size(), 8u);
  for (const auto& [arguments, why] : std::vector<std::pair<std::string, std::string>>{
           {"--dim seq=12", "multiple of 8"}, {"--dim seq=520", "512"}, {"--dim seq=0", "allowed is"}}) {
    auto outcome = line(":run " + arguments);
    ASSERT_FALSE(outcome->ok()) << arguments;
    EXPECT_EQ(outcome->error->id, DiagnosticId::inputMismatch);
    EXPECT_THAT(outcome->error->message, AllOf(HasSubstr("input \"x\""), HasSubstr("dim 1"), HasSubstr(why)))
        << arguments;
  }
  // The facts are known to the solver, and so to everything that asks it.
  auto dims = line(":dims seq");
  ASSERT_TRUE(dims->ok());
  const DimRow& row = dims->as<DimsTable>()->rows[0];
  EXPECT_EQ(row.multiple, 8);
  EXPECT_EQ(row.low, 8);
  EXPECT_EQ(row.high, 512);
}

TEST_F(StaticTest, APackageKeepsItsFixedDims) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(loadText(kStaticProduct, "")->ok());
  const std::vector<double> expected = output("--dim batch=3 --dim seq=16");
  const std::string package = folder_.write("m.dynpkg", "");
  auto compiled = line(":compile --static --dim batch=3 --dim seq=16 -o " + package);
  ASSERT_TRUE(compiled->ok()) << compiled->error->message;
  ASSERT_TRUE(line(":load " + package)->ok());
  EXPECT_EQ(output("--dim batch=3 --dim seq=16").size(), expected.size());
  auto outcome = line(":run --dim seq=17");
  ASSERT_FALSE(outcome->ok());
  EXPECT_THAT(outcome->error->message, HasSubstr("seq = 16"));
}

// An axis without a name is named by its input.
TEST_F(StaticTest, AnAnonymousAxisIsFixedByInputAndAxis) {
  constexpr const char* kUnnamed = R"(fn @main(%x: Tensor[(?, 4), f32]) {
  %y = relu(%x)
  return %y
}
)";
  auto refused = loadText(kUnnamed, "--static");
  ASSERT_FALSE(refused->ok());
  EXPECT_THAT(refused->error->notes, testing::Contains(HasSubstr("--dim x.0=N")));
  auto fixed = loadText(kUnnamed, "--static --dim x.0=7");
  ASSERT_TRUE(fixed->ok()) << fixed->error->message;
  EXPECT_EQ(fixed->as<ModelInfo>()->inputs[0].shape, (std::vector<std::string>{"7", "4"}));
}

}  // namespace
}  // namespace dyn
