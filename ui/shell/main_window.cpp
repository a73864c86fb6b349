#include "ui/shell/main_window.h"

#include <QCheckBox>
#include <QDockWidget>
#include <QFileInfo>
#include <QFormLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QStatusBar>
#include <QTableWidget>
#include <QTextBrowser>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/engine/device/launch_counts.h"
#include "app/engine/model/model_info.h"
#include "app/engine/run/run_result.h"
#include "app/session/views/code_views.h"
#include "app/session/views/file_views.h"
#include "app/session/views/graph_views.h"
#include "app/session/views/memory_views.h"
#include "app/session/views/node_id.h"
#include "app/session/views/pass_views.h"
#include "app/session/views/problem_views.h"
#include "app/session/views/run_views.h"
#include "app/session/views/stop_views.h"
#include "app/session/views/view_text.h"
#include "app/session/views/why_views.h"
#include "ui/graph/graph_pair.h"
#include "ui/shell/debug_menu.h"
#include "ui/shell/overlay_menu.h"
#include "ui/shell/run_questions.h"
#include "ui/support/freed_beside.h"
#include "ui/support/icons.h"
#include "ui/support/why_grey.h"
#include "ui/views/code/ir_pair.h"
#include "ui/views/code/levels_panel.h"
#include "ui/views/device_counts_text.h"
#include "ui/views/node_details.h"
#include "ui/views/note_field.h"
#include "ui/views/overview_page.h"
#include "ui/views/pipeline_edit.h"
#include "ui/views/run/flame_canvas.h"
#include "ui/views/run/rows_panel.h"
#include "ui/views/run/run_cards.h"
#include "ui/views/run/stop_panel.h"
#include "ui/views/run/timeline_panel.h"

namespace dyn::ui {

namespace {

constexpr int kMostDim = 1 << 24;

// Is the list of runs another one behind such a command?
bool makesRuns(CommandId id) {
  return id == CommandId::run || id == CommandId::time || id == CommandId::profile ||
         id == CommandId::bench || id == CommandId::recall;
}

// In words; stops and breakpoints have a panel, what a run ended with has not.
bool shownHere(const Outcome& outcome) {
  const auto* stop = outcome.as<StopView>();
  return outcome.as<BreakpointTable>() == nullptr && (!stop || stop->ended);
}

// Elements of outputs lie in memory of the program, where the next run would count them. No view shows them;
// the session has them until then.
Shared<RunResult> withoutElementsOfOutputs(const RunResult& run) {
  auto shown = std::make_shared<RunResult>(run);
  for (NamedValue& output : shown->outputs) output.value = Value();
  return shown;
}

}  // namespace

MainWindow::MainWindow(SessionOptions options, const QString& settingsFile)
    : settings_(settingsFile), session_(std::make_unique<Session>(std::move(options))) {
  setObjectName("dynstudio");
  setWindowTitle("dynstudio");
  resize(1280, 800);
  setAcceptDrops(true);
  canvas_ = new GraphCanvas;
  pair_ = new GraphPair(canvas_);
  cards_ = new RunCards;
  auto* middle = new QWidget;
  auto* column = new QVBoxLayout(middle);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(cards_);
  column->addWidget(pair_, 1);
  cards_->hide();
  setCentralWidget(middle);
  planTimer_.setSingleShot(true);
  planTimer_.setInterval(150);
  connect(&planTimer_, &QTimer::timeout, this, &MainWindow::askPlan);
  beatTimer_.setInterval(100);
  connect(&beatTimer_, &QTimer::timeout, this, &MainWindow::beat);
  titleTimer_.setSingleShot(true);
  titleTimer_.setInterval(0);
  connect(&titleTimer_, &QTimer::timeout, this, &MainWindow::updateTitles);
  makeDocks();
  makeActions();
  makeStrip();
  connectViews();
  session_->setListener([this](const Event& event) {
    record(event);
    inbox_.post([this, event = freedBeside(event, freeing_)] { onEvent(event); });
  });
  restoreLook();
  restoreRuns();
  showRecent();
  updateBusy();
}

// What its docks say while they go finds no window.
MainWindow::~MainWindow() {
  session_.reset();
  for (QDockWidget* dock : findChildren<QDockWidget*>()) dock->disconnect(this);
  bottom_->disconnect(this);
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!keepNotes()) return event->ignore();
  keepDims();
  keepLookedAt();
  keepRuns();
  QMainWindow::closeEvent(event);
}

