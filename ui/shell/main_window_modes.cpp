// The window's modes: the rail that chooses one, the panels of each, and the strip below with problems and
// console.
#include <QActionGroup>
#include <QDockWidget>
#include <QMenu>
#include <QPointer>
#include <QStatusBar>
#include <QTabBar>
#include <QTabWidget>
#include <QTableWidget>
#include <QToolBar>
#include <QToolButton>

#include "ui/shell/dock_title.h"
#include "ui/shell/main_window.h"
#include "ui/support/icons.h"
#include "ui/support/why_grey.h"
#include "ui/views/code/levels_panel.h"
#include "ui/views/run/run_cards.h"
#include "ui/views/run/stop_panel.h"

namespace dyn::ui {

void MainWindow::makeRail(QMenu* view) {
  auto* rail = new QToolBar("Modes");
  rail->setObjectName("modeRail");
  rail->setAccessibleName("Modes");
  rail->setMovable(false);
  rail->setOrientation(Qt::Vertical);
  rail->setToolButtonStyle(Qt::ToolButtonTextUnderIcon);
  rail->setIconSize(QSize(kRailIconSize, kRailIconSize));
  addToolBar(Qt::LeftToolBarArea, rail);
  QMenu* menu = view->addMenu("Mode");
  auto* group = new QActionGroup(this);
  for (const WindowMode mode : kWindowModes) {
    const ModeSpec& spec = specOf(mode);
    const QString keys = "Alt+" + QString::number(static_cast<int>(mode) + 1);
    QAction* action = menu->addAction(icon(spec.icon), spec.name);
    action->setCheckable(true);
    action->setShortcut(QKeySequence(keys));
    action->setToolTip(QString("%1 (%2)").arg(spec.tip, keys));
    group->addAction(action);
    rail->addAction(action);
    if (QWidget* button = rail->widgetForAction(action))
      button->setObjectName(QString("mode%1").arg(spec.name));
    connect(action, &QAction::triggered, this, [this, mode] {
      setMode(mode);
      if (mode == WindowMode::sizes) cockpit_->takeKeys();
    });
    modeActions_[static_cast<size_t>(mode)] = action;
  }
  menu->addSeparator();
  connect(menu->addAction("Reset window"), &QAction::triggered, this, [this] {
    showNormal();
    resize(1280, 800);
    dockStates_.clear();
    mode_ = WindowMode::overview;
    setMode(WindowMode::overview);
  });
}

void MainWindow::makeStrip() {
  const auto button = [&](const char* name, const char* drawing, const QString& tip, QWidget* panel) {
    auto* one = new QToolButton;
    one->setObjectName(name);
    one->setIcon(icon(drawing));
    one->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    one->setCheckable(true);
    one->setToolTip(tip);
    statusBar()->addPermanentWidget(one);
    connect(one, &QToolButton::clicked, this, [this, panel] {
      if (bottom_->currentWidget() == panel && findChild<QDockWidget*>("textDock")->isVisible())
        return leaveStrip();
      bringPanel(panel);
      if (panel == console_) console_->takeKeys();
    });
    return one;
  };
  problemsButton_ =
      button("problemsButton", "modes/problems", "What keeps the model from running", problems_);
  consoleButton_ = button("consoleButton", "modes/console", "The shell (Ctrl+`)", console_);
  connect(bottom_, &QTabWidget::currentChanged, this, &MainWindow::panelCame);
  constexpr int kSeenAfterMs = 1000;
  seenTimer_.setSingleShot(true);
  seenTimer_.setInterval(kSeenAfterMs);
  connect(&seenTimer_, &QTimer::timeout, this, [this] {
    unseenFaults_ = 0;
    updateStrip();
  });
  updateStrip();
}

void MainWindow::updateStrip() {
  if (!problemsButton_) return;
  const auto isOpen = [&](const QWidget* panel) {
    const auto* dock = findChild<QDockWidget*>("textDock");
    return bottom_->currentWidget() == panel && !dock->isHidden();
  };
  if (!isOpen(console_) || unseenFaults_ == 0)
    seenTimer_.stop();
  else if (!seenTimer_.isActive())
    seenTimer_.start();
  const int problems = problems_->rowCount();
  problemsButton_->setText(problems == 0 ? QString("Problems") : QString("Problems %1").arg(problems));
  consoleButton_->setText(unseenFaults_ == 0 ? QString("Console") : QString("Console %1").arg(unseenFaults_));
  problemsButton_->setChecked(isOpen(problems_));
  consoleButton_->setChecked(isOpen(console_));
  const QString fault = unseenFaults_ == 1 ? "1 error" : QString("%1 errors").arg(unseenFaults_);
  consoleButton_->setAccessibleDescription(unseenFaults_ == 0 ? QString() : fault);
}

bool MainWindow::isOfStrip(const QWidget* panel) const { return panel == console_ || panel == problems_; }

// Back to what the mode shows.
void MainWindow::leaveStrip() {
  const ModeSpec& spec = specOf(mode_);
  if (spec.panels.isEmpty() || !model_)
    findChild<QDockWidget*>("textDock")->hide();
  else
    showPanelsOf(mode_);
  canvas_->setFocus();
  updateStrip();
}

// The panel, in the mode that has it; problems and console come in any mode.
void MainWindow::bringPanel(QWidget* panel) {
  if (bottom_->currentWidget() != panel)
    bottom_->setCurrentWidget(panel);  // panelCame() does the rest
  else
    panelCame(bottom_->currentIndex());
}

void MainWindow::panelCame(int index) {
  if (index < 0 || arranging_) return;
  QWidget* panel = bottom_->widget(index);
  const QString title = bottom_->tabText(index);
  if (isOfStrip(panel)) {
    bottom_->setTabVisible(index, true);
    findChild<QDockWidget*>("textDock")->show();
  } else if (specOf(mode_).panels.contains(title)) {
    fronts_[mode_] = panel;
    showPanelsOf(mode_);
    if (model_) findChild<QDockWidget*>("textDock")->show();
  } else if (const std::optional<WindowMode> mode = modeWithPanel(title)) {
    fronts_[*mode] = panel;
    setMode(*mode);
  }
  updateStrip();
}

// The tabs of the mode and no others, the one that was in front last in front.
void MainWindow::showPanelsOf(WindowMode mode) {
  const QStringList& shown = specOf(mode).panels;
  arranging_ = true;
  const auto front = fronts_.find(mode);
  QWidget* panel = front == fronts_.end() ? nullptr : front->second;
  for (int i = 0; i < bottom_->count(); ++i) {
    if (shown.contains(bottom_->tabText(i))) bottom_->setTabVisible(i, true);
    if (!panel && !shown.isEmpty() && bottom_->tabText(i) == shown.first()) panel = bottom_->widget(i);
  }
  if (panel) bottom_->setCurrentWidget(panel);
  for (int i = 0; i < bottom_->count(); ++i)
    if (!shown.isEmpty() && !shown.contains(bottom_->tabText(i))) bottom_->setTabVisible(i, false);
  arranging_ = false;
}

void MainWindow::setMode(WindowMode mode) {
  const QSize now = size();
  const QPointer<QWidget> focused = focusWidget();
  // How a person arranged the docks of a mode is kept while the window has its size; its button pressed again
  // puts them back.
  const bool again = mode == mode_ && !isAtStart_;
  if (!again && !isAtStart_) dockStates_[mode_] = {now, saveState()};
  isAtStart_ = false;
  for (QAction* action : modeActions_) enableUnless(action, {});
  keepComparisonInPasses(mode);
  const auto hasLevels = [](WindowMode one) { return one == WindowMode::code || one == WindowMode::debug; };
  if (hasLevels(mode_)) levelsOf_[mode_] = levels_->levels();
  if (hasLevels(mode) && mode != mode_) {
    // A run is followed in the program that runs, beside the graph that it was made from.
    const auto first = mode == WindowMode::debug ? std::vector{IrLevel::bytecode, IrLevel::graph}
                                                 : std::vector{IrLevel::graph, IrLevel::assembly};
    levels_->setLevels(levelsOf_.try_emplace(mode, first).first->second);
  }
  mode_ = mode;
  cards_->setVisible(mode == WindowMode::profile && cards_->hasCards());
  modeWidth_ = width();
  modeActions_[static_cast<size_t>(mode)]->setChecked(true);
  showPanelsOf(mode);
  const auto kept = dockStates_.find(mode);
  if (again || kept == dockStates_.end() || kept->second.first != now || !restoreState(kept->second.second))
    applyMode(*this, mode);
  // The focus of a panel that is gone would be in the next field, where letters are a search.
  if (focusWidget() != focused) canvas_->setFocus();
  updateTitles();
  updateStrip();
}

// From one start to the next.
void MainWindow::keepColumns() {
  if (mode_ == WindowMode::code) levelsOf_[mode_] = levels_->levels();
  const auto shown = levelsOf_.find(WindowMode::code);
  if (shown == levelsOf_.end()) return;
  settings_.columns.clear();
  for (const IrLevel level : shown->second) settings_.columns << toString(level);
}

void MainWindow::restoreColumns() {
  std::vector<IrLevel> known;
  for (const QString& name : settings_.columns)
    for (const IrLevel level : kShownLevels)
      if (name == toString(level)) known.push_back(level);
  if (known.empty() || known.size() > LevelsPanel::kMostColumns) return;
  levelsOf_[WindowMode::code] = known;
  if (mode_ == WindowMode::code) levels_->setLevels(known);
}

// Before there is a model there is nothing that docks could show.
void MainWindow::showStart() {
  isAtStart_ = true;
  for (QAction* action : modeActions_) enableUnless(action, "Open a model first.");
  for (QDockWidget* dock : findChildren<QDockWidget*>(QString(), Qt::FindDirectChildrenOnly)) dock->hide();
}

void MainWindow::leaveStart() {
  if (!isAtStart_) return;
  if (startState_.isEmpty() || !restoreState(startState_, kDocksVersion)) return setMode(mode_);
  isAtStart_ = false;
  for (QAction* action : modeActions_) enableUnless(action, {});
  modeWidth_ = width();
  showPanelsOf(mode_);
  updateTitles();
}

// A dock that is alone in its place has a title; one of several has its name on a tab.
void MainWindow::updateTitles() {
  for (QDockWidget* dock : findChildren<QDockWidget*>(QString(), Qt::FindDirectChildrenOnly)) {
    auto* title = qobject_cast<DockTitle*>(dock->titleBarWidget());
    if (!title) {
      title = new DockTitle(dock);
      dock->setTitleBarWidget(title);
      const auto later = [this] { titleTimer_.start(); };
      connect(dock, &QDockWidget::dockLocationChanged, this, later);
      connect(dock, &QDockWidget::visibilityChanged, this, later);
      connect(dock, &QDockWidget::topLevelChanged, this, later);
    }
    bool isTab = dock->objectName() == "textDock" && !dock->isFloating();
    for (const QDockWidget* other : tabifiedDockWidgets(dock)) isTab = isTab || !other->isHidden();
    title->setBare(isTab && !dock->isFloating());
  }
  updateStrip();
}

}  // namespace dyn::ui
