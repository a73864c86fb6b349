// The search of stages, against all schedules there are.
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "compiler/passes/parallel/stage_search.h"
#include "vm/shared/dyn_stage_cost.h"

namespace dyn {
namespace {

int64_t stageCostOf(std::span<const StageOp> ops, uint32_t stage, int64_t threads) {
  // Groups: what hangs together.
  std::vector<int32_t> group(ops.size(), -1);
  int32_t groups = 0;
  for (uint32_t op = 0; op < ops.size(); ++op) {
    if ((stage >> op & 1) == 0) continue;
    group[op] = groups++;
    for (const uint32_t need : ops[op].needs)
      if ((stage >> need & 1) != 0)
        for (uint32_t other = 0; other < op; ++other)
          if (group[other] == group[need] && group[other] >= 0 && other != need) group[other] = group[op];
    for (const uint32_t need : ops[op].needs)
      if ((stage >> need & 1) != 0) group[need] = group[op];
  }
  std::vector<int32_t> names;
  std::vector<stage::Call> calls;
  for (uint32_t op = 0; op < ops.size(); ++op) {
    if ((stage >> op & 1) == 0) continue;
    auto name = std::find(names.begin(), names.end(), group[op]);
    if (name == names.end()) name = names.insert(names.end(), group[op]);
    calls.push_back({ops[op].steps, ops[op].pieces, static_cast<int32_t>(name - names.begin())});
  }
  return stage::costOf(calls, static_cast<int32_t>(names.size()), threads).least();
}

// All sequences of stages.
int64_t bruteForce(std::span<const StageOp> ops, uint32_t done, int64_t threads) {
  const uint32_t all = (1U << ops.size()) - 1;
  if (done == all) return 0;
  int64_t best = INT64_MAX;
  for (uint32_t stage = 1; stage <= all; ++stage) {
    if ((stage & done) != 0) continue;
    bool closed = true;
    for (uint32_t op = 0; op < ops.size(); ++op)
      if ((stage >> op & 1) != 0)
        for (const uint32_t need : ops[op].needs) closed = closed && ((done | stage) >> need & 1) != 0;
    if (!closed) continue;
    best = std::min(best, stageCostOf(ops, stage, threads) + bruteForce(ops, done | stage, threads));
  }
  return best;
}

std::vector<StageOp> randomGraph(size_t count, std::mt19937& random) {
  std::vector<StageOp> ops(count);
  for (uint32_t i = 0; i < count; ++i) {
    ops[i].steps = 1 + static_cast<int64_t>(random() % 4'000'000);
    ops[i].pieces = 1 + static_cast<int64_t>(random() % 40);
    for (uint32_t need = 0; need < i; ++need)
      if (random() % 4 == 0) ops[i].needs.push_back(need);
  }
  return ops;
}

// A schedule is one: each operation once, after what it needs, and groups need nothing of one another.
void expectSound(std::span<const StageOp> ops, const StageSchedule& schedule, int64_t threads) {
  std::vector<int> at(ops.size(), -1), branch(ops.size(), -1);
  int64_t cost = 0;
  for (size_t s = 0; s < schedule.stages.size(); ++s) {
    const FoundStage& stage = schedule.stages[s];
    std::vector<stage::Call> calls;
    for (size_t i = 0; i < stage.ops.size(); ++i) {
      EXPECT_EQ(at[stage.ops[i]], -1);
      at[stage.ops[i]] = static_cast<int>(s);
      branch[stage.ops[i]] = stage.branches[i];
      calls.push_back({ops[stage.ops[i]].steps, ops[stage.ops[i]].pieces, stage.branches[i]});
    }
    cost += stage::costOf(calls, stage.branchCount, threads).least();
  }
  for (size_t i = 0; i < ops.size(); ++i) {
    ASSERT_GE(at[i], 0);
    for (const uint32_t need : ops[i].needs) {
      EXPECT_LE(at[need], at[i]);
      if (at[need] == at[i] && schedule.stages[static_cast<size_t>(at[i])].branchCount > 1) {
        EXPECT_EQ(branch[need], branch[i]);
      }
    }
  }
  EXPECT_EQ(cost, schedule.cost);
}

TEST(StageSearch, I_a_FindsWhatAllSchedulesHaveBest) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const std::vector<StageOp> ops = randomGraph(1 + random() % 7, random);
    const int64_t threads = int64_t{2} << (random() % 4);
    const StageSchedule found = searchStages(ops, threads);
    expectSound(ops, found, threads);
    EXPECT_TRUE(found.isWhole);
    EXPECT_EQ(found.cost, bruteForce(ops, 0, threads)) << round;
    EXPECT_LE(found.cost, found.inTurn);
  }
}

