#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/loop/kernel.h"

namespace dyn::loop {
namespace {

using ::testing::HasSubstr;

const char* kSoftmax =
    R"(kernel @softmax(in x: f32[n, m], out y: f32[n, m]) scalars (n; m) units u < n about "stitch" {
  accumulate top: f32 = maximum over j < m vector {
    x[u, j]
  }
  accumulate total: f32 = sum over k < m vector {
    let e: f32 = exp(x[u, k] - top)
    e
  }
  for i < m vector {
    y[u, i] = exp(x[u, i] - top) / total
  }
}
)";

const char* kRagged =
    R"(kernel @ragged(in lens: i64[B], in starts: i64[dim(B + 1)], in x: f16[o(B)], out y: f32[o(B)]) scalars (B; dim_ok) units b < B steps (4*B) {
  function s(1) = array lens low 0
  function o(1) = array starts low 0 monotone prefixSum s
  scratch t: f32[4]
  check 0 < s(b) && !(b == 3) || b != -1 fault 3
  for i < s(b) {
    let v: f32 = f32(x[o(b) + i]) * -0.5 + 1e-20
    if v < inf {
      t[mod(i, 4)] = pow(v, 2.0)
      y[o(b) + i] = select(isNan(v), nan, t[mod(i, 4)] - (v - (v + 1.0)))
    }
  }
}
)";

class RoundTrip : public ::testing::TestWithParam<std::string> {};

TEST_P(RoundTrip, printParsePrintIsIdentical) {
  DimContext dims;
  auto parsed = parseKernel(dims, GetParam());
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  EXPECT_TRUE(verify(*parsed).ok()) << verify(*parsed).error().toString();
  const std::string text = print(*parsed);
  DimContext other;
  auto again = parseKernel(other, text);
  ASSERT_TRUE(again.ok()) << again.error().toString() << "\n" << text;
  EXPECT_EQ(print(*again), text);
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, RoundTrip,
    ::testing::Values(
        kSoftmax,
        R"(kernel @turned(in x: f32[n, m], out y: f32[m, n]) scalars (n; m) units u < dim(floordiv(m + 63, 64)) {
  for i < min(64, m - u * 64) tile {
    for j < n vector {
      y[u * 64 + i, j] = x[j, u * 64 + i]
    }
  }
  for k < 3 unroll {
    y[k, k] = 0.0
  }
}
)",
        R"(kernel @ints(in a: u8[n], in b: i4[n], out c: u64[n], out d: bool[n], out e: bf16[]) scalars (n) units u < n {
  let w: u8 = bitAnd(a[u], 255:u8)
  c[u] = shiftLeft(u64(w), 3:u64) + 18446744073709551615:u64
  d[u] = logicalXor(a[u] < 3:u8, true)
  e[] = -bf16(b[u]) * 0.5:bf16 / inf:bf16
}
)"));

TEST(KernelText, printedFormIsTheWrittenOne) {
  DimContext dims;
  auto parsed = parseKernel(dims, kSoftmax);
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  EXPECT_EQ(print(*parsed), kSoftmax);
}

