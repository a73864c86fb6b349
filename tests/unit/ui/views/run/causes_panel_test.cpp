// "Why?" of a run, asked by clicks: an axis, an element and a NaN in Tensor, a run that failed; each step and
// culprit leads to its node on the graph.
#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>
#include <QToolButton>
#include <QTreeWidget>
#include <QTreeWidgetItemIterator>

#include "app/engine/run/run_result.h"
#include "app/session/views/graph_views.h"
#include "tests/support/idle_window.h"
#include "ui/shell/run_questions.h"
#include "ui/support/why_grey.h"
#include "ui/views/run/causes_panel.h"
#include "ui/views/values/tensor_panel.h"

namespace dyn::ui {
namespace {

constexpr const char* kKeptRows =
    R"(fn @main(%mask: Tensor[(batch, seq), i64], %x: Tensor[(batch, seq, 3), f32]) {
  %keep = greater(%mask, i64[] 0)
  %places = transpose(nonzero(%keep)) {perm = [1, 0]}
  %rows = gather_nd(%x, %places)
  %y = log(%rows)
  return %y
}
)";

constexpr const char* kTable = R"(fn @main(%table: Tensor[(n, 4), f32], %at: Tensor[(k), i64]) {
  %rows = gather(%table, %at) {axis = 0}
  %y = relu(%rows)
  return %y
}
)";

constexpr const char* kMask = "mask=[[1,1,0],[1,0,1]]";
constexpr const char* kNegative = "x=[[[1,2,3],[4,5,-6],[7,8,9]],[[1,2,3],[4,5,6],[7,8,9]]]";

class CausesPanelTest : public testing::Test {
 protected:
  void SetUp() override {
    window_.resize(1280, 900);
    window_.show();
    window_.activateWindow();
    settle();
  }
  void open(const char* text) {
    QFile file(folder_.filePath("m.dyn"));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(text);
    file.close();
    window_.open(file.fileName());
    settle();
    ASSERT_EQ(window_.lastError().toStdString(), "");
  }
  // As :run does, so that builds without a compiler say what they have not.
  void runWith(const std::string& inputs) {
    ASSERT_TRUE(window_.submitLine(":run " + inputs));
    settle();
    if (window_.lastError().contains("unsupported")) GTEST_SKIP() << "this build generates no code";
  }
  void look(const char* value) {
    ASSERT_TRUE(window_.showPanel("Tensor"));
    settle();
    auto* name = named<QLineEdit>("tensorName");
    name->setFocus();
    name->selectAll();
    QTest::keyClicks(name, value);
    QTest::keyClick(name, Qt::Key_Return);
    settle();
  }
  void settle() {
    QApplication::processEvents();
    test::waitIdle(window_);
    QApplication::processEvents();
  }
  void click(QWidget* widget, QPoint at = {}) {
    ASSERT_NE(widget, nullptr);
    QTest::mouseClick(widget, Qt::LeftButton, {}, at.isNull() ? widget->rect().center() : at);
    settle();
  }
  void clickLink(QTextBrowser* browser, const QString& text) {
    browser->moveCursor(QTextCursor::Start);
    ASSERT_TRUE(browser->find(text)) << text.toStdString() << " in " << browser->toPlainText().toStdString();
    click(browser->viewport(), browser->cursorRect().center() - QPoint(8, 0));
  }
  // The number-th link of a label, by keys.
  void openLink(QLabel* label, int number) {
    label->setFocus();
    for (int i = 0; i < number; ++i) QTest::keyClick(label, Qt::Key_Tab);
    QTest::keyClick(label, Qt::Key_Return);
    settle();
  }
  template <typename T>
  T* named(const char* name) const {
    return window_.findChild<T*>(name);
  }
  CausesPanel* panel() const { return window_.findChild<CausesPanel*>(); }
  QString answer() const { return named<QTextBrowser>("causeAnswer")->toPlainText(); }
  std::string chosen() const {
    const int node = window_.canvas()->selectedNode();
    return node < 0 ? "" : window_.canvas()->graph()->nodes[static_cast<size_t>(node)].name;
  }
  QTemporaryDir folder_;
  MainWindow window_;
};

