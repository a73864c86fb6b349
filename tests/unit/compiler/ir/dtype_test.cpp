#include "compiler/ir/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace dyn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Dtype, everyRowIsFoundByNameAndByOnnxCode) {
  std::set<std::string_view> names;
  for (int i = 0; i < dtypeCount(); ++i) {
    const auto d = static_cast<Dtype>(i);
    EXPECT_TRUE(names.insert(toString(d)).second) << toString(d);
    EXPECT_EQ(parseDtype(toString(d)), d);
    EXPECT_EQ(dtypeFromOnnx(onnxCode(d)), d);
    EXPECT_GE(storageBytes(d), 1);
  }
  EXPECT_FALSE(parseDtype("f33").has_value());
  EXPECT_FALSE(dtypeFromOnnx(0).has_value());
  EXPECT_FALSE(dtypeFromOnnx(999).has_value());
  EXPECT_EQ(storageBytes(Dtype::i4), 1);
  EXPECT_EQ(storageBytes(Dtype::c128), 16);
  EXPECT_TRUE(isReal(Dtype::f4e2m1));
  EXPECT_TRUE(isInteger(Dtype::u2));
  EXPECT_FALSE(isSigned(Dtype::u64));
}

// Each code that is no NaN decodes to a value that encodes to it again.
TEST(Dtype, narrowRealsDecodeAndEncodeBack) {
  for (Dtype d : {Dtype::f16, Dtype::bf16, Dtype::f8e4m3fn, Dtype::f8e4m3fnuz, Dtype::f8e5m2,
                  Dtype::f8e5m2fnuz, Dtype::f8e8m0, Dtype::f4e2m1}) {
    const uint64_t codes = d == Dtype::f4e2m1 ? 16 : storageBytes(d) == 1 ? 256 : 65536;
    int nans = 0;
    for (uint64_t code = 0; code < codes; ++code) {
      const double value = decodeReal(d, code);
      if (std::isnan(value)) {
        ++nans;
        continue;
      }
      EXPECT_EQ(encodeReal(d, value, false), code) << toString(d) << " " << code << " = " << value;
    }
    const int expected = d == Dtype::f16        ? 2046
                         : d == Dtype::bf16     ? 254
                         : d == Dtype::f8e4m3fn ? 2
                         : d == Dtype::f8e5m2   ? 6
                         : d == Dtype::f4e2m1   ? 0
                                                : 1;
    EXPECT_EQ(nans, expected) << toString(d);
  }
}

struct Case {
  Dtype dtype;
  double value;
  uint64_t saturated;
  uint64_t unsaturated;
};

// The table of ONNX Cast for float 8, and values made with its reference implementation.
TEST(Dtype, roundingAndSaturationAreThoseOfOnnxCast) {
  const Case cases[] = {
      {Dtype::f8e4m3fn, 448, 0x7e, 0x7e},
      {Dtype::f8e4m3fn, 464, 0x7e, 0x7e},
      {Dtype::f8e4m3fn, 465, 0x7e, 0x7f},
      {Dtype::f8e4m3fn, -1e30, 0xfe, 0xff},
      {Dtype::f8e4m3fn, kInfinity, 0x7e, 0x7f},
      {Dtype::f8e4m3fn, kNan, 0x7f, 0x7f},
      {Dtype::f8e4m3fn, -0.0, 0x80, 0x80},
      {Dtype::f8e4m3fnuz, -0.0, 0, 0},
      {Dtype::f8e4m3fnuz, 241, 0x7f, 0x7f},
      {Dtype::f8e4m3fnuz, 1e9, 0x7f, 0x80},
      {Dtype::f8e4m3fnuz, -kInfinity, 0xff, 0x80},
      {Dtype::f8e5m2, 57344, 0x7b, 0x7b},
      {Dtype::f8e5m2, 1e9, 0x7b, 0x7c},
      {Dtype::f8e5m2, kInfinity, 0x7b, 0x7c},
      {Dtype::f8e5m2, kNan, 0x7e, 0x7e},
      {Dtype::f8e5m2fnuz, kInfinity, 0x7f, 0x80},
      {Dtype::f8e5m2fnuz, kNan, 0x80, 0x80},
      {Dtype::f4e2m1, 100, 7, 7},
      {Dtype::f4e2m1, 2.5, 4, 4},
      {Dtype::f4e2m1, 3.5, 6, 6},
      {Dtype::f4e2m1, -0.25, 8, 8},
      {Dtype::f16, 65519, 0x7bff, 0x7bff},
      {Dtype::f16, 65520, 0x7c00, 0x7c00},
      {Dtype::f16, 0x1p-25, 0, 0},
      {Dtype::f16, 0x1.8p-25, 1, 1},
      {Dtype::bf16, 1 + 0x1p-8, 0x3f80, 0x3f80},
      {Dtype::bf16, 1 + 0x1.8p-7, 0x3f82, 0x3f82},
      {Dtype::bf16, 1e39, 0x7f80, 0x7f80},
      {Dtype::f8e8m0, 3, 0x81, 0x81},
      {Dtype::f8e8m0, -4, 0x81, 0x81},
      {Dtype::f8e8m0, kInfinity, 0xff, 0xff},
      {Dtype::f8e8m0, 0, 0, 0},
      {Dtype::f8e8m0, 0x1.8p127, 0xfe, 0xff},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(encodeReal(c.dtype, c.value, true), c.saturated) << toString(c.dtype) << " " << c.value;
    EXPECT_EQ(encodeReal(c.dtype, c.value, false), c.unsaturated) << toString(c.dtype) << " " << c.value;
  }
  EXPECT_EQ(encodeScale(3, ScaleRounding::down), 0x80u);
  EXPECT_EQ(encodeScale(3, ScaleRounding::nearest), 0x81u);
  EXPECT_EQ(encodeScale(2.9, ScaleRounding::nearest), 0x80u);
}

}  // namespace
}  // namespace dyn