void MainWindow::choosePlace(const QString& place) {
  if (!canvas_->revealPlace(place))
    statusBar()->showMessage("this step has no operation from that location", 4000);
}

void MainWindow::chooseNode(quint64 node) {
  if (!canvas_->revealId(node)) statusBar()->showMessage("this step has no such operation", 4000);
}

void MainWindow::askWhy(const QString& question) {
  if (QDockWidget* dock = findChild<QDockWidget*>("dimsDock")) {
    dock->show();
    dock->raise();
  }
  dimsPanel_->ask(question);
}

void MainWindow::keepDims() {
  if (!model_) return;
  settings_.setDims(QString::fromStdString(model_->path), dimValues());
}

Ticket MainWindow::submit(Command command) {
  const CommandId id = command.id;
  const bool isLinked = command.has("linked");  // for the levels: no other view waits for it
  const Ticket ticket = session_->submit(std::move(command), Delivery::byEvent);
  pending_[ticket] = id;
  if (!isLinked) latest_[id] = ticket;
  updateBusy();
  return ticket;
}

void MainWindow::submitShown(Command command) {
  statusBar()->clearMessage();  // of what was done before
  console_->echo(QString::fromStdString(toLine(command)));
  submit(std::move(command));
}

void MainWindow::open(const QString& file) {
  error_.clear();
  errorCode_ = 0;
  keepDims();
  note_->commit();
  submitShown(Command::of(CommandId::load).add("model", file.toStdString()).add("anyway"));
}

bool MainWindow::submitLine(const std::string& line) {
  statusBar()->clearMessage();
  error_.clear();
  errorCode_ = 0;
  Result<Command> command = parseCommand(line);
  if (!command.ok()) {
    report(command.error());
    return false;
  }
  typed_.insert(submit(*std::move(command)));
  return true;
}

// From the console: one command, or several lines that were pasted.
void MainWindow::enter(const QString& entry) {
  Result<std::vector<ScriptLine>> lines = splitScript(entry.toStdString(), "");
  if (!lines.ok()) return report(lines.error());
  for (const ScriptLine& line : *lines) {
    const Result<Command> command = parseCommand(line.text);
    if (command.ok() && command->id == CommandId::quit) {
      close();
      return;
    }
    if (!submitLine(line.text)) return;
  }
}

// What a command of the console answers, in words.
void MainWindow::answer(const Outcome& outcome) {
  TextOptions options;
  options.width = console_->columns();
  options.fitted = true;
  for (const Diagnostic& warning : outcome.warnings)
    console_->append(QString::fromStdString(toText(warning, options)));
  constexpr qsizetype kMostLines = 500;
  QStringList lines = QString::fromStdString(toText(outcome.view, options)).split('\n');
  const qsizetype more = lines.size() - kMostLines;
  if (more > 0) lines = lines.mid(0, kMostLines) << "... and " + QString::number(more) + " more lines";
  console_->append(lines.join('\n'));
  if (outcome.error && outcome.as<ProblemList>() == nullptr)
    console_->append(QString::fromStdString(toText(*outcome.error, options)));
}

void MainWindow::addDims(Command& command) const {
  for (const auto& [name, box] : dimBoxes_) command.add("dim", name + "=" + std::to_string(box->value()));
}

