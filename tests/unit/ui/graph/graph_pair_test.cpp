// Two passes side by side: removals in the one graph, additions in the other, one choice in both, heat with
// signs; by the keys and the mouse.
#include "ui/graph/graph_pair.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QFile>
#include <QLabel>
#include <QMenuBar>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <QWheelEvent>

#include "app/engine/run/run_result.h"
#include "app/session/views/graph_views.h"
#include "tests/support/idle_window.h"
#include "ui/graph/graph_legend.h"
#include "ui/support/theme.h"

namespace dyn::ui {
namespace {

// Two operations compute the same: one is merged into the other, and what is left is fused.
constexpr const char* kTwice = R"(fn @main(%x: Tensor[(n, 96), f32], %w: Tensor[(96, 64), f32]) {
  %h = relu(%x)
  %g = relu(%x)
  %s = matmul(%h, %w)
  %t = matmul(%g, %w)
  %sum = add(%s, %t)
  %y = tanh(%sum)
  return %y
}
)";

class GraphPairTest : public testing::Test {
 protected:
  void SetUp() override {
    window_.resize(1440, 900);
    window_.show();
    window_.activateWindow();
    window_.setDim("n", 8);
    QFile file(folder_.filePath("m.dyn"));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(kTwice);
    file.close();
    window_.open(file.fileName());
    settle();
    ASSERT_EQ(window_.lastError().toStdString(), "");
    window_.setMode(WindowMode::passes);
    choosePass("cse");
  }
  void TearDown() override { applyTheme(Theme::light); }
  void settle() {
    QApplication::processEvents();
    test::waitIdle(window_);
    QApplication::processEvents();
  }
  void choosePass(const QString& name, Qt::KeyboardModifiers keys = {}) {
    auto* passes = window_.findChild<QTableWidget*>("passes");
    for (int row = 0; row < passes->rowCount(); ++row)
      if (passes->item(row, 1)->text() == name) {
        QTest::mouseClick(passes->viewport(), Qt::LeftButton, keys,
                          passes->visualItemRect(passes->item(row, 1)).center());
        settle();
        return;
      }
    FAIL() << "no pass " << name.toStdString();
  }
  void press(Qt::Key key, Qt::KeyboardModifiers keys = {}) {
    window_.canvas()->setFocus();
    QTest::keyClick(window_.canvas(), key, keys);
    settle();
  }
  GraphPair* pair() const { return window_.findChild<GraphPair*>(); }
  // By the name of its value.
  static QPointF placeOf(const GraphCanvas& canvas, const char* name) {
    for (const SceneBox& box : canvas.scene().boxes)
      if (box.node >= 0 && canvas.graph()->nodes[static_cast<size_t>(box.node)].name == name)
        return canvas.onScreen(box.rect.center());
    return {-1, -1};
  }
  static const GraphNode* chosen(const GraphCanvas& canvas) {
    return canvas.selectedNode() < 0 ? nullptr
                                     : &canvas.graph()->nodes[static_cast<size_t>(canvas.selectedNode())];
  }
  QTemporaryDir folder_;
  MainWindow window_;
};

TEST_F(GraphPairTest, RemovalsStandInTheOneAndChangesInBoth) {
  EXPECT_FALSE(pair()->isOtherShown());
  press(Qt::Key_D, Qt::ShiftModifier);
  ASSERT_TRUE(pair()->isOtherShown());
  const GraphCanvas &before = *pair()->other(), &after = *window_.canvas();
  EXPECT_LT(before.graph()->step, after.graph()->step);
  EXPECT_LT(before.mapToGlobal(QPoint()).x(), after.mapToGlobal(QPoint()).x()) << "the earlier at the left";
  EXPECT_EQ(before.changesCount(BoxChange::removed), 2) << "a relu and a product";
  EXPECT_EQ(before.changesCount(BoxChange::added), 0);
  EXPECT_EQ(after.changesCount(BoxChange::removed), 0);
  EXPECT_EQ(before.changesCount(BoxChange::changed), after.changesCount(BoxChange::changed));
  EXPECT_GT(after.changesCount(BoxChange::changed), 0);
  EXPECT_TRUE(window_.findChild<QLabel*>("otherGraphTitle")->text().contains("2 of them removed later"));
  EXPECT_TRUE(window_.findChild<QLabel*>("shownGraphTitle")->text().startsWith("after cse: "));
  // The halves are as wide as each other.
  EXPECT_NEAR(before.width(), after.width(), 0.1 * after.width());
  // Additions: another pass, in place.
  choosePass("fuse");
  EXPECT_TRUE(pair()->isOtherShown());
  EXPECT_GT(after.changesCount(BoxChange::added) + after.changesCount(BoxChange::changed), 0);
  // Once more, and the graph is alone; the difference stays.
  press(Qt::Key_D, Qt::ShiftModifier);
  EXPECT_FALSE(pair()->isOtherShown());
  EXPECT_FALSE(window_.findChild<QLabel*>("shownGraphTitle")->isVisible());
}

