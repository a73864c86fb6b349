// 12x32 tiles, four products a lane and instruction. Compiled for AVX-512 with VNNI; nothing else may be in
// this file (vm/CMakeLists.txt).
#if defined(__AVX512VNNI__) && defined(__AVX512BW__)
#include <immintrin.h>

#include "vm/kernels/byte/byte_kernel.h"

namespace {

typedef uint32_t Sums __attribute__((vector_size(64), aligned(4), may_alias));
using Words = __m512i;
constexpr int kGroup = 4;

inline Words everyLane(uint32_t word) { return _mm512_set1_epi32(static_cast<int>(word)); }
inline Words lanes(const int8_t* from) { return _mm512_loadu_si512(from); }
// The form that does not saturate: four products of u8 and i8 fit in i32 with room to spare.
inline Sums multiplyAdd(Sums sums, Words a, Words b) {
  return reinterpret_cast<Sums>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums), a, b));
}
// Sixteen bytes of each place in 128 bits of their own; then four channels of all places there, and these
// side by side.
inline Words mixed(const uint8_t* from, const int64_t* offsets) {
  const auto at = [&](int64_t i) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + offsets[i]));
  };
  __m512i bytes = _mm512_castsi128_si512(at(0));
  bytes = _mm512_mask_broadcast_i32x4(bytes, 0x00f0, at(1));
  bytes = _mm512_mask_broadcast_i32x4(bytes, 0x0f00, at(2));
  bytes = _mm512_mask_broadcast_i32x4(bytes, 0xf000, at(3));
  const __m512i fours = _mm512_permutexvar_epi32(
      _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), bytes);
  return _mm512_shuffle_epi8(
      fours, _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)));
}

// Four rows of 32 bytes as 32 words. Bytes are paired within halves of a vector, which are put in order last.
void packWords(const uint8_t* from, int64_t stride, int64_t words, uint8_t flip, uint8_t* to) {
  const __m256i flips = _mm256_set1_epi8(static_cast<char>(flip));
  for (int64_t w = 0; w < words; ++w, from += 4 * stride, to += 128) {
    const auto row = [&](int64_t g) {
      return _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + g * stride)), flips);
    };
    const auto put = [&](int64_t at, __m256i value) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at), value);
    };
    const __m256i a = row(0), b = row(1), c = row(2), d = row(3);
    const __m256i low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpackhi_epi8(a, b),
                  lowOther = _mm256_unpacklo_epi8(c, d), highOther = _mm256_unpackhi_epi8(c, d);
    const __m256i first = _mm256_unpacklo_epi16(low, lowOther), second = _mm256_unpackhi_epi16(low, lowOther),
                  third = _mm256_unpacklo_epi16(high, highOther),
                  fourth = _mm256_unpackhi_epi16(high, highOther);
    put(0, _mm256_permute2x128_si256(first, second, 0x20));
    put(32, _mm256_permute2x128_si256(third, fourth, 0x20));
    put(64, _mm256_permute2x128_si256(first, second, 0x31));
    put(96, _mm256_permute2x128_si256(third, fourth, 0x31));
  }
}

// Four vectors, two rows, as bytes: words saturate on the way from 32 bits to 16, then four bytes of each
// vector follow one another.
struct PairedBytes {
  __m512i place, floor;
  bool isSigned;

  PairedBytes(int32_t zero, float low, float high)
      : place(_mm512_set1_epi16(static_cast<int16_t>(zero))),
        floor(_mm512_set1_epi16(static_cast<int16_t>(static_cast<int32_t>(low) + zero))),
        isSigned(static_cast<int32_t>(high) + zero < 128) {}

  template <bool kSaturates = false>
  __m512i words(__m512i left, __m512i right) const {
    const __m512i both = _mm512_adds_epi16(_mm512_packs_epi32(left, right), place);
    return kSaturates ? both : _mm512_max_epi16(both, floor);
  }
  void store(__m512i first, __m512i second, uint8_t* to, int64_t leading) const {
    const __m512i bytes = isSigned ? _mm512_packs_epi16(first, second) : _mm512_packus_epi16(first, second);
    const __m512i rows = _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), bytes);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(rows));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + leading), _mm512_extracti64x4_epi64(rows, 1));
  }
};

