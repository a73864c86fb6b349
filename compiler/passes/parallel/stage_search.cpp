#include "compiler/passes/parallel/stage_search.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "vm/shared/dyn_stage_cost.h"

namespace dyn {
namespace {

constexpr size_t kLeastHalved = 8;

using Set = uint64_t;  // of operations
Set only(uint32_t op) { return Set{1} << op; }

template <typename Visit>
void forEachIn(Set set, const Visit& visit) {
  for (; set != 0; set &= set - 1) visit(static_cast<uint32_t>(std::countr_zero(set)));
}

stage::Call callOf(const StageOp& op, int32_t branch) { return {op.steps, op.pieces, branch}; }

class StageSearch {
 public:
  StageSearch(std::span<const StageOp> ops, int64_t threads, const StageLimits& limits)
      : ops_(ops), threads_(threads), limits_(limits) {
    for (const StageOp& op : ops) {
      Set needs = 0;
      for (const uint32_t need : op.needs) needs |= only(need);
      needs_.push_back(needs);
    }
    all_ = ops.size() == kMostStageOps ? ~Set{0} : only(static_cast<uint32_t>(ops.size())) - 1;
  }

  // nullopt: there is more to try than the limits allow.
  std::optional<StageSchedule> run() {
    if (!solve(0)) return std::nullopt;
    StageSchedule schedule;
    schedule.cost = best_.at(0).cost;
    for (Set done = 0; done != all_;) {
      const Set stage = best_.at(done).stage;
      schedule.stages.push_back(describe(stage));
      done |= stage;
    }
    return schedule;
  }

 private:
  struct Best {
    int64_t cost = INT64_MAX;
    Set stage = 0;
  };

  // The cheapest way from the operations that have run to the end.
  bool solve(Set done) {
    if (done == all_ || best_.count(done)) return true;
    Best best;
    if (!extend(done, 0, 0, best)) return false;
    best_[done] = best;
    return true;
  }
  int64_t costFrom(Set done) const { return done == all_ ? 0 : best_.at(done).cost; }

  // Every stage that can follow is made once: an operation is taken, or left out with all that need it.
  bool extend(Set done, Set stage, Set left, Best& best) {
    Set ready = 0;
    forEachIn(all_ & ~(done | stage | left), [&](uint32_t op) {
      if ((needs_[op] & ~(done | stage)) == 0) ready |= only(op);
    });
    if (ready == 0) return stage == 0 || consider(done, stage, best);
    const auto op = static_cast<uint32_t>(std::countr_zero(ready));
    const Set with = stage | only(op);
    if (fits(with) && !extend(done, with, left, best)) return false;
    return extend(done, stage, left | only(op), best);
  }

  bool consider(Set done, Set stage, Best& best) {
    if (++tried_ > limits_.mostStages) return false;
    const int64_t here = costOf(stage);
    if (here >= best.cost) return true;
    if (!solve(done | stage)) return false;
    const int64_t cost = here + costFrom(done | stage);
    if (cost < best.cost) best = {cost, stage};
    return true;
  }

  // The groups of a stage, as sets.
  std::vector<Set> groupsOf(Set stage) const {
    std::vector<Set> groups;
    forEachIn(stage, [&](uint32_t op) {
      Set joined = only(op);
      std::erase_if(groups, [&](Set group) {
        if ((needs_[op] & group) == 0) return false;
        joined |= group;
        return true;
      });
      groups.push_back(joined);
    });
    return groups;
  }
  // A single group runs in turn anyway: it may be as large as it likes.
  bool fits(Set stage) const {
    const std::vector<Set> groups = groupsOf(stage);
    return groups.size() == 1 ||
           (groups.size() <= limits_.mostGroups && std::all_of(groups.begin(), groups.end(), [&](Set group) {
              return static_cast<uint32_t>(std::popcount(group)) <= limits_.mostInGroup;
            }));
  }

