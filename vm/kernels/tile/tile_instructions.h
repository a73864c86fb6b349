// The processor's tiles (Intel AMX), for kernels that are compiled for them. Nothing with external linkage
// may be in this file.
//
// As assembler, not as the compiler's intrinsics: those of GCC do not say that they read and write memory, so
// that it leaves out or moves what is written for them to read.
#pragma once

#include <immintrin.h>

#include "vm/kernels/tile/tile_config.h"

namespace {

struct TileInstructions {
  static void configure(const dyn::vm::kernels::TileConfig& config) {
    __asm__ volatile("ldtilecfg %0" : : "m"(config) : "memory");
  }
  static void release() { __asm__ volatile("tilerelease" : : : "memory"); }
  template <int kTile>
  static inline __attribute__((always_inline)) void zero() {
    __asm__ volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }
  // Rows `pitch` bytes apart, as many and as long as the tile is configured.
  template <int kTile>
  static inline __attribute__((always_inline)) void load(const void* from, int64_t pitch) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(pitch), "i"(kTile) : "memory");
  }
  template <int kTile>
  static inline __attribute__((always_inline)) void store(void* to, int64_t pitch) {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(pitch), "i"(kTile) : "memory");
  }
  // C += A x B of pairs of bf16; of quads of bytes, A's unsigned and B's signed. The assembler names C last.
  template <int kC, int kA, int kB>
  static inline __attribute__((always_inline)) void multiplyPairs() {
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kC), "i"(kA), "i"(kB));
  }
  template <int kC, int kA, int kB>
  static inline __attribute__((always_inline)) void multiplyQuads() {
    __asm__ volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kC), "i"(kA), "i"(kB));
  }
  // `count` of up to 16 words, at any address.
  static inline __attribute__((always_inline)) void copyWords(void* to, const void* from, int64_t count) {
    const auto words = static_cast<__mmask16>((1u << count) - 1);
    _mm512_mask_storeu_epi32(to, words, _mm512_maskz_loadu_epi32(words, from));
  }
};

}  // namespace
