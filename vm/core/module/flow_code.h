// FlowCode: the native code of a module's functions (dyn_flow.h), by function and position.
#pragma once

#include <cstdint>
#include <vector>

#include "vm/base/status.h"
#include "vm/include/abi/dyn_flow.h"
#include "vm/isa/program.h"

namespace dyn::vm {

class FlowCode {
 public:
  // Every function but @init must be there, made of this bytecode. `given` is borrowed.
  static Status create(const DynFlowProgram& given, const Program& program, FlowCode& code);
  static constexpr uint32_t kMostViews = 256;  // of a function
  bool present() const { return !functions_.empty(); }
  DynFlowCode find(uint32_t function, uint32_t position) const {
    const Range& range = functions_[function];
    uint32_t piece = range.end - 1;
    while (pieces_[piece].begin > position) --piece;  // a function is seldom more than one
    return pieces_[piece].code;
  }
  uint32_t viewCount(uint32_t function) const { return pieces_[functions_[function].begin].views; }

 private:
  struct Range {
    uint32_t begin = 0, end = 0;
  };
  const DynFlowPiece* pieces_ = nullptr;
  std::vector<Range> functions_;
};

}  // namespace dyn::vm
