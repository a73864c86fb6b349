// Views of memory: the plan of a program's buffers, and the largest sizes within a limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/latency/latency_formula.h"
#include "app/session/views/node_id.h"

namespace dyn {

struct PlanBuffer {
  std::string name;  // of the value
  std::string function;
  NodeId node = kNoNode;
  std::string dtype;
  std::vector<std::string> shape;
  bool pooled = false;        // not in the arena: its size is known only when it is made
  std::string offset, bytes;  // expressions; offset "" when pooled
  std::optional<int64_t> offsetBytes, sizeBytes;
  int slot = -1;                   // buffers of one offset share a slot
  int begin = 0, end = 0;          // first and last operation, by position in the function
  std::vector<std::string> views;  // values that are seen in its memory without a copy
};

struct PlanArena {
  std::string function;
  std::string bytes;
  std::optional<int64_t> sizeBytes;
  int slotsCount = 0, stepsCount = 0;
};

struct PlanView {
  DimValues dims;  // what it was evaluated for
  std::vector<PlanArena> arenas;
  std::vector<PlanBuffer> buffers;
  std::string peak;                           // expression: inputs aside, arena and planned buffers
  std::optional<int64_t> predictedPeakBytes;  // nullopt where value-dependent or dims are not given
  int64_t constantsBytes = 0;
  std::string whyNoPeak;  // with dims, but without a predicted peak
  int peakStep = -1;      // of @main: the operation at which most lives, with dims
  int64_t peakStepBytes = 0;
  std::vector<size_t> peakBuffers;  // that live then, largest first: indices of `buffers`
  int64_t copiesCount = 0;          // made only because a reader takes no strides; `kernels` names them
  std::string copied;               // their bytes, an expression
  std::optional<int64_t> copiedBytes;
};

// The largest value of a dim, the others as given or usual, for which a run stays within the limit.
struct LimitRow {
  std::string symbol;
  std::optional<int64_t> largest;  // nullopt: no size does
  std::optional<int64_t> peakBytes;
  std::optional<int64_t> timeNs;  // of a limit of time: the upper end of the interval
  DimValues others;
  std::string end;  // why not more: "seq = 513 would take 1048832 bytes"
};

struct LimitView {
  int64_t limitBytes = 0;  // 0: the limit is one of time
  int64_t limitNs = 0;
  std::string formula;  // of a limit of time: what it was told by
  LatencySource source = LatencySource::runs;
  std::string outside;  // "batch = 8 is above 4, the largest measured": then the times are guesses
  DimValues dims;       // as given
  std::vector<LimitRow> rows;
};

}  // namespace dyn
