// Ensembles of trees whose attributes contradict each other: each is refused by name, none is walked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/onnx/import/importer.h"
#include "tests/unit/frontends/onnx/proto_builder.h"

namespace dyn::onnx::test {
namespace {

using ::testing::HasSubstr;

struct Trees {
  std::vector<int64_t> tree = {0, 0, 0}, node = {0, 1, 2}, feature = {1, 0, 0}, onTrue = {1, 0, 0},
                       onFalse = {2, 0, 0};
  std::vector<const char*> mode = {"BRANCH_LEQ", "LEAF", "LEAF"};
  std::vector<int64_t> weightNode = {1, 2}, target = {0, 0};
};

Msg integers(std::string_view name, const std::vector<int64_t>& values) {
  Msg attribute = Msg().sub(1, name).num(20, 7);
  for (int64_t value : values) attribute.num(8, value);
  return attribute;
}

Msg reals(std::string_view name, size_t count) {
  Msg attribute = Msg().sub(1, name).num(20, 6);
  for (size_t i = 0; i != count; ++i) attribute.f32(7, 0.5f);
  return attribute;
}

std::string bytesOf(const Trees& trees) {
  Msg modes = Msg().sub(1, "nodes_modes").num(20, 8);
  for (std::string_view mode : trees.mode) modes.sub(9, mode);
  Msg regressor = node("TreeEnsembleRegressor", {"x"}, {"y"})
                      .sub(7, "ai.onnx.ml")
                      .sub(5, integers("nodes_treeids", trees.tree))
                      .sub(5, integers("nodes_nodeids", trees.node))
                      .sub(5, integers("nodes_featureids", trees.feature))
                      .sub(5, integers("nodes_truenodeids", trees.onTrue))
                      .sub(5, integers("nodes_falsenodeids", trees.onFalse))
                      .sub(5, reals("nodes_values", trees.feature.size()))
                      .sub(5, modes)
                      .sub(5, integers("target_treeids", std::vector<int64_t>(trees.target.size(), 0)))
                      .sub(5, integers("target_nodeids", trees.weightNode))
                      .sub(5, integers("target_ids", trees.target))
                      .sub(5, reals("target_weights", trees.target.size()))
                      .sub(5, Msg().sub(1, "n_targets").num(3, 1).num(20, 2));
  const Msg graph = Msg()
                        .sub(2, "g")
                        .sub(1, regressor)
                        .sub(11, valueInfo("x", tensorType(1, {"n", "3"})))
                        .sub(12, valueInfo("y", tensorType(1, {"n", "1"})));
  return Msg()
      .num(1, 8)
      .sub(8, Msg().num(2, 17))
      .sub(8, Msg().sub(1, "ai.onnx.ml").num(2, 3))
      .sub(7, graph)
      .bytes;
}

std::string treeFaultOf(const Trees& trees) {
  IrContext ir;
  const Result<ImportResult> imported = importModel(ir, MappedFile::fromBytes(bytesOf(trees), "trees.onnx"));
  if (!imported.ok()) return imported.error().message;
  return imported->problems.empty() ? "" : imported->problems[0].message;
}

TEST(TreeFaults, TreesWithoutFaultAreRead) { EXPECT_EQ(treeFaultOf(Trees()), ""); }

// Names in any order, with gaps: what stands in order without gaps is looked up faster.
TEST(TreeFaults, NodesMayBeNamedInAnyOrder) {
  for (const std::vector<int64_t>& names :
       {std::vector<int64_t>{0, 1, 2}, {5, 7, 20}, {2, 1, 0}, {7, -3, 5}, {INT64_MAX, INT64_MIN, 0}}) {
    Trees trees;
    trees.node = names;
    trees.onTrue[0] = names[1];
    trees.onFalse[0] = names[2];
    trees.weightNode = {names[1], names[2]};
    EXPECT_EQ(treeFaultOf(trees), "");
    trees.onFalse[0] = names[2] + 100;
    EXPECT_THAT(treeFaultOf(trees), HasSubstr("tree 0 has no node " + std::to_string(names[2] + 100)));
    trees.node[2] = trees.node[1];
    EXPECT_THAT(treeFaultOf(trees), HasSubstr("tree 0 has two nodes " + std::to_string(names[1])));
  }
}

TEST(TreeFaults, BranchesThatLeadBack) {
  Trees trees;
  trees.tree = {0, 0, 0, 0};
  trees.node = {0, 1, 2, 3};
  trees.feature = {0, 0, 0, 0};
  trees.mode = {"BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF"};
  trees.onTrue = {1, 1, 0, 0};
  trees.onFalse = {2, 3, 0, 0};
  EXPECT_THAT(treeFaultOf(trees), HasSubstr("leads back"));
}

TEST(TreeFaults, NodesThatAreNotThere) {
  Trees missing;
  missing.onFalse[0] = 9;
  EXPECT_THAT(treeFaultOf(missing), HasSubstr("tree 0 has no node 9"));
  Trees twice;
  twice.node = {0, 1, 1};
  EXPECT_THAT(treeFaultOf(twice), HasSubstr("has two nodes 1"));
  Trees weight;
  weight.weightNode[1] = 7;
  EXPECT_THAT(treeFaultOf(weight), HasSubstr("tree 0 has no node 7"));
}

TEST(TreeFaults, WhatHasNoMeaning) {
  Trees target;
  target.target[1] = 4;
  EXPECT_THAT(treeFaultOf(target), HasSubstr("target 4 of a leaf is outside [0, 1)"));
  Trees feature;
  feature.feature[0] = -1;
  EXPECT_THAT(treeFaultOf(feature), HasSubstr("a feature or a branch that does not exist"));
  Trees mode;
  mode.mode[0] = "BRANCH_MAYBE";
  EXPECT_THAT(treeFaultOf(mode), HasSubstr("BRANCH_MAYBE"));
  Trees shorter;
  shorter.onTrue.pop_back();
  EXPECT_THAT(treeFaultOf(shorter), HasSubstr("nodes_truenodeids' has 2 elements where 3 are demanded"));
  Trees empty;
  empty.weightNode.clear();
  empty.target.clear();
  EXPECT_THAT(treeFaultOf(empty), HasSubstr("no weights"));
}

}  // namespace
}  // namespace dyn::onnx::test
