// OverviewPage: the first page of a model, in plain words: what varies from run to run, how much it weighs,
// what it is made of, what is checked at run time, what the compiler did. Each line has a link to the view
// that shows more of it.
#pragma once

#include <QTextBrowser>
#include <map>

#include "app/engine/model/model_info.h"
#include "app/engine/run/run_result.h"
#include "app/session/views/memory_views.h"
#include "app/session/views/pass_views.h"
#include "app/session/views/problem_views.h"
#include "app/session/views/view.h"
#include "app/session/views/why_views.h"

namespace dyn::ui {

class OverviewPage : public QTextBrowser {
  Q_OBJECT
 public:
  explicit OverviewPage(QWidget* parent = nullptr);

  // null: no model. What the page says of the model before is forgotten.
  void setModel(Shared<ModelInfo> model);
  void setInfo(Shared<ModelInfo> model);  // the same one, with more known of it
  void setDims(const DimsTable& dims);
  void setPasses(Shared<PassList> passes);
  void setProblems(const ProblemList& problems);
  void setRun(Shared<RunResult> run);
  void setPlan(Shared<PlanView> plan);  // for its peak
  void setSizes(DimValues sizes);       // of the Run panel

 Q_SIGNALS:
  // "why" and "batch", "find" and "op:Softmax", "mode" and "Sizes", "pass" and "fuse", "panel" and
  // "Problems", "run" and "", "plan" and "".
  void linkChosen(const QString& what, const QString& which);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void compose();

  Shared<ModelInfo> model_;
  Shared<PassList> passes_;
  Shared<RunResult> run_;
  Shared<PlanView> plan_;
  DimValues sizes_;
  DimsTable dims_;
  ProblemList problems_;
};

}  // namespace dyn::ui
