// Bytes into the words and panels that byte micro-kernels read.
#include <algorithm>
#include <cstring>

#include "vm/kernels/byte/byte_gemm.h"

namespace dyn::vm::kernels {
namespace {

typedef uint8_t Sixteen __attribute__((vector_size(16), aligned(1), may_alias));

Sixteen sixteen(const uint8_t* from, Sixteen flips) {
  return *reinterpret_cast<const Sixteen*>(from) ^ flips;
}
Sixteen lowMixed(Sixteen a, Sixteen b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
Sixteen highMixed(Sixteen a, Sixteen b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
// The same for pairs of bytes.
Sixteen lowPairs(Sixteen a, Sixteen b) {
  return __builtin_shufflevector(a, b, 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23);
}
Sixteen highPairs(Sixteen a, Sixteen b) {
  return __builtin_shufflevector(a, b, 8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14, 15, 30, 31);
}
void put(uint8_t* to, Sixteen value) { *reinterpret_cast<Sixteen*>(to) = value; }

// `group` rows of `width` columns that run through, stride apart: to[i * group + g] = from[g * stride + i] ^
// flip.
void mixRows(const uint8_t* from, int64_t stride, int64_t width, int group, uint8_t flip, uint8_t* to) {
  const Sixteen flips = Sixteen{} + flip;
  for (int64_t i = 0; i < width; i += 16, from += 16, to += 16 * group) {
    const Sixteen a = sixteen(from, flips), b = sixteen(from + stride, flips), low = lowMixed(a, b),
                  high = highMixed(a, b);
    if (group == 2) {
      put(to, low);
      put(to + 16, high);
      continue;
    }
    const Sixteen c = sixteen(from + 2 * stride, flips), d = sixteen(from + 3 * stride, flips),
                  lowOther = lowMixed(c, d), highOther = highMixed(c, d);
    put(to, lowPairs(low, lowOther));
    put(to + 16, highPairs(low, lowOther));
    put(to + 32, lowPairs(high, highOther));
    put(to + 48, highPairs(high, highOther));
  }
}

// The sums of a panel's columns: its product with a row of ones.
constexpr int64_t kOnes = 256;
struct Ones {
  uint32_t words[kOnes];
  constexpr explicit Ones(uint32_t word) : words{} {
    for (uint32_t& w : words) w = word;
  }
};
constexpr Ones kOnesOfFour(0x01010101), kOnesOfTwo(0x00010001), kOnesOfMoved(0x81818181);

// The same for a family that another machine runs.
void sumForeignColumns(const ByteGemmFamily& family, const int8_t* panel, int64_t words, int32_t* sums) {
  std::fill_n(sums, family.panelWidth, 0);
  for (int64_t k = 0; k < words; ++k)
    for (int64_t i = 0; i < family.panelWidth; ++i)
      for (int64_t g = 0; g < family.group; ++g) sums[i] += *panel++;
}

void sumColumns(const ByteGemmFamily& family, const int8_t* panel, int64_t words, int32_t* sums) {
  if (!family.microKernels) return sumForeignColumns(family, panel, words, sums);
  // Of the sums of columns, which are not there yet, none is taken.
  const int32_t noTerms[2] = {0, family.leftMoved};
  constexpr int64_t kWidest = 64;
  int32_t part[kWidest];
  const int64_t width = family.panelWidth;
  std::fill_n(sums, width, 0);
  const uint32_t* ones = family.leftMoved == 128 ? kOnesOfMoved.words
                         : family.group == 4     ? kOnesOfFour.words
                                                 : kOnesOfTwo.words;
  for (int64_t k = 0; k < words; k += kOnes) {
    // Without terms the zero points, for which the sums stand here, are not looked at.
    family.microKernels[0](std::min(kOnes, words - k), ones, 0, panel + k * width * family.group, noTerms,
                           sums, part, width, width);
    for (int64_t i = 0; i < width; ++i) sums[i] += part[i];
  }
}

}  // namespace

void mixChannels(const ByteGemmFamily& family, const uint8_t* from, int64_t stride, int64_t count,
                 uint8_t flip, uint8_t* to) {
  const int64_t whole = count / 16 * 16, rest = count - whole;
  mixRows(from, stride, whole, family.group, flip, to);
  if (rest == 0) return;
  uint8_t edge[4 * 16] = {}, mixed[4 * 16];
  for (int g = 0; g < family.group; ++g)
    memcpy(edge + g * 16, from + g * stride + whole, static_cast<size_t>(rest));
  mixRows(edge, 16, 16, family.group, flip, mixed);
  memcpy(to + whole * family.group, mixed, static_cast<size_t>(rest * family.group));
}

void sumPanel(const ByteGemmFamily& family, int64_t words, int8_t* panel) {
  sumColumns(family, panel, words,
             reinterpret_cast<int32_t*>(panel + words * family.group * family.panelWidth));
}

namespace {

typedef uint16_t Halves __attribute__((vector_size(16), aligned(1), may_alias));

// What is done with bytes that run through, by sixteens: their sum, and perhaps a copy.
enum class Copied : uint8_t { none, asBytes, asHalves };

// Returns how many of `depth` it has done.
template <Copied kCopied>
int64_t sumSixteens(const uint8_t* a, int64_t depth, uint8_t flip, void* words, uint32_t& sum) {
  const Sixteen flips = Sixteen{} + flip, none{};
  auto* to = static_cast<uint8_t*>(words);
  int64_t k = 0;
  while (k + 16 <= depth) {
    Halves lowSums{}, highSums{};
    const int64_t end = std::min(depth - 15, k + 16 * 256);  // the sums stay below 2^16
    for (; k < end; k += 16) {
      const Sixteen bytes = sixteen(a + k, flips), low = lowMixed(bytes, none), high = highMixed(bytes, none);
      lowSums += reinterpret_cast<Halves>(low);
      highSums += reinterpret_cast<Halves>(high);
      if constexpr (kCopied == Copied::asBytes) put(to + k, bytes);
      if constexpr (kCopied == Copied::asHalves) {
        put(to + 2 * k, low);
        put(to + 2 * k + 16, high);
      }
    }
    for (int i = 0; i < 8; ++i) sum += uint32_t{lowSums[i]} + highSums[i];
  }
  return k;
}

}  // namespace

int32_t copyLeftRow(const ByteGemmFamily& family, const uint8_t* a, int64_t depth, int64_t strideK,
                    uint8_t flip, uint32_t* words) {
  const int64_t filled = wordCount(family, depth) * family.group;
  uint32_t sum = 0;
  int64_t done = 0;
  if (strideK == 1)
    done = family.group == 4 ? sumSixteens<Copied::asBytes>(a, depth, flip, words, sum)
                             : sumSixteens<Copied::asHalves>(a, depth, flip, words, sum);
  if (family.group == 4) {
    auto* to = reinterpret_cast<uint8_t*>(words);
    for (int64_t k = done; k < depth; ++k) {
      to[k] = static_cast<uint8_t>(a[k * strideK] ^ flip);
      sum += to[k];
    }
    std::fill(to + depth, to + filled, uint8_t{0});
  } else {
    auto* to = reinterpret_cast<uint16_t*>(words);
    for (int64_t k = done; k < depth; ++k) {
      to[k] = static_cast<uint8_t>(a[k * strideK] ^ flip);
      sum += to[k];
    }
    std::fill(to + depth, to + filled, uint16_t{0});
  }
  return static_cast<int32_t>(sum);
}

int32_t sumLeftRow(const uint8_t* a, int64_t depth) {
  uint32_t sum = 0;
  int64_t k = sumSixteens<Copied::none>(a, depth, 0, nullptr, sum);
  for (; k < depth; ++k) sum += a[k];
  return static_cast<int32_t>(sum);
}

void packBytePanels(const ByteGemmFamily& family, const uint8_t* b, int64_t depth, int64_t columns,
                    int64_t strideK, int64_t strideN, uint8_t flip, int64_t firstPanel, int64_t lastPanel,
                    int8_t* packed) {
  const int64_t width = family.panelWidth, words = wordCount(family, depth);
  const int group = family.group;
  for (int64_t panel = firstPanel; panel < lastPanel; ++panel) {
    int8_t* out = packed + panel * panelBytes(family, depth);
    auto* to = reinterpret_cast<uint8_t*>(out);
    const uint8_t* from = b + panel * width * strideN;
    const int64_t count = std::min(width, columns - panel * width);
    if (strideN == 1) {
      const bool full = count == width;
      const int64_t packed = full && family.packWords ? depth / group : 0;
      if (packed > 0) family.packWords(from, strideK, packed, flip, to);
      to += packed * group * width;
      for (int64_t word = packed; word < words; ++word, to += group * width) {
        const int64_t rows = std::min<int64_t>(group, depth - word * group);
        const uint8_t* first = from + word * group * strideK;
        if (full && rows == group) {
          mixRows(first, strideK, width, group, flip, to);
          continue;
        }
        // What is not there is flipped to zero.
        constexpr int64_t kWidest = 64;
        uint8_t edge[4 * kWidest];
        memset(edge, flip, sizeof edge);
        for (int64_t g = 0; g < rows; ++g)
          memcpy(edge + g * kWidest, first + g * strideK, static_cast<size_t>(count));
        mixRows(edge, kWidest, width, group, flip, to);
      }
    } else {
      std::fill(to, to + words * group * width, uint8_t{0});
      for (int64_t i = 0; i < count; ++i)
        for (int64_t k = 0; k < depth; ++k)
          to[(k / group * width + i) * group + k % group] =
              static_cast<uint8_t>(from[k * strideK + i * strideN] ^ flip);
    }
    sumPanel(family, words, out);
  }
}

}  // namespace dyn::vm::kernels
