// The cards above the graph: what they say of a run, that each leads to its detail, no share above its bound.
#include "ui/views/run/run_cards.h"

#include <gtest/gtest.h>

#include <QCheckBox>
#include <QFile>
#include <QPushButton>
#include <QTabWidget>
#include <QTableWidget>
#include <QTemporaryDir>

#include "tests/support/window_story.h"
#include "ui/views/code/levels_panel.h"
#include "ui/views/run/bounded_rate.h"
#include "ui/views/run/stop_panel.h"

namespace dyn::ui {
namespace {

RunResult cardRun(int64_t boundNs) {
  auto table = std::make_shared<KernelTable>();
  table->profiled = true;
  table->explained = boundNs > 0;
  table->mostGflops = boundNs > 0 ? 30 : 0;
  table->memoryGigabytesPerSecond = boundNs > 0 ? 8 : 0;
  KernelRow fast, slow;
  fast.kind = slow.kind = "kernel";
  fast.name = "relu";
  slow.name = "softmax";
  fast.totalNs = 1000;
  slow.totalNs = 3000;
  fast.share = 0.25;
  slow.share = 0.75;
  fast.boundNs = slow.boundNs = boundNs;
  fast.bytes = slow.bytes = 10000;
  table->rows = {fast, slow};
  RunResult run;
  run.runsNs = {4000, 4100, 4200};
  run.peakBytes = 2048;
  run.profile = table;
  TimelineEvent event;
  event.kind = "kernel";
  event.operations = 80000;
  run.timeline = {event};
  return run;
}

const RunCard& card(const QList<RunCard>& cards, const char* name) {
  return *std::find_if(cards.begin(), cards.end(), [&](const RunCard& one) { return one.name == name; });
}

TEST(RunCards, WhatARunComesTo) {
  EXPECT_TRUE(runCards(RunResult()).isEmpty());
  const QList<RunCard> cards = runCards(cardRun(0));
  ASSERT_EQ(cards.size(), 6);
  EXPECT_EQ(card(cards, "time").title, "Median of 3 runs");
  EXPECT_TRUE(card(cards, "time").note.startsWith("spread "));
  EXPECT_EQ(card(cards, "slowest").value, "softmax");
  EXPECT_TRUE(card(cards, "slowest").note.startsWith("75.0 %"));
  EXPECT_EQ(card(cards, "rate").value, "20.0 GFLOP/s");
  EXPECT_FALSE(card(cards, "rate").note.contains("%")) << "the machine was not measured";
  EXPECT_EQ(card(cards, "traffic").value, "5.0 GB/s");
}

// What is beyond its bound has no figure: one that is cut to the bound would be no measurement.
TEST(RunCards, NoFigureBeyondTheBoundOfTheMachine) {
  const QString none = QString::fromUtf8("–");
  const QList<RunCard> within = runCards(cardRun(500));
  EXPECT_EQ(card(within, "rate").value, "20.0 GFLOP/s");
  EXPECT_EQ(card(within, "rate").note, "25 % of the bound");
  // One kernel of two took less than its bound: the share is that of the other.
  const QList<RunCard> mixed = runCards(cardRun(1500));
  EXPECT_EQ(card(mixed, "rate").note, "50 % of the bound");
  EXPECT_TRUE(card(mixed, "rate").tip.contains("Without 1 kernel that took less")) << "and says so";
  const QList<RunCard> allLess = runCards(cardRun(5000));
  EXPECT_FALSE(card(allLess, "rate").note.contains("%"));
  EXPECT_EQ(card(allLess, "rate").tip, kBeyondBound);
  RunResult beyond = cardRun(500);
  beyond.timeline[0].operations = 800000;  // 200 GFLOP/s of 30
  auto table = std::make_shared<KernelTable>(*beyond.profile);
  for (KernelRow& row : table->rows) row.bytes = 100000;  // 50 GB/s of 8
  beyond.profile = table;
  for (const char* name : {"rate", "traffic"}) {
    EXPECT_EQ(card(runCards(beyond), name).value, none) << name;
    EXPECT_EQ(card(runCards(beyond), name).tip, kBeyondBound) << "and says why";
  }
  table->cacheGigabytesPerSecond = 60;
  EXPECT_EQ(card(runCards(beyond), "traffic").value, "50.0 GB/s") << "a cache can do that";
}

TEST(RunCards, ARateHasItsRoof) {
  EXPECT_EQ(boundedRate(200, 10, 0).text(), "20.0") << "the machine was not measured";
  EXPECT_EQ(boundedRate(200, 10, 25).text(), "20.0");
  EXPECT_EQ(boundedRate(200, 10, 15).text(), QString::fromUtf8("–"));
  EXPECT_EQ(boundedRate(200, 10, 15).tip(), kBeyondBound);
  EXPECT_EQ(boundedRate(0, 10, 15).text(), "");
}

class CardStory : public test::WindowStory {
 protected:
  void press(const char* card) { click(named<QPushButton>(card)); }
  QString tab() const {
    const auto* tabs = named<QTabWidget>("bottomTabs");
    return tabs->tabText(tabs->currentIndex());
  }
};

TEST_F(CardStory, eachLeadsToItsDetail) {
  const auto* cards = window_.findChild<RunCards*>();
  WindowStory::press("Ctrl+R");
  if (!window_.lastRun()) GTEST_SKIP() << "this build generates no code";
  ASSERT_TRUE(cards->isVisible());
  for (const QSize size : {QSize(1000, 700), QSize(1440, 900)}) {
    window_.resize(size);
    settle();
    EXPECT_EQ(window_.size(), size) << "cards do not widen the window";
    EXPECT_GT(canvas()->height(), 150);
  }
  press("card_slowest");
  EXPECT_EQ(tab(), "Kernels");
  EXPECT_GE(canvas()->selectedNode(), 0);
  press("card_time");
  EXPECT_EQ(tab(), "Runs");
  press("card_kernels");
  EXPECT_EQ(tab(), "Kernels");
  press("card_memory");
  EXPECT_EQ(window_.mode(), WindowMode::memory);
  EXPECT_FALSE(cards->isVisible()) << "they are of the profile";
  clickMode("Profile");
  ASSERT_TRUE(cards->isVisible());
  press("card_rate");
  EXPECT_EQ(tab(), "By layer");
  EXPECT_TRUE(named<QCheckBox>("bounds")->isChecked());
  const QString rate = named<QPushButton>("card_rate")->accessibleName();
  EXPECT_TRUE(rate.contains("of the bound") || rate.contains("beyond") || rate.contains("no bound"))
      << rate.toStdString();
  open("/samples/models/gru/model.onnx");
  EXPECT_FALSE(cards->isVisible()) << "of another model";
}

// The window must not keep the outputs of a run, which the next one would count.
TEST_F(CardStory, thePeakOfEachRunIsAsPlanned) {
  const QTemporaryDir folder;
  const QString model = folder.filePath("large_output.dyn");
  QFile file(model);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("fn @main(%x: Tensor[(64, 64), f32]) { tanh(x) }");
  file.close();
  window_.open(model);
  settle();
  for (int i = 0; i < 3; ++i) {
    WindowStory::press("Ctrl+R");
    if (!window_.lastRun()) GTEST_SKIP() << "this build generates no code";
    EXPECT_EQ(card(runCards(*window_.lastRun()), "memory").note, "as planned") << "run " << i;
  }
}

TEST_F(CardStory, columnsOfKernelsAreWholeOrAway) {
  auto* table = named<QTableWidget>("kernels");
  for (const QSize size : {QSize(1000, 700), QSize(1440, 900), QSize(1000, 700), QSize(1900, 1000)}) {
    window_.resize(size);
    settle();
    WindowStory::press("Ctrl+R");
    if (!window_.lastRun()) GTEST_SKIP() << "this build generates no code";
    for (int column = 0; column < table->columnCount(); ++column)
      EXPECT_TRUE(table->isColumnHidden(column) ||
                  table->columnWidth(column) >=
                      table->fontMetrics().horizontalAdvance(table->horizontalHeaderItem(column)->text()))
          << size.width() << ": " << table->horizontalHeaderItem(column)->text().toStdString();
  }
}

// A run is followed in its program, not in machine code.
TEST_F(CardStory, debugShowsTheProgramFirst) {
  clickMode("Code");
  auto* panel = window_.findChild<LevelsPanel*>();
  EXPECT_EQ(panel->pane(1)->level(), IrLevel::assembly);
  clickMode("Debug");
  EXPECT_EQ(panel->pane(0)->level(), IrLevel::bytecode);
  EXPECT_EQ(panel->pane(1)->level(), IrLevel::graph);
  canvas()->setFocus();
  WindowStory::press("F5");
  if (window_.lastError().contains("unsupported")) GTEST_SKIP() << "this build generates no code";
  const CodeView& program = *panel->pane(0)->view();
  EXPECT_GE(program.standing(), 0);
  EXPECT_FALSE(program.lineRect(program.standing()).isEmpty()) << "the current line is in sight";
  EXPECT_GT(window_.findChild<StopPanel*>()->registers()->rowCount(), 0) << "values beside it";
  // Each mode keeps its own levels.
  clickMode("Code");
  EXPECT_EQ(panel->pane(0)->level(), IrLevel::graph);
  EXPECT_EQ(panel->pane(1)->level(), IrLevel::assembly);
}

}  // namespace
}  // namespace dyn::ui
