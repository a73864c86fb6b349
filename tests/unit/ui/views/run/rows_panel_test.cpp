// The levels of trees and the sequences of a run in the window: marks, bars, and a million nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QApplication>
#include <QComboBox>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QWheelEvent>

#include "tests/support/idle_window.h"
#include "tests/support/paths.h"
#include "tests/support/watched_application.h"
#include "ui/views/run/rows_panel.h"

namespace dyn::ui {
namespace {

using test::waitIdle;
using testing::HasSubstr;

LevelLoop loopOf(std::vector<int64_t> nodes) {
  LevelLoop loop;
  loop.function = "main";
  loop.place = "model.onnx: node /loop (Loop, opset 17)";
  loop.nodes = std::move(nodes);
  for (const int64_t count : loop.nodes) {
    loop.timesNs.push_back(4000 + 50 * count);
    loop.takenBytes.push_back(1024 * count);
  }
  return loop;
}

void key(QWidget& widget, int which) {
  QKeyEvent press(QEvent::KeyPress, which, Qt::NoModifier);
  QApplication::sendEvent(&widget, &press);
}

TEST(RowsCanvas, EachNodeIsAMarkAndAClickChoosesItsLevel) {
  RowsCanvas canvas;
  canvas.resize(900, 260);
  EXPECT_TRUE(canvas.rows().empty());
  canvas.grab();
  LevelLoop loop = loopOf({40, 21, 9, 4, 2, 1});
  loop.leaves = 78;
  canvas.setLoop(loop);
  const std::vector<RowsCanvas::Row> rows = canvas.rows();
  ASSERT_EQ(rows.size(), 6u);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].marksCount, loop.nodes[i]);
    EXPECT_LE(rows[i].time.right(), 900);
    if (i > 0) {
      EXPECT_LT(rows[i].rect.bottom(), rows[i - 1].rect.bottom()) << "leaves are at the bottom";
    }
  }
  QSignalSpy chosen(&canvas, &RowsCanvas::rowChosen);
  const QPointF at = rows[2].rect.center();
  for (const QEvent::Type type : {QEvent::MouseButtonPress, QEvent::MouseButtonRelease}) {
    QMouseEvent event(type, at, canvas.mapToGlobal(at), Qt::LeftButton, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&canvas, &event);
  }
  ASSERT_EQ(chosen.count(), 1);
  EXPECT_EQ(chosen[0][0].toLongLong(), 2);
  EXPECT_THAT(canvas.describe(2, 3).toStdString(),
              HasSubstr("level 3: 9 nodes\n4.5 \u00b5s, 494 ns a node\ntakes 9.0 KiB"));
  key(canvas, Qt::Key_Up);
  EXPECT_EQ(canvas.chosen(), 3u);
  key(canvas, Qt::Key_End);
  EXPECT_EQ(canvas.chosen(), 5u);
  key(canvas, Qt::Key_Down);
  EXPECT_EQ(canvas.chosen(), 4u);
  EXPECT_THAT(canvas.accessibleDescription().toStdString(), HasSubstr("level 5: 2 nodes"));
}

