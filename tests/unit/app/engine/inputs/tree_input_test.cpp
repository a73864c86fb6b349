// Inputs from files of trees: what reaches the model, and what is said of files that do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/engine/inputs/tree_file.h"
#include "app/engine/run/run_result.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Children of each node, words in between.
std::string shapeOf(const Result<TreeFile>& file) {
  if (!file.ok()) return file.error().toString();
  std::string text;
  for (const TreeNode& node : file->nodes) {
    text += node.label + ":" + node.word;
    for (uint32_t child : node.children) text += " " + std::to_string(child);
    text += "; ";
  }
  for (uint32_t root : file->roots) text += std::to_string(root) + " ";
  return text;
}

TEST(TreeFile, BracketsParentsAndJson) {
  EXPECT_EQ(shapeOf(parseTrees("(3 (2 It) (4 (2 is)\n (3 good)))\n(1 No)", "a.txt")),
            "2:It; 2:is; 3:good; 4: 1 2; 3: 0 3; 1:No; 4 5 ");
  EXPECT_EQ(shapeOf(parseTrees("(S (NP New York) (is))", "a.txt")), ":New; :York; NP: 0 1; :is; S: 2 3; 4 ");
  EXPECT_EQ(shapeOf(parseTrees("2 2 4 4 -1  # a comment\n\n-1\n", "a.txt")),
            ":; :; : 0 1; :; : 2 3; :; 4 5 ");
  // Parents in front of their children: the order is turned.
  EXPECT_EQ(shapeOf(parseTrees("-1 0 0", "a.txt")), ":; :; : 0 1; 2 ");
  EXPECT_EQ(shapeOf(parseTrees(R"([["It", ["is", 7]], {"label": "L", "children": ["a"]},
                                   {"parents": [2, 2, -1], "words": ["x", "y"]}])",
                               "a.json")),
            ":It; :is; :7; : 1 2; : 0 3; :a; L: 5; :x; :y; : 7 8; 4 6 9 ");
}

TEST(TreeFile, WhatIsWrongIsNamedWithItsLine) {
  const std::tuple<const char*, const char*, const char*> rows[] = {
      {"(1 a)\n(2 (3 b)", "a.txt", "a.txt:2"},
      {"(1 a))", "a.txt", "')' closes nothing"},
      {"(1 a)\nb (2 c)", "a.txt", "'b' stands outside"},
      {"(1 ())", "a.txt", "nothing between"},
      {"2 2 -1\n1 5 -1", "a.txt", "node 1 has parent 5"},
      {"1 0", "a.txt", "cycle"},
      {"-1 2 3 1", "a.txt", "cycle"},
      {"0", "a.txt", "its own parent"},
      {"1 x", "a.txt", "'x' is not a number"},
      {"  \n", "a.txt", "no trees"},
      {"[[\"a\", ", "a.json", "not JSON"},
      {"{}", "a.json", "a list of them"},
      {"[[\"a\"], [\"b\", null]]", "a.json", "tree 1: a node is null"},
      {"[{\"parents\": [1, 0]}]", "a.json", "tree 0: node 0 is on or above a cycle"},
  };
  for (const auto& [text, path, said] : rows) {
    const Result<TreeFile> file = parseTrees(text, path);
    ASSERT_FALSE(file.ok()) << text;
    EXPECT_THAT(file.error().toString(), HasSubstr(said)) << text;
  }
}

