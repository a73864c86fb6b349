// The loops of a function's bytecode.
#pragma once

#include <cstdint>
#include <vector>

namespace dyn::vm {

// The instructions of a loop lie between where it jumps to and where it jumps from.
struct LoopRange {
  uint32_t begin = 0, end = 0;
  bool holds(uint32_t position) const { return begin <= position && position <= end; }
};
// Outer ones first where one begins inside of the other.
std::vector<LoopRange> loopsOf(const std::vector<int32_t>& code);

}  // namespace dyn::vm