  struct Calls {
    std::vector<uint32_t> ops;
    std::vector<stage::Call> costs;
    int32_t branchCount = 0;
  };
  Calls callsOf(Set stage) const {
    const std::vector<Set> groups = groupsOf(stage);
    Calls calls;
    calls.branchCount = static_cast<int32_t>(groups.size());
    forEachIn(stage, [&](uint32_t op) {
      calls.ops.push_back(op);
      const auto group =
          std::find_if(groups.begin(), groups.end(), [&](Set g) { return (g & only(op)) != 0; });
      calls.costs.push_back(callOf(ops_[op], static_cast<int32_t>(group - groups.begin())));
    });
    return calls;
  }
  int64_t costOf(Set stage) {
    const auto known = costs_.find(stage);
    if (known != costs_.end()) return known->second;
    const Calls calls = callsOf(stage);
    return costs_[stage] = stage::costOf(calls.costs, calls.branchCount, threads_).least();
  }
  FoundStage describe(Set stage) const {
    Calls calls = callsOf(stage);
    FoundStage found{std::move(calls.ops), std::vector<int32_t>(calls.costs.size(), 0), 1};
    if (!stage::costOf(calls.costs, calls.branchCount, threads_).wantsLanes()) return found;
    for (size_t i = 0; i < calls.costs.size(); ++i) found.branches[i] = calls.costs[i].branch;
    found.branchCount = calls.branchCount;
    return found;
  }

  std::span<const StageOp> ops_;
  const int64_t threads_;
  const StageLimits limits_;
  Set all_ = 0;
  std::vector<Set> needs_;
  std::unordered_map<Set, Best> best_;  // by what has run
  std::unordered_map<Set, int64_t> costs_;
  int64_t tried_ = 0;
};

int64_t inTurn(std::span<const StageOp> ops, int64_t threads) {
  int64_t steps = 0;
  for (const StageOp& op : ops) steps += stage::stepsOnThreads(callOf(op, 0), threads);
  return steps;
}

}  // namespace

StageSchedule searchStages(std::span<const StageOp> ops, int64_t threads, const StageLimits& limits) {
  StageLimits tried = limits;
  bool isWhole = true;
  for (;;) {
    if (std::optional<StageSchedule> found = StageSearch(ops, threads, tried).run()) {
      found->inTurn = inTurn(ops, threads);
      found->isWhole = isWhole;
      return *found;
    }
    isWhole = false;
    if (tried.mostInGroup == 1 && tried.mostGroups <= 2) break;
    tried.mostInGroup = std::max(1U, tried.mostInGroup / 2);
    tried.mostGroups = std::max(2U, tried.mostGroups / 2);
  }
  StageSchedule none;
  none.isWhole = false;
  none.cost = none.inTurn = inTurn(ops, threads);
  FoundStage stage;
  for (uint32_t op = 0; op < ops.size(); ++op) stage.ops.push_back(op);
  stage.branches.assign(ops.size(), 0);
  none.stages.push_back(std::move(stage));
  return none;
}

std::vector<StageOp> stageGraphOf(std::span<const StageOp> ops, std::span<const uint32_t> which) {
  std::unordered_map<uint32_t, uint32_t> at;
  std::vector<StageOp> graph;
  for (uint32_t i = 0; i < which.size(); ++i) {
    StageOp op = ops[which[i]];
    std::erase_if(op.needs, [&](uint32_t need) { return !at.count(need); });
    for (uint32_t& need : op.needs) need = at[need];
    graph.push_back(std::move(op));
    at[which[i]] = i;
  }
  return graph;
}

namespace {

// How many each comes behind in a row.
std::vector<uint32_t> stageLevelsOf(std::span<const StageOp> ops) {
  std::vector<uint32_t> levels(ops.size(), 0);
  for (uint32_t i = 0; i < ops.size(); ++i)
    for (const uint32_t need : ops[i].needs) levels[i] = std::max(levels[i], levels[need] + 1);
  return levels;
}

void append(StageSchedule& whole, StageSchedule part) {
  std::move(part.stages.begin(), part.stages.end(), std::back_inserter(whole.stages));
  whole.cost += part.cost;
  whole.isWhole = whole.isWhole && part.isWhole;
}

// What is too wide for a whole search is searched in halves as well.
StageSchedule ofPart(std::span<const StageOp> ops, std::span<const uint32_t> part, int64_t threads) {
  StageSchedule found = searchStages(stageGraphOf(ops, part), threads);
  for (FoundStage& stage : found.stages)
    for (uint32_t& op : stage.ops) op = part[op];
  if (found.isWhole || part.size() <= kLeastHalved) return found;
  StageSchedule halves = ofPart(ops, part.first(part.size() / 2), threads);
  append(halves, ofPart(ops, part.subspan(part.size() / 2), threads));
  if (halves.cost >= found.cost) return found;
  halves.isWhole = false;
  return halves;
}

StageSchedule byParts(std::span<const StageOp> ops, std::span<const uint32_t> order, int64_t threads) {
  StageSchedule whole;
  for (size_t begin = 0; begin < order.size(); begin += kMostSearched) {
    const auto part = order.subspan(begin, std::min(kMostSearched, order.size() - begin));
    append(whole, ofPart(ops, part, threads));
  }
  return whole;
}

// One stage: a branch is what hangs together.
StageSchedule byComponents(std::span<const StageOp> ops, int64_t threads) {
  std::vector<uint32_t> root(ops.size());
  const auto rootOf = [&](uint32_t op) {
    while (root[op] != op) op = root[op] = root[root[op]];
    return op;
  };
  for (uint32_t i = 0; i < ops.size(); ++i) {
    root[i] = i;
    for (const uint32_t need : ops[i].needs) root[rootOf(need)] = i;
  }
  StageSchedule whole;
  FoundStage stage;
  std::unordered_map<uint32_t, int32_t> names;
  std::vector<stage::Call> calls;
  for (uint32_t i = 0; i < ops.size(); ++i) {
    const int32_t branch = names.try_emplace(rootOf(i), static_cast<int32_t>(names.size())).first->second;
    stage.ops.push_back(i);
    stage.branches.push_back(branch);
    calls.push_back(callOf(ops[i], branch));
  }
  stage.branchCount = static_cast<int32_t>(names.size());
  whole.cost = stage::costOf(calls, stage.branchCount, threads).least();
  whole.stages.push_back(std::move(stage));
  return whole;
}

}  // namespace

StageSchedule scheduleStages(std::span<const StageOp> ops, int64_t threads) {
  std::vector<uint32_t> order(ops.size());
  std::iota(order.begin(), order.end(), 0U);
  StageSchedule found = byParts(ops, order, threads);
  if (ops.size() > kMostSearched) {
    const std::vector<uint32_t> levels = stageLevelsOf(ops);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return levels[a] < levels[b]; });
    if (StageSchedule other = byParts(ops, order, threads); other.cost < found.cost) found = std::move(other);
  }
  StageSchedule apart = byComponents(ops, threads);
  if (apart.stages[0].branchCount > 1 && apart.cost < found.cost) {
    apart.isWhole = found.isWhole;
    found = std::move(apart);
  }
  found.inTurn = inTurn(ops, threads);
  return found;
}

