// PlanPanel: the memory plan as a picture for one function at a time, its sums, and what its peak consists
// of. A plan can be kept: it stays below the ones that follow, to compare two shapes.
#pragma once

#include <QWidget>

#include "ui/views/plan_canvas.h"

class QComboBox;
class QLabel;
class QPushButton;
class QTextBrowser;

namespace dyn::ui {

class PlanPanel : public QWidget {
  Q_OBJECT
 public:
  explicit PlanPanel(QWidget* parent = nullptr);
  void setPlan(Shared<PlanView> plan);  // null: none
  PlanCanvas* canvas() const { return canvas_; }
  QString summary() const;
  QString peakText() const;  // what the peak consists of

 private:
  void showPeak();
  void keep(bool on);

  Shared<PlanView> plan_;
  QComboBox* functions_ = nullptr;
  QLabel* summary_ = nullptr;
  PlanCanvas* canvas_ = nullptr;
  PlanCanvas* kept_ = nullptr;
  QLabel* keptTitle_ = nullptr;
  QPushButton* keep_ = nullptr;
  QTextBrowser* peak_ = nullptr;
};

}  // namespace dyn::ui
