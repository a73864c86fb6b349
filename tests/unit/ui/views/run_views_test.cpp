// What is shown of a run: its places and roofline, a part of the timeline, two runs side by side, tensors.
#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QDropEvent>
#include <QEventLoop>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QMouseEvent>
#include <QPushButton>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <QTreeWidget>
#include <QTreeWidgetItemIterator>

#include "app/engine/run/run_result.h"
#include "app/session/views/graph_views.h"
#include "app/session/views/value_views.h"
#include "tests/support/idle_window.h"
#include "tests/support/paths.h"
#include "ui/views/memory/plan_canvas.h"
#include "ui/views/values/picture_view.h"

namespace dyn::ui {
namespace {

using test::waitIdle;

constexpr const char* kMlp = R"(fn @main(%x: Tensor[(n, 96), f32], %w: Tensor[(96, 64), f32]) {
  %h = relu(%x)
  %s = matmul(%h, %w)
  %y = softmax(%s, axis = -1)
  return %y
}
)";

void mouse(QWidget* widget, QEvent::Type type, QPointF at, Qt::KeyboardModifiers keys = Qt::NoModifier) {
  QMouseEvent event(type, at, widget->mapToGlobal(at),
                    type == QEvent::MouseMove ? Qt::NoButton : Qt::LeftButton,
                    type == QEvent::MouseButtonRelease ? Qt::NoButton : Qt::LeftButton, keys);
  QApplication::sendEvent(widget, &event);
}

class RunViewsTest : public testing::Test {
 protected:
  void SetUp() override {
    window_.setDim("n", 50);
    window_.resize(1280, 900);
    window_.show();
    QFile file(directory_.filePath("mlp.dyn"));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(kMlp);
    file.close();
    window_.open(file.fileName());
    waitIdle(window_);
    window_.run();
    waitIdle(window_);
    if (!window_.lastRun()) GTEST_SKIP() << "this build generates no code";
    places_ = window_.findChild<PlacesPanel*>();
  }
  QTemporaryDir directory_;
  MainWindow window_;
  PlacesPanel* places_ = nullptr;
};

// A run with recorded times, which are the same on every machine: a profile that was saved.
class RecordedRunTest : public testing::Test {
 protected:
  void SetUp() override {
    window_.resize(1280, 900);
    window_.show();
    open("mlp.dyn");
    places_ = window_.findChild<PlacesPanel*>();
  }
  void open(const char* name) {
    QFile file(directory_.filePath(name));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(kMlp);
    file.close();
    window_.open(file.fileName());
    waitIdle(window_);
    ASSERT_EQ(window_.lastError().toStdString(), "");
  }
  std::string placeOf(const char* op) const {
    for (const GraphNode& node : window_.canvas()->graph()->nodes)
      if (node.op == op) return node.place;
    ADD_FAILURE() << "no " << op;
    return {};
  }
  // One after the other, with gaps; times in microseconds.
  struct Launch {
    const char* op;
    int begin, duration;
  };
  void recall(const std::vector<Launch>& launches) {
    QString events;
    for (const Launch& launch : launches)
      events += QString(R"(%1{"ph":"X","pid":1,"tid":1,"cat":"kernel","name":"k_%2","ts":%3,"dur":%4,)"
                        R"("args":{"place":"%5","bytes":4096}})")
                    .arg(events.isEmpty() ? "" : ",", launch.op)
                    .arg(launch.begin)
                    .arg(launch.duration)
                    .arg(QString::fromStdString(placeOf(launch.op)));
    QFile file(directory_.filePath("recorded.json"));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(("{\"traceEvents\":[" + events + "]}").toUtf8());
    file.close();
    ASSERT_TRUE(window_.submitLine(":recall " + file.fileName().toStdString()));
    waitIdle(window_);
    ASSERT_EQ(window_.lastError().toStdString(), "");
    ASSERT_NE(window_.lastRun(), nullptr);
  }
  QTemporaryDir directory_;
  MainWindow window_;
  PlacesPanel* places_ = nullptr;
};

