// The first elements of short rows, in order, without a branch that depends on an element: of a few elements
// such branches are most of the time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "vm/kernels/select/ranks.h"

namespace dyn::vm::kernels {

// Elements of a row whose first few are kept in order as they come; how many those are at most; elements of a
// row whose elements are counted.
constexpr int64_t kShortRow = 256, kMostKept = 8, kCountedRow = 64;

// The place of the first of `size` ranks, at least one.
template <typename RankAt>
inline int64_t placeOfFirst(int64_t size, const RankAt& rankAt) {
  using Rank = decltype(rankAt(0));
  constexpr int64_t kLists = 4;  // none waits for another
  if (size < 2 * kLists) {
    Rank kept = rankAt(0);
    int64_t at = 0;
    for (int64_t i = 1; i < size; ++i) {
      const Rank rank = rankAt(i);
      const bool before = rank < kept;
      kept = before ? rank : kept;
      at = before ? i : at;
    }
    return at;
  }
  Rank kept[kLists];
  int64_t at[kLists];
  const auto put = [&](int64_t list, int64_t i) {
    const Rank rank = rankAt(i);
    const bool before = rank < kept[list];
    kept[list] = before ? rank : kept[list];
    at[list] = before ? i : at[list];
  };
#pragma GCC unroll 4
  for (int64_t list = 0; list < kLists; ++list) kept[list] = rankAt(list), at[list] = list;
  int64_t i = kLists;
  for (; i + kLists <= size; i += kLists)
#pragma GCC unroll 4
    for (int64_t list = 0; list < kLists; ++list) put(list, i + list);
  for (; i < size; ++i) put(0, i);
  Rank best = kept[0];
  int64_t place = at[0];
#pragma GCC unroll 4
  for (int64_t list = 1; list < kLists; ++list) {
    const bool before = (kept[list] < best) | ((kept[list] == best) & (at[list] < place));
    best = before ? kept[list] : best;
    place = before ? at[list] : place;
  }
  return place;
}

// The places of the first kCount of `size` ranks, at least kCount, in order.
template <int kCount, typename Rank>
inline void keepFirstPlaces(const Rank* ranks, int64_t size, int64_t* places) {
  if constexpr (sizeof(Rank) <= 4) {
    // Rank and place in one word: each moves those behind it down by one.
    uint64_t words[kCount];
    for (uint64_t& word : words) word = ~uint64_t{0};
    for (int64_t i = 0; i < size; ++i) {
      uint64_t word = static_cast<uint64_t>(ranks[i]) << 32 | static_cast<uint64_t>(i);
#pragma GCC unroll 8
      for (int k = 0; k < kCount; ++k) {
        const uint64_t here = words[k];
        words[k] = word < here ? word : here;
        word = word < here ? here : word;
      }
    }
    for (int k = 0; k < kCount; ++k) places[k] = static_cast<int64_t>(words[k] & 0xffffffffu);
  } else {
    Rank kept[kCount];
    for (int k = 0; k < kCount; ++k) places[k] = -1, kept[k] = static_cast<Rank>(~Rank{0});
    for (int64_t i = 0; i < size; ++i) {
      Rank rank = ranks[i];
      int64_t place = i;
      // What is moved comes before all behind it, so that equal ones keep their order. The last of all ranks
      // moves places that are still empty.
      bool moves = false;
#pragma GCC unroll 8
      for (int k = 0; k < kCount; ++k) {
        moves |= (rank < kept[k]) | (places[k] < 0);
        const Rank rankHere = kept[k];
        const int64_t placeHere = places[k];
        kept[k] = moves ? rank : rankHere;
        places[k] = moves ? place : placeHere;
        rank = moves ? rankHere : rank;
        place = moves ? placeHere : place;
      }
    }
  }
}

// Puts whole rows of up to kCountedRow ranks of 32 bits in order: the place of an element is the number of
// those that come before it.
class CountedRow {
 public:
  void order(const uint32_t* ranks, int64_t size, int64_t count, int64_t* places) {
    constexpr uint32_t kSign = 1u << 31;  // compared as numbers with a sign
    const int64_t end = (size + kGroup - 1) / kGroup * kGroup;
    for (int64_t i = 0; i < size; ++i) ranks_[i] = static_cast<int32_t>(ranks[i] ^ kSign);
    for (int64_t i = size; i < end; ++i) ranks_[i] = INT32_MAX;
    for (int64_t group = 0; group < end; group += kGroup) countGroup(group, end);
    for (int64_t i = 0; i < end; ++i) order_[before_[i]] = static_cast<uint8_t>(i);
    for (int64_t k = 0; k < count; ++k) places[k] = order_[k];
  }

