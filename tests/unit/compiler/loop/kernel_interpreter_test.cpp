#include "compiler/loop/kernel_interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "compiler/loop/kernel_builder.h"
#include "compiler/loop/simplify.h"
#include "vm/include/abi/dyn_kernel.h"

namespace dyn::loop {
namespace {

using ::testing::HasSubstr;

struct Ran {
  int32_t fault = 0;
  std::string error;
};

// Runs all units of a kernel text; scalars in order.
Ran run(const std::string& text, std::vector<void*> buffers, std::vector<int64_t> scalars) {
  DimContext dims;
  auto kernel = parseKernel(dims, text);
  if (!kernel.ok()) return {-1, kernel.error().toString()};
  auto program = KernelInterpreter::compile(*kernel);
  if (!program.ok()) return {-1, program.error().toString()};
  auto units = program->unitCount(scalars, buffers);
  if (!units.ok()) return {-1, units.error().toString()};
  auto fault = program->run(buffers, scalars, 0, *units);
  return fault.ok() ? Ran{*fault, ""} : Ran{-1, fault.error().message};
}

// One expression over x[u], stored to y[u].
template <class Y, class X>
std::vector<Y> mapOver(const char* in, const char* out, const std::string& expression, std::vector<X> x) {
  std::vector<Y> y(x.size());
  const std::string text = std::string("kernel @k(in x: ") + in + "[n], out y: " + out +
                           "[n]) scalars (n) units u < n {\n y[u] = " + expression + " }\n";
  const Ran r = run(text, {x.data(), y.data()}, {static_cast<int64_t>(x.size())});
  EXPECT_EQ(r.error, "") << text;
  return y;
}

TEST(KernelInterpreter, integersWrapAndDivideAsStated) {
  using I8 = std::vector<int8_t>;
  EXPECT_EQ((mapOver<int8_t, int8_t>("i8", "i8", "x[u] + 100:i8", {100, -100, 27})), (I8{-56, 0, 127}));
  EXPECT_EQ((mapOver<int8_t, int8_t>("i8", "i8", "floorDiv(x[u], 2:i8)", {7, -7, -128})), (I8{3, -4, -64}));
  EXPECT_EQ((mapOver<int8_t, int8_t>("i8", "i8", "x[u] / 2:i8", {7, -7, -128})), (I8{3, -3, -64}));
  EXPECT_EQ((mapOver<int8_t, int8_t>("i8", "i8", "x[u] / -1:i8", {7, -128})), (I8{-7, -128}));
  EXPECT_EQ((mapOver<int8_t, int8_t>("i8", "i8", "mod(x[u], -3:i8)", {7, -7})), (I8{-2, -1}));
  EXPECT_EQ((mapOver<int8_t, int8_t>("i8", "i8", "rem(x[u], -3:i8)", {7, -7})), (I8{1, -1}));
  EXPECT_EQ((mapOver<int8_t, int8_t>("i8", "i8", "shiftRight(x[u], 9:i8)", {7, -7})), (I8{0, -1}));
  EXPECT_EQ((mapOver<int8_t, int8_t>("i8", "i8", "shiftLeft(x[u], 8:i8)", {7, -7})), (I8{0, 0}));
  EXPECT_EQ((mapOver<int8_t, int8_t>("i8", "i8", "abs(x[u])", {-7, -128})), (I8{7, -128}));
  EXPECT_EQ((mapOver<uint8_t, uint8_t>("u8", "u8", "x[u] - 1:u8", {0, 1})), (std::vector<uint8_t>{255, 0}));
  EXPECT_EQ((mapOver<uint64_t, uint64_t>("u64", "u64", "x[u] / 2:u64", {~0ull})),
            (std::vector<uint64_t>{~0ull / 2}));
  EXPECT_EQ((mapOver<uint8_t, uint64_t>("u64", "bool", "x[u] < 5:u64", {~0ull, 4})),
            (std::vector<uint8_t>{0, 1}));
  EXPECT_EQ((mapOver<int8_t, int8_t>("i4", "i4", "x[u] + 1:i4", {7, -8})), (I8{-8, -7}));
  EXPECT_EQ((mapOver<int32_t, int32_t>("i32", "i32", "pow(x[u], 3:i32)", {-2, 2000})),
            (std::vector<int32_t>{-8, int32_t(8000000000)}));
}

TEST(KernelInterpreter, castsSaturateTruncateAndRoundOnce) {
  EXPECT_EQ((mapOver<int32_t, float>("f32", "i32", "i32(x[u])", {1.9f, -1.9f, 1e20f, -INFINITY, NAN})),
            (std::vector<int32_t>{1, -1, INT32_MAX, INT32_MIN, 0}));
  EXPECT_EQ((mapOver<uint8_t, float>("f32", "u8", "u8(x[u])", {-5, 300})), (std::vector<uint8_t>{0, 255}));
  EXPECT_EQ((mapOver<uint8_t, float>("f32", "bool", "bool(x[u])", {0, -0.0f, 0.1f, NAN})),
            (std::vector<uint8_t>{0, 0, 1, 1}));
  // i64 → f32 in one rounding: through f64 this would give 2^54 + 2^31.
  const int64_t hard = (int64_t{1} << 54) + (int64_t{1} << 30) + 1;
  EXPECT_EQ((mapOver<float, int64_t>("i64", "f32", "f32(x[u])", {hard})),
            (std::vector<float>{static_cast<float>(hard)}));
  EXPECT_EQ((mapOver<uint8_t, int32_t>("i32", "u8", "u8(x[u])", {-1, 257})), (std::vector<uint8_t>{255, 1}));
}

TEST(KernelInterpreter, realsRoundToTheirType) {
  // f16: 2048 + 1 is a tie to even; 65504 * 2 overflows.
  const std::vector<uint16_t> x{0x6800 /* 2048 */, 0x7bff /* 65504 */, 0x0001 /* 2^-24 */};
  EXPECT_EQ((mapOver<uint16_t, uint16_t>("f16", "f16", "x[u] + 1.0:f16", x)),
            (std::vector<uint16_t>{0x6800, 0x7bff, 0x3c00}));
  EXPECT_EQ((mapOver<uint16_t, uint16_t>("f16", "f16", "x[u] * 2.0:f16", x)),
            (std::vector<uint16_t>{0x6c00, 0x7c00, 0x0002}));
  EXPECT_EQ((mapOver<uint16_t, float>("f32", "bf16", "bf16(x[u])", {1.00390625f, 3.0f})),
            (std::vector<uint16_t>{0x3f80, 0x4040}));
  EXPECT_EQ((mapOver<float, float>("f32", "f32", "x[u] + 0.1", {0.2f})), (std::vector<float>{0.2f + 0.1f}));
  EXPECT_EQ((mapOver<double, double>("f64", "f64", "x[u] + 0.1:f64", {0.2})),
            (std::vector<double>{0.2 + 0.1}));
  EXPECT_EQ((mapOver<float, float>("f32", "f32", "round(x[u])", {0.5f, 1.5f, -2.5f})),
            (std::vector<float>{0, 2, -2}));
}

TEST(KernelInterpreter, minAndMaxPropagateNaN) {
  const auto y = mapOver<float, float>("f32", "f32", "max(x[u], 0.0) + min(0.0, x[u])", {NAN, 2, -3});
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 2);
  EXPECT_EQ(y[2], -3);
}

TEST(KernelInterpreter, emptyReductionsGiveNeutralElements) {
  float y[4] = {9, 9, 9, 9};
  int32_t z[2] = {9, 9};
  const Ran r =
      run("kernel @k(out y: f32[4], out z: i32[2]) scalars (n) units u < 1 {\n"
          "accumulate a: f32 = sum over i < n { f32(i) }\naccumulate b: f32 = product over j < n { 0.0 }\n"
          "accumulate c: f32 = minimum over k < n { 0.0 }\naccumulate d: f32 = maximum over l < n { 0.0 }\n"
          "accumulate e: i32 = minimum over p < n { 0:i32 }\naccumulate f: i32 = maximum over q < n, t < 3 { "
          "0:i32 }\n"
          "y[0] = a\ny[1] = b\ny[2] = c\ny[3] = d\nz[0] = e\nz[1] = f }\n",
          {y, z}, {0});
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], 1);
  EXPECT_EQ(y[2], INFINITY);
  EXPECT_EQ(y[3], -INFINITY);
  EXPECT_EQ(z[0], INT32_MAX);
  EXPECT_EQ(z[1], INT32_MIN);
}