void MainWindow::run() {
  if (!canRun()) return;
  error_.clear();
  errorCode_ = 0;
  // A recorded case is run to be compared; what is profiled else is the command of that name.
  Command command = inputs_->hasCase() ? Command::of(CommandId::run).add("profile").add("warmup", "1")
                                       : Command::of(CommandId::profile);
  if (repeats_->isChecked()) command.add("max-spread", "3");
  if (places_->wantsBounds() && model_->kind != ModelKind::package) command.add("explain");
  if (!inputs_->hasCase() && !inputs_->givesAll()) addDims(command);
  inputs_->addTo(command);
  keepDims();
  settings_.save();  // should it crash
  submitShown(std::move(command));
}

// The plan in bytes wants the compiled program, which may take a while: it is asked for when it is looked at.
void MainWindow::askPlan() {
  cockpit_->refresh();
  overview_->setSizes(sizes());
  if (bottom_->currentWidget() == plan_) askPlanNow();
}

void MainWindow::askPlanNow() {
  if (!canRun() || model_->kind == ModelKind::package) return;
  Command command = Command::of(CommandId::plan);
  addDims(command);
  submit(std::move(command));
}

DimValues MainWindow::sizes() const {
  DimValues values;
  for (const auto& [name, box] : dimBoxes_) values[name] = box->value();
  return values;
}

std::map<std::string, int> MainWindow::dimValues() const {
  std::map<std::string, int> values;
  for (const auto& [name, box] : dimBoxes_) values[name] = box->value();
  return values;
}

void MainWindow::setDim(const QString& name, int value) {
  dims_[name.toStdString()] = value;
  auto box = dimBoxes_.find(name.toStdString());
  if (box != dimBoxes_.end()) box->second->setValue(value);
}

void MainWindow::showStep(int index) {
  if (!passes_ || index == step_) return;
  step_ = index;
  const std::string step = std::to_string(index);
  submit(Command::of(CommandId::graph).add("pass", step));
  showTexts(index);
}

// Texts are asked for when they are looked at.
void MainWindow::showTexts(int index) {
  levels_->setStep(index);
  // What is asked for in vain would bring the console in front of the problems.
  if (!canRun()) {
    for (IrTextView* text : {irText_, diffText_})
      text->setPlainText("// this model cannot be compiled: Problems says why");
    return;
  }
  const std::string step = std::to_string(index);
  const QWidget* shown = bottom_->currentWidget();
  if (shown == irPair_ && std::exchange(irStep_, index) != index)
    submit(Command::of(CommandId::ir).add("pass", step));
  askOtherText();
  if (shown == diffText_ && std::exchange(diffStep_, index) != index) {
    // What the graph is compared with, the text is, too; else the step before.
    const bool chosen = comparedStep_ >= 0 && comparedStep_ != index;
    if (chosen)
      submit(Command::of(CommandId::diff).add("from", std::to_string(comparedStep_)).add("to", step));
    else if (index > 0)
      submit(Command::of(CommandId::diff).add("from", step));
    else
      diffText_->setPlainText("// the first step: nothing before it");
  }
}

// A step that was asked for does not come: the list and the texts are again those of the graph.
void MainWindow::backToShownStep() {
  if (!canvas_->graph() || canvas_->graph()->step == step_) return;
  step_ = canvas_->graph()->step;
  markStep();
  showTexts(step_);
}

bool MainWindow::showPanel(const QString& name) {
  // Titles that were others, for one version.
  static const std::map<QString, QString> former = {
      {"levels", "Code"}, {"places", "By layer"}, {"trees and rows", "Structure"}};
  const auto renamed = former.find(name.toLower());
  const QString title = renamed == former.end() ? name : renamed->second;
  for (int i = 0; i < bottom_->count(); ++i) {
    if (bottom_->tabText(i).compare(title, Qt::CaseInsensitive) != 0) continue;
    bringPanel(bottom_->widget(i));
    return true;
  }
  return false;
}

