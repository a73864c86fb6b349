// The parts of the window: menus, docks, panels, and how they are joined.
#include <QAction>
#include <QApplication>
#include <QCheckBox>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QPushButton>
#include <QScrollArea>
#include <QSlider>
#include <QStatusBar>
#include <QTableWidget>
#include <QTextBrowser>
#include <QToolBar>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>

#include "ui/graph/graph_pair.h"
#include "ui/shell/main_window.h"
#include "ui/shell/menu_keys.h"
#include "ui/shell/overlay_menu.h"
#include "ui/shell/run_questions.h"
#include "ui/support/icons.h"
#include "ui/support/save_dialog.h"
#include "ui/support/short_name.h"
#include "ui/support/theme_text.h"
#include "ui/support/why_grey.h"
#include "ui/views/code/ir_pair.h"
#include "ui/views/overview_page.h"
#include "ui/views/run/flame_canvas.h"
#include "ui/views/run/rows_panel.h"
#include "ui/views/run/run_cards.h"
#include "ui/views/run/runs_panel.h"
#include "ui/views/run/timeline_panel.h"
#include "ui/views/table.h"

namespace dyn::ui {

void MainWindow::makeActions() {
  QMenu* file = menuBar()->addMenu("&File");
  QMenu* view = menuBar()->addMenu("&View");
  QMenu* model = menuBar()->addMenu("&Model");
  const auto action = [&](QMenu* menu, const QString& text, const QKeySequence& key, auto&& slot,
                          const char* drawing = nullptr) {
    QAction* a = menu->addAction(text);
    if (drawing) a->setIcon(icon(drawing));
    a->setShortcut(key);
    a->setToolTip(key.isEmpty() ? text : text + " (" + key.toString() + ")");
    connect(a, &QAction::triggered, this, slot);
    return a;
  };
  open_ = action(
      file, "Open…", QKeySequence::Open, [this] { chooseFile(); }, "actions/open");
  recent_ = file->addMenu(icon("actions/recent"), "Open recent");
  action(
      file, "Reload", QKeySequence("Ctrl+Shift+R"), [this] { reload(); }, "actions/reload");
  action(file, "Open profile…", {}, [this] {
    const QString name = QFileDialog::getOpenFileName(this, "Open a profile, or runs, that were saved", {},
                                                      "Profiles and runs (*.json)");
    if (!name.isEmpty()) submit(Command::of(CommandId::recall).add("file", name.toStdString()));
  });
  file->addAction(overlay_->openAction());
  action(
      file, "Export graph…", QKeySequence("Ctrl+Shift+S"),
      [this] {
        const QString name = chooseSaveFile(this, "Export the graph", besideModel("svg"),
                                            "Graphs (*.svg *.pdf *.png *.dot *.ps)", modelFile());
        if (!name.isEmpty()) canvas_->exportLater(name);
      },
      "actions/export");
  action(
      file, "Save as ONNX…", {},
      [this] {
        if (!canRun()) return statusBar()->showMessage("there is no graph to be saved", 5000);
        const QString name = chooseSaveFile(this, "Save the graph that is shown", besideModel("onnx"),
                                            "ONNX models (*.onnx)", modelFile());
        if (!name.isEmpty()) saveOnnx(name);
      },
      "actions/save");
  action(
      file, "Report…", {},
      [this] {
        if (!canRun()) return statusBar()->showMessage("a report needs a model that can be run", 5000);
        const QString name = chooseSaveFile(this, "Write a page to share: graph, passes, plan, profile",
                                            besideModel("html"), "Pages (*.html)", modelFile());
        if (name.isEmpty()) return;
        Command command = Command::of(CommandId::report).add("o", name.toStdString());
        if (!inputs_->givesAll()) addDims(command);
        inputs_->addTo(command);
        submitShown(std::move(command));
      },
      "actions/export");
  makeHabits(file);
  action(file, "Quit", QKeySequence::Quit, [this] { close(); });
  makeGoMenu();
  palette_ = new CommandPalette(this);
  palette_->setUses(settings_.uses);
  tour_ = new TourBar(canvas_);
  run_ = action(
      model, "Run", QKeySequence("Ctrl+R"), [this] { run(); }, "actions/run");
  action(
      model, "Compare runs", QKeySequence("Ctrl+D"), [this] { compareLastRuns(); }, "actions/compare");
  model->addSeparator();
  model->addActions(questions_->actions());
  makeDebugMenu();
  fit_ = action(
      view, "Fit", QKeySequence("Ctrl+0"), [this] { canvas_->fit(); }, "actions/fit");
  openGroups_ = action(
      view, "Open groups", QKeySequence("Ctrl+E"), [this] { canvas_->setAllOpen(true); },
      "actions/open_groups");
  closeGroups_ = action(
      view, "Close groups", QKeySequence("Ctrl+Shift+E"), [this] { canvas_->setAllOpen(false); },
      "actions/close_groups");
  constants_ = view->addAction("Show constants");
  constants_->setCheckable(true);
  connect(constants_, &QAction::toggled, canvas_, &GraphCanvas::setShowConstants);
  view->addAction(overlay_->showAction());
  addLayouterTo(view);
  view->addSeparator();
  makeUndo(view);
  makeRail(view);
  makeLookMenu(view);
  QMenu* panels = view->addMenu("Panels");
  for (QDockWidget* dock : findChildren<QDockWidget*>()) panels->addAction(dock->toggleViewAction());
  commands_ = action(
      view, "Commands and shortcuts…", QKeySequence("Ctrl+Shift+P"), [this] { openPalette({}); },
      "actions/commands");
  action(view, "Next part of the window", QKeySequence("F6"), [this] { goRound(this, Around::next); });
  action(view, "Previous part of the window", QKeySequence("Shift+F6"),
         [this] { goRound(this, Around::previous); });
  action(view, "Go to an operation…", QKeySequence("Ctrl+P"), [this] { openPalette("@"); });
  auto* ask = new QAction(this);  // the same by a letter of the graph
  ask->setShortcut(QKeySequence("?"));
  actOnGraphAlone(ask, canvas_);
  connect(ask, &QAction::triggered, this, [this] { openPalette({}); });
  action(
      view, "Console", QKeySequence("Ctrl+`"),
      [this] {
        bringPanel(console_);
        console_->setEntry({});
      },
      "modes/console");
  action(
      view, "Problems", QKeySequence("Ctrl+Shift+M"), [this] { bringPanel(problems_); }, "modes/problems");
  searchKeys_ = action(
      view, "Search", QKeySequence::Find,
      [this] {
        search_->setFocus();
        search_->selectAll();
      },
      "actions/search");
  makeToolBar();
  makeHelpMenu();
  giveMnemonics(menuBar());
  for (QMenu* menu : menuBar()->findChildren<QMenu*>()) menu->setToolTipsVisible(true);
  busy_ = new QLabel;
  cancel_ = new QToolButton;
  cancel_->setText("Cancel");
  cancel_->setIcon(icon("actions/cancel"));
  cancel_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  cancel_->setObjectName("cancel");
  connect(cancel_, &QToolButton::clicked, this, &MainWindow::cancel);
  statusBar()->addPermanentWidget(questions_->button());
  statusBar()->addPermanentWidget(busy_);
  statusBar()->addPermanentWidget(cancel_);
}

// In groups: files, running, going back, the graph; the search at the right.
void MainWindow::makeToolBar() {
  QToolBar* bar = addToolBar("Main");
  bar->setObjectName("mainToolBar");
  bar->setMovable(false);
  bar->setIconSize(QSize(kIconSize, kIconSize));
  const auto withText = [bar](QAction* action, const char* name) {
    auto* button = qobject_cast<QToolButton*>(bar->widgetForAction(action));
    button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    button->setObjectName(name);
    return button;
  };
  bar->addAction(open_);
  withText(open_, "openTool");
  bar->addAction(run_);
  run_->setIcon(icon("actions/run", IconInk::onAccent));
  run_->setIconVisibleInMenu(false);  // its ink is for the button
  run_->setToolTip("Run the model with the sizes and inputs of the Run panel (Ctrl+R)");
  withText(run_, "runTool");
  bar->addSeparator();
  bar->addActions({undo_, redo_});
  bar->addSeparator();
  bar->addActions({navigation_->backAction(), navigation_->forwardAction()});
  bar->addSeparator();
  bar->addActions({fit_, openGroups_, closeGroups_, compareStep_, sideBySide_});
  auto* space = new QWidget;
  space->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  bar->addWidget(space);
  matches_ = new QLabel;
  matches_->setContentsMargins(kSpaceSmall, 0, kSpaceSmall, 0);
  bar->addWidget(matches_);
  search_ = new QLineEdit;
  search_->setObjectName("search");
  search_->setAccessibleName("Search");
  search_->setPlaceholderText("Search: operator, name, type (Ctrl+F)");
  search_->setClearButtonEnabled(true);
  search_->addAction(icon("actions/search"), QLineEdit::LeadingPosition);
  search_->setMinimumWidth(180);
  search_->setMaximumWidth(330);
  search_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  bar->addWidget(search_);
  search_->setToolTip(
      "Operations with all these words; also op: name: attr: dtype: dim:seq shape:[batch,?,...] /pattern/ "
      "and -word");
  connect(search_, &QLineEdit::textChanged, this, &MainWindow::search);
  connect(search_, &QLineEdit::returnPressed, canvas_, [this] { canvas_->nextMatch(); });
  keepWindowKeys(search_, this, canvas_);
  bar->addAction(commands_);
}

void MainWindow::makeDocks() {
  setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  setDocumentMode(true);
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
  keepRoomFor(passTable_, 1, {2});
  passTable_->setToolTip(
      "A double click (Enter) marks what the pass changed; Shift and a click, what "
      "changed since the pass that was shown");
  connect(passTable_, &QTableWidget::currentCellChanged, this, [this](int row, int, int before, int) {
    if (row < 0 || row == before) return;
    if (QApplication::keyboardModifiers().testFlag(Qt::ShiftModifier) && before >= 0) compareWith(before);
    showStep(row);
  });
  connect(passTable_, &QTableWidget::cellActivated, this, [this] { compareWith(kStepBefore); });
  connect(passTable_, &QTableWidget::cellDoubleClicked, passTable_, &QTableWidget::cellActivated);
  column->addWidget(hideUnchanged_);
  column->addWidget(passTable_);
  passSlider_ = new QSlider(Qt::Horizontal);
  passSlider_->setObjectName("passSlider");
  passSlider_->setAccessibleName("Pass");
  passSlider_->setToolTip("Go through the passes (J, K)");
  connect(passSlider_, &QSlider::valueChanged, this, &MainWindow::showStep);
  column->addWidget(passSlider_);
  column->addWidget(makePipeline());
  dock("Passes", "passesDock", left, Qt::LeftDockWidgetArea);
  dimsPanel_ = new DimsPanel;
  dock("Dims", "dimsDock", dimsPanel_, Qt::LeftDockWidgetArea);

  bottom_ = new QTabWidget;
  bottom_->setObjectName("bottomTabs");
  bottom_->setMinimumHeight(90);  // whatever its tabs would like
  irPair_ = new IrPair;
  irText_ = irPair_->view();
  diffText_ = new IrTextView;
  diffText_->setObjectName("diffText");
  kernelTable_ = makeTable(
      "kernels", {"Kernel", "What", "Launches", "Total", "Share", "GB/s", "GFLOP/s", "Place", "On the GPU"});
  kernelTable_->setColumnHidden(KernelColumns::kOnDevice, true);
  setEmptyText(kernelTable_, "Run the model (Ctrl+R): what each kernel takes stands here.");
  kernelPlaces_ = new NameDelegate(kernelTable_);
  kernelTable_->setItemDelegateForColumn(KernelColumns::kPlace, kernelPlaces_);
  keepRoomFor(kernelTable_, KernelColumns::kPlace,
              {KernelColumns::kWhat, KernelColumns::kRate, KernelColumns::kLaunches});
  console_ = new ConsolePanel(
      [this](const std::string& line, size_t cursor) { return session_->complete(line, cursor); },
      settings_.isKept() ? historyPath() : "");
  bottom_->addTab(irPair_, "IR");
  bottom_->addTab(diffText_, "Changes");
  plan_ = new PlanPanel;
  timelinePanel_ = new TimelinePanel;
  timeline_ = timelinePanel_->canvas();
  bottom_->addTab(kernelTable_, "Kernels");
  bottom_->addTab(timelinePanel_, "Timeline");
  bottom_->addTab(plan_, "Memory");
  cockpit_ = new CockpitPanel;
  bottom_->addTab(cockpit_, "Sizes");
  places_ = new PlacesPanel;
  bottom_->insertTab(bottom_->indexOf(timelinePanel_), places_, "By layer");
  flame_ = new FlameCanvas;
  bottom_->insertTab(bottom_->indexOf(timelinePanel_), flame_, "Flame");
  runs_ = new RunsPanel;
  bottom_->addTab(runs_, "Runs");
  rows_ = new RowsPanel;
  bottom_->insertTab(bottom_->indexOf(plan_), rows_, "Structure");
  tensor_ = new TensorPanel;
  bottom_->addTab(tensor_, "Tensor");
  problems_ = new ProblemTable;
  bottom_->addTab(problems_, "Problems");
  bottom_->addTab(console_, "Console");
  auto* hide = new QToolButton;
  hide->setIcon(icon("actions/close"));
  hide->setIconSize(QSize(14, 14));
  hide->setObjectName("closePanels");
  hide->setToolTip("Close these panels; the mode's button shows them again");
  bottom_->setCornerWidget(hide);
  QDockWidget* text = dock("Panels of the mode", "textDock", bottom_, Qt::BottomDockWidgetArea);

  connect(hide, &QToolButton::clicked, this, [this, text] {
    if (isOfStrip(bottom_->currentWidget())) return leaveStrip();
    text->hide();
  });
  overview_ = new OverviewPage;
  connect(overview_, &OverviewPage::linkChosen, this, &MainWindow::followLink);
  connect(cards_, &RunCards::linkChosen, this, &MainWindow::followLink);
  dock("Overview", "overviewDock", overview_, Qt::LeftDockWidgetArea);

  details_ = new QTextBrowser;
  details_->setObjectName("details");
  details_->setOpenLinks(false);
  followTheme(details_);
  dock("Inspector", "detailsDock", makeInspector(), Qt::RightDockWidgetArea);
  makeRunPanel();
  makeQuestions();
  makeOverlay();
  makeLevels();
  makeGraphDocks();
  makeNotesDock();
  // A panel that is behind others does not widen the window.
  constexpr int kLeastPanelWidth = 240;
  for (int i = 0; i < bottom_->count(); ++i) bottom_->widget(i)->setMinimumWidth(kLeastPanelWidth);
  // Panels are of one colour with the tables and texts in them.
  QList<QWidget*> panels;
  for (const QDockWidget* d : findChildren<QDockWidget*>()) panels << d->widget();
  for (int i = 0; i < bottom_->count(); ++i) panels << bottom_->widget(i);
  for (QWidget* panel : panels) {
    if (panel == bottom_) continue;
    panel->setBackgroundRole(QPalette::Base);
    panel->setAutoFillBackground(true);
  }
  for (QTextBrowser* page : findChildren<QTextBrowser*>())
    if (page != overview_) page->document()->setDocumentMargin(kSpaceSmall + 2);
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
  repeats_ = new QCheckBox("Until the times agree");
  repeats_->setObjectName("repeatRuns");
  repeats_->setChecked(true);
  repeats_->setToolTip(
      "Repeat a run until its times spread over at most 3 % of their median, for at most 2 seconds. The "
      "first run is a warm-up.");
  column->addWidget(repeats_);
  column->addWidget(runButton_);
  runSummary_ = new QTextBrowser;
  followTheme(runSummary_);
  runSummary_->setObjectName("runSummary");
  runSummary_->setPlaceholderText("Inputs are random until given. Times appear on the graph.");
  column->addWidget(runSummary_, 1);
  auto* d = new QDockWidget("Run", this);
  d->setObjectName("runDock");
  // Many dims and inputs must not keep the pages above and beside them small.
  auto* scroll = new QScrollArea;
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setMinimumSize(200, 120);
  scroll->setWidget(panel);
  d->setWidget(scroll);
  addDockWidget(Qt::RightDockWidgetArea, d);
}

// All views look at one selection: choosing an operation in one shows it in the others.
void MainWindow::connectViews() {
  connect(canvas_, &GraphCanvas::nodeSelected, this, &MainWindow::showNode);
  connect(pair_, &GraphPair::otherReady, this, [this] {
    updateBusy();
    if (idle()) Q_EMIT becameIdle();
  });
  connect(canvas_, &GraphCanvas::searched, this, &MainWindow::showFound);
  connect(canvas_, &GraphCanvas::sceneReady, this, [this] {
    if (canvas_->graph() && model_ && std::exchange(pictureWanted_, false))
      thumbnails_.keep(modelFile(), *canvas_);
    revealWanted();
    showNode(canvas_->selectedNode());
    updateBusy();
    if (idle()) Q_EMIT becameIdle();
  });
  connect(irPair_, &IrPair::nodeChosen, this, &MainWindow::chooseNode);
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
  connect(places_, &PlacesPanel::runsCompared, this, &MainWindow::compareRuns);
  connect(places_, &PlacesPanel::placesShown, flame_, &FlameCanvas::setPlaces);
  connect(flame_, &FlameCanvas::placeChosen, this, &MainWindow::choosePlace);
  connect(timelinePanel_, &TimelinePanel::placeChosen, this, &MainWindow::choosePlace);
  connect(runs_, &RunsPanel::asked, this, [this](const Command& command) { submitShown(command); });
  connect(runs_, &RunsPanel::pairChecked, places_, &PlacesPanel::compare);
  connect(runs_, &RunsPanel::compareWanted, this, &MainWindow::compareLastRuns);
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
    bringPanel(console_);
    console_->setEntry(begun);
  });
  connect(palette_, &CommandPalette::nodeChosen, this, &MainWindow::chooseNode);
  connect(palette_, &CommandPalette::stepChosen, this, &MainWindow::showStep);
  connect(tour_, &TourBar::shown, this, &MainWindow::followLink);
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
    if (link.scheme() != "look") return;
    bringPanel(tensor_);
    tensor_->lookAt(link.path());
  });
}

void MainWindow::showRecent() {
  recent_->clear();
  for (qsizetype i = 0; i < settings_.recentFiles().size(); ++i) {
    const QString file = settings_.recentFiles()[i], key = "Ctrl+" + QString::number(i + 1);
    QAction* open = recent_->addAction(QFileInfo(file).fileName() + "  (" + QFileInfo(file).path() + ")");
    open->setShortcut(QKeySequence(key));
    connect(open, &QAction::triggered, this, [this, file] { this->open(file); });
  }
  enableUnless(recent_->menuAction(), settings_.recentFiles().isEmpty() ? "No model was opened yet." : "");
  startPage_->showFiles(settings_.recentFiles());
}

}  // namespace dyn::ui
