// FlameCanvas: where the time of a run went, by module: the whole run at the top, below each bar its parts,
// as wide as their time.
//
// Hover says what a bar is, a click chooses its place in the graph, a double click (Enter) makes a bar as
// wide as the view, Backspace and a click on a bar above go back out. Arrows walk the bars.
#pragma once

#include <QWidget>
#include <vector>

#include "app/session/views/run_views.h"
#include "app/session/views/view.h"

namespace dyn::ui {

class FlameCanvas : public QWidget {
  Q_OBJECT
 public:
  explicit FlameCanvas(QWidget* parent = nullptr);

  void setPlaces(Shared<PlaceTree> places);  // null: none

  // The bars that are seen: row 0 is the outermost. The first one is the whole run, or what was made wide.
  struct Bar {
    int row = -1;  // of PlaceTree::rows; -1: the whole run
    int depth = 0;
    double begin = 0, end = 1;  // parts of the width
  };
  const std::vector<Bar>& bars() const { return bars_; }
  QRectF rectOf(const Bar& bar) const;
  int root() const { return root_; }  // of PlaceTree::rows; -1: the whole run

 Q_SIGNALS:
  void placeChosen(const QString& place);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void leaveEvent(QEvent* event) override;

 private:
  void layOut();
  void setRoot(int row);
  void choose(int bar);
  int barAt(QPointF p) const;
  QString labelOf(int row) const;
  int64_t timeOf(int row) const;
  QString describe(const Bar& bar) const;

  Shared<PlaceTree> places_;
  std::vector<std::vector<int>> children_;  // of each row, and of the run at the end
  std::vector<Bar> bars_;
  int root_ = -1, hovered_ = -1, chosen_ = -1;
};

}  // namespace dyn::ui