// Neither brackets nor lists that are nested deep end on the stack.
TEST(TreeFile, DeepFiles) {
  std::string brackets, parents;
  const int depth = 200'000;
  for (int i = 0; i < depth; ++i) {
    brackets += "(a ";
    parents += std::to_string(i + 1) + " ";
  }
  EXPECT_EQ(parseTrees(brackets + "(b)" + std::string(depth, ')'), "a.txt")->nodes.size(), depth + 1u);
  EXPECT_EQ(parseTrees(parents + "-1", "a.txt")->nodes.size(), depth + 1u);
  EXPECT_EQ(
      parseTrees("[" + std::string(depth, '[') + "1" + std::string(depth, ']') + "]", "a.json")->nodes.size(),
      depth + 1u);
  // Neither do such words, labels and values: only children may nest.
  const std::string nested = std::string(depth, '[') + std::string(depth, ']');
  for (const std::string& tree :
       {R"({"word": )" + nested + "}", R"({"label": )" + nested + "}",
        R"({"parents": [-1], "words": [)" + nested + "]}", R"({"value": )" + nested + "}"}) {
    const Result<TreeFile> file = parseTrees("[" + tree + "]", "a.json");
    ASSERT_FALSE(file.ok()) << tree.substr(0, 30);
    EXPECT_THAT(file.error().toString(), HasSubstr("tree 0: ")) << tree.substr(0, 30);
  }
}

class TreeInputTest : public test::SessionFixture {
 protected:
  std::vector<double> result(const std::string& arguments) {
    const std::shared_ptr<const Outcome> outcome = line(":run " + arguments);
    fault_.clear();
    if (!outcome->ok()) {
      fault_ = outcome->error->toString();
      return {};
    }
    const HostTensor& tensor = outcome->as<RunResult>()->outputs[0].value.tensor();
    std::vector<double> values;
    for (int64_t i = 0; i < tensor.elementCount(); ++i) values.push_back(tensor.realAt(i));
    return values;
  }
  std::string fault_;
};

constexpr const char* kSum =
    "type Tree { Leaf(Tensor[(), i64]), Node(Tensor[(), i64], Tree, Tree) }\n"
    "fn @main(trees: List[Tree]) {\n"
    "  y = loop(list_length(trees), _, trees) {carried = 0} body (i, trees) {\n"
    "    s = @sum(list_at(trees, i))\n    return true, s\n  }\n  return y\n}\n"
    "fn @sum(t: Tree) -> (Tensor[(), i64]) {\n"
    "  s = match(t) case Leaf(w) { return w } case Node(n, a, b) { return @sum(a) + @sum(b) * 2 + n * 100 }\n"
    "  return s\n}\n";

TEST_F(TreeInputTest, ValuesOfADataType) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(loadText(kSum)->ok());
  const std::string file = folder_.write("t.txt", "(3 (0 5) (4 (0 6) (0 7)))\n(0 9)\n");
  EXPECT_THAT(result("--input trees=@" + file), testing::ElementsAre(5 + 2 * (6 + 14 + 400) + 300, 9))
      << fault_;
  EXPECT_THAT(result("--input trees=@" + file + ",from=1"), testing::ElementsAre(9)) << fault_;
  EXPECT_THAT(result("--input trees=@" + file + ",count=0"), IsEmpty()) << fault_;
  const std::string words = folder_.write("w.txt", "<unk>\nIt\nis\n");
  const std::string named = folder_.write("n.txt", "(1 (0 It) (0 was))");
  EXPECT_THAT(result("--input trees=@" + named + ",words=" + words), testing::ElementsAre(101)) << fault_;
  // Parents alone: nodes have their numbers, leaves first.
  const std::string parents = folder_.write("p.txt", "2 2 4 4 -1");
  EXPECT_THAT(result("--input trees=@" + parents), testing::ElementsAre(0 + 2 * 1 + 300 + 2 * 2 + 400))
      << fault_;
  result("--input trees=@" + named);
  EXPECT_THAT(fault_, HasSubstr("'It' is not a number")) << fault_;
  result("--input trees=@" + folder_.write("q.txt", "\n(1 (0 1) (0 2) (0 3))"));
  EXPECT_THAT(fault_, HasSubstr("a node has 3 children; a Tree takes: Leaf 0, Node 2"));
  EXPECT_THAT(fault_, HasSubstr("q.txt:2"));
  result("--input trees=@" + file + ",nonsense=1");
  EXPECT_THAT(fault_, HasSubstr("not an option"));
}

