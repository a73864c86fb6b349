// The first few elements of columns side by side, in order: a row of them is compared at once with what each
// column would take last.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "vm/kernels/select/ranks.h"

namespace dyn::vm::kernels {

// Finds the places of the first elements of kColumns columns, as RowOrder does of a row.
template <typename T, typename Item>
class ColumnOrder {
 public:
  static constexpr int64_t kColumns = sizeof(T) >= 8 ? 8 : 16;

  // From so few elements on nothing is gained over rows alone.
  static bool takes(int64_t size, int64_t inner, int64_t count) {
    return inner >= kColumns && count >= 1 && count <= kFewInOrder && size >= 8 * count;
  }
  ColumnOrder(int64_t count, bool descending)
      : count_(count),
        flip_(descending ? static_cast<Rank>(~Rank{0}) : Rank{0}),
        items_(static_cast<size_t>(count * kColumns)) {}

  // Of the columns from[i * stride + column], `size` elements each, at least `count`.
  void find(const T* from, int64_t size, int64_t stride) {
    std::fill(items_.begin(), items_.end(), ItemOf<Item>::last());
    for (int64_t i = 0; i < count_; ++i)
      for (int64_t column = 0; column < kColumns; ++column) put(from + i * stride, i, column);
    for (int64_t column = 0; column < kColumns; ++column) limit(from, stride, column);
    for (int64_t i = count_; i < size; ++i) {
      const T* row = from + i * stride;
      if (!mayPrecede(row)) continue;
      for (int64_t column = 0; column < kColumns; ++column) {
        if (rankAt(row[column]) >= limits_[column]) continue;
        put(row, i, column);
        limit(from, stride, column);
      }
    }
  }
  // The place that comes in order as number k of the column.
  int64_t place(int64_t column, int64_t k) const {
    return ItemOf<Item>::index(items_[static_cast<size_t>(column * count_ + k)]);
  }

 private:
  using Rank = typename RankOf<T>::Rank;

  Rank rankAt(T value) const { return static_cast<Rank>(RankOf<T>::of(value) ^ flip_); }
  void put(const T* row, int64_t i, int64_t column) {
    insertInOrder(items_.data() + column * count_, std::min(count_, i + 1),
                  ItemOf<Item>::make(rankAt(row[column]), i));
  }
  void limit(const T* from, int64_t stride, int64_t column) {
    const Item& item = items_[static_cast<size_t>((column + 1) * count_ - 1)];
    limits_[column] = static_cast<Rank>(ItemOf<Item>::rank(item));
    bounds_[column] = from[ItemOf<Item>::index(item) * stride + column];
  }
  // As RowOrder's: whether some element may come before the last one of its column.
  bool mayPrecede(const T* row) const {
    if constexpr (std::is_class_v<T>) {
      int64_t found = 0;
      for (int64_t k = 0; k < kColumns; ++k) found += rankAt(row[k]) < limits_[k] ? 1 : 0;
      return found != 0;
    } else {
      return someMayPrecede(row, bounds_, kColumns, flip_ != 0);
    }
  }

  const int64_t count_;
  const Rank flip_;
  std::vector<Item> items_;  // of each column in order
  T bounds_[kColumns];       // of each the last one, as an element and as a rank
  Rank limits_[kColumns];
};

}  // namespace dyn::vm::kernels
