#include "ui/shell/main_window.h"

#include <QAction>
#include <QCheckBox>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHeaderView>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QMimeData>
#include <QPushButton>
#include <QSpinBox>
#include <QStatusBar>
#include <QTableWidget>
#include <QTextBrowser>
#include <QToolBar>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>

namespace dyn::ui {

namespace {

QString escaped(const std::string& text) { return QString::fromStdString(text).toHtmlEscaped(); }

QTableWidget* makeTable(const QString& name, const QStringList& headers) {
  auto* table = new QTableWidget(0, static_cast<int>(headers.size()));
  table->setObjectName(name);
  table->setHorizontalHeaderLabels(headers);
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(22);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setSelectionMode(QAbstractItemView::SingleSelection);
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setShowGrid(false);
  table->setAlternatingRowColors(true);
  table->horizontalHeader()->setHighlightSections(false);
  return table;
}

void setCell(QTableWidget* table, int row, int column, const QString& text, bool number = false) {
  auto* item = new QTableWidgetItem(text);
  item->setToolTip(text);
  if (number) item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
  table->setItem(row, column, item);
}

QString tableRow(const QString& key, const QString& value) {
  return "<tr><td style='padding-right:8px'><b>" + key + "</b></td><td>" + value + "</td></tr>";
}

}  // namespace

MainWindow::MainWindow(SessionOptions options) : session_(std::make_unique<Session>(std::move(options))) {
  setObjectName("dynstudio");
  setWindowTitle("dynstudio");
  resize(1280, 800);
  setAcceptDrops(true);
  canvas_ = new GraphCanvas;
  setCentralWidget(canvas_);
  makeDocks();
  makeActions();
  connect(canvas_, &GraphCanvas::nodeSelected, this, &MainWindow::showNode);
  connect(canvas_, &GraphCanvas::searched, this, [this](int count) {
    matches_->setText(search_->text().isEmpty() ? "" : QString::number(count) + (count == 1 ? " match" : " matches"));
  });
  session_->setListener([this](const Event& event) {
    QMetaObject::invokeMethod(this, [this, event] { onEvent(event); }, Qt::QueuedConnection);
  });
  updateBusy();
}

MainWindow::~MainWindow() { session_.reset(); }

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
  bar->addAction(action(file, "Open…", QKeySequence::Open, [this] {
    const QString name = QFileDialog::getOpenFileName(this, "Open a model", {}, "Models (*.onnx *.dyn *.dynpkg);;All files (*)");
    if (!name.isEmpty()) open(name);
  }));
  action(file, "Reload", QKeySequence("F5"), [this] {
    if (model_) open(QString::fromStdString(model_->path));
  });
  action(file, "Export graph…", {}, [this] {
    const QString name = QFileDialog::getSaveFileName(this, "Export the graph", "graph.svg", "Pictures (*.svg *.png)");
    if (!name.isEmpty() && !canvas_->exportTo(name)) statusBar()->showMessage("the picture could not be written", 5000);
  });
  action(file, "Quit", QKeySequence::Quit, [this] { close(); });
  run_ = action(model, "Run", QKeySequence("Ctrl+R"), [this] { run(); });
  bar->addAction(run_);
  bar->addSeparator();
  bar->addAction(action(view, "Fit", QKeySequence("Ctrl+0"), [this] { canvas_->fit(); }));
  bar->addAction(action(view, "Open groups", QKeySequence("Ctrl+E"), [this] { canvas_->setAllOpen(true); }));
  bar->addAction(action(view, "Close groups", QKeySequence("Ctrl+Shift+E"), [this] { canvas_->setAllOpen(false); }));
  QAction* constants = view->addAction("Show constants");
  constants->setCheckable(true);
  connect(constants, &QAction::toggled, canvas_, &GraphCanvas::setShowConstants);
  view->addSeparator();
  for (QDockWidget* dock : findChildren<QDockWidget*>()) view->addAction(dock->toggleViewAction());
  auto* space = new QWidget;
  space->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  bar->addWidget(space);
  matches_ = new QLabel;
  matches_->setContentsMargins(8, 0, 8, 0);
  bar->addWidget(matches_);
  search_ = new QLineEdit;
  search_->setObjectName("search");
  search_->setPlaceholderText("Search: op, name, type (Ctrl+F)");
  search_->setClearButtonEnabled(true);
  search_->setFixedWidth(270);
  bar->addWidget(search_);
  connect(search_, &QLineEdit::textChanged, canvas_, &GraphCanvas::search);
  connect(search_, &QLineEdit::returnPressed, canvas_, &GraphCanvas::nextMatch);
  action(view, "Search", QKeySequence::Find, [this] {
    search_->setFocus();
    search_->selectAll();
  });
  busy_ = new QLabel;
  cancel_ = new QToolButton;
  cancel_->setText("Cancel");
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
  passTable_ = makeTable("passes", {"", "Pass", "Time", "Ops"});
  connect(passTable_, &QTableWidget::currentCellChanged, this, [this](int row, int, int before, int) {
    if (row >= 0 && row != before) showStep(row);
  });
  column->addWidget(hideUnchanged_);
  column->addWidget(passTable_);
  QDockWidget* passes = dock("Passes", "passesDock", left, Qt::LeftDockWidgetArea);

