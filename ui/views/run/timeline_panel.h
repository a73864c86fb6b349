// TimelinePanel: the timeline of the last run; of two runs that are compared, both, one below the other on
// one scale.
#pragma once

#include <QWidget>

#include "app/engine/run/run_result.h"
#include "app/session/views/run_views.h"
#include "app/session/views/view.h"
#include "ui/views/run/timeline_canvas.h"

class QLabel;
class QStackedWidget;

namespace dyn::ui {

class TimelinePanel : public QWidget {
  Q_OBJECT
 public:
  explicit TimelinePanel(QWidget* parent = nullptr);

  TimelineCanvas* canvas() const { return canvas_; }  // of the last run
  // Null runs: no comparison. A run whose timeline is not kept is null: then the other is not shown either,
  // and why is said.
  void compare(Shared<RunsView> runs, Shared<RunResult> first, Shared<RunResult> second);
  bool isComparing() const;

 Q_SIGNALS:
  void placeChosen(const QString& place);

 private:
  QStackedWidget* pages_;
  QLabel *note_, *firstTitle_, *secondTitle_;
  TimelineCanvas *canvas_, *first_, *second_;
};

}  // namespace dyn::ui
