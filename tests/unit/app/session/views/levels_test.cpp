// What a run computed together: levels of nodes beside heights that the test counts itself, and sequences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "app/engine/run/level_loops.h"
#include "app/session/views/level_homes.h"
#include "app/session/views/view_json.h"
#include "app/session/views/view_text.h"
#include "tests/support/paths.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class LevelsTest : public test::SessionFixture {
 protected:
  void loadSample(const std::string& name) {
    const auto loaded = line(":load " + test::sourceFolder() + "/samples/" + name);
    ASSERT_TRUE(loaded->ok()) << loaded->error->toString();
  }
  bool hasOnnx() { return line(":load " + test::sourceFolder() + "/samples/models/treefc/model.onnx")->ok(); }
  // The levels of the run, as `:levels` has them.
  LevelsView levels(const std::string& command = ":levels") {
    const auto outcome = line(command);
    EXPECT_TRUE(outcome->ok()) << outcome->error->toString();
    return outcome->ok() ? *outcome->as<LevelsView>() : LevelsView();
  }
};

// Random binary trees in post-order, by the parents of their nodes; of `leaves` leaves each.
std::vector<int64_t> randomTree(int64_t leaves, std::mt19937& random) {
  std::vector<int64_t> parents, open;  // open: roots of what is there
  while (leaves > 0 || open.size() > 1) {
    const bool join = open.size() > 1 && (leaves == 0 || random() % 2 == 0);
    const auto node = static_cast<int64_t>(parents.size());
    for (int k = 0; join && k < 2; ++k, open.pop_back()) parents[static_cast<size_t>(open.back())] = node;
    leaves -= !join;
    parents.push_back(-1);
    open.push_back(node);
  }
  return parents;
}

// Nodes of each height from 1 on.
std::vector<int64_t> heightsOf(const std::vector<std::vector<int64_t>>& trees) {
  std::vector<int64_t> counts;
  for (const std::vector<int64_t>& parents : trees) {
    std::vector<size_t> heights(parents.size(), 0);
    for (size_t i = 0; i < parents.size(); ++i) {
      if (parents[i] >= 0) {
        size_t& above = heights[static_cast<size_t>(parents[i])];
        above = std::max(above, heights[i] + 1);
      }
      if (heights[i] == 0) continue;
      counts.resize(std::max(counts.size(), heights[i]), 0);
      ++counts[heights[i] - 1];
    }
  }
  return counts;
}

std::string levelsTextOf(const std::vector<std::vector<int64_t>>& trees) {
  std::ostringstream text;
  for (const std::vector<int64_t>& parents : trees) {
    for (const int64_t parent : parents) text << parent << ' ';
    text << '\n';
  }
  return text.str();
}

TEST_F(LevelsTest, ARecursionHasItsHeightsAndItsLeaves) {
  if (!canRun()) GTEST_SKIP() << "this build generates no code";
  loadSample("03_tree/sentences.dyn");
  const auto early = line(":levels");
  ASSERT_FALSE(early->ok());
  EXPECT_THAT(early->error->toString(), HasSubstr("no run of this model was profiled"));
  std::mt19937 random(7);
  std::vector<std::vector<int64_t>> trees;
  for (const int64_t leaves : {1, 2, 3, 17, 40, 1}) trees.push_back(randomTree(leaves, random));
  const std::string file = folder_.write("trees.txt", levelsTextOf(trees));
  ASSERT_TRUE(line(":profile --input trees=@" + file + " --dim words=64")->ok());
  const LevelsView view = levels();
  ASSERT_EQ(view.loops.size(), 1u);
  const LevelLoop& loop = view.loops[0];
  EXPECT_EQ(loop.nodes, heightsOf(trees));
  EXPECT_EQ(loop.leaves, 64);
  EXPECT_EQ(loop.oneByOne, "");
  ASSERT_EQ(loop.timesNs.size(), loop.nodes.size());
  for (size_t i = 0; i < loop.timesNs.size(); ++i) {
    EXPECT_GT(loop.timesNs[i], 0);
    EXPECT_GT(loop.takenBytes[i], 0);
  }
  EXPECT_LE(loop.timeNs(), view.runNs);
  EXPECT_THAT(loop.place, HasSubstr("sentences.dyn:12"));
  // The last level is the root of one tree, the first takes the most memory.
  EXPECT_EQ(loop.nodes.back(), 1);
  EXPECT_EQ(loop.mostBytes(), loop.takenBytes.front());
  const std::string text = toText(line(":levels")->view, TextOptions{});
  EXPECT_THAT(text,
              HasSubstr("58 nodes in " + std::to_string(loop.nodes.size()) + " levels above 64 leaves"));
}

