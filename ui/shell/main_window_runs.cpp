// What the window shows of a run: a part of it that was chosen on the timeline filters graph, places and
// kernels.
#include <QFileInfo>
#include <QLabel>
#include <QTableWidget>
#include <set>

#include "app/session/model/media_input.h"
#include "app/session/views/place_tree.h"
#include "ui/shell/main_window.h"

namespace dyn::ui {

void MainWindow::showRange(qint64 beginNs, qint64 endNs) {
  if (!result_) return;
  const TimeRange range{beginNs, endNs};
  const bool whole = beginNs == INT64_MIN;
  canvas_->setTimes(whole ? result_->nodeTimes : nodeTimes(*result_, range));
  places_->setRange(beginNs, endNs);
  std::set<QString> launched;
  for (const TimelineEvent& event : result_->timeline)
    if (range.holds(event)) launched.insert(QString::fromStdString(event.name));
  for (int r = 0; r < kernelTable_->rowCount(); ++r)
    kernelTable_->setRowHidden(r, !whole && launched.count(kernelTable_->item(r, 0)->text()) == 0);
}

bool MainWindow::takeDropped(const QString& file) {
  if (!canRun()) return false;
  const QFileInfo info(file);
  if (info.isDir()) return inputs_->setCase(file);
  if (info.suffix() == "pb") return inputs_->setCase(info.path()) || inputs_->setFile(file);
  return (info.suffix() == "npy" || isMediaName(file.toStdString())) && inputs_->setFile(file);
}

// The heat grows while the run goes on.
void MainWindow::showLive(const LiveRun& run) {
  isLive_ = true;
  canvas_->setTimes(run.times);
}

// The run ended without a result: the heat is again that of the one before.
void MainWindow::endLive() {
  if (std::exchange(isLive_, false))
    canvas_->setTimes(result_ ? result_->nodeTimes : std::vector<NodeTime>());
}

// What is under way, how long, and how far.
void MainWindow::beat() {
  QString text = doing_;
  constexpr qsizetype kMostLetters = 100;
  if (text.size() > kMostLetters) text = text.left(kMostLetters - 1) + QString::fromUtf8("…");
  if (part_ >= 0) text += QString("  %1 %").arg(100 * part_, 0, 'f', 0);
  if (since_.isValid() && since_.elapsed() >= 100)
    text += QString("  %1 s").arg(static_cast<double>(since_.elapsed()) / 1000, 0, 'f', 1);
  busy_->setText(text);
}

}  // namespace dyn::ui