void MainWindow::onEvent(const Event& event) {
  switch (event.kind) {
    case EventKind::started:
      running_ = event.ticket;
      since_.start();
      [[fallthrough]];
    case EventKind::progress:
      doing_ = QString::fromStdString(event.text);
      part_ = event.fraction;
      if (event.live) showLive(*event.live);
      beat();
      break;
    case EventKind::log:
      console_->append(QString::fromStdString(event.text));
      break;
    case EventKind::finished:
      onFinished(event);
      break;
    case EventKind::model:
      otherModel_ = true;
      break;
    case EventKind::values:
    case EventKind::text:  // the answer has it, too
      break;
  }
  updateBusy();
}

void MainWindow::onFinished(const Event& event) {
  const bool typed = typed_.erase(event.ticket) > 0, otherModel = std::exchange(otherModel_, false);
  if (event.outcome) {
    const CommandId id = event.outcome->command.id;
    if (typed) answer(*event.outcome);
    const auto latest = latest_.find(id);
    const bool isLatest = latest != latest_.end() && latest->second == event.ticket;
    const bool isOfLevels = takeLevels(*event.outcome);
    if (id == CommandId::note) noteAnswered(*event.outcome);
    if (event.ticket == comparingText_ && comparingText_ != 0) {
      comparingText_ = 0;
      const auto* text = event.outcome->as<IrText>();
      if (text) irPair_->setOther(*text);
      pending_.erase(event.ticket);
      if (text) askOtherText();  // another one may be wanted by now
    } else if (!isOfLevels && event.ticket == comparing_)
      showCompared(event.outcome->share<GraphView>());
    else if (!isOfLevels && isLatest)
      onOutcome(*event.outcome, typed);
    if (event.outcome->ok() && makesRuns(id)) submit(Command::of(CommandId::runs));
    // A setting or :undo made another program of the model: what is looked at stays.
    if (otherModel && id != CommandId::load && id != CommandId::reload) {
      keepLookedAt();
      wanted_ = settings_.last;
      submit(Command::of(CommandId::reload));
    }
  }
  pending_.erase(event.ticket);
  if (idle()) Q_EMIT becameIdle();
}

