// The palette over the window, help and tours, by keys and mouse.
#include <gtest/gtest.h>

#include <QApplication>
#include <QFile>
#include <QLineEdit>
#include <QMenuBar>
#include <QPushButton>
#include <QTabWidget>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>

#include "tests/support/idle_window.h"
#include "ui/shell/help_window.h"

namespace dyn::ui {
namespace {

TEST(PaletteMatch, wordsBeforeBeginsOfWordsBeforeLettersInOrder) {
  EXPECT_GT(matchScore("graph", "Export graph"), matchScore("graph", "Geographic"));
  EXPECT_GT(matchScore("expgr", "Export graph"), 0);
  EXPECT_GT(matchScore("exp gr", "Export graph"), 0);
  EXPECT_GT(matchScore("expgr", "Export graph"), matchScore("expgr", "Examples of a program"));
  EXPECT_EQ(matchScore("graphs", "Export graph"), -1);
  EXPECT_EQ(matchScore("", "anything"), 0);
}

class Palette : public testing::Test {
 protected:
  void SetUp() override {
    QFile file(folder_.filePath("m.dyn"));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(
        "fn @main(%x: Tensor[(n, m), f32]) {\n  %hidden = relu(%x)\n  %y = softmax(%hidden, axis = -1)\n");
    file.write("  return %y\n}");
    file.close();
    window_.resize(1200, 800);
    window_.show();
    window_.activateWindow();
    window_.open(folder_.filePath("m.dyn"));
    settle();
    ASSERT_EQ(window_.lastError().toStdString(), "");
    canvas()->setFocus();
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
    QTest::keyClicks(QApplication::focusWidget(), text);
    settle();
  }
  void open() { press(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier); }
  QStringList rows() const {
    QStringList texts;
    const auto* table = window_.findChild<QTableWidget*>("paletteRows");
    for (int row = 0; row < table->rowCount(); ++row) texts << table->item(row, 0)->text();
    return texts;
  }
  GraphCanvas* canvas() const { return window_.canvas(); }
  CommandPalette* palette() const { return window_.findChild<CommandPalette*>(); }