TEST_F(CausesPanelTest, WhatIsGreySaysWhy) {
  auto* ask = named<QPushButton>("causeAsk");
  auto* failure = named<QPushButton>("causeFailure");
  EXPECT_EQ(whyGrey(ask), "Open a model first.");
  open(kKeptRows);
  EXPECT_EQ(whyGrey(ask), "Run the model first (Ctrl+R).");
  EXPECT_EQ(whyGrey(named<QPushButton>("tensorWhy")), "Run the model first (Ctrl+R).");
  runWith(std::string("--input ") + kMask);
  EXPECT_TRUE(ask->isEnabled());
  EXPECT_EQ(whyGrey(failure), "The last run did not fail.");
  EXPECT_EQ(whyGrey(named<QPushButton>("tensorWhy")), "Look at a value first.");
  EXPECT_FALSE(named<QToolButton>("whyFailedButton")->isVisible());
  open(kTable);
  EXPECT_EQ(whyGrey(ask), "Run the model first (Ctrl+R).") << "another model has no run";
}

TEST_F(CausesPanelTest, AnAxisOfAnOutputLeadsToTheElementsThatDecideIt) {
  open(kKeptRows);
  runWith(std::string("--input ") + kMask);
  look("y");
  auto* statistics = named<QLabel>("tensorStatistics");
  ASSERT_TRUE(statistics->text().contains("href='.0'")) << statistics->text().toStdString();
  openLink(statistics, 1);
  EXPECT_TRUE(panel()->isVisible());
  EXPECT_TRUE(answer().contains("how large is y.0 in this run? 4")) << answer().toStdString();
  clickLink(named<QTextBrowser>("causeAnswer"), "4 of 6 elements of mask");
  EXPECT_EQ(chosen(), "mask") << "a culprit leads to its input";
  auto* steps = named<QTreeWidget>("causeSteps");
  ASSERT_GT(steps->topLevelItemCount(), 0);
  QTreeWidgetItem* counted = nullptr;
  for (QTreeWidgetItemIterator at(steps); *at; ++at)
    if ((*at)->toolTip(0).startsWith("keep (")) counted = *at;
  ASSERT_NE(counted, nullptr) << panel()->answer().toStdString();
  steps->scrollToItem(counted);
  click(steps->viewport(), steps->visualItemRect(counted).center());
  EXPECT_EQ(chosen(), "keep") << "a step leads to its operation";
}

TEST_F(CausesPanelTest, TheSizeThatItShouldBeGivesTheSmallestChange) {
  open(kKeptRows);
  runWith(std::string("--input ") + kMask);
  ASSERT_TRUE(window_.showPanel("Why"));
  settle();
  auto* question = named<QLineEdit>("causeQuestion");
  auto* wanted = named<QLineEdit>("causeWanted");
  question->setFocus();
  QTest::keyClicks(question, "y[0,1]");
  EXPECT_FALSE(wanted->isEnabled()) << "an element is not wished for";
  EXPECT_NE(whyGrey(wanted), "");
  question->clear();
  QTest::keyClicks(question, "y.0");
  ASSERT_TRUE(wanted->isEnabled());
  wanted->setFocus();
  QTest::keyClicks(wanted, "5");
  QTest::keyClick(wanted, Qt::Key_Return);
  settle();
  EXPECT_TRUE(answer().contains("mask[0,2] = 1 instead of 0")) << answer().toStdString();
}