void MainWindow::onOutcome(const Outcome& outcome, bool typed) {
  if (!typed)
    for (const Diagnostic& warning : outcome.warnings)
      console_->append(QString::fromStdString(warning.toString()));
  if ((cockpit_->take(outcome) || tensor_->take(outcome) || places_->take(outcome)) && !typed) return;
  if (pipeline_->take(outcome) && !typed) return;
  if (questions_->take(outcome)) return;
  if (outcome.error) {
    if (outcome.command.id == CommandId::why)
      return dimsPanel_->showFault(QString::fromStdString(outcome.error->toString()));
    report(*outcome.error, typed);
    endLive();
    if (outcome.command.id == CommandId::graph) backToShownStep();
    for (const Diagnostic& more : outcome.more)
      if (more.message != outcome.error->message) report(more, typed);
    if (auto list = outcome.share<PassList>()) {
      showPasses(list);  // up to the pass that failed
      submit(Command::of(CommandId::check));
    }
    if (const auto* list = outcome.as<ProblemList>()) showProblems(*list);
    return;
  }
  if (auto info = outcome.share<ModelInfo>(); info && outcome.command.id == CommandId::info) {
    model_ = info;  // with the types of the outputs, which are known after the passes
    overview_->setInfo(info);
    showNode(canvas_->selectedNode());
  } else if (info) {
    showModel(info);
  } else if (auto list = outcome.share<PassList>()) {
    showPasses(list);
  } else if (auto graph = outcome.share<GraphView>()) {
    step_ = graph->step;
    markStep();
    showTexts(step_);
    canvas_->setGraph(graph, !newModel_ || sameFile_);
    showOutline(graph);
    if (newModel_) pictureWanted_ = !sameFile_;
    if (newModel_) askPlan();  // after what is waiting to be shown
    if (std::exchange(newModel_, false)) {
      revealWanted();
      // The same file by another pipeline can be taken back.
      sameFile_ ? history_->readAgain(viewState()) : history_->begin(viewState());
    }
  } else if (const auto* text = outcome.as<IrText>()) {
    if (!text->file.empty())
      return statusBar()->showMessage("written to " + QString::fromStdString(text->file), 8000);
    if (text->level != IrLevel::graph) return;
    irPair_->setText(*text);
    irStep_ = text->step;
    irPair_->showNode(canvas_->selectedId());
  } else if (const auto* diff = outcome.as<DiffView>()) {
    diffText_->showDiff(*diff);
  } else if (const auto* dims = outcome.as<DimsTable>()) {
    showDims(*dims);
  } else if (const auto* why = outcome.as<WhyView>()) {
    dimsPanel_->showWhy(*why);
  } else if (auto plan = outcome.share<PlanView>()) {
    plan_->setPlan(plan);
    overview_->setPlan(plan);
  } else if (auto runs = outcome.share<RunList>()) {
    showRuns(runs);
  } else if (auto notes = outcome.share<NoteList>()) {
    if (outcome.command.id == CommandId::notes) showNotes(notes);
  } else if (const auto run = outcome.share<RunResult>()) {
    const Shared<RunResult> result = withoutElementsOfOutputs(*run);
    newest_ = result;
    if (!result->recalledFrom.empty() && result_) {
      places_->addRecalled(result);
      bringPanel(places_);
      return;
    }
    if (outcome.command.id == CommandId::bounds) {  // of the run that is shown
      result_ = result;
      places_->setBounds(result);
      if (result->profile) showKernels(*result->profile);
      cards_->setRun(result);
      return;
    }
    result_ = result;
    showGiven(outcome.command, *result);
    showRun(outcome.command);
  } else if (!typed && shownHere(outcome)) {
    if (const auto* saved = outcome.as<SaveResult>())
      statusBar()->showMessage("wrote " + QString::fromStdString(saved->files[0].path), 5000);
    console_->append(QString::fromStdString(toText(outcome.view, TextOptions{})));
  }
}

