// Views of a run that is stepped through: breakpoints, and the place where it stands.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/engine/run/run_result.h"
#include "app/session/views/node_id.h"

namespace dyn {

struct BreakpointTable {
  struct Row {
    int number = 0;
    std::string what;  // as it was given
    std::string where;
    int64_t hits = 0;
    std::vector<uint32_t> lines;  // of the bytecode's text, ascending
  };
  std::vector<Row> rows;
  std::vector<std::string> watched;
};

// Where a run stands that is stepped through.
struct StopView {
  using Register = StoppedRegister;
  bool ended = false;
  std::string why;  // "breakpoint 1", "step", "seq changed from 3 to 4", "the run has ended"
  std::string function, place, instruction;
  uint32_t position = 0, depth = 0;
  uint32_t line = 0;      // of the bytecode's text
  NodeId node = kNoNode;  // of the placed graph
  std::vector<Register> registers;
  BreakpointTable breakpoints;
  std::shared_ptr<const struct RunResult> result;  // of one that has ended
  // Of the source around the place; number 0: of a file that has no lines.
  struct SourceLine {
    uint32_t number = 0;
    std::string text;
    bool sameKernel = false;  // the kernel at the place computes this line, too
    bool here = false;
  };
  std::vector<SourceLine> source;
  // operation: what has changed, by names; instruction: the instruction, and all registers that changed;
  // everything: all registers.
  enum class Detail : uint8_t { operation, instruction, everything };
  Detail detail = Detail::operation;
};

}  // namespace dyn