inline void storeBytes(__m512i whole, uint8_t* to, int64_t columns) {
  if (columns >= 16)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(whole));
  else if (columns > 0)
    _mm512_mask_cvtepi32_storeu_epi8(to, static_cast<__mmask16>((1u << columns) - 1), whole);
}

inline __m512 realOf(Sums sums, const float* scales) {
  return _mm512_mul_ps(_mm512_cvtepi32_ps(reinterpret_cast<__m512i>(sums)), _mm512_loadu_ps(scales));
}

// Minima and maxima give their second operand for NaN, and what is no number of 32 bits becomes the least
// one.
template <bool kSaturates>
struct Rescaler {
  __m512 low, high;
  __m512i zero;
  PairedBytes paired;

  explicit Rescaler(const dyn::vm::kernels::ByteRescale& rescale)
      : low(_mm512_set1_ps(rescale.low)),
        high(_mm512_set1_ps(rescale.high)),
        zero(_mm512_set1_epi32(rescale.zero)),
        paired(rescale.zero, rescale.low, rescale.high) {}

  void storePair(const Sums* one, const Sums* two, const float* scales, uint8_t* to, int64_t at,
                 int64_t leading) const {
    const auto words = [&](const Sums* row) {
      const auto whole = [&](int v) {
        const __m512 reals = realOf(row[v], scales + 16 * v);
        return _mm512_cvtps_epi32(kSaturates ? reals : _mm512_min_ps(high, reals));
      };
      return paired.words<kSaturates>(whole(0), whole(1));
    };
    paired.store(words(one), words(two), to + at, leading);
  }
  void store(Sums sums, const float* scales, uint8_t* to, int64_t at, int64_t columns) const {
    const __m512 inside = _mm512_min_ps(_mm512_max_ps(realOf(sums, scales), low), high);
    storeBytes(_mm512_add_epi32(_mm512_cvtps_epi32(inside), zero), to + at, columns);
  }
};

// Lines are numbers of 32 bits: words saturate.
struct Joiner {
  const uint8_t* shortcut;
  __m512 low, high, factor, other, constant, least, most;
  __m512i zero;
  __m128i flip;
  PairedBytes paired;

  explicit Joiner(const dyn::vm::kernels::ByteRescale& rescale)
      : shortcut(rescale.shortcut.bytes),
        low(_mm512_set1_ps(rescale.low)),
        high(_mm512_set1_ps(rescale.high)),
        factor(_mm512_set1_ps(rescale.shortcut.factor)),
        other(_mm512_set1_ps(rescale.shortcut.other)),
        constant(_mm512_set1_ps(rescale.shortcut.constant)),
        least(_mm512_set1_ps(rescale.shortcut.low)),
        most(_mm512_set1_ps(rescale.shortcut.high)),
        zero(_mm512_set1_epi32(rescale.shortcut.zero)),
        flip(_mm_set1_epi8(static_cast<char>(rescale.shortcut.flip))),
        paired(rescale.shortcut.zero, rescale.shortcut.low, rescale.shortcut.high) {}

  __m512 joined(Sums sums, const float* scales, __m128i bytes) const {
    const __m512 inside = _mm512_min_ps(_mm512_max_ps(realOf(sums, scales), low), high),
                 own = _mm512_roundscale_ps(inside, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
                 theirs = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_xor_si128(bytes, flip)));
    return _mm512_fmadd_ps(own, factor, _mm512_fmadd_ps(theirs, other, constant));
  }
  void storePair(const Sums* one, const Sums* two, const float* scales, uint8_t* to, int64_t at,
                 int64_t leading) const {
    const auto words = [&](const Sums* row, const uint8_t* from) {
      const auto whole = [&](int v) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 16 * v));
        return _mm512_cvtps_epi32(joined(row[v], scales + 16 * v, bytes));
      };
      return paired.words(whole(0), whole(1));
    };
    const __m512i first = words(one, shortcut + at), second = words(two, shortcut + at + leading);
    paired.store(first, second, to + at, leading);
  }
  void store(Sums sums, const float* scales, uint8_t* to, int64_t at, int64_t columns) const {
    __m128i bytes = _mm_setzero_si128();
    if (columns <= 0) return;
    __builtin_memcpy(&bytes, shortcut + at, static_cast<size_t>(columns < 16 ? columns : 16));
    const __m512 inside = _mm512_min_ps(_mm512_max_ps(joined(sums, scales, bytes), least), most);
    storeBytes(_mm512_add_epi32(_mm512_cvtps_epi32(inside), zero), to + at, columns);
  }
};

