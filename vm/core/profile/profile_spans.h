// What a trace tells beside the events themselves: which iterations of loops they belong to, and what the
// workers of a context's pool did meanwhile.
#pragma once

#include <cstdint>
#include <vector>

#include "vm/core/profile/profile.h"

namespace dyn::vm {

struct Program;

// An iteration of a loop of the bytecode: from its first event to its last. Loops lie in functions that ran
// to their end; a loop whose body records nothing has none.
struct IterationSpan {
  uint32_t function = 0, position = 0;  // of the loop: where it jumps back to
  int64_t number = 0;                   // from 1 each time the loop is entered
  uint64_t beginNs = 0, endNs = 0;
};
// Ascending by begin, an outer one before those inside of it.
std::vector<IterationSpan> iterationsOf(const std::vector<ProfileEvent>& events, const Program& program);

// The launch (kernel or builtin) that goes on at that time: an index into `events`, -1: none.
class LaunchFinder {
 public:
  explicit LaunchFinder(const std::vector<ProfileEvent>& events);
  int64_t at(uint64_t ns) const;

 private:
  const std::vector<ProfileEvent>& events_;
  std::vector<size_t> order_;  // launches by begin
};

}  // namespace dyn::vm
