// What somebody comes to the window for; each story says in how many steps it is done at most
// (tests/support/window_story.h).
#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QAction>
#include <QApplication>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QScrollBar>
#include <QSpinBox>
#include <QTabBar>
#include <QTabWidget>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>
#include <QToolButton>
#include <QTreeWidget>

#include "tests/support/temporary_folder.h"
#include "tests/support/window_story.h"
#include "ui/views/code/levels_panel.h"
#include "ui/views/run/stop_panel.h"

namespace dyn::ui {
namespace {

class Stories : public test::WindowStory {};

TEST_F(Stories, findAnOperationAndWhatItIsMadeOf) {
  press("Ctrl+F");
  type("op:softmax");
  press("Return");
  EXPECT_EQ(chosen(), "softmax");
  canvas()->setFocus();
  press("I");
  EXPECT_TRUE(canvas()->isTracing());
  EXPECT_LE(steps_, 4);
}

TEST_F(Stories, findWhyADimIsDynamic) {
  press("Ctrl+F");
  type("op:softmax");
  press("Return");
  auto* details = named<QTextBrowser>("details");
  ASSERT_TRUE(details->toPlainText().contains("seq"));
  clickLink(details, "seq");
  EXPECT_TRUE(window_.stateJson().contains("why"));
  EXPECT_TRUE(QString::fromUtf8(window_.stateJson()).contains("input_ids")) << "where it comes from is told";
  EXPECT_LE(steps_, 4);
}

TEST_F(Stories, findTheSlowestOperation) {
  press("Ctrl+R");
  ASSERT_NE(window_.lastRun(), nullptr);
  clickTab("Kernels");
  EXPECT_GT(window_.findChild<QTableWidget*>("kernels")->rowCount(), 3);
  auto* table = window_.findChild<QTableWidget*>("kernels");
  click(table->viewport(), table->visualItemRect(table->item(0, 0)).center());
  EXPECT_GE(canvas()->selectedNode(), 0) << "the kernel's row leads to its operation";
  EXPECT_LE(steps_, 3);
}

TEST_F(Stories, theLongestSequenceWithin64Megabytes) {
  press("Ctrl+`");
  type(":limit 64MB --dim batch=1");
  press("Return");
  EXPECT_TRUE(said().contains("largest")) << said().toStdString();
  EXPECT_LE(steps_, 3);
}

TEST_F(Stories, runWithOtherSizes) {
  auto* box = named<QSpinBox>("dim_seq");
  ASSERT_NE(box, nullptr);
  box->setFocus();
  box->selectAll();
  type("59");
  press("Return");
  ASSERT_NE(window_.lastRun(), nullptr);
  EXPECT_EQ(window_.lastRun()->outputs.at(0).type, "Tensor[(1, 59, 32), f32]");
  EXPECT_LE(steps_, 2);
}

// It has 512 positions.
// A size that no input may have cannot be entered; that two sizes differ shows in the run.
TEST_F(Stories, whyARunFailsAndARunThatDoesNot) {
  const test::TemporaryFolder folder;
  window_.open(QString::fromStdString(folder.write(
      "product.dyn",
      "fn @main(%x: Tensor[(2, seq), f32], %y: Tensor[(rows, 3), f32]) { return matmul(%x, %y) }\n")));
  settle();
  auto* box = named<QSpinBox>("dim_seq");
  ASSERT_NE(box, nullptr);
  const int rows = named<QSpinBox>("dim_rows")->value();
  box->setFocus();
  enterHere("600", Qt::Key_Return);
  if (window_.lastError().contains("unsupported")) GTEST_SKIP() << "this build generates no code";
  ASSERT_NE(window_.lastError(), "");
  click(named<QToolButton>("whyFailedButton"));
  auto* answer = named<QTextBrowser>("causeAnswer");
  ASSERT_TRUE(answer->toPlainText().contains("axis 1 of x is 600")) << answer->toPlainText().toStdString();
  ASSERT_TRUE(answer->toPlainText().contains(QString("seq = %1 instead of 600").arg(rows)))
      << answer->toPlainText().toStdString();
  clickLink(answer, "run with it");
  ASSERT_NE(window_.lastRun(), nullptr);
  EXPECT_EQ(window_.dimValues().at("seq"), rows);
  EXPECT_LE(steps_, 3);
}

TEST_F(Stories, seeWhatAPassChanged) {
  canvas()->setFocus();
  const int before = canvas()->graph()->step;
  press("J");
  press("J");
  EXPECT_GT(canvas()->graph()->step, before + 1);
  press("D");
  EXPECT_GT(canvas()->changesCount(BoxChange::added) + canvas()->changesCount(BoxChange::changed), 0);
  EXPECT_LE(steps_, 3);
}

TEST_F(Stories, goBackToWhatWasLookedAt) {
  press("Ctrl+F");
  type("op:softmax");
  press("Return");
  press("F3");
  const int second = canvas()->selectedNode();
  press("Alt+Left");
  EXPECT_NE(canvas()->selectedNode(), second);
  EXPECT_EQ(chosen(), "softmax");
  EXPECT_LE(steps_, 5);
}

TEST_F(Stories, openEverythingAndTakeItBack) {
  const GraphLook before = canvas()->look();
  press("Ctrl+E");
  EXPECT_NE(canvas()->look(), before);
  press("Ctrl+Z");
  EXPECT_EQ(canvas()->look(), before);
  EXPECT_LE(steps_, 2);
}

TEST_F(Stories, whoTakesTheMemory) {
  clickMode("Memory");
  auto* plan = named<PlanCanvas>("planCanvas");
  ASSERT_NE(plan, nullptr);
  ASSERT_FALSE(plan->blocks().empty());
  // The first one whose operation this step has.
  for (size_t i = 0; i < plan->blocks().size() && canvas()->selectedNode() < 0; ++i)
    QTest::mouseClick(plan, Qt::LeftButton, {}, plan->rectOf(plan->blocks()[i]).center().toPoint());
  ++steps_;
  settle();
  EXPECT_GE(canvas()->selectedNode(), 0) << "a buffer leads to the operation that makes it";
  EXPECT_LE(steps_, 2);
}

TEST_F(Stories, evaluateSomethingOfOnesOwn) {
  press("Ctrl+`");
  type("relu([1.0, -2.0, 3.0]) * 2.0");
  press("Return");
  EXPECT_TRUE(said().contains("[2., 0., 6.]")) << said().toStdString();
  press("Up");
  press("Return");
  EXPECT_EQ(said().count("[2., 0., 6.]"), 2);
  EXPECT_LE(steps_, 5);
}

TEST_F(Stories, findACommandOneDoesNotKnow) {
  press("Ctrl+Shift+P");
  type("close groups");
  QWidget* search = QApplication::focusWidget();
  ASSERT_NE(search, nullptr);
  press("Return");
  EXPECT_LE(canvas()->look().open.size(), 1u);
  EXPECT_LE(steps_, 3);
}

TEST_F(Stories, workInTheDark) {
  press("Ctrl+Shift+P");
  type("dark");
  press("Return");
  EXPECT_TRUE(isDark(canvas()->palette()));
  applyTheme(Theme::system);
  EXPECT_LE(steps_, 3);
}

TEST_F(Stories, theSlowestLayerAndItsAssembly) {
  press("Ctrl+R");
  ASSERT_NE(window_.lastRun(), nullptr);
  auto* table = named<QTableWidget>("kernels");
  click(table->viewport(), table->visualItemRect(table->item(0, 0)).center());
  ASSERT_GE(canvas()->selectedNode(), 0);
  clickMode("Code");
  auto* code = window_.findChild<LevelsPanel*>()->pane(1)->view();
  EXPECT_GT(code->lineCount(), 50) << "machine code";
  ASSERT_FALSE(code->highlights().empty()) << "the lines of its kernel are marked";
  EXPECT_FALSE(code->lineRect(code->highlights().front().first).isEmpty()) << "and seen";
  EXPECT_LE(steps_, 3);
}

// Every row of the profile leads to its own code, whichever was slowest: of a kernel of the program that one,
// of a hand-written one what it is and what it was compiled to.
TEST_F(Stories, everyKernelLeadsToItsOwnCode) {
  press("Ctrl+R");
  ASSERT_NE(window_.lastRun(), nullptr);
  clickMode("Code");
  auto* table = named<QTableWidget>("kernels");
  const auto* panel = window_.findChild<LevelsPanel*>();
  int builtins = 0, kernels = 0;
  for (int row = 0; row < table->rowCount(); ++row) {
    const QString kind = table->item(row, 0)->data(Qt::UserRole + 1).toString(),
                  name = table->item(row, 0)->text();
    if (kind != "builtin" && kind != "kernel") continue;
    Q_EMIT table->cellClicked(row, 0);
    settle();
    const CodeView* code = panel->pane(1)->view();
    ASSERT_FALSE(code->highlights().empty()) << name.toStdString();
    QStringList marked;
    for (const auto& [line, color] : code->highlights()) marked << code->lineText(line);
    const bool isOwn = kind == "builtin"
                           ? marked.first().contains("hand-written kernel of the runtime: " + name)
                           : !marked.filter(QRegularExpression("^# kernel \\d+: " + name + "$")).isEmpty();
    EXPECT_TRUE(isOwn) << name.toStdString() << ": " << marked.first().toStdString();
    EXPECT_GT(marked.size(), 10) << name.toStdString() << ": code stands below";
    (kind == "builtin" ? builtins : kernels) += 1;
  }
  EXPECT_GT(builtins, 1);
  EXPECT_GT(kernels, 1);
}

TEST_F(Stories, aStopInTheMachine) {
  press("Ctrl+F");
  type("op:softmax");
  press("Return");
  press("F9");
  press("F5");
  auto* stop = window_.findChild<StopPanel*>();
  ASSERT_TRUE(stop->isStopped()) << said().toStdString();
  EXPECT_EQ(stop->stop()->why, "breakpoint 1");
  EXPECT_GT(stop->registers()->rowCount(), 5);
  QTableWidget* registers = stop->registers();
  int tensor = 0;
  while (tensor < registers->rowCount() && !registers->item(tensor, 2)->text().contains("f32")) ++tensor;
  ASSERT_LT(tensor, registers->rowCount());
  registers->scrollToItem(registers->item(tensor, 1));
  const QPoint at = registers->visualItemRect(registers->item(tensor, 1)).center();
  click(registers->viewport(), at);
  QTest::mouseDClick(registers->viewport(), Qt::LeftButton, {}, at);
  settle();
  EXPECT_TRUE(named<QLabel>("tensorStatistics")->text().contains("at the stop"))
      << named<QLabel>("tensorStatistics")->text().toStdString();
  EXPECT_LE(steps_, 6);
}

TEST_F(Stories, readTheTextOfTheChosenOperation) {
  press("Ctrl+F");
  type("op:softmax");
  press("Return");
  clickMode("Passes");
  EXPECT_GT(QString::fromUtf8(window_.stateJson()).indexOf("irLines"), 0);
  EXPECT_LE(steps_, 4);
}

TEST_F(Stories, whichPassBrokeIt) {
  press("Ctrl+`");
  type(":bisect --dim batch=1 --dim seq=3");
  press("Return");
  EXPECT_TRUE(said().contains("infer")) << said().toStdString();
  EXPECT_TRUE(said().contains("reference")) << "by what each step was computed";
  EXPECT_LE(steps_, 3);
}

TEST_F(Stories, whatIsSlowerWithLongerSequences) {
  press("Ctrl+R");
  ASSERT_NE(window_.lastRun(), nullptr);
  QSpinBox* seq = named<QSpinBox>("dim_seq");
  click(seq);
  press("Ctrl+A");
  type("64");
  press("Return");
  clickTab("By layer");
  const QImage heat = canvas()->grab().toImage();
  click(named<QPushButton>("compareRuns"));
  EXPECT_GT(named<QTableWidget>("differences")->rowCount(), 3);
  EXPECT_NE(canvas()->grab().toImage(), heat) << "the graph shows the ratio";
  EXPECT_LE(steps_, 7);
}

// Words of the code are not those of the window: no label, tip, menu or cell after a run has one.
TEST_F(Stories, noPrivateWordsInLabels) {
  press("Ctrl+R");
  QStringList texts;
  for (const WindowMode mode : kWindowModes) {
    window_.setMode(mode);
    settle();
    for (const QAction* action : window_.findChildren<QAction*>())
      texts << action->text() << action->toolTip();
    for (const QWidget* widget : window_.findChildren<QWidget*>())
      texts << widget->toolTip() << widget->accessibleName();
    for (const QLabel* label : window_.findChildren<QLabel*>()) texts << label->text();
    for (const QAbstractButton* button : window_.findChildren<QAbstractButton*>()) texts << button->text();
    for (const QTableWidget* table : window_.findChildren<QTableWidget*>())
      for (int row = 0; row < table->rowCount(); ++row)
        for (int column = 0; column < table->columnCount(); ++column)
          if (const QTableWidgetItem* item = table->item(row, column))
            texts << item->text() << item->toolTip();
  }
  ASSERT_GT(texts.size(), 500);
  static const QRegularExpression hidden("\\b(builtins?|NodeId|linearise|absorb|gone later)\\b");
  for (const QString& text : texts) EXPECT_FALSE(text.contains(hidden)) << text.toStdString();
}

TEST_F(Stories, whatChangedBetweenTwoStepsWordByWord) {
  clickMode("Passes");
  clickTab("Changes");
  canvas()->setFocus();
  for (int i = 0; i < 3; ++i) press("J");
  auto* text = named<CodeView>("diffText");
  ASSERT_NE(text, nullptr);
  const auto words = [&] {
    size_t count = 0;
    for (const auto& line : text->code().changed) count += line.size();
    return count;
  };
  for (int i = 0; i < 8 && words() == 0; ++i) press("J");
  EXPECT_GT(words(), 0u) << text->toPlainText().toStdString().substr(0, 500);
  EXPECT_LE(steps_, 12);
}

}  // namespace
}  // namespace dyn::ui