// A number that the type does not have is refused, not cut or wrapped.
TEST_F(TreeInputTest, ElementsOfTheNodesType) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  const auto load = [&](const std::string& type) {
    return loadText("type Tree { Leaf(Tensor[(), " + type + "]), Node(Tree, Tree) }\n" +
                    "fn @main(t: Tree) {\n  s = match(t) case Leaf(w) { return w } " +
                    "case Node(a, b) { y = constant() {value = " + type + "[] 0} return y }\n  return s\n}\n")
        ->ok();
  };
  const auto given = [&](const std::string& value) {
    return result("--input t=@" + folder_.write("t.json", "[{\"value\": [" + value + "]}]"));
  };
  ASSERT_TRUE(load("i32"));
  EXPECT_THAT(given("-2147483648"), testing::ElementsAre(-2147483648.0)) << fault_;
  for (const char* value : {"1e30", "-1e300", "2.5", "5000000000", "2147483648"}) {
    EXPECT_THAT(given(value), IsEmpty()) << value;
    EXPECT_THAT(fault_, HasSubstr("no element of its Tensor[(), i32]")) << value;
  }
  ASSERT_TRUE(load("i64"));
  EXPECT_THAT(given("5000000000"), testing::ElementsAre(5e9)) << fault_;
  EXPECT_THAT(given("9007199254740993"), IsEmpty()) << "a number of JSON is a f64";
  ASSERT_TRUE(load("u64"));
  EXPECT_THAT(given("-1"), IsEmpty());
  ASSERT_TRUE(load("f32"));
  EXPECT_THAT(given("2.5"), testing::ElementsAre(2.5)) << fault_;
  // The number of a word, too.
  ASSERT_TRUE(load("i8"));
  EXPECT_THAT(result("--input t=@" + folder_.write("t.txt", "(0 127)")), testing::ElementsAre(127)) << fault_;
  EXPECT_THAT(result("--input t=@" + folder_.write("t.txt", "(0 128)")), IsEmpty());
  EXPECT_THAT(fault_, HasSubstr("the value 128, which is no element of its Tensor[(), i8]"));
}

TEST_F(TreeInputTest, ArraysOfNodes) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  const std::string file = folder_.write("t.txt", "(3 (0 5) (4 (0 6) (0 7)))\n(0 9)\n(1 (0 2) (0 3))");
  ASSERT_TRUE(
      loadText(
          "fn @main(left: Tensor[(n), i64], right: Tensor[(n), i32], words: Tensor[(leaves), i64], x: "
          "Tensor[(leaves, 2), f32]) {\n  y = concat(left, cast(right) {to = i64}, words, shape(x), axis "
          "= 0)\n  return y\n}\n")
          ->ok());
  EXPECT_THAT(result("--input trees=@" + file),
              testing::ElementsAre(1, 0, 4, 2, 6, 5, 5, 6, 7, 9, 2, 3, 6, 2))
      << fault_;
  ASSERT_TRUE(
      loadText(
          "fn @main(children: Tensor[(n, 3), i64]) {\n  y = reshape(children, i64[1] [-1])\n  return y\n}\n")
          ->ok());
  EXPECT_THAT(result("--input trees=@" + folder_.write("p.txt", "1 -1\n3 3 3 -1")),
              testing::ElementsAre(6, 6, 6, 0, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 2, 3, 4))
      << fault_;
  result("--input trees=@" + folder_.write("q.txt", "4 4 4 4 -1"));
  EXPECT_THAT(fault_, HasSubstr("a node has 4 children; input children takes 3"));
  ASSERT_TRUE(loadText("fn @main(x: Tensor[(n), i64]) {\n  return x\n}\n")->ok());
  result("--input trees=@" + file);
  EXPECT_THAT(fault_, HasSubstr("the model has no input 'trees'"));
}

}  // namespace
}  // namespace dyn