// Linear: an operation is such a bound if no edge leads past it, all before it are needed by somebody, and
// all behind it need somebody.
std::vector<std::pair<size_t, size_t>> stageRegions(std::span<const StageOp> ops) {
  const size_t count = ops.size();
  std::vector<size_t> lastUser(count, 0), sourcesFrom(count + 1, 0);  // sources: from there on
  for (size_t i = 0; i < count; ++i)
    for (const uint32_t need : ops[i].needs) lastUser[need] = i;
  for (size_t i = count; i-- > 0;) sourcesFrom[i] = sourcesFrom[i + 1] + (ops[i].needs.empty() ? 1 : 0);
  std::vector<std::pair<size_t, size_t>> regions;
  size_t begin = 0, reach = 0;  // reach: the last user of all before
  bool isEnd = false;           // is there one before that nobody needs?
  for (size_t i = 0; i < count; ++i) {
    if (!isEnd && reach <= i && sourcesFrom[i + 1] == 0) {
      if (begin < i) regions.emplace_back(begin, i);
      regions.emplace_back(i, i + 1);
      begin = i + 1;
    }
    reach = std::max(reach, lastUser[i]);
    isEnd = isEnd || lastUser[i] == 0;
  }
  if (begin < count) regions.emplace_back(begin, count);
  return regions;
}

}  // namespace dyn
