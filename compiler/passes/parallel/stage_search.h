// A schedule of stages (inter-operator scheduling): which operations of a graph run at the same time.
//
// A stage is a set of operations that need nothing of one another but within its groups. A group is what
// hangs together in it, and runs one operation after the other. A stage ends before the next begins. The
// cheapest sequence of stages is found by dynamic programming over the sets of operations that have run
// (Ding et al., "IOS: Inter-Operator Scheduler for CNN Acceleration", MLSys 2021): a set is closed under what
// its operations need, so that there are few of them in graphs that are not wide.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dyn {

struct StageOp {
  int64_t steps = 1, pieces = 1;  // vm/shared/dyn_stage_cost.h
  std::vector<uint32_t> needs;    // operations before it
};

// Some of the operations, as a graph of their own; `which` is in an order in which they can run.
std::vector<StageOp> stageGraphOf(std::span<const StageOp> ops, std::span<const uint32_t> which);

struct FoundStage {
  std::vector<uint32_t> ops;      // ascending
  std::vector<int32_t> branches;  // of each of ops: its group
  int32_t branchCount = 1;        // 1: one after the other, on all threads
};

// What a search may look at. A group of more operations, or a stage of more groups, is not tried; beyond
// `mostStages` tries the search begins anew with groups and stages half as large, and at last gives up.
struct StageLimits {
  uint32_t mostInGroup = 8, mostGroups = 8;
  int64_t mostStages = 10'000;
};

struct StageSchedule {
  std::vector<FoundStage> stages;
  int64_t cost = 0, inTurn = 0;  // in elementary steps: of these stages, and of one operation after the other
  bool isWhole = true;           // false: the limits were reached, and it may not be the cheapest
};

// At most kMostStageOps operations, in an order in which they can run.
inline constexpr size_t kMostStageOps = 64;
StageSchedule searchStages(std::span<const StageOp> ops, int64_t threads, const StageLimits& limits = {});

// Of any number: more than the search takes are cut into parts, in their order or by how many operations they
// come behind in a row, and what hangs together apart from the rest is tried as one stage of long branches.
inline constexpr size_t kMostSearched = 24;
StageSchedule scheduleStages(std::span<const StageOp> ops, int64_t threads);

// The ranges of operations between those that all others come before or behind, and no edge leads past: each
// can be searched alone.
std::vector<std::pair<size_t, size_t>> stageRegions(std::span<const StageOp> ops);

}  // namespace dyn