TEST(KernelInterpreter, leavingABufferIsAnErrorThatNamesIt) {
  std::vector<float> x(5), y(5);
  const std::string head = "kernel @k(in x: f32[n], out y: f32[n]) scalars (n) units u < n {\n";
  Ran r = run(head + "y[u] = x[u + 1] }", {x.data(), y.data()}, {5});
  EXPECT_THAT(r.error, HasSubstr("`x` out of range: index 5 of axis 0 is not in 0..4"));
  r = run(head + "for i < 9 vector { y[i] = 1.0 } }", {x.data(), y.data()}, {5});
  EXPECT_THAT(r.error, HasSubstr("stores to `y` out of range: index 5"));
  r = run(head + "accumulate a: f32 = sum over i < 6 vector { x[i] }\ny[u] = a }", {x.data(), y.data()}, {5});
  EXPECT_THAT(r.error, HasSubstr("`x` out of range"));
  r = run(head + "let t: f32 = x[u - 1]\ny[u] = 0.0 }", {x.data(), y.data()}, {5});
  EXPECT_THAT(r.error, HasSubstr("index -1")) << "a let is evaluated, read or not";
}

TEST(KernelInterpreter, selectDropsTheFaultsOfTheOtherArm) {
  std::vector<float> x{1, 2, 3}, y(200);
  const std::string head = "kernel @k(in x: f32[n], out y: f32[m]) scalars (n; m) units u < 1 {\n";
  Ran r = run(head + "for i < m vector { y[i] = select(i < n, x[i], -1.0) * 2.0 } }", {x.data(), y.data()},
              {3, 200});
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(y[2], 6);
  EXPECT_EQ(y[199], -2);
  r = run(head + "for i < m vector { y[i] = select(i < n + 1, x[i], -1.0) * 2.0 } }", {x.data(), y.data()},
          {3, 200});
  EXPECT_THAT(r.error, HasSubstr("index 3 of axis 0"));
  r = run(head + "for i < m vector { y[i] = select(i == 0, 0.0, f32(7 / i)) } }", {x.data(), y.data()},
          {3, 200});
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(y[3], 2);
  r = run(head + "for i < m vector { y[i] = f32(7 / i) } }", {x.data(), y.data()}, {3, 200});
  EXPECT_EQ(r.fault, DYN_KERNEL_DIVISION_BY_ZERO);
}

