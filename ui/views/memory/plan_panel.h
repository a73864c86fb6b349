// PlanPanel: the memory plan as a picture for one function at a time, its sums, and what its peak consists
// of. A plan can be kept: it stays beside the ones that follow, on one scale, to compare two shapes or two
// pipelines.
#pragma once

#include <QWidget>

#include "app/session/views/graph_views.h"
#include "app/session/views/memory_views.h"
#include "app/session/views/node_id.h"
#include "app/session/views/view.h"
#include "ui/views/memory/plan_canvas.h"

class QComboBox;
class QLabel;
class QPushButton;
class QTextBrowser;

namespace dyn::ui {

class PlanPanel : public QWidget {
  Q_OBJECT
 public:
  explicit PlanPanel(QWidget* parent = nullptr);
  void setPlan(Shared<PlanView> plan);     // null: none yet
  void setPipeline(const QString& edits);  // that the next plan is of; "": the standard one
  // Buffers have the colour of the operation that makes them, as in this graph and those before it.
  void setGraph(const GraphView& graph);
  void clear();  // another model: what was kept goes, too
  PlanCanvas* canvas() const { return canvas_; }
  QString summary() const;
  QString peakText() const;  // what the peak consists of

 private:
  void showPeak();
  void keep(bool on);
  void share();

  std::shared_ptr<NodeCategories> categories_ = std::make_shared<NodeCategories>();
  Shared<PlanView> plan_, keptPlan_;
  QString pipeline_;
  QComboBox* functions_ = nullptr;
  QLabel* summary_ = nullptr;
  PlanCanvas* canvas_ = nullptr;
  PlanCanvas* kept_ = nullptr;
  QWidget* keptSide_ = nullptr;
  QLabel* nowTitle_ = nullptr;
  QLabel* keptTitle_ = nullptr;
  QPushButton* keep_ = nullptr;
  QTextBrowser* peak_ = nullptr;
};

}  // namespace dyn::ui