void MainWindow::showModel(Shared<ModelInfo> model) {
  const bool sameFile = sameFile_ = model_ && model_->path == model->path;
  model_ = std::move(model);
  result_ = nullptr;
  passes_ = nullptr;
  step_ = -1;
  levels_->setModel(canRun() && model_->kind != ModelKind::package, model_->kind != ModelKind::package);
  endStop();
  stop_->clearBreakpoints();
  newModel_ = true;
  const QString path = QString::fromStdString(model_->path);
  startPage_->hide();
  leaveStart();
  overview_->setModel(model_);
  watch_->watch(QFileInfo(path).absoluteFilePath());
  setWindowTitle(windowTitleOf(path));
  settings_.addRecent(path);
  settings_.last.opened = true;
  settings_.save();
  showRecent();
  const std::map<std::string, int> kept = settings_.dimsOf(path);
  cockpit_->setModel(model_.get());
  tensor_->clear();
  questions_->forget();
  places_->clear(sameFile ? PlacesPanel::Of::sameFile : PlacesPanel::Of::otherFile);
  if (!sameFile) search_->clear();
  rows_->clear();
  inputs_->setModel(canRun() ? model_.get() : nullptr);
  while (dimForm_->rowCount() > 0) dimForm_->removeRow(0);
  dimBoxes_.clear();
  for (const std::string& symbol : model_->symbols) {
    auto* box = new QSpinBox;
    box->setRange(0, kMostDim);
    box->setObjectName("dim_" + QString::fromStdString(symbol));
    const auto given = dims_.find(symbol);
    const auto before = kept.find(symbol);
    box->setValue(given != dims_.end()                        ? given->second
                  : before != kept.end()                      ? before->second
                  : symbol.find("batch") != std::string::npos ? 1
                                                              : 16);
    connect(box, &QSpinBox::valueChanged, &planTimer_, qOverload<>(&QTimer::start));
    connect(box, &QSpinBox::valueChanged, cockpit_,
            [this, symbol](int value) { cockpit_->setDim(symbol, value); });
    connect(box, &QSpinBox::valueChanged, this,
            [this, box] { history_->note(viewState(), "size of " + box->objectName().mid(4)); });
    connect(box->findChild<QLineEdit*>(), &QLineEdit::returnPressed, this, [this] {
      const bool waits = std::any_of(pending_.begin(), pending_.end(),
                                     [](const auto& one) { return one.second == CommandId::profile; });
      if (!waits) run();
    });
    dimForm_->addRow(QString::fromStdString(symbol), box);
    dimBoxes_[symbol] = box;
    cockpit_->setDim(symbol, box->value());
  }
  runSummary_->clear();
  kernelTable_->setRowCount(0);
  showCards(nullptr);
  passTable_->setRowCount(0);
  irPair_->clear();
  diffText_->clear();
  irStep_ = diffStep_ = -1;
  timeline_->setRun(nullptr);
  timelinePanel_->compare(nullptr, nullptr, nullptr);
  flame_->setPlaces(nullptr);
  sameFile ? plan_->setPlan(nullptr) : plan_->clear();
  dimsPanel_->clear();
  problems_->clear();
  canvas_->setTimes({});
  canvas_->setProblems({});
  canvas_->setGraph(nullptr, false);
  showCompared(nullptr);
  comparing_ = 0;
  passesComparison_.reset();
  navigation_->forget();
  if (!sameFile) overlay_->forget();
  if (!sameFile) showNotes(nullptr);
  outline_->show(nullptr);
  found_->show(nullptr);
  sizeTitles_.clear();
  details_->setHtml(modelDetails(*model_, sizeTitles_));
  if (model_->kind == ModelKind::package) {
    canvas_->setEmptyText(
        "A package holds the compiled program, not the graph it was made from. It can be run.");
    return;
  }
  if (!canRun()) {
    submit(Command::of(CommandId::graph));
    submit(Command::of(CommandId::check));
    submit(Command::of(CommandId::notes));
    return;
  }
  overview_->setSizes(sizes());
  submit(Command::of(CommandId::passes));
  submit(Command::of(CommandId::dims));
  submit(Command::of(CommandId::info));
  submit(Command::of(CommandId::notes));
}

// The boxes take no size the model cannot have.
void MainWindow::showDims(const DimsTable& dims) {
  dimsPanel_->showDims(dims);
  sizeTitles_.clear();
  for (const DimRow& row : dims.rows)
    if (!row.title.empty())
      sizeTitles_[QString::fromStdString(row.symbol)] = QString::fromStdString(row.title);
  overview_->setDims(dims);
  cockpit_->setDims(dims);
  for (const DimRow& row : dims.rows) {
    const auto box = dimBoxes_.find(row.symbol);
    if (box == dimBoxes_.end()) continue;
    const auto bound = [](std::optional<int64_t> value, int otherwise) {
      return value ? static_cast<int>(std::clamp<int64_t>(*value, 0, kMostDim)) : otherwise;
    };
    box->second->setRange(bound(row.low, 0), bound(row.high, kMostDim));
    if (row.multiple > 1) box->second->setSingleStep(static_cast<int>(row.multiple));
    box->second->setToolTip(QString::fromStdString(row.origin));
  }
}

void MainWindow::report(const Diagnostic& diagnostic, bool said) {
  if (error_ == QString::fromStdString(diagnostic.toString())) return;  // said by a command before
  if (error_.isEmpty()) {
    error_ = QString::fromStdString(diagnostic.toString());
    errorCode_ = exitCode(diagnostic.id);
  }
  if (!said) console_->append(QString::fromStdString(toText(diagnostic, TextOptions{})));
  ++unseenFaults_;
  statusBar()->showMessage(QString::fromStdString(diagnostic.message), 15000);
  bringPanel(console_);
}

