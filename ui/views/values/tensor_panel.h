// TensorPanel: a tensor to be looked at: any value of the model at the step that is shown, an input or output
// of the last run, a bound value. Statistics and histogram over all of it, one slice as a heat map or a
// picture, its numbers.
//
// The panel asks by signal (command tensor) and is given the answer.
#pragma once

#include <QWidget>

#include "app/session/session.h"
#include "app/session/views/value_views.h"

class QCheckBox;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QSpinBox;
class QStackedWidget;

namespace dyn::ui {

class PictureView;

// One slice: blue is negative, red positive, white or black zero, hatched what is no number.
class HeatMap : public QWidget {
  Q_OBJECT
 public:
  explicit HeatMap(QWidget* parent = nullptr);
  void setTensor(Shared<TensorView> tensor);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;

 private:
  QRectF area() const;
  QImage picture() const;
  Shared<TensorView> tensor_;
};

class Histogram : public QWidget {
  Q_OBJECT
 public:
  explicit Histogram(QWidget* parent = nullptr);
  void setTensor(Shared<TensorView> tensor);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Shared<TensorView> tensor_;
};

class TensorPanel : public QWidget {
  Q_OBJECT
 public:
  explicit TensorPanel(QWidget* parent = nullptr);

  void setStep(int step) { step_ = step; }  // of which values are asked for
  void setName(const QString& name);        // proposed: of the operation that is chosen
  void clear();
  bool take(const Outcome& outcome);  // true when it answers this panel
  QString statistics() const;

 Q_SIGNALS:
  void asked(const Command& command);

 private:
  void ask(const QString& file);
  void show(Shared<TensorView> tensor);

  Shared<TensorView> tensor_;
  int step_ = -1;
  QLineEdit* name_ = nullptr;
  QLineEdit* slice_ = nullptr;
  QLabel* statistics_ = nullptr;
  Histogram* histogram_ = nullptr;
  HeatMap* heat_ = nullptr;
  PictureView* picture_ = nullptr;
  QStackedWidget* pages_ = nullptr;
  QCheckBox* asPicture_ = nullptr;
  QPlainTextEdit* numbers_ = nullptr;
};

}  // namespace dyn::ui
