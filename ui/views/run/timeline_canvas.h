// TimelineCanvas: what a profiled run did, along time: a bar for each kernel, copy and allocation, functions
// and iterations of loops above what they hold; below the run's own thread a lane for each worker and
// each device, on the same axis.
//
// Wheel zooms at the cursor, dragging pans (upwards, too, where there are more rows than fit), W S A D do
// both by keys, F shows all. Shift and dragging chooses a part of the run, a click besides all of it again.
// Hover says what a bar is, a click chooses its place in the graph.
#pragma once

#include <QWidget>
#include <map>
#include <vector>

#include "app/engine/run/run_result.h"
#include "app/session/views/run_views.h"
#include "app/session/views/view.h"

class QPainter;

namespace dyn::ui {

// What a bar of that kind of event is filled with: by the category of its kernel.
QColor timelineColor(const std::string& kind, const QString& name, bool dark);

class TimelineCanvas : public QWidget {
  Q_OBJECT
 public:
  explicit TimelineCanvas(QWidget* parent = nullptr);

  void setRun(Shared<RunResult> run);  // null: none
  // Two runs: bars have the ratio of their place in colour, those within the noise grey. Null: none.
  void setComparedRuns(Shared<RunsView> runs);
  void setChosenPlace(const QString& place);
  void showAll();
  int64_t totalNs() const { return totalNs_; }
  // Two below each other have one scale: all of a run is at least so long.
  void setLeastTotal(int64_t ns);
  // What is in sight; viewMoved() is not told.
  void setView(double beginNs, double nsPerPixel);
  double beginNs() const { return beginNs_; }

  // One bar for each event of the run, in its order; row 0 is the outermost. Lanes have rows of their own.
  struct Bar {
    int64_t beginNs = 0, endNs = 0;
    int row = 0;
  };
  const std::vector<Bar>& bars() const { return bars_; }
  int rowsCount() const { return rowsCount_; }
  struct Lane {
    QString title;  // "main thread", "worker 1", "cuda:0"
    int firstRow = 0;
  };
  const std::vector<Lane>& lanes() const { return lanes_; }
  double nsPerPixel() const { return nsPerPixel_; }
  QRectF rectOf(const Bar& bar) const;

 Q_SIGNALS:
  void viewMoved(double beginNs, double nsPerPixel);  // by a person
  // An area was chosen with Shift and the mouse; INT64_MIN and INT64_MAX: the whole run again.
  void rangeChosen(qint64 beginNs, qint64 endNs);
  void placeChosen(const QString& place);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  int barAt(QPointF p) const;
  double nsAt(double x) const;
  void paintRange(QPainter& painter) const;
  void tellRange();
  QString describe(size_t bar) const;
  void zoom(double factor, double x);
  void pan(double pixels);
  void scroll(double pixels);
  void paintLanes(QPainter& painter) const;
  double side() const;  // where time begins: behind the lanes' titles

  QColor fillOf(const TimelineEvent& event, bool dark) const;

  Shared<RunResult> run_;
  Shared<RunsView> comparedRuns_;
  std::map<std::string, size_t> comparedRows_;  // by place
  std::vector<Bar> bars_;
  std::vector<Lane> lanes_;
  double down_ = 0;  // pixels that are scrolled away at the top
  int rowsCount_ = 0, hovered_ = -1;
  int64_t totalNs_ = 0, leastTotalNs_ = 0;
  double beginNs_ = 0, nsPerPixel_ = 1;  // what is in sight
  QString chosen_;
  QPointF pressed_;
  bool dragging_ = false, all_ = true, choosing_ = false;
  std::optional<std::pair<double, double>> range_;  // ns, as it was dragged
};

}  // namespace dyn::ui