void MainWindow::showProblems(const ProblemList& list) {
  problems_->showProblems(list);
  overview_->setProblems(list);
  std::vector<std::string> places;
  for (const Diagnostic& problem : list.problems) places.push_back(problem.place.toString());
  canvas_->setProblems(std::move(places));
  bringPanel(problems_);
}

void MainWindow::showNode(int node) {
  if (node < 0 || !canvas_->graph()) {
    details_->setHtml(model_ ? modelDetails(*model_, sizeTitles_) : QString());
    plan_->canvas()->setChosen(kNoNode);
    timeline_->setChosenPlace({});
    levels_->showPlace({});
    irPair_->showNode(kNoNode);
    showNoteOf(nullptr);
    return;
  }
  const GraphNode& n = canvas_->graph()->nodes[static_cast<size_t>(node)];
  showNoteOf(&n);
  QStringList together;
  for (int other : canvas_->computedWith(node)) {
    const GraphNode& o = canvas_->graph()->nodes[static_cast<size_t>(other)];
    together << QString::fromStdString(o.label.empty() ? o.op : o.label);
  }
  DeviceCounts counts;
  if (result_)
    for (const TimelineEvent& event : result_->timeline)
      if (event.counts && event.place == n.place && !n.place.empty()) counts.add(*event.counts);
  QString rows = n.name.empty()
                     ? QString()
                     : htmlRow("elements", "<a href='look:" + html(n.name) + "'>look at its values</a>");
  if (const OverlayEntry* entry = canvas_->overlayOfNode(node))
    rows += htmlRow(html(overlay_->shown()->title),
                    overlayText(*entry, QString::fromStdString(overlay_->shown()->unit)).toHtmlEscaped());
  details_->setHtml(nodeDetails(n, canvas_->timeOfNode(node), together,
                                counts.launchesCount > 0 ? &counts : nullptr, rows, sizeTitles_));
  irPair_->showNode(n.id);
  levels_->showPlace(QString::fromStdString(n.place));
  tensor_->setName(QString::fromStdString(n.name));
  tensor_->setStep(canvas_->graph()->step);
  outline_->choose(n.id);
  plan_->canvas()->setChosen(n.id);
  timeline_->setChosenPlace(QString::fromStdString(n.place));
}

void MainWindow::cancel() {
  session_->interrupt();
  // What waited is dropped without an event; what runs ends with one.
  for (auto it = pending_.begin(); it != pending_.end();)
    it = it->first == running_ ? std::next(it) : pending_.erase(it);
  comparingText_ = 0;
  irStep_ = diffStep_ = -1;  // a text that was asked for may not come
  levels_->forgetAsked();
  const auto graph = latest_.find(CommandId::graph);
  if (graph == latest_.end() || pending_.count(graph->second) == 0) backToShownStep();
  updateBusy();
}

void MainWindow::updateBusy() {
  const bool isBusy = !idle();
  if (!isBusy) busy_->setText(canRun() ? "Ready" : model_ ? "Cannot be run" : "");
  cancel_->setVisible(isBusy);
  if (isBusy != beatTimer_.isActive()) isBusy ? beatTimer_.start() : beatTimer_.stop();
  const QString noModel = "Open a model first.", noRun = "This model cannot be run: Problems says why.";
  const QString whyNoRun = !model_ ? noModel : !canRun() ? noRun : "";
  enableUnless(run_, isBusy && canRun() ? "Something is under way: it can be cancelled below." : whyNoRun);
  enableUnless(runButton_, model_ ? whyNoRun : "");
  for (QAction* action : {fit_, openGroups_, closeGroups_, compareStep_, sideBySide_})
    enableUnless(action, canvas_->graph() ? "" : model_ ? "There is no graph." : noModel);
  updateQuestions(whyNoRun);
  overlay_->setModelState(model_ ? "" : noModel);
  debug_->setState(
      canRun() && model_->kind == ModelKind::package ? "A package cannot be stepped through." : whyNoRun,
      stop_->isStopped());
}

}  // namespace dyn::ui
