// The panels round the graph: dims, memory, timeline, text; what the window remembers; layouts on another
// thread.
#include <gtest/gtest.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QFile>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QTimer>

#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"
#include "tests/support/idle_window.h"
#include "ui/graph/graph_dot.h"

namespace dyn::ui {
namespace {

using test::waitIdle;

constexpr const char* kPanelsMlp = R"(fn @main(%x: Tensor[(n, 768), f32], %w: Tensor[(768, m), f32]) {
  %h = relu(%x)
  %s = matmul(%h, %w)
  %y = softmax(%s, axis = -1)
  return %y
}
)";

void click(QWidget* widget, QPoint at) {
  const QPointF here(at), there(widget->mapToGlobal(at));
  QMouseEvent press(QEvent::MouseButtonPress, here, there, Qt::LeftButton, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(widget, &press);
  QMouseEvent release(QEvent::MouseButtonRelease, here, there, Qt::LeftButton, Qt::NoButton, Qt::NoModifier);
  QApplication::sendEvent(widget, &release);
}

void strike(QWidget* widget, Qt::Key key) {
  QKeyEvent press(QEvent::KeyPress, key, Qt::NoModifier);
  QApplication::sendEvent(widget, &press);
  QKeyEvent release(QEvent::KeyRelease, key, Qt::NoModifier);
  QApplication::sendEvent(widget, &release);
}

void pauseForPanels(int milliseconds) {
  QEventLoop loop;
  QTimer::singleShot(milliseconds, &loop, &QEventLoop::quit);
  loop.exec();
}

class PanelsTest : public testing::Test {
 protected:
  QString write(const char* name, const char* text) {
    QFile file(directory_.filePath(name));
    EXPECT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(text);
    return file.fileName();
  }
  void open(MainWindow& window) {
    window.setDim("n", 10);
    window.setDim("m", 5);
    window.show();
    window.open(write("mlp.dyn", kPanelsMlp));
    waitIdle(window);
    ASSERT_EQ(window.lastError().toStdString(), "");
  }
  static std::string selected(const MainWindow& window) {
    const int node = window.canvas()->selectedNode();
    return node < 0 ? "" : window.canvas()->graph()->nodes[static_cast<size_t>(node)].name;
  }
  QTemporaryDir directory_;
};

TEST_F(PanelsTest, aLineOfTheTextChoosesTheOperation) {
  MainWindow window;
  open(window);
  auto* text = window.findChild<IrTextView*>("irText");
  ASSERT_NE(text, nullptr);
  int line = 0;
  while (line < text->lineCount() && !text->lineText(line).contains("matmul(")) ++line;
  ASSERT_LT(line, text->lineCount()) << text->toPlainText().toStdString();
  text->showLine(line);
  click(text->viewport(), text->lineRect(line).center());
  EXPECT_EQ(selected(window), "s");
}

TEST_F(PanelsTest, dimsSayWhereTheyComeFrom) {
  MainWindow window;
  open(window);
  auto* panel = window.findChild<DimsPanel*>();
  ASSERT_NE(panel, nullptr);
  window.askWhy("y.1 = w.1");
  waitIdle(window);
  EXPECT_TRUE(panel->answer().contains("yes")) << panel->answer().toStdString();
  window.askWhy("y.7");
  waitIdle(window);
  EXPECT_TRUE(panel->answer().contains("rank")) << panel->answer().toStdString();
  EXPECT_EQ(window.lastError().toStdString(), "")
      << "a question that cannot be answered is not a fault of the model";
}

TEST_F(PanelsTest, theMemoryPlanFollowsTheDims) {
  MainWindow window;
  open(window);
  auto* plan = window.findChild<PlanPanel*>();
  ASSERT_NE(plan, nullptr);
  EXPECT_TRUE(plan->canvas()->blocks().empty()) << "compiled before anyone looks at the plan";
  window.showPanel("Memory");
  waitIdle(window);
  ASSERT_FALSE(plan->canvas()->blocks().empty()) << plan->summary().toStdString();
  EXPECT_TRUE(plan->summary().contains("m=5, n=10")) << plan->summary().toStdString();
  const QString before = plan->summary();
  window.setDim("n", 1000);
  pauseForPanels(300);  // changes that come quickly are asked for once
  waitIdle(window);
  EXPECT_TRUE(plan->summary().contains("n=1000"));
  // No two blocks that live at the same time overlap.
  const auto& blocks = plan->canvas()->blocks();
  for (size_t i = 0; i < blocks.size(); ++i)
    for (size_t j = i + 1; j < blocks.size(); ++j) {
      const bool inTime = blocks[i].begin < blocks[j].end && blocks[j].begin < blocks[i].end;
      const bool inSpace = blocks[i].low < blocks[j].high && blocks[j].low < blocks[i].high;
      EXPECT_FALSE(inTime && inSpace && blocks[i].end - 1 > blocks[j].begin &&
                   blocks[j].end - 1 > blocks[i].begin);
    }
  QApplication::processEvents();
  click(plan->canvas(), plan->canvas()->rectOf(blocks.front()).center().toPoint());
  EXPECT_NE(selected(window), "");
}

TEST_F(PanelsTest, theTimelineNestsAndLeadsToTheGraph) {
  MainWindow window;
  open(window);
  window.run();
  waitIdle(window);
  ASSERT_EQ(window.lastError().toStdString(), "");
  window.showPanel("Timeline");
  QApplication::processEvents();
  auto* timeline = window.findChild<TimelineCanvas*>();
  ASSERT_NE(timeline, nullptr);
  const auto& bars = timeline->bars();
  ASSERT_GE(bars.size(), 3u);
  for (size_t i = 0; i < bars.size(); ++i)
    for (size_t j = i + 1; j < bars.size(); ++j)
      EXPECT_FALSE(bars[i].row == bars[j].row && bars[i].beginNs < bars[j].endNs &&
                   bars[j].beginNs < bars[i].endNs)
          << "two bars lie on each other";
  size_t longest = bars.size();
  for (size_t i = 0; i < bars.size(); ++i)
    if (window.lastRun()->timeline[i].kind != "function" && !window.lastRun()->timeline[i].place.empty() &&
        (longest == bars.size() ||
         bars[i].endNs - bars[i].beginNs > bars[longest].endNs - bars[longest].beginNs))
      longest = i;
  ASSERT_LT(longest, bars.size());
  click(timeline, timeline->rectOf(bars[longest]).center().toPoint());
  EXPECT_NE(selected(window), "");
  const double before = timeline->nsPerPixel();
  strike(timeline, Qt::Key_W);
  EXPECT_LT(timeline->nsPerPixel(), before);
  strike(timeline, Qt::Key_F);
  EXPECT_DOUBLE_EQ(timeline->nsPerPixel(), before);
}

TEST_F(PanelsTest, filesAndDimsAreRemembered) {
  const QString settings = directory_.filePath("settings.json");
  {
    MainWindow window({}, settings);
    open(window);
    window.close();
  }
  MainWindow window({}, settings);
  window.open(directory_.filePath("mlp.dyn"));
  waitIdle(window);
  EXPECT_EQ(window.dimValues(), (std::map<std::string, int>{{"m", 5}, {"n", 10}}));
  EXPECT_EQ(WindowSettings(settings).recentFiles().value(0), directory_.filePath("mlp.dyn"));
  for (const char* broken :
       {"", "{", "[]", R"({"version": 99, "recent": ["x"]})",
        R"({"version": 1, "recent": 7, "dims": {"a": [], "b": {"n": "x"}}, "docks": "%%"})"}) {
    write("settings.json", broken);
    MainWindow other({}, settings);
    EXPECT_TRUE(WindowSettings(settings).recentFiles().isEmpty()) << broken;
  }
}

TEST_F(PanelsTest, aScriptOfTheShellDrivesTheWindow) {
  MainWindow window;
  ASSERT_TRUE(window.submitLine(":load " + write("mlp.dyn", kPanelsMlp).toStdString()));
  waitIdle(window);
  ASSERT_TRUE(window.submitLine(":graph fuse"));
  waitIdle(window);
  EXPECT_EQ(window.canvas()->graph()->stepName, "fuse");
  EXPECT_FALSE(window.submitLine(":nonsense"));
  EXPECT_EQ(window.lastErrorCode(), 2);
  ASSERT_TRUE(window.submitLine(":run --dim n=2"));
  waitIdle(window);
  EXPECT_EQ(window.lastErrorCode(), 1);
  EXPECT_TRUE(window.lastError().contains("m=N")) << window.lastError().toStdString();
}

std::shared_ptr<const GraphView> longGraph(const char* step, NodeId count) {
  auto view = std::make_shared<GraphView>();
  view->stepName = step;
  for (NodeId id = 0; id < count; ++id) {
    GraphNode node;
    node.id = id;
    node.op = node.label = "relu";
    view->nodes.push_back(node);
    if (id > 0) view->edges.push_back({id - 1, id, 0, 0, "x", ""});
    if (id > 7) view->edges.push_back({id - 7, id, 0, 0, "x", ""});
  }
  return view;
}

void settle(GraphCanvas& canvas) {
  QElapsedTimer clock;
  clock.start();
  while (!canvas.settled() && clock.elapsed() < 60'000) pauseForPanels(5);
  ASSERT_TRUE(canvas.settled());
}

TEST(GraphCanvasTest, largeGraphsAreLaidOutAside) {
  GraphCanvas canvas;
  canvas.resize(600, 400);
  const auto large = longGraph("large", 6000), small = longGraph("small", 30);
  canvas.setGraph(large, false);
  EXPECT_FALSE(canvas.settled()) << "laid out on the window's thread";
  EXPECT_EQ(canvas.graph(), nullptr);
  settle(canvas);
  ASSERT_NE(canvas.graph(), nullptr);
  EXPECT_EQ(canvas.scene().boxes.size(), 6000u);
  EXPECT_TRUE(canvas.revealId(3000));
  EXPECT_TRUE(canvas.minimapShown());
  canvas.fit();
  // The later wish wins, whichever layout is done first.
  canvas.setGraph(longGraph("other", 6000), true);
  EXPECT_EQ(canvas.graph()->stepName, "large") << "the old picture stays meanwhile";
  canvas.setGraph(small, true);
  settle(canvas);
  pauseForPanels(50);
  EXPECT_EQ(canvas.graph()->stepName, "small");
  EXPECT_EQ(canvas.scene().boxes.size(), 30u);
  canvas.setGraph(large, true);  // and the canvas may go while one is under way
}

TEST(GraphDotTest, openGroupsAreClusters) {
  auto view = std::make_shared<GraphView>();
  view->stepName = "infer";
  view->groups = {{"outer", "outer", GroupKind::scope, -1, kNoNode},
                  {"outer/in\"ner", "in\"ner", GroupKind::scope, 0, kNoNode},
                  {"closed", "closed", GroupKind::scope, -1, kNoNode}};
  const int groups[] = {-1, 0, 1, 1, 2, 2};
  for (NodeId id = 0; id < 6; ++id) {
    GraphNode node;
    node.id = id;
    node.op = node.label = "op" + std::to_string(id);
    node.group = groups[id];
    view->nodes.push_back(node);
    if (id > 0) view->edges.push_back({id - 1, id, 0, 0, "x", ""});
  }
  SceneOptions options;
  options.open = {"outer", "outer/in\"ner"};
  const QString text = QString::fromUtf8(graphDot(buildScene(*view, options), *view));
  EXPECT_EQ(text.count("subgraph cluster_"), 2) << text.toStdString();
  EXPECT_EQ(text.count(" -> "), 4) << text.toStdString();
  EXPECT_TRUE(text.contains(R"(label="in\"ner")")) << text.toStdString();
  EXPECT_TRUE(text.contains(R"(label="closed\n2 ops", peripheries=2)")) << text.toStdString();
  int depth = 0;
  for (QChar c : text) {
    if (c == '{') ++depth;
    if (c == '}') --depth;
    ASSERT_GE(depth, 0);
  }
  EXPECT_EQ(depth, 0);
}

}  // namespace
}  // namespace dyn::ui
