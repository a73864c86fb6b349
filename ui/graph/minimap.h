// Minimap: the whole graph in the corner of the canvas, with a frame round what is in sight.
#pragma once

#include <QPainter>
#include <QPalette>
#include <QPixmap>

#include "ui/graph/graph_scene.h"

namespace dyn::ui {

class Minimap {
 public:
  void setScene(const GraphScene& scene, const QPalette& palette);
  QRectF place(QSize canvas) const;  // where it lies
  QPointF toScene(QPointF p, QSize canvas) const;
  void paint(QPainter& painter, QSize canvas, const QRectF& inSight) const;

 private:
  QPixmap picture_;
  QRectF bounds_;
  double scale_ = 1;
};

}  // namespace dyn::ui
