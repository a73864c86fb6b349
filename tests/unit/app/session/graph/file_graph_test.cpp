// The graph of a file as it is written, beside the graph of the import.
#include "app/session/graph/file_graph.h"

#include <gtest/gtest.h>

#include <set>

#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"
#include "tests/support/paths.h"

namespace dyn {
namespace {

TEST(FileGraph, IsWhatTheFileSays) {
  for (const char* model : {"bert", "ssd", "lstm_loop", "early_exit"}) {
    SCOPED_TRACE(model);
    Result<GraphView> view = fileGraph(test::sourceFolder() + "/samples/models/" + model + "/model.onnx");
    if (!view.ok() && view.error().id == DiagnosticId::unsupportedFeature)
      GTEST_SKIP() << view.error().message;
    ASSERT_TRUE(view.ok()) << view.error().toString();
    std::set<NodeId> nodes;
    for (const GraphNode& node : view->nodes) {
      EXPECT_TRUE(nodes.insert(node.id).second);
      EXPECT_LT(node.group, static_cast<int>(view->groups.size()));
      // Everything that is read is made somewhere, in the graph or around it.
      for (const GraphPort& port : node.inputs)
        EXPECT_TRUE(port.name.empty() || port.node != kNoNode) << node.op << " reads " << port.name;
    }
    for (const GraphEdge& edge : view->edges) EXPECT_TRUE(nodes.count(edge.from) && nodes.count(edge.to));
    for (size_t g = 0; g < view->groups.size(); ++g) EXPECT_LT(view->groups[g].parent, static_cast<int>(g));
  }
}

TEST(FileGraph, BodiesAreGroupsOfTheirNode) {
  Result<GraphView> view = fileGraph(test::sourceFolder() + "/samples/models/lstm_loop/model.onnx");
  if (!view.ok() && view.error().id == DiagnosticId::unsupportedFeature) GTEST_SKIP() << view.error().message;
  ASSERT_TRUE(view.ok());
  int bodies = 0;
  for (const GraphGroup& group : view->groups) {
    if (group.kind != GroupKind::region) continue;
    ++bodies;
    const auto owner = std::find_if(view->nodes.begin(), view->nodes.end(),
                                    [&](const GraphNode& node) { return node.id == group.owner; });
    ASSERT_NE(owner, view->nodes.end());
    EXPECT_EQ(owner->op, "Loop");
  }
  EXPECT_EQ(bodies, 1);
}

TEST(FileGraph, NamesTheFileThatIsNotThere) {
  const Result<GraphView> view = fileGraph("/nowhere/model.onnx");
  ASSERT_FALSE(view.ok());
  EXPECT_NE(view.error().toString().find("/nowhere/model.onnx"), std::string::npos);
}

}  // namespace
}  // namespace dyn
