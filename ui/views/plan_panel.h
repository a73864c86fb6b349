// PlanPanel: the memory plan as a picture for one function at a time, and its sums.
#pragma once

#include <QWidget>

#include "ui/views/plan_canvas.h"

class QComboBox;
class QLabel;

namespace dyn::ui {

class PlanPanel : public QWidget {
  Q_OBJECT
 public:
  explicit PlanPanel(QWidget* parent = nullptr);
  void setPlan(Shared<PlanView> plan);  // null: none
  PlanCanvas* canvas() const { return canvas_; }
  QString summary() const;

 private:
  Shared<PlanView> plan_;
  QComboBox* functions_ = nullptr;
  QLabel* summary_ = nullptr;
  PlanCanvas* canvas_ = nullptr;
};

}  // namespace dyn::ui
