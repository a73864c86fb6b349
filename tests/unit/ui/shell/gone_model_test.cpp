// Whatever the window is busy with: when the model it looks at goes, no view holds on to it.
#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QFile>
#include <QFrame>
#include <QLineEdit>
#include <QMouseEvent>
#include <QPointer>
#include <QPushButton>
#include <QTabWidget>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <functional>

#include "app/session/views/graph_views.h"
#include "tests/support/idle_window.h"
#include "ui/shell/navigation.h"
#include "ui/views/code/levels_panel.h"
#include "ui/views/run/stop_panel.h"

namespace dyn::ui {
namespace {

constexpr const char* kGoneModel = R"(fn @main(%x: Tensor[(n, m), f32], %w: Tensor[(m, 3), f32]) {
  %h = relu(%x)
  %s = matmul(%h, %w)
  %y = softmax(%s, axis = -1)
  %z = tanh(%x)
  return %y, %z
}
)";
constexpr const char* kSmall = "fn @main(%a: Tensor[(k), f32]) {\n  return exp(%a)\n}\n";

class GoneModel : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  void SetUp() override {
    write("model.dyn", kGoneModel);
    write("small.dyn", kSmall);
    window_.resize(1400, 900);
    window_.show();
    window_.activateWindow();
    window_.open(directory_.filePath("model.dyn"));
    settle();
    ASSERT_EQ(window_.lastError().toStdString(), "");
    ASSERT_GT(canvas()->graph()->nodes.size(), 4u);
  }
  void TearDown() override {
    if (auto* palette = window_.findChild<QFrame*>("palette")) palette->hide();
  }
  void write(const char* name, const char* text) {
    QFile file(directory_.filePath(name));
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
  void search(const char* text) {
    press(Qt::Key_F, Qt::ControlModifier);
    QTest::keyClicks(QApplication::focusWidget(), text);
    settle();
  }
  void choose(const char* op) {
    for (const GraphNode& node : canvas()->graph()->nodes)
      if (node.op == op && canvas()->revealId(node.id)) break;
    canvas()->setFocus();
    settle();
  }
  void run() {
    window_.run();
    settle();
  }
  void show(const char* panel) {
    ASSERT_TRUE(window_.showPanel(panel)) << panel;
    settle();
  }
  static void mouse(QWidget* widget, QEvent::Type type, QPointF at, Qt::KeyboardModifiers keys = {}) {
    QMouseEvent event(type, at, widget->mapToGlobal(at),
                      type == QEvent::MouseMove ? Qt::NoButton : Qt::LeftButton,
                      type == QEvent::MouseButtonRelease ? Qt::NoButton : Qt::LeftButton, keys);
    QApplication::sendEvent(widget, &event);
  }
  GraphCanvas* canvas() const { return window_.canvas(); }

  void makeBusy(const std::string& how) {
    if (how == "search") return search("softmax");
    if (how == "found") {
      search("x");
      press(Qt::Key_Return);
      return press(Qt::Key_F3);
    }
    if (how == "compare") {
      canvas()->setFocus();
      press(Qt::Key_J);
      return press(Qt::Key_D);
    }
    if (how == "trace") {
      choose("relu");
      choose("softmax");
      press(Qt::Key_I);
      return press(Qt::Key_P);
    }
    if (how == "palette") return press(Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
    if (how == "stepping") {
      choose("softmax");
      press(Qt::Key_F9);
      return press(Qt::Key_F5);
    }
    if (how == "levels") {
      show("Code");
      CodeView* view = window_.findChild<LevelsPanel*>()->pane(0)->view();
      for (int line = 0; line < view->lineCount(); ++line)
        QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, view->lineRect(line).center());
      return QTest::mouseMove(view->viewport(), view->lineRect(3).center());
    }
    if (how == "runs") {
      run();
      run();
      show("By layer");
      QTest::mouseClick(window_.findChild<QPushButton*>("compareRuns"), Qt::LeftButton);
      return settle();
    }
    if (how == "timeline") {
      run();
      show("Timeline");
      auto* timeline = window_.findChild<TimelineCanvas*>();
      mouse(timeline, QEvent::MouseButtonPress, {timeline->width() * 0.3, 40}, Qt::ShiftModifier);
      mouse(timeline, QEvent::MouseMove, {timeline->width() * 0.4, 40}, Qt::ShiftModifier);
      return mouse(timeline, QEvent::MouseMove, {timeline->width() * 0.6, 40}, Qt::ShiftModifier);
    }
    if (how == "sizes") {
      show("Sizes");
      auto* plot = window_.findChild<SweepPlot*>();
      mouse(plot, QEvent::MouseButtonPress, plot->limitHandle());
      return mouse(plot, QEvent::MouseMove, plot->limitHandle() + QPointF(0, 20));
    }
    if (how == "memory") {
      run();
      show("Memory");
      auto* plan = window_.findChild<PlanCanvas*>("planCanvas");
      QTest::mouseClick(window_.findChild<QPushButton*>("planKeep"), Qt::LeftButton);
      // A tooltip that opens may lay the blocks out anew.
      const std::vector<PlanCanvas::Block> blocks = plan->blocks();
      for (const PlanCanvas::Block& block : blocks)
        mouse(plan, QEvent::MouseMove, plan->rectOf(block).center());
      return;
    }
    if (how == "tensor") {
      run();
      show("Tensor");
      window_.findChild<QLineEdit*>("tensorName")->setText("s");
      QTest::mouseClick(window_.findChild<QPushButton*>("tensorLook"), Qt::LeftButton);
      return settle();
    }
    FAIL() << "no state " << how;
  }

  void takeAway(const std::string& how) {
    if (how == "reload") {
      window_.reload();
    } else if (how == "pipeline") {
      auto* pipeline = window_.findChild<QLineEdit*>("pipeline");
      pipeline->setText("-fuse");
      Q_EMIT pipeline->returnPressed();
    } else if (how == "other") {
      window_.open(directory_.filePath("small.dyn"));
    } else if (how == "smaller") {  // the file holds less than it did
      write("model.dyn", kSmall);
      window_.reload();
    } else {
      FAIL() << "no event " << how;
    }
  }

  // Everything that could still look at what is gone: paint, keys, lists, plots; while the model changes,
  // and when another is there.
  void useAll() {
    window_.grab();
    canvas()->nextMatch();
    canvas()->nextMatch(-1);
    for (const char* name : {"outline", "found"}) {
      auto* list = window_.findChild<Outline*>(name);
      list->expandAll();
      for (int r = 0; r < list->model()->rowCount(); ++r) list->setCurrentIndex(list->model()->index(r, 0));
    }
    auto* navigation = window_.findChild<Navigation*>();
    navigation->back();
    navigation->forward();
    navigation->traceInputs();
    navigation->traceOutputs();
    navigation->showPath();
  }

  // Levels, which compile and print all kernels, where they were open.
  void useAllPanels(bool levels) {
    auto* tabs = window_.findChild<QTabWidget*>("bottomTabs");
    for (int i = 0; i < tabs->count(); ++i) {
      if (tabs->tabText(i) == "Code" && !levels) continue;
      tabs->setCurrentIndex(i);
      QWidget* page = tabs->widget(i);
      // What one part does with the mouse may take another away.
      QList<QPointer<QWidget>> parts;
      for (QWidget* part : page->findChildren<QWidget*>()) parts << part;
      parts << page;
      for (const QPointer<QWidget>& part : parts) {
        if (!part || !part->isVisible() || part->inherits("QAbstractButton") || part->inherits("QComboBox"))
          continue;
        for (const double y : {0.2, 0.5, 0.8})
          if (part) mouse(part, QEvent::MouseMove, {part->width() * 0.5, part->height() * y});
        if (part) mouse(part, QEvent::MouseButtonRelease, {part->width() * 0.5, part->height() * 0.5});
      }
      window_.grab();
    }
  }

  QTemporaryDir directory_;
  MainWindow window_;
};

