// Type inference: broadcast table, checks, annotations, contents, control flow, calls.
#include "compiler/ops/infer.h"

#include "tests/unit/ops/op_test.h"

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
  Program p = inferText(R"(
    fn @main(%x: Tensor[(b, s, 12), f32]) {
      %all = shape(%x)
      %first = shape(%x) {start = 0, end = 1}
      %rest = constant() {value = i64[1] [-1]}
      %y = reshape(%x, %rest)
      %n = size(%x)
      return %y, %n
    })");
  EXPECT_THAT(p.text(), HasSubstr("%y = reshape(%x, %rest) : Tensor[(12*b*s), f32]"));
}

}  // namespace
}  // namespace dyn::test
