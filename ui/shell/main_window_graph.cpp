// The window's ways through the graph: search with its list, outline, tracing, steps side by side.
#include <QActionGroup>
#include <QCheckBox>
#include <QDockWidget>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QSlider>
#include <QStatusBar>
#include <QTableWidget>

#include "app/session/views/graph_views.h"
#include "app/session/views/view.h"
#include "ui/graph/dot_layout.h"
#include "ui/graph/graph_pair.h"
#include "ui/shell/main_window.h"
#include "ui/shell/menu_keys.h"
#include "ui/support/icons.h"
#include "ui/support/why_grey.h"
#include "ui/views/code/ir_pair.h"

namespace dyn::ui {

void MainWindow::saveOnnx(const QString& file) {
  const QString name = file.endsWith(".onnx") ? file : file + ".onnx";
  Command save = Command::of(CommandId::save).add("value", "model").add("file", name.toStdString());
  if (step_ >= 0) save.add("pass", std::to_string(step_));
  submitShown(std::move(save));
}

void MainWindow::makeGraphDocks() {
  outline_ = new Outline("outline", "Outline of the graph");
  found_ = new Outline("found", "Operations found");
  for (const auto& [title, name, list] :
       {std::tuple("Outline", "outlineDock", outline_), std::tuple("Found", "foundDock", found_)}) {
    auto* dock = new QDockWidget(title, this);
    dock->setObjectName(name);
    dock->setWidget(list);
    addDockWidget(Qt::RightDockWidgetArea, dock);
    connect(list, &Outline::nodeChosen, this, &MainWindow::chooseNode);
  }
}

void MainWindow::makeGoMenu() {
  QMenu* go = menuBar()->addMenu("&Go");
  const auto action = [&](const QString& text, const QString& key, const std::function<void()>& what) {
    QAction* a = go->addAction(text);
    a->setShortcut(QKeySequence(key));
    if (key.size() == 1) actOnGraphAlone(a, canvas_);
    connect(a, &QAction::triggered, this, what);
    return a;
  };
  action("Next pass", "J", [this] { goToPass(1); });
  action("Pass before", "K", [this] { goToPass(-1); });
  action("Next match", "F3", [this] { canvas_->nextMatch(); });
  action("Match before", "Shift+F3", [this] { canvas_->nextMatch(-1); });
  go->addSeparator();
  navigation_ = new Navigation(canvas_, go->addMenu("Operation"));
  connect(navigation_, &Navigation::said, this,
          [this](const QString& text) { statusBar()->showMessage(text, 8000); });
  connect(navigation_, &Navigation::noteWanted, this, &MainWindow::writeNote);
  action("All notes", "", [this] { showAllNotes(); })->setToolTip("Your notes on operations of this model");
  compare_ = go->addMenu("Compare with");
  connect(compare_, &QMenu::aboutToShow, this, &MainWindow::fillCompareMenu);
  compareStep_ = action("Compare with the step before", "D",
                        [this] { compareWith(comparedStep_ == kStepBefore ? kNotCompared : kStepBefore); });
  compareStep_->setIcon(icon("actions/compare"));
  compareStep_->setToolTip("Mark in the graph and the text what this pass changed (D on the graph)");
  sideBySide_ = action("Side by side", "Shift+D", [this] { showSideBySide(sideBySide_->isChecked()); });
  actOnGraphAlone(sideBySide_, canvas_);
  sideBySide_->setCheckable(true);
  sideBySide_->setIcon(icon("actions/side_by_side"));
  sideBySide_->setToolTip(
      "The graphs of two passes beside each other, removals in the one and additions in the other "
      "(Shift+D on the graph)");
}

void MainWindow::addLayouterTo(QMenu* view) {
  QAction* logarithmic = view->addAction("Heat on a logarithmic scale");
  logarithmic->setCheckable(true);
  logarithmic->setShortcut(QKeySequence("L"));
  actOnGraphAlone(logarithmic, canvas_);
  connect(logarithmic, &QAction::toggled, canvas_, &GraphCanvas::setLogarithmicHeat);
  QAction* compared = view->addAction("Heat while passes are compared");
  compared->setCheckable(true);
  compared->setToolTip("Boxes have the colour of their time, and signs say what is new, changed or removed");
  connect(compared, &QAction::toggled, canvas_, &GraphCanvas::setHeatInComparison);
  QAction* graphviz = view->addAction("Lay out with Graphviz");
  graphviz->setCheckable(true);
  if (dotProgram().isEmpty()) {
    enableUnless(graphviz, "The program dot is not installed.");
    graphviz->setText("Lay out with Graphviz (not installed)");
  }
  connect(graphviz, &QAction::toggled, canvas_, [this](bool on) {
    canvas_->setLayouter(on ? GraphCanvas::Layouter::graphviz : GraphCanvas::Layouter::layered);
  });
  connect(canvas_, &GraphCanvas::exported, this, [this](const QString& file, const QString& fault) {
    statusBar()->showMessage(fault.isEmpty() ? "written to " + file : fault, 8000);
  });
  connect(canvas_, &GraphCanvas::remarked, this,
          [this](const QString& text) { statusBar()->showMessage(text, 8000); });
}

// To the next one that is listed.
void MainWindow::goToPass(int by) {
  for (int row = step_ + by; row >= 0 && row < passTable_->rowCount(); row += by) {
    if (passTable_->isRowHidden(row)) continue;
    passTable_->setCurrentCell(row, 1);
    return;
  }
}

void MainWindow::fillCompareMenu() {
  compare_->clear();
  auto* group = new QActionGroup(compare_);
  const auto choice = [&](const QString& text, int step) {
    QAction* action = compare_->addAction(text);
    action->setCheckable(true);
    action->setChecked(step == comparedStep_);
    group->addAction(action);
    connect(action, &QAction::triggered, this, [this, step] { compareWith(step); });
  };
  choice("Nothing", kNotCompared);
  choice("The step before", kStepBefore);
  compare_->addSeparator();
  for (size_t i = 0; passes_ && i < passes_->rows.size(); ++i)
    if (!hideUnchanged_->isChecked() || !passTable_->isRowHidden(static_cast<int>(i)))
      choice(QString::fromStdString(passes_->rows[i].name), static_cast<int>(i));
}

// The other step's graph comes as an answer: onFinished hands it to the canvas.
void MainWindow::compareWith(int step) {
  if (std::exchange(comparedStep_, step) != step) {
    diffStep_ = -1;
    showTexts(step_);
  }
  const int other = step == kStepBefore ? step_ - 1 : step;
  if (!canRun() || other < 0 || other == step_) {
    comparing_ = 0;
    showCompared(nullptr);
    return;
  }
  comparing_ =
      session_->submit(Command::of(CommandId::graph).add("pass", std::to_string(other)), Delivery::byEvent);
  pending_[comparing_] = CommandId::graph;
  updateBusy();
}

bool MainWindow::idle() const { return pending_.empty() && canvas_->settled() && pair_->settled(); }

// Where nothing is compared yet: with the step before.
void MainWindow::showSideBySide(bool on) {
  pair_->setSideBySide(on);
  if (on && comparedStep_ == kNotCompared) return compareWith(kStepBefore);
  askOtherText();
}

// What a pass changed belongs to the mode of passes: elsewhere boxes are what a run or a plan says of them.
// It is there again when the mode is.
void MainWindow::keepComparisonInPasses(WindowMode next) {
  if (mode_ == WindowMode::passes && next != WindowMode::passes) {
    passesComparison_.reset();
    if (comparedStep_ == kNotCompared && !pair_->isSideBySide()) return;
    passesComparison_ = {comparedStep_, pair_->isSideBySide()};
    sideBySide_->setChecked(false);
    pair_->setSideBySide(false);
    compareWith(kNotCompared);
  } else if (mode_ != WindowMode::passes && next == WindowMode::passes && passesComparison_) {
    const Comparison kept = *std::exchange(passesComparison_, std::nullopt);
    if (comparedStep_ != kNotCompared || pair_->isSideBySide()) return;  // of what was begun elsewhere
    sideBySide_->setChecked(kept.isSideBySide);
    pair_->setSideBySide(kept.isSideBySide);
    compareWith(kept.step);
  }
}

void MainWindow::showCompared(Shared<GraphView> other) {
  canvas_->setCompared(other);
  pair_->setOther(std::move(other));
  askOtherText();
}

// The text beside the text, where both graphs are; it is asked for when it is looked at.
void MainWindow::askOtherText() {
  const GraphView* other = pair_->isSideBySide() ? pair_->compared().get() : nullptr;
  if (!other || !canRun() || other->step == step_) {
    comparingText_ = 0;
    return irPair_->dropOther();
  }
  if (bottom_->currentWidget() != irPair_ || irPair_->otherStep() == other->step || comparingText_ != 0)
    return;
  comparingText_ = session_->submit(Command::of(CommandId::ir).add("pass", std::to_string(other->step)),
                                    Delivery::byEvent);
  pending_[comparingText_] = CommandId::ir;
  updateBusy();
}

// Of a search: how many there are, which one is shown, and the list.
void MainWindow::showFound(int count) {
  QString text;
  if (!search_->text().isEmpty()) {
    const QString all = QString::number(count) + (count == 1 ? " match" : " matches");
    text = canvas_->matchShown() > 0 ? QString::number(canvas_->matchShown()) + " of " + all : all;
  }
  matches_->setText(text);
  // The matches are of the graph that is on the canvas; a large one that comes next is laid out first.
  if (found_->isVisible() || canvas_->matchShown() == 0) found_->show(canvas_->graph(), &canvas_->matches());
  if (canvas_->matchShown() > 0) found_->choose(canvas_->selectedId());
}

void MainWindow::search(const QString& text) {
  const QString fault = canvas_->search(text);
  if (!fault.isEmpty()) statusBar()->showMessage(fault, 8000);
}

// Another graph is shown.
void MainWindow::showOutline(Shared<GraphView> graph) {
  if (graph) plan_->setGraph(*graph);
  outline_->show(std::move(graph));
  if (comparedStep_ != kNotCompared) compareWith(comparedStep_);
}

}  // namespace dyn::ui