TEST_F(GraphPairTest, AnyTwoPassesAndTheLaterOneAtTheRight) {
  press(Qt::Key_D, Qt::ShiftModifier);
  choosePass("import", Qt::ShiftModifier);  // compared with cse, which was shown
  ASSERT_TRUE(pair()->isOtherShown());
  EXPECT_EQ(window_.canvas()->graph()->stepName, "import");
  EXPECT_EQ(pair()->other()->graph()->stepName, "cse");
  EXPECT_GT(pair()->other()->mapToGlobal(QPoint()).x(), window_.canvas()->mapToGlobal(QPoint()).x());
  EXPECT_EQ(window_.canvas()->changesCount(BoxChange::removed), 2);
}

TEST_F(GraphPairTest, AClickInOneChoosesInBoth) {
  press(Qt::Key_D, Qt::ShiftModifier);
  GraphCanvas &before = *pair()->other(), &after = *window_.canvas();
  QTest::mouseClick(&before, Qt::LeftButton, {}, placeOf(before, "sum").toPoint());
  settle();
  ASSERT_NE(chosen(before), nullptr);
  ASSERT_NE(chosen(after), nullptr);
  EXPECT_EQ(chosen(before)->name, "sum");
  EXPECT_EQ(chosen(after)->name, "sum");
  EXPECT_TRUE(after.rect().contains(placeOf(after, "sum").toPoint())) << "in sight";
  QTest::mouseClick(&after, Qt::LeftButton, {}, placeOf(after, "y").toPoint());
  settle();
  ASSERT_NE(chosen(before), nullptr);
  EXPECT_EQ(chosen(before)->name, "y");
  // What is gone later is chosen in one alone.
  const char* gone = placeOf(after, "t").x() < 0 ? "t" : "s";
  QTest::mouseClick(&before, Qt::LeftButton, {}, placeOf(before, gone).toPoint());
  settle();
  ASSERT_NE(chosen(before), nullptr);
  EXPECT_EQ(chosen(before)->name, gone);
  EXPECT_EQ(chosen(after), nullptr);
}

// A chosen difference has a legend: no box lies behind it.
TEST_F(GraphPairTest, NoBoxLiesBehindTheLegend) {
  const auto lowest = [](const GraphCanvas& canvas) {
    return canvas.onScreen(canvas.scene().bounds.bottomLeft()).y();
  };
  press(Qt::Key_D);  // alone, too
  ASSERT_GT(window_.canvas()->changesCount(BoxChange::changed), 0);
  EXPECT_LE(lowest(*window_.canvas()), 2 * window_.canvas()->middle().y());
  EXPECT_LT(2 * window_.canvas()->middle().y(), window_.canvas()->height()) << "there is a legend";
  press(Qt::Key_D, Qt::ShiftModifier);
  for (const QSize size : {QSize(1000, 700), QSize(1440, 900)}) {
    window_.resize(size);
    settle();
    for (const GraphCanvas* canvas : {static_cast<const GraphCanvas*>(window_.canvas()),
                                      static_cast<const GraphCanvas*>(pair()->other())}) {
      EXPECT_LE(lowest(*canvas), 2 * canvas->middle().y()) << size.width();
      EXPECT_GE(canvas->onScreen(canvas->scene().bounds.topLeft()).y(), 0) << size.width();
    }
  }
}

