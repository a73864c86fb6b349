// What the window shows of a run: a part of it that was chosen on the timeline filters graph, places and
// kernels.
#include <QFileInfo>
#include <QLabel>
#include <QStatusBar>
#include <QTabWidget>
#include <QTableWidget>
#include <QTextBrowser>
#include <climits>
#include <set>

#include "app/engine/device/launch_counts.h"
#include "app/engine/inputs/media_input.h"
#include "app/engine/run/run_file.h"
#include "app/engine/run/run_record.h"
#include "app/engine/run/run_result.h"
#include "app/engine/run/run_statistics.h"
#include "app/session/answers/node_trees.h"
#include "app/session/answers/place_tree.h"
#include "app/session/session_state.h"
#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"
#include "app/session/views/pass_views.h"
#include "app/session/views/run_views.h"
#include "app/session/views/view.h"
#include "ui/shell/main_window.h"
#include "ui/support/icons.h"
#include "ui/support/kind_text.h"
#include "ui/support/short_name.h"
#include "ui/views/code/levels_panel.h"
#include "ui/views/device_counts_text.h"
#include "ui/views/node_details.h"
#include "ui/views/overview_page.h"
#include "ui/views/run/bounded_rate.h"
#include "ui/views/run/flame_canvas.h"
#include "ui/views/run/rows_panel.h"
#include "ui/views/run/run_cards.h"
#include "ui/views/run/runs_panel.h"
#include "ui/views/run/timeline_panel.h"
#include "ui/views/table.h"

