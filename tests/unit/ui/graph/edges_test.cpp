// No line runs behind a box that it does not belong to: over all sample models, groups closed and open.
#include <gtest/gtest.h>

#include <QLineF>
#include <cmath>
#include <filesystem>

#include "app/session/session.h"
#include "app/session/views/graph_views.h"
#include "tests/support/paths.h"
#include "ui/graph/dot_layout.h"
#include "ui/graph/graph_painter.h"
#include "ui/graph/graph_scene.h"
#include "ui/graph/text_widths.h"

namespace dyn::ui {
namespace {

class Lines {
 public:
  explicit Lines(const GraphScene& scene) : scene_(scene) {}

  // Of the edge, by what it goes behind; "" when there is nothing.
  std::string fault(const SceneEdge& edge) const {
    if (edge.tunnelled || edge.ownership) return "";
    const QPolygonF line = edgePath(edge).toSubpathPolygons().value(0);
    for (size_t i = 0; i < scene_.boxes.size(); ++i) {
      const SceneBox& box = scene_.boxes[i];
      if (belongs(edge, static_cast<int>(i))) continue;
      const QRectF inside = box.rect.adjusted(1.5, 1.5, -1.5, -1.5);
      for (qsizetype p = 1; p < line.size(); ++p)
        if (meets(QLineF(line[p - 1], line[p]), inside))
          return name(edge.from) + " -> " + name(edge.to) + " goes behind " + name(static_cast<int>(i));
    }
    return "";
  }

 private:
  std::string name(int box) const { return scene_.boxes[static_cast<size_t>(box)].title.toStdString(); }

  // Its ends, and the frames around them.
  bool belongs(const SceneEdge& edge, int box) const {
    if (box == edge.from || box == edge.to) return true;
    const SceneBox& frame = scene_.boxes[static_cast<size_t>(box)];
    if (!frame.frame) return false;
    for (const int end : {edge.from, edge.to})
      if (frame.rect.contains(scene_.boxes[static_cast<size_t>(end)].rect)) return true;
    return false;
  }

  static bool meets(const QLineF& line, const QRectF& rect) {
    if (rect.contains(line.p1()) || rect.contains(line.p2())) return true;
    for (const QLineF& side :
         {QLineF(rect.topLeft(), rect.topRight()), QLineF(rect.topRight(), rect.bottomRight()),
          QLineF(rect.bottomRight(), rect.bottomLeft()), QLineF(rect.bottomLeft(), rect.topLeft())})
      if (side.intersects(line, nullptr) == QLineF::BoundedIntersection) return true;
    return false;
  }

