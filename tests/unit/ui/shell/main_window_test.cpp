// The window without a display: open, look, search, run.
#include "ui/shell/main_window.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <QAction>
#include <QApplication>
#include <QFile>
#include <QFontInfo>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QTabWidget>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QThread>
#include <QToolButton>
#include <algorithm>
#include <limits>

#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"
#include "tests/support/idle_window.h"
#include "tests/support/paths.h"
#include "tests/support/watched_application.h"
#include "ui/graph/layered_layout.h"

namespace dyn::ui {
namespace {

using test::waitIdle;

QString writeModel(const QTemporaryDir& directory, const char* text) {
  const QString name = directory.filePath("model.dyn");
  QFile file(name);
  EXPECT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(text);
  return name;
}

constexpr const char* kModel =
    R"(fn @main(%x: Tensor[(n, m), f32]) { softmax(relu(x) * 2.0 + x, axis = -1) })";

TEST(MainWindow, opensSearchesAndRuns) {
  QTemporaryDir directory;
  MainWindow window;
  window.show();
  window.open(writeModel(directory, kModel));
  waitIdle(window);
  ASSERT_EQ(window.lastError().toStdString(), "");
  ASSERT_NE(window.canvas()->graph(), nullptr);
  EXPECT_GE(window.canvas()->scene().boxes.size(), 4u);
  EXPECT_EQ(window.model()->symbols, (std::vector<std::string>{"n", "m"}));
  window.canvas()->search("softmax");
  EXPECT_EQ(window.canvas()->matchesCount(), 1);
  window.canvas()->nextMatch();
  ASSERT_GE(window.canvas()->selectedNode(), 0);
  window.setDim("n", 3);
  window.setDim("m", 5);
  window.run();
  waitIdle(window);
  ASSERT_EQ(window.lastError().toStdString(), "");
  ASSERT_NE(window.lastRun(), nullptr);
  EXPECT_EQ(window.lastRun()->outputs.at(0).type, "Tensor[(3, 5), f32]");
  int64_t shown = 0;
  for (size_t box = 0; box < window.canvas()->scene().boxes.size(); ++box)
    shown += window.canvas()->timeOfBox(static_cast<int>(box));
  EXPECT_GT(shown, 0) << "no time of the run was found on the graph";
}

// A model of which some operators are unknown is drawn, and says all that keeps it from running.
TEST(MainWindow, drawsWhatItCanNotRun) {
  QTemporaryDir directory;
  const QString name = directory.filePath("unknown.onnx");
  QFile known(QString::fromStdString(test::sourceFolder() + "/samples/models/bert/model.onnx")), file(name);
  ASSERT_TRUE(known.open(QIODevice::ReadOnly) && file.open(QIODevice::WriteOnly));
  // Field 4 of a node, of 7 bytes.
  file.write(known.readAll().replace("\x22\x07Softmax", "\x22\x07Softmex"));
  file.close();
  MainWindow window;
  window.show();
  window.open(name);
  waitIdle(window);
  if (window.lastError().contains("reads no ONNX files")) GTEST_SKIP() << "this build reads no ONNX files";
  EXPECT_TRUE(window.lastError().contains("Softmex"));
  EXPECT_EQ(window.lastErrorCode(), 4);
  ASSERT_NE(window.canvas()->graph(), nullptr);
  EXPECT_GT(window.canvas()->graph()->nodes.size(), 100u);
  auto* problems = window.findChild<QTableWidget*>("problems");
  ASSERT_NE(problems, nullptr);
  ASSERT_EQ(problems->rowCount(), 2);
  EXPECT_EQ(problems->item(1, 1)->text().toStdString(), "did you mean Softmax?");
  const int box = window.canvas()->selectedNode();
  EXPECT_EQ(box, -1);
  Q_EMIT problems->cellActivated(1, 0);
  waitIdle(window);
  ASSERT_GE(window.canvas()->selectedNode(), 0);
  const GraphNode& node =
      window.canvas()->graph()->nodes[static_cast<size_t>(window.canvas()->selectedNode())];
  EXPECT_EQ(node.op, "Softmex");
  EXPECT_NE(node.sourceNode.find("layer.1"), std::string::npos);
  EXPECT_FALSE(window.findChild<QPushButton*>("runButton")->isEnabled());
  // Another model can be opened and run after it.
  window.open(writeModel(directory, kModel));
  waitIdle(window);
  EXPECT_EQ(window.lastError().toStdString(), "");
  EXPECT_EQ(problems->rowCount(), 0);
  EXPECT_TRUE(window.findChild<QPushButton*>("runButton")->isEnabled());
}

// What does not type-check is drawn too, up to the pass that failed, and marked where it fails.
TEST(MainWindow, listsWhatAPassFinds) {
  QTemporaryDir directory;
  MainWindow window;
  window.open(writeModel(
      directory,
      "fn @main(%x: Tensor[(2, 3), f32]) {\n  %y = relu(%x)\n  %z = matmul(%y, %y)\n  return %z\n}"));
  waitIdle(window);
  EXPECT_NE(window.lastError().toStdString(), "");
  EXPECT_EQ(window.findChild<QTableWidget*>("problems")->rowCount(), 1);
  ASSERT_NE(window.canvas()->graph(), nullptr);
}

// The console speaks the language of the shell, and what it does shows in the window.
TEST(MainWindow, theConsoleIsTheShell) {
  QTemporaryDir directory;
  MainWindow window;
  window.show();
  window.open(writeModel(directory, kModel));
  waitIdle(window);
  auto* line = window.findChild<QLineEdit*>("consoleLine");
  auto* output = window.findChild<QPlainTextEdit*>("consoleOutput");
  ASSERT_TRUE(line && output);
  EXPECT_TRUE(output->toPlainText().contains("dyn> :load ")) << "what the menu did is said";
  const auto press = [&](int key) {
    QKeyEvent event(QEvent::KeyPress, key, Qt::NoModifier);
    QApplication::sendEvent(line, &event);
  };
  const auto type = [&](const char* text) {
    line->setText(text);
    press(Qt::Key_Return);
    waitIdle(window);
  };
  type(":run --dim n=2 --dim m=3");
  ASSERT_NE(window.lastRun(), nullptr) << "the window has the run, too";
  EXPECT_TRUE(output->toPlainText().contains("f32"));
  // An entry goes on while brackets are open.
  type("relu([1.0,");
  type("-2.0])");
  EXPECT_TRUE(output->toPlainText().contains("[1.0")) << output->toPlainText().toStdString();
  press(Qt::Key_Up);
  press(Qt::Key_Up);
  EXPECT_EQ(line->text(), ":run --dim n=2 --dim m=3");
  line->setText(":kern");
  press(Qt::Key_Tab);
  EXPECT_EQ(line->text().trimmed(), ":kernels");
  type(":nonsense");
  EXPECT_TRUE(output->toPlainText().contains("there is no command :nonsense"));
  type("# a comment");
  // What changes the program changes what is shown of it.
  type(":set passes infer,bufferize");
  EXPECT_EQ(window.lastError().toStdString(), "");
  ASSERT_NE(window.passes(), nullptr);
  EXPECT_LT(window.passes()->rows.size(), 6u);
}

TEST(MainWindow, thePaletteFindsActionsAndCommands) {
  MainWindow window;
  window.show();
  auto* palette = window.findChild<CommandPalette*>();
  auto* search = window.findChild<QLineEdit*>("paletteSearch");
  auto* rows = window.findChild<QTableWidget*>("paletteRows");
  ASSERT_TRUE(palette && search && rows);
  for (QAction* action : window.findChildren<QAction*>())
    if (action->shortcut() == QKeySequence("Ctrl+Shift+P")) action->trigger();
  EXPECT_GT(rows->rowCount(), 40);
  search->setText("memory plan");
  ASSERT_GE(rows->rowCount(), 1);
  EXPECT_LT(rows->rowCount(), 12);
  search->setText(":plan");
  Q_EMIT search->returnPressed();
  EXPECT_EQ(window.findChild<QLineEdit*>("consoleLine")->text(), ":plan ");
  EXPECT_FALSE(palette->isVisible());
}

// A program that runs until it is interrupted; a step asked for meanwhile is dropped with it.
TEST(MainWindow, afterCancelTheListIsThatOfTheGraph) {
  QTemporaryDir directory;
  MainWindow window;
  window.open(writeModel(directory, R"(fn @main(%x: Tensor[(n), f32], %c: Tensor[(), bool]) {
    %y = loop(_, %c, %x) {carried = 1} body (%i: Tensor[(), i64], %v: Tensor[(n), f32]) {
      %t = constant() {value = bool[] true}
      return %t, %v
    }
    return %y
  })"));
  waitIdle(window);
  ASSERT_EQ(window.lastError().toStdString(), "");
  auto* passes = window.findChild<QTableWidget*>("passes");
  ASSERT_NE(passes, nullptr);
  const int before = passes->currentRow();
  ASSERT_EQ(before, window.canvas()->graph()->step);
  window.submitLine(":run --dim n=4 --input c=true");
  passes->setCurrentCell(before == 0 ? 1 : 0, 1);
  window.findChild<QToolButton*>("cancel")->click();
  waitIdle(window);
  EXPECT_EQ(passes->currentRow(), window.canvas()->graph()->step);
}

// Enter runs, and leaves the panel that shows the memory.
TEST(MainWindow, enterInADimRuns) {
  QTemporaryDir directory;
  MainWindow window;
  window.show();
  window.open(writeModel(directory, kModel));
  waitIdle(window);
  ASSERT_TRUE(window.showPanel("Memory"));
  auto* box = window.findChild<QSpinBox*>("dim_n");
  ASSERT_NE(box, nullptr);
  QKeyEvent enter(QEvent::KeyPress, Qt::Key_Return, Qt::NoModifier, "\r");
  QApplication::sendEvent(box, &enter);
  waitIdle(window);
  ASSERT_NE(window.lastRun(), nullptr);
  auto* tabs = window.findChild<QTabWidget*>("bottomTabs");
  EXPECT_EQ(tabs->tabText(tabs->currentIndex()), "Memory");
}

TEST(MainWindow, aBadFileIsReportedAndTheModelStays) {
  QTemporaryDir directory;
  MainWindow window;
  window.open(writeModel(directory, kModel));
  waitIdle(window);
  window.open(directory.filePath("none.onnx"));
  waitIdle(window);
  EXPECT_FALSE(window.lastError().isEmpty());
  EXPECT_NE(window.model(), nullptr);
}

// Bytes that all threads hold beside the console's lines, which are bounded by their number. 0 under a
// sanitizer, which has its own allocator.
int64_t heldBytes(MainWindow& window) {
  window.findChild<QPlainTextEdit*>("consoleOutput")->clear();
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

TEST(MainWindow, runsClicksAndQuestionsLeaveNothingBehind) {
  QTemporaryDir directory;
  MainWindow window;
  window.show();
  window.open(writeModel(directory, kModel));
  waitIdle(window);
  ASSERT_EQ(window.lastError().toStdString(), "");
  int runs = 0;
  const auto round = [&] {
    runs += 2;
    window.setDim("n", 3);
    window.run();
    waitIdle(window);
    for (int step : {0, 2, 5}) {
      window.showStep(step);
      waitIdle(window);
    }
    window.askWhy("x.0");
    waitIdle(window);
    window.submitLine(":why x.1 x.0");
    waitIdle(window);
    window.submitLine(":run --dim n=20000 --dim m=16");  // 2 MB, held by the outcome
    waitIdle(window);
    // The list of runs may grow: it is bounded, and has tests of its own.
    window.submitLine(":runs drop " + std::to_string(runs - 1) + " " + std::to_string(runs));
    waitIdle(window);
  };
  // What is held goes up and down by some megabytes: the last eight runs keep their timelines, which are long
  // or short, and a thread beside frees what is shown no longer. The most of ten rounds is compared with the
  // least of ten later ones.
  constexpr int kRounds = 20;
  constexpr int kSamples = 10;
  for (int i = 0; i < kRounds; ++i) round();
  int64_t most = 0;
  for (int i = 0; i < kSamples; ++i) round(), most = std::max(most, heldBytes(window));
  for (int i = 0; i < kRounds; ++i) round();
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < kSamples; ++i) round(), least = std::min(least, heldBytes(window));
  EXPECT_EQ(window.lastError().toStdString(), "");
  EXPECT_LE(least - most, 5 << 20) << "the large runs alone made 38 MB between them";
}

TEST(MainWindow, thereIsAFont) { EXPECT_TRUE(QFontInfo(QFont("DejaVu Sans")).exactMatch()); }

std::shared_ptr<const GraphView> groupedGraph() {
  auto view = std::make_shared<GraphView>();
  view->groups = {{"layer", "layer", GroupKind::scope, -1, kNoNode}};
  for (NodeId id = 0; id < 40; ++id) {
    GraphNode node;
    node.id = id;
    node.op = node.label = "relu";
    node.place = "line " + std::to_string(id);
    node.group = id >= 10 && id < 30 ? 0 : -1;
    view->nodes.push_back(node);
    if (id > 0) view->edges.push_back({id - 1, id, 0, 0, "x", ""});
  }
  return view;
}

TEST(GraphCanvas, groupsOpenAndClose) {
  GraphCanvas canvas;
  canvas.setGraph(groupedGraph(), false);
  ASSERT_EQ(canvas.scene().boxes.size(), 21u) << "20 operations and one closed group";
  int group = -1;
  for (size_t i = 0; i < canvas.scene().boxes.size(); ++i)
    if (canvas.scene().boxes[i].group == 0) group = static_cast<int>(i);
  ASSERT_GE(group, 0);
  EXPECT_EQ(canvas.scene().boxes[static_cast<size_t>(group)].membersCount, 20);
  // The time of a kernel of lines 12 and 31, in the group and outside, stands at its place; one inside counts
  // once.
  canvas.setTimes({{"line 31", {"line 12", "line 31"}, 500}, {"line 13", {"line 13", "line 14"}, 700}});
  EXPECT_EQ(canvas.timeOfBox(group), 700);
  EXPECT_EQ(canvas.timeOfBox(canvas.scene().boxOfNode[31]), 500);
  EXPECT_EQ(canvas.computedWith(31), std::vector<int>{12});
  EXPECT_EQ(canvas.computedWith(12), std::vector<int>{31});
  EXPECT_TRUE(canvas.computedWith(15).empty());
  canvas.toggle(group);
  ASSERT_EQ(canvas.scene().boxes.size(), 41u);
  const QRectF frame = canvas.scene().boxes[static_cast<size_t>(canvas.scene().boxOfNode[10])].rect;
  for (const SceneBox& box : canvas.scene().boxes)
    if (box.frame) {
      EXPECT_TRUE(box.rect.contains(frame));
    }
}

void checkLayout(const LayoutInput& in) {
  const LayoutResult out = layeredLayout(in);
  std::map<int, std::vector<std::pair<double, double>>> rows;
  for (size_t i = 0; i < in.nodes.size(); ++i)
    rows[out.nodes[i].row].emplace_back(out.nodes[i].x, out.nodes[i].x + in.nodes[i].width);
  for (auto& [row, spans] : rows) {
    std::sort(spans.begin(), spans.end());
    for (size_t i = 1; i < spans.size(); ++i)
      ASSERT_LE(spans[i - 1].second, spans[i].first + 1e-6) << "overlap in row " << row;
  }
  for (const LayoutEdge& e : in.edges)
    ASSERT_LT(out.nodes[static_cast<size_t>(e.from)].row, out.nodes[static_cast<size_t>(e.to)].row);
  const LayoutResult again = layeredLayout(in);
  for (size_t i = 0; i < in.nodes.size(); ++i) ASSERT_EQ(out.nodes[i].x, again.nodes[i].x);
}

TEST(LayeredLayout, thousandsOfNodesWithoutOverlap) {
  LayoutInput in;
  uint32_t state = 7;
  const auto next = [&state] { return state = state * 1664525u + 1013904223u, state >> 8; };
  for (int i = 0; i < 5000; ++i) {
    in.nodes.push_back({60.0 + next() % 120, 30});
    if (i > 0) in.edges.push_back({std::max(0, i - 1 - static_cast<int>(next() % 12)), i});
    if (i > 50 && i % 3 == 0)
      in.edges.push_back({static_cast<int>(next() % 40), i});  // a few values feed everything
  }
  checkLayout(in);
}

TEST(LayeredLayout, longEdgesBecomePortsAndCyclesEnd) {
  LayoutInput in;
  for (int i = 0; i < 100; ++i) {
    in.nodes.push_back({80, 30});
    if (i > 0) in.edges.push_back({i - 1, i});
  }
  in.edges.push_back({0, 99});
  EXPECT_TRUE(layeredLayout(in).edges.back().tunnelled);
  LayoutInput cycle;
  cycle.nodes = {{10, 10}, {10, 10}, {10, 10}};
  cycle.edges = {{0, 1}, {1, 2}, {2, 0}};
  const LayoutResult out = layeredLayout(cycle);
  EXPECT_EQ(out.nodes[2].row, 2);
  EXPECT_FALSE(out.edges[2].points.empty());
}

}  // namespace
}  // namespace dyn::ui

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  dyn::test::WatchedApplication app(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
