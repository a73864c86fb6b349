#include "ui/views/values/picture_view.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "app/session/views/value_views.h"

namespace dyn::ui {

namespace {

QImage imageOf(const TensorView& t) {
  if (t.pictureAxes.empty()) return {};
  const auto channels = static_cast<size_t>(t.pictureChannels);
  QImage image(t.pictureColumns, t.pictureRows, channels == 4 ? QImage::Format_ARGB32 : QImage::Format_RGB32);
  for (int r = 0; r < t.pictureRows; ++r)
    for (int c = 0; c < t.pictureColumns; ++c) {
      const uint8_t* pixel =
          t.picture.data() +
          (static_cast<size_t>(r) * static_cast<size_t>(t.pictureColumns) + static_cast<size_t>(c)) *
              channels;
      const auto of = [&](size_t k) { return channels == 1 ? pixel[0] : pixel[k]; };
      image.setPixel(c, r, qRgba(of(0), of(1), of(2), channels == 4 ? pixel[3] : 255));
    }
  return image;
}

}  // namespace

PictureView::PictureView(QWidget* parent) : QWidget(parent) {
  setObjectName("tensorPicture");
  setAccessibleName("The tensor as a picture");
  setMinimumSize(140, 90);
}

void PictureView::setTensor(Shared<TensorView> tensor) {
  tensor_ = std::move(tensor);
  image_ = tensor_ ? imageOf(*tensor_) : QImage();
  setToolTip(caption());
  update();
}

QString PictureView::caption() const {
  if (image_.isNull()) return {};
  return QString("%1, %2 x %3, black %4, white %5")
      .arg(QString::fromStdString(tensor_->pictureAxes))
      .arg(image_.width())
      .arg(image_.height())
      .arg(tensor_->pictureFrom, 0, 'g', 4)
      .arg(tensor_->pictureTo, 0, 'g', 4);
}

// Pixels stay square; grown ones keep their edges, so that each element can be told.
void PictureView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  if (image_.isNull()) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(rect().adjusted(8, 0, -8, 0), Qt::AlignCenter | Qt::TextWordWrap,
                     tensor_ ? "No picture: a picture needs rows, columns, and 1, 3 or 4 channels"
                             : "the tensor as a picture");
    return;
  }
  const QRectF room = QRectF(rect()).adjusted(4, 4, -4, -6 - painter.fontMetrics().height());
  double scale = std::min(room.width() / image_.width(), room.height() / image_.height());
  if (scale > 2) scale = std::floor(scale);
  const QRectF at(room.left(), room.top(), image_.width() * scale, image_.height() * scale);
  painter.setRenderHint(QPainter::SmoothPixmapTransform, scale < 1);
  painter.drawImage(at, image_);
  painter.setPen(palette().color(QPalette::Mid));
  painter.drawRect(at);
  painter.setPen(palette().color(QPalette::Text));
  painter.drawText(QRectF(4, at.bottom() + 2, width() - 8, painter.fontMetrics().height()), Qt::AlignLeft,
                   painter.fontMetrics().elidedText(caption(), Qt::ElideRight, width() - 8));
}

}  // namespace dyn::ui
