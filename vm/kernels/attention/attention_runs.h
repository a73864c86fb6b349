// Runs of positions that attention stays within, and the order in which threads take them.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dyn::vm::kernels {

struct AttentionRun {
  int64_t begin, length;  // of queries
  int64_t firstKey, keys;
  int64_t number;
  int64_t scores() const { return length * keys; }
};

// Runs with the most scores first: a thread that is done takes the next, so that what is left at the end is
// short. Those of as many stay in their order.
inline void heaviestFirst(AttentionRun* runs, int64_t count) {
  std::sort(runs, runs + count, [](const AttentionRun& a, const AttentionRun& b) {
    if (a.scores() != b.scores()) return a.scores() > b.scores();
    return a.begin != b.begin ? a.begin < b.begin : a.number < b.number;
  });
}

}  // namespace dyn::vm::kernels
