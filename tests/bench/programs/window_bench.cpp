// What dynstudio takes on a screen of 1280 x 800 that is kept in memory: from opening a model to its picture,
// from a click on a pass to its picture, frames of pan and zoom with all groups open, and the memory held
// after so many models were opened and closed. "longest event": the time of the processor that one event of
// the window's thread took.
#include <malloc.h>

#include <QElapsedTimer>
#include <QEventLoop>
#include <QFile>
#include <QTabWidget>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QWheelEvent>
#include <algorithm>
#include <cstdio>
#include <functional>

#include "tests/support/layered_model.h"
#include "tests/support/watched_application.h"
#include "ui/shell/main_window.h"

namespace dyn::ui {
namespace {

QString modelFile(const QTemporaryDir& directory, int operations) {
  const QString name = directory.filePath(QString("layers%1.dyn").arg(operations));
  QFile file(name);
  if (file.open(QIODevice::WriteOnly)) file.write(QByteArray::fromStdString(test::layeredModel(operations)));
  return name;
}

double untilIdle(MainWindow& window, const std::function<void()>& action) {
  QElapsedTimer clock;
  clock.start();
  action();
  while (!window.idle()) QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
  window.repaint();
  return static_cast<double>(clock.nsecsElapsed()) * 1e-6;
}

double percentile(std::vector<double> times, double part) {
  std::sort(times.begin(), times.end());
  return times[static_cast<size_t>(part * static_cast<double>(times.size() - 1))];
}

void frames(MainWindow& window, const char* what, Qt::KeyboardModifiers with) {
  GraphCanvas& canvas = *window.canvas();
  std::vector<double> times;
  for (int i = 0; i < 120; ++i) {
    QElapsedTimer clock;
    clock.start();
    const QPointF at = QRectF(canvas.rect()).center();
    QWheelEvent event(at, canvas.mapToGlobal(at), {}, {0, i % 40 < 20 ? 30 : -30}, Qt::NoButton, with,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(&canvas, &event);
    canvas.repaint();
    times.push_back(static_cast<double>(clock.nsecsElapsed()) * 1e-6);
  }
  std::printf("  %-28s median %6.1f ms, p90 %6.1f ms\n", what, percentile(times, 0.5),
              percentile(times, 0.9));
}

void measure(const QString& file, int operations) {
  auto& application = test::WatchedApplication::of();
  MainWindow window;
  window.resize(1280, 800);
  window.show();
  std::printf("%d operations\n", operations);
  application.begin();
  std::printf("  %-28s %6.0f ms\n", "open", untilIdle(window, [&] { window.open(file); }));
  auto* passes = window.findChild<QTableWidget*>("passes");
  for (const char* panel : {"IR", "Changes"}) {
    window.showPanel(panel);
    std::vector<double> times;
    for (int row = 0; row < passes->rowCount(); ++row)
      times.push_back(untilIdle(window, [&] { passes->setCurrentCell(row, 1); }));
    std::printf("  click on a pass, %-11s median %6.0f ms, longest %6.0f ms\n", panel, percentile(times, 0.5),
                percentile(times, 1));
  }
  frames(window, "zoom", Qt::ControlModifier);
  frames(window, "pan", Qt::NoModifier);
  const double opened = untilIdle(window, [&] { window.canvas()->setAllOpen(true); });
  std::printf("  %-28s %6.0f ms, %zu boxes\n", "open all groups", opened,
              window.canvas()->scene().boxes.size());
  window.canvas()->fit();
  frames(window, "zoom, all of it seen", Qt::ControlModifier);
  frames(window, "pan", Qt::NoModifier);
  std::printf("  %-28s %6.1f ms (%s)\n", "longest event", application.longest(),
              application.longestName().c_str());
}

void memory(const QTemporaryDir& directory) {
  const QString files[] = {modelFile(directory, 60), modelFile(directory, 300)};
  MainWindow window;
  window.resize(1280, 800);
  window.show();
  for (int i = 1; i <= 200; ++i) {
    untilIdle(window, [&] { window.open(files[i % 2]); });
    if (i % 40 != 0) continue;
    const struct mallinfo2 info = mallinfo2();
    std::printf("  %3d models opened and closed: %6.1f MiB held\n", i,
                static_cast<double>(info.uordblks + info.hblkhd) / 1048576);
  }
}

}  // namespace
}  // namespace dyn::ui

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  setvbuf(stdout, nullptr, _IOLBF, 0);
  dyn::test::WatchedApplication application(argc, argv);
  QTemporaryDir directory;
  for (const int operations : {300, 5581, 18601})
    dyn::ui::measure(dyn::ui::modelFile(directory, operations), operations);
  dyn::ui::memory(directory);
}
