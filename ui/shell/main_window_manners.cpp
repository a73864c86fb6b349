// How the window looks and behaves: layouts, theme, size of letters, what it remembers and does by itself.
#include <QActionGroup>
#include <QDir>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMimeData>
#include <QResizeEvent>
#include <QStatusBar>
#include <QUrl>

#include "app/session/views/graph_views.h"
#include "ui/shell/main_window.h"
#include "ui/support/icons.h"
#include "ui/support/why_grey.h"
#include "ui/views/pipeline_edit.h"

namespace dyn::ui {

// "model.onnx  (~/models/bert) - dynstudio": files of many models have the same name.
QString windowTitleOf(const QString& path) {
  QString folder = QFileInfo(path).absolutePath();
  if (const QString home = QDir::homePath(); folder == home || folder.startsWith(home + "/"))
    folder.replace(0, home.size(), "~");
  return QFileInfo(path).fileName() + QString::fromUtf8(" — ") + folder + QString::fromUtf8(" — dynstudio");
}

void MainWindow::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  if (isAtStart_) return;
  fitMode(*this, mode_, std::exchange(modeWidth_, width()));
}

void MainWindow::makeLookMenu(QMenu* view) {
  QMenu* menu = view->addMenu("Theme");
  menu->setIcon(icon("actions/theme"));
  auto* group = new QActionGroup(menu);
  for (const Theme theme : {Theme::system, Theme::light, Theme::dark}) {
    QAction* action = menu->addAction(theme == Theme::system  ? "As the desktop"
                                      : theme == Theme::light ? "Light"
                                                              : "Dark");
    action->setCheckable(true);
    action->setChecked(settings_.theme == theme);
    group->addAction(action);
    connect(action, &QAction::triggered, this, [this, theme] {
      settings_.theme = theme;
      applyTheme(theme);
    });
  }
  const auto letters = [&](const QString& text, const QKeySequence& key, auto&& next) {
    QAction* action = view->addAction(text);
    action->setShortcut(key);
    connect(action, &QAction::triggered, this, [this, next] {
      settings_.textSteps = std::clamp(next(settings_.textSteps), kLeastTextSteps, kMostTextSteps);
      applyTextSteps(settings_.textSteps);
    });
  };
  letters("Larger letters", QKeySequence("Ctrl+Shift+="), [](int steps) { return steps + 1; });
  letters("Smaller letters", QKeySequence("Ctrl+Shift+-"), [](int steps) { return steps - 1; });
  letters("Font size of the desktop", {}, [](int) { return 0; });
}

void MainWindow::makeUndo(QMenu* view) {
  history_ = new ViewHistory(this);
  undo_ = history_->stack()->createUndoAction(this, "Undo");
  redo_ = history_->stack()->createRedoAction(this, "Redo");
  undo_->setShortcut(QKeySequence::Undo);
  // Desktops have the one or the other; both are pressed.
  redo_->setShortcuts({QKeySequence("Ctrl+Shift+Z"), QKeySequence("Ctrl+Y")});
  undo_->setIcon(icon("actions/undo"));
  redo_->setIcon(icon("actions/redo"));
  // The texts of both tell what is undone; what is grey has no such text.
  const auto tell = [this](QAction* action, bool can) {
    sayWhyGrey(action, can ? "" : "Nothing to go back on.");
  };
  connect(history_->stack(), &QUndoStack::canUndoChanged, this, [=, this](bool can) { tell(undo_, can); });
  connect(history_->stack(), &QUndoStack::canRedoChanged, this, [=, this](bool can) { tell(redo_, can); });
  tell(undo_, false);
  tell(redo_, false);
  view->addActions({undo_, redo_});
  view->addSeparator();
  connect(canvas_, &GraphCanvas::lookChanged, this,
          [this](const QString& what) { history_->note(viewState(), what); });
  connect(history_, &ViewHistory::restored, this, [this](const ViewState& state) {
    canvas_->setLook(state.look);
    const QSignalBlocker block(canvas_);
    constants_->setChecked(state.look.constants);
    for (const auto& [name, value] : state.dims) setDim(QString::fromStdString(name), value);
    if (state.pipeline != pipelineEdits_) pipeline_->ask(state.pipeline);
  });
}

