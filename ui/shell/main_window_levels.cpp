// The window's levels side by side, its pipeline, and runs that are stepped through.
#include <QDockWidget>
#include <QMenuBar>
#include <QStatusBar>
#include <QTabWidget>
#include <QTableWidget>

#include "app/session/views/stop_views.h"
#include "ui/shell/debug_menu.h"
#include "ui/shell/main_window.h"
#include "ui/views/code/levels_panel.h"
#include "ui/views/pipeline_edit.h"
#include "ui/views/run/stop_panel.h"

namespace dyn::ui {

namespace {

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

}  // namespace dyn::ui