TEST_F(LevelsTest, ALoopOverNodesHasItsLevelsAndASavedRunKeepsThem) {
  if (!canRun() || !hasOnnx()) GTEST_SKIP() << "this build generates no code, or reads no ONNX files";
  std::mt19937 random(3);
  std::vector<std::vector<int64_t>> trees;
  for (int i = 0; i < 9; ++i) trees.push_back(randomTree(1 + static_cast<int64_t>(random() % 30), random));
  const std::string file = folder_.write("trees.txt", levelsTextOf(trees)),
                    saved = folder_.path() + "/run.json";
  for (const char* model : {"treefc", "treegru", "treelstm_binary"}) {
    loadSample(std::string("models/") + model + "/model.onnx");
    const auto run = line(":profile " + saved + " --input trees=@" + file);
    ASSERT_TRUE(run->ok()) << run->error->toString();
    const LevelsView view = levels();
    ASSERT_EQ(view.loops.size(), 1u) << model;
    EXPECT_EQ(view.loops[0].nodes, heightsOf(trees)) << model;
    EXPECT_EQ(view.loops[0].timesNs.size(), view.loops[0].nodes.size()) << model;
    EXPECT_FALSE(view.loops[0].leaves.has_value());
    const nlohmann::ordered_json json = toJson(run->view);
    EXPECT_EQ(json["levels"]["loops"][0]["nodes"], view.loops[0].nodes);
    loadSample(std::string("models/") + model + "/model.onnx");
    ASSERT_TRUE(line(":recall " + saved)->ok());
    const LevelsView again = levels();
    ASSERT_EQ(again.loops.size(), 1u) << model;
    EXPECT_EQ(again.loops[0].nodes, view.loops[0].nodes);
    EXPECT_EQ(again.loops[0].timesNs, view.loops[0].timesNs);
  }
}

