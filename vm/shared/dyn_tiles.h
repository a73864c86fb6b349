/* Whether this process may use the processor's tiles (Intel AMX): registers of 16 rows of 64 bytes, and
 * products of them. For compiler and runtime alike (C++20, header only).
 *
 * Three have a say: the processor (CPUID), the system, which must save the tiles when threads change (XCR0),
 * and since Linux 5.16 its kernel, which a process asks once, for all of its threads; it refuses, say,
 * where a stack for signals is too small for them. Intel 64 and IA-32 Architectures Software Developer's
 * Manual, volume 1, chapters 13 and 18; "Using XSTATE features in user space applications" of Linux. */
#ifndef DYN_TILES_H
#define DYN_TILES_H

#include <cstdint>
#include <cstdlib>
#include <string_view>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace dyn {

struct TileSupport {
  bool bf16 = false, bytes = false;  // products of pairs of bf16, of quads of bytes
  bool refused = false;              // the processor has them, and the kernel does not allow it
};

// How tiles are used, by the environment's DYN_TILES. "off": not at all. "model": by a model of them in plain
// C++, for tests on processors without. Anything else: by the processor's, where there are some.
enum class TileChoice : uint8_t { processor, model, none };
inline TileChoice tileChoice() {
  const char* given = std::getenv("DYN_TILES");
  const std::string_view text = given ? given : "";
  return text == "off" ? TileChoice::none : text == "model" ? TileChoice::model : TileChoice::processor;
}

namespace tiles {

#if defined(__x86_64__) && defined(__linux__)
// Tiles as kernels take them: palette 1, 8 of them, of 16 rows of 64 bytes.
inline bool hasPalette() {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(0x1d, 0, &a, &b, &c, &d) || a < 1) return false;
  if (!__get_cpuid_count(0x1d, 1, &a, &b, &c, &d)) return false;
  return a >> 16 >= 1024 && (b & 0xffff) >= 64 && b >> 16 >= 8 && (c & 0xffff) >= 16;
}
inline bool systemSaves() {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  constexpr uint32_t kSavesByXgetbv = 1u << 27, kTiles = 3u << 17;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & kSavesByXgetbv) == 0) return false;
  __asm__ volatile(".byte 0x0f, 0x01, 0xd0" : "=a"(a), "=d"(d) : "c"(0));  // xgetbv
  return (a & kTiles) == kTiles;
}
inline bool kernelAllows() {
  constexpr long kAsk = 0x1023, kAllowed = 0x1022,
                 kTileData = 18;  // arch_prctl(2): ARCH_REQ_XCOMP_PERM and GET
  uint64_t allowed = 0;
  return syscall(SYS_arch_prctl, kAsk, kTileData) == 0 && syscall(SYS_arch_prctl, kAllowed, &allowed) == 0 &&
         (allowed >> kTileData & 1) != 0;
}
inline TileSupport ask() {
  TileSupport support;
  uint32_t a = 0, b = 0, c = 0, d = 0;
  constexpr uint32_t kBf16 = 1u << 22, kTile = 1u << 24, kBytes = 1u << 25;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & kTile) == 0 || !systemSaves() || !hasPalette())
    return support;
  support.refused = !kernelAllows();
  support.bf16 = !support.refused && (d & kBf16) != 0;
  support.bytes = !support.refused && (d & kBytes) != 0;
  return support;
}
#else
inline TileSupport ask() { return {}; }
#endif

}  // namespace tiles

// Asks at the first call; nothing where the environment wants none of the processor's.
inline const TileSupport& tileSupport() {
  static const TileSupport support = tileChoice() == TileChoice::processor ? tiles::ask() : TileSupport();
  return support;
}

// What a line about the machine says of them at its end.
inline const char* tileText(const TileSupport& support) {
  return support.refused                 ? "; the system refuses the tiles (AMX)"
         : support.bf16 && support.bytes ? "; tiles (AMX) of bf16 and bytes"
         : support.bf16                  ? "; tiles (AMX) of bf16"
         : support.bytes                 ? "; tiles (AMX) of bytes"
                                         : "";
}

}  // namespace dyn
#endif
