// Every action and button that is grey says why, under the pointer and in the palette.
#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QAction>
#include <QApplication>
#include <QFile>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include "tests/support/idle_window.h"
#include "ui/support/why_grey.h"

namespace dyn::ui {
namespace {

class Grey : public testing::Test {
 protected:
  void open(const char* text) {
    QFile file(folder_.filePath("m.dyn"));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(text);
    file.close();
    window_.open(file.fileName());
    settle();
  }
  void settle() {
    QApplication::processEvents();
    test::waitIdle(window_);
    QApplication::processEvents();
  }
  // How many there are that are grey.
  int checkAll() {
    int grey = 0;
    for (const QAction* action : window_.findChildren<QAction*>()) {
      if (action->isEnabled() || action->isSeparator() || action->text().isEmpty()) continue;
      if (qobject_cast<const QAction*>(action)->objectName().startsWith("_q_")) continue;  // of a field
      ++grey;
      EXPECT_NE(whyGrey(action), "") << action->text().toStdString();
      EXPECT_TRUE(action->toolTip().contains(whyGrey(action))) << action->text().toStdString();
    }
    for (const QAbstractButton* button : window_.findChildren<QAbstractButton*>()) {
      if (button->isEnabled() || !button->isVisible()) continue;
      const auto* tool = qobject_cast<const QToolButton*>(button);
      if (tool && tool->defaultAction()) continue;  // it is as its action
      ++grey;
      EXPECT_NE(whyGrey(button), "") << button->objectName().toStdString() << button->text().toStdString();
    }
    return grey;
  }
  QTemporaryDir folder_;
  MainWindow window_;
};

TEST_F(Grey, saysWhyWithAndWithoutAModel) {
  window_.resize(1280, 900);
  window_.show();
  settle();
  EXPECT_GT(checkAll(), 15);
  open("fn @main(%x: Tensor[(n, 4), f32]) {\n  return relu(%x)\n}\n");
  ASSERT_EQ(window_.lastError().toStdString(), "");
  for (const WindowMode mode : kWindowModes) {
    window_.setMode(mode);
    for (const QString& panel : specOf(mode).panels) {
      ASSERT_TRUE(window_.showPanel(panel));
      settle();
      EXPECT_GT(checkAll(), 5);
    }
  }
  for (const QAction* action : window_.findChildren<QAction*>())
    if (action->text().remove('&') == "Run") {
      EXPECT_TRUE(action->isEnabled());
      EXPECT_FALSE(action->toolTip().contains("Open a model first")) << "the reason goes with the cause";
    }
}

TEST_F(Grey, thePaletteSaysItToo) {
  window_.resize(1280, 900);
  window_.show();
  window_.activateWindow();
  settle();
  QTest::keyClick(&window_, Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
  settle();
  auto* rows = window_.findChild<QTableWidget*>("paletteRows");
  ASSERT_TRUE(rows && rows->isVisible());
  const int all = rows->parentWidget()->height();
  QTest::keyClicks(QApplication::focusWidget(), ">open groups");
  settle();
  ASSERT_GT(rows->rowCount(), 0);
  EXPECT_EQ(rows->item(0, 0)->text(), "Open groups");
  EXPECT_EQ(rows->item(0, 2)->text(), "Open a model first.");
  EXPECT_LT(rows->parentWidget()->height(), all) << "the list is as high as its rows";
  EXPECT_GE(rows->viewport()->height(), rows->rowCount() * rows->rowHeight(0));
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
}

}  // namespace
}  // namespace dyn::ui