TEST_F(LevelsTest, NodesOneByOneAndAChainOfManyLevels) {
  if (!canRun() || !hasOnnx()) GTEST_SKIP() << "this build generates no code, or reads no ONNX files";
  // The first node reads the second's row, which is written later.
  ASSERT_TRUE(line(":profile --input left=[3,0] --input right=[1,2] --dim leaves=2")->ok());
  LevelsView view = levels();
  ASSERT_EQ(view.loops.size(), 1u);
  EXPECT_THAT(view.loops[0].nodes, testing::ElementsAre(1, 1));
  EXPECT_THAT(view.loops[0].oneByOne, HasSubstr("reads row 3, which node 1 writes"));
  // More levels than lines.
  std::vector<int64_t> parents{2, 2, -1};
  for (int i = 1; i < 700; ++i) {
    parents.back() = static_cast<int64_t>(parents.size()) + 1;
    parents.push_back(static_cast<int64_t>(parents.size()) + 1);
    parents.push_back(-1);
  }
  const std::string file = folder_.write("chain.txt", levelsTextOf({parents}));
  ASSERT_TRUE(line(":profile --input trees=@" + file)->ok());
  view = levels();
  ASSERT_EQ(view.loops.size(), 1u);
  EXPECT_EQ(view.loops[0].nodes, std::vector<int64_t>(700, 1));
  ASSERT_EQ(view.loops[0].timesNs.size(), 700u);
  const auto lines = [&](const char* command) {
    const std::string text = toText(line(command)->view, TextOptions{});
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_LT(lines(":levels"), 32);
  EXPECT_GT(lines(":levels --all"), 700);
  const auto none = line(":levels mian");
  ASSERT_FALSE(none->ok());
  EXPECT_THAT(none->error->toString(), HasSubstr("did you mean main?"));
}

// X-e: the weights of a level stay in the smallest cache that holds them beside what the level computes with;
// it is said why not nearer.
TEST(LevelHomes, XeWeightsStayOrItIsSaidWhyNot) {
  const Caches caches{32 << 10, 1 << 20, 0, 2048};
  LevelLoop loop;
  loop.nodes = {64, 8, 1};
  loop.takenBytes = {40 << 10, 5 << 10, 1 << 10};
  EXPECT_EQ(homesText(loop, caches), "");
  loop.weightsBytes = 0;
  EXPECT_THAT(homesText(loop, caches), HasSubstr("no level reads any"));
  loop.weightsBytes = 2 << 10;
  loop.weightsCount = 1;
  EXPECT_THAT(
      homesText(loop, caches),
      AllOf(HasSubstr("weights: 2.0 KiB in 1 tensor, read at each level"),
            HasSubstr("stay in L1 (32.0 KiB) over 2 levels; not in registers (2.0 KiB): each product"),
            HasSubstr("stay in L2 (1.0 MiB) over 1 level; not in L1 (32.0 KiB): a level computes with "
                      "up to 40.0 KiB beside them")));
  loop.weightsBytes = 3 << 20;  // larger than all caches there are
  EXPECT_THAT(homesText(loop, caches),
              HasSubstr("come from memory again over 3 levels; not in L2 (1.0 MiB): they are larger"));
  EXPECT_THAT(homesText(loop, Caches()), HasSubstr("the machine's caches are not"));
  const std::vector<LevelHome> homes = homesOf(loop, caches);
  ASSERT_EQ(homes.size(), 1u);
  EXPECT_EQ(homes[0].place, "memory");
}

TEST_F(LevelsTest, XeALoopOverNodesSaysWhereItsWeightsStay) {
  if (!canRun() || !hasOnnx()) GTEST_SKIP() << "this build generates no code, or reads no ONNX files";
  const std::string saved = folder_.path() + "/run.json";
  loadSample("models/treelstm_binary/model.onnx");
  ASSERT_TRUE(line(":profile " + saved + " --input left=[0,3] --input right=[1,2] --dim leaves=3")->ok());
  const LevelsView view = levels();
  ASSERT_EQ(view.loops.size(), 1u);
  // Panels of [16, 40], whose columns are filled up as the machine wants it, and a bias of 40.
  EXPECT_GE(view.loops[0].weightsBytes.value_or(0), 4 * (16 * 40 + 40));
  EXPECT_LE(view.loops[0].weightsBytes.value_or(0), 4 * (16 * 64 + 40));
  EXPECT_EQ(view.loops[0].weightsCount, 2);
  EXPECT_GT(view.caches.l1Bytes + view.caches.l2Bytes + view.caches.l3Bytes, 0);
  ASSERT_TRUE(line(":recall " + saved)->ok());
  EXPECT_EQ(homesText(levels().loops[0], levels().caches), homesText(view.loops[0], view.caches));
  EXPECT_EQ(toJson(line(":levels")->view)["loops"][0]["weights"]["tensors_count"], 2);
}

TEST_F(LevelsTest, NoLevelsWithoutThePassOrWithoutTrees) {
  if (!canRun() || !hasOnnx()) GTEST_SKIP() << "this build generates no code, or reads no ONNX files";
  ASSERT_TRUE(line(":set passes -batch_levels")->ok());
  ASSERT_TRUE(line(":profile --input left=[0] --input right=[1] --dim leaves=2")->ok());
  const auto outcome = line(":levels");
  ASSERT_FALSE(outcome->ok());
  EXPECT_THAT(outcome->error->toString(), HasSubstr("no loop over levels of nodes"));
}

TEST_F(LevelsTest, SequencesOfRaggedValuesAndOfPaddedBatches) {
  if (!canRun()) GTEST_SKIP() << "this build generates no code";
  loadSample("12_ragged/encoder.dyn");
  ASSERT_TRUE(line(":run --lengths x=5,0,1,3")->ok());
  LevelsView view = levels(":levels x");
  ASSERT_EQ(view.sequences.size(), 1u);
  EXPECT_THAT(view.sequences[0].lengths, testing::ElementsAre(5, 0, 1, 3));
  EXPECT_EQ(view.sequences[0].sum(), 9);
  EXPECT_DOUBLE_EQ(view.sequences[0].paddingShare(), 11.0 / 20);
  EXPECT_FALSE(view.sequences[0].isPadded);
  EXPECT_THAT(toText(line(":levels x")->view, TextOptions{}),
              HasSubstr("4 sequences, 9 rows in all, the longest 5; 55.0% of a padded batch is left out"));
  // No sequences, and sequences of nothing, are no division by zero.
  ASSERT_TRUE(line(":run --lengths x=0,0")->ok());
  EXPECT_EQ(levels(":levels x").sequences[0].paddingShare(), 0);
  if (!hasOnnx()) return;
  loadSample("models/bert/model.onnx");
  ASSERT_TRUE(line(":run --lengths attention_mask=3,1 --dim seq=4")->ok());
  view = levels();
  ASSERT_EQ(view.sequences.size(), 1u);
  EXPECT_THAT(view.sequences[0].lengths, testing::ElementsAre(3, 1));
  EXPECT_TRUE(view.sequences[0].isPadded);
}

}  // namespace
}  // namespace dyn
