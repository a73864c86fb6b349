// Columns of code and graphs side by side: what comes, what stays and what a change of the mode ends
// (tests/support/window_story.h).
#include <gtest/gtest.h>

#include <QAction>
#include <QComboBox>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include "tests/support/window_story.h"
#include "ui/graph/graph_pair.h"
#include "ui/views/code/levels_panel.h"

namespace dyn::ui {
namespace {

class ColumnStories : public test::WindowStory {
 protected:
  LevelsPanel* code() const { return window_.findChild<LevelsPanel*>(); }
  CodeView& view(int column) const { return *code()->pane(column)->view(); }
  GraphPair* pair() const { return window_.findChild<GraphPair*>(); }
};

TEST_F(ColumnStories, aThirdLevelBesideTheTwo) {
  for (const QSize size : {QSize(1000, 700), QSize(1440, 900)}) {
    window_.resize(size);
    clickMode("Code");
    click(named<QToolButton>("levelsColumns3"));
    ASSERT_EQ(code()->levels(), (std::vector{IrLevel::graph, IrLevel::assembly, IrLevel::loop}));
    EXPECT_EQ(window_.size(), size) << "three columns do not widen the window";
    for (int column = 0; column < 3; ++column) {
      ASSERT_TRUE(code()->pane(column)->isVisible()) << column;
      EXPECT_GE(view(column).viewport()->width(), 100) << column;
      auto* level = code()->pane(column)->findChild<QComboBox*>();
      EXPECT_GE(level->width(), level->sizeHint().width()) << column << ": its words are whole";
      EXPECT_LE(code()->pane(column)->mapTo(code(), QPoint(code()->pane(column)->width(), 0)).x(),
                code()->width())
          << "column " << column << " is not cut";
    }
    if (!code()->pane(1)->text()) GTEST_SKIP() << "this build generates no code";
    // A line chosen in one is marked in all, and what belongs together has one colour in all.
    int line = 0;
    while (line < view(0).lineCount() && !view(0).lineText(line).contains("softmax(")) ++line;
    ASSERT_LT(line, view(0).lineCount());
    view(0).showLine(line);
    const QRect at = view(0).lineRect(line);
    click(view(0).viewport(), QPoint(at.left() + 4, at.center().y()));
    for (int column = 0; column < 3; ++column) {
      ASSERT_FALSE(view(column).highlights().empty()) << column;
      const auto marked = static_cast<size_t>(view(column).highlights().front().first);
      EXPECT_GE(view(column).groups().at(marked), 0) << column;
      EXPECT_EQ(view(column).groups().at(marked), view(0).groups().at(static_cast<size_t>(line))) << column;
    }
    // From the third back.
    const int loop = view(2).highlights().front().first;
    click(named<QToolButton>("levelsColumns1"));
    EXPECT_TRUE(view(0).groups().empty()) << "one alone has nothing to belong to";
    EXPECT_FALSE(code()->pane(2)->isVisible());
    click(named<QToolButton>("levelsColumns3"));
    view(2).showLine(loop);
    const QRect there = view(2).lineRect(loop);
    ASSERT_FALSE(there.isEmpty());
    click(view(2).viewport(), QPoint(there.left() + 4, there.center().y()));
    EXPECT_FALSE(view(0).highlights().empty());
    clickMode("Overview");
  }
}

TEST_F(ColumnStories, threeColumnsComeBackAtTheNextStart) {
  QTemporaryDir folder;
  const QString settings = folder.filePath("settings.json");
  for (const int count : {3, 1, 2}) {
    {
      MainWindow window({}, settings);
      window.show();
      window.setMode(WindowMode::code);
      QTest::mouseClick(window.findChild<QToolButton*>(QString("levelsColumns%1").arg(count)),
                        Qt::LeftButton);
      if (count == 3) {
        auto* third = window.findChild<QComboBox*>("thirdLevelLevel");
        third->setFocus();
        QTest::keyClick(third, Qt::Key_End);
      }
      window.close();
    }
    MainWindow window({}, settings);
    window.show();
    window.setMode(WindowMode::code);
    EXPECT_EQ(window.findChild<LevelsPanel*>()->columns(), count);
    if (count < 3) continue;
    EXPECT_EQ(window.findChild<QComboBox*>("thirdLevelLevel")->currentText(), "Bytecode");
  }
}

// Two graphs of passes are looked at in the mode of passes: a profile is of one graph, with its heat.
TEST_F(ColumnStories, whatPassesChangedStaysInTheirMode) {
  clickMode("Passes");
  canvas()->setFocus();
  for (int i = 0; i < 3; ++i) press("J");
  press("Shift+D");
  ASSERT_TRUE(pair()->isOtherShown());
  ASSERT_NE(pair()->compared(), nullptr);
  clickMode("Profile");
  EXPECT_FALSE(pair()->isOtherShown());
  EXPECT_EQ(pair()->compared(), nullptr) << "nor is anything marked as new";
  press("Ctrl+R");
  EXPECT_EQ(canvas()->changesCount(BoxChange::added), 0);
  clickMode("Passes");
  EXPECT_TRUE(pair()->isOtherShown()) << "it was left there";
  canvas()->setFocus();
  press("Shift+D");
  EXPECT_FALSE(pair()->isOtherShown());
  clickMode("Memory");
  clickMode("Passes");
  EXPECT_FALSE(pair()->isOtherShown()) << "what was ended stays so";
  // Begun in another mode it is that mode's, until Passes is left.
  clickMode("Overview");
  canvas()->setFocus();
  press("D");
  EXPECT_NE(pair()->compared(), nullptr);
}

}  // namespace
}  // namespace dyn::ui
