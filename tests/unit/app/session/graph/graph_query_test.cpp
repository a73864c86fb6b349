// Searching in a graph and walking through it.
#include "app/session/graph/graph_query.h"

#include <gtest/gtest.h>

#include "app/session/session.h"
#include "app/session/views/graph_views.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_folder.h"

namespace dyn {
namespace {

constexpr const char* kQueriedModel = R"(
fn @main(%x: Tensor[(batch, seq, 4), f32], %past: Tensor[(batch, past, 4), f32], %w: Tensor[(4, 8), f32]) {
  %all = concat(%past, %x, axis = 1)
  %h = matmul(%all, %w)
  %r = relu(%h)
  %e = exp(%x)
  %y = softmax(%r, axis = -1)
  return %y, %e
}
)";

class GraphQueryTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(
        session_.execute(Command::of(CommandId::load).add("model", folder_.write("m.dyn", kQueriedModel)))
            ->ok());
    const auto outcome = session_.execute(Command::of(CommandId::graph));
    ASSERT_TRUE(outcome->ok());
    view_ = outcome->share<GraphView>();
  }
  std::string found(const std::string& text) {
    Result<GraphQuery> query = GraphQuery::parse(text);
    if (!query.ok()) return query.error().message;
    std::string names;
    for (int n : findNodes(*view_, *query, false)) names += view_->nodes[static_cast<size_t>(n)].name + " ";
    return names;
  }
  std::string namesOf(const std::vector<int>& nodes) {
    std::string names;
    for (int n : nodes)
      if (view_->nodes[static_cast<size_t>(n)].kind != NodeKind::output)
        names += view_->nodes[static_cast<size_t>(n)].name + " ";
    return names;
  }
  std::string say(const std::string& line) {
    const auto outcome = session_.execute(*parseCommand(line));
    if (outcome->error) return outcome->error->message;
    const NodeList* list = outcome->as<NodeList>();
    return list ? list->title : "another view";
  }
  test::TemporaryFolder folder_;
  Session session_;
  Shared<GraphView> view_;
};

TEST_F(GraphQueryTest, findsByWordsFactsAndPatterns) {
  EXPECT_EQ(found("SOFTMAX"), "y ");
  EXPECT_EQ(found("op:e"), "r e ") << "relu and exp";
  EXPECT_EQ(found("name:h softmax"), "");
}

TEST_F(GraphQueryTest, findsDimsAndShapes) {
  EXPECT_EQ(found("op:relu dim:past"), "r ");
  EXPECT_EQ(found("op:exp dim:past"), "");
  EXPECT_EQ(found("op:exp shape:[batch,seq,4]"), "e ");
  EXPECT_EQ(found("op:exp shape:[batch, ?, ...]"), "e ");
  EXPECT_EQ(found("op:exp shape:[?,?]"), "");
  EXPECT_EQ(found("op:softmax shape:[...,8]"), "y ");
  EXPECT_EQ(found("op:softmax dtype:f32"), "y ");
  EXPECT_EQ(found("op:softmax dtype:f3"), "");
  EXPECT_EQ(found("op:softmax attr:axis"), "y ");
  EXPECT_EQ(found("/^(relu|exp)/"), "r e ");
  EXPECT_EQ(found("/^(relu|exp)/ -exp"), "r ");
  EXPECT_NE(found("/(/").find("is not a regular expression"), std::string::npos);
  EXPECT_EQ(found(""), "");
  EXPECT_EQ(found("/layer.0/MatMul"), "") << "a name, not a pattern";
}

// As boxes show them, with and without the blank.
TEST_F(GraphQueryTest, findsTypesAsTheyAreShown) {
  EXPECT_EQ(found("op:exp f32 [batch, seq, 4]"), "e ");
  EXPECT_EQ(found("op:exp f32 [batch,seq,4]"), "e ");
  EXPECT_EQ(found("op:exp type:\"f32 [batch, seq, 4]\""), "e ");
  EXPECT_EQ(found("op:exp f32 [batch, seq, 5]"), "");
}