TEST_F(RecordedRunTest, APartOfTheTimelineFiltersPlacesAndKernels) {
  recall({{"relu", 0, 100}, {"matmul", 100, 400}, {"softmax", 600, 400}});
  ASSERT_TRUE(window_.showPanel("Timeline"));
  QApplication::processEvents();
  auto* timeline = window_.findChild<TimelineCanvas*>();
  const int whole = places_->tree()->topLevelItemCount();
  EXPECT_EQ(whole, 4) << "three operations and the gap";
  const double middle = timeline->width() / 2.0;
  mouse(timeline, QEvent::MouseButtonPress, {timeline->width() - 2.0, 60}, Qt::ShiftModifier);
  mouse(timeline, QEvent::MouseMove, {timeline->width() - 20.0, 60}, Qt::ShiftModifier);
  mouse(timeline, QEvent::MouseMove, {middle, 60}, Qt::ShiftModifier);
  mouse(timeline, QEvent::MouseButtonRelease, {middle, 60}, Qt::ShiftModifier);
  EXPECT_LT(places_->tree()->topLevelItemCount(), whole);
  auto* kernels = window_.findChild<QTableWidget*>("kernels");
  QStringList shown;
  for (int r = 0; r < kernels->rowCount(); ++r)
    if (!kernels->isRowHidden(r)) shown << kernels->item(r, 0)->text();
  EXPECT_EQ(shown, QStringList{"k_softmax"});
  mouse(timeline, QEvent::MouseButtonPress, {middle, timeline->height() - 4.0});
  mouse(timeline, QEvent::MouseButtonRelease, {middle, timeline->height() - 4.0});
  EXPECT_EQ(places_->tree()->topLevelItemCount(), whole);
  for (int r = 0; r < kernels->rowCount(); ++r) EXPECT_FALSE(kernels->isRowHidden(r));
}

// Times on the graph are those of the run, each once.
TEST_F(RecordedRunTest, TimesOnTheGraphAddUp) {
  recall({{"relu", 0, 100}, {"matmul", 100, 400}, {"softmax", 600, 500}});
  const GraphCanvas& canvas = *window_.canvas();
  for (size_t step = 0; step < window_.passes()->rows.size(); ++step) {
    window_.showStep(static_cast<int>(step));
    waitIdle(window_);
    int64_t sum = 0;
    for (size_t box = 0; box < canvas.scene().boxes.size(); ++box)
      sum += canvas.timeOfBox(static_cast<int>(box));
    EXPECT_EQ(sum, 1'000'000) << window_.passes()->rows[step].name;
  }
}

// The kernels of a run in the order that is clicked, and whole rows to be copied.
TEST_F(RecordedRunTest, KernelsAreSortedAndCopied) {
  recall({{"relu", 0, 100}, {"matmul", 100, 400}, {"softmax", 600, 500}});
  auto* kernels = window_.findChild<QTableWidget*>("kernels");
  ASSERT_EQ(kernels->rowCount(), 3);
  EXPECT_EQ(kernels->item(0, 0)->text(), "k_softmax") << "the longest first";
  kernels->sortByColumn(3, Qt::AscendingOrder);
  EXPECT_EQ(kernels->item(0, 0)->text(), "k_relu") << "by the time, not by how it is written";
  kernels->setCurrentCell(0, 0);
  QTest::keyClick(kernels, Qt::Key_C, Qt::ControlModifier);
  const QString copied = QGuiApplication::clipboard()->text();
  EXPECT_TRUE(copied.startsWith("k_relu\t")) << copied.toStdString();
  EXPECT_TRUE(copied.contains("100 µs")) << copied.toStdString();
}

TEST_F(RunViewsTest, TwoRunsAreComparedAndAPlaceLeadsToItsOperation) {
  auto* compare = window_.findChild<QPushButton*>("compareRuns");
  EXPECT_FALSE(compare->isEnabled()) << "there is one run";
  window_.setDim("n", 500);
  window_.run();
  waitIdle(window_);
  ASSERT_TRUE(compare->isEnabled());
  compare->click();
  waitIdle(window_);
  EXPECT_GT(places_->differences()->rowCount(), 0);
  // The graph has the ratio in place of heat, with a legend of its own.
  const auto legend = [&] { return window_.canvas()->grab().toImage(); };
  const QImage ratio = legend();
  compare->click();
  EXPECT_NE(legend(), ratio) << "heat again";
  QTreeWidgetItemIterator at(places_->tree());
  while (*at && !(*at)->toolTip(0).contains("mlp.dyn:4")) ++at;
  if (*at) places_->tree()->setCurrentItem(*at);
}

