// The window's levels side by side, its pipeline, and runs that are stepped through.
#include <QCheckBox>
#include <QDockWidget>
#include <QMenuBar>
#include <QSlider>
#include <QStatusBar>
#include <QTabWidget>
#include <QTableWidget>

#include "app/session/views/pass_views.h"
#include "app/session/views/stop_views.h"
#include "ui/shell/debug_menu.h"
#include "ui/shell/main_window.h"
#include "ui/support/icons.h"
#include "ui/views/code/levels_panel.h"
#include "ui/views/node_details.h"
#include "ui/views/overview_page.h"
#include "ui/views/pipeline_edit.h"
#include "ui/views/run/stop_panel.h"
#include "ui/views/table.h"

namespace dyn::ui {

namespace {

// What a pass is for, and what can be set of it.
QString passTip(const PassRow& pass) {
  QString tip = "<b>" + html(pass.name) + "</b> " + html(pass.summary);
  for (const auto& [option, doc] : pass.options) tip += "<br><code>" + html(option) + "</code>: " + html(doc);
  return tip;
}

bool stepsTheRun(CommandId id) {
  return id == CommandId::continue_ || id == CommandId::next || id == CommandId::stepi ||
         id == CommandId::nexti || id == CommandId::finish || id == CommandId::step;
}

}  // namespace

void MainWindow::makeLevels() {
  levels_ = new LevelsPanel;
  bottom_->insertTab(2, levels_, "Code");
  stop_ = new StopPanel;
  auto* dock = new QDockWidget("Stepping", this);
  dock->setObjectName("steppingDock");
  dock->setWidget(stop_);
  addDockWidget(Qt::RightDockWidgetArea, dock);
  connect(levels_, &LevelsPanel::asked, this, [this](const Command& command) { submit(command); });
  connect(levels_, &LevelsPanel::saveAsked, this, &MainWindow::submitShown);
  connect(levels_, &LevelsPanel::nodeChosen, this, &MainWindow::chooseNode);
  connect(levels_, &LevelsPanel::placesChosen, this, [this](const QStringList& places) {
    for (const QString& place : places)
      if (canvas_->revealPlace(place)) return;
    statusBar()->showMessage("this step has no operation of that line", 4000);
  });
  connect(levels_, &LevelsPanel::breakpointClicked, this, [this](int line) {
    const int known = stop_->breakpointAt(line);
    submitShown(known > 0 ? Command::of(CommandId::delete_).add("number", std::to_string(known))
                          : Command::of(CommandId::break_).add("rest", "line " + std::to_string(line)));
  });
  connect(stop_, &StopPanel::breakpointDropped, this, [this](int number) {
    submitShown(Command::of(CommandId::delete_).add("number", std::to_string(number)));
  });
  connect(stop_, &StopPanel::watchWanted, this, [this](const QString& name) {
    submitShown(Command::of(CommandId::watch).add("what", name.toStdString()));
  });
  connect(stop_, &StopPanel::tensorWanted, this, [this](const QString& name) {
    bringPanel(tensor_);
    submitShown(Command::of(CommandId::tensor).add("value", name.toStdString()));
  });
}

QWidget* MainWindow::makePipeline() {
  pipeline_ = new PipelineEdit;
  connect(pipeline_, &PipelineEdit::asked, this, [this](const Command& command) { submitShown(command); });
  passTable_->setContextMenuPolicy(Qt::CustomContextMenu);
  connect(passTable_, &QTableWidget::customContextMenuRequested, this, [this](const QPoint& at) {
    const int row = passTable_->rowAt(at.y());
    if (!passes_ || row < 0) return;
    QMenu menu;
    pipeline_->addActions(menu, passes_->rows[static_cast<size_t>(row)]);
    menu.addSeparator();
    menu.addActions(passTable_->actions());
    menu.exec(passTable_->viewport()->mapToGlobal(at));
  });
  return pipeline_;
}

void MainWindow::makeDebugMenu() {
  const auto start = [this] {
    Command command = Command::of(CommandId::start);
    if (!inputs_->givesAll()) addDims(command);
    inputs_->addTo(command);
    return command;
  };
  const auto chosen = [this] {
    const int node = canvas_->selectedNode();
    if (node < 0) statusBar()->showMessage("choose an operation first", 4000);
    return node < 0 ? QString()
                    : QString::fromStdString(canvas_->graph()->nodes[static_cast<size_t>(node)].name);
  };
  debug_ = new DebugMenu(menuBar()->addMenu("&Debug"), start, chosen);
  connect(debug_, &DebugMenu::asked, this, &MainWindow::stepRun);
  stop_->addActions(debug_->steps());
}

// One step at a time: what is pressed while a run goes on is not kept for later.
void MainWindow::stepRun(const Command& command) {
  const bool isList = command.id == CommandId::break_ || command.id == CommandId::delete_;
  if (!isList && stepping_ != 0 && pending_.count(stepping_) > 0) return;
  if (command.id == CommandId::start && inputs_->hasCase()) {
    statusBar()->showMessage("unsupported: stepping through a recorded case; take it out of the inputs",
                             8000);
    return;
  }
  error_.clear();
  errorCode_ = 0;
  console_->echo(QString::fromStdString(toLine(command)));
  const Ticket ticket = submit(command);
  if (!isList) stepping_ = ticket;
  if (command.id != CommandId::start) return;
  // Where there are breakpoints, the run goes on to the first.
  if (stop_->hasBreakpoints()) stepping_ = submit(Command::of(CommandId::continue_));
  fronts_[WindowMode::debug] = levels_;
  mode_ == WindowMode::debug ? bringPanel(levels_) : setMode(WindowMode::debug);
}

// What stands where, whoever asked: a key, a button or the console.
bool MainWindow::takeLevels(const Outcome& outcome) {
  const bool own = levels_->take(outcome), stoodBefore = stop_->isStopped();
  stop_->take(outcome);
  // A run that fails is over; one that was asked for what there is not stands where it stood.
  if (outcome.error && outcome.error->id != DiagnosticId::usageError && stepsTheRun(outcome.command.id))
    endStop();
  if (const auto* stop = outcome.as<StopView>()) {
    QDockWidget* dock = findChild<QDockWidget*>("steppingDock");
    if (dock && !stoodBefore) {
      dock->show();
      dock->raise();
    }
    const QString place = QString::fromStdString(stop->place);
    const bool isShown =
        stop->ended || place.isEmpty() || canvas_->revealId(stop->node) || canvas_->revealPlace(place);
    isShown ? statusBar()->clearMessage()
            : statusBar()->showMessage("this step of the compilation has no operation at the stop", 4000);
  }
  updateBusy();
  return own;
}

// No run stands: it was ended, or another program took its place.
void MainWindow::endStop() {
  stop_->clear();
  levels_->clearStop();
}

void MainWindow::showPasses(Shared<PassList> list) {
  passes_ = std::move(list);
  pipeline_->showPasses(*passes_);
  overview_->setPasses(passes_);
  pipelineEdits_ = QString::fromStdString(passes_->edits);
  plan_->setPipeline(QString::fromStdString(passes_->edits));
  int first = 0, usual = 0;
  {
    const QSignalBlocker block(passTable_);
    passTable_->setRowCount(0);
    passTable_->setRowCount(static_cast<int>(passes_->rows.size()));
    for (int r = 0; r < passTable_->rowCount(); ++r) {
      const PassRow& row = passes_->rows[static_cast<size_t>(r)];
      if (row.name == wanted_.step.toStdString() && !row.failed) first = r;
      if (row.name == "infer" && !row.failed) usual = r;
      const int64_t delta = row.opsAfter - row.opsBefore;
      setCell(passTable_, r, 0, row.failed ? QString::fromUtf8("✕") : QString());
      const Category ink = row.changed ? Category::contraction : Category::other;
      if (!row.failed)
        passTable_->item(r, 0)->setIcon(
            icon(iconOfPass(QString::fromStdString(row.name), QString::fromStdString(row.kind)), ink));
      setCell(passTable_, r, 1, QString::fromStdString(row.name));
      setCell(passTable_, r, 2, timeText(row.timeNs), CellAlignment::right);
      setCell(passTable_, r, 3, QString::number(row.opsAfter), CellAlignment::right);
      setCell(passTable_, r, 4,
              delta == 0 || row.kind == "import"
                  ? ""
                  : (delta > 0 ? "+" : QString::fromUtf8("−")) + QString::number(std::abs(delta)),
              CellAlignment::right);
      passTable_->item(r, 0)->setForeground(palette().color(QPalette::BrightText));
      passTable_->item(r, 1)->setToolTip(passTip(row));
      passTable_->item(r, 0)->setToolTip(row.failed ? "failed" : row.changed ? "changed the graph" : "");
    }
    fitColumns(passTable_);
  }
  hideUnchanged();
  // A pipeline without the step that was looked at shows the usual one.
  const bool isThere = first > 0 || wanted_.step == "import";
  if (passTable_->rowCount() > 0 && step_ < 0) showStep(isThere ? first : usual);
}

// The row of the step that is shown.
void MainWindow::markStep() {
  const QSignalBlocker block(passTable_);
  const QSignalBlocker blockSlider(passSlider_);
  passSlider_->setRange(0, std::max(0, passTable_->rowCount() - 1));
  passSlider_->setValue(step_);
  if (step_ >= 0 && step_ < passTable_->rowCount()) passTable_->setCurrentCell(step_, 1);
  hideUnchanged();
}

void MainWindow::hideUnchanged() {
  if (!passes_) return;
  int hidden = 0;
  for (int r = 0; r < passTable_->rowCount(); ++r) {
    const PassRow& row = passes_->rows[static_cast<size_t>(r)];
    const bool quiet = !row.changed && !row.failed && row.kind == "pass" && r != step_;
    passTable_->setRowHidden(r, hideUnchanged_->isChecked() && quiet);
    hidden += quiet;
  }
  hideUnchanged_->setText("Hide passes that changed nothing (" + QString::number(hidden) + ")");
}

}  // namespace dyn::ui