// A block as of Inception: an input, branches of one to three operations, and what joins them.
std::vector<StageOp> inceptionBlock(std::mt19937& random) {
  std::vector<StageOp> ops(1);
  std::vector<uint32_t> ends;
  const auto add = [&](uint32_t need) {
    StageOp op;
    op.steps = 200'000 + static_cast<int64_t>(random() % 20'000'000);
    op.pieces = 4 + static_cast<int64_t>(random() % 30);
    op.needs = {need};
    ops.push_back(op);
    return static_cast<uint32_t>(ops.size() - 1);
  };
  for (int branch = 0; branch < 4; ++branch) {
    uint32_t last = 0;
    for (int i = 0; i <= branch % 3; ++i) last = add(last);
    ends.push_back(last);
    if (branch == 3) ends.push_back(add(0));
  }
  StageOp join;
  join.needs = ends;
  ops.push_back(join);
  return ops;
}

TEST(StageSearch, I_c_APrunedSearchIsWithinFivePercentOfTheWhole) {
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    const std::vector<StageOp> ops = inceptionBlock(random);
    const StageSchedule whole = searchStages(ops, 16, {64, 64, 100'000'000});
    const StageSchedule pruned = searchStages(ops, 16);
    expectSound(ops, pruned, 16);
    EXPECT_LE(pruned.cost * 100, whole.cost * 105);
  }
}

// As wide as a graph may be: the search ends soon, and what it gives is a schedule.
TEST(StageSearch, AWideGraphIsCutShort) {
  std::vector<StageOp> ops(24);
  for (StageOp& op : ops) op = {2'000'000, 8, {}};
  const StageSchedule found = searchStages(ops, 8);
  expectSound(ops, found, 8);
  EXPECT_LE(found.cost, found.inTurn);
}

// Two towers, longer than what is searched at once, listed one behind the other.
TEST(StageSearch, LongTowersAreTwoBranches) {
  std::vector<StageOp> ops(80);
  for (uint32_t i = 0; i < ops.size(); ++i) {
    ops[i] = {1'000'000, 2, {}};
    if (i % 40 != 0) ops[i].needs = {i - 1};
    if (i % 40 > 1) ops[i].needs.push_back(i - 2);
  }
  const StageSchedule found = scheduleStages(ops, 8);
  expectSound(ops, found, 8);
  ASSERT_EQ(found.stages.size(), 1u);
  EXPECT_EQ(found.stages[0].branchCount, 2);
}

TEST(StageSearch, AGraphOfAnySizeIsScheduledInParts) {
  std::mt19937 random(5);
  const std::vector<StageOp> ops = randomGraph(150, random);
  const StageSchedule found = scheduleStages(ops, 8);
  expectSound(ops, found, 8);
  EXPECT_LE(found.cost, found.inTurn);
}

TEST(StageSearch, RegionsLieBetweenOperationsThatAllOthersComeBeforeOrBehind) {
  // 0 -> {1 -> 2, 3} -> 4 -> 5
  std::vector<StageOp> ops(6);
  ops[1].needs = {0}, ops[2].needs = {1}, ops[3].needs = {0}, ops[4].needs = {2, 3}, ops[5].needs = {4};
  EXPECT_EQ(stageRegions(ops), (std::vector<std::pair<size_t, size_t>>{{0, 1}, {1, 4}, {4, 5}, {5, 6}}));
  EXPECT_TRUE(stageRegions({}).empty());
}

}  // namespace
}  // namespace dyn
