// Levels side by side and runs that are stepped through, in the window.
#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QScrollBar>
#include <QTabWidget>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include "app/session/views/code_views.h"
#include "tests/support/idle_window.h"
#include "ui/shell/main_window.h"
#include "ui/support/theme.h"
#include "ui/views/code/levels_panel.h"
#include "ui/views/run/stop_panel.h"

namespace dyn::ui {
namespace {

constexpr const char* kSteppedModel = R"(fn @main(%x: Tensor[(n, m), f32], %w: Tensor[(m, 3), f32]) {
  %h = relu(%x)
  %s = matmul(%h, %w)
  %y = softmax(%s, axis = -1)
  %z = tanh(%x)
  return %y, %z
}
)";

class SteppingWindow : public testing::Test {
 protected:
  void SetUp() override {
    QFile file(directory_.filePath("model.dyn"));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(kSteppedModel);
    file.close();
    window_.resize(1400, 900);
    window_.setMode(WindowMode::code);
    window_.show();
    window_.activateWindow();
    window_.open(file.fileName());
    settle();
    ASSERT_EQ(window_.lastError().toStdString(), "");
    window_.setDim("n", 2);
    window_.setDim("m", 5);
    levels_ = window_.findChild<LevelsPanel*>();
    stop_ = window_.findChild<StopPanel*>();
    ASSERT_TRUE(levels_ && stop_);
  }
  void settle() {
    QApplication::processEvents();
    test::waitIdle(window_);
    QApplication::processEvents();
  }
  void show(IrLevel left, IrLevel right) {
    ASSERT_TRUE(window_.showPanel("Code"));
    levels_->setLevels({left, right});
    settle();
    ASSERT_TRUE(levels_->pane(0)->text() && levels_->pane(1)->text());
  }
  CodeView& view(int pane) { return *levels_->pane(pane)->view(); }
  int lineWith(int pane, const char* what) {
    for (int line = 0; line < view(pane).lineCount(); ++line)
      if (view(pane).lineText(line).contains(what)) return line;
    ADD_FAILURE() << "no line with " << what;
    return 0;
  }
  void clickLine(int pane, int line) {
    view(pane).showLine(line);
    const QRect at = view(pane).lineRect(line);
    QTest::mouseClick(view(pane).viewport(), Qt::LeftButton, {}, QPoint(at.left() + 4, at.center().y()));
    settle();
  }
  void clickBeside(int pane, int line) {
    view(pane).showLine(line);
    const QRect at = view(pane).lineRect(line);
    QTest::mouseClick(view(pane).viewport(), Qt::LeftButton, {}, QPoint(4, at.center().y()));
    settle();
  }
  void press(Qt::Key key, Qt::KeyboardModifiers with = {}) {
    QTest::keyClick(&window_, key, with);
    settle();
  }
  std::vector<std::string> marked(int pane) {
    std::vector<std::string> lines;
    for (const auto& [line, color] : view(pane).highlights())
      lines.push_back(view(pane).lineText(line).toStdString());
    return lines;
  }
  static bool any(const std::vector<std::string>& lines, const char* what) {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const std::string& line) { return line.find(what) != std::string::npos; });
  }
  std::string chosenOp() {
    const int node = window_.canvas()->selectedNode();
    return node < 0 ? "" : window_.canvas()->graph()->nodes[static_cast<size_t>(node)].op;
  }

  QTemporaryDir directory_;
  MainWindow window_;
  LevelsPanel* levels_ = nullptr;
  StopPanel* stop_ = nullptr;
};

TEST_F(SteppingWindow, linesThatBelongTogetherHaveOneColour) {
  show(IrLevel::graph, IrLevel::assembly);
  const int softmax = lineWith(0, "softmax("), tanh = lineWith(0, "tanh(");
  const auto groupAt = [&](int pane, int line) { return view(pane).groups()[static_cast<size_t>(line)]; };
  ASSERT_GE(groupAt(0, softmax), 0);
  EXPECT_NE(groupAt(0, softmax), groupAt(0, tanh));
  EXPECT_NE(std::count(view(1).groups().begin(), view(1).groups().end(), groupAt(0, softmax)), 0);
  // In both themes the colours of neighbours differ from each other and from the background.
  for (const bool dark : {false, true})
    for (int group = 0; group < 12; ++group) {
      EXPECT_NE(groupColor(group, dark), groupColor(group + 1, dark));
      EXPECT_NE(groupColor(group, dark), (dark ? darkPalette() : lightPalette()).color(QPalette::Base));
    }
  // What is drawn is that colour.
  view(0).showLine(softmax);
  const QRect at = view(0).lineRect(softmax);
  const QImage image = view(0).viewport()->grab().toImage();
  view(0).setGroups({});
  const QImage plain = view(0).viewport()->grab().toImage();
  const QPoint end(at.right() - 2, at.center().y());
  EXPECT_NE(image.pixel(end), plain.pixel(end));
  // One pane alone has nothing to belong to.
  levels_->setColumns(1);
  EXPECT_TRUE(view(0).groups().empty());
}

