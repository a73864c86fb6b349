// Native code of a host program under the VM (dyn_flow.h): the functions it calls, over the interpreter's
// operations. The code and the loop over bytecode share frames, registers and every operation, so that a run
// gives the same bits, errors and memory either way.
#pragma once

#include <vector>

#include "vm/base/status.h"
#include "vm/include/dyn_flow.h"
#include "vm/isa/program.h"

namespace dyn::vm {

class Interpreter;

// What code is given: the head that it knows, and whose it is.
struct FlowHead : DynFlow {
  Interpreter* interpreter = nullptr;
};

const DynFlowTable& flowTable();

// The code of a module, by function and position.
class FlowCode {
 public:
  // Every function but @init must be there, made of this bytecode. `given` is borrowed.
  static Status create(const DynFlowProgram& given, const Program& program, FlowCode& code);
  bool present() const { return !functions_.empty(); }
  DynFlowCode find(uint32_t function, uint32_t position) const {
    const Range& range = functions_[function];
    uint32_t piece = range.end - 1;
    while (pieces_[piece].begin > position) --piece;  // a function is seldom more than one
    return pieces_[piece].code;
  }

 private:
  struct Range {
    uint32_t begin = 0, end = 0;
  };
  const DynFlowPiece* pieces_ = nullptr;
  std::vector<Range> functions_;
};

}  // namespace dyn::vm
