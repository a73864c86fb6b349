// PictureView: a tensor as a picture, where its axes are rows, columns and 1, 3 or 4 channels.
#pragma once

#include <QImage>
#include <QWidget>

#include "app/session/views/value_views.h"
#include "app/session/views/view.h"

namespace dyn::ui {

class PictureView : public QWidget {
  Q_OBJECT
 public:
  explicit PictureView(QWidget* parent = nullptr);
  void setTensor(Shared<TensorView> tensor);
  const QImage& image() const { return image_; }  // null: absent
  QString caption() const;                        // "NCHW, 48 x 32, black 0, white 1"

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Shared<TensorView> tensor_;
  QImage image_;
};

}  // namespace dyn::ui