  const GraphScene& scene_;
};

TEST(Edges, noneRunsBehindABoxOfOthers) {
  size_t graphs = 0, edges = 0;
  std::vector<std::string> files;
  const std::string samples = test::sourceFolder() + "/samples";
  const std::string ownOperators = samples + "/19_custom_operators/";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(samples)) {
    const bool definesOperators =
        entry.path().extension() == ".dyn" && entry.path().string().starts_with(ownOperators);
    if ((entry.path().extension() == ".onnx" || entry.path().extension() == ".dyn") && !definesOperators)
      files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    SessionOptions sessionOptions;
    if (file.starts_with(ownOperators))
      for (const char* const name : {"acme.dyn;", "mmcv.dyn;", "contrib.dyn"})
        sessionOptions.operatorFiles += ownOperators + name;
    Session session(sessionOptions);
    const auto opened = session.execute(Command::of(CommandId::load).add("model", file));
    if (opened->error && opened->error->message.find("reads no ONNX") != std::string::npos) continue;
    ASSERT_TRUE(opened->ok()) << file;
    for (const char* step : {"infer", "fuse", "plan"}) {
      const auto outcome = session.execute(Command::of(CommandId::graph).add("pass", step));
      ASSERT_TRUE(outcome->ok()) << file;
      const Shared<GraphView> view = outcome->share<GraphView>();
      SceneOptions options;
      options.titleWidth = TextWidths(titleFont());
      options.subtitleWidth = TextWidths(subtitleFont());
      for (const bool all : {false, true}) {
        options.open = firstOpenGroups(*view);
        for (const GraphGroup& group : view->groups)
          if (all && group.kind != GroupKind::region) options.open.insert(group.path);
        const GraphScene scene = buildScene(*view, options);
        ++graphs;
        edges += scene.edges.size();
        std::vector<std::string> faults;
        const Lines lines(scene);
        for (const SceneEdge& edge : scene.edges)
          if (const std::string fault = lines.fault(edge); !fault.empty()) faults.push_back(fault);
        EXPECT_EQ(faults.size(), 0u) << std::filesystem::path(file).parent_path().filename() << ", " << step
                                     << (all ? ", all open: " : ": ") << faults.size() << " of "
                                     << scene.edges.size() << ", such as "
                                     << (faults.empty() ? "" : faults[0]);
      }
    }
  }
  EXPECT_GT(graphs, 6u);
  EXPECT_GT(edges, 20u);
}

// Graphviz leads lines round boxes too, in each frame by itself.
TEST(Edges, noneRunsBehindABoxOfOthersByGraphviz) {
  if (dotProgram().isEmpty()) GTEST_SKIP() << "Graphviz is not installed";
  Session session;
  ASSERT_TRUE(session
                  .execute(Command::of(CommandId::load)
                               .add("model", test::sourceFolder() + "/samples/models/bert/model.onnx"))
                  ->ok());
  const Shared<GraphView> view =
      session.execute(Command::of(CommandId::graph).add("pass", "infer"))->share<GraphView>();
  SceneOptions options;
  for (const GraphGroup& group : view->groups)
    if (group.kind != GroupKind::region) options.open.insert(group.path);
  int frames = 0;
  options.layout = [&](const LayoutInput& input) {
    ++frames;
    return dotLayout(input, [] { return false; });
  };
  const GraphScene scene = buildScene(*view, options);
  EXPECT_EQ(scene.remarks.join("; ").toStdString(), "");
  EXPECT_GT(frames, 5);
  const Lines lines(scene);
  std::vector<std::string> faults;
  for (const SceneEdge& edge : scene.edges)
    if (const std::string fault = lines.fault(edge); !fault.empty()) faults.push_back(fault);
  EXPECT_EQ(faults.size(), 0u) << "of " << scene.edges.size() << ", such as "
                               << (faults.empty() ? "" : faults[0]);
}

// A mask that every layer reads comes in by a line and ports: the layers stand as they would without it.
TEST(Edges, whatIsNotDrawnMovesNoBox) {
  constexpr NodeId kLayers = 12;
  const auto encoder = [](NodeId readers) {
    GraphView view;
    view.groups.push_back({.path = "encoder", .label = "encoder"});
    for (NodeId id = 1; id <= kLayers + 1; ++id) {
      GraphNode node;
      node.id = id;
      node.op = node.label = "relu";
      node.group = id == 1 ? -1 : 0;
      view.nodes.push_back(node);
      if (id > 2) view.edges.push_back({.from = id - 1, .to = id, .name = "h"});
      if (id > 1 && id <= readers + 1) view.edges.push_back({.from = 1, .to = id, .name = "mask"});
    }
    SceneOptions options;
    options.open = {"encoder"};
    return buildScene(view, options);
  };
  const GraphScene all = encoder(kLayers), one = encoder(1);
  EXPECT_EQ(std::count_if(all.edges.begin(), all.edges.end(), [](const auto& e) { return e.tunnelled; }),
            static_cast<int>(kLayers) - 1);
  const auto place = [](const GraphScene& scene, size_t layer) {
    const auto box = [&](size_t node) {
      return scene.boxes[static_cast<size_t>(scene.boxOfNode[node])].rect;
    };
    return box(layer).center() - box(1).center();
  };
  for (size_t layer = 2; layer <= kLayers; ++layer) EXPECT_EQ(place(all, layer), place(one, layer)) << layer;
}

}  // namespace
}  // namespace dyn::ui
