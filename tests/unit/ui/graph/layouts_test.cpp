// Where boxes stand: by Graphviz, and in the order of the picture before.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "app/session/session.h"
#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"
#include "tests/support/paths.h"
#include "ui/graph/dot_layout.h"
#include "ui/graph/graph_scene.h"

namespace dyn::ui {
namespace {

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

LayoutInput fan(int width) {  // one box, `width` under it, one under them
  LayoutInput input;
  input.nodes.assign(static_cast<size_t>(width) + 2, {80, 30});
  for (int i = 1; i <= width; ++i) {
    input.edges.push_back({0, i});
    input.edges.push_back({i, width + 1});
  }
  return input;
}

bool never() { return false; }

TEST(DotLayout, boxesStandApartAndLinesJoinThem) {
  if (dotProgram().isEmpty()) GTEST_SKIP() << "Graphviz is not installed";
  LayoutInput input = fan(7);
  input.tops = {0};
  input.bottoms = {8};
  const LayoutAnswer answer = dotLayout(input, never);
  ASSERT_TRUE(answer.layout) << answer.fault;
  const LayoutResult& out = *answer.layout;
  const auto rect = [&](size_t i) {
    return QRectF(out.nodes[i].x, out.nodes[i].y, input.nodes[i].width, input.nodes[i].height);
  };
  for (size_t i = 0; i < input.nodes.size(); ++i)
    for (size_t j = i + 1; j < input.nodes.size(); ++j)
      EXPECT_FALSE(rect(i).intersects(rect(j))) << i << " and " << j;
  for (size_t e = 0; e < input.edges.size(); ++e) {
    const QRectF from = rect(static_cast<size_t>(input.edges[e].from)),
                 to = rect(static_cast<size_t>(input.edges[e].to));
    ASSERT_GE(out.edges[e].points.size(), 2u);
    const LayoutPoint first = out.edges[e].points.front(), last = out.edges[e].points.back();
    EXPECT_LT(from.bottom(), to.top());
    EXPECT_NEAR(first.y, from.bottom(), 2);
    EXPECT_NEAR(last.y, to.top(), 2);
    EXPECT_TRUE(from.left() - 1 <= first.x && first.x <= from.right() + 1);
    EXPECT_TRUE(to.left() - 1 <= last.x && last.x <= to.right() + 1);
  }
}

TEST(DotLayout, saysWhyThereIsNone) {
  EXPECT_NE(dotLayout(fan(600), never).fault.find("up to 500 boxes"), std::string::npos);
  if (dotProgram().isEmpty()) GTEST_SKIP() << "Graphviz is not installed";
  EXPECT_EQ(dotLayout(fan(400), [] { return true; }).fault, "cancelled");
  EXPECT_NE(dotLayout(fan(400), never, -1).fault.find("took more than"), std::string::npos);
  EXPECT_NE(dotPicture("digraph {", "ps").fault.toStdString().find("Graphviz failed"), std::string::npos);
  EXPECT_TRUE(dotPicture("digraph { a -> b }", "ps").bytes.startsWith("%!PS"));
}

TEST(LayeredLayout, keepsTheOrderOfBefore) {
  LayoutInput input = fan(7);
  input.before.assign(input.nodes.size(), kAbsent);
  for (size_t i = 1; i <= 7; ++i) input.before[i] = -100.0 * static_cast<double>(i);
  input.before[4] = kAbsent;  // new: anywhere
  const LayoutResult out = layeredLayout(input);
  double last = std::numeric_limits<double>::max();
  for (size_t i = 1; i <= 7; ++i) {
    if (i == 4) continue;
    EXPECT_LT(out.nodes[i].x, last) << i;
    last = out.nodes[i].x;
  }
}

// Unless it costs many crossings: chains that stood in one order above and in the other below.
TEST(LayeredLayout, givesAnOrderUpThatWouldTangle) {
  LayoutInput input;
  constexpr int kChains = 12;
  input.nodes.assign(2 * kChains, {80, 30});
  input.before.resize(2 * kChains);
  for (int i = 0; i < kChains; ++i) {
    input.edges.push_back({i, kChains + i});
    input.before[static_cast<size_t>(i)] = i;
    input.before[static_cast<size_t>(kChains + i)] = -i;
  }
  const LayoutResult out = layeredLayout(input);
  for (size_t i = 0; i < kChains; ++i) EXPECT_NEAR(out.nodes[i].x, out.nodes[kChains + i].x, 1);
}

// Left and right of each other in both pictures, and turned round.
int turned(const GraphScene& a, const GraphView& viewA, const GraphScene& b, const GraphView& viewB) {
  std::map<NodeId, size_t> there;
  for (size_t n = 0; n < viewB.nodes.size(); ++n)
    if (b.boxOfNode[n] >= 0) there[viewB.nodes[n].id] = static_cast<size_t>(b.boxOfNode[n]);
  std::vector<std::pair<const SceneBox*, const SceneBox*>> both;
  for (const SceneBox& box : a.boxes)
    if (box.node >= 0)
      if (auto it = there.find(viewA.nodes[static_cast<size_t>(box.node)].id); it != there.end())
        both.emplace_back(&box, &b.boxes[it->second]);
  const auto sameRow = [](const SceneBox* p, const SceneBox* q) {
    return p->container == q->container && std::abs(p->rect.center().y() - q->rect.center().y()) < 3;
  };
  int count = 0;
  for (size_t i = 0; i < both.size(); ++i)
    for (size_t j = i + 1; j < both.size(); ++j)
      count += sameRow(both[i].first, both[j].first) && sameRow(both[i].second, both[j].second) &&
               (both[i].first->rect.x() < both[j].first->rect.x()) !=
                   (both[i].second->rect.x() < both[j].second->rect.x());
  return count;
}

TEST(Scenes, boxesKeepTheirSidesFromPassToPass) {
  int anew = 0, seeded = 0;
  for (const char* model : {"bert", "gpt2", "ssd", "lstm_loop"}) {
    Session session;
    ASSERT_TRUE(
        session
            .execute(Command::of(CommandId::load)
                         .add("model", test::sourceFolder() + "/samples/models/" + model + "/model.onnx"))
            ->ok());
    Shared<GraphView> last;
    GraphScene lastAnew, lastSeeded;
    for (const char* step : {"infer", "simplify", "fuse", "plan"}) {
      const auto outcome = session.execute(Command::of(CommandId::graph).add("pass", step));
      ASSERT_TRUE(outcome->ok()) << model << " " << step;
      const Shared<GraphView> view = outcome->share<GraphView>();
      SceneOptions options;
      for (const GraphGroup& group : view->groups)
        if (group.kind != GroupKind::region) options.open.insert(group.path);
      GraphScene fresh = buildScene(*view, options);
      options.before = lastSeeded.order;
      GraphScene kept = buildScene(*view, options);
      if (last) {
        anew += turned(lastAnew, *last, fresh, *view);
        seeded += turned(lastSeeded, *last, kept, *view);
      }
      last = view;
      lastAnew = std::move(fresh);
      lastSeeded = std::move(kept);
    }
  }
  EXPECT_LE(4 * seeded, anew) << "pairs that changed sides";
}

}  // namespace
}  // namespace dyn::ui