  bottom_ = new QTabWidget;
  bottom_->setObjectName("bottomTabs");
  bottom_->setDocumentMode(true);
  irText_ = new IrTextView;
  diffText_ = new IrTextView;
  kernelTable_ = makeTable("kernels", {"Kernel", "Kind", "Launches", "Total", "Share", "Place"});
  log_ = new QPlainTextEdit;
  log_->setReadOnly(true);
  log_->setMaximumBlockCount(5000);
  bottom_->addTab(irText_, "IR");
  bottom_->addTab(diffText_, "Changes");
  bottom_->addTab(kernelTable_, "Kernels");
  bottom_->addTab(log_, "Log");
  QDockWidget* text = dock("Text and kernels", "textDock", bottom_, Qt::BottomDockWidgetArea);

  details_ = new QTextBrowser;
  details_->setObjectName("details");
  QDockWidget* details = dock("Details", "detailsDock", details_, Qt::RightDockWidgetArea);
  makeRunPanel();
  resizeDocks({passes, details}, {250, 290}, Qt::Horizontal);
  resizeDocks({text}, {215}, Qt::Vertical);
}

void MainWindow::makeRunPanel() {
  auto* panel = new QWidget;
  auto* column = new QVBoxLayout(panel);
  dimForm_ = new QFormLayout;
  column->addLayout(dimForm_);
  auto* button = new QPushButton("Run");
  button->setObjectName("runButton");
  connect(button, &QPushButton::clicked, this, &MainWindow::run);
  column->addWidget(button);
  runSummary_ = new QTextBrowser;
  runSummary_->setObjectName("runSummary");
  runSummary_->setPlaceholderText("Inputs are random until given. Times appear on the graph.");
  column->addWidget(runSummary_, 1);
  auto* d = new QDockWidget("Run", this);
  d->setObjectName("runDock");
  d->setWidget(panel);
  addDockWidget(Qt::RightDockWidgetArea, d);
}

void MainWindow::submit(Command command) {
  const CommandId id = command.id;
  const Ticket ticket = session_->submit(std::move(command));
  pending_[ticket] = id;
  latest_[id] = ticket;
  updateBusy();
}

void MainWindow::open(const QString& file) {
  error_.clear();
  submit(Command::of(CommandId::load).add("model", file.toStdString()));
}

void MainWindow::run() {
  if (!model_) return;
  Command command = Command::of(CommandId::profile);
  for (const auto& [name, box] : dimBoxes_) command.add("dim", name + "=" + std::to_string(box->value()));
  submit(std::move(command));
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
  submit(Command::of(CommandId::ir).add("pass", step));
  if (index > 0) submit(Command::of(CommandId::diff).add("from", step));
  if (index == 0) diffText_->setPlainText("// the first step: nothing before it");
}