TEST_F(CausesPanelTest, AnElementOfTheHeatMapAndANaNAreAsked) {
  open(kKeptRows);
  runWith(std::string("--input ") + kMask + " --input " + kNegative);
  look("y");
  auto* heat = window_.findChild<HeatMap*>();
  auto* why = named<QPushButton>("tensorWhy");
  EXPECT_NE(whyGrey(why), "") << "no element is chosen";
  click(heat, heat->rectOf(1, 2).center().toPoint());
  EXPECT_EQ(heat->chosenElement(), "1,2");
  ASSERT_TRUE(why->isEnabled()) << whyGrey(why).toStdString();
  click(why);
  EXPECT_TRUE(answer().startsWith("what is y[1,2] in this run? NaN")) << answer().toStdString();
  EXPECT_TRUE(answer().contains("x[0,1,2] is -6")) << answer().toStdString();
  clickLink(named<QTextBrowser>("causeAnswer"), "x[0,1,2] is");
  EXPECT_EQ(chosen(), "x");
  // By keys: the first element, then the one below.
  ASSERT_TRUE(window_.showPanel("Tensor"));
  settle();
  heat->setFocus();
  QTest::keyClick(heat, Qt::Key_Left);
  QTest::keyClick(heat, Qt::Key_Up);
  EXPECT_EQ(heat->chosenElement(), "0,1");
  QTest::keyClick(heat, Qt::Key_Return);
  settle();
  EXPECT_TRUE(answer().startsWith("what is y[0,1] in this run? 0.69")) << answer().toStdString();
  // The first NaN by its link.
  ASSERT_TRUE(window_.showPanel("Tensor"));
  settle();
  auto* statistics = named<QLabel>("tensorStatistics");
  ASSERT_TRUE(statistics->text().contains("href='[nan]'")) << statistics->text().toStdString();
  openLink(statistics, 3);  // behind those of the two axes
  EXPECT_TRUE(answer().startsWith("what is y[1,2] in this run? NaN")) << answer().toStdString();
}

TEST_F(CausesPanelTest, ARunThatFailedIsAskedByItsButton) {
  open(kTable);
  runWith("--dim n=3 --input at=[0,2,7,1]");
  ASSERT_NE(window_.lastError(), "");
  EXPECT_TRUE(named<QTextBrowser>("runSummary")->toPlainText().contains("The run failed."));
  auto* button = named<QToolButton>("whyFailedButton");
  ASSERT_TRUE(button->isVisible());
  click(button);
  EXPECT_TRUE(panel()->isVisible());
  EXPECT_TRUE(answer().contains("at[2] is 7")) << answer().toStdString();
  EXPECT_TRUE(answer().contains("at[2] = 2 instead of 7")) << answer().toStdString();
  clickLink(named<QTextBrowser>("causeAnswer"), "at[2] is 7");
  EXPECT_EQ(chosen(), "at");
  auto* steps = named<QTreeWidget>("causeSteps");
  ASSERT_GT(steps->topLevelItemCount(), 0);
  click(steps->viewport(), steps->visualItemRect(steps->topLevelItem(0)).center());
  EXPECT_EQ(chosen(), "rows") << "the operation that failed";
  // It runs again: nothing is asked of a failure.
  runWith("--dim n=3 --input at=[0,2,2,1]");
  EXPECT_FALSE(button->isVisible());
  EXPECT_EQ(whyGrey(named<QPushButton>("causeFailure")), "The last run did not fail.");
}

TEST_F(CausesPanelTest, WhatTheConsoleAsksIsShownToo) {
  open(kKeptRows);
  runWith(std::string("--input ") + kMask);
  ASSERT_TRUE(window_.submitLine(":why y.1 --run"));
  settle();
  EXPECT_TRUE(answer().contains("how large is y.1 in this run? 3")) << answer().toStdString();
  ASSERT_TRUE(window_.submitLine(":why nothing.1 --run"));
  settle();
  EXPECT_TRUE(answer().contains("there is no value 'nothing'")) << answer().toStdString();
}

}  // namespace
}  // namespace dyn::ui
