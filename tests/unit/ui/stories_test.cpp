// Stories: what somebody comes to the window for, played with keys and mouse clicks alone. Each says in how
// many steps it is done at most: a step is one key, one entry typed, or one click.
#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QFile>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QSpinBox>
#include <QTabBar>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>
#include <QTreeWidget>

#include "tests/support/idle_window.h"
#include "tests/support/paths.h"

namespace dyn::ui {
namespace {

using test::waitIdle;

class Stories : public testing::Test {
 protected:
  void SetUp() override {
    window_.resize(1400, 900);
    window_.show();
    window_.activateWindow();
    window_.open(QString::fromStdString(test::sourceFolder() + "/samples/models/bert/model.onnx"));
    settle();
    if (window_.lastError().contains("reads no ONNX files")) GTEST_SKIP() << "this build reads no ONNX files";
    ASSERT_NE(canvas()->graph(), nullptr);
  }

  // --- what a person does ---
  void press(const QString& keys) {
    ++steps_;
    const QKeySequence sequence(keys);
    QWidget* focused = QApplication::focusWidget() ? QApplication::focusWidget() : &window_;
    QTest::keyClick(focused, Qt::Key(sequence[0].key()), sequence[0].keyboardModifiers());
    settle();
  }
  void type(const QString& text) {
    ++steps_;
    QWidget* focused = QApplication::focusWidget();
    ASSERT_NE(focused, nullptr) << "nobody listens to what is typed";
    QTest::keyClicks(focused, text);
    settle();
  }
  void click(QWidget* widget, QPoint at = {}) {
    ++steps_;
    ASSERT_NE(widget, nullptr);
    QTest::mouseClick(widget, Qt::LeftButton, {}, at.isNull() ? widget->rect().center() : at);
    settle();
  }
  void clickTab(const QString& name) {
    for (QTabBar* bar : window_.findChildren<QTabBar*>())
      for (int i = 0; i < bar->count(); ++i)
        if (bar->tabText(i) == name && bar->isVisible()) return click(bar, bar->tabRect(i).center());
    FAIL() << "there is no tab " << name.toStdString();
  }
  // The link with that text, in a text with links.
  void clickLink(QTextBrowser* browser, const QString& text) {
    ASSERT_TRUE(browser->find(text) || (browser->moveCursor(QTextCursor::Start), browser->find(text)));
    const QRect rect = browser->cursorRect();
    click(browser->viewport(), rect.center() - QPoint(8, 0));
  }

  // --- what a person sees ---
  QString said() const { return window_.findChild<QPlainTextEdit*>("consoleOutput")->toPlainText(); }
  std::string chosen() const {
    const int node = canvas()->selectedNode();
    return node < 0 ? "" : canvas()->graph()->nodes[static_cast<size_t>(node)].op;
  }
  GraphCanvas* canvas() const { return window_.canvas(); }
  template <typename T>
  T* named(const char* name) const {
    return window_.findChild<T*>(name);
  }
  void settle() {
    QApplication::processEvents();
    waitIdle(window_);
    QApplication::processEvents();
  }

  MainWindow window_;
  int steps_ = 0;
};

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
  clickTab("Memory");
  auto* plan = window_.findChild<PlanCanvas*>();
  ASSERT_NE(plan, nullptr);
  // Where buffers are is not fixed: the middle of the picture, and places round it.
  for (int x = plan->width() / 2; x < plan->width() && canvas()->selectedNode() < 0; x += 25)
    for (int y = plan->height() - 40; y > 20 && canvas()->selectedNode() < 0; y -= 25)
      QTest::mouseClick(plan, Qt::LeftButton, {}, QPoint(x, y));
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

TEST_F(Stories, readTheTextOfTheChosenOperation) {
  press("Ctrl+F");
  type("op:softmax");
  press("Return");
  clickTab("IR");
  EXPECT_GT(QString::fromUtf8(window_.stateJson()).indexOf("irLines"), 0);
  EXPECT_LE(steps_, 4);
}

}  // namespace
}  // namespace dyn::ui