void MainWindow::onEvent(const Event& event) {
  switch (event.kind) {
    case EventKind::started:
      running_ = event.ticket;
      busy_->setText(QString::fromStdString(event.text));
      break;
    case EventKind::progress: busy_->setText(QString::fromStdString(event.text)); break;
    case EventKind::log: log_->appendPlainText(QString::fromStdString(event.text)); break;
    case EventKind::finished:
      if (event.outcome) {
        const auto latest = latest_.find(event.outcome->command.id);
        if (latest != latest_.end() && latest->second == event.ticket) onOutcome(*event.outcome);
      }
      pending_.erase(event.ticket);
      if (pending_.empty()) Q_EMIT becameIdle();
      break;
    case EventKind::model:
    case EventKind::values: break;
  }
  updateBusy();
}

void MainWindow::onOutcome(const Outcome& outcome) {
  for (const Diagnostic& warning : outcome.warnings) log_->appendPlainText(QString::fromStdString(warning.toString()));
  if (outcome.error) {
    report(*outcome.error);
    for (const Diagnostic& more : outcome.more) report(more);
    return;
  }
  if (outcome.command.id == CommandId::load) {
    model_ = outcome.share<ModelInfo>();
    if (!model_) return;
    result_ = nullptr;
    step_ = -1;
    newModel_ = true;
    setWindowTitle(QFileInfo(QString::fromStdString(model_->path)).fileName() + " — dynstudio");
    while (dimForm_->rowCount() > 0) dimForm_->removeRow(0);
    dimBoxes_.clear();
    for (const std::string& symbol : model_->symbols) {
      auto* box = new QSpinBox;
      box->setRange(0, 1 << 24);
      box->setObjectName("dim_" + QString::fromStdString(symbol));
      const auto given = dims_.find(symbol);
      box->setValue(given != dims_.end() ? given->second : symbol.find("batch") != std::string::npos ? 1 : 16);
      dimForm_->addRow(QString::fromStdString(symbol), box);
      dimBoxes_[symbol] = box;
    }
    runSummary_->clear();
    kernelTable_->setRowCount(0);
    canvas_->setTimes({});
    showNode(-1);
    submit(Command::of(CommandId::passes));
  } else if (auto list = outcome.share<PassList>(); list && outcome.command.id == CommandId::passes) {
    passes_ = list;
    showPasses();
  } else if (auto graph = outcome.share<GraphView>()) {
    canvas_->setGraph(graph, !newModel_);
    newModel_ = false;
    if (result_) canvas_->setTimes(result_->nodeTimes);
    showNode(canvas_->selectedNode());
  } else if (const auto* text = outcome.as<IrText>()) {
    irText_->showIr(*text);
  } else if (const auto* diff = outcome.as<DiffView>()) {
    diffText_->showDiff(*diff);
  } else if (auto result = outcome.share<RunResult>()) {
    result_ = result;
    showRun();
  }
}

void MainWindow::report(const Diagnostic& diagnostic) {
  error_ = QString::fromStdString(diagnostic.toString());
  log_->appendPlainText(error_);
  statusBar()->showMessage(QString::fromStdString(diagnostic.message), 15000);
  bottom_->setCurrentWidget(log_);
}

void MainWindow::showPasses() {
  const QSignalBlocker block(passTable_);
  passTable_->setRowCount(0);
  passTable_->setRowCount(static_cast<int>(passes_->rows.size()));
  int first = 0;
  for (int r = 0; r < passTable_->rowCount(); ++r) {
    const PassRow& row = passes_->rows[static_cast<size_t>(r)];
    if (row.name == "infer") first = r;
    const int64_t delta = row.opsAfter - row.opsBefore;
    setCell(passTable_, r, 0, QString::fromUtf8(row.failed ? "✕" : row.changed ? "●" : ""));
    setCell(passTable_, r, 1, QString::fromStdString(row.name));
    setCell(passTable_, r, 2, timeText(row.timeNs), true);
    setCell(passTable_, r, 3, delta == 0 || row.kind == "import" ? QString::number(row.opsAfter) : (delta > 0 ? "+" : QString::fromUtf8("−")) + QString::number(std::abs(delta)), true);
    passTable_->item(r, 0)->setForeground(row.failed ? QColor(204, 40, 40) : QColor(214, 140, 10));
  }
  passTable_->resizeColumnsToContents();
  passTable_->horizontalHeader()->setSectionResizeMode(1, QHeaderView::Stretch);
  hideUnchanged();
  if (passTable_->rowCount() == 0) return;
  passTable_->setCurrentCell(first, 1);
  showStep(first);
}