 private:
  static constexpr int64_t kLanes = 4, kVectors = 4, kGroup = kLanes * kVectors;
  typedef int32_t Lanes __attribute__((vector_size(kLanes * 4)));

  static Lanes all(int64_t number) {
    const auto n = static_cast<int32_t>(number);
    return Lanes{n, n, n, n};
  }
  // Of the elements [begin, begin + kGroup) how many come before each: all that stand before it, less those
  // of them that are larger, and the smaller ones behind it.
  void countGroup(int64_t begin, int64_t end) {
    const Lanes numbers = {0, 1, 2, 3};
    Lanes own[kVectors], before[kVectors];
    for (int64_t v = 0; v < kVectors; ++v) {
      own[v] = *reinterpret_cast<const Lanes*>(ranks_ + begin + v * kLanes);
      before[v] = numbers + all(begin + v * kLanes);
    }
    for (int64_t j = 0; j < begin; ++j) {
      const Lanes other = all(ranks_[j]);
#pragma GCC unroll 4
      for (int64_t v = 0; v < kVectors; ++v) before[v] += other > own[v];
    }
    for (int64_t j = begin + kGroup; j < end; ++j) {
      const Lanes other = all(ranks_[j]);
#pragma GCC unroll 4
      for (int64_t v = 0; v < kVectors; ++v) before[v] -= other < own[v];
    }
    for (int64_t j = 0; j < kGroup; ++j) {
      const Lanes other = all(ranks_[begin + j]);
#pragma GCC unroll 4
      for (int64_t v = 0; v < kVectors; ++v) {
        const Lanes at = numbers + all(v * kLanes), where = all(j);
        before[v] += ((other > own[v]) & (where < at));
        before[v] -= ((other < own[v]) & (where > at));
      }
    }
    for (int64_t v = 0; v < kVectors; ++v)
      *reinterpret_cast<Lanes*>(before_ + begin + v * kLanes) = before[v];
  }

  alignas(64) int32_t ranks_[kCountedRow];
  alignas(64) int32_t before_[kCountedRow];
  uint8_t order_[kCountedRow];
};

// The ranks of `size` elements from[i * stride]; `flip`: all bits where the order is descending.
template <typename T, typename Rank = typename RankOf<T>::Rank, typename Wide>
inline void readRanks(const T* from, int64_t size, int64_t stride, Rank flip, Wide* ranks) {
  const auto rankAt = [&](int64_t i) { return static_cast<Rank>(RankOf<T>::of(from[i]) ^ flip); };
  if (stride == 1)
    for (int64_t i = 0; i < size; ++i) ranks[i] = rankAt(i);
  else
    for (int64_t i = 0; i < size; ++i) ranks[i] = rankAt(i * stride);
}

// Finds the place of the first element of rows that are short, as RowOrder does.
template <typename T>
class FirstOfRow {
 public:
  using Rank = typename RankOf<T>::Rank;

  static constexpr bool kLanes = std::is_floating_point_v<T>;
  static constexpr int64_t kTogether = kLanes ? 4 : 1;

  static bool takes(int64_t size) { return size <= kShortRow; }
  explicit FirstOfRow(bool descending) : flip_(descending ? static_cast<Rank>(~Rank{0}) : Rank{0}) {}

  // Of `size` elements from[i * stride], at least one.
  int64_t place(const T* from, int64_t size, int64_t stride) const {
    if (sizeof(T) == 2 && size >= kVectorsPay) return placeOfRanks(from, size, stride);
    const auto rankAt = [from, flip = flip_](int64_t i) {
      return static_cast<Rank>(RankOf<T>::of(from[i]) ^ flip);
    };
    if (stride == 1) return placeOfFirst(size, rankAt);
    return placeOfFirst(size, [&](int64_t i) { return rankAt(i * stride); });
  }
  // Of kTogether rows of `size` reals, one behind the other: a lane for each, as long as none is a NaN.
  void placesTogether(const T* from, int64_t size, int64_t* places) const {
    if (flip_ != 0 ? lanesFound<true>(from, size, places) : lanesFound<false>(from, size, places)) return;
    for (int64_t row = 0; row < kTogether; ++row) places[row] = place(from + row * size, size, 1);
  }

