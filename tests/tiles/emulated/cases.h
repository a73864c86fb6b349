// Products by a family of tiles, the same ones wherever this runs: on an emulated machine without a system,
// and by the model of tiles here. Of each result only a number is left: case(kind, three sizes, whether C is
// accumulated, a hash of its bits).
#pragma once

#include <initializer_list>

#include "vm/kernels/byte/byte_kernel.h"
#include "vm/kernels/gemm/bf16_kernel.h"

namespace dyn::vm::test {

using kernels::Bf16Family;
using kernels::ByteGemmFamily;

constexpr int kLeadingC = 37;
constexpr int kRows[] = {1, 2, 15, 16, 17, 23, 31, 32}, kColumns[] = {1, 7, 15, 16, 17, 31, 32};

struct Cases {
  uint32_t state = 12345;
  uint32_t a[32 * 64], b[64 * 32];
  uint32_t c[32 * kLeadingC];
  uint8_t bytes[32 * 256];
  int8_t panel[64 * 128 + 128];
  int32_t terms[64], zeros[32];

  uint32_t random() {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
  }
  // A bf16: now and then infinite, NaN, 0 or below the normal ones.
  uint32_t half() {
    const uint32_t kind = random(), exponent = kind % 97 == 0    ? 0
                                               : kind % 101 == 0 ? 255
                                                                 : 118 + random() % 16;
    return (random() & 1) << 15 | exponent << 7 | (random() & 127);
  }
  uint32_t pair() {
    const uint32_t low = half();
    return low | half() << 16;
  }
  static bool isNan(uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000; }
  // Which NaN it is may differ.
  uint32_t hash(int count, bool reals) const {
    uint32_t hash = 2166136261u;
    for (int i = 0; i < count; ++i) hash = (hash ^ (reals && isNan(c[i]) ? 0x7fc00000 : c[i])) * 16777619u;
    return hash;
  }

  template <typename Case>
  void runBf16(const Bf16Family& family, const Case& made) {
    for (int words : {0, 1, 5, 15, 16, 17, 32, 33, 49})
      for (int rows : kRows)
        for (int columns : kColumns)
          for (int accumulate : {0, 1}) {
            const int leading = words + 3;
            for (int i = 0; i < rows * leading; ++i) a[i] = pair();
            for (int i = 0; i < words * 32; ++i) b[i] = pair();
            for (int i = 0; i < rows * kLeadingC; ++i) c[i] = pair();
            family.microKernels[rows - 1](words, a, leading, b, reinterpret_cast<float*>(c), kLeadingC,
                                          columns, accumulate);
            made("bf16", words, rows, columns, accumulate, hash(rows * kLeadingC, true));
          }
  }
  // Weights that are not negative: Bochs (2026) reads signed bytes as unsigned ones.
  template <typename Case>
  void runBytes(const ByteGemmFamily& family, const Case& made) {
    struct Runs {
      int count, words;
    };
    for (const Runs runs : {Runs{1, 0}, {1, 16}, {1, 49}, {3, 5}, {2, 24}, {7, 6}, {2, 23}})
      for (int rows : kRows)
        for (int columns : kColumns) {
          int64_t offsets[8];
          for (int64_t& offset : offsets) offset = random() % 60;
          const int64_t pitch = 4 * runs.words + random() % 9;
          for (uint8_t& x : bytes) x = static_cast<uint8_t>(random());
          for (int8_t& x : panel) x = static_cast<int8_t>(random() & 127);
          for (int32_t& x : terms) x = static_cast<int32_t>(random() % 200000) - 100000;
          for (int32_t& x : zeros) x = static_cast<int32_t>(random() % 511) - 255;
          for (int i = 0; i < rows * kLeadingC; ++i) c[i] = 77;
          family.runKernels[rows - 1](runs.count, offsets, runs.words, bytes, pitch, panel, terms, zeros,
                                      reinterpret_cast<int32_t*>(c), kLeadingC, columns);
          made("bytes", runs.count * 100 + runs.words, rows, columns, 0, hash(rows * kLeadingC, false));
        }
  }
};

}  // namespace dyn::vm::test
