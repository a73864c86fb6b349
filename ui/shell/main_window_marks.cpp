// What a person adds to operations: an overlay of a file, and notes (the field below the Inspector, the list
// of all, marks in the graph).
#include <QAction>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QHeaderView>
#include <QMenu>
#include <QMessageBox>
#include <QPushButton>
#include <QStatusBar>
#include <QTableWidget>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "app/session/graph/note_file.h"
#include "app/session/views/graph_views.h"
#include "ui/shell/main_window.h"
#include "ui/shell/overlay_menu.h"
#include "ui/views/note_field.h"
#include "ui/views/table.h"

namespace dyn::ui {

namespace {

constexpr int kNodeRole = Qt::UserRole, kNameRole = Qt::UserRole + 1;

// As the shell would write it: `note "a name" first line\nsecond line`.
Command noteCommand(const QString& name, const QString& text) {
  QString node = name;
  if (name.contains(' ') || name.startsWith('"'))
    node = '"' + QString(name).replace('\\', "\\\\").replace('"', "\\\"") + '"';
  QString words = QString(text).replace('\\', "\\\\").replace("\r", "").replace('\n', "\\n");
  return Command::of(CommandId::note)
      .add("rest", (node + " " + (words.isEmpty() ? "-" : words)).toStdString());
}

}  // namespace

// The Inspector, and the field below it.
QWidget* MainWindow::makeInspector() {
  auto* inspector = new QWidget;
  auto* column = new QVBoxLayout(inspector);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  note_ = new NoteField;
  column->addWidget(details_, 1);
  column->addWidget(note_);
  connect(note_, &NoteField::written, this,
          [this](const QString& name, const QString& text) { submitShown(noteCommand(name, text)); });
  connect(note_, &NoteField::left, this, [this] { canvas_->setFocus(); });
  noteTable_ = makeTable("notes", {"Operation", "Note"});
  setEmptyText(noteTable_, "Choose an operation and press N: what you write about it stands here.");
  noteTable_->horizontalHeader()->setStretchLastSection(true);
  connect(noteTable_, &QTableWidget::cellClicked, this, [this](int row, int) { goToNote(row); });
  connect(noteTable_, &QTableWidget::cellActivated, this, [this](int row, int) { goToNote(row); });
  return inspector;
}

void MainWindow::makeNotesDock() {
  auto* dock = new QDockWidget("Notes", this);
  dock->setObjectName("notesDock");
  dock->setWidget(noteTable_);
  addDockWidget(Qt::RightDockWidgetArea, dock);
  dock->hide();
}

// Of the chosen operation; the field takes the keys.
void MainWindow::writeNote() {
  if (canvas_->selectedNode() < 0) return statusBar()->showMessage("choose an operation first", 4000);
  auto* dock = findChild<QDockWidget*>("detailsDock");
  dock->show();
  dock->raise();
  if (note_->isHidden())
    return statusBar()->showMessage("this operation has no name that a note could be kept under", 6000);
  note_->takeKeys();
}

void MainWindow::showAllNotes() {
  auto* dock = findChild<QDockWidget*>("notesDock");
  dock->show();
  dock->raise();
  noteTable_->setFocus();
}

void MainWindow::goToNote(int row) {
  const QTableWidgetItem* item = noteTable_->item(row, 0);
  if (!item || !canvas_->graph()) return;
  const NodeId id = item->data(kNodeRole).toULongLong();
  const std::string name = item->data(kNameRole).toString().toStdString();
  if (id != kNoNode && canvas_->revealId(id)) return;
  // Passes made others of it: what has the name of its source.
  for (const GraphNode& node : canvas_->graph()->nodes)
    if (noteNameOf(node) == name) {
      canvas_->revealId(node.id);
      return;
    }
  statusBar()->showMessage(id == kNoNode
                               ? "the model has no operation of this name any more"
                               : "the graph after this pass has no such operation: choose an earlier pass",
                           8000);
}

void MainWindow::showNotes(Shared<NoteList> notes) {
  notes_ = std::move(notes);
  note_->setNotes(notes_);
  canvas_->setNotes(notes_ ? std::make_shared<const NoteIndex>(*notes_) : nullptr);
  pair_->takeNotes();
  noteTable_->setRowCount(0);
  noteTable_->setRowCount(notes_ ? static_cast<int>(notes_->rows.size()) : 0);
  for (int r = 0; r < noteTable_->rowCount(); ++r) {
    const NoteList::Row& row = notes_->rows[static_cast<size_t>(r)];
    const QString name = QString::fromStdString(row.node), text = QString::fromStdString(row.text);
    setCell(noteTable_, r, 0, row.id == kNoNode ? name + " (not in this model)" : name);
    setCell(noteTable_, r, 1, QString(text).replace('\n', ' '));
    noteTable_->item(r, 0)->setData(kNodeRole, QVariant::fromValue<quint64>(row.id));
    noteTable_->item(r, 0)->setData(kNameRole, name);
    noteTable_->item(r, 0)->setToolTip(name);
    noteTable_->item(r, 1)->setToolTip(text);
  }
  fitColumns(noteTable_);
}

void MainWindow::showNoteOf(const GraphNode* node) {
  if (!node || !model_ || model_->kind == ModelKind::package) return note_->setNode({}, {});
  note_->setNode(QString::fromStdString(noteNameOf(*node)), QString::fromStdString(noteNameOf(*node)));
}

// A note was written, here or in the console: the list is asked for again.
void MainWindow::noteAnswered(const Outcome& outcome) {
  if (outcome.error) return note_->showFault(QString::fromStdString(outcome.error->message));
  submit(Command::of(CommandId::notes));
}

// Before the window goes: false where words would be lost, and the person stays.
bool MainWindow::keepNotes() {
  const std::map<QString, QString> unsaved = note_->unsaved();
  if (unsaved.empty()) return true;
  QString fault;
  if (session_->busy()) cancel();
  for (const auto& [name, text] : unsaved) {
    const Ticket ticket = session_->submit(noteCommand(name, text));
    const auto outcome = session_->waitFor(ticket, std::chrono::seconds(5));
    if (!outcome) fault = "the model is busy";
    if (outcome && outcome->error) fault = QString::fromStdString(outcome->error->message);
  }
  if (fault.isEmpty()) return true;
  QMessageBox ask(QMessageBox::Warning, "dynstudio", "A note could not be saved: " + fault,
                  QMessageBox::NoButton, this);
  ask.addButton("Close without it", QMessageBox::DestructiveRole);
  QPushButton* stay = ask.addButton("Keep the window", QMessageBox::RejectRole);
  ask.setDefaultButton(stay);
  ask.setEscapeButton(stay);
  ask.exec();
  return ask.clickedButton() != stay;
}

void MainWindow::makeOverlay() {
  overlay_ = new OverlayMenu(this);
  connect(overlay_, &OverlayMenu::changed, this, &MainWindow::showOverlay);
  connect(overlay_, &OverlayMenu::fileWanted, this, [this] {
    const QString name = QFileDialog::getOpenFileName(this, "Open an overlay", QFileInfo(modelFile()).path(),
                                                      "Overlays (*.json);;All files (*)");
    if (!name.isEmpty()) openOverlay(name);
  });
  connect(canvas_, &GraphCanvas::sceneReady, this, &MainWindow::showOverlayOfPlaces);
}

bool MainWindow::openOverlay(const QString& file) {
  error_.clear();
  errorCode_ = 0;
  const QString fault = overlay_->open(file);
  if (fault.isEmpty()) return true;
  error_ = fault;
  errorCode_ = 1;
  console_->append(fault);
  ++unseenFaults_;
  bringPanel(console_);
  statusBar()->showMessage(fault, 15000);
  return false;
}

void MainWindow::showOverlay() {
  const Shared<Overlay> overlay = overlay_->shown();
  canvas_->setOverlay(overlay);
  showOverlayOfPlaces();
  showNode(canvas_->selectedNode());
  if (!overlay) return statusBar()->clearMessage();
  const QString missing = unmatchedText(canvas_->overlayOnGraph(), overlay->entries.size());
  if (!missing.isEmpty())
    console_->append("overlay " + QString::fromStdString(overlay->title) + ": " + missing);
  statusBar()->showMessage(missing, 15000);
}

// By place, as rows of a run name their operations.
void MainWindow::showOverlayOfPlaces() {
  const Shared<Overlay> overlay = overlay_->shown();
  std::map<std::string, OverlayEntry> values;
  if (overlay && canvas_->graph())
    for (size_t n = 0; n < canvas_->graph()->nodes.size(); ++n)
      if (const OverlayEntry* entry = canvas_->overlayOfNode(static_cast<int>(n)))
        values.emplace(canvas_->graph()->nodes[n].place, *entry);
  places_->setOverlay(overlay, std::move(values));
}

}  // namespace dyn::ui