TEST(KernelText, raggedKernelRoundTrips) {
  DimContext dims;
  std::string text = kRagged;
  text.replace(text.find("dim_ok"), 6, "2*B");
  auto parsed = parseKernel(dims, text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  EXPECT_TRUE(verify(*parsed).ok()) << verify(*parsed).error().toString();
  EXPECT_EQ(print(*parsed), text);
}

struct Bad {
  const char* body;
  const char* message;
};

TEST(KernelText, errorsNameTheirPlace) {
  const auto parse = [](std::string body) {
    DimContext dims;
    return parseKernel(dims,
                       "kernel @k(in x: f32[n], out y: f32[n]) scalars (n) units u < n {\n" + body + "\n}\n");
  };
  const Bad kBad[] = {
      {"  y[u] = x[u] + 1", "one dtype"},
      {"  y[u] = x[u, 1]", "1 axes"},
      {"  y[u] = x[u", "expected `,`"},
      {"  z[u] = x[u]", "unknown buffer `z`"},
      {"  y[u] = frob(x[u])", "unknown name `frob`"},
      {"  let u: i64 = 1", "defined twice"},
      {"  let exp: i64 = 1", "word of the language"},
      {"  y[u] = 99999999999999999999", "does not fit"},
      {"  let b: bool = 1", "expected bool"},
      {"  accumulate a: f32 = average over j < n { x[j] }", "unknown reduction"},
      {"  for i < n { y[i] = x[i]", "expected `}`"},
  };
  for (const Bad& bad : kBad) {
    auto result = parse(bad.body);
    ASSERT_FALSE(result.ok()) << bad.body;
    EXPECT_THAT(result.error().message, HasSubstr(bad.message)) << bad.body;
    EXPECT_GE(result.error().place.line, 2u) << bad.body;
    EXPECT_GT(result.error().place.column, 0u) << bad.body;
  }
}

TEST(KernelText, hostileNestingIsAnError) {
  DimContext dims;
  std::string text = "kernel @k(out y: i64[n]) scalars (n) units u < n { y[u] = " + std::string(100000, '(');
  EXPECT_FALSE(parseKernel(dims, text).ok());
  text = "kernel @k(out y: i64[n]) scalars (n) units u < n {";
  for (int i = 0; i < 10000; ++i) text += "if true {";
  EXPECT_FALSE(parseKernel(dims, text).ok());
}

TEST(KernelText, anyTruncationIsAnErrorNotACrash) {
  const std::string text = kSoftmax;
  for (size_t cut = 0; cut + 2 < text.size(); ++cut) {
    DimContext dims;
    EXPECT_FALSE(parseKernel(dims, text.substr(0, cut)).ok()) << cut;
  }
}

// ---- verifier ----

std::string verdict(const std::string& text) {
  DimContext dims;
  auto parsed = parseKernel(dims, text);
  if (!parsed.ok()) return "parse: " + parsed.error().message;
  auto status = verify(*parsed);
  return status.ok() ? "ok" : status.error().message;
}

TEST(KernelVerify, findsBrokenRules) {
  const std::string head = "kernel @k(in x: f32[n], out y: f32[n]) scalars (n) units u < n {\n";
  EXPECT_EQ(verdict(head + "y[u] = x[u] }"), "ok");
  EXPECT_THAT(verdict(head + "x[u] = 1.0 }"), HasSubstr("store to input"));
  EXPECT_THAT(verdict(head + "for i < n { let v: f32 = x[i] }\n y[u] = v }"),
              HasSubstr("variable `v` is not defined"));
  EXPECT_THAT(verdict(head + "accumulate a: f32 = sum over j < n { x[j] }\n y[u] = a + x[j] }"),
              HasSubstr("variable `j` is not defined"));
  EXPECT_EQ(verdict(head + "accumulate a: f32 = sum over j < n { x[j] }\n y[u] = a }"), "ok");
  EXPECT_THAT(verdict(head + "y[u] = x[u] * f32(q) }"), HasSubstr("dim `q` cannot be computed"));
  EXPECT_THAT(verdict(head + "check u < n fault 0\n y[u] = 1.0 }"), HasSubstr("fault code"));
  EXPECT_THAT(verdict("kernel @k(out y: f32[n], in x: f32[n]) scalars (n) units u < n { y[u] = x[u] }"),
              HasSubstr("inputs come before outputs"));
}

TEST(KernelVerify, refusesReduceExpressionsAndForeignBuffers) {
  DimContext dims;
  auto parsed = parseKernel(dims, kSoftmax);
  ASSERT_TRUE(parsed.ok());
  Kernel k = *parsed;
  LoopContext& c = *k.context;
  Expr v = c.variable("q");
  Expr sum = c.reduce(ReduceOp::sum, {v}, {c.integer(3)}, c.load(k.buffers[0], {k.unit, v}));
  k.body = block({store(k.buffers[1], {k.unit, c.integer(0)}, sum)});
  ASSERT_FALSE(verify(k).ok());
  EXPECT_THAT(verify(k).error().message, HasSubstr("reduce expression is left"));
  const Buffer* foreign = c.buffer("foreign", Dtype::f32, {}, BufferRole::input);
  k.body = block({store(k.buffers[1], {k.unit, c.integer(0)}, c.load(foreign, {}))});
  EXPECT_THAT(verify(k).error().message, HasSubstr("not a buffer of the kernel"));
}

}  // namespace
}  // namespace dyn::loop
