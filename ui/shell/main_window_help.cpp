// The window's ways to find things: the palette, help, tours, links of pages.
#include <QApplication>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QStatusBar>
#include <QTimer>

#include "app/session/views/graph_views.h"
#include "app/session/views/pass_views.h"
#include "ui/shell/help_window.h"
#include "ui/shell/main_window.h"
#include "ui/support/icons.h"
#include "ui/support/why_grey.h"

namespace dyn::ui {

// Of all menus, those in menus too.
QList<QAction*> MainWindow::menuActions() const {
  QList<QAction*> all;
  QList<const QWidget*> menus;
  for (const QAction* menu : menuBar()->actions()) menus << menu->menu();
  for (qsizetype i = 0; i < menus.size(); ++i)
    for (QAction* action : menus[i]->actions()) {
      if (action->menu())
        menus << action->menu();
      else if (!action->isSeparator())
        all << action;
    }
  return all;
}

// Actions of the menus, passes, operations of the graph, commands of the shell.
std::vector<PaletteRow> MainWindow::paletteRows() const {
  std::vector<PaletteRow> rows;
  const auto named = [](PaletteKind kind, const QString& text) {
    PaletteRow row;
    row.kind = kind;
    row.text = text;
    return row;
  };
  for (QAction* action : menuActions()) {
    PaletteRow row = named(PaletteKind::action, action->text().remove('&'));
    row.keys = action->shortcut().toString(QKeySequence::NativeText);
    row.note = action->isCheckable() ? (action->isChecked() ? "on" : "off") : "";
    row.action = action;
    rows.push_back(std::move(row));
  }
  const auto text = [](std::string_view view) {
    return QString::fromUtf8(view.data(), static_cast<qsizetype>(view.size()));
  };
  for (const CommandSpec& command : commandTable()) {
    PaletteRow row = named(PaletteKind::command, ":" + text(command.name));
    row.note = text(command.help);
    rows.push_back(std::move(row));
  }
  for (size_t i = 0; passes_ && i < passes_->rows.size(); ++i) {
    const PassRow& pass = passes_->rows[i];
    PaletteRow row = named(PaletteKind::pass, QString::fromStdString(pass.name));
    row.note = QString::fromStdString(pass.summary);
    row.step = static_cast<int>(i);
    if (!pass.failed) rows.push_back(std::move(row));
  }
  if (!canvas_->graph()) return rows;
  for (size_t i = 0; notes_ && i < notes_->rows.size(); ++i) {
    const NoteList::Row& note = notes_->rows[i];
    if (note.id == kNoNode) continue;
    PaletteRow row =
        named(PaletteKind::operation, "note: " + QString::fromStdString(note.text).replace('\n', ' '));
    row.note = QString::fromStdString(note.node);
    row.node = note.id;
    rows.push_back(std::move(row));
  }
  for (const GraphNode& node : canvas_->graph()->nodes) {
    if (node.kind == NodeKind::constant) continue;
    PaletteRow row =
        named(PaletteKind::operation, QString::fromStdString(node.name.empty() ? node.label : node.name));
    row.note = QString::fromStdString(node.sourceOp.empty() ? node.op : node.sourceOp);
    row.node = node.id;
    rows.push_back(std::move(row));
  }
  return rows;
}

void MainWindow::openPalette(const QString& begun) { palette_->open(paletteRows(), begun); }

void MainWindow::makeHelpMenu() {
  QMenu* help = menuBar()->addMenu("&Help");
  const auto action = [&](const QString& text, const QKeySequence& key, const std::function<void()>& what) {
    QAction* made = help->addAction(text);
    made->setShortcut(key);
    connect(made, &QAction::triggered, this, what);
    return made;
  };
  const auto page = [&](const QString& text, const QString& file, const QKeySequence& key = {}) {
    QAction* made = action(text, key, [this, file] { showHelpPage(file); });
    enableUnless(made, docsFolder().isEmpty() ? "The documentation is not installed." : "");
    if (docsFolder().isEmpty()) made->setText(text + " (not installed)");
  };
  page("Documentation", "index.md", QKeySequence::HelpContents);
  page("The window", "window.md");
  page("Glossary", "glossary.md");
  action("Keyboard shortcuts", QKeySequence("Ctrl+F1"), [this] {
    if (!help_) help_ = new HelpWindow(this);
    help_->showText("Keyboard shortcuts", shortcutsPage(*menuBar()));
  });
  QMenu* tour = help->addMenu("Tour");
  for (const Tour& one : tours()) {
    QAction* made = tour->addAction(icon(one.icon), one.title);
    made->setToolTip(one.text);
    enableUnless(made, samplesFolder().isEmpty() ? "The samples are not installed." : "");
    connect(made, &QAction::triggered, this, [this, &one] { startTour(one); });
  }
  help->addSeparator();
  action("About dynstudio", {}, [this] {
    QMessageBox::about(
        this, "About dynstudio",
        QString("<b>dynstudio %1</b><p>The window of Dyn, a compiler and runtime for neural networks "
                "of any size.</p>")
            .arg(QApplication::applicationVersion()));
  });
}

void MainWindow::showHelpPage(const QString& file) {
  if (!help_) help_ = new HelpWindow(this);
  if (!help_->showPage(file)) statusBar()->showMessage(file + " is not installed", 8000);
}

// Of the overview, or what a step of a tour shows.
void MainWindow::followLink(const QString& what, const QString& which) {
  if (what == "why") return askWhy(which);
  if (what == "run") return run();
  if (what == "plan") return askPlanNow();
  if (what == "place") {
    bringPanel(kernelTable_);
    return choosePlace(which);
  }
  if (what == "bounds") {
    bringPanel(places_);
    return places_->showBounds();
  }
  if (what == "panel") return static_cast<void>(showPanel(which));
  if (what == "line") return static_cast<void>(submitLine(which.toStdString()));
  if (what == "limit") {
    setMode(WindowMode::sizes);
    return cockpit_->askWithin(which);
  }
  if (what == "find") {
    search_->setText(which);
    canvas_->nextMatch();
    return canvas_->setFocus();
  }
  if (what == "mode") {
    if (const auto mode = modeOf(which)) setMode(*mode);
  }
  if (what == "pass" && passes_) {
    for (size_t i = 0; i < passes_->rows.size(); ++i)
      if (passes_->rows[i].name == which.toStdString()) showStep(static_cast<int>(i));
    compareWith(kStepBefore);
    setMode(WindowMode::passes);
  }
}

// The sample is opened first; the tour begins when it is there.
void MainWindow::startTour(const Tour& tour) {
  tour_->leave();
  open(samplesFolder() + "/" + tour.file);
  connect(
      this, &MainWindow::becameIdle, this,
      [this, &tour] {
        if (canRun()) tour_->start(tour);
      },
      static_cast<Qt::ConnectionType>(Qt::QueuedConnection | Qt::SingleShotConnection));
}

// Of samples that were never opened: a moment after the start, one by one.
void MainWindow::makePictures() {
  thumbnails_ = Thumbnails(settings_.isKept() ? settings_.picturesFolder() : QString());
  startPage_->setThumbnails(thumbnails_);
  if (!thumbnails_.isKept()) return;
  constexpr int kAfterStart = 300;  // ms
  QTimer::singleShot(kAfterStart, this, [this] {
    const QStringList models = startPage_->modelsWithoutPicture();
    if (models.isEmpty() || !startPage_->isVisible()) return;
    auto* maker = new ThumbnailMaker(thumbnails_, models, this);
    connect(maker, &ThumbnailMaker::made, this, [this] { startPage_->setThumbnails(thumbnails_); });
    connect(maker, &ThumbnailMaker::done, maker, &QObject::deleteLater);
  });
}

}  // namespace dyn::ui