// What a file calls things: its operators, its values, its weights, and what the groups are called.
TEST(GraphQueryOfFile, findsByTheWordsOfTheFile) {
  Session session;
  const std::string model = test::sourceFolder() + "/samples/models/";
  const auto graphOf = [&](const char* name) -> Shared<GraphView> {
    const auto opened =
        session.execute(Command::of(CommandId::load).add("model", model + name + "/model.onnx"));
    return opened->ok() ? session.execute(Command::of(CommandId::graph))->share<GraphView>() : nullptr;
  };
  const auto count = [&](const GraphView& view, const std::string& text, bool constants = false) {
    return findNodes(view, *GraphQuery::parse(text), constants).size();
  };
  const Shared<GraphView> ssd = graphOf("ssd");
  if (!ssd) GTEST_SKIP() << "this build reads no ONNX files";
  EXPECT_GT(count(*ssd, "NonMaxSuppression"), 0u);
  EXPECT_GT(count(*ssd, "op:NonMaxSuppression"), 0u);
  EXPECT_GT(count(*ssd, "nonmax"), 0u);
  size_t weights = 0, captions = 0;
  for (const char* name : {"ssd", "bert"}) {
    const Shared<GraphView> view = graphOf(name);
    ASSERT_NE(view, nullptr);
    for (const GraphNode& node : view->nodes) {
      if (!node.sourceOp.empty()) {
        EXPECT_GT(count(*view, "op:" + node.sourceOp, true), 0u) << node.sourceOp;
      }
      if (node.kind != NodeKind::output && !node.name.empty()) {
        EXPECT_GT(count(*view, "\"" + node.name + "\"", true), 0u) << node.name;
      }
      // A weight that is not shown is found at the operation that takes it.
      const bool isTaken = std::any_of(view->edges.begin(), view->edges.end(),
                                       [&](const GraphEdge& edge) { return edge.from == node.id; });
      if (node.kind == NodeKind::constant && isTaken) {
        EXPECT_GT(count(*view, "\"" + node.name + "\""), 0u) << node.name;
        ++weights;
      }
    }
    for (const GraphGroup& group : view->groups)
      if (group.kind != GroupKind::region) {
        EXPECT_GT(count(*view, "\"" + group.label + "\"", true), 0u) << group.label;
        ++captions;
      }
  }
  EXPECT_GT(weights, 10u);
  EXPECT_GT(captions, 5u);
}

TEST_F(GraphQueryTest, walksAlongTheData) {
  const GraphWalk walk(view_);
  const auto index = [&](const char* name) { return walk.indexOf(std::string(name)); };
  EXPECT_EQ(namesOf(walk.upstream(index("h"))), "x past w all ");
  EXPECT_EQ(namesOf(walk.upstream(index("h"), 1)), "w all ");
  EXPECT_EQ(namesOf(walk.downstream(index("x"))), "all h r e y ");
  EXPECT_EQ(namesOf(walk.downstream(index("%x"), 1)), "all e ");
  EXPECT_EQ(namesOf(walk.path(index("past"), index("y"))), "past all h r y ");
  EXPECT_EQ(namesOf(walk.path(index("y"), index("past"))), "past all h r y ");
  EXPECT_EQ(namesOf(walk.path(index("past"), index("e"))), "");
  EXPECT_EQ(index("nothing"), -1);
}

TEST_F(GraphQueryTest, theShellWalksToo) {
  EXPECT_EQ(say(":find op:relu"), "1 operation of 10 matches op:relu");
  EXPECT_EQ(say(":trace h --inputs"), "%h: made of 4 values");
  EXPECT_EQ(say(":trace h --hops 1"), "%h: made of 2 values, goes into 1 operation within 1 step");
  EXPECT_EQ(say(":path x y"), "from %x to %y in 4 steps");
  EXPECT_EQ(say(":path past e"), "no data goes from %past to %e, nor back");
  EXPECT_EQ(say(":trace hh"), "there is no value 'hh' after infer");
  EXPECT_EQ(say(":path x y --pass nothing"), "there is no step 'nothing'");
}

}  // namespace
}  // namespace dyn