// Without a pass and with it: pipeline, run, compare.
TEST_F(RunViewsTest, RunsOfTwoPipelinesAreCompared) {
  auto* pipeline = window_.findChild<QLineEdit*>("pipeline");
  auto* compare = window_.findChild<QPushButton*>("compareRuns");
  pipeline->setText("-fuse");
  Q_EMIT pipeline->returnPressed();
  waitIdle(window_);
  ASSERT_EQ(window_.lastError().toStdString(), "");
  window_.run();
  waitIdle(window_);
  ASSERT_TRUE(compare->isEnabled()) << "the run before was of the same file";
  compare->click();
  waitIdle(window_);
  EXPECT_GT(places_->differences()->rowCount(), 0);
  const QString title = window_.findChild<QLabel*>("placesTitle")->text();
  EXPECT_TRUE(title.contains("[standard]") && title.contains("[-fuse]")) << title.toStdString();
  // What one kernel did, and several do now, is one row.
  for (int r = 0; r < places_->differences()->rowCount(); ++r) {
    if (!places_->differences()->item(r, 0)->toolTip().contains("mlp.dyn:")) continue;
    EXPECT_FALSE(places_->differences()->item(r, 3)->text().isEmpty())
        << places_->differences()->item(r, 0)->text().toStdString();
  }
}

TEST_F(RunViewsTest, AChangeOfThePipelineIsTakenBack) {
  auto* pipeline = window_.findChild<QLineEdit*>("pipeline");
  const auto edits = [&] { return window_.passes()->edits; };
  const GraphLook look = window_.canvas()->look();
  pipeline->setText("-fuse");
  Q_EMIT pipeline->returnPressed();
  waitIdle(window_);
  ASSERT_EQ(edits(), "-fuse");
  QAction* undo = nullptr;
  for (QAction* action : window_.findChildren<QAction*>())
    if (action->shortcut() == QKeySequence(QKeySequence::Undo)) undo = action;
  ASSERT_TRUE(undo && undo->isEnabled());
  undo->trigger();
  waitIdle(window_);
  EXPECT_EQ(edits(), "");
  EXPECT_EQ(window_.canvas()->look(), look);
  // Enter without a change compiles nothing: the run is still there.
  window_.run();
  waitIdle(window_);
  const RunResult* run = window_.lastRun();
  Q_EMIT pipeline->returnPressed();
  waitIdle(window_);
  EXPECT_EQ(window_.lastRun(), run);
}

