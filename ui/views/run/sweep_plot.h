// SweepPlot: time and peak over one dim. Sizes that take the same versions stand on bands of one colour, runs
// that were measured are points on top, and a line is the limit of memory: where it meets the peak is the
// largest size within it.
//
// The line is dragged with the mouse (Up and Down with the keyboard); limitChosen says where it was let go. A
// click beside it chooses the size under the pointer.
#pragma once

#include <QWidget>

#include "app/session/views/predict_views.h"
#include "app/session/views/view.h"

namespace dyn::ui {

class SweepPlot : public QWidget {
  Q_OBJECT
 public:
  explicit SweepPlot(QWidget* parent = nullptr);

  void setSweep(Shared<SweepView> sweep);  // null: none
  void setSize(qint64 size);               // of the dim, as chosen now: an upright line
  void setAbsence(const QString& why);     // shown in place of a sweep
  // What the session answered for the limit.
  void setAnswer(const QString& text);
  QString answer() const { return answer_; }
  const Shared<SweepView>& sweep() const { return sweep_; }
  std::optional<qint64> limitBytes() const { return limitBytes_; }
  QPointF limitHandle() const;  // a point of the line
  qint64 sizeAt(double x) const;

 Q_SIGNALS:
  void limitChosen(qint64 bytes);
  void sizeChosen(qint64 size);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  QRectF frame() const;
  double xOf(double size) const;
  double yOfBytes(double bytes) const;
  double yOfTime(double ns) const;
  double bytesAt(double y) const;
  void paintBands(QPainter& painter) const;
  void paintAxes(QPainter& painter) const;
  void paintCurves(QPainter& painter) const;
  void paintLimit(QPainter& painter) const;
  QString describe(double x) const;

  Shared<SweepView> sweep_;
  double mostBytes_ = 1, mostNs_ = 1;
  std::optional<qint64> limitBytes_, size_;
  QString answer_, absence_;
  bool dragging_ = false;
};

}  // namespace dyn::ui