inline Words nextPlace(Words weights) {
  return reinterpret_cast<Words>(reinterpret_cast<Sums>(weights) << 8);
}

// One word of four taps for 16 outputs, whose inputs overlap: each 128 bits hold what four of them need, and
// are then spread over their words.
template <bool kTwo>
inline __attribute__((always_inline)) Sums addWords(Sums sums, const uint8_t* from, uint32_t word) {
  const __m512i bytes = _mm512_loadu_si512(from);
  if constexpr (kTwo) {
    const __m512i pairs = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 1, 1, 2, 2, 3, 3, 4), bytes);
    const __m512i spread =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7, 8, 9));
    return reinterpret_cast<Sums>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums),
                                                      _mm512_shuffle_epi8(pairs, spread),
                                                      _mm512_set1_epi32(static_cast<int>(word))));
  } else {
    const __m512i words =
        _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4), bytes);
    const __m512i spread =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6));
    return reinterpret_cast<Sums>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums),
                                                      _mm512_shuffle_epi8(words, spread),
                                                      _mm512_set1_epi32(static_cast<int>(word))));
  }
}

// `kRows` x `kWords` words of the window, where they are known; 0: any.
template <bool kTwo, int kRows, int kWords>
void wordRows(const dyn::vm::kernels::ByteWindow& w, int32_t* sums, int64_t count) {
  const int64_t rowCount = kRows > 0 ? kRows : w.rowCount, perRow = kWords > 0 ? kWords : (w.width + 3) / 4;
  for (int64_t o = 0; o < w.outputs; ++o, sums += count)
    for (int64_t i = 0; i < count; i += 16) {
      const int64_t from = o * w.rowStep + i * (kTwo ? 2 : 1), rest = count - i;
      Sums sum = Sums{} + static_cast<uint32_t>(w.first);
      for (int64_t r = 0; r < rowCount; ++r)
        for (int64_t t = 0; t < perRow; ++t)
          sum = addWords<kTwo>(sum, w.rows[r] + from + 4 * t, w.words[r * perRow + t]);
      const __mmask16 used = rest >= 16 ? 0xffff : static_cast<__mmask16>((1u << rest) - 1);
      _mm512_mask_storeu_epi32(sums + i, used, reinterpret_cast<__m512i>(sum));
    }
}

template <bool kTwo>
void wordRows(const dyn::vm::kernels::ByteWindow& w, int32_t* sums, int64_t count) {
  if (w.rowCount == 3 && w.width <= 4) return wordRows<kTwo, 3, 1>(w, sums, count);
  if (w.rowCount == 5 && w.width > 4 && w.width <= 8) return wordRows<kTwo, 5, 2>(w, sums, count);
  wordRows<kTwo, 0, 0>(w, sums, count);
}

bool wordWindow(const dyn::vm::kernels::ByteWindow& w, int32_t* sums, int64_t count) {
  if (!w.words || w.dilation != 1 || w.stride > 2 || w.width == 0) return false;
  if (w.stride == 1)
    wordRows<false>(w, sums, count);
  else
    wordRows<true>(w, sums, count);
  return true;
}

}  // namespace

#define DYN_LANE_PAIRS
#define DYN_RESCALED_PAIRS
#define DYN_HOLD(sums) __asm__("" : "+v"(sums))
#define DYN_WORD_WINDOWS
#define DYN_PACK_WORDS packWords
#define DYN_LANES 16
#define DYN_VECTORS 2
#define DYN_MAX_ROWS 12
#define DYN_FAMILY byteGemmVnni
#define DYN_NAME "avx512-vnni"
#include "vm/kernels/byte/byte_kernel.inc"
#endif
