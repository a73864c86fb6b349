// Sums of two dequantised bytes that are quantised again, as one line that a convolution computes itself.
//
//   %a = dequantize_linear(%x, %s1, %z1)  %b = dequantize_linear(%y, %s2, %z2)
//   %c = add(%a, %b)  %d = relu(%c)  %r = quantize_linear(%d, %s3, %z3)
//   becomes %r = round(w * factor + (b * other + constant), cut) + z3
// That is two products and no quotient, but it rounds elsewhere. There are 256 x 256 pairs of bytes, and only
// where the quotient is next to a half can roundings matter: the three numbers are chosen such that all pairs
// give the byte that the operations give. Where no such numbers are near, there are none.
#pragma once

#include <cstdint>
#include <optional>

namespace dyn {

struct ByteSum {
  struct Scaled {
    float scale = 1;
    int32_t zero = 0;
  };
  // The convolution's bytes: w + zeroOfSums, from least to most, as `own` dequantises them.
  Scaled own;
  int32_t zeroOfSums = 0, least = 0, most = 255;
  // The shortcut's.
  Scaled other;
  bool otherIsSigned = false;
  // What they become.
  Scaled result;
  bool resultIsSigned = false, relu = false;

  // As the operations compute it, each of them rounded; `b`: as the shortcut's byte, an i8 more 128.
  int32_t byteOf(int32_t w, int32_t b) const;
  int32_t low() const { return relu ? 0 : (resultIsSigned ? -128 : 0) - result.zero; }
  int32_t high() const { return (resultIsSigned ? 127 : 255) - result.zero; }
};

struct ByteSumLine {
  float factor = 0, other = 0, constant = 0;

  // With products rounded by themselves, and not.
  int32_t byteOf(const ByteSum& sum, int32_t w, int32_t b, bool fused) const;
};

std::optional<ByteSumLine> lineOf(const ByteSum& sum);

}  // namespace dyn
