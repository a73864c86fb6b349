// TensorPanel: a tensor to be looked at: any value of the model at the step that is shown, an input or output
// of the last run, a bound value. Statistics and histogram over all of it, one slice as a heat map or a
// picture, its numbers.
//
// The panel asks by signal (command tensor) and is given the answer.
#pragma once

#include <QWidget>
#include <optional>
#include <utility>

#include "app/session/session.h"
#include "app/session/views/value_views.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;
class QSpinBox;
class QStackedWidget;

namespace dyn::ui {

class MapsView;
class PictureView;

// One slice: blue is negative, red positive, white or black zero, hatched what is no number.
class HeatMap : public QWidget {
  Q_OBJECT
 public:
  explicit HeatMap(QWidget* parent = nullptr);
  void setTensor(Shared<TensorView> tensor);
  // The element of the cell that was chosen by a click or with the arrow keys, "0,3,17"; "": none.
  QString chosenElement() const;
  QRectF rectOf(int row, int column) const;  // of a cell

 Q_SIGNALS:
  void elementChosen();
  void elementActivated();  // a double click, or Enter

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  QRectF area() const;
  QImage picture() const;
  void choose(int row, int column);
  std::optional<std::pair<int, int>> cellAt(QPointF at) const;
  Shared<TensorView> tensor_;
  int row_ = -1, column_ = -1;  // chosen
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
  void lookAt(const QString& name);
  void clear();
  bool take(const Outcome& outcome);      // true when it answers this panel
  QString statistics() const;             // as plain text
  void setWhyNot(const QString& whyNot);  // "" or why nothing can be asked about the last run

 Q_SIGNALS:
  void asked(const Command& command);
  void whyAsked(const QString& question);  // "y[0,3]", "y.1", "y[nan]": of the last run

 private:
  void ask(const QString& file);
  void show(Shared<TensorView> tensor);
  void updateWhy();
  void askWhy(const QString& link);

  Shared<TensorView> tensor_;
  int step_ = -1;
  QString whyNot_;
  QLineEdit* name_ = nullptr;
  QLineEdit* slice_ = nullptr;
  QLabel* statistics_ = nullptr;
  Histogram* histogram_ = nullptr;
  HeatMap* heat_ = nullptr;
  MapsView* maps_ = nullptr;
  PictureView* picture_ = nullptr;
  QStackedWidget* pages_ = nullptr;
  QComboBox* as_ = nullptr;
  QPlainTextEdit* numbers_ = nullptr;
  QPushButton* why_ = nullptr;
};

}  // namespace dyn::ui
