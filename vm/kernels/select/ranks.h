// Ranks: unsigned numbers in the order of the elements they stand for, so that one comparison serves every
// element type. Ascending with NaN last and -0 equal to +0; descending is the exact reverse, so NaN comes
// first.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "vm/kernels/dispatch.h"

namespace dyn::vm::kernels {

template <size_t kBytes>
using UnsignedOf = std::conditional_t<
    kBytes == 1, uint8_t,
    std::conditional_t<kBytes == 2, uint16_t, std::conditional_t<kBytes == 4, uint32_t, uint64_t>>>;

// From the bits of an IEEE-like real whose infinity is `infinity`.
template <typename Rank>
inline Rank rankOfReal(Rank bits, Rank infinity) {
  constexpr Rank kSign = static_cast<Rank>(Rank{1} << (8 * sizeof(Rank) - 1));
  const Rank magnitude = bits & static_cast<Rank>(~kSign);
  const Rank negative = static_cast<Rank>(kSign - magnitude), positive = static_cast<Rank>(kSign + magnitude);
  const Rank ordered = (bits & kSign) != 0 ? negative : positive;
  return magnitude > infinity ? static_cast<Rank>(~Rank{0}) : ordered;
}

template <typename T>
struct RankOf {
  using Rank = UnsignedOf<sizeof(T)>;
  static Rank of(T value) {
    Rank bits;
    memcpy(&bits, &value, sizeof bits);
    if constexpr (std::is_same_v<T, float>)
      return rankOfReal<Rank>(bits, 0x7f800000u);
    else if constexpr (std::is_same_v<T, double>)
      return rankOfReal<Rank>(bits, uint64_t{0x7ff} << 52);
    else if constexpr (std::is_signed_v<T>)
      return static_cast<Rank>(bits ^ static_cast<Rank>(Rank{1} << (8 * sizeof(Rank) - 1)));
    else
      return bits;
  }
};
template <DataType dtype>
struct RankOf<HalfElement<dtype>> {
  using Rank = uint16_t;
  static Rank of(HalfElement<dtype> value) {
    return rankOfReal<Rank>(value.bits, dtype == DataType::f16 ? 0x7c00 : 0x7f80);
  }
};

// A rank and the place of its element, ordered by both: of equal elements the first comes first.
template <typename Rank>
struct RankedPlace {
  Rank rank;
  int64_t index;
  bool operator<(const RankedPlace& other) const {
    return rank < other.rank || (rank == other.rank && index < other.index);
  }
};
// In one word where both fit.
struct PackedPlace {
  uint64_t word;
  bool operator<(const PackedPlace& other) const { return word < other.word; }
};
template <typename Item>
struct ItemOf;
template <>
struct ItemOf<PackedPlace> {
  static PackedPlace last() { return {~uint64_t{0}}; }  // behind all that there are
  static PackedPlace make(uint64_t rank, int64_t index) {
    return {rank << 32 | static_cast<uint64_t>(index)};
  }
  static uint64_t rank(PackedPlace item) { return item.word >> 32; }
  static int64_t index(PackedPlace item) { return static_cast<int64_t>(item.word & 0xffffffffu); }
};
template <typename Rank>
struct ItemOf<RankedPlace<Rank>> {
  static RankedPlace<Rank> last() { return {static_cast<Rank>(~Rank{0}), INT64_MAX}; }
  static RankedPlace<Rank> make(uint64_t rank, int64_t index) { return {static_cast<Rank>(rank), index}; }
  static uint64_t rank(const RankedPlace<Rank>& item) { return item.rank; }
  static int64_t index(const RankedPlace<Rank>& item) { return item.index; }
};

// Whether some of `count` elements, a multiple of 16 bytes, may come before the one at its place among
// `bounds`; a NaN says it may. For numbers, which no class of its own stands for.
template <typename T>
inline bool someMayPrecede(const T* elements, const T* bounds, int64_t count, bool descending) {
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {  // SSE2 does not compare these
    int64_t found = 0;
    for (int64_t i = 0; i < count; ++i)
      found += (descending ? elements[i] <= bounds[i] : elements[i] >= bounds[i]) ? 0 : 1;
    return found != 0;
  }
  typedef T Lanes __attribute__((vector_size(16)));  // what every machine compares at once
  constexpr int64_t kLanes = 16 / static_cast<int64_t>(sizeof(T));
  decltype(Lanes{} <= Lanes{}) after = Lanes{} <= Lanes{};
  for (int64_t i = 0; i < count; i += kLanes) {
    Lanes own, bound;
    memcpy(&own, elements + i, sizeof own);
    memcpy(&bound, bounds + i, sizeof bound);
    after &= descending ? own <= bound : own >= bound;
  }
  uint64_t words[2];
  memcpy(words, &after, sizeof words);
  return (words[0] & words[1]) != ~uint64_t{0};
}

// So many items are kept in order while elements come.
constexpr int64_t kFewInOrder = 32;

// Puts one into items in order, of which the last of `count` goes. In one word each takes its place without a
// branch: which one it is nobody foresees.
template <typename Item>
inline void insertInOrder(Item* items, int64_t count, Item item) {
  if constexpr (std::is_same_v<Item, PackedPlace>) {
    for (int64_t i = count - 1; i > 0; --i) {
      const uint64_t before = items[i - 1].word, later = before < item.word ? item.word : before,
                     here = items[i].word;
      items[i].word = later < here ? later : here;
    }
    items[0].word = item.word < items[0].word ? item.word : items[0].word;
  } else {
    items[count - 1] = item;
    for (int64_t i = count - 1; i > 0 && items[i] < items[i - 1]; --i) std::swap(items[i], items[i - 1]);
  }
}

// What RowOrder<T> of rows of `size` elements works with.
template <typename T, typename Visitor>
void visitItems(int64_t size, Visitor&& visit) {
  using Rank = typename RankOf<T>::Rank;
  if (sizeof(Rank) <= 4 && size <= int64_t{UINT32_MAX})
    visit.template operator()<PackedPlace>();
  else
    visit.template operator()<RankedPlace<Rank>>();
}

// Finds the places of the first elements of rows, in order. One of each task: it keeps its memory.
template <typename T, typename Item>
class RowOrder {
 public:
  using Rank = typename RankOf<T>::Rank;

