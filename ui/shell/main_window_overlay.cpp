// An overlay of a file, in the views that show it: graph, table of layers, Inspector.
#include <QAction>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QStatusBar>

#include "app/session/views/graph_views.h"
#include "ui/shell/main_window.h"
#include "ui/shell/overlay_menu.h"

namespace dyn::ui {

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