 private:
  // Vectors of 16 bytes, which every machine has.
  template <bool kDescending>
  static bool lanesFound(const T* from, int64_t size, int64_t* places) {
    using Place = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    constexpr int64_t kWidth = 16 / static_cast<int64_t>(sizeof(T)), kVectors = kTogether / kWidth;
    typedef T Lanes __attribute__((vector_size(16)));
    typedef Place Places __attribute__((vector_size(16)));
    const auto lanesAt = [size](const T* p) {
      if constexpr (kWidth == 4)
        return Lanes{p[0], p[size], p[2 * size], p[3 * size]};
      else
        return Lanes{p[0], p[size]};
    };
    Lanes best[kVectors];
    Places at[kVectors] = {}, isNan = {};
    for (int64_t v = 0; v < kVectors; ++v) {
      best[v] = lanesAt(from + v * kWidth * size);
      isNan |= best[v] != best[v];
    }
    for (int64_t i = 1; i < size; ++i) {
#pragma GCC unroll 2
      for (int64_t v = 0; v < kVectors; ++v) {
        const Lanes here = lanesAt(from + v * kWidth * size + i);
        const Places before = kDescending ? here > best[v] : here < best[v];
        best[v] = before ? here : best[v];
        at[v] = before ? Places{} + static_cast<Place>(i) : at[v];
        isNan |= here != here;
      }
    }
    for (int64_t lane = 0; lane < kWidth; ++lane)
      if (isNan[lane] != 0) return false;
    for (int64_t row = 0; row < kTogether; ++row) places[row] = at[row / kWidth][row % kWidth];
    return true;
  }

  // Ranks are made by vectors first, then compared with their places, a word each.
  static constexpr int64_t kVectorsPay = 24;
  int64_t placeOfRanks(const T* from, int64_t size, int64_t stride) const {
    uint32_t ranks[kShortRow];
    readRanks(from, size, stride, flip_, ranks);
    constexpr int64_t kLists = 4;  // none waits for another
    uint64_t first[kLists] = {~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}};
    const auto put = [&](int64_t list, int64_t i) {
      const uint64_t word = static_cast<uint64_t>(ranks[i]) << 32 | static_cast<uint64_t>(i);
      first[list] = word < first[list] ? word : first[list];
    };
    int64_t i = 0;
    for (; i + kLists <= size; i += kLists)
#pragma GCC unroll 4
      for (int64_t list = 0; list < kLists; ++list) put(list, i + list);
    for (; i < size; ++i) put(0, i);
    return static_cast<int64_t>(std::min({first[0], first[1], first[2], first[3]}) & 0xffffffffu);
  }

  const Rank flip_;
};

// Finds the places of the first elements of rows that are short, in order, as RowOrder does.
template <typename T>
class ShortRows {
 public:
  using Rank = typename RankOf<T>::Rank;

  static bool takes(int64_t size, int64_t count) {
    return count <= kMostKept ? size <= kShortRow : size <= kCountedRow && sizeof(Rank) <= 4;
  }
  ShortRows(int64_t count, bool descending)
      : keep_(count > 1 && count <= kMostKept
                  ? keeping(count, std::make_integer_sequence<int, kMostKept - 1>())
                  : nullptr),
        count_(count),
        flip_(descending ? static_cast<Rank>(~Rank{0}) : Rank{0}),
        one_(descending) {}

  // Of `size` elements from[i * stride]. Valid until the next call.
  const int64_t* first(const T* from, int64_t size, int64_t stride) {
    if (count_ == 1)
      places_[0] = one_.place(from, size, stride);
    else if (keep_)
      readRanks(from, size, stride, flip_, ranks_), keep_(ranks_, size, places_);
    else if constexpr (sizeof(Rank) <= 4)
      readRanks(from, size, stride, flip_, wide_), counted_.order(wide_, size, count_, places_);
    return places_;
  }

 private:
  using Keep = void (*)(const Rank*, int64_t, int64_t*);

  template <int... kLess>
  static Keep keeping(int64_t count, std::integer_sequence<int, kLess...>) {
    static constexpr Keep all[] = {&keepFirstPlaces<kLess + 2, Rank>...};
    return all[count - 2];
  }
  const Keep keep_;
  const int64_t count_;
  const Rank flip_;
  const FirstOfRow<T> one_;
  Rank ranks_[kShortRow];
  uint32_t wide_[kCountedRow];
  int64_t places_[kCountedRow];
  CountedRow counted_;
};

}  // namespace dyn::vm::kernels