TEST(KernelInterpreter, checksBranchesAndScratch) {
  std::vector<int64_t> x{3, 1, 2}, y(3);
  const std::string text =
      "kernel @k(in x: i64[n], out y: i64[n]) scalars (n) units u < 1 {\n scratch t: i64[n]\n"
      "for i < n { t[i] = x[i] * 10 }\n"
      "for j < n { if 0 < j { t[j] = t[j] + t[j - 1] } }\n"
      "for k < n vector { check t[k] < 65 fault 3\n y[k] = t[k] } }\n";
  Ran r = run(text, {x.data(), y.data()}, {3});
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(y, (std::vector<int64_t>{30, 40, 60}));
  x[2] = 3;
  EXPECT_EQ(run(text, {x.data(), y.data()}, {3}).fault, 3);
}

TEST(KernelInterpreter, raggedLoopsReadTheirBounds) {
  std::vector<int64_t> lens{2, 0, 3}, starts{0, 2, 2, 5};
  std::vector<float> x{1, 2, 3, 4, 5}, y(3), z(5);
  const Ran r =
      run("kernel @k(in lens: i64[n], in starts: i64[dim(n + 1)], in x: f32[o(n)], out y: f32[n], out z: "
          "f32[o(n)]) scalars (n) units b < n {\n"
          "  function s(1) = array lens low 0\n  function o(1) = array starts prefixSum s\n"
          "accumulate a: f32 = sum over i < s(b) { x[o(b) + i] }\ny[b] = a\nfor j < s(b) vector { z[o(b) + "
          "j] = x[o(b) + j] / a } }\n",
          {lens.data(), starts.data(), x.data(), y.data(), z.data()}, {3});
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(y, (std::vector<float>{3, 0, 12}));
  EXPECT_EQ(z[4], 5.0f / 12.0f);
}

