#include "app/session/graph/graph_folding.h"
#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace dyn {
namespace {

// Operations in a chain: each takes what the one before makes.
GraphView chainOf(const std::vector<std::string>& operations) {
  GraphView view;
  for (size_t i = 0; i < operations.size(); ++i) {
    GraphNode node;
    node.id = i;
    node.op = node.label = operations[i];
    node.outputs.push_back({"v" + std::to_string(i), "Tensor[(n, 8), f32]", kNoNode});
    if (i > 0) view.edges.push_back({i - 1, i, 0, 0, "v", ""});
    view.nodes.push_back(node);
  }
  return view;
}

std::vector<std::string> times(int count, const std::vector<std::string>& pattern) {
  std::vector<std::string> all;
  for (int k = 0; k < count; ++k) all.insert(all.end(), pattern.begin(), pattern.end());
  return all;
}

const std::vector<std::string> kBlock = {"matmul", "add", "relu", "matmul", "add", "layer_norm"};

std::vector<const GraphGroup*> of(const GraphView& view, GroupKind kind) {
  std::vector<const GraphGroup*> found;
  for (const GraphGroup& group : view.groups)
    if (group.kind == kind) found.push_back(&group);
  return found;
}

// What stands directly in each group; -1: at the top.
std::map<int, int> boxes(const GraphView& view) {
  std::map<int, int> count;
  for (const GraphNode& node : view.nodes) ++count[node.group];
  for (const GraphGroup& group : view.groups) ++count[group.parent];
  return count;
}

void expectWellFormed(const GraphView& view) {
  std::set<std::string> paths;
  for (size_t g = 0; g < view.groups.size(); ++g) {
    EXPECT_LT(view.groups[g].parent, static_cast<int>(g)) << "parents stand before children";
    EXPECT_TRUE(paths.insert(view.groups[g].path).second) << view.groups[g].path << " stands for two groups";
  }
  for (const GraphNode& node : view.nodes) EXPECT_LT(node.group, static_cast<int>(view.groups.size()));
}

TEST(GraphFolding, blocksThatComeAgainAreOneBox) {
  std::vector<std::string> operations = {"gather", "add"};
  for (const std::string& op : times(12, kBlock)) operations.push_back(op);
  operations.push_back("softmax");
  GraphView view = chainOf(operations);
  foldGraph(view);
  expectWellFormed(view);
  const auto repeats = of(view, GroupKind::repeat), blocks = of(view, GroupKind::block);
  ASSERT_EQ(repeats.size(), 1u);
  EXPECT_EQ(repeats[0]->label, "12 × block");
  ASSERT_EQ(blocks.size(), 12u);
  EXPECT_EQ(blocks[0]->label, "block 1");
  EXPECT_EQ(blocks[1]->label, "block 2 · as 1");
  EXPECT_EQ(boxes(view)[-1], 4) << "two operations, the blocks, one operation";
  for (size_t g = 0; g < view.groups.size(); ++g)
    EXPECT_TRUE(view.groups[g].kind != GroupKind::block || boxes(view)[static_cast<int>(g)] == 6) << g;
}

TEST(GraphFolding, aBlockOfOtherWidthsIsNotTheSame) {
  GraphView view = chainOf(times(10, kBlock));
  for (size_t n = 30; n < 36; ++n) view.nodes[n].outputs[0].type = "Tensor[(n, 16), f32]";
  foldGraph(view);
  const auto blocks = of(view, GroupKind::block);
  ASSERT_EQ(blocks.size(), 10u);
  EXPECT_EQ(blocks[4]->label, "block 5 · as 1");
  EXPECT_EQ(blocks[5]->label, "block 6");
  EXPECT_EQ(blocks[6]->label, "block 7 · as 1");
}

// The pattern may begin anywhere; a block ends where only one value goes on.
TEST(GraphFolding, blocksAreCutWhereTheLeastCrosses) {
  GraphView view = chainOf(times(12, kBlock));
  for (NodeId k = 0; k < 12;
       ++k)  // a residual around the operations 2 to 7 of each round, the last but one apart
    if (6 * k + 7 < view.nodes.size()) view.edges.push_back({6 * k + 2, 6 * k + 7, 0, 1, "r", ""});
  foldGraph(view);
  const auto blocks = of(view, GroupKind::block);
  ASSERT_GE(blocks.size(), 11u);
  // Nothing crosses but the chain between operations 7 and 8, that is behind the second of a round.
  std::map<int, size_t> first;
  for (size_t n = 0; n < view.nodes.size(); ++n) first.emplace(view.nodes[n].group, n);
  int cutWell = 0;
  for (const auto& [group, node] : first)
    if (group >= 0 && view.groups[static_cast<size_t>(group)].kind == GroupKind::block)
      cutWell += node % 6 == 2;
  EXPECT_EQ(cutWell, static_cast<int>(blocks.size()));
}

TEST(GraphFolding, longChainsWithoutRepetitionAreCutIntoParts) {
  std::vector<std::string> operations;
  uint32_t seed = 1;
  for (int i = 0; i < 5000; ++i) {
    seed = seed * 1664525 + 1013904223;
    operations.push_back("op" + std::to_string(seed >> 24));
  }
  GraphView view = chainOf(operations);
  foldGraph(view);
  expectWellFormed(view);
  EXPECT_FALSE(of(view, GroupKind::part).empty());
  for (const auto& [group, count] : boxes(view)) EXPECT_LE(count, 80) << "in group " << group;
}

TEST(GraphFolding, smallGraphsAndBodiesStayAsTheyAre) {
  GraphView small = chainOf(times(6, kBlock));
  foldGraph(small);
  EXPECT_TRUE(small.groups.empty());

  // A body goes with its operation, which may come to stand in a block.
  GraphView view = chainOf(times(12, kBlock));
  view.groups.push_back({"@main/x.body", "body", GroupKind::region, -1, 14});
  GraphNode inner;
  inner.id = 1000;
  inner.op = inner.label = "add";
  inner.group = 0;
  view.nodes.push_back(inner);
  foldGraph(view);
  expectWellFormed(view);
  const auto bodies = of(view, GroupKind::region);
  ASSERT_EQ(bodies.size(), 1u);
  ASSERT_GE(bodies[0]->parent, 0);
  EXPECT_EQ(bodies[0]->parent, view.nodes[14].group);
  EXPECT_EQ(view.groups[static_cast<size_t>(view.nodes.back().group)].kind, GroupKind::region);
}

// Groups by name that come again are held together, not taken apart.
TEST(GraphFolding, layersThatHaveNamesKeepThem) {
  GraphView view = chainOf(times(50, kBlock));
  for (int layer = 0; layer < 50; ++layer) {
    view.groups.push_back(
        {"layer." + std::to_string(layer), "layer." + std::to_string(layer), GroupKind::scope, -1, kNoNode});
    for (int i = 0; i < 6; ++i) view.nodes[static_cast<size_t>(6 * layer + i)].group = layer;
  }
  foldGraph(view);
  expectWellFormed(view);
  EXPECT_EQ(boxes(view)[-1], 1);
  EXPECT_EQ(of(view, GroupKind::scope).size(), 50u);
  ASSERT_EQ(of(view, GroupKind::repeat).size(), 1u);
  EXPECT_EQ(of(view, GroupKind::repeat)[0]->label, "50 × layer");
}

}  // namespace
}  // namespace dyn
