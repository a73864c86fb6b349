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

// The places of the first kCount of `size` ranks, at least kCount, in order.
template <int kCount, typename Rank>
inline void keepFirstPlaces(const Rank* ranks, int64_t size, int64_t* places) {
  if constexpr (sizeof(Rank) <= 4) {
    // Rank and place in one word: each moves those behind it down by one. One alone has no other to wait for.
    constexpr int kLists = kCount == 1 ? 4 : 1;
    uint64_t words[kLists][kCount];
    for (auto& list : words)
      for (uint64_t& word : list) word = ~uint64_t{0};
    const auto put = [&](uint64_t(&list)[kCount], int64_t i) {
      uint64_t word = static_cast<uint64_t>(ranks[i]) << 32 | static_cast<uint64_t>(i);
#pragma GCC unroll 8
      for (int k = 0; k < kCount; ++k) {
        const uint64_t here = list[k];
        list[k] = word < here ? word : here;
        word = word < here ? here : word;
      }
    };
    int64_t i = 0;
    for (; i + kLists <= size; i += kLists)
#pragma GCC unroll 4
      for (int list = 0; list < kLists; ++list) put(words[list], i + list);
    for (; i < size; ++i) put(words[0], i);
    if constexpr (kLists > 1)
      for (int list = 1; list < kLists; ++list) words[0][0] = std::min(words[0][0], words[list][0]);
    for (int k = 0; k < kCount; ++k) places[k] = static_cast<int64_t>(words[0][k] & 0xffffffffu);
  } else if constexpr (kCount == 1) {
    constexpr int64_t kLists = 4;
    Rank kept[kLists] = {ranks[0], ranks[0], ranks[0], ranks[0]};
    int64_t at[kLists] = {};
    const auto put = [&](int64_t list, int64_t i) {
      const bool before = ranks[i] < kept[list];
      kept[list] = before ? ranks[i] : kept[list];
      at[list] = before ? i : at[list];
    };
    int64_t i = 0;
    for (; i + kLists <= size; i += kLists)
#pragma GCC unroll 4
      for (int64_t list = 0; list < kLists; ++list) put(list, i + list);
    for (; i < size; ++i) put(0, i);
    int64_t best = 0;
    for (int64_t list = 1; list < kLists; ++list)
      if (kept[list] < kept[best] || (kept[list] == kept[best] && at[list] < at[best])) best = list;
    places[0] = at[best];
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

// Finds the places of the first elements of rows that are short, in order, as RowOrder does.
template <typename T>
class ShortRows {
 public:
  using Rank = typename RankOf<T>::Rank;

  static bool takes(int64_t size, int64_t count) {
    return count <= kMostKept ? size <= kShortRow : size <= kCountedRow && sizeof(Rank) <= 4;
  }
  ShortRows(int64_t count, bool descending)
      : keep_(count <= kMostKept ? keeping(count, std::make_integer_sequence<int, kMostKept>()) : nullptr),
        count_(count),
        flip_(descending ? static_cast<Rank>(~Rank{0}) : Rank{0}) {}

  // Of `size` elements from[i * stride]. Valid until the next call.
  const int64_t* first(const T* from, int64_t size, int64_t stride) {
    if (keep_)
      readRanks(from, size, stride, ranks_), keep_(ranks_, size, places_);
    else if constexpr (sizeof(Rank) <= 4)
      readRanks(from, size, stride, wide_), counted_.order(wide_, size, count_, places_);
    return places_;
  }

 private:
  using Keep = void (*)(const Rank*, int64_t, int64_t*);

  template <int... kLess>
  static Keep keeping(int64_t count, std::integer_sequence<int, kLess...>) {
    static constexpr Keep all[] = {&keepFirstPlaces<kLess + 1, Rank>...};
    return all[std::max<int64_t>(count, 1) - 1];
  }
  template <typename Wide>
  void readRanks(const T* from, int64_t size, int64_t stride, Wide* ranks) const {
    const Rank flip = flip_;
    const auto rankAt = [&](int64_t i) { return static_cast<Rank>(RankOf<T>::of(from[i]) ^ flip); };
    if (stride == 1)
      for (int64_t i = 0; i < size; ++i) ranks[i] = rankAt(i);
    else
      for (int64_t i = 0; i < size; ++i) ranks[i] = rankAt(i * stride);
  }

  const Keep keep_;
  const int64_t count_;
  const Rank flip_;
  Rank ranks_[kShortRow];
  uint32_t wide_[kCountedRow];
  int64_t places_[kCountedRow];
  CountedRow counted_;
};

}  // namespace dyn::vm::kernels
