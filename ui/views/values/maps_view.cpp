#include "ui/views/values/maps_view.h"

#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "ui/support/theme.h"

namespace dyn::ui {

namespace {

constexpr double kMapGap = 3, kMapSide = 4;

}  // namespace

QRgb signedColor(double part, bool dark) {
  const QColor zero = dark ? QColor(30, 32, 38) : QColor(250, 250, 250);
  const QColor end = part < 0 ? QColor(33, 102, 201) : QColor(205, 62, 38);
  const double t = std::min(1.0, std::abs(part));
  const auto mix = [t](int a, int b) { return static_cast<int>(a + t * (b - a)); };
  return qRgb(mix(zero.red(), end.red()), mix(zero.green(), end.green()), mix(zero.blue(), end.blue()));
}

MapsView::MapsView(QWidget* parent) : QWidget(parent) {
  setObjectName("tensorMaps");
  setAccessibleName("Maps of the tensor beside each other");
  setMouseTracking(true);
  setMinimumSize(140, 90);
}

void MapsView::setTensor(Shared<TensorView> tensor) {
  tensor_ = std::move(tensor);
  setAccessibleDescription(caption());
  update();
}

int MapsView::count() const {
  if (!tensor_ || tensor_->maps.empty()) return 0;
  const size_t cells = static_cast<size_t>(tensor_->mapRows) * static_cast<size_t>(tensor_->mapColumns);
  return static_cast<int>(tensor_->maps.size() / cells);
}

QString MapsView::sliceOf(int64_t map) const {
  QString slice;
  for (size_t i = 0; i + 1 < tensor_->slice.size(); ++i) slice += QString::number(tensor_->slice[i]) + ",";
  return slice + QString::number(map);
}

QString MapsView::caption() const {
  if (count() == 0) return {};
  const TensorView& t = *tensor_;
  const int64_t end = t.firstMap + count();
  QString text = QString("maps %1 to %2 of %3 (axis %4), each %5 x %6")
                     .arg(t.firstMap)
                     .arg(end - 1)
                     .arg(t.mapsCount)
                     .arg(t.shape.size() - 3)
                     .arg(t.sliceRows)
                     .arg(t.sliceColumns);
  if (t.mapRows < t.sliceRows || t.mapColumns < t.sliceColumns)
    text += QString(" thinned to %1 x %2").arg(t.mapRows).arg(t.mapColumns);
  if (end < t.mapsCount) text += QString("; the slice %1 shows those from %2 on").arg(sliceOf(end)).arg(end);
  return text;
}

double MapsView::captionHeight() const {
  const QRect room(0, 0, std::max(40, width() - 8), 1000);
  return fontMetrics().boundingRect(room, Qt::TextWordWrap, caption()).height() + 4;
}

// The largest tiles with which all have room.
QRectF MapsView::rectOf(int map) const {
  const int all = count();
  if (map < 0 || map >= all) return {};
  const double wide = width() - 2 * kMapSide, high = height() - 2 * kMapSide - captionHeight();
  const double ratio = static_cast<double>(tensor_->mapColumns) / tensor_->mapRows;
  double best = 0;
  int columns = 1;
  for (int c = 1; c <= all; ++c) {
    const int rows = (all + c - 1) / c;
    const double side =
        std::min((wide - (c - 1) * kMapGap) / c, ((high - (rows - 1) * kMapGap) / rows) * ratio);
    if (side <= best) continue;
    best = side;
    columns = c;
  }
  const double tileWidth = std::max(2.0, best), tileHeight = std::max(2.0, best / ratio);
  return QRectF(kMapSide + map % columns * (tileWidth + kMapGap),
                kMapSide + map / columns * (tileHeight + kMapGap), tileWidth, tileHeight);
}

double MapsView::most() const {
  double most = 0;
  for (const float x : tensor_->maps)
    if (std::isfinite(x)) most = std::max(most, static_cast<double>(std::abs(x)));
  return most;
}

QImage MapsView::imageOf(int map, double most) const {
  QImage image(tensor_->mapColumns, tensor_->mapRows, QImage::Format_RGB32);
  const bool dark = isDark(palette());
  const size_t cells = static_cast<size_t>(image.width()) * static_cast<size_t>(image.height());
  const float* cell = tensor_->maps.data() + static_cast<size_t>(map) * cells;
  for (int r = 0; r < image.height(); ++r)
    for (int c = 0; c < image.width(); ++c, ++cell)
      image.setPixel(c, r,
                     std::isfinite(*cell) ? signedColor(most > 0 ? *cell / most : 0, dark) : kNotFiniteColor);
  return image;
}

void MapsView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  const int all = count();
  if (all == 0) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(rect().adjusted(8, 0, -8, 0), Qt::AlignCenter | Qt::TextWordWrap,
                     tensor_ ? "No maps: a tensor of at least three axes has them, one for each index of the "
                               "axis before the last two"
                             : "feature maps and attention maps of a value");
    return;
  }
  const double most = this->most();
  for (int map = 0; map < all; ++map) {
    const QRectF at = rectOf(map);
    painter.drawImage(at, imageOf(map, most));
    painter.setPen(palette().color(QPalette::Mid));
    painter.drawRect(at);
  }
  painter.setPen(palette().color(QPalette::Text));
  const double high = captionHeight();
  painter.drawText(QRectF(4, height() - high, width() - 8, high), Qt::AlignLeft | Qt::TextWordWrap,
                   caption());
}

int MapsView::mapAt(QPointF at) const {
  for (int map = 0; map < count(); ++map)
    if (rectOf(map).contains(at)) return map;
  return -1;
}

void MapsView::mousePressEvent(QMouseEvent* event) {
  if (const int map = mapAt(event->position()); map >= 0) Q_EMIT mapChosen(sliceOf(tensor_->firstMap + map));
}

void MapsView::mouseMoveEvent(QMouseEvent* event) {
  const int map = mapAt(event->position());
  if (map < 0) return QToolTip::hideText();
  const size_t cells = static_cast<size_t>(tensor_->mapRows) * static_cast<size_t>(tensor_->mapColumns);
  const float* cell = tensor_->maps.data() + static_cast<size_t>(map) * cells;
  const auto [least, largest] = std::minmax_element(cell, cell + cells);
  QToolTip::showText(event->globalPosition().toPoint(),
                     QString("map %1: %2 to %3\nA click shows it alone")
                         .arg(tensor_->firstMap + map)
                         .arg(static_cast<double>(*least), 0, 'g', 4)
                         .arg(static_cast<double>(*largest), 0, 'g', 4),
                     this);
}

}  // namespace dyn::ui
