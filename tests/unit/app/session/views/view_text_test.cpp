#include "app/session/views/view_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/engine/model/compare.h"
#include "app/session/views/view_json.h"
#include "compiler/reference/random_tensor.h"

namespace dyn {
namespace {

std::string text(const HostTensor& tensor, TextOptions options = {}) {
  return toText(Value(tensor), "", options);
}

TEST(TensorText, LooksLikeNumPy) {
  EXPECT_EQ(text(HostTensor::scalarInt(Dtype::i64, 3)), "i64[] 3");
  EXPECT_EQ(text(rangeTensor(Dtype::i32, {2, 3}).value()), "i32[2, 3]\n[[0, 1, 2],\n [3, 4, 5]]");
  EXPECT_EQ(text(rangeTensor(Dtype::f32, {3}).value()), "f32[3] [0., 1., 2.]");
  EXPECT_EQ(text(HostTensor::create(Dtype::f32, {2, 0}).value()), "f32[2, 0]\n[[],\n []]");
  EXPECT_EQ(text(HostTensor::vectorReal(Dtype::f64, std::vector<double>{0.5, -1.25})),
            "f64[2] [ 0.50, -1.25]");
}

TEST(TensorText, LongAxesAreCutToTheirEdges) {
  const std::string cut = text(rangeTensor(Dtype::i64, {1000}).value());
  EXPECT_EQ(cut, "i64[1000] [  0,   1,   2, ..., 997, 998, 999]");
  TextOptions whole;
  whole.full = true;
  EXPECT_NE(text(rangeTensor(Dtype::i64, {1000}).value(), whole).find("500"), std::string::npos);
}

TEST(TensorText, CountsWhatIsNoNumber) {
  HostTensor tensor = HostTensor::vectorReal(Dtype::f32, std::vector<double>{NAN, INFINITY, -INFINITY, 1});
  EXPECT_EQ(text(tensor), "f32[4]  1 NaN  2 Inf [ nan,  inf, -inf,   1.]");
}

TEST(Compare, ToleratesWhatItShould) {
  Tolerance tolerance{1e-3, 1e-7};
  auto reals = [](std::vector<double> values) { return Value(HostTensor::vectorReal(Dtype::f32, values)); };
  EXPECT_EQ(compareValues(reals({1, NAN}), reals({1.0005, NAN}), tolerance), "");
  EXPECT_NE(compareValues(reals({1, NAN}), reals({1.002, NAN}), tolerance), "");
  EXPECT_NE(compareValues(reals({INFINITY}), reals({-INFINITY}), tolerance), "");
  EXPECT_NE(compareValues(reals({NAN}), reals({1}), tolerance), "");
  // Small beside the others of its tensor.
  EXPECT_NE(compareValues(reals({100, 1}), reals({100, 1.05}), tolerance), "");
  tolerance.ofTensor = true;
  EXPECT_EQ(compareValues(reals({100, 1}), reals({100, 1.05}), tolerance), "");
  EXPECT_NE(compareValues(reals({100, 1}), reals({100, 1.2}), tolerance), "");
  EXPECT_NE(compareValues(reals({INFINITY, 1}), reals({INFINITY, 1.2}), tolerance), "");
  tolerance.ofTensor = false;
  EXPECT_NE(
      compareValues(reals({1}), Value(HostTensor::vectorReal(Dtype::f64, std::vector<double>{1})), tolerance),
      "");
  EXPECT_NE(compareValues(reals({1}), reals({1, 1}), tolerance), "");
  EXPECT_NE(compareValues(Value(HostTensor::scalarInt(Dtype::i64, 1000)),
                          Value(HostTensor::scalarInt(Dtype::i64, 1001)), tolerance),
            "");
  EXPECT_NE(compareValues(Value::list({reals({1})}), Value::list({}), tolerance), "");
  EXPECT_EQ(compareValues(Value::list({reals({1})}), Value::list({reals({1})}), tolerance), "");
  EXPECT_NE(compareValues(Value::nothing(), Value::some(reals({1})), tolerance), "");
}

TEST(Random, IsTheSameEverywhere) {
  HostTensor a = randomTensor(Dtype::f32, {1000}, RandomSource(1, "x"), 2).value();
  EXPECT_TRUE(a.identical(randomTensor(Dtype::f32, {1000}, RandomSource(1, "x"), 2).value()));
  EXPECT_FALSE(a.identical(randomTensor(Dtype::f32, {1000}, RandomSource(1, "y"), 2).value()));
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    sum += a.realAt(i);
    squares += a.realAt(i) * a.realAt(i);
  }
  EXPECT_NEAR(sum / 1000, 0, 0.15);
  EXPECT_NEAR(squares / 1000, 1, 0.2);
  HostTensor integers = randomTensor(Dtype::i64, {100}, RandomSource(3), 2).value();
  for (int64_t i = 0; i < 100; ++i) EXPECT_TRUE(integers.intAt(i) == 0 || integers.intAt(i) == 1);
}

TEST(Json, ErrorsHaveTheContractsFields) {
  const nlohmann::ordered_json json =
      toJson(makeError(DiagnosticId::shapeMismatch, "2 vs 3", {.file = "m.dyn", .line = 3, .column = 7})
                 .note("why")
                 .diagnostic());
  EXPECT_EQ(
      jsonText(json),
      R"({"id":"E0203","name":"shapeMismatch","message":"2 vs 3","place":"m.dyn:3:7","notes":["why"]})");
}

TEST(Json, BytesThatAreNoTextDoNotBreakTheDocument) {
  Diagnostic diagnostic = makeError(DiagnosticId::fileError, "name \xff\xfe").diagnostic();
  EXPECT_TRUE(nlohmann::json::accept(jsonText(toJson(diagnostic))));
}

}  // namespace
}  // namespace dyn