TEST(KernelInterpreter, unboundDimsAndWrongCountsAreErrors) {
  float y = 0;
  EXPECT_NE(run("kernel @k(out y: f32[]) scalars (n) units u < 1 { y[] = 1.0 }", {&y}, {}).error, "");
  EXPECT_NE(run("kernel @k(out y: f32[]) scalars (n) units u < 1 { y[] = 1.0 }", {&y, &y}, {1}).error, "");
}

// Simplification while building must not change values: random integer expressions, built with the loop's
// ranges known, against a plain evaluation of the same choices.
TEST(KernelInterpreter, simplifiedExpressionsHaveTheValuesOfTheUnsimplified) {
  std::mt19937 random(5);
  const auto pick = [&](size_t count) { return static_cast<size_t>(random() % count); };
  constexpr BinaryOp kOps[] = {BinaryOp::add, BinaryOp::sub, BinaryOp::mul,      BinaryOp::floorDiv,
                               BinaryOp::mod, BinaryOp::min, BinaryOp::max,      BinaryOp::add,
                               BinaryOp::mul, BinaryOp::rem, BinaryOp::floorDiv, BinaryOp::mod};
  for (int round = 0; round < 150; ++round) {
    DimContext dims;
    DimSolver solver(dims);
    auto context = std::make_shared<LoopContext>(dims);
    LoopContext& c = *context;
    const Dim n = dims.symbol("n"), m = dims.symbol("m");
    struct Choice {
      BinaryOp op;
      size_t a, b;
    };
    std::vector<Choice> choices;
    for (size_t k = 0; k < 8; ++k) choices.push_back({kOps[pick(std::size(kOps))], pick(7 + k), pick(7 + k)});
    const int64_t one = static_cast<int64_t>(pick(7)) - 2;
    KernelDefinition d{.name = "random", .context = context, .iterationSpace = {n, m}};
    d.outputs.push_back({"y", Dtype::i64, {n, m}, [&](std::span<const Expr> index) -> Result<Expr> {
                           std::vector<Expr> pool{index[0],       index[1],     c.dim(n),    c.dim(m),
                                                  c.integer(one), c.integer(4), c.dim(n * m)};
                           for (const Choice& choice : choices)
                             pool.push_back(c.binary(choice.op, pool[choice.a], pool[choice.b]));
                           return pool.back();
                         }});
    auto kernel = buildKernel(d, solver);
    ASSERT_TRUE(kernel.ok()) << kernel.error().toString();
    ASSERT_TRUE(verify(*kernel).ok()) << verify(*kernel).error().toString() << print(*kernel);
    auto program = KernelInterpreter::compile(*kernel);
    ASSERT_TRUE(program.ok());
    for (int64_t nv : {0, 1, 3}) {
      for (int64_t mv : {1, 5}) {
        DimBinding binding;
        binding.set(n, nv);
        binding.set(m, mv);
        std::vector<int64_t> scalars;
        for (Dim s : kernel->scalars) scalars.push_back(*evaluate(s, binding));
        std::vector<int64_t> y(static_cast<size_t>(nv * mv));
        std::vector<void*> buffers{y.data()};
        auto units = program->unitCount(scalars);
        ASSERT_TRUE(units.ok());
        auto fault = program->run(buffers, scalars, 0, *units);
        ASSERT_TRUE(fault.ok()) << fault.error().toString();
        bool faulted = false;
        std::vector<int64_t> expected;
        for (int64_t i = 0; i < nv; ++i)
          for (int64_t j = 0; j < mv; ++j) {
            std::vector<std::optional<int64_t>> pool{i, j, nv, mv, one, 4, nv * mv};
            for (const Choice& choice : choices) {
              const auto integer = [&](BinaryOp op, int64_t a, int64_t b) -> std::optional<int64_t> {
                const auto wide = [](uint64_t v) { return static_cast<int64_t>(v); };
                const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
                if (op == BinaryOp::add) return wide(ua + ub);
                if (op == BinaryOp::sub) return wide(ua - ub);
                if (op == BinaryOp::mul) return wide(ua * ub);
                if (op == BinaryOp::min) return std::min(a, b);
                if (op == BinaryOp::max) return std::max(a, b);
                if (b == 0) return std::nullopt;
                if (op == BinaryOp::rem) return b == -1 ? 0 : a % b;
                const int64_t q = b == -1 ? wide(0 - ua)
                                          : static_cast<int64_t>(std::floor(static_cast<long double>(a) /
                                                                            static_cast<long double>(b)));
                return op == BinaryOp::floorDiv ? q : wide(ua - static_cast<uint64_t>(q) * ub);
              };
              const auto a = pool[choice.a], b = pool[choice.b];
              pool.push_back(a && b ? integer(choice.op, *a, *b) : std::nullopt);
            }
            faulted |= !pool.back();
            expected.push_back(pool.back().value_or(0));
          }
        if (faulted)
          continue;  // a simplification may drop a division by zero: i * 0 / 0 stays, (1 / 0) * 0 goes
        EXPECT_EQ(*fault, 0) << print(*kernel) << " n " << nv << " m " << mv;
        EXPECT_EQ(y, expected) << print(*kernel) << " n " << nv << " m " << mv;
      }
    }
  }
}

