// Sizes that a check further down makes equal are not equal before it. Each program here was once compiled as
// if they were: it ran past the end of a tensor, or told that its arena was too small, before the check could
// fail.
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::randomTensor;

struct LateCheck {
  const char* what;
  const char* text;
  std::vector<std::vector<int64_t>> right, wrong;  // shapes of the inputs
};

HostTensor inputOf(Dtype dtype, std::vector<int64_t> shape, uint32_t seed) {
  return dtype == Dtype::i64
             ? HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>(static_cast<size_t>(shape[0])))
             : randomTensor(dtype, std::move(shape), seed);
}

const LateCheck kPrograms[] = {
    {"attention: batches of the scores and of the rows",
     R"(
     fn @main(%q: Tensor[(n, s, d), f32], %k: Tensor[(n, d, t), f32], %mask: Tensor[(m, s, t), f32],
              %v: Tensor[(1, t, d), f32]) {
       %a = softmax(add(matmul(%q, %k), %mask)) {axis = -1}
       %o = matmul(%a, %v)
       %c = concat(%o, %q) {axis = 2}
       return %c
     })",
     {{3, 5, 4}, {3, 4, 6}, {1, 5, 6}, {1, 6, 4}},
     {{1, 3, 4}, {1, 4, 5}, {50000, 3, 5}, {1, 5, 4}}},
    {"plan: a buffer in the place of a smaller one",
     R"(
     fn @main(%x: Tensor[(n), f32], %y: Tensor[(m), f32]) {
       %a = cumsum(%x, 0)
       %b = cumsum(mul(%a, 2.0), 0)
       %s = reduce_sum(%b)
       %c = cumsum(%y, 0)
       %d = cumsum(mul(%c, 3.0), 0)
       %t = reduce_sum(%d)
       %z = matmul(%x, %y)
       return %s, %t, %z
     })",
     {{7}, {7}},
     {{5}, {100000}}},
    {"plan: a size that stands for a smaller one, which stood for another",
     R"(
     fn @main(%x: Tensor[(n), f32], %y: Tensor[(m), f32], %w: Tensor[(k), f32]) {
       %a = cumsum(%x, 0)
       %s = reduce_sum(cumsum(%a, 0))
       %b = cumsum(%y, 0)
       %t = reduce_sum(cumsum(%b, 0))
       %z = matmul(%x, %y)
       %c = cumsum(%w, 0)
       %u = reduce_sum(cumsum(%c, 0))
       %r = matmul(%y, %w)
       return %s, %t, %u, %z, %r
     })",
     {{7}, {7}, {7}},
     {{100000}, {100000}, {3}}},
    {"fuse: several results of one kernel",
     R"(
     fn @main(%x: Tensor[(n), f32], %i: Tensor[(m), i64]) {
       %p = mul(%x, 2.0)
       %q = gather(%p, %i) {axis = 0}
       %z = matmul(%p, cumsum(%q, 0))
       return %z, %p
     })",
     {{9}, {9}},
     {{5}, {100000}}},
    {"simplify: an operand that is read unexpanded",
     R"(
     fn @main(%x: Tensor[(n), f32], %y: Tensor[(m), f32]) {
       %e = expand(%x, shape(%y))
       %s = cumsum(add(%e, %y), 0)
       %z = matmul(%x, %s)
       return %z
     })",
     {{6}, {6}},
     {{1}, {100000}}},
    {"contract: a letter of two sizes",
     R"(
     fn @main(%x: Tensor[(n, 3), f32], %y: Tensor[(m, 3, 4), f32], %u: Tensor[(n), f32], %v: Tensor[(m), f32]) {
       %e = einsum(%x, %y) {equation = "bi,bij->bj"}
       %z = matmul(%u, %v)
       return %e, %z
     })",
     {{4, 3}, {4, 3, 4}, {4}, {4}},
     {{1, 3}, {5000, 3, 4}, {1}, {5000}}},
    {"a check in a loop's body",
     R"(
     fn @main(%x: Tensor[(n), f32], %y: Tensor[(m), f32]) {
       %c = loop(3, _, %x, %y) {carried = 1} body (%i, %a, %b) {
         %p = cumsum(%a, 0)
         %q = reduce_sum(cumsum(cumsum(%b, 0), 0))
         %s = mul(add(%q, matmul(%p, %b)), 0.001)
         return true, add(%p, %s)
       }
       return %c
     })",
     {{5}, {5}},
     {{3}, {100000}}},
};

TEST(LateChecks, nothingIsReadOrWrittenBeyondATensorBeforeACheckFails) {
  for (const LateCheck& program : kPrograms) {
    SCOPED_TRACE(program.what);
    IrContext context;
    Result<Module> parsed = test::parseText(context, program.text);
    ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
    const auto inputsOf = [&](const std::vector<std::vector<int64_t>>& shapes) {
      std::vector<HostTensor> inputs;
      for (size_t i = 0; i < shapes.size(); ++i)
        inputs.push_back(
            inputOf(parsed->main()->parameters[i].type.dtype(), shapes[i], static_cast<uint32_t>(i)));
      return inputs;
    };
    test::expectSame(program.text, {inputsOf(program.right)});
    Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*parsed, {});
    ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
    Result<std::vector<HostTensor>> ran = (*compiled)->run(inputsOf(program.wrong));
    ASSERT_FALSE(ran.ok()) << "the sizes are wrong";
    EXPECT_EQ(ran.error().id, DiagnosticId::shapeCheckFailed) << ran.error().toString();
  }
}

}  // namespace
}  // namespace dyn
