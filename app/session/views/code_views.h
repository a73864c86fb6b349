// Views of the program as text: one level of it, and the lines of two levels that belong together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/views/node_id.h"
#include "compiler/target/device_kind.h"

namespace dyn {

// source: what the model was read from, of a text module its file, of an ONNX file its nodes as text.
// deviceCode: of the target's device; its name is that of its row in devices.def ("ptx").
enum class IrLevel : uint8_t { source, graph, placed, loop, llvm, assembly, deviceCode, bytecode, target };
const char* toString(IrLevel level);
// As users write them, the last and others joined: "graph, placed, ... or target".
std::span<const std::string_view> levelNames();
std::string listOfLevels(std::string_view lastJoint = ", ");

struct IrLine {
  uint32_t line = 0;  // 1-based
  NodeId node = kNoNode;
};

// Where lines come from, so that a line of one level finds those of the others (level_links.h).
struct LineOrigin {
  uint32_t line = 0, lastLine = 0;  // 1-based
  std::vector<std::string> places;  // of operations
  // Of the compiled program; behind them its hand-written kernels in the order of its table, and at the end
  // the matrix kernels that some of these run on.
  std::vector<int> kernels;
  bool inKernel = false;  // a line of the kernel itself, not of what launches it
  uint32_t loopLine = 0;  // in the text of its kernel's loop IR; 0: of no statement
};

struct IrText {
  IrLevel level = IrLevel::graph;
  DeviceKind device = {};  // of the level deviceCode
  int step = -1;           // of the trace, for graph levels
  std::string title;       // "after fuse"
  std::string text;
  std::vector<IrLine> lines;                           // where operations start; graph levels only
  std::vector<LineOrigin> origins;                     // by line; where they were asked for, and then also:
  std::vector<std::vector<std::string>> kernelPlaces;  // by kernel: the operations that it is launched for
  std::string file;                                    // where it was written, or ""

  std::string_view levelName() const;
};

// A line of one level, and what belongs to it at the others.
struct LinkedLines {
  struct Line {
    uint32_t line = 0;
    std::string text;
  };
  struct Level {
    IrLevel level = IrLevel::graph;
    std::vector<Line> lines;
  };
  IrLevel level = IrLevel::graph;
  Line line;
  std::vector<Level> levels;
};

}  // namespace dyn
