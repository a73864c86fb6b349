// KeyTable: the place of a key among the distinct keys of a table, made once for a program's table and kept
// by the context.
//
// Whole numbers that lie close together have their places in an array; others, and the bits of real numbers,
// in a table of open addresses that is half empty. The first of equal keys wins; all NaN are equal, and so
// are 0 and -0.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "vm/core/builtin/plan_cache.h"

namespace dyn::vm::kernels {

template <typename Key>
class KeyTable : public CachedPlan {
 public:
  // `keyAt(k)` for k < count; place(x) is count where no key equals x.
  template <typename KeyAt>
  KeyTable(size_t count, const KeyAt& keyAt) : count_(static_cast<uint32_t>(count)) {
    if constexpr (std::is_integral_v<Key>) {
      if (makeDense(count, keyAt)) return;
    }
    slots_.assign(std::bit_ceil(2 * count + 2), Slot{0, count_});
    shift_ = 64 - std::countr_zero(slots_.size());
    for (size_t k = count; k-- > 0;) {
      Slot& slot = slots_[slotOf(bitsOf(keyAt(k)))];
      slot = {bitsOf(keyAt(k)), static_cast<uint32_t>(k)};
    }
  }

  uint32_t place(Key key) const {
    if constexpr (std::is_integral_v<Key>) {
      if (!dense_.empty()) {
        const uint64_t at = static_cast<uint64_t>(key) - least_;
        return at < dense_.size() ? dense_[at] : count_;
      }
    }
    return slots_[slotOf(bitsOf(key))].place;
  }
  size_t bytes() const { return dense_.size() * sizeof(uint32_t) + slots_.size() * sizeof(Slot); }

 private:
  static constexpr uint64_t kSpread = 4;  // elements of an array for each key, at most
  struct Slot {
    uint64_t bits = 0;
    uint32_t place = 0;  // count_: empty
  };

  static uint64_t bitsOf(Key key) {
    if constexpr (std::is_floating_point_v<Key>) {
      const double value = key;
      if (std::isnan(value)) return std::bit_cast<uint64_t>(std::numeric_limits<double>::quiet_NaN());
      return std::bit_cast<uint64_t>(value == 0 ? 0.0 : value);
    } else {
      return static_cast<uint64_t>(key);
    }
  }

  template <typename KeyAt>
  bool makeDense(size_t count, const KeyAt& keyAt) {
    if (count == 0) return false;
    Key low = keyAt(0), high = low;
    for (size_t k = 1; k < count; ++k) {
      low = std::min(low, keyAt(k));
      high = std::max(high, keyAt(k));
    }
    const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    if (span >= kSpread * count) return false;
    least_ = static_cast<uint64_t>(low);
    dense_.assign(span + 1, count_);
    for (size_t k = count; k-- > 0;)
      dense_[static_cast<uint64_t>(keyAt(k)) - least_] = static_cast<uint32_t>(k);
    return true;
  }

  // The slot that holds these bits, or the empty one where they belong.
  size_t slotOf(uint64_t bits) const {
    // The high bits of a product with the golden ratio depend on all bits of the key.
    size_t at = static_cast<size_t>((bits * 0x9e3779b97f4a7c15u) >> shift_);
    while (slots_[at].place != count_ && slots_[at].bits != bits) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  uint32_t count_;
  uint64_t least_ = 0;
  std::vector<uint32_t> dense_;
  std::vector<Slot> slots_;
  int shift_ = 0;
};

}  // namespace dyn::vm::kernels