namespace dyn::ui {

namespace {

// The median, as in the list of runs; and what stands on the graph: the times of another run, or of all.
QString timeRows(const RunResult& run) {
  const TimeStatistics times = statisticsOf(run.runsNs);
  QString text = timeText(times.medianNs);
  if (times.count > 1) text += QString(", median of %1 runs").arg(times.count);
  QString rows = htmlRow("time", text);
  if (const std::optional<double> spread = times.spreadShare())
    rows += htmlRow("spread", QString("%1 %").arg(100 * *spread, 0, 'f', 1));
  if (!run.profile || (run.isTimeProfiled && times.count <= 1)) return rows;
  int64_t profiledNs = 0;
  for (const KernelRow& row : run.profile->rows) profiledNs += row.totalNs;
  const char* of = run.isTimeProfiled ? ", the sum of these runs" : ", of one more run, each launch timed";
  return rows + htmlRow("profile", timeText(profiledNs) + of);
}

// A recursion that runs node after node has a reason, which the pass tells.
QString whyNoLevels(const PassList* passes) {
  QString text = "This run had no loop over levels of nodes, and no sequences of different lengths.";
  for (const PassRow& row : passes ? passes->rows : std::vector<PassRow>())
    for (const std::string& remark : row.remarks)
      if (row.name == "batch_levels") text += "\n" + QString::fromStdString(remark);
  return text;
}

}  // namespace

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
  rows_->setCaches(model_ ? grownCaches(*model_, runs->rows) : std::vector<GrownCaches>());
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

void MainWindow::showRun(const Command& command) {
  isLive_ = false;
  canvas_->setTimes(result_->nodeTimes);
  QString text = "<table>" + timeRows(*result_);
  if (result_->compileNs > 0) text += htmlRow("compile", timeText(result_->compileNs));
  text += htmlRow("kernels", QString::number(result_->kernelsCount) + ", launched " +
                                 QString::number(result_->launchesCount) + " times");
  text += htmlRow(
      "peak",
      bytesText(result_->peakBytes) +
          (result_->predictedPeakBytes ? " (planned " + bytesText(*result_->predictedPeakBytes) + ")" : ""));
  for (const auto& [name, difference] : result_->differences)
    text += htmlRow("recorded " + html(name),
                    difference.empty() ? "the same" : "<b>differs</b>: " + html(difference));
  for (const NamedValue& v : result_->outputs)
    text += htmlRow(html(v.name), shortType(v.type).toHtmlEscaped());
  runSummary_->setHtml(text + "</table>");
  timeline_->setRun(result_);
  overview_->setRun(result_);
  showNode(canvas_->selectedNode());  // with its time
  places_->setRun(result_);
  showCards(result_);
  rows_->setLevels(result_->levels);
  rows_->setTrees(nodeTrees(*result_, command.all("input")));
  if (!result_->levels) rows_->say(whyNoLevels(passes_.get()));
  if (result_->profile) showKernels(*result_->profile);
  // Panels that show something of a run, or for the chosen sizes, stay.
  QWidget* const panel = bottom_->currentWidget();
  if (panel != timelinePanel_ && panel != flame_ && panel != plan_ && panel != cockpit_ && panel != places_ &&
      panel != tensor_ && panel != rows_ && panel != levels_)
    bringPanel(kernelTable_);
}

// In the mode of runs, above the graph.
void MainWindow::showCards(Shared<RunResult> run) {
  cards_->setRun(std::move(run));
  cards_->setVisible(mode_ == WindowMode::profile && cards_->hasCards());
}

// What the simulated GPU counted in the launches of a row of the profile; "": nothing.
QString MainWindow::countsOfKernel(const KernelRow& row) const {
  DeviceCounts counts;
  if (result_ && row.kind == "kernel")
    for (const TimelineEvent& event : result_->timeline)
      if (event.counts && event.kind == row.kind && event.name == row.name) counts.add(*event.counts);
  return counts.launchesCount > 0 ? countsText(counts) : QString();
}

// Arithmetic of a row's launches; 0: not known.
double MainWindow::operationsOfKernel(const KernelRow& row) const {
  if (row.operations > 0 || !result_) return row.operations;
  double operations = 0;
  for (const TimelineEvent& event : result_->timeline)
    if (event.kind == row.kind && event.name == row.name && (row.site.empty() || event.place == row.site))
      operations += event.operations;
  return operations;
}

void MainWindow::showKernels(const KernelTable& table) {
  using Columns = KernelColumns;
  const MachineRoof roof = roofOf(table);
  QStringList places;
  kernelTable_->setSortingEnabled(false);
  kernelTable_->setRowCount(0);
  kernelTable_->setRowCount(static_cast<int>(table.rows.size()));
  for (int r = 0; r < kernelTable_->rowCount(); ++r) {
    const KernelRow& row = table.rows[static_cast<size_t>(r)];
    const auto ns = static_cast<double>(row.totalNs);
    const auto rate = [&](int column, double amount, double most) {
      const bool moves = row.kind == "kernel" || row.kind == "builtin" || row.kind == "copy";
      const BoundedRate of = boundedRate(moves ? amount : 0, ns, most);
      setNumber(kernelTable_, r, column, of.text(), of.value);
      kernelTable_->item(r, column)->setToolTip(of.tip());
    };
    setCell(kernelTable_, r, Columns::kName, QString::fromStdString(row.name));
    const Category category = categoryOfKernel(QString::fromStdString(row.name));
    kernelTable_->item(r, Columns::kName)->setIcon(icon(iconOfCategory(category), category));
    kernelTable_->item(r, Columns::kName)->setData(Qt::UserRole, QString::fromStdString(row.place));
    kernelTable_->item(r, Columns::kName)->setData(Qt::UserRole + 1, QString::fromStdString(row.kind));
    setCell(kernelTable_, r, Columns::kWhat,
            row.description.empty() ? kindText(row.kind) : QString::fromStdString(row.description));
    setNumber(kernelTable_, r, Columns::kLaunches, QString::number(row.launchesCount),
              static_cast<double>(row.launchesCount));
    setNumber(kernelTable_, r, Columns::kTotal, timeText(row.totalNs), ns);
    setNumber(kernelTable_, r, Columns::kShare, QString::number(100 * row.share, 'f', 1) + "%", row.share);
    rate(Columns::kRate, static_cast<double>(row.bytes), roof.gigabytesPerSecond);
    rate(Columns::kGflops, operationsOfKernel(row), roof.gflops);
    setCell(kernelTable_, r, Columns::kPlace, nodeOfPlace(row.place));
    places << kernelTable_->item(r, Columns::kPlace)->text();
    setCell(kernelTable_, r, Columns::kOnDevice, countsOfKernel(row));
  }
  kernelPlaces_->setNames(places);
  kernelTable_->setSortingEnabled(true);
  kernelTable_->sortByColumn(Columns::kTotal, Qt::DescendingOrder);
  kernelTable_->setColumnHidden(Columns::kOnDevice, !result_ || result_->launches.empty());
  fitColumns(kernelTable_, {{Columns::kName, 260}, {Columns::kWhat, 220}});
}

}  // namespace dyn::ui