TEST(Simplify, dropsWhatIsNotRead) {
  DimContext dims;
  auto k = parseKernel(dims,
                       "kernel @k(in x: f32[n, 1], out y: f32[n, 1]) scalars (n) units u < n {\n"
                       "let a: i64 = u * 4\nlet b: i64 = a + 1\nlet z: i64 = 0\n"
                       "accumulate s: f32 = sum over j < n { let q: f32 = x[j, 0]\n q }\n"
                       "for i < 1 { let w: f32 = x[u, i]\n y[u, i + z] = w }\n"
                       "for e < 0 { y[e, e] = 1.0 }\nif z == 1 { y[u, 0] = 3.0 }\nif z == 0 { y[u, 0] = 4.0 "
                       "}\ncheck z == 0 fault 1 }\n");
  ASSERT_TRUE(k.ok()) << k.error().toString();
  const Kernel s = simplify(*k);
  EXPECT_TRUE(verify(s).ok());
  EXPECT_EQ(print(s),
            "kernel @k(in x: f32[n, 1], out y: f32[n, 1]) scalars (n) units u < n {\n"
            "  let w: f32 = x[u, 0]\n  y[u, 0] = w\n  y[u, 0] = 4.0\n}\n");
  EXPECT_EQ(print(simplify(s)), print(s));
}

}  // namespace
}  // namespace dyn::loop
