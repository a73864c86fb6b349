// Stories: what somebody comes to the window for, played with keys and mouse clicks alone, on a BERT. Their
// steps are counted: a step is one key, one entry typed, or one click.
#pragma once

#include <gtest/gtest.h>

#include <QApplication>
#include <QPlainTextEdit>
#include <QTabBar>
#include <QTest>
#include <QTextBrowser>
#include <QToolButton>

#include "tests/support/idle_window.h"
#include "tests/support/paths.h"

namespace dyn::test {

using ui::GraphCanvas;
using ui::MainWindow;

class WindowStory : public testing::Test {
 protected:
  void SetUp() override {
    window_.resize(1400, 900);
    window_.show();
    window_.activateWindow();
    open("/samples/models/bert/model.onnx");
    if (window_.lastError().contains("reads no ONNX files")) GTEST_SKIP() << "this build reads no ONNX files";
    ASSERT_NE(canvas()->graph(), nullptr);
  }

  void open(const char* sample) {
    window_.open(QString::fromStdString(sourceFolder() + sample));
    settle();
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
  // The first click chooses, the second is a double one.
  void doubleClick(QWidget* widget, QPoint at) {
    ++steps_;
    QTest::mouseClick(widget, Qt::LeftButton, {}, at);
    settle();
    QTest::mouseDClick(widget, Qt::LeftButton, {}, at);
    settle();
  }
  // One entry: what is typed into a field, and Enter.
  void enter(const char* field, const QString& text) {
    auto* line = window_.findChild<QWidget*>(field);
    ASSERT_NE(line, nullptr) << field;
    line->setFocus();
    enterHere(text, Qt::Key_Return);
  }
  // The same into the field that has the keys; Tab goes on to the next one.
  void enterHere(const QString& text, Qt::Key end) {
    ++steps_;
    QWidget* field = QApplication::focusWidget();
    ASSERT_NE(field, nullptr) << "nobody listens to what is typed";
    QTest::keyClick(field, Qt::Key_A, Qt::ControlModifier);
    QTest::keyClicks(field, text);
    QTest::keyClick(field, end);
    settle();
  }
  void clickTab(const QString& name) {
    for (QTabBar* bar : window_.findChildren<QTabBar*>())
      for (int i = 0; i < bar->count(); ++i)
        if (bar->tabText(i) == name && bar->isVisible()) return click(bar, bar->tabRect(i).center());
    FAIL() << "there is no tab " << name.toStdString();
  }
  // On the rail.
  void clickMode(const QString& name) { click(window_.findChild<QToolButton*>("mode" + name)); }
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

}  // namespace dyn::test