  explicit RowOrder(bool descending) : flip_(descending ? static_cast<Rank>(~Rank{0}) : Rank{0}) {}

  // The first `count` of `size` elements from[i * stride]. Valid until the next call.
  const std::vector<Item>& first(const T* from, int64_t size, int64_t stride, int64_t count) {
    items_.clear();
    if (count == 0) return items_;
    if (count > size / 8) {
      items_.resize(static_cast<size_t>(size));
      for (int64_t i = 0; i < size; ++i)
        items_[static_cast<size_t>(i)] = ItemOf<Item>::make(rankAt(from[i * stride]), i);
      // Of a few hundred elements all are in order as soon as a part of them is.
      const bool sortsAll =
          count == size || (size >= kLeastDigits && size <= kFewDigits && count >= size / 2);
      if (!sortsAll) keepFirst(count);
      sort(sortsAll);
      items_.resize(static_cast<size_t>(count));
    } else {
      collect(from, size, stride, count);
      sort(false);
    }
    return items_;
  }

 private:
  // So many elements are sorted digit by digit; up to so many all of a row, though some are wanted alone.
  static constexpr int64_t kLeastDigits = 128, kFewDigits = 1024;

  Rank rankAt(T value) const { return static_cast<Rank>(RankOf<T>::of(value) ^ flip_); }

  void keepFirst(int64_t count) {
    if (count >= static_cast<int64_t>(items_.size())) return;
    std::nth_element(items_.begin(), items_.begin() + (count - 1), items_.end());
    items_.resize(static_cast<size_t>(count));
  }

  // Whether a block holds something that may come before `bound`; a NaN says it may.
  static constexpr int64_t kBlock = 16;
  bool mayPrecede(const T* block, T bound) const {
    if constexpr (std::is_class_v<T>) {
      const Rank limit = rankAt(bound);
      int64_t found = 0;
      for (int64_t i = 0; i < kBlock; ++i) found += rankAt(block[i]) < limit ? 1 : 0;
      return found != 0;
    } else {
      T bounds[kBlock];
      std::fill_n(bounds, kBlock, bound);
      return someMayPrecede(block, bounds, kBlock, flip_ != 0);
    }
  }

  // Keeps what comes before the last one that would be taken so far, passing by blocks that hold nothing of
  // that. Few are kept in order, so that the last one is always known; of many some more are gathered, and
  // thinned out now and then.
  void collect(const T* from, int64_t size, int64_t stride, int64_t count) {
    const bool keepsOrder = count <= kFewInOrder;
    const auto full = static_cast<size_t>(2 * count);
    if (keepsOrder) items_.assign(static_cast<size_t>(count), ItemOf<Item>::last());
    T last{}, copies[kBlock];  // the last one that would be taken, once there are enough
    Rank limit = 0;
    bool isLimited = false;
    for (int64_t begin = 0; begin < size && !(isLimited && limit == 0); begin += kBlock) {
      const int64_t here = std::min(kBlock, size - begin);
      const T* block = from + begin * stride;
      if (stride != 1) {
        for (int64_t i = 0; i < here; ++i) copies[i] = block[i * stride];
        block = copies;
      }
      if (isLimited && here == kBlock && !mayPrecede(block, last)) continue;
      for (int64_t i = 0; i < here; ++i) {
        const Rank rank = rankAt(block[i]);
        if (isLimited && rank >= limit) continue;
        if (keepsOrder)
          insertInOrder(items_.data(), std::min(count, begin + i + 1), ItemOf<Item>::make(rank, begin + i));
        else
          items_.push_back(ItemOf<Item>::make(rank, begin + i));
        if (keepsOrder ? begin + i + 1 < count : items_.size() < full) continue;
        keepFirst(count);
        limit = static_cast<Rank>(ItemOf<Item>::rank(items_.back()));
        last = from[ItemOf<Item>::index(items_.back()) * stride];
        isLimited = true;
      }
    }
    keepFirst(count);
  }

  // Few by comparison; many that stand in the order of their places digit by digit, the last first, leaving
  // out digits that are the same everywhere.
  void sort(bool isInOrderOfPlaces) {
    constexpr size_t kDigits = 256;
    if (!isInOrderOfPlaces || items_.size() < kLeastDigits) return std::sort(items_.begin(), items_.end());
    const auto digitOf = [](const Item& item, size_t digit) {
      return static_cast<size_t>(ItemOf<Item>::rank(item) >> 8 * digit & (kDigits - 1));
    };
    std::array<std::array<size_t, kDigits>, sizeof(Rank)> counts{};
    for (const Item& item : items_)
      for (size_t d = 0; d < sizeof(Rank); ++d) ++counts[d][digitOf(item, d)];
    other_.resize(items_.size());
    for (size_t d = 0; d < sizeof(Rank); ++d) {
      if (counts[d][digitOf(items_[0], d)] == items_.size()) continue;
      size_t next = 0;
      for (size_t& count : counts[d]) count = std::exchange(next, next + count);
      for (const Item& item : items_) other_[counts[d][digitOf(item, d)]++] = item;
      items_.swap(other_);
    }
  }

  const Rank flip_;
  std::vector<Item> items_, other_;
};

}  // namespace dyn::vm::kernels
