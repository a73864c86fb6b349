// NodeLevels: of a profiled run, its loops over levels of nodes (builtins `levels` and `node_tables`): how
// many nodes each level has, and how long it took.
//
//   tables: levels made 11, 8, 6, ... nodes      main@500
//   events: main@706 main@741 ... main@1032      the first iteration of the loop behind it: level 1
//           main@706 ...                         position falls: level 2
//
// Apart from the profile's events, which end at a million: a chain of 300,000 nodes has as many levels. Times
// are those of a loop behind the tables, in the same call, that has as many iterations as they have levels;
// where no loop has, they are not known.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vm/core/profile/code_loops.h"
#include "vm/core/profile/level_weights.h"

namespace dyn::vm {

class Module;
struct Object;
struct Program;

class NodeLevels {
 public:
  // So many loops, and levels of all of them, are kept; of others nothing is.
  static constexpr size_t kMaximumLoops = 1000, kMaximumLevels = 10'000'000;

  struct Iteration {
    uint64_t beginNs = 0, endNs = 0, bytes = 0;  // bytes: of all memory that it asked for
  };
  struct Loop {
    uint32_t function = 0, position = 0;  // of what made the tables
    int64_t leavesCount = -1;             // that stand below the first level; -1: not known
    std::vector<int64_t> nodes;           // of each level, from the leaves up
    std::vector<Iteration> iterations;    // as many as levels, or none
    LevelWeights::Sum weights;            // that each iteration reads; known where iterations are
    std::string oneByOne;  // why each iteration of the model's loop is a level; "": they are not
  };

  void begin(const Program& program);
  bool makesTables(int32_t builtin) const {
    return builtin >= 0 && (builtin == levels_ || builtin == tables_);
  }
  struct TablesMade {
    size_t depth = 0;  // of the call that it is in
    uint32_t function = 0, position = 0;
    int32_t builtin = -1;
  };
  void addTables(const TablesMade& made, std::span<Object* const> results, std::span<const int32_t> numbers,
                 const std::string& version);
  // Any instruction that is an event: from when to when, and the memory that it asked for.
  void addEvent(size_t depth, uint32_t function, uint32_t position, const Iteration& event);
  // Behind it, where isWalking(): what a call or launch wrote and read (LevelWeights::add).
  void addOperands(std::span<Object* const> written, std::span<Object* const> read, size_t weightsBegin);
  bool isWalking() const { return !calls_.empty() && calls_.back().walk.has_value(); }
  void leaveCall(size_t depth);  // it returns, or ends by an error

  const std::vector<Loop>& loops() const { return loops_; }
  // A list: [{"function", "place", "leaves_count", "one_by_one", "nodes": [...], "begin_ns",
  // "times_ns": [...], "bytes": [...], "weights_bytes", "weights_count"}]
  std::string json(const Module& module) const;

 private:
  // The iterations of one loop of the bytecode so far.
  struct Walk {
    LoopRange range;
    std::vector<LoopRange> inner;
    std::vector<Iteration> iterations;
    LevelWeights weights;
    uint32_t last = 0;
  };
  // A call with tables that wait for their loop: indices of `loops_`.
  struct Call {
    size_t depth = 0;
    std::vector<size_t> waiting;
    std::optional<Walk> walk;
  };
  const std::vector<LoopRange>& rangesOf(uint32_t function);
  void startWalk(Call& call, uint32_t function, uint32_t position);
  void endWalk(Call& call);

  const Program* program_ = nullptr;
  int32_t levels_ = -1, tables_ = -1;
  std::map<uint32_t, std::vector<LoopRange>> ranges_;  // by function
  std::vector<Loop> loops_;
  std::vector<Call> calls_;  // the deepest last
  size_t levelsCount_ = 0;
};

}  // namespace dyn::vm
