/* What a stage costs: calls of several branches, on lanes at the same time or one after the other. For
 * compiler and runtime alike (C++20, header only): the pass `stages` searches with it for sample sizes, the
 * runtime chooses with it for the sizes of a run. Speed alone depends on it.
 *
 * Unit: elementary steps, about multiply-adds of a core. */
#ifndef DYN_STAGE_COST_H
#define DYN_STAGE_COST_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace dyn::stage {

// Below this a task of its own costs more to start than it saves.
inline constexpr int64_t kStepsPerTask = int64_t{1} << 15;
// What it takes to start tasks on other threads and to wait for them: once, and for each task.
inline constexpr int64_t kForkSteps = 8'000, kForkStepsPerTask = 2'500;
// What every task of a call does again, or one does for all (packing, tables, the last tile), of the call.
inline constexpr double kRepeatedShare = 0.06;
// Lanes that gain less are not worth their caches.
inline constexpr int64_t kLeastGainPercent = 3;

// More steps or pieces than that count as so many, so that those of a stage add up to a number. Behind so
// many calls a stage ends by itself.
inline constexpr int64_t kMostSteps = int64_t{1} << 48;
inline constexpr size_t kMostCalls = 4096;

// A call: what it computes, and into how many pieces it can be cut. Numbers of a program from a file are any.
struct Call {
  int64_t steps = 1, pieces = 1;
  int32_t branch = 0;

  Call() = default;
  Call(int64_t anySteps, int64_t anyPieces, int32_t ofBranch)
      : steps(std::clamp<int64_t>(anySteps, 0, kMostSteps)),
        pieces(std::clamp<int64_t>(anyPieces, 1, kMostSteps)),
        branch(ofBranch) {}
};

inline int64_t forkSteps(int64_t tasks) { return kForkSteps + kForkStepsPerTask * tasks; }

// One call on so many threads: as long as the task with most pieces.
inline int64_t stepsOnThreads(const Call& call, int64_t threads) {
  const int64_t pieces = call.pieces;
  const int64_t tasks = std::max<int64_t>(std::min({call.steps / kStepsPerTask, pieces, threads}), 1);
  if (tasks == 1) return call.steps;
  const int64_t most = (pieces + tasks - 1) / tasks;
  const double share = static_cast<double>(most) / static_cast<double>(pieces);
  return static_cast<int64_t>(static_cast<double>(call.steps) *
                              (kRepeatedShare + (1 - kRepeatedShare) * share)) +
         forkSteps(tasks);
}

struct Cost {
  int64_t inTurn = 0, onLanes = 0;
  std::vector<int32_t> laneOf;    // by branch
  std::vector<uint32_t> threads;  // by lane

  bool wantsLanes() const {
    return threads.size() > 1 && inTurn - onLanes > inTurn / 100 * kLeastGainPercent;
  }
  // An estimate: where it is not far from that, trying both ways decides.
  bool mayGain() const { return threads.size() > 1 && onLanes < inTurn + inTurn / 4; }
  int64_t least() const { return wantsLanes() ? onLanes : inTurn; }
};

// Calls in the order of the program. Branches are dealt out to at most as many lanes as there are threads,
// the longest first, each to the lane that has least. A lane has a thread; each one more goes to the lane
// that takes longest.
inline Cost costOf(std::span<const Call> calls, int32_t branchCount, int64_t threads) {
  Cost cost;
  std::vector<int64_t> whole(static_cast<size_t>(branchCount), 0);
  for (const Call& call : calls) {
    cost.inTurn += stepsOnThreads(call, threads);
    whole[static_cast<size_t>(call.branch)] += call.steps;
  }
  const auto used = std::count_if(whole.begin(), whole.end(), [](int64_t branch) { return branch > 0; });
  const auto lanes = static_cast<size_t>(std::clamp<int64_t>(used, 1, threads));
  std::vector<int32_t> order(static_cast<size_t>(branchCount));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return whole[static_cast<size_t>(a)] > whole[static_cast<size_t>(b)];
  });
  std::vector<int64_t> dealt(lanes, 0);
  cost.laneOf.assign(static_cast<size_t>(branchCount), 0);
  for (const int32_t branch : order) {
    const auto least = std::min_element(dealt.begin(), dealt.end());
    cost.laneOf[static_cast<size_t>(branch)] = static_cast<int32_t>(least - dealt.begin());
    *least += whole[static_cast<size_t>(branch)];
  }
  cost.threads.assign(lanes, 1);
  std::vector<int64_t> takes(lanes, 0);
  const auto measure = [&](size_t lane) {
    takes[lane] = 0;
    for (const Call& call : calls)
      if (static_cast<size_t>(cost.laneOf[static_cast<size_t>(call.branch)]) == lane)
        takes[lane] += stepsOnThreads(call, cost.threads[lane]);
  };
  for (size_t lane = 0; lane < lanes; ++lane) measure(lane);
  for (int64_t left = threads - static_cast<int64_t>(lanes); left > 0; --left) {
    const auto longest = static_cast<size_t>(std::max_element(takes.begin(), takes.end()) - takes.begin());
    ++cost.threads[longest];
    measure(longest);
  }
  cost.onLanes = *std::max_element(takes.begin(), takes.end()) + forkSteps(static_cast<int64_t>(lanes));
  return cost;
}

}  // namespace dyn::stage

#endif
