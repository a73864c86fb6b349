// Element-by-element operators over random shapes (0, 1, primes, broadcasting) and element types, and their values at the edges.
#include <cmath>

#include "tests/unit/compiler/ops/op_test.h"

namespace dyn::test {
namespace {

using Shapes = std::vector<int64_t>;

const std::vector<Shapes> kShapes = {{}, {0}, {1}, {7}, {3, 5}, {2, 0, 3}, {1, 13}, {2, 3, 4}};
// Pairs that broadcast.
const std::vector<std::pair<Shapes, Shapes>> kPairs = {
    {{}, {}},     {{7}, {7}}, {{7}, {1}},       {{1}, {7}},          {{3, 5}, {5}},   {{3, 1}, {1, 5}},
    {{}, {2, 3}}, {{0}, {1}}, {{2, 0}, {1, 1}}, {{4, 1, 3}, {2, 1}}, {{1}, {1, 1, 1}}};

TEST(Elementwise, UnaryReals) {
  for (const char* op :
       {"neg",     "abs",          "sign",       "floor",      "ceil",       "round",
        "exp",     "sin",          "cos",        "tan",        "atan",       "sinh",
        "cosh",    "tanh",         "asinh",      "erf",        "reciprocal", "relu",
        "sigmoid", "softplus",     "softsign",   "leaky_relu", "elu",        "selu",
        "celu",    "hard_sigmoid", "hard_swish", "mish",       "gelu",       "thresholded_relu",
        "identity"}) {
    for (const Shapes& shape : kShapes) {
      EXPECT_EQ(shapeOf(checkOp({op, {real(shape)}})), shape);
    }
    for (Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f64}) {
      OpCase test(op, {real({17}, dtype)});
      test.tolerance = dtype == Dtype::f64 ? 1e-9 : dtype == Dtype::f16 ? 4e-3 : 3e-2;
      checkOp(test);
    }
  }
  for (const char* op : {"sqrt", "log", "asin", "acos", "atanh"})
    checkOp({op, {real({3, 7}, Dtype::f32, 1, 0, 0.96875)}});
  checkOp({"acosh", {real({11}, Dtype::f32, 1, 1, 9)}});
}

TEST(Elementwise, UnaryValues) {
  EXPECT_EQ(elements(checkOp({"round", {reals({5}, {0.5, 1.5, 2.5, -0.5, -1.5})}})),
            (std::vector<double>{0, 2, 2, -0.0, -2}));
  EXPECT_NEAR(elements(checkOp({"gelu", {reals({1}, {1})}}))[0], 0.8413447, 1e-6);
  Attributes tanh{{"approximate", std::string("tanh")}};
  EXPECT_NEAR(elements(checkOp({"gelu", {reals({1}, {1})}, tanh}))[0], 0.8411920, 1e-6);
  EXPECT_NEAR(elements(checkOp({"selu", {reals({1}, {-1})}}))[0], -1.1113307, 1e-6);
  EXPECT_NEAR(elements(checkOp({"softplus", {reals({1}, {100})}}))[0], 100, 1e-6);
  EXPECT_EQ(elements(checkOp({"sigmoid", {reals({2}, {-200, 200})}})), (std::vector<double>{0, 1}));
  EXPECT_EQ(elements(checkOp({"abs", {vec({-128, 5}, Dtype::i8)}})), (std::vector<double>{-128, 5}));
  EXPECT_EQ(elements(checkOp({"bit_not", {vec({0, 255, 1}, Dtype::u8)}})),
            (std::vector<double>{255, 0, 254}));
  EXPECT_EQ(elements(checkOp({"is_nan", {reals({3}, {NAN, 1, INFINITY})}})), (std::vector<double>{1, 0, 0}));
  EXPECT_EQ(elements(checkOp(
                {"is_inf", {reals({3}, {-INFINITY, 1, INFINITY})}, {{"detect_negative", int64_t{0}}}})),
            (std::vector<double>{0, 0, 1}));
  EXPECT_EQ(elements(checkOp({"logical_not", {vec({0, 1}, Dtype::boolean)}})), (std::vector<double>{1, 0}));
  EXPECT_EQ(inferError({"exp", {vec({1})}}).id, DiagnosticId::dtypeMismatch);
}

TEST(Elementwise, BinaryBroadcasts) {
  for (const char* op : {"add", "sub", "mul", "div", "pow", "min", "max", "equal", "less", "less_equal",
                         "greater", "greater_equal"}) {
    for (const auto& [a, b] : kPairs)
      checkOp({op, {real(a, Dtype::f32, 1, 0.25, 2), real(b, Dtype::f32, 2, 0.25, 2)}});
    checkOp({op, {integers({3, 5}, 1, 9), integers({5}, 1, 4)}});
    checkOp({op, {integers({3, 5}, -9, 9, Dtype::i32), integers({5}, 1, 4, Dtype::i32)}});
    OpCase half(op, {real({9}, Dtype::f16, 3, 0.25, 2), real({9}, Dtype::f16, 4, 0.25, 2)});
    half.tolerance = 4e-3;
    checkOp(half);
  }
  for (const char* op : {"logical_and", "logical_or", "logical_xor"}) {
    for (const auto& [a, b] : kPairs)
      checkOp({op, {integers(a, 0, 1, Dtype::boolean), integers(b, 0, 1, Dtype::boolean, 2)}});
  }
  for (const char* op : {"bit_and", "bit_or", "bit_xor"}) {
    for (Dtype dtype : {Dtype::u8, Dtype::i32, Dtype::u64})
      checkOp({op, {integers({3, 5}, 0, 100, dtype), integers({5}, 0, 100, dtype, 2)}});
  }
}

TEST(Elementwise, BinaryValues) {
  EXPECT_EQ(elements(checkOp({"div", {vec({7, -7, 7, -7}), vec({2, 2, -2, -2})}})),
            (std::vector<double>{3, -3, -3, 3}));
  EXPECT_EQ(elements(checkOp({"mod", {vec({7, -7, 7, -7}), vec({3, 3, -3, -3})}})),
            (std::vector<double>{1, 2, -2, -1}));
  Attributes fmod{{"fmod", int64_t{1}}};
  EXPECT_EQ(elements(checkOp({"mod", {vec({7, -7, 7, -7}), vec({3, 3, -3, -3})}, fmod})),
            (std::vector<double>{1, -1, 1, -1}));
  EXPECT_EQ(elements(checkOp({"mod", {reals({2}, {5.5, -5.5}), reals({2}, {2, 2})}, fmod})),
            (std::vector<double>{1.5, -1.5}));
  EXPECT_EQ(elements(checkOp({"add", {vec({250}, Dtype::u8), vec({10}, Dtype::u8)}})),
            (std::vector<double>{4}));
  EXPECT_EQ(elements(checkOp({"greater", {vec({-1}, Dtype::u64), vec({1}, Dtype::u64)}})),
            (std::vector<double>{1}));
  EXPECT_EQ(elements(checkOp({"pow", {vec({2, -2, 3}), vec({10, 3, 0})}})),
            (std::vector<double>{1024, -8, 1}));
  OpCase mixed("pow", {reals({2}, {2, 3}), vec({3, 2})});
  EXPECT_EQ(elements(checkOp(mixed)), (std::vector<double>{8, 9}));
  Attributes left{{"direction", std::string("left")}}, right{{"direction", std::string("right")}};
  EXPECT_EQ(elements(checkOp({"bit_shift", {vec({1, 255, 16}, Dtype::u8), vec({1, 4, 9}, Dtype::u8)}, left})),
            (std::vector<double>{2, 240, 0}));
  EXPECT_EQ(
      elements(checkOp({"bit_shift", {vec({16, 255, 16}, Dtype::u8), vec({1, 4, 9}, Dtype::u8)}, right})),
      (std::vector<double>{8, 15, 0}));
  EXPECT_TRUE(std::isnan(elements(checkOp({"max", {reals({1}, {NAN}), reals({1}, {1})}}))[0]));
  EXPECT_EQ(inferError({"add", {real({2}), vec({1, 2})}}).id, DiagnosticId::dtypeMismatch);
  EXPECT_EQ(inferError({"mod", {real({2}), real({2})}}).id, DiagnosticId::badAttribute);
  EXPECT_EQ(runError({"div", {vec({1}), vec({0})}}).id, DiagnosticId::runtimeError);
  EXPECT_EQ(runError({"add", {real({2}), real({3})}}).id, DiagnosticId::shapeCheckFailed);
}

TEST(Elementwise, WhereClipPrelu) {
  for (const auto& [a, b] : kPairs) {
    checkOp({"where", {integers(a, 0, 1, Dtype::boolean), real(a), real(b)}});
    checkOp({"where", {integers(b, 0, 1, Dtype::boolean), vec({1}), integers(a, 0, 9)}});
  }
  for (const Shapes& shape : kShapes) {
    checkOp({"clip", {real(shape), reals({}, {-1}), reals({}, {1})}});
    checkOp({"clip", {real(shape), std::nullopt, reals({}, {0.5})}});
    checkOp({"clip", {integers(shape, -9, 9), scalar(-3)}});
  }
  EXPECT_EQ(elements(checkOp({"clip", {reals({2}, {0, 5}), reals({}, {3}), reals({}, {1})}})),
            (std::vector<double>{1, 1}));
  EXPECT_EQ(elements(checkOp({"prelu", {reals({2, 2}, {-1, 2, -3, 4}), reals({2}, {10, 20})}})),
            (std::vector<double>{-10, 2, -30, 4}));
  EXPECT_EQ(inferError({"prelu", {real({1}), real({3})}}).id, DiagnosticId::shapeMismatch);
}

TEST(Elementwise, Cast) {
  auto to = [](Dtype dtype) { return Attributes{{"to", dtype}}; };
  for (Dtype from : {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f64, Dtype::i8, Dtype::i32, Dtype::i64,
                     Dtype::u8, Dtype::boolean}) {
    for (Dtype target : {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f64, Dtype::i8, Dtype::i32, Dtype::i64,
                         Dtype::u8, Dtype::boolean}) {
      checkOp(
          {"cast", {isReal(from) ? real({2, 7}, from, 3, -5, 5) : integers({2, 7}, 0, 1, from)}, to(target)});
    }
  }
  EXPECT_EQ(elements(checkOp({"cast", {reals({6}, {1.9, -1.9, 1e20, -1e20, NAN, 300})}, to(Dtype::i32)})),
            (std::vector<double>{1, -1, 2147483647, -2147483648.0, 0, 300}));
  EXPECT_EQ(elements(checkOp({"cast", {vec({300, -1})}, to(Dtype::u8)})), (std::vector<double>{44, 255}));
  OpCase text("cast", {reals({2}, {1.5, -2})}, to(Dtype::string));
  text.lowers = false;
  EXPECT_EQ(checkOp(text)[0].tensor().stringValues(), (std::vector<std::string>{"1.5", "-2"}));
}

}  // namespace
}  // namespace dyn::test