void MainWindow::hideUnchanged() {
  if (!passes_) return;
  for (int r = 0; r < passTable_->rowCount(); ++r) {
    const PassRow& row = passes_->rows[static_cast<size_t>(r)];
    passTable_->setRowHidden(r, hideUnchanged_->isChecked() && !row.changed && !row.failed && row.kind == "pass" && r != step_);
  }
}

void MainWindow::showRun() {
  canvas_->setTimes(result_->nodeTimes);
  QString html = "<table>";
  int64_t least = 0;
  for (int64_t t : result_->runsNs) least = least == 0 ? t : std::min(least, t);
  html += tableRow("time", timeText(least));
  if (result_->compileNs > 0) html += tableRow("compile", timeText(result_->compileNs));
  html += tableRow("kernels", QString::number(result_->kernelsCount) + ", launched " + QString::number(result_->launchesCount) + " times");
  html += tableRow("peak", bytesText(result_->peakBytes) + (result_->predictedPeakBytes ? " (planned " + bytesText(*result_->predictedPeakBytes) + ")" : ""));
  for (const NamedValue& v : result_->outputs) html += tableRow(escaped(v.name), shortType(v.type).toHtmlEscaped());
  runSummary_->setHtml(html + "</table>");
  if (result_->profile) showKernels(*result_->profile);
  bottom_->setCurrentWidget(kernelTable_);
}

void MainWindow::showKernels(const KernelTable& table) {
  std::vector<const KernelRow*> rows;
  for (const KernelRow& row : table.rows) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const KernelRow* a, const KernelRow* b) { return a->totalNs > b->totalNs; });
  kernelTable_->setRowCount(0);
  kernelTable_->setRowCount(static_cast<int>(rows.size()));
  for (int r = 0; r < kernelTable_->rowCount(); ++r) {
    const KernelRow& row = *rows[static_cast<size_t>(r)];
    setCell(kernelTable_, r, 0, QString::fromStdString(row.description.empty() ? row.name : row.description));
    setCell(kernelTable_, r, 1, QString::fromStdString(row.kind));
    setCell(kernelTable_, r, 2, QString::number(row.launchesCount), true);
    setCell(kernelTable_, r, 3, timeText(row.totalNs), true);
    setCell(kernelTable_, r, 4, QString::number(100 * row.share, 'f', 1) + "%", true);
    setCell(kernelTable_, r, 5, QString::fromStdString(row.place));
  }
  kernelTable_->resizeColumnsToContents();
  kernelTable_->setColumnWidth(0, std::min(kernelTable_->columnWidth(0), 260));
  kernelTable_->horizontalHeader()->setStretchLastSection(true);
}