// The wheel, the mouse and the keys in the one move both; both have one scale.
TEST_F(GraphPairTest, OneIsMovedAndTheOtherFollows) {
  press(Qt::Key_D, Qt::ShiftModifier);
  GraphCanvas &before = *pair()->other(), &after = *window_.canvas();
  EXPECT_TRUE(before.isFitted() && after.isFitted());
  EXPECT_DOUBLE_EQ(before.scale(), after.scale());
  const auto wheel = [](GraphCanvas& canvas, int by) {
    const QPointF at(canvas.width() / 2.0, canvas.height() / 2.0);
    QWheelEvent event(at, canvas.mapToGlobal(at), {}, QPoint(0, by), Qt::NoButton, Qt::NoModifier,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(&canvas, &event);
  };
  for (GraphCanvas* moved : {&before, &after}) {
    GraphCanvas& other = moved == &before ? after : before;
    const double scale = moved->scale();
    wheel(*moved, 480);
    EXPECT_GT(moved->scale(), scale);
    EXPECT_DOUBLE_EQ(other.scale(), moved->scale());
    const QPointF here = placeOf(*moved, "y"), there = placeOf(other, "y");
    const QPoint start(moved->width() / 2, 20);
    QTest::mousePress(moved, Qt::LeftButton, {}, start);
    for (int i = 1; i <= 10; ++i) {
      QMouseEvent drag(QEvent::MouseMove, start + QPoint(0, -6 * i),
                       moved->mapToGlobal(start + QPoint(0, -6 * i)), Qt::NoButton, Qt::LeftButton, {});
      QApplication::sendEvent(moved, &drag);
    }
    QTest::mouseRelease(moved, Qt::LeftButton, {}, start + QPoint(0, -60));
    EXPECT_NEAR(placeOf(*moved, "y").y(), here.y() - 60, 1);
    EXPECT_LT(placeOf(other, "y").y(), there.y() - 30) << "it followed";
  }
  // What is chosen stands at one height in both.
  press(Qt::Key_Space);
  QTest::mouseClick(&after, Qt::LeftButton, {}, placeOf(after, "sum").toPoint());
  settle();
  after.showAt(
      1.5, after.scene()
               .boxes
               .at(static_cast<size_t>(after.scene().boxOfNode.at(static_cast<size_t>(after.selectedNode()))))
               .rect.center());
  press(Qt::Key_Down, Qt::ShiftModifier);
  EXPECT_NEAR(placeOf(before, "sum").y(), placeOf(after, "sum").y(), 1);
  EXPECT_NEAR(placeOf(before, "sum").x() - before.middle().x(),
              placeOf(after, "sum").x() - after.middle().x(), 1);
  press(Qt::Key_Space);
  EXPECT_TRUE(before.isFitted());
  EXPECT_DOUBLE_EQ(before.scale(), after.scale());
}

// Heat fills both, and no colour of a change is seen.
TEST_F(GraphPairTest, HeatWithSigns) {
  window_.run();
  settle();
  if (!window_.lastRun()) GTEST_SKIP() << "this build generates no code";
  press(Qt::Key_D, Qt::ShiftModifier);
  QAction* heat = nullptr;
  for (QAction* action : window_.findChildren<QAction*>())
    if (action->text().remove('&') == "Heat while passes are compared") heat = action;
  ASSERT_NE(heat, nullptr);
  for (const Theme theme : {Theme::light, Theme::dark}) {
    applyTheme(theme);
    const bool dark = theme == Theme::dark;
    if (heat->isChecked()) heat->trigger();
    settle();
    const auto shows = [&](const GraphCanvas& canvas, const QColor& wanted) {
      const QImage image = const_cast<GraphCanvas&>(canvas).grab().toImage();
      for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
          if (image.pixelColor(x, y).rgb() == wanted.rgb()) return true;
      return false;
    };
    const QColor removed = changeFill(BoxChange::removed, dark);
    EXPECT_TRUE(shows(*pair()->other(), removed)) << nameOf(theme).toStdString();
    heat->trigger();
    settle();
    EXPECT_FALSE(shows(*pair()->other(), removed)) << nameOf(theme).toStdString();
    EXPECT_FALSE(shows(*window_.canvas(), changeFill(BoxChange::changed, dark)));
    EXPECT_TRUE(shows(*window_.canvas(), heatColor(1))) << "the slowest";
    EXPECT_TRUE(shows(*pair()->other(), heatColor(1))) << "and before the pass";
  }
}

// The small map is of the theme that is shown, whenever it was laid out.
TEST_F(GraphPairTest, TheMapChangesWithTheTheme) {
  applyTheme(Theme::light);
  GraphCanvas& canvas = *window_.canvas();
  for (int i = 0; i < 6; ++i) press(Qt::Key_Plus);
  ASSERT_TRUE(canvas.minimapShown());
  const auto corner = [&] {
    const QImage image = canvas.grab().toImage();
    int64_t sum = 0;
    for (int i = 15; i < 45; ++i) sum += image.pixelColor(image.width() - i, image.height() - i).lightness();
    return sum / 30;
  };
  const int64_t light = corner();
  applyTheme(Theme::dark);
  settle();
  EXPECT_LT(corner(), light / 2);
}

// Another model, and a model that can not be run: there is nothing beside it.
TEST_F(GraphPairTest, TheOtherGraphGoesWithItsModel) {
  press(Qt::Key_D, Qt::ShiftModifier);
  ASSERT_TRUE(pair()->isOtherShown());
  QFile file(folder_.filePath("wrong.dyn"));
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("fn @main(%x: Tensor[(2, 3), f32]) {\n  %y = relu(%x)\n  %z = matmul(%y, %y)\n  return %z\n}");
  file.close();
  window_.open(file.fileName());
  settle();
  EXPECT_FALSE(pair()->isOtherShown());
  EXPECT_EQ(pair()->other()->graph(), nullptr);
}

}  // namespace
}  // namespace dyn::ui
