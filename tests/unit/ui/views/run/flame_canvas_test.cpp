// The flame view and the timelines of two runs, by mouse and keys.
#include "ui/views/run/flame_canvas.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QLabel>
#include <QTest>
#include <QWheelEvent>

#include "app/engine/run/run_result.h"
#include "app/session/views/run_views.h"
#include "app/session/views/view.h"
#include "ui/views/run/timeline_panel.h"

namespace dyn::ui {
namespace {

PlaceRow placeRow(const char* label, int parent, int64_t ns, const char* kind = "operation") {
  PlaceRow row;
  row.label = label;
  row.kind = kind;
  if (row.kind == "operation") row.place = std::string("m.onnx: node /") + label;
  row.parent = parent;
  row.totalNs = ns;
  row.launchesCount = 1;
  return row;
}

// A run of 1,000 ns: layer.0 of 600 with two operations, layer.1 of 400.
Shared<PlaceTree> twoLayers() {
  auto places = std::make_shared<PlaceTree>();
  places->runNs = 1000;
  places->rows = {placeRow("layer.1", -1, 400, "module"), placeRow("layer.0", -1, 600, "module"),
                  placeRow("add", 1, 200), placeRow("matmul", 1, 400), placeRow("softmax", 0, 400)};
  return places;
}

class Flame : public testing::Test {
 protected:
  void SetUp() override {
    canvas_.resize(816, 200);
    canvas_.setPlaces(twoLayers());
    canvas_.show();
    QObject::connect(&canvas_, &FlameCanvas::placeChosen, &canvas_,
                     [this](const QString& place) { chosen_ << place; });
    QApplication::processEvents();
  }
  QPoint middleOf(int row) const {
    for (const FlameCanvas::Bar& bar : canvas_.bars())
      if (bar.row == row) return canvas_.rectOf(bar).center().toPoint();
    ADD_FAILURE() << "row " << row << " is not seen";
    return {};
  }
  double widthOf(int row) const {
    for (const FlameCanvas::Bar& bar : canvas_.bars())
      if (bar.row == row) return canvas_.rectOf(bar).width();
    return 0;
  }
  FlameCanvas canvas_;
  QStringList chosen_;
};

TEST_F(Flame, barsAreAsWideAsTheirTimeAndTheLongestStandsFirst) {
  ASSERT_EQ(canvas_.bars().size(), 6u);
  EXPECT_EQ(canvas_.bars()[0].row, -1);
  EXPECT_DOUBLE_EQ(widthOf(-1), 800);
  EXPECT_DOUBLE_EQ(widthOf(1), 480);
  EXPECT_DOUBLE_EQ(widthOf(0), 320);
  EXPECT_DOUBLE_EQ(widthOf(3), 320);
  EXPECT_LT(middleOf(1).x(), middleOf(0).x()) << "layer.0 took longer";
  EXPECT_LT(middleOf(3).x(), middleOf(2).x());
  EXPECT_EQ(canvas_.rectOf(canvas_.bars()[0]).top() < middleOf(3).y(), true);
}

TEST_F(Flame, aClickChoosesAndADoubleClickGoesIn) {
  QTest::mouseClick(&canvas_, Qt::LeftButton, {}, middleOf(2));
  EXPECT_EQ(chosen_, QStringList({"m.onnx: node /add"}));
  QTest::mouseDClick(&canvas_, Qt::LeftButton, {}, middleOf(1));
  EXPECT_EQ(canvas_.root(), 1);
  EXPECT_DOUBLE_EQ(widthOf(1), 800);
  EXPECT_DOUBLE_EQ(widthOf(0), 0) << "beside it: not seen";
  QTest::mouseClick(&canvas_, Qt::LeftButton, {}, middleOf(-1));
  EXPECT_EQ(canvas_.root(), -1) << "a click above goes back";
}

TEST_F(Flame, keysWalkAndZoom) {
  canvas_.setFocus();
  for (const Qt::Key key : {Qt::Key_Down, Qt::Key_Down, Qt::Key_Right, Qt::Key_Return})
    QTest::keyClick(&canvas_, key);
  EXPECT_EQ(chosen_.value(chosen_.size() - 1), "m.onnx: node /add");
  EXPECT_EQ(canvas_.root(), 2);
  QTest::keyClick(&canvas_, Qt::Key_Backspace);
  QTest::keyClick(&canvas_, Qt::Key_Backspace);
  EXPECT_EQ(canvas_.root(), -1);
}

TEST_F(Flame, aRunThatIsGoneLeavesNothing) {
  QTest::mouseDClick(&canvas_, Qt::LeftButton, {}, middleOf(1));
  canvas_.setPlaces(nullptr);
  EXPECT_TRUE(canvas_.bars().empty());
  QTest::mouseClick(&canvas_, Qt::LeftButton, {}, QPoint(100, 20));
  QTest::keyClick(&canvas_, Qt::Key_Return);
  canvas_.grab();
  EXPECT_EQ(canvas_.root(), -1);
}

Shared<RunResult> runOf(int64_t ns) {
  auto run = std::make_shared<RunResult>();
  for (int i = 0; i < 4; ++i) {
    TimelineEvent event;
    event.name = "gemm";
    event.kind = "kernel";
    event.place = "m.onnx: node /matmul";
    event.beginNs = i * ns / 4;
    event.durationNs = ns / 5;
    event.thread = 1;
    run->timeline.push_back(event);
  }
  return run;
}

TEST(TimelinePanel, twoRunsHaveOneScaleAndMoveTogether) {
  TimelinePanel panel;
  panel.resize(800, 300);
  panel.show();
  auto runs = std::make_shared<RunsView>();
  runs->first = "run 1: seq=16";
  runs->second = "run 2: seq=32";
  runs->firstNumber = 1;
  runs->secondNumber = 2;
  panel.compare(runs, runOf(100'000), runOf(200'000));
  QApplication::processEvents();
  auto* first = panel.findChild<TimelineCanvas*>("timelineFirst");
  auto* second = panel.findChild<TimelineCanvas*>("timelineSecond");
  ASSERT_TRUE(panel.isComparing() && first->isVisible() && second->isVisible());
  EXPECT_TRUE(panel.findChild<QLabel*>("timelineFirstTitle")->text().startsWith("run 1: seq=16"));
  EXPECT_DOUBLE_EQ(first->nsPerPixel(), second->nsPerPixel());
  EXPECT_NEAR(first->rectOf(first->bars()[3]).width(), second->rectOf(second->bars()[3]).width() / 2, 1);
  const double before = second->nsPerPixel();
  const QPointF at(400, 40);
  QWheelEvent wheel(at, first->mapToGlobal(at), {}, {0, 240}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase,
                    false);
  QApplication::sendEvent(first, &wheel);
  EXPECT_LT(first->nsPerPixel(), before);
  EXPECT_DOUBLE_EQ(first->nsPerPixel(), second->nsPerPixel());
  EXPECT_DOUBLE_EQ(first->beginNs(), second->beginNs());
  second->setFocus();
  QTest::keyClick(second, Qt::Key_D);
  EXPECT_DOUBLE_EQ(first->beginNs(), second->beginNs());
  QTest::keyClick(second, Qt::Key_F);
  EXPECT_DOUBLE_EQ(first->nsPerPixel(), before);
}

TEST(TimelinePanel, ARunThatIsNotKeptIsNamed) {
  TimelinePanel panel;
  panel.show();
  auto runs = std::make_shared<RunsView>();
  runs->firstNumber = 3;
  runs->secondNumber = 7;
  panel.compare(runs, nullptr, runOf(1000));
  EXPECT_FALSE(panel.isComparing());
  auto* note = panel.findChild<QLabel*>("timelineNote");
  EXPECT_TRUE(note->isVisible());
  EXPECT_TRUE(note->text().contains("run 3")) << note->text().toStdString();
  panel.compare(nullptr, nullptr, nullptr);
  EXPECT_FALSE(note->isVisible());
}

}  // namespace
}  // namespace dyn::ui