void MainWindow::showNode(int node) {
  if (node < 0 || !canvas_->graph()) {
    if (!model_) return details_->clear();
    QString html = "<h3>" + QFileInfo(QString::fromStdString(model_->path)).fileName().toHtmlEscaped() + "</h3><table>";
    html += tableRow("operations", QString::number(model_->opsCount));
    if (model_->weightsCount > 0) html += tableRow("weights", QString::number(model_->weightsCount) + ", " + bytesText(model_->weightsBytes));
    if (model_->opset > 0) html += tableRow("opset", QString::number(model_->opset));
    html += "</table><p><b>Inputs</b><br>";
    for (const ValueInfo& v : model_->inputs) html += escaped(v.name) + ": " + shortType(v.type).toHtmlEscaped() + "<br>";
    html += "</p><p><b>Outputs</b><br>";
    for (const ValueInfo& v : model_->outputs) html += escaped(v.name) + ": " + shortType(v.type).toHtmlEscaped() + "<br>";
    html += "</p><p><b>Operators</b><br>";
    for (const auto& [op, count] : model_->ops) html += escaped(op) + QString::fromUtf8(" × ") + QString::number(count) + "<br>";
    details_->setHtml(html + "</p>");
    return;
  }
  const GraphNode& n = canvas_->graph()->nodes[static_cast<size_t>(node)];
  QString html = "<h3>" + escaped(n.label.empty() ? n.op : n.label) + "</h3><table>";
  html += tableRow("operator", escaped(n.op) + " (" + escaped(n.opClass) + ")") + tableRow("value", escaped(n.name));
  const int box = canvas_->scene().boxOfNode[static_cast<size_t>(node)];
  if (box >= 0 && canvas_->timeOfBox(box) > 0) html += tableRow("time", timeText(canvas_->timeOfBox(box)));
  if (!n.place.empty()) html += tableRow("from", escaped(n.place));
  for (const auto& [key, value] : n.attributes) html += tableRow(escaped(key), escaped(value.substr(0, 300)));
  html += "</table>";
  const auto ports = [&](const char* title, const std::vector<GraphPort>& list) {
    if (list.empty()) return;
    html += QString("<p><b>%1</b><br>").arg(title);
    for (const GraphPort& p : list) html += (p.name.empty() ? "_" : escaped(p.name)) + ": " + shortType(p.type).toHtmlEscaped() + "<br>";
    html += "</p>";
  };
  ports("Inputs", n.inputs);
  ports("Outputs", n.outputs);
  details_->setHtml(html);
  irText_->showNode(n.id);
}

void MainWindow::cancel() {
  session_->interrupt();
  // What waited is dropped without an event; what runs ends with one.
  for (auto it = pending_.begin(); it != pending_.end();) it = it->first == running_ ? std::next(it) : pending_.erase(it);
  updateBusy();
}

void MainWindow::updateBusy() {
  const bool isBusy = !pending_.empty();
  if (!isBusy) busy_->setText(model_ ? "Ready" : "");
  cancel_->setVisible(isBusy);
  run_->setEnabled(model_ && !isBusy);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  for (const QUrl& url : event->mimeData()->urls())
    if (url.isLocalFile()) return open(url.toLocalFile());
}

QByteArray MainWindow::stateJson() const {
  QJsonObject state;
  state["model"] = model_ ? QString::fromStdString(model_->path) : "";
  state["error"] = error_;
  if (const GraphView* g = canvas_->graph()) {
    QJsonArray boxes;
    for (const SceneBox& b : canvas_->scene().boxes)
      boxes.append(QJsonObject{{"title", b.title}, {"frame", b.frame}, {"members", b.membersCount}, {"class", b.opClass}});
    state["graph"] = QJsonObject{{"step", QString::fromStdString(g->stepName)},
                                 {"nodes", static_cast<qint64>(g->nodes.size())},
                                 {"groups", static_cast<qint64>(g->groups.size())},
                                 {"boxes", boxes}};
  }
  QJsonArray rows;
  if (passes_)
    for (const PassRow& r : passes_->rows)
      rows.append(QJsonObject{{"name", QString::fromStdString(r.name)}, {"changed", r.changed}, {"failed", r.failed}, {"ops", static_cast<qint64>(r.opsAfter)}});
  state["passes"] = rows;
  if (result_) {
    QJsonArray outputs;
    for (const NamedValue& v : result_->outputs) outputs.append(QString::fromStdString(v.name + ": " + v.type));
    state["run"] = QJsonObject{{"outputs", outputs}, {"nodeTimes", static_cast<qint64>(result_->nodeTimes.size())}, {"peakBytes", static_cast<qint64>(result_->peakBytes)}};
  }
  return QJsonDocument(state).toJson();
}

}  // namespace dyn::ui