TEST_F(SteppingWindow, aLineThatIsChosenIsMarkedInBothAndInTheGraph) {
  show(IrLevel::graph, IrLevel::bytecode);
  clickLine(0, lineWith(0, "tanh("));
  EXPECT_EQ(chosenOp(), "tanh");
  EXPECT_TRUE(any(marked(0), "tanh("));
  EXPECT_TRUE(any(marked(1), "launch k"));
  EXPECT_FALSE(any(marked(0), "softmax("));
  // From the code back.
  show(IrLevel::graph, IrLevel::assembly);
  clickLine(0, lineWith(0, "softmax("));
  EXPECT_EQ(chosenOp(), "softmax");
  const auto lines = view(1).highlights();
  ASSERT_FALSE(lines.empty());
  clickLine(0, lineWith(0, "tanh("));
  clickLine(1, lines.back().first);
  EXPECT_EQ(chosenOp(), "softmax");
  EXPECT_TRUE(any(marked(0), "softmax("));
}

TEST_F(SteppingWindow, anOperationThatIsChosenMovesThePanes) {
  show(IrLevel::loop, IrLevel::bytecode);
  window_.canvas()->search("op:tanh");
  window_.canvas()->nextMatch();
  settle();
  ASSERT_EQ(chosenOp(), "tanh");
  EXPECT_TRUE(any(marked(0), "tanh"));
  EXPECT_TRUE(any(marked(1), "launch k"));
  EXPECT_FALSE(view(1).lineRect(view(1).highlights().front().first).isEmpty()) << "it is seen";
}

TEST_F(SteppingWindow, hoveredLinesAreMarkedAndLetGo) {
  show(IrLevel::loop, IrLevel::assembly);
  const int store = lineWith(0, "] = ");
  view(0).showLine(store);
  Q_EMIT view(0).lineHovered(store);
  EXPECT_FALSE(view(0).highlights().empty());
  EXPECT_FALSE(view(1).highlights().empty());
  Q_EMIT view(0).lineHovered(-1);
  EXPECT_TRUE(view(0).highlights().empty());
  EXPECT_EQ(chosenOp(), "") << "looking is not choosing";
}

TEST_F(SteppingWindow, panesAreSearchedWrappedAndSaved) {
  show(IrLevel::graph, IrLevel::llvm);
  auto* find = window_.findChild<QLineEdit*>("rightLevelFind");
  find->setFocus();
  QTest::keyClicks(find, "STORE");
  QTest::keyClick(find, Qt::Key_Return);
  EXPECT_EQ(view(1).selectedText().toLower(), "store");
  window_.findChild<QToolButton*>("rightLevelWrap")->click();
  EXPECT_TRUE(view(1).isWrapped());
  const QString name = directory_.filePath("kernels.ll");
  Q_EMIT levels_->pane(1)->saveWanted(name);
  settle();
  QFile file(name), same(directory_.filePath("same.ll"));
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  EXPECT_EQ(QString::fromUtf8(file.readAll()).toStdString(), view(1).toPlainText().toStdString());
  ASSERT_TRUE(view(1).saveTo(same.fileName()));
  EXPECT_EQ(same.size(), file.size());
  EXPECT_FALSE(view(1).saveTo(directory_.path())) << "a folder is not a file";
}

TEST_F(SteppingWindow, theGraphLevelFollowsThePass) {
  show(IrLevel::graph, IrLevel::bytecode);
  const int before = levels_->pane(0)->text()->step;
  window_.showStep(before + 2);
  settle();
  EXPECT_EQ(levels_->pane(0)->text()->step, before + 2);
}

TEST_F(SteppingWindow, keysStepAndTheStopIsShownEverywhere) {
  press(Qt::Key_F5);
  ASSERT_EQ(window_.lastError().toStdString(), "");
  ASSERT_TRUE(stop_->isStopped());
  EXPECT_EQ(stop_->stop()->why, "start");
  ASSERT_EQ(levels_->pane(0)->level(), IrLevel::bytecode) << "the stop has a place to be seen";
  EXPECT_EQ(view(0).standing(), static_cast<int>(stop_->stop()->line) - 1);
  EXPECT_FALSE(view(0).lineRect(view(0).standing()).isEmpty());
  const uint32_t start = stop_->stop()->position;
  press(Qt::Key_F10);
  EXPECT_GT(stop_->stop()->position, start);
  EXPECT_EQ(view(0).standing(), static_cast<int>(stop_->stop()->line) - 1);
  press(Qt::Key_F11);
  press(Qt::Key_F10, Qt::ControlModifier);
  EXPECT_EQ(stop_->stop()->why, "step");
  EXPECT_GT(stop_->registers()->rowCount(), 0);
  press(Qt::Key_F5, Qt::ShiftModifier);
  EXPECT_FALSE(stop_->isStopped());
  EXPECT_EQ(view(0).standing(), -1);
  EXPECT_EQ(window_.lastError().toStdString(), "");
  press(Qt::Key_F10);
  EXPECT_EQ(window_.lastError().toStdString(), "") << "there is nothing to step: the key does nothing";
}

