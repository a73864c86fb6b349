// What the window shows of a run: a part of it that was chosen on the timeline filters graph, places and
// kernels.
#include <QFileInfo>
#include <QLabel>
#include <QStatusBar>
#include <QTableWidget>
#include <climits>
#include <set>

#include "app/engine/inputs/media_input.h"
#include "app/engine/run/run_file.h"
#include "app/engine/run/run_record.h"
#include "app/engine/run/run_result.h"
#include "app/session/answers/place_tree.h"
#include "app/session/session_state.h"
#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"
#include "app/session/views/run_views.h"
#include "app/session/views/views.h"
#include "ui/shell/main_window.h"
#include "ui/views/run/runs_panel.h"
#include "ui/views/run/timeline_panel.h"

namespace dyn::ui {

void MainWindow::showRange(qint64 beginNs, qint64 endNs) {
  if (!result_) return;
  const TimeRange range{beginNs, endNs};
  const bool whole = beginNs == INT64_MIN;
  canvas_->setTimes(whole ? result_->nodeTimes : nodeTimes(*result_, range));
  places_->setRange(beginNs, endNs);
  showPartOfPlan(whole ? std::vector<NodeTime>() : nodeTimes(*result_, range), whole);
  std::set<QString> launched;
  for (const TimelineEvent& event : result_->timeline)
    if (range.holds(event)) launched.insert(QString::fromStdString(event.name));
  for (int r = 0; r < kernelTable_->rowCount(); ++r)
    kernelTable_->setRowHidden(r, !whole && launched.count(kernelTable_->item(r, 0)->text()) == 0);
}

// The memory that is made by what was launched in the part.
void MainWindow::showPartOfPlan(const std::vector<NodeTime>& times, bool whole) {
  std::set<std::string> places;
  for (const NodeTime& time : times) {
    places.insert(time.place);
    places.insert(time.members.begin(), time.members.end());
  }
  std::set<NodeId> made;
  if (!whole && canvas_->graph())
    for (const GraphNode& node : canvas_->graph()->nodes)
      if (places.count(node.place) > 0) made.insert(node.id);
  plan_->canvas()->setPart(whole ? nullptr : &made);
}

bool MainWindow::takeDropped(const QString& file) {
  if (!canRun()) return false;
  const QFileInfo info(file);
  if (info.isDir()) return inputs_->setCase(file);
  if (info.suffix() == "pb") return inputs_->setCase(info.path()) || inputs_->setFile(file);
  return (info.suffix() == "npy" || isMediaName(file.toStdString())) && inputs_->setFile(file);
}

void MainWindow::showGiven(const Command& command, const RunResult& run) {
  if (!run.recalledFrom.empty() || command.has("case")) return;
  for (const auto& [name, value] : run.dims)
    if (value <= INT_MAX && dimBoxes_.count(name))
      setDim(QString::fromStdString(name), static_cast<int>(value));
  inputs_->setGiven(command.all("input"));
}

// The list comes after each run, whose number is the last one in it, unless another run came in between.
void MainWindow::keepResult(const RunList& runs) {
  constexpr size_t kMostResults = 8;
  const Shared<RunResult> run = std::exchange(newest_, nullptr);
  if (!run || run->timeline.empty() || runs.rows.empty()) return;
  const RunRecord& last = runs.rows.back();
  if (last.dims == run->dims && last.peakBytes == run->peakBytes) results_[last.number] = run;
  while (results_.size() > kMostResults) results_.erase(results_.begin());
}

void MainWindow::compareRuns(Shared<RunsView> runs) {
  const auto kept = [&](int64_t number) {
    const auto found = results_.find(number);
    return found == results_.end() ? nullptr : found->second;
  };
  if (!runs) return timelinePanel_->compare(nullptr, nullptr, nullptr);
  timelinePanel_->compare(runs, kept(runs->firstNumber), kept(runs->secondNumber));
}

// The two that are checked, or the baseline and the last one, or the last two.
void MainWindow::compareLastRuns() {
  if (!runs_->canCompare()) return statusBar()->showMessage("two runs are needed to compare them", 5000);
  places_->compare(true);
  bringPanel(places_);
}

void MainWindow::showRuns(Shared<RunList> runs) {
  keepResult(*runs);
  places_->setRunsCount(static_cast<int>(runs->rows.size()));
  runs_->showRuns(std::move(runs));
}

// Beside the settings, where there are some: a file that cannot be read or written is none.
void MainWindow::restoreRuns() {
  if (!settings_.isKept()) return;
  Result<std::vector<RunRecord>> records = readRunsFile(settings_.runsFile().toStdString());
  if (!records.ok() || records->empty()) return;
  auto list = std::make_shared<RunList>();
  const Status restored = session_->visit([&](SessionState& state) {
    state.runs.restore(*std::move(records));
    list->rows = state.runs.records();
    return Status();
  });
  if (restored.ok()) showRuns(std::move(list));
}

void MainWindow::keepRuns() {
  if (!settings_.isKept() || !runs_->runs()) return;
  (void)writeRunsFile(settings_.runsFile().toStdString(), runs_->runs()->rows);
}

// The heat grows while the run goes on. Between repetitions there is nothing to show.
void MainWindow::showLive(const LiveRun& run) {
  if (run.times.empty()) return;
  isLive_ = true;
  canvas_->setTimes(run.times);
}

// The run ended without a result: the heat is again that of the one before.
void MainWindow::endLive() {
  if (std::exchange(isLive_, false))
    canvas_->setTimes(result_ ? result_->nodeTimes : std::vector<NodeTime>());
}

// On the session's thread: of what goes on beside a run nothing is kept.
void MainWindow::record(const Event& event) {
  if (!record_) return;
  if (event.kind == EventKind::started) {
    recorded_ = event.ticket;
    record_->begin(event.text);
  }
  const bool isWhole = event.kind == EventKind::finished && event.fraction == 1;
  if (isWhole && event.ticket == recorded_)
    record_->end(event.outcome->ok() && changesSession(event.outcome->command));
}

void MainWindow::restart(const Restart& restart) {
  for (const std::string& line : restart.commands)
    if (Result<Command> command = parseCommand(line); command.ok()) submit(*std::move(command));
  console_->append("the session crashed (" + QString::fromStdString(restart.crash) +
                   "): " + QString::number(restart.commands.size()) +
                   " commands run again to restore model, settings and values");
  statusBar()->showMessage("Crashed: " + QString::fromStdString(restart.crash), 30000);
  bringPanel(console_);
}

// What is under way, how long, and how far.
void MainWindow::beat() {
  QString text = doing_;
  constexpr qsizetype kMostLetters = 100;
  if (text.size() > kMostLetters) text = text.left(kMostLetters - 1) + QString::fromUtf8("…");
  if (part_ >= 0) text += QString("  %1 %").arg(100 * part_, 0, 'f', 0);
  if (since_.isValid() && since_.elapsed() >= 100)
    text += QString("  %1 s").arg(static_cast<double>(since_.elapsed()) / 1000, 0, 'f', 1);
  busy_->setText(text);
}

}  // namespace dyn::ui
