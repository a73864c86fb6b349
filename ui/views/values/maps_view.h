// MapsView: the maps of a tensor beside each other: feature maps of a convolution, attention maps of heads.
// One scale of colours for all, blue negative and red positive, so that they can be compared.
#pragma once

#include <QImage>
#include <QWidget>
#include <vector>

#include "app/session/views/value_views.h"
#include "app/session/views/view.h"

namespace dyn::ui {

// From zero to the greatest magnitude: -1 to 1.
QRgb signedColor(double part, bool dark);
constexpr QRgb kNotFiniteColor = 0xffbe00be;

class MapsView : public QWidget {
  Q_OBJECT
 public:
  explicit MapsView(QWidget* parent = nullptr);
  void setTensor(Shared<TensorView> tensor);
  int count() const;             // shown
  QRectF rectOf(int map) const;  // of a shown one
  // "maps 0 to 63 of 512 (axis 1), each 112 x 112 thinned to 64 x 64; the slice 0,64 shows those from 64 on"
  QString caption() const;

 Q_SIGNALS:
  void mapChosen(const QString& slice);  // "0,12"

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;

 private:
  QImage imageOf(int map, double most) const;
  double most() const;  // magnitude of all that are shown
  double captionHeight() const;
  int mapAt(QPointF at) const;  // -1: none
  QString sliceOf(int64_t map) const;
  Shared<TensorView> tensor_;
};

}  // namespace dyn::ui