  QTemporaryDir folder_;
  MainWindow window_;
};

TEST_F(Palette, liesOverTheWindowAndEscapeLeavesIt) {
  open();
  ASSERT_TRUE(palette()->isVisible());
  EXPECT_FALSE(palette()->isWindow());
  EXPECT_EQ(QApplication::focusWidget()->objectName(), "paletteSearch");
  press(Qt::Key_Escape);
  EXPECT_FALSE(palette()->isVisible());
  EXPECT_TRUE(canvas()->hasFocus()) << "back to where it was";
  open();
  QTest::mouseClick(canvas(), Qt::LeftButton, {}, QPoint(5, canvas()->height() - 5));
  settle();
  EXPECT_FALSE(palette()->isVisible()) << "a click elsewhere closes it";
}

TEST_F(Palette, goesToAnOperation) {
  press(Qt::Key_P, Qt::ControlModifier);
  ASSERT_TRUE(palette()->isVisible());
  type("hid");
  ASSERT_FALSE(rows().isEmpty());
  EXPECT_EQ(rows().first(), "hidden");
  press(Qt::Key_Return);
  ASSERT_GE(canvas()->selectedNode(), 0);
  EXPECT_EQ(canvas()->graph()->nodes[static_cast<size_t>(canvas()->selectedNode())].name, "hidden");
}

TEST_F(Palette, goesToAPass) {
  open();
  type("#fuse");
  ASSERT_FALSE(rows().isEmpty());
  EXPECT_EQ(rows().first(), "fuse");
  press(Qt::Key_Return);
  EXPECT_EQ(canvas()->graph()->stepName, "fuse");
}

TEST_F(Palette, beginsACommandOfTheShell) {
  open();
  type(":swee");
  EXPECT_EQ(rows().value(0), ":sweep");
  for (const QString& row : rows()) EXPECT_TRUE(row.startsWith(':')) << row.toStdString();
  press(Qt::Key_Return);
  EXPECT_EQ(window_.findChild<QLineEdit*>("consoleLine")->text(), ":sweep ");
}

TEST_F(Palette, actionsAloneBehindTheirSign) {
  open();
  type(">console");
  EXPECT_EQ(rows().value(0), "Console");
  for (const QString& row : rows()) EXPECT_FALSE(row.startsWith(':')) << row.toStdString();
  press(Qt::Key_Return);
  auto* tabs = window_.findChild<QTabWidget*>("bottomTabs");
  EXPECT_EQ(tabs->tabText(tabs->currentIndex()), "Console");
}

TEST_F(Palette, whatWasUsedComesFirstAndIsRememberedFromStartToStart) {
  open();
  type("open");
  const QString before = rows().value(0);
  ASSERT_NE(before, "Open groups");
  const auto at = rows().indexOf("Open groups");
  ASSERT_GT(at, 0);
  for (qsizetype i = 0; i < at; ++i) press(Qt::Key_Down);
  press(Qt::Key_Return);
  open();
  type("open");
  EXPECT_EQ(rows().value(0), "Open groups");
  const QString settings = folder_.filePath("settings.json");
  {
    MainWindow other({}, settings);
    other.findChild<CommandPalette*>()->setUses({{"Open groups", 3}});
    other.show();
    other.close();
  }
  MainWindow later({}, settings);
  EXPECT_EQ(later.findChild<CommandPalette*>()->uses().at("Open groups"), 3);
}

TEST_F(Palette, helpShowsPagesAndFollowsTheirLinks) {
  if (docsFolder().isEmpty()) GTEST_SKIP() << "no documentation beside this build";
  press(Qt::Key_F1);
  auto* help = window_.findChild<HelpWindow*>();
  ASSERT_TRUE(help && help->isVisible());
  ASSERT_TRUE(help->page()->find("glossary", QTextDocument::FindCaseSensitively) ||
              help->page()->find("Glossary"));
  const QTextCursor link = help->page()->textCursor();
  ASSERT_TRUE(link.charFormat().isAnchor()) << "the index leads to the glossary";
  help->page()->ensureCursorVisible();
  QTest::mouseClick(help->page()->viewport(), Qt::LeftButton, {},
                    help->page()->cursorRect().center() - QPoint(6, 0));
  EXPECT_EQ(help->windowTitle(), "Glossary");
  QTest::mouseClick(help->findChild<QPushButton*>("helpBack"), Qt::LeftButton);
  EXPECT_NE(help->windowTitle(), "Glossary");
  QTest::keyClick(help, Qt::Key_Escape);
  EXPECT_FALSE(help->isVisible()) << "Escape leaves";
}

// Every page that the menu names is there, and every page that a page of the same folder names.
TEST_F(Palette, everyPageOfTheMenuIsThere) {
  if (docsFolder().isEmpty()) GTEST_SKIP() << "no documentation beside this build";
  HelpWindow help(&window_);
  for (const char* page : {"index.md", "window.md", "glossary.md", "tutorial/01_any_size.md"})
    EXPECT_TRUE(help.showPage(page)) << page;
  EXPECT_FALSE(help.showPage("no_such_page.md"));
}

TEST_F(Palette, theKeysOfAllMenusAreListed) {
  press(Qt::Key_F1, Qt::ControlModifier);
  auto* help = window_.findChild<HelpWindow*>();
  ASSERT_TRUE(help && help->isVisible());
  const QString text = help->page()->toPlainText();
  for (const char* said : {"Ctrl+O", "Ctrl+Shift+P", "F5", "On the graph", "Next pass"})
    EXPECT_TRUE(text.contains(said)) << said << " in\n" << text.toStdString();
}

}  // namespace
}  // namespace dyn::ui
