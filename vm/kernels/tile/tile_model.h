// A model of the processor's tiles in plain C++: the same kernels run by it where there are none. Each thread
// has eight tiles. What the instructions refuse is noted, not done; what is read of tiles that are not
// configured, or beyond what is, is no number that anybody would expect.
//
// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2: LDTILECFG, TILELOADD, TILESTORED,
// TILEZERO, TILERELEASE, TDPBF16PS, TDPBUSD.
#pragma once

#include <string>

#include "vm/kernels/tile/tile_config.h"

namespace dyn::vm::kernels {

class TileModel {
 public:
  static void configure(const TileConfig& config);
  static void release();
  static void zero(int tile);
  static void load(int tile, const void* from, int64_t pitch);
  static void store(int tile, void* to, int64_t pitch);
  static void multiplyPairs(int c, int a, int b);
  static void multiplyQuads(int c, int a, int b);

  // As kernels name tiles.
  template <int kTile>
  static void zero() {
    zero(kTile);
  }
  template <int kTile>
  static void load(const void* from, int64_t pitch) {
    load(kTile, from, pitch);
  }
  template <int kTile>
  static void store(void* to, int64_t pitch) {
    store(kTile, to, pitch);
  }
  template <int kC, int kA, int kB>
  static void multiplyPairs() {
    multiplyPairs(kC, kA, kB);
  }
  template <int kC, int kA, int kB>
  static void multiplyQuads() {
    multiplyQuads(kC, kA, kB);
  }
  static void copyWords(void* to, const void* from, int64_t count);

  // Whether the calling thread's tiles are configured.
  static bool isConfigured();
  // The first misuse since the last call, of any thread; "": none.
  static std::string takeFault();
  // Products that were done since the process began, of any thread.
  static int64_t productCount();
};

}  // namespace dyn::vm::kernels
