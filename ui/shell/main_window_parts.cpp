// The parts of the window: menus, docks, panels, and how they are joined.
#include <QAction>
#include <QCheckBox>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QPushButton>
#include <QSlider>
#include <QStatusBar>
#include <QTableWidget>
#include <QTextBrowser>
#include <QToolBar>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>

#include "ui/shell/main_window.h"
#include "ui/shell/menu_keys.h"
#include "ui/views/run/rows_panel.h"
#include "ui/views/table.h"

namespace dyn::ui {

void MainWindow::makeActions() {
  QMenu* file = menuBar()->addMenu("&File");
  QMenu* view = menuBar()->addMenu("&View");
  QMenu* model = menuBar()->addMenu("&Model");
  QToolBar* bar = addToolBar("Main");
  bar->setObjectName("mainToolBar");
  bar->setMovable(false);
  const auto action = [&](QMenu* menu, const QString& text, const QKeySequence& key, auto&& slot) {
    QAction* a = menu->addAction(text);
    a->setShortcut(key);
    a->setToolTip(key.isEmpty() ? text : text + " (" + key.toString() + ")");
    connect(a, &QAction::triggered, this, slot);
    return a;
  };
  bar->addAction(action(file, "Open…", QKeySequence::Open, [this] { chooseFile(); }));
  recent_ = file->addMenu("Open recent");
  action(file, "Reload", QKeySequence("Ctrl+Shift+R"), [this] { reload(); });
  action(file, "Open profile…", {}, [this] {
    const QString name =
        QFileDialog::getOpenFileName(this, "Open a profile that was saved", {}, "Chrome traces (*.json)");
    if (!name.isEmpty()) submit(Command::of(CommandId::recall).add("file", name.toStdString()));
  });
  action(file, "Export graph…", {}, [this] {
    const QString name = QFileDialog::getSaveFileName(this, "Export the graph", besideModel("svg"),
                                                      "Graphs (*.svg *.pdf *.png *.dot *.ps)");
    if (!name.isEmpty()) canvas_->exportLater(name);
  });
  action(file, "Save as ONNX…", {}, [this] {
    if (!canRun()) return statusBar()->showMessage("there is no graph to be saved", 5000);
    const QString name = QFileDialog::getSaveFileName(this, "Save the graph that is shown",
                                                      besideModel("onnx"), "ONNX models (*.onnx)");
    if (!name.isEmpty()) saveOnnx(name);
  });
  makeHabits(file);
  action(file, "Quit", QKeySequence::Quit, [this] { close(); });
  makeGoMenu();
  palette_ = new CommandPalette(this);
  run_ = action(model, "Run", QKeySequence("Ctrl+R"), [this] { run(); });
  bar->addAction(run_);
  makeDebugMenu();
  bar->addSeparator();
  bar->addAction(action(view, "Fit", QKeySequence("Ctrl+0"), [this] { canvas_->fit(); }));
  bar->addAction(action(view, "Open groups", QKeySequence("Ctrl+E"), [this] { canvas_->setAllOpen(true); }));
  bar->addAction(
      action(view, "Close groups", QKeySequence("Ctrl+Shift+E"), [this] { canvas_->setAllOpen(false); }));
  constants_ = view->addAction("Show constants");
  constants_->setCheckable(true);
  connect(constants_, &QAction::toggled, canvas_, &GraphCanvas::setShowConstants);
  addLayouterTo(view);
  view->addSeparator();
  makeUndo(view);
  makeLayoutMenu(view);
  makeLookMenu(view);
  QMenu* panels = view->addMenu("Panels");
  for (QDockWidget* dock : findChildren<QDockWidget*>()) panels->addAction(dock->toggleViewAction());
  auto* space = new QWidget;
  space->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  bar->addWidget(space);
  matches_ = new QLabel;
  matches_->setContentsMargins(8, 0, 8, 0);
  bar->addWidget(matches_);
  search_ = new QLineEdit;
  search_->setObjectName("search");
  search_->setPlaceholderText("Search: operator, name, type (Ctrl+F)");
  search_->setClearButtonEnabled(true);
  search_->setFixedWidth(270);
  bar->addWidget(search_);
  search_->setToolTip(
      "Operations with all these words; also op: name: attr: dtype: dim:seq shape:[batch,?,...] /pattern/ "
      "and -word");
  connect(search_, &QLineEdit::textChanged, this, &MainWindow::search);
  connect(search_, &QLineEdit::returnPressed, canvas_, [this] { canvas_->nextMatch(); });
  keepWindowKeys(search_, this, canvas_);
  const auto openPalette = [this] { palette_->open(menuActions()); };
  action(view, "Commands and shortcuts…", QKeySequence("Ctrl+Shift+P"), openPalette);
  auto* ask = new QAction(this);  // the same by a letter of the graph
  ask->setShortcut(QKeySequence("?"));
  actOnGraphAlone(ask, canvas_);
  connect(ask, &QAction::triggered, this, openPalette);
  action(view, "Console", QKeySequence("Ctrl+`"), [this] {
    bottom_->setCurrentWidget(console_);
    console_->setEntry({});
  });
  action(view, "Search", QKeySequence::Find, [this] {
    search_->setFocus();
    search_->selectAll();
  });
  giveMnemonics(menuBar());
  busy_ = new QLabel;
  cancel_ = new QToolButton;
  cancel_->setText("Cancel");
  cancel_->setObjectName("cancel");
  connect(cancel_, &QToolButton::clicked, this, &MainWindow::cancel);
  statusBar()->addPermanentWidget(busy_);
  statusBar()->addPermanentWidget(cancel_);
}

void MainWindow::makeDocks() {
  const auto dock = [&](const QString& title, const QString& name, QWidget* widget, Qt::DockWidgetArea area) {
    auto* d = new QDockWidget(title, this);
    d->setObjectName(name);
    d->setWidget(widget);
    addDockWidget(area, d);
    return d;
  };
  setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
  auto* left = new QWidget;
  auto* column = new QVBoxLayout(left);
  column->setContentsMargins(4, 4, 4, 4);
  hideUnchanged_ = new QCheckBox("Hide passes that changed nothing");
  hideUnchanged_->setChecked(true);
  connect(hideUnchanged_, &QCheckBox::toggled, this, &MainWindow::hideUnchanged);
  passTable_ = makeTable("passes", {"", "Pass", "Time", "Ops", QString::fromUtf8("±")});
  connect(passTable_, &QTableWidget::currentCellChanged, this, [this](int row, int, int before, int) {
    if (row >= 0 && row != before) showStep(row);
  });
  column->addWidget(hideUnchanged_);
  column->addWidget(passTable_);
  passSlider_ = new QSlider(Qt::Horizontal);
  passSlider_->setObjectName("passSlider");
  passSlider_->setAccessibleName("Pass");
  passSlider_->setToolTip("Go through the passes (J, K)");
  connect(passSlider_, &QSlider::valueChanged, this, &MainWindow::showStep);
  column->addWidget(passSlider_);
  column->addWidget(makePipeline());
  QDockWidget* passes = dock("Passes", "passesDock", left, Qt::LeftDockWidgetArea);
  dimsPanel_ = new DimsPanel;
  QDockWidget* dims = dock("Dims", "dimsDock", dimsPanel_, Qt::LeftDockWidgetArea);

  bottom_ = new QTabWidget;
  bottom_->setObjectName("bottomTabs");
  bottom_->setDocumentMode(true);
  bottom_->setMinimumHeight(90);  // whatever its tabs would like
  irText_ = new IrTextView;
  diffText_ = new IrTextView;
  irText_->setObjectName("irText");
  diffText_->setObjectName("diffText");
  kernelTable_ = makeTable(
      "kernels", {"Kernel", "What", "Launches", "Total", "Share", "GB/s", "GFLOP/s", "Place", "On the GPU"});
  console_ = new ConsolePanel(
      [this](const std::string& line, size_t cursor) { return session_->complete(line, cursor); },
      settings_.isKept() ? historyPath() : "");
  bottom_->addTab(irText_, "IR");
  bottom_->addTab(diffText_, "Changes");
  plan_ = new PlanPanel;
  timeline_ = new TimelineCanvas;
  bottom_->addTab(kernelTable_, "Kernels");
  bottom_->addTab(timeline_, "Timeline");
  bottom_->addTab(plan_, "Memory");
  cockpit_ = new CockpitPanel;
  bottom_->addTab(cockpit_, "Sizes");
  places_ = new PlacesPanel;
  bottom_->insertTab(bottom_->indexOf(timeline_), places_, "Places");
  rows_ = new RowsPanel;
  bottom_->insertTab(bottom_->indexOf(plan_), rows_, "Trees and rows");
  tensor_ = new TensorPanel;
  bottom_->addTab(tensor_, "Tensor");
  problems_ = new ProblemTable;
  bottom_->addTab(problems_, "Problems");
  bottom_->addTab(console_, "Console");
  QDockWidget* text = dock("Text, kernels and memory", "textDock", bottom_, Qt::BottomDockWidgetArea);

  details_ = new QTextBrowser;
  details_->setObjectName("details");
  details_->setOpenLinks(false);
  QDockWidget* details = dock("Details", "detailsDock", details_, Qt::RightDockWidgetArea);
  makeRunPanel();
  makeLevels();
  makeGraphDocks();
  resizeDocks({passes, details}, {270, 280}, Qt::Horizontal);
  resizeDocks({passes, dims}, {260, 260}, Qt::Vertical);
  resizeDocks({text}, {225}, Qt::Vertical);
}

void MainWindow::makeRunPanel() {
  auto* panel = new QWidget;
  auto* column = new QVBoxLayout(panel);
  dimForm_ = new QFormLayout;
  column->addLayout(dimForm_);
  inputs_ = new InputsTable;
  column->addWidget(inputs_);
  runButton_ = new QPushButton("Run");
  runButton_->setObjectName("runButton");
  connect(runButton_, &QPushButton::clicked, this, &MainWindow::run);
  column->addWidget(runButton_);
  runSummary_ = new QTextBrowser;
  runSummary_->setObjectName("runSummary");
  runSummary_->setPlaceholderText("Inputs are random until given. Times appear on the graph.");
  column->addWidget(runSummary_, 1);
  auto* d = new QDockWidget("Run", this);
  d->setObjectName("runDock");
  d->setWidget(panel);
  addDockWidget(Qt::RightDockWidgetArea, d);
}

// All views look at one selection: choosing an operation in one shows it in the others.
void MainWindow::connectViews() {
  connect(canvas_, &GraphCanvas::nodeSelected, this, &MainWindow::showNode);
  connect(canvas_, &GraphCanvas::searched, this, &MainWindow::showFound);
  connect(canvas_, &GraphCanvas::sceneReady, this, [this] {
    revealWanted();
    showNode(canvas_->selectedNode());
    updateBusy();
    if (idle()) Q_EMIT becameIdle();
  });
  connect(irText_, &IrTextView::nodeChosen, this, &MainWindow::chooseNode);
  connect(diffText_, &IrTextView::nodeChosen, this, &MainWindow::chooseNode);
  connect(plan_->canvas(), &PlanCanvas::nodeChosen, this, &MainWindow::chooseNode);
  connect(bottom_, &QTabWidget::currentChanged, this, &MainWindow::askPlan);
  connect(dimsPanel_, &DimsPanel::nodeChosen, this, &MainWindow::chooseNode);
  connect(cockpit_, &CockpitPanel::asked, this, [this](const Command& command) { submit(command); });
  connect(tensor_, &TensorPanel::asked, this, [this](Command command) {
    // Before any run: of the sizes and inputs that the next one would have.
    if (!result_ && model_ && command.text("value").rfind('$', 0) != 0) {
      if (!inputs_->givesAll()) addDims(command);
      if (!inputs_->hasCase()) inputs_->addTo(command);
    }
    submitShown(std::move(command));
  });
  connect(places_, &PlacesPanel::asked, this, [this](const Command& command) { submitShown(command); });
  connect(places_, &PlacesPanel::runsCompared, canvas_, &GraphCanvas::setComparedRuns);
  connect(places_, &PlacesPanel::placeChosen, this, &MainWindow::choosePlace);
  connect(rows_, &RowsPanel::placeChosen, this, &MainWindow::choosePlace);
  connect(timeline_, &TimelineCanvas::rangeChosen, this, &MainWindow::showRange);
  connect(cockpit_, &CockpitPanel::whyAsked, this, &MainWindow::askWhy);
  connect(cockpit_, &CockpitPanel::dimMoved, this, &MainWindow::setDim);
  connect(bottom_, &QTabWidget::currentChanged, this, [this] {
    if (step_ >= 0) showTexts(step_);
  });
  connect(timeline_, &TimelineCanvas::placeChosen, this, &MainWindow::choosePlace);
  connect(console_, &ConsolePanel::entered, this, &MainWindow::enter);
  // By hand; an error that brings the console to the front leaves the keys where they are.
  connect(bottom_, &QTabWidget::tabBarClicked, this, [this](int index) {
    if (bottom_->widget(index) == console_) QTimer::singleShot(0, console_, &ConsolePanel::takeKeys);
  });
  connect(palette_, &CommandPalette::commandChosen, this, [this](const QString& begun) {
    bottom_->setCurrentWidget(console_);
    console_->setEntry(begun);
  });
  connect(problems_, &ProblemTable::placeChosen, this, &MainWindow::choosePlace);
  connect(kernelTable_, &QTableWidget::cellClicked, this,
          [this](int row, int) { choosePlace(kernelTable_->item(row, 0)->data(Qt::UserRole).toString()); });
  connect(dimsPanel_, &DimsPanel::asked, this, [this](const QString& a, const QString& b) {
    Command why = Command::of(CommandId::why).add("a", a.toStdString());
    if (!b.isEmpty()) why.add("b", b.toStdString());
    submit(std::move(why));
  });
  connect(details_, &QTextBrowser::anchorClicked, this, [this](const QUrl& link) {
    if (link.scheme() == "why") askWhy(link.path());
  });
}

// Of all menus, those in menus too.
QList<QAction*> MainWindow::menuActions() const {
  QList<QAction*> all;
  QList<const QWidget*> menus;
  for (const QAction* menu : menuBar()->actions()) menus << menu->menu();
  for (qsizetype i = 0; i < menus.size(); ++i)
    for (QAction* action : menus[i]->actions()) {
      if (action->menu())
        menus << action->menu();
      else if (!action->isSeparator() && action->isEnabled())
        all << action;
    }
  return all;
}

void MainWindow::showRecent() {
  recent_->clear();
  for (qsizetype i = 0; i < settings_.recentFiles().size(); ++i) {
    const QString file = settings_.recentFiles()[i], key = "Ctrl+" + QString::number(i + 1);
    QAction* open = recent_->addAction(QFileInfo(file).fileName() + "  (" + QFileInfo(file).path() + ")");
    open->setShortcut(QKeySequence(key));
    connect(open, &QAction::triggered, this, [this, file] { this->open(file); });
  }
  recent_->setEnabled(!settings_.recentFiles().isEmpty());
  startPage_->showFiles(settings_.recentFiles());
}

}  // namespace dyn::ui
