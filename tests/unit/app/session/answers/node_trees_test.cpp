// The trees of a run, from values and from arrays of children.
#include <gtest/gtest.h>

#include "app/session/answers/node_trees.h"
#include "tests/support/paths.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

class NodeTreesTest : public test::SessionFixture {
 protected:
  std::vector<NodeTrees> treesOf(const std::string& sample, const std::string& run,
                                 const std::vector<std::string>& specs, size_t most = 4000) {
    if (!line(":load " + test::sourceFolder() + "/samples/" + sample)->ok()) return {};
    const auto outcome = line(":run " + run);
    EXPECT_TRUE(outcome->ok()) << outcome->error->toString();
    return outcome->ok() ? nodeTrees(*outcome->as<RunResult>(), specs, most) : std::vector<NodeTrees>();
  }
};

TEST_F(NodeTreesTest, sentencesHaveTheirWords) {
  const std::string folder = test::sourceFolder() + "/samples/03_tree/";
  const std::string spec = "trees=@" + folder + "sentences.txt,words=" + folder + "words.txt";
  const auto all = treesOf("03_tree/sentences.dyn", "--dim words=6 --input " + spec, {spec});
  ASSERT_EQ(all.size(), 1u);
  const NodeTrees& trees = all[0];
  EXPECT_EQ(trees.input, "trees");
  // (It (is good)), ((Not bad) .), (It)
  EXPECT_EQ(trees.allNodes, 5 + 5 + 1);
  EXPECT_EQ(trees.levelsCount(), 2u);
  EXPECT_EQ(trees.nodesOfLevel(0), 7);
  EXPECT_EQ(trees.nodesOfLevel(1), 2);
  EXPECT_EQ(trees.nodesOfLevel(2), 2);
  std::vector<std::string> words;
  int roots = 0;
  for (const NodeTrees::Node& node : trees.nodes) {
    if (node.children.empty()) words.push_back(node.word);
    roots += node.isRoot;
  }
  EXPECT_EQ(words, (std::vector<std::string>{"It", "is", "good", "Not", "bad", ".", "It"}));
  EXPECT_EQ(roots, 3);
  // Trees that find no room are left out whole, and counted.
  const auto few = treesOf("03_tree/sentences.dyn", "--dim words=6 --input " + spec, {spec}, 6);
  ASSERT_EQ(few.size(), 1u);
  EXPECT_EQ(few[0].nodes.size(), 6u) << "the first and the last";
  EXPECT_EQ(few[0].allNodes, 11);
}

TEST_F(NodeTreesTest, arraysOfChildrenAreTreesToo) {
  const auto all = treesOf("models/treelstm/model.onnx",
                           "--dim leaves=4 --input left=[0,2,4] --input right=[1,3,5] --input x=random", {});
  if (all.empty()) GTEST_SKIP() << "this build reads no ONNX files";
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].input, "left and right");
  EXPECT_EQ(all[0].nodes.size(), 7u);
  EXPECT_EQ(all[0].nodes[6].children, (std::vector<uint32_t>{4, 5}));
  EXPECT_EQ(all[0].nodes[6].level, 2u);
  EXPECT_TRUE(all[0].nodes[6].isRoot);
  EXPECT_FALSE(all[0].nodes[4].isRoot);
}

}  // namespace
}  // namespace dyn