TEST(RowsCanvas, AMillionNodesAreAsQuickAsTen) {
  RowsCanvas canvas;
  canvas.resize(1200, 400);
  std::vector<int64_t> wide;
  for (int64_t left = 1'000'051; left > 0; left -= wide.back())
    wide.push_back(std::max<int64_t>(1, left * 2 / 5));
  for (const LevelLoop& loop :
       {loopOf(wide), loopOf(std::vector<int64_t>(300'000, 1)), loopOf({1'000'051})}) {
    canvas.setLoop(loop);
    const double begin = test::threadMilliseconds();
    for (int i = 0; i < 5; ++i) canvas.grab();
    EXPECT_LT(test::threadMilliseconds() - begin, 5 * 50) << loop.nodes.size() << " levels";
    const std::vector<RowsCanvas::Row> rows = canvas.rows();
    EXPECT_LE(rows.size(), 400u / 3);
    size_t next = 0;
    for (const RowsCanvas::Row& row : rows) {
      EXPECT_EQ(row.begin, next) << "each level is in one row";
      EXPECT_LE(row.marks.right(), 1200);
      next = row.end;
    }
    EXPECT_EQ(next, loop.nodes.size());
  }
}

// Somebody else had the processor: all other levels are seen nevertheless.
TEST(RowsCanvas, OneSlowLevelHidesNoOther) {
  RowsCanvas canvas;
  canvas.resize(900, 240);
  LevelLoop chain = loopOf(std::vector<int64_t>(30'000, 1));
  chain.timesNs[777] *= 1000;
  canvas.setLoop(chain);
  const std::vector<RowsCanvas::Row> rows = canvas.rows();
  double longest = 0, least = 1e9;
  for (const RowsCanvas::Row& row : rows) {
    longest = std::max(longest, row.time.width());
    least = std::min(least, row.time.width());
  }
  EXPECT_GT(least, longest / 10);
  EXPECT_GT(longest, 200);
}

TEST(RowsCanvas, ZoomAndScrollStayWithinTheLevels) {
  RowsCanvas canvas;
  canvas.resize(800, 300);
  canvas.setLoop(loopOf(std::vector<int64_t>(10'000, 2)));
  const auto span = [&] { return canvas.inSight().second - canvas.inSight().first; };
  for (int i = 0; i < 100; ++i) key(canvas, Qt::Key_W);
  EXPECT_EQ(span(), 4u);
  EXPECT_EQ(canvas.rows().front().marksCount, 2) << "near by, marks again";
  for (int i = 0; i < 5000; ++i) key(canvas, Qt::Key_PageUp);
  EXPECT_EQ(canvas.inSight().second, 10'000u);
  key(canvas, Qt::Key_Home);
  EXPECT_EQ(canvas.inSight().first, 0u) << "what is chosen is in sight";
  for (int i = 0; i < 100; ++i) key(canvas, Qt::Key_S);
  EXPECT_EQ(span(), 10'000u);
  QWheelEvent wheel(QPointF(400, 150), canvas.mapToGlobal(QPointF(400, 150)), {}, QPoint(0, 1200),
                    Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
  QApplication::sendEvent(&canvas, &wheel);
  EXPECT_LT(span(), 10'000u);
  key(canvas, Qt::Key_F);
  EXPECT_EQ(span(), 10'000u);
  canvas.clear();
  for (const int which : {Qt::Key_Up, Qt::Key_End, Qt::Key_W, Qt::Key_PageDown, Qt::Key_F})
    key(canvas, which);
  EXPECT_EQ(canvas.count(), 0u);
}

TEST(RowsCanvas, SequencesAreBarsAsLongAsTheyAre) {
  RowsCanvas canvas;
  canvas.resize(800, 300);
  canvas.setSequences({"x", "len", false, false, {5, 0, 1, 3}});
  const std::vector<RowsCanvas::Row> rows = canvas.rows();
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_LT(rows[0].rect.y(), rows[1].rect.y()) << "read from the top";
  EXPECT_NEAR(rows[0].marks.width(), 5 * rows[2].marks.width(), 1);
  EXPECT_EQ(canvas.describe(3, 4).toStdString(),
            "sequence 4: 3 rows from 6 on\n2 rows of padding are left out");
  canvas.setSequences({"mask", "mask", true, true, {0, 0}});
  EXPECT_EQ(canvas.describe(0, 2).toStdString(), "sequences 1–2: 0 rows from 0 on\n2 more are padding");
  canvas.grab();
}

TEST(RowsPanel, ARunOverTreesIsShownAndInTheState) {
  MainWindow window;
  window.resize(1280, 900);
  window.show();
  const QString folder = QString::fromStdString(test::sourceFolder()) + "/samples/03_tree/";
  window.open(folder + "sentences.dyn");
  waitIdle(window);
  ASSERT_EQ(window.lastError().toStdString(), "");
  auto* panel = window.findChild<RowsPanel*>();
  ASSERT_TRUE(panel);
  EXPECT_TRUE(panel->isEmpty());
  EXPECT_TRUE(window.showPanel("Structure"));
  window.submitLine(
      (":profile --dim words=6 --input trees=@" + folder + "sentences.txt,words=" + folder + "words.txt")
          .toStdString());
  waitIdle(window);
  if (!window.lastRun()) GTEST_SKIP() << "this build generates no code";
  EXPECT_EQ(panel->choice()->count(), 1);
  EXPECT_THAT(panel->summary().toStdString(), HasSubstr("4 nodes in 2 levels"));
  const QJsonObject rows = QJsonDocument::fromJson(window.stateJson()).object()["rows"].toObject();
  EXPECT_EQ(rows["count"].toInt(), 2);
  EXPECT_EQ(rows["marks"].toInt(), 4);
  window.open(QString::fromStdString(test::sourceFolder()) + "/samples/12_ragged/encoder.dyn");
  waitIdle(window);
  EXPECT_TRUE(panel->isEmpty()) << "of the model before";
  window.submitLine(":profile --lengths x=5,0,1,3");
  waitIdle(window);
  ASSERT_GE(panel->choice()->count(), 1);
  EXPECT_THAT(panel->summary().toStdString(), HasSubstr("4 sequences, 9 rows, the longest 5"));
}

GrownCaches cachesOfTwo() {
  GrownCaches caches;
  caches.name = "past_key_0 … past_value_1";
  caches.count = 4;
  caches.from = "past";
  caches.to = "past + seq";
  caches.runs = {{1, 0, 8, 0, 4096, "past=0, seq=8"}, {2, 8, 9, 4096, 4608, "past=8, seq=1"}};
  return caches;
}

TEST(RowsCanvas, CachesGrowFromRunToRun) {
  RowsCanvas canvas;
  canvas.resize(800, 300);
  canvas.setCaches(cachesOfTwo());
  const std::vector<RowsCanvas::Row> rows = canvas.rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_LT(rows[0].rect.y(), rows[1].rect.y());
  EXPECT_EQ(canvas.givenPart(rows[0]).width(), 0) << "the first run was given nothing";
  EXPECT_NEAR(canvas.givenPart(rows[1]).width(), rows[1].marks.width() * 8 / 9, 1);
  EXPECT_NEAR(rows[0].marks.width(), rows[1].marks.width() * 8 / 9, 1);
  EXPECT_EQ(canvas.describe(1, 2).toStdString(),
            "run 2: 8 positions given, 1 appended: 9 (past=8, seq=1)\n4.0 KiB in 4 caches, 4.5 KiB after it");
  // Given and appended are told apart.
  const QImage picture = canvas.grab().toImage();
  const QRectF given = canvas.givenPart(rows[1]), all = rows[1].marks;
  EXPECT_NE(picture.pixelColor(given.center().toPoint()),
            picture.pixelColor(QPointF((given.right() + all.right()) / 2, all.center().y()).toPoint()));
  canvas.setSequences({"x", "len", false, false, {5, 0}});
  EXPECT_EQ(canvas.givenPart(canvas.rows().front()).width(), 0) << "of sequences nothing was given";
}

TEST(RowsPanel, TheCachesOfADecoderOverItsRuns) {
  MainWindow window;
  window.resize(1280, 900);
  window.show();
  window.open(QString::fromStdString(test::sourceFolder()) + "/samples/models/gpt2/model.onnx");
  waitIdle(window);
  if (!window.lastError().isEmpty()) GTEST_SKIP() << "this build reads no ONNX files";
  auto* panel = window.findChild<RowsPanel*>();
  EXPECT_TRUE(window.showPanel("Structure"));
  EXPECT_TRUE(panel->isEmpty());
  for (const char* sizes :
       {"--dim batch=2 --dim past=0 --dim seq=8", "--dim batch=2 --dim past=8 --dim seq=1"}) {
    window.submitLine(std::string(":run ") + sizes);
    waitIdle(window);
  }
  if (!window.lastRun()) GTEST_SKIP() << "this build generates no code";
  ASSERT_EQ(panel->choice()->count(), 1) << "all caches have one shape";
  EXPECT_EQ(panel->choice()->currentText(), QString::fromUtf8("past_key_0 … past_value_1"));
  EXPECT_EQ(panel->canvas()->count(), 2u);
  // 2 x 2 heads x 16 x f32: 256 bytes a position, in four caches
  EXPECT_THAT(panel->summary().toStdString(),
              HasSubstr("4 caches, past → past + seq; run 2: 8.0 KiB → 9.0 KiB"));
  EXPECT_FALSE(QJsonDocument::fromJson(window.stateJson()).object()["rows"].isUndefined());
  // Another model has none.
  window.open(QString::fromStdString(test::sourceFolder()) + "/samples/12_ragged/encoder.dyn");
  waitIdle(window);
  EXPECT_TRUE(panel->isEmpty());
}

}  // namespace
}  // namespace dyn::ui
