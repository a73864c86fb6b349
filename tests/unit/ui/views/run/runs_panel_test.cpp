// The list of runs in the window: checked, pinned and compared by the mouse. Times are given, the same on
// every machine.
#include "ui/views/run/runs_panel.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QCheckBox>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>

#include "app/engine/run/run_file.h"
#include "app/engine/run/run_record.h"
#include "app/session/views/graph_views.h"
#include "tests/support/idle_window.h"

namespace dyn::ui {
namespace {

using test::waitIdle;

constexpr const char* kMlpOfRuns = R"(fn @main(%x: Tensor[(n, 96), f32], %w: Tensor[(96, 64), f32]) {
  %h = relu(%x)
  %s = matmul(%h, %w)
  %y = softmax(%s, axis = -1)
  return %y
}
)";

class RunsPanelTest : public testing::Test {
 protected:
  void start(MainWindow& window) {
    window.resize(1280, 900);
    window.show();
    QFile file(directory_.filePath("mlp.dyn"));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(kMlpOfRuns);
    file.close();
    window.open(file.fileName());
    waitIdle(window);
    ASSERT_TRUE(window.showPanel("Runs"));
    waitIdle(window);
  }
  static std::string placeOf(const MainWindow& window, const char* op) {
    for (const GraphNode& node : window.canvas()->graph()->nodes)
      if (node.op == op) return node.place;
    ADD_FAILURE() << "no " << op;
    return {};
  }
  // Of the second the product is slower, and the rest differs within the noise.
  void recallTwo(MainWindow& window) {
    std::vector<RunRecord> runs(2);
    for (size_t i = 0; i < 2; ++i) {
      runs[i].model = directory_.filePath("mlp.dyn").toStdString();
      runs[i].pipeline = i == 0 ? "" : "-fuse";
      runs[i].dims = {{"n", 50}};
      runs[i].threads = 1;
      runs[i].machine = "a processor";
      runs[i].time = {40, i == 0 ? 1'000'000 : 1'400'000, 20'000};
      runs[i].places = {{placeOf(window, "relu"), {}, {9, i == 0 ? 100'000 : 103'000, 5'000}},
                        {placeOf(window, "matmul"), {}, {9, i == 0 ? 400'000 : 800'000, 10'000}},
                        {placeOf(window, "softmax"), {}, {9, i == 0 ? 500'000 : 498'000, 30'000}}};
    }
    const std::string file = directory_.filePath("saved.json").toStdString();
    ASSERT_TRUE(writeRunsFile(file, runs).ok());
    ASSERT_TRUE(window.submitLine(":recall " + file));
    waitIdle(window);
    ASSERT_EQ(window.lastError().toStdString(), "");
  }
  static void click(MainWindow& window, QPushButton* button) {
    ASSERT_TRUE(button && button->isEnabled());
    QTest::mouseClick(button, Qt::LeftButton);
    waitIdle(window);
  }
  static void clickCheck(MainWindow& window, QTableWidget* table, int row) {
    const QRect cell = table->visualItemRect(table->item(row, 0));
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, QPoint(cell.left() + 10, cell.center().y()));
    waitIdle(window);
  }
  static int rowOf(const QTableWidget& table, const QString& text) {
    for (int r = 0; r < table.rowCount(); ++r)
      if (table.item(r, 0)->text().contains(text)) return r;
    return -1;
  }
  QTemporaryDir directory_;
};

TEST_F(RunsPanelTest, TwoCheckedRunsAreComparedOnTableGraphAndTimeline) {
  MainWindow window;
  start(window);
  recallTwo(window);
  auto* panel = window.findChild<RunsPanel*>();
  QTableWidget* table = panel->table();
  ASSERT_EQ(table->rowCount(), 2);
  EXPECT_EQ(table->item(0, 0)->text(), "2") << "the newest first";
  EXPECT_EQ(table->item(0, 6)->text(), "-fuse");
  EXPECT_EQ(table->item(1, 3)->text(), "2.0 %");
  EXPECT_EQ(table->item(1, 11)->text(), "saved.json");
  const QImage before = window.canvas()->grab().toImage();
  clickCheck(window, table, 0);
  EXPECT_TRUE(panel->runs()->rows[1].isChecked);
  EXPECT_EQ(window.canvas()->grab().toImage(), before) << "one is not compared";
  clickCheck(window, table, 1);
  const QTableWidget* differences = window.findChild<PlacesPanel*>()->differences();
  ASSERT_EQ(differences->rowCount(), 4);
  EXPECT_EQ(differences->item(0, 0)->text(), "the whole run");
  EXPECT_EQ(differences->item(0, 3)->text(), "1.40");
  EXPECT_EQ(differences->item(0, 4)->text(), "slower");
  EXPECT_EQ(differences->item(1, 3)->text(), "2.00");
  EXPECT_EQ(differences->item(1, 4)->text(), "slower");
  const QColor grey = window.palette().color(QPalette::PlaceholderText);
  for (int r : {2, 3}) {
    EXPECT_EQ(differences->item(r, 4)->text(), "within noise");
    EXPECT_EQ(differences->item(r, 3)->foreground().color(), grey);
    EXPECT_EQ(differences->item(r, 3)->background().style(), Qt::NoBrush);
  }
  EXPECT_NE(differences->item(1, 3)->background().style(), Qt::NoBrush);
  EXPECT_NE(window.canvas()->grab().toImage(), before) << "the graph shows the ratios";
  const QLabel* title = window.findChild<QLabel*>("placesTitle");
  EXPECT_TRUE(title->text().contains("[-fuse]")) << title->text().toStdString();
  EXPECT_TRUE(title->toolTip().contains("pipeline: standard and -fuse")) << title->toolTip().toStdString();
  clickCheck(window, table, 0);
  EXPECT_EQ(window.canvas()->grab().toImage(), before) << "no longer";
}

TEST_F(RunsPanelTest, ARunIsPinnedAndRemoved) {
  MainWindow window;
  start(window);
  recallTwo(window);
  auto* panel = window.findChild<RunsPanel*>();
  QTableWidget* table = panel->table();
  auto* pin = window.findChild<QPushButton*>("pinRun");
  EXPECT_FALSE(pin->isEnabled()) << "none is chosen";
  QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualItemRect(table->item(1, 2)).center());
  click(window, pin);
  EXPECT_TRUE(panel->runs()->rows[0].isBaseline);
  EXPECT_EQ(table->item(1, 1)->text(), "baseline");
  EXPECT_EQ(table->currentRow(), 1) << "the choice stays";
  EXPECT_EQ(pin->text(), "Unpin the baseline");
  click(window, pin);
  EXPECT_FALSE(panel->runs()->rows[0].isBaseline);
  click(window, window.findChild<QPushButton*>("dropRun"));
  ASSERT_EQ(table->rowCount(), 1);
  EXPECT_EQ(table->item(0, 0)->text(), "2");
  EXPECT_FALSE(window.findChild<QPushButton*>("compareChecked")->isEnabled()) << "one is left";
}

// Without a pass and with it: pipeline, run, compare.
TEST_F(RunsPanelTest, PipelineRunCompareAreThreeSteps) {
  MainWindow window;
  window.setDim("n", 50);
  start(window);
  window.findChild<QCheckBox*>("repeatRuns")->setChecked(false);
  QTest::mouseClick(window.findChild<QPushButton*>("runButton"), Qt::LeftButton);
  waitIdle(window);
  if (!window.lastRun()) GTEST_SKIP() << "this build generates no code";
  auto* pipeline = window.findChild<QLineEdit*>("pipeline");
  pipeline->setFocus();
  QTest::keyClicks(pipeline, "-fuse");
  QTest::keyClick(pipeline, Qt::Key_Return);
  waitIdle(window);
  QTest::mouseClick(window.findChild<QPushButton*>("runButton"), Qt::LeftButton);
  waitIdle(window);
  ASSERT_EQ(window.findChild<RunsPanel*>()->table()->rowCount(), 2);
  click(window, window.findChild<QPushButton*>("compareChecked"));
  EXPECT_GT(window.findChild<PlacesPanel*>()->differences()->rowCount(), 1);
  EXPECT_TRUE(window.findChild<PlacesPanel*>()->isVisible()) << "the table comes to the front";
}

TEST_F(RunsPanelTest, RunsAreThereAgainAtTheNextStart) {
  const QString settings = directory_.filePath("settings.json");
  {
    MainWindow window({}, settings);
    start(window);
    recallTwo(window);
    ASSERT_TRUE(window.submitLine(":runs pin 2"));
    waitIdle(window);
    window.close();
  }
  MainWindow window({}, settings);
  auto* panel = window.findChild<RunsPanel*>();
  ASSERT_EQ(panel->table()->rowCount(), 2);
  EXPECT_EQ(panel->table()->item(0, 1)->text(), "baseline");
  EXPECT_EQ(panel->table()->item(0, 6)->text(), "-fuse");
  EXPECT_EQ(panel->runs()->rows[0].places.size(), 3u);
  start(window);
  EXPECT_EQ(panel->table()->rowCount(), 2) << "opening a model leaves them";
}

}  // namespace
}  // namespace dyn::ui