TEST_F(RunViewsTest, BoundsAreSaidOfTheRunThatIsShown) {
  const int64_t timeNs = window_.lastRun()->runsNs.at(0);
  window_.findChild<QCheckBox*>("bounds")->click();
  waitIdle(window_);
  ASSERT_EQ(window_.lastError().toStdString(), "");
  ASSERT_TRUE(window_.lastRun()->profile->explained);
  EXPECT_EQ(window_.lastRun()->runsNs.at(0), timeNs) << "the model was not run again";
  EXPECT_FALSE(window_.findChild<QPushButton*>("compareRuns")->isEnabled()) << "there is still one run";
  const QStringList roof = places_->roofline()->roofTexts();
  ASSERT_GE(roof.size(), 2);
  EXPECT_TRUE(roof[0].endsWith(" GFLOP/s")) << roof[0].toStdString();
  for (int i = 1; i < roof.size(); ++i) {
    EXPECT_TRUE(roof[i].startsWith(i == 1 ? "memory " : "cache ")) << roof[i].toStdString();
    const double rate = roof[i].section(' ', 1, 1).toDouble();
    EXPECT_GT(rate, 0.1) << roof[i].toStdString();
    EXPECT_LT(rate, 10'000) << "no machine has that rate: " << roof[i].toStdString();
  }
  EXPECT_FALSE(places_->roofline()->points().empty());
  ASSERT_TRUE(window_.showPanel("By layer"));
  EXPECT_TRUE(places_->roofline()->isVisible());
  for (QTreeWidgetItemIterator at(places_->tree()); *at; ++at) {
    const QString share = (*at)->text(6);
    EXPECT_TRUE(share.isEmpty() || share == QString::fromUtf8("–") ||
                share.section(' ', 0, 0).toDouble() <= 100)
        << share.toStdString();
  }
}

// What the console runs is what the Run panel says.
TEST_F(RunViewsTest, TheRunPanelFollowsTheConsole) {
  ASSERT_TRUE(window_.submitLine(":profile --dim n=24 --input w=zeros"));
  waitIdle(window_);
  ASSERT_EQ(window_.lastError().toStdString(), "");
  EXPECT_EQ(window_.dimValues().at("n"), 24);
  auto* inputs = window_.findChild<InputsTable*>();
  EXPECT_EQ(inputs->item(0, 1)->text(), "random");
  EXPECT_EQ(inputs->item(1, 1)->text(), "zeros");
}

TEST_F(RunViewsTest, ASavedRunIsComparedWithAndIsNotTheLastOne) {
  const QString saved = directory_.filePath("saved.json");
  ASSERT_TRUE(window_.submitLine(":profile " + saved.toStdString() + " --dim n=400"));
  waitIdle(window_);
  ASSERT_EQ(window_.lastError().toStdString(), "");
  window_.run();
  waitIdle(window_);
  const RunResult* last = window_.lastRun();
  ASSERT_TRUE(window_.submitLine(":recall " + saved.toStdString()));
  waitIdle(window_);
  EXPECT_EQ(window_.lastRun(), last);
  EXPECT_TRUE(window_.findChild<QPushButton*>("compareRuns")->isChecked());
  EXPECT_GT(places_->differences()->rowCount(), 0);
}

TEST_F(RunViewsTest, APartOfTheTimelineLeavesThePlanOfTheRestInShadow) {
  ASSERT_TRUE(window_.showPanel("Memory"));
  waitIdle(window_);
  auto* plan = window_.findChild<PlanCanvas*>("planCanvas");
  ASSERT_FALSE(plan->part());
  auto* timeline = window_.findChild<TimelineCanvas*>();
  Q_EMIT timeline->rangeChosen(0, INT64_MAX);
  EXPECT_TRUE(plan->part()) << "something that is in the plan is made";
  Q_EMIT timeline->rangeChosen(INT64_MAX - 1, INT64_MAX);
  EXPECT_FALSE(plan->part()) << "nothing was launched then";
  Q_EMIT timeline->rangeChosen(INT64_MIN, INT64_MAX);
  EXPECT_FALSE(plan->part()) << "the whole run has no shadow";
}

TEST(Timeline, WorkersHaveLanesBelowTheRunsOwnThread) {
  auto run = std::make_shared<RunResult>();
  const auto event = [&](const char* name, const char* kind, int thread, int64_t begin, int64_t duration) {
    TimelineEvent e;
    e.name = name;
    e.kind = kind;
    e.thread = thread;
    e.beginNs = begin;
    e.durationNs = duration;
    run->timeline.push_back(e);
  };
  event("main", "function", 1, 0, 1000);
  event("iteration 1", "iteration", 1, 100, 400);
  event("matmul", "kernel", 1, 120, 300);
  event("matmul", "worker", 2, 130, 280);
  event("matmul", "worker", 3, 130, 290);
  TimelineCanvas timeline;
  timeline.resize(600, 80);
  timeline.setRun(run);
  ASSERT_EQ(timeline.lanes().size(), 3u);
  EXPECT_EQ(timeline.lanes()[1].title, "worker 1");
  EXPECT_EQ(timeline.lanes()[1].firstRow, 3);
  EXPECT_EQ(timeline.bars()[2].row, 2) << "in its iteration, in its function";
  EXPECT_EQ(timeline.bars()[3].row, 3);
  EXPECT_EQ(timeline.bars()[4].row, 4);
  EXPECT_EQ(timeline.rowsCount(), 5);
  // What the trace calls a lane, it is called here: devices come behind the workers.
  auto withDevice = std::make_shared<RunResult>(*run);
  withDevice->lanes = {{1, "vm"}, {2, "worker 1"}, {3, "cuda:0"}, {4, "cuda:1"}};
  withDevice->timeline.back().kind = "device";
  withDevice->timeline.push_back(withDevice->timeline.back());
  withDevice->timeline.back().thread = 4;
  timeline.setRun(withDevice);
  ASSERT_EQ(timeline.lanes().size(), 4u);
  EXPECT_EQ(timeline.lanes()[0].title, "main thread");
  EXPECT_EQ(timeline.lanes()[1].title, "worker 1");
  EXPECT_EQ(timeline.lanes()[2].title, "cuda:0");
  EXPECT_EQ(timeline.lanes()[3].title, "cuda:1");
  timeline.setRun(run);
  // The last lane is below the edge; dragging upwards brings it into sight.
  timeline.show();
  EXPECT_GT(timeline.rectOf(timeline.bars()[4]).bottom(), timeline.height());
  mouse(&timeline, QEvent::MouseButtonPress, {300, 70});
  mouse(&timeline, QEvent::MouseMove, {300, 40});
  mouse(&timeline, QEvent::MouseMove, {300, 0});
  mouse(&timeline, QEvent::MouseButtonRelease, {300, 0});
  EXPECT_LT(timeline.rectOf(timeline.bars()[4]).bottom(), timeline.height());
  run->timeline.resize(3);
  timeline.setRun(run);
  EXPECT_EQ(timeline.lanes().size(), 1u);
}

TEST(Picture, ATensorOfThreeChannelsIsOne) {
  auto tensor = std::make_shared<TensorView>();
  tensor->pictureAxes = "NCHW";
  tensor->pictureRows = 2;
  tensor->pictureColumns = 3;
  tensor->pictureChannels = 3;
  tensor->picture = {255, 0, 0, 0, 255, 0, 0, 0, 255, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  PictureView view;
  view.setTensor(tensor);
  ASSERT_EQ(view.image().size(), QSize(3, 2));
  EXPECT_EQ(view.image().pixelColor(1, 0), QColor(0, 255, 0));
  EXPECT_EQ(view.image().pixelColor(2, 1), QColor(7, 8, 9));
  EXPECT_TRUE(view.caption().contains("NCHW, 3 x 2")) << view.caption().toStdString();
  view.setTensor(std::make_shared<TensorView>());
  EXPECT_TRUE(view.image().isNull());
}

TEST_F(RunViewsTest, AValueIsLookedAt) {
  auto* tensor = window_.findChild<TensorPanel*>();
  window_.findChild<QLineEdit*>("tensorName")->setText("s");
  window_.findChild<QPushButton*>("tensorLook")->click();
  waitIdle(window_);
  EXPECT_TRUE(tensor->statistics().contains("f32 [50, 64]")) << tensor->statistics().toStdString();
  EXPECT_TRUE(tensor->statistics().contains("by the reference"));
  window_.findChild<QLineEdit*>("tensorName")->setText("nothing_of_that_name");
  window_.findChild<QPushButton*>("tensorLook")->click();
  waitIdle(window_);
  EXPECT_TRUE(tensor->statistics().contains("there is no value")) << tensor->statistics().toStdString();
}

TEST_F(RunViewsTest, AnInputIsGivenAsALiteralAndItsShapeWins) {
  auto* inputs = window_.findChild<InputsTable*>();
  ASSERT_EQ(inputs->rowCount(), 2);
  inputs->item(0, 1)->setText("zeros");
  window_.run();
  waitIdle(window_);
  ASSERT_EQ(window_.lastError().toStdString(), "");
  EXPECT_EQ(window_.lastRun()->inputs[0].value.tensor().realAt(5), 0);
  EXPECT_EQ(window_.lastRun()->randomInputs, std::vector<std::string>{"w"});
  inputs->item(0, 1)->setText("no such value");
  window_.run();
  waitIdle(window_);
  EXPECT_TRUE(window_.lastError().contains("is not a value")) << window_.lastError().toStdString();
}

TEST_F(RunViewsTest, ThePlanSaysWhatItsPeakIsMadeOfAndAnotherStaysBeside) {
  ASSERT_TRUE(window_.showPanel("Memory"));
  waitIdle(window_);
  auto* plan = window_.findChild<PlanPanel*>();
  EXPECT_TRUE(plan->peakText().contains("live at operation")) << plan->peakText().toStdString();
  auto* kept = window_.findChild<PlanCanvas*>("keptPlan");
  EXPECT_FALSE(kept->isVisible());
  window_.findChild<QPushButton*>("planKeep")->click();
  EXPECT_TRUE(kept->isVisible());
  const size_t blocks = kept->blocks().size();
  const double high = kept->blocks().front().high;
  window_.setDim("n", 400);
  QEventLoop loop;
  QTimer::singleShot(300, &loop, &QEventLoop::quit);
  loop.exec();
  waitIdle(window_);
  EXPECT_EQ(kept->blocks().size(), blocks);
  EXPECT_EQ(kept->blocks().front().high, high);
  EXPECT_GT(plan->canvas()->blocks().front().high, high);
  // A byte is as high in one as in the other.
  const auto heightOfByte = [](const PlanCanvas& canvas) {
    const PlanCanvas::Block& block = canvas.blocks().front();
    return canvas.rectOf(block).height() / (block.high - block.low);
  };
  QApplication::processEvents();
  EXPECT_NEAR(heightOfByte(*kept) / heightOfByte(*plan->canvas()), 1, 0.02);
  EXPECT_TRUE(window_.findChild<QPushButton*>("planKeep")->text().contains("more"));
  // Another pipeline of the same model is compared with it, too.
  auto* pipeline = window_.findChild<QLineEdit*>("pipeline");
  pipeline->setText("-fuse");
  Q_EMIT pipeline->returnPressed();
  waitIdle(window_);
  QTimer::singleShot(300, &loop, &QEventLoop::quit);
  loop.exec();
  waitIdle(window_);
  EXPECT_EQ(window_.lastError().toStdString(), "");
  EXPECT_TRUE(kept->isVisible());
  EXPECT_TRUE(plan->summary().contains("[-fuse]")) << plan->summary().toStdString();
}

// A weight is there before any run.
TEST(Weight, NeedsNoRun) {
  MainWindow window;
  window.show();
  window.open(QString::fromStdString(test::sourceFolder()) + "/samples/models/bert/model.onnx");
  waitIdle(window);
  if (!window.model() || !window.lastError().isEmpty()) GTEST_SKIP() << "this build reads no ONNX files";
  std::string weight;
  for (const GraphNode& node : window.canvas()->graph()->nodes)
    if (node.kind == NodeKind::constant && node.outputs.at(0).type.find("[(32, ") != std::string::npos)
      weight = node.name;
  ASSERT_NE(weight, "");
  window.findChild<QLineEdit*>("tensorName")->setText(QString::fromStdString(weight));
  window.findChild<QPushButton*>("tensorLook")->click();
  waitIdle(window);
  const QString text = window.findChild<TensorPanel*>()->statistics();
  EXPECT_TRUE(text.contains("a constant of the model")) << text.toStdString();
  // Any other value is computed for the sizes of the Run panel.
  std::string value;
  for (const GraphNode& node : window.canvas()->graph()->nodes)
    if (node.op == "softmax") value = node.name;
  window.findChild<QLineEdit*>("tensorName")->setText(QString::fromStdString(value));
  window.findChild<QPushButton*>("tensorLook")->click();
  waitIdle(window);
  EXPECT_TRUE(window.findChild<TensorPanel*>()->statistics().contains("by the reference"))
      << window.findChild<TensorPanel*>()->statistics().toStdString();
}

class DropWindow : public MainWindow {
 public:
  using MainWindow::dropEvent;
};

TEST(RecordedCase, IsDroppedRunAndCompared) {
  const QString sample = QString::fromStdString(test::sourceFolder()) + "/samples/models/bert";
  DropWindow window;
  window.show();
  window.open(sample + "/model.onnx");
  waitIdle(window);
  if (!window.model() || !window.lastError().isEmpty()) GTEST_SKIP() << "this build reads no ONNX files";
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(sample + "/test_data_set_0")});
  QDropEvent drop(QPointF(50, 50), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  window.dropEvent(&drop);
  waitIdle(window);
  ASSERT_TRUE(window.lastRun()) << window.lastError().toStdString();
  ASSERT_FALSE(window.lastRun()->differences.empty());
  for (const auto& [name, difference] : window.lastRun()->differences) EXPECT_EQ(difference, "") << name;
}

}  // namespace
}  // namespace dyn::ui
