// Nodes of all modes as nodes that ask `x <= split`: the same leaves.
#include "frontends/onnx/map/classical/tree_tables.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace dyn::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(),
                 kNan = std::numeric_limits<double>::quiet_NaN();

bool holds(TreeMode mode, double x, double split) {
  switch (mode) {
    case TreeMode::lessEqual:
      return x <= split;
    case TreeMode::less:
      return x < split;
    case TreeMode::greaterEqual:
      return x >= split;
    case TreeMode::greater:
      return x > split;
    case TreeMode::equal:
      return x == split;
    default:
      return !(x == split);
  }
}

// One node, two leaves.
TreeNodes nodeOf(TreeMode mode, double split, bool missing) {
  TreeNodes nodes;
  nodes.feature = {0, 0, 0};
  nodes.onTrue = {1, 1, 2};
  nodes.onFalse = {2, 1, 2};
  nodes.split = {split, 0, 0};
  nodes.mode = {mode, TreeMode::leaf, TreeMode::leaf};
  nodes.missingIsTrue = {missing, 0, 0};
  nodes.roots = {0};
  nodes.treeOf = {0, 0, 0};
  nodes.depth = 1;
  return nodes;
}

int64_t leafBy(const TreeTables& tables, double x) {
  int64_t place = tables.starts[0], steps = 0;
  for (; place >= 0; ++steps) {
    const auto node = static_cast<size_t>(place);
    const bool isLess = std::isnan(x) ? tables.links[4 * node + 3] != 0 : x <= tables.splits[node];
    place = tables.links[4 * node + (isLess ? 1 : 2)];
  }
  EXPECT_LE(steps, tables.depth);
  return -1 - place;
}

template <typename T>
void compareAll(Dtype compared) {
  constexpr T least = std::numeric_limits<T>::denorm_min(), most = std::numeric_limits<T>::max();
  const std::vector<double> values = {
      -kInfinity,   -double{most}, -1,  -double{least}, -0.0, 0, double{least}, 1, std::nextafter(T(1), T(2)),
      double{most}, kInfinity,     kNan};
  for (TreeMode mode : {TreeMode::lessEqual, TreeMode::less, TreeMode::greaterEqual, TreeMode::greater,
                        TreeMode::equal, TreeMode::notEqual})
    for (double split : values)
      for (bool missing : {false, true}) {
        const TreeTables tables = tablesOf(nodeOf(mode, split, missing), compared);
        ASSERT_EQ(tables.leaves, 2);
        for (double x : values) {
          const bool isTrue = holds(mode, x, split) || (std::isnan(x) && missing);
          EXPECT_EQ(leafBy(tables, x), tables.leafOf[isTrue ? 1 : 2])
              << "mode " << static_cast<int>(mode) << ", " << x << " beside " << split << ", missing "
              << missing;
        }
      }
}

TEST(TreeTables, AllModesReachTheLeavesTheyDid) {
  compareAll<float>(Dtype::f32);
  compareAll<double>(Dtype::f64);
}

TEST(TreeTables, SplitsAreNumbersOfTheDtypeThatIsComparedIn) {
  EXPECT_EQ(tablesOf(nodeOf(TreeMode::lessEqual, 0.1, false), Dtype::f32).splits[0], double{0.1f});
  EXPECT_EQ(tablesOf(nodeOf(TreeMode::lessEqual, 0.1, false), Dtype::f64).splits[0], 0.1);
}

// Those of a tree lie side by side, those that no root leads to nowhere.
TEST(TreeTables, NodesAreNumberedTreeByTree) {
  TreeNodes nodes = nodeOf(TreeMode::less, 1, false);
  for (int i = 0; i < 2; ++i) {
    nodes.feature.insert(nodes.feature.end(), {1, 0, 0});
    const auto first = static_cast<int64_t>(nodes.mode.size());
    nodes.onTrue.insert(nodes.onTrue.end(), {first + 1, first + 1, first + 2});
    nodes.onFalse.insert(nodes.onFalse.end(), {first + 2, first + 1, first + 2});
    nodes.split.insert(nodes.split.end(), {2, 0, 0});
    nodes.mode.insert(nodes.mode.end(), {TreeMode::lessEqual, TreeMode::leaf, TreeMode::leaf});
    nodes.missingIsTrue.insert(nodes.missingIsTrue.end(), {0, 0, 0});
    nodes.treeOf.insert(nodes.treeOf.end(), 3, i == 0 ? 1 : -1);
  }
  nodes.roots = {3, 0, 1};
  const TreeTables tables = tablesOf(nodes, Dtype::f32);
  EXPECT_EQ(tables.starts, (std::vector<int64_t>{0, 1, -1 - tables.leafOf[1]}));
  EXPECT_EQ(tables.splits.size(), 2u);
  EXPECT_EQ(tables.leaves, 4);
  EXPECT_EQ(tables.leafOf[7], -1);
}

}  // namespace
}  // namespace dyn::onnx
