#include "ui/graph/minimap.h"

#include <algorithm>

namespace dyn::ui {

namespace {
constexpr double kMostMapWidth = 170, kMostHeight = 130, kMapMargin = 10;
}

void Minimap::setScene(const GraphScene& scene, const QPalette& palette) {
  bounds_ = scene.bounds.adjusted(-20, -20, 20, 20);
  scale_ =
      std::min(kMostMapWidth / std::max(1.0, bounds_.width()), kMostHeight / std::max(1.0, bounds_.height()));
  const QSize size((bounds_.size() * scale_).toSize().expandedTo(QSize(8, 8)));
  picture_ = QPixmap(size);
  picture_.fill(palette.color(QPalette::Window));
  QPainter painter(&picture_);
  painter.scale(scale_, scale_);
  painter.translate(-bounds_.topLeft());
  QColor box = palette.color(QPalette::Text), frame = box;
  box.setAlpha(150);
  frame.setAlpha(28);
  const double least = 1 / scale_;  // a pixel at least
  for (const SceneBox& b : scene.boxes)
    painter.fillRect(QRectF(b.rect.topLeft(), b.rect.size().expandedTo(QSizeF(least, least))),
                     b.frame ? frame : box);
}

QRectF Minimap::place(QSize canvas) const {
  return QRectF(QPointF(canvas.width() - picture_.width() - kMapMargin,
                        canvas.height() - picture_.height() - kMapMargin),
                QSizeF(picture_.size()));
}

QPointF Minimap::toScene(QPointF p, QSize canvas) const {
  return (p - place(canvas).topLeft()) / scale_ + bounds_.topLeft();
}

void Minimap::paint(QPainter& painter, QSize canvas, const QRectF& inSight) const {
  const QRectF here = place(canvas);
  painter.setOpacity(0.88);
  painter.drawPixmap(here.topLeft(), picture_);
  painter.setOpacity(1);
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(QColor(128, 138, 156), 1));
  painter.drawRect(here.adjusted(-0.5, -0.5, 0.5, 0.5));
  const QRectF shown((inSight.topLeft() - bounds_.topLeft()) * scale_ + here.topLeft(),
                     inSight.size() * scale_);
  painter.setPen(QPen(QColor(40, 110, 220), 1.5));
  painter.drawRect(shown.intersected(here));
}

}  // namespace dyn::ui