TEST_P(GoneModel, NoViewHoldsOnToIt) {
  const auto [busy, event] = GetParam();
  makeBusy(busy);
  if (HasFatalFailure()) return;
  takeAway(event);
  useAll();  // while the other comes
  settle();
  EXPECT_EQ(window_.lastError().toStdString(), "");
  ASSERT_NE(canvas()->graph(), nullptr);
  useAll();
  useAllPanels(std::string(busy) == "levels");
  if (auto* palette = window_.findChild<QFrame*>("palette"); palette && palette->isVisible()) {
    auto* rows = palette->findChild<QTableWidget*>("paletteRows");
    for (int r = 0; r < rows->rowCount(); ++r)
      if (rows->item(r, 0)->text().contains("model.dyn")) {
        Q_EMIT rows->cellClicked(r, 0);
        break;
      }
  }
  settle();
  const size_t nodes = canvas()->graph()->nodes.size();
  EXPECT_LT(canvas()->selectedNode(), static_cast<int>(nodes));
  for (const int match : canvas()->matches()) EXPECT_LT(match, static_cast<int>(nodes));
}

INSTANTIATE_TEST_SUITE_P(
    All, GoneModel,
    testing::Combine(testing::Values("search", "found", "compare", "trace", "palette", "stepping", "levels",
                                     "runs", "timeline", "sizes", "memory", "tensor"),
                     testing::Values("reload", "pipeline", "other", "smaller")),
    [](const auto& info) { return std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param); });

}  // namespace
}  // namespace dyn::ui
