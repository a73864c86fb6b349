#include "frontends/onnx/emit/result_sums.h"

#include <gtest/gtest.h>

#include "tests/support/text_module.h"

namespace dyn::onnx {
namespace {

// What is learned of the result of the last operation.
ValueTable::Entry last(std::string_view operations) {
  IrContext ir;
  Result<Module> module = test::parseText(
      ir,
      "fn @main(%v: Tensor[(n), i64], %m: Tensor[(n, 3), i64], %i: Tensor[(1), i64], %j: Tensor[(1), i64]) { "
      "%one = constant() {value = i64[] 1} " +
          std::string(operations) + " return %y }");
  EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().toString());
  if (!module.ok()) return {};
  ValueTable values;
  const Function& main = *module->main();
  values.at(main.parameters[0].id).rank = 1;
  values.at(main.parameters[1].id).rank = 2;
  ValueTable::Entry entry;
  for (const Op* op : main.ops) {
    values.at(op->results[0].id).dtype = Dtype::i64;
    learnSums(*op, values);
    entry = values.at(op->results[0].id);
  }
  return entry;
}

TEST(ResultSums, FillsAreKnownThroughCastsAndSums) {
  EXPECT_EQ(last("%y = constant() {value = i64[1] [7]}").fill, 7);
  EXPECT_EQ(last("%y = constant() {value = i64[2] [7, 7]}").fill, std::nullopt)
      << "only single numbers are read";
  EXPECT_EQ(last("%y = constant() {value = f32[] 1.0}").fill, std::nullopt);
  EXPECT_EQ(last("%y = constant_of_shape(%i) {value = i64[1] [3]}").fill, 3);
  EXPECT_EQ(last("%y = cast(%one) {to = i64}").fill, 1);
  EXPECT_EQ(last("%a = add(%one, %one) %y = add(%a, %one)").fill, 3);
  EXPECT_EQ(last("%a = constant() {value = i64[] 9223372036854775807} %y = add(%a, %one)").fill,
            std::nullopt);
}

TEST(ResultSums, ASliceFromANumberToThatNumberPlusKHasAtMostKElements) {
  EXPECT_EQ(last("%a = add(%i, %one) %y = slice(%v, %i, %a)").atMost, 1);
  EXPECT_EQ(last("%a = add(%one, %i) %b = add(%a, %one) %c = add(%b, %one) %y = slice(%v, %a, %c)").atMost,
            2);
  EXPECT_EQ(last("%a = add(%i, %one) %y = slice(%v, %a, %i)").atMost, -1) << "backwards";
  EXPECT_EQ(last("%a = add(%j, %one) %y = slice(%v, %i, %a)").atMost, -1) << "from another number";
  EXPECT_EQ(last("%a = add(%i, %one) %y = slice(%m, %i, %a)").atMost, -1) << "no vector";
  EXPECT_EQ(last("%a = add(%i, %j) %y = slice(%v, %i, %a)").atMost, -1) << "by a number that a run knows";
}

}  // namespace
}  // namespace dyn::onnx
