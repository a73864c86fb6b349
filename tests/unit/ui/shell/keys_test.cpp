// Keys: what is typed goes where the focus is; letters are commands on the graph alone; Escape leaves.
#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QFile>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QPlainTextEdit>
#include <QStatusBar>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <set>

#include "tests/support/idle_window.h"

namespace dyn::ui {
namespace {

class Keys : public testing::Test {
 protected:
  void SetUp() override {
    write("m.dyn", "fn @main(%x: Tensor[(n, m), f32]) { softmax(relu(x) * 2.0 + x, axis = -1) }");
    write("other.dyn", "fn @main(%x: Tensor[(n), f32]) { exp(x) }");
    window_.resize(1400, 900);
    window_.show();
    window_.activateWindow();
    window_.open(folder_.filePath("m.dyn"));
    settle();
    ASSERT_EQ(window_.lastError().toStdString(), "");
  }
  void write(const char* name, const char* text) {
    QFile file(folder_.filePath(name));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(text);
  }
  void settle() {
    QApplication::processEvents();
    test::waitIdle(window_);
    QApplication::processEvents();
  }
  void press(Qt::Key key, Qt::KeyboardModifiers with = {}) {
    QWidget* focused = QApplication::focusWidget();
    QTest::keyClick(focused ? focused : &window_, key, with);
    settle();
  }
  void type(const QString& text) {
    ASSERT_NE(QApplication::focusWidget(), nullptr);
    QTest::keyClicks(QApplication::focusWidget(), text);
    settle();
  }
  template <typename T>
  T* named(const char* name) const {
    return window_.findChild<T*>(name);
  }
  GraphCanvas* canvas() const { return window_.canvas(); }

  QTemporaryDir folder_;
  MainWindow window_;
};

TEST_F(Keys, aClickOnTheConsoleIsFollowedByItsEntry) {
  canvas()->setFocus();
  QTest::mouseClick(named<QToolButton>("consoleButton"), Qt::LeftButton);
  settle();
  type(":plan --dim n=2 --dim m=3");
  EXPECT_EQ(named<QLineEdit>("consoleLine")->text(), ":plan --dim n=2 --dim m=3");
  press(Qt::Key_Return);
  EXPECT_TRUE(named<QPlainTextEdit>("consoleOutput")->toPlainText().contains(":plan"));
}

// Every letter that is a command, in every list and field that can have the focus.
TEST_F(Keys, lettersActOnTheGraphAlone) {
  const int step = canvas()->graph()->step;
  const GraphLook look = canvas()->look();
  std::set<QString> letters;
  for (const QAction* action : window_.findChildren<QAction*>())
    for (const QKeySequence& key : action->shortcuts())
      if (key.count() == 1 && key[0].keyboardModifiers() == Qt::NoModifier && key.toString().size() == 1) {
        letters.insert(key.toString());
        EXPECT_EQ(action->shortcutContext(), Qt::WidgetShortcut) << action->text().toStdString();
      }
  EXPECT_GE(letters.size(), 8u) << "J K D L I O T P ?";
  for (const char* field : {"passes", "kernels", "search", "pipeline", "whyQuestion", "consoleLine"}) {
    auto* widget = named<QWidget>(field);
    ASSERT_NE(widget, nullptr) << field;
    widget->setFocus();
    QTest::keyClicks(widget, "jkdliotp");
    settle();
    EXPECT_EQ(canvas()->graph()->step, step) << field;
    EXPECT_EQ(canvas()->changesCount(BoxChange::added), 0) << field;
    EXPECT_FALSE(canvas()->isTracing()) << field;
    EXPECT_EQ(canvas()->look(), look) << field;
  }
  canvas()->setFocus();
  press(Qt::Key_J);
  EXPECT_GT(canvas()->graph()->step, step) << "on the graph they act";
}

TEST_F(Keys, escapeLeavesTheSearch) {
  press(Qt::Key_F, Qt::ControlModifier);
  type("softmax");
  EXPECT_EQ(canvas()->matchesCount(), 1);
  press(Qt::Key_Escape);
  EXPECT_EQ(named<QLineEdit>("search")->text(), "");
  EXPECT_EQ(canvas()->matchesCount(), 0);
  EXPECT_TRUE(canvas()->hasFocus());
}

TEST_F(Keys, theWindowsKeysActInTheSearch) {
  press(Qt::Key_E, Qt::ControlModifier | Qt::ShiftModifier);
  const GraphLook closed = canvas()->look();
  press(Qt::Key_F, Qt::ControlModifier);
  type("relu");
  press(Qt::Key_E, Qt::ControlModifier);
  const GraphLook opened = canvas()->look();
  EXPECT_EQ(opened == closed, canvas()->graph()->groups.empty()) << "Ctrl+E opens the groups";
  EXPECT_EQ(named<QLineEdit>("search")->text(), "relu");
}

TEST_F(Keys, aSearchIsOfTheModelItWasTypedFor) {
  press(Qt::Key_F, Qt::ControlModifier);
  type("softmax");
  window_.reload();
  settle();
  EXPECT_EQ(named<QLineEdit>("search")->text(), "softmax") << "the same model";
  window_.open(folder_.filePath("other.dyn"));
  settle();
  EXPECT_EQ(named<QLineEdit>("search")->text(), "");
}

TEST_F(Keys, everyEntryOfEveryMenuHasALetterOfItsOwn) {
  int entries = 0;
  for (const QAction* top : window_.menuBar()->actions()) {
    ASSERT_NE(top->menu(), nullptr);
    Q_EMIT top->menu()->aboutToShow();
    std::set<QChar> letters;
    for (const QAction* action : top->menu()->actions()) {
      if (action->isSeparator()) continue;
      const qsizetype at = action->text().indexOf('&');
      ASSERT_GE(at, 0) << action->text().toStdString();
      EXPECT_TRUE(letters.insert(action->text()[at + 1].toLower()).second) << action->text().toStdString();
      ++entries;
    }
  }
  EXPECT_GT(entries, 25);
}

TEST_F(Keys, thePaletteKnowsAbbreviationsAndSaysOnAndOff) {
  press(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
  auto* rows = named<QTableWidget>("paletteRows");
  QString states;
  for (const char* letters : {"animations", "logarithmic", "heat", "dark"}) {
    named<QLineEdit>("paletteSearch")->setText(QString(">") + letters);
    for (int r = 0; r < rows->rowCount(); ++r) states += rows->item(r, 2)->text() + "\n";
  }
  named<QLineEdit>("paletteSearch")->clear();
  type("expgr");
  ASSERT_GE(rows->currentRow(), 0);
  EXPECT_TRUE(rows->item(rows->currentRow(), 0)->text().startsWith("Export graph"));
  EXPECT_TRUE(states.contains("on\n") && states.contains("off\n")) << states.toStdString();
  EXPECT_FALSE(states.contains("hidden\n"));
  press(Qt::Key_Escape);
}

// A fault stands in the status bar until the next command.
TEST_F(Keys, theStatusBarForgetsAFaultThatIsPast) {
  EXPECT_FALSE(window_.submitLine(":checks"));
  EXPECT_NE(window_.statusBar()->currentMessage(), "");
  EXPECT_TRUE(window_.submitLine(":dims"));
  settle();
  EXPECT_EQ(window_.statusBar()->currentMessage(), "");
}

}  // namespace
}  // namespace dyn::ui
