// Which values are the same by what they are made of, where sizes are long expressions.
#include "compiler/passes/analysis/value_numbers.h"

#include "tests/unit/compiler/driver/run_both.h"

namespace dyn::test {
namespace {

using passes::ValueNumbers;

// Two sizes that are one apart, behind `levels` sizes each of which is written with the one before it twice.
std::string longSizes(int levels) {
  std::string text = R"(
    fn @main(%x: Tensor[(n), f32]) {
      %one = constant() {value = i64[1] [1]}
      %two = constant() {value = i64[1] [2]}
      %three = constant() {value = i64[1] [3]}
      %q0 = shape(%x)
  )";
  for (int i = 1; i <= levels; ++i) {
    const std::string last = "%q" + std::to_string(i - 1), at = std::to_string(i);
    text += "%m" + at + " = mul(" + last + ", " + last + ")\n%q" + at + " = div(%m" + at + ", %three)\n";
  }
  const std::string last = "%q" + std::to_string(levels);
  return text + "%a = add(" + last + ", %one)\n%b = add(" + last + R"(, %two)
      %u = constant_of_shape(%a)
      %v = constant_of_shape(%b)
      %w = constant_of_shape(%a)
      %us = shape(%u)
      %vs = shape(%v)
      %ws = shape(%w)
      return %us, %vs, %ws
    })";
}

TEST(ValueNumbers, SizesWhoseTextIsLongAreApart) {
  for (const int levels : {1, 20}) {
    SCOPED_TRACE(levels);
    IrContext context;
    Result<Module> parsed = parseText(context, longSizes(levels));
    ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
    Result<InferredModule> inferred = inferTypes(*parsed);
    ASSERT_TRUE(inferred.ok()) << inferred.error().toString();
    ValueNumbers numbers(*inferred);
    const std::vector<ValueId>& results = inferred->module.main()->results;
    EXPECT_NE(numbers(results[0]), numbers(results[1]));
    EXPECT_EQ(numbers(results[0]), numbers(results[2]));
  }
}

}  // namespace
}  // namespace dyn::test
