// PlacesPanel: where a profiled run spent its time, as a tree of the model: modules, operations, launches,
// and the gaps between these; rates against what the machine can do. Beside it the roofline: each operation
// by its work per byte.
//
// Two runs can be compared: then the tree gives way to a table of differences, grey where they are noise.
#pragma once

#include <QWidget>
#include <map>

#include "app/engine/run/run_result.h"
#include "app/session/graph/overlay_file.h"
#include "app/session/session.h"
#include "app/session/views/run_views.h"

class QCheckBox;
class QPainter;
class QLabel;
class QPushButton;
class QStackedWidget;
class QTableWidget;
class QTreeWidget;
class QTreeWidgetItem;

namespace dyn::ui {

class NameDelegate;

class RooflinePlot : public QWidget {
  Q_OBJECT
 public:
  explicit RooflinePlot(QWidget* parent = nullptr);
  // What the machine can do: a level for arithmetic, and a slope for data of each home.
  struct Roof {
    double gflops = 0, memoryRate = 0, cacheRate = 0;  // rates in GB/s
    bool isKnown() const { return gflops > 0 && memoryRate > 0; }
    bool hasCache() const { return cacheRate > memoryRate; }
  };
  void setPlaces(Shared<PlaceTree> places, const Roof& roof);
  // "memory 9.9 GB/s" and such, as they stand at the lines.
  QStringList roofTexts() const;
  // Operations as they are drawn.
  struct Point {
    size_t row = 0;
    double intensity = 0, gflops = 0;
    bool isBeyond = false;  // the roof: it is hollow, and has no figure
  };
  const std::vector<Point>& points() const { return points_; }
  QPointF positionOf(const Point& point) const;

 Q_SIGNALS:
  void placeChosen(const QString& place);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;

 private:
  QRectF frame() const;
  QPointF at(double intensity, double gflops) const;
  int pointAt(QPointF p) const;

  void paintSlope(QPainter& painter, double rate, const QString& text, Qt::PenStyle style) const;

  Shared<PlaceTree> places_;
  Roof roof_;
  double lowX_ = 0.01, highX_ = 100, lowY_ = 0.01, highY_ = 100;
  std::vector<Point> points_;
};

class PlacesPanel : public QWidget {
  Q_OBJECT
 public:
  explicit PlacesPanel(QWidget* parent = nullptr);

  enum class Of : uint8_t { sameFile, otherFile };
  void clear(Of next = Of::otherFile);  // runs of the same file, compiled anew, can be compared with
  // A run was profiled: its places are asked for.
  void setRun(Shared<RunResult> run);
  // The same run, of which the bounds are known by now.
  void setBounds(Shared<RunResult> run);
  void showBounds();  // of this run and later ones; asks for them where they are not there
  // One that was saved: it is compared with the run that is shown; shown itself where there is none.
  void addRecalled(Shared<RunResult> run);
  // Only what was launched between these times; the whole run without.
  void setRange(qint64 beginNs, qint64 endNs);
  bool take(const Outcome& outcome);
  // A column of the values of an overlay, by place; null: none.
  void setOverlay(Shared<Overlay> overlay, std::map<std::string, OverlayEntry> values);
  bool wantsBounds() const;  // runs shall say what bounds each launch
  // How many runs can be compared.
  void setRunsCount(int count);
  // Shows the comparison, anew where it is shown already, or the places again.
  void compare(bool on);
  QTreeWidget* tree() const { return tree_; }
  RooflinePlot* roofline() const { return roofline_; }
  QTableWidget* differences() const { return differences_; }

 Q_SIGNALS:
  void asked(const Command& command);
  void placeChosen(const QString& place);
  void runsCompared(Shared<RunsView> runs);  // null: no longer
  void placesShown(Shared<PlaceTree> places);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void showPlaces(Shared<PlaceTree> places);
  void showOverlay();
  void showRoofline();
  void showDifferences(const RunsView& runs);
  void widenPlace();

  Shared<RunResult> run_;
  Shared<PlaceTree> shownPlaces_;
  std::vector<QTreeWidgetItem*> items_;  // by row of these
  Shared<Overlay> overlay_;
  std::map<std::string, OverlayEntry> overlayValues_;
  int runsCount_ = 0;
  QStackedWidget* pages_ = nullptr;
  QTreeWidget* tree_ = nullptr;
  RooflinePlot* roofline_ = nullptr;
  QTableWidget* differences_ = nullptr;
  NameDelegate* differenceNames_ = nullptr;  // of its first column
  QPushButton* compare_ = nullptr;
  QLabel* title_ = nullptr;
  QCheckBox* bounds_ = nullptr;
};

}  // namespace dyn::ui
