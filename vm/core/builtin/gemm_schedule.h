// Which schedule a product runs on: the one the program names, else the cheapest by cost, remembered for
// shapes that come again.
#pragma once

#include <array>

#include "vm/include/abi/dyn_kernel.h"
#include "vm/shared/dyn_contraction.h"

namespace dyn::vm::kernels {

using contraction::ProductSchedule;
using contraction::ProductShape;

// The micro-kernels' sizes and the caches of the CPU it runs on.
contraction::ProductMachine productMachine(int64_t maxRows, int64_t panelWidth);

// Of one context: its calls come one after the other.
class ScheduleCache {
 public:
  // Row of contraction::kProductSchedules.
  size_t find(const ProductShape& shape, int64_t maxRows, int64_t panelWidth) {
    Entry& entry = entries_[slotOf(shape)];
    if (entry.known && entry.shape == shape && entry.maxRows == maxRows) return entry.schedule;
    entry = {shape, maxRows, contraction::cheapestSchedule(shape, productMachine(maxRows, panelWidth)), true};
    return entry.schedule;
  }

 private:
  struct Entry {
    ProductShape shape;
    int64_t maxRows = 0;
    size_t schedule = 0;
    bool known = false;
  };
  static constexpr size_t kEntries = 64;
  static size_t slotOf(const ProductShape& shape) {
    const uint64_t mixed = (static_cast<uint64_t>(shape.rows) * 0x9e3779b97f4a7c15u) ^
                           (static_cast<uint64_t>(shape.columns) * 0xc2b2ae3d27d4eb4fu) ^
                           (static_cast<uint64_t>(shape.depth) * 0x165667b19e3779f9u);
    return static_cast<size_t>(mixed >> 40) % kEntries;
  }
  std::array<Entry, kEntries> entries_;
};

}  // namespace dyn::vm::kernels
