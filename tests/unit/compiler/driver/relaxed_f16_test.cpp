// --math f16-relaxed: f16 is kept in f32 from one operation to the next.
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::withType;

// With --math f16-relaxed results are those of f32, rounded once where they are returned.
TEST(RelaxedF16, isRoundedAtTheEnd) {
  const char* text = R"(
    fn @main(%x: Tensor[(n, 3), TYPE], %y: Tensor[(n, 4), TYPE]) {
      %w = constant() {value = f16[3, 4] [[0.1, 0.2, 7, 1], [0.3, 1e-3, -4, 2], [3, 2, 1, -1]]}
      %v = cast(%w) {to = TYPE}
      %a = matmul(%x, %v)
      %b = add(%a, %y)
      %n = constant() {value = i64[2] [-1, 2]}
      %r = reshape(%b, %n)
      %t = transpose(%r)
      %s = softmax(%t) {axis = 0}
      %e = exp(%s)
      %p = mul(%e, %t)
      %k = transpose(%p)
      return %k
    })";
  CompileOptions relaxed;
  relaxed.math = "f16-relaxed";
  const auto rounds = [](const Op& op) {
    return op.def == &ops::castOp && op.results[0].type.dtype() == Dtype::f16;
  };
  EXPECT_EQ(test::opsAfter(withType(text, "f16"), "dce", rounds, relaxed), 1);
  EXPECT_GT(test::opsAfter(withType(text, "f16"), "dce", rounds), 0);
  IrContext context;
  Result<Module> narrow = test::parseText(context, withType(text, "f16")),
                 wide = test::parseText(context, withType(text, "f32"));
  ASSERT_TRUE(narrow.ok() && wide.ok());
  Result<std::unique_ptr<test::Compiled>> ours = test::Compiled::make(*narrow, relaxed),
                                          rounded = test::Compiled::make(*narrow, {}),
                                          exact = test::Compiled::make(*wide, {});
  ASSERT_TRUE(ours.ok() && rounded.ok() && exact.ok());
  int64_t otherwise = 0;
  for (int64_t n : {0, 1, 2, 13}) {
    const HostTensor x = test::randomTensor(Dtype::f16, {n, 3}, 5),
                     y = test::randomTensor(Dtype::f16, {n, 4}, 6);
    const auto widened = [](const HostTensor& from) {
      HostTensor to = *HostTensor::create(Dtype::f32, from.shape());
      for (int64_t i = 0; i < from.elementCount(); ++i) to.setReal(i, from.realAt(i));
      return to;
    };
    Result<std::vector<HostTensor>> got = (*ours)->run({x, y}), each = (*rounded)->run({x, y}),
                                    wanted = (*exact)->run({widened(x), widened(y)});
    ASSERT_TRUE(got.ok() && each.ok() && wanted.ok());
    HostTensor once = *HostTensor::create(Dtype::f16, (*wanted)[0].shape());
    for (int64_t i = 0; i < once.elementCount(); ++i) {
      once.setReal(i, (*wanted)[0].realAt(i));
      EXPECT_NEAR((*got)[0].realAt(i), once.realAt(i), 1e-3 * (0.01 + std::abs(once.realAt(i)))) << i;
      otherwise += (*each)[0].realAt(i) != once.realAt(i) ? 1 : 0;
    }
  }
  EXPECT_GT(otherwise, 0);
}

}  // namespace
}  // namespace dyn
