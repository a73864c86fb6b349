// Each value that is read has a register and each dim that is computed with has a value: what lowering relies
// on, and programs that once broke it.
#include "compiler/lower/homes.h"

#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::expectSame;
using test::randomTensor;

HostTensor homesNumber(int64_t value) { return HostTensor::scalarInt(Dtype::i64, value); }
HostTensor flag(bool value) { return HostTensor::scalarInt(Dtype::boolean, value); }

// What is said of a placed module that a pass has broken.
std::string faultOf(const std::string& text) {
  IrContext context;
  Result<Module> parsed = test::parseText(context, text);
  EXPECT_TRUE(parsed.ok()) << parsed.error().toString();
  if (!parsed.ok()) return "";
  const Status status = everyUseIsDominated(*parsed);
  return status.ok() ? "" : status.error().message;
}

std::string placed(const std::string& size, const std::string& before, const std::string& after) {
  return "fn @main(%x: Tensor[(n), f32]) -> (Tensor[(n), f32]) {\n" + before + "  %y = alloc() : Tensor[(" +
         size +
         "), f32]\n  into(%x, %y) {kind = \"loop\", outputs = 1} body (%p: Tensor[(n), f32]) -> (Tensor[(n), "
         "f32]) {\n"
         "    %r = relu(%p) : Tensor[(n), f32]\n    return %r\n  }\n" +
         after + "  return %y\n}\n";
}

TEST(Homes, aModuleAsPassesLeaveIt) { EXPECT_EQ(faultOf(placed("n", "", "")), ""); }

TEST(Homes, aDimWithoutAValueIsNamed) {
  EXPECT_EQ(faultOf(placed("k", "", "")).rfind("the dim k has no value where %y gets its memory", 0), 0u)
      << faultOf(placed("k", "", ""));
  const std::string check = "  check() {lhs = dims(m), relation = \"eq\", rhs = dims(n), what = \"sizes\"}\n";
  EXPECT_EQ(faultOf(placed("n", check, "")).rfind("the dim m has no value where it is checked", 0), 0u);
}

TEST(Homes, aValueThatIsGoneIsNamed) {
  EXPECT_EQ(faultOf(placed("n", "", "  kill(%y)\n")),
            "%y is read and has no register where the function's end reads it");
}

// What was learnt of a size behind an operation is not used before it, by no later inference of the same
// program.
TEST(Homes, sizesThatAreProductsOfValues) {
  const char* text = R"(
    fn @main(%x: Tensor[(n), f32], %p: Tensor[(), i64]) {
      %f = constant_of_shape(reshape(mul(%p, %p), i64[1] [1])) {value = f32[1] [0.5]}
      %q = reshape(%p, i64[1] [1])
      %y = reshape(%f, concat(%q, %q) {axis = 0})
      return %y, %x
    })";
  const std::vector<std::vector<HostTensor>> inputs = {{randomTensor(Dtype::f32, {3}, 1), homesNumber(3)},
                                                       {randomTensor(Dtype::f32, {5}, 1), homesNumber(1)}};
  expectSame(text, inputs);
  CompileOptions variants;
  variants.variants = "n=3";
  expectSame(text, inputs, variants);
}

TEST(Homes, oneValueAsSeveralResults) {
  const char* text = R"(
    fn @main(%c: Tensor[(), bool], %x: Tensor[(n), f32]) {
      %a, %b, %d = if(%c, %x) then (%u) {
        %r = relu(%u)
        %s = relu(%u)
        return %r, %s, %u
      } else (%v) {
        %t = neg(%v)
        return %v, %t, %t
      }
      %e, %f = loop(i64[] 2, _, %a, %a, %b) {carried = 2} body (%i, %g, %h, %k) {
        return true, %h, %h
      }
      return %a, %b, %d, %e, %f, %x, %a
    })";
  expectSame(text, {{flag(true), randomTensor(Dtype::f32, {3}, 1)},
                    {flag(false), randomTensor(Dtype::f32, {0}, 2)},
                    {flag(false), randomTensor(Dtype::f32, {7}, 3)}});
}

// The sum takes one row beside many; only the concatenation, later, demands that there are as many. Until
// then the kernel must not rely on it.
TEST(Homes, aCheckSaysNothingOfWhatRunsBeforeIt) {
  const char* text = R"(
    fn @main(%v: Tensor[(k), f32], %y: Tensor[(m, 1), f32]) {
      %c = constant_of_shape(i64[2] [2, 1]) {value = f32[1] [0.5]}
      %s = cumsum(concat(%y, %c) {axis = 0}, i64[] 0)
      %x = cumsum(cast(transpose(nonzero(%v)) {perm = [1, 0]}) {to = f32}, i64[] 0)
      %k = cumsum(add(%x, %s), i64[] 0)
      %t = concat(%x, %s) {axis = 1}
      return %k, %t
    })";
  const auto ones = [](int64_t count) {
    HostTensor v = *HostTensor::create(Dtype::f32, {7});
    for (int64_t i = 0; i < 7; ++i) v.setReal(i, i < count ? 1 : 0);
    return v;
  };
  expectSame(text, {{ones(1), randomTensor(Dtype::f32, {4'000'000, 1}, 1)},
                    {ones(5), randomTensor(Dtype::f32, {3, 1}, 2)},
                    {ones(1), randomTensor(Dtype::f32, {0, 1}, 3)}});
}

}  // namespace
}  // namespace dyn