void MainWindow::makeHabits(QMenu* file) {
  const auto habit = [&](const QString& text, bool& value) {
    QAction* action = file->addAction(text);
    action->setCheckable(true);
    action->setChecked(value);
    connect(action, &QAction::toggled, this, [&value](bool on) { value = on; });
  };
  file->addSeparator();
  habit("Reload when the file changes", settings_.followsFile);
  habit("Open the last model at the start", settings_.reopens);
  file->addSeparator();
  watch_ = new FileWatch(this);
  connect(watch_, &FileWatch::changed, this, &MainWindow::fileChanged);
  startPage_ = new StartPage(canvas_);
  connect(startPage_, &StartPage::fileChosen, this, &MainWindow::open);
  connect(startPage_, &StartPage::openWanted, this, &MainWindow::chooseFile);
  connect(startPage_, &StartPage::tourChosen, this, &MainWindow::startTour);
}

void MainWindow::chooseFile() {
  const QString folder = model_ ? QFileInfo(QString::fromStdString(model_->path)).path() : QString();
  const QString name = QFileDialog::getOpenFileName(this, "Open a model", folder,
                                                    "Models (*.onnx *.dyn *.dynpkg);;All files (*)");
  if (!name.isEmpty()) open(name);
}

QString MainWindow::modelFile() const { return model_ ? QString::fromStdString(model_->path) : QString(); }

QString MainWindow::besideModel(const QString& ending) const {
  if (!model_) return "graph." + ending;
  const QFileInfo file(QString::fromStdString(model_->path));
  const QString step = canvas_->graph() ? "-" + QString::fromStdString(canvas_->graph()->stepName) : "";
  return file.absolutePath() + "/" + file.completeBaseName() + step + "." + ending;
}

void MainWindow::fileChanged() {
  if (!model_) return;
  if (!settings_.followsFile) {
    statusBar()->showMessage("the file has changed: Ctrl+Shift+R reads it again");
    return;
  }
  reload();
}

void MainWindow::restoreLook() {
  applyTheme(settings_.theme);
  applyTextSteps(settings_.textSteps);
  if (!settings_.geometry.isEmpty()) restoreGeometry(settings_.geometry);
  mode_ = modeOf(settings_.mode).value_or(WindowMode::overview);
  startState_ = settings_.docks;
  setMode(mode_);
  restoreColumns();
  showStart();
  makePictures();
}

void MainWindow::keepLookedAt() {
  settings_.geometry = saveGeometry();
  settings_.docks = isAtStart_ ? startState_ : saveState(kDocksVersion);
  settings_.mode = nameOf(mode_);
  keepColumns();
  settings_.uses = palette_->uses();
  if (model_) {
    const int node = canvas_->selectedNode();
    settings_.last = {
        .file = QFileInfo(QString::fromStdString(model_->path)).absoluteFilePath(),
        .step = canvas_->graph() ? QString::fromStdString(canvas_->graph()->stepName) : QString(),
        .node = node < 0 ? QString()
                         : QString::fromStdString(canvas_->graph()->nodes[static_cast<size_t>(node)].name)};
  }
  settings_.save();
}

// A model whose opening ended the window is not opened by itself again.
void MainWindow::reopenLast() {
  if (!settings_.reopens || settings_.last.file.isEmpty()) return;
  if (!settings_.last.opened) {
    statusBar()->showMessage(settings_.last.file + " was not opened: the last start ended while opening it");
    return;
  }
  if (!QFileInfo::exists(settings_.last.file)) {
    statusBar()->showMessage(settings_.last.file + " is no longer there");
    return;
  }
  settings_.last.opened = false;
  settings_.save();
  wanted_ = settings_.last;
  open(settings_.last.file);
}

void MainWindow::revealWanted() {
  if (!canvas_->graph() || newModel_) return;  // a large graph is laid out first
  for (const GraphNode& node : canvas_->graph()->nodes)
    if (!wanted_.node.isEmpty() && node.name == wanted_.node.toStdString()) {
      canvas_->revealId(node.id);
      break;
    }
  wanted_ = {};
}

// The model as its file is now; what is looked at stays.
void MainWindow::reload() {
  if (!model_) return;
  keepLookedAt();
  wanted_ = settings_.last;
  open(QString::fromStdString(model_->path));
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (!event->mimeData()->hasUrls()) return;
  event->acceptProposedAction();
  startPage_->setDropping(true);
}

void MainWindow::dragLeaveEvent(QDragLeaveEvent*) { startPage_->setDropping(false); }

void MainWindow::dropEvent(QDropEvent* event) {
  startPage_->setDropping(false);
  for (const QUrl& url : event->mimeData()->urls())
    if (url.isLocalFile()) {
      if (model_ && url.path().endsWith(".json")) return void(openOverlay(url.toLocalFile()));
      return takeDropped(url.toLocalFile()) ? run() : open(url.toLocalFile());
    }
}

}  // namespace dyn::ui