TEST_F(SteppingWindow, aClickBesideALineIsABreakpoint) {
  show(IrLevel::bytecode, IrLevel::loop);
  int launch = 0;
  for (int line = 0; line < view(0).lineCount(); ++line)
    if (view(0).lineText(line).contains("launch k")) launch = line;
  ASSERT_GT(launch, 0);
  clickBeside(0, launch);
  EXPECT_EQ(view(0).marks(), std::set<int>{launch});
  press(Qt::Key_F5);  // to the first breakpoint at once
  ASSERT_TRUE(stop_->isStopped());
  EXPECT_EQ(stop_->stop()->why, "breakpoint 1");
  EXPECT_EQ(view(0).standing(), launch);
  EXPECT_NE(chosenOp(), "") << "the operation of the stop is shown in the graph";
  auto* points = window_.findChild<QTableWidget*>("breakpoints");
  ASSERT_EQ(points->rowCount(), 1);
  EXPECT_EQ(points->item(0, 1)->text(), "1");
  clickBeside(0, launch);
  EXPECT_TRUE(view(0).marks().empty());
  EXPECT_EQ(points->rowCount(), 0);
  press(Qt::Key_F5);
  EXPECT_FALSE(stop_->isStopped());
  EXPECT_TRUE(window_.findChild<QLabel*>("stopTitle")->text().contains("ended"));
  EXPECT_EQ(stop_->registers()->rowCount(), 2) << "the outputs";
}

TEST_F(SteppingWindow, aRegisterOpensAsATensor) {
  window_.canvas()->search("op:softmax");
  window_.canvas()->nextMatch();
  press(Qt::Key_F9);
  ASSERT_EQ(window_.lastError().toStdString(), "");
  press(Qt::Key_F5);  // to the first breakpoint at once
  ASSERT_TRUE(stop_->isStopped());
  EXPECT_EQ(stop_->stop()->why, "breakpoint 1");
  int row = -1;
  for (int r = 0; r < stop_->registers()->rowCount(); ++r)
    if (stop_->registers()->item(r, 2)->text().contains("2, 5")) row = r;
  ASSERT_GE(row, 0);
  EXPECT_TRUE(stop_->registers()->item(row, 1)->text().startsWith("[[")) << "elements, without the type";
  Q_EMIT stop_->registers()->cellActivated(row, 0);
  settle();
  EXPECT_EQ(window_.lastError().toStdString(), "");
  EXPECT_TRUE(window_.findChild<QLabel*>("tensorStatistics")->text().contains("[2, 5]"))
      << window_.findChild<QLabel*>("tensorStatistics")->text().toStdString();
}

TEST_F(SteppingWindow, aRegisterIsWatched) {
  press(Qt::Key_F5);
  int row = 0;
  while (row < stop_->registers()->rowCount() && stop_->registers()->item(row, 2)->text() != "m") ++row;
  ASSERT_LT(row, stop_->registers()->rowCount()) << "the register of a dim says so";
  Q_EMIT stop_->watchWanted(stop_->registers()->item(row, 0)->text());
  settle();
  auto* points = window_.findChild<QTableWidget*>("breakpoints");
  ASSERT_EQ(points->rowCount(), 1);
  EXPECT_TRUE(points->item(0, 2)->text().contains("a change of r"));
  press(Qt::Key_F5);
  ASSERT_TRUE(stop_->isStopped());
  EXPECT_NE(stop_->stop()->why.find("changed from 0 to 5"), std::string::npos) << stop_->stop()->why;
}

TEST_F(SteppingWindow, theConsoleStepsTheSameRun) {
  window_.submitLine(":start --dim n=2 --dim m=5");
  settle();
  ASSERT_TRUE(stop_->isStopped());
  window_.submitLine(":stepi 3");
  settle();
  ASSERT_TRUE(window_.showPanel("Code"));
  settle();
  EXPECT_EQ(view(0).standing(), static_cast<int>(stop_->stop()->line) - 1);
  const uint32_t before = stop_->stop()->position;
  press(Qt::Key_F10);
  EXPECT_GT(stop_->stop()->position, before);
  window_.reload();
  settle();
  EXPECT_FALSE(stop_->isStopped()) << "another program took its place";
}

}  // namespace
}  // namespace dyn::ui
