// RunCards: what a run comes to, in a row above the graph: time, slowest kernel, peak of memory, arithmetic
// and memory traffic against the bounds of the machine, kernels. Each card leads to its detail.
#pragma once

#include <QList>
#include <QString>
#include <QWidget>

#include "app/engine/run/run_result.h"
#include "app/session/views/view.h"

namespace dyn::ui {

struct RunCard {
  QString name, title, value, note, tip;
  QString link, target;  // as of MainWindow::followLink
};

// Of a run with a profile; {} without one. A share of the bound is there once the machine was measured. What
// is beyond its bound has no figure (bounded_rate.h).
QList<RunCard> runCards(const RunResult& run);

class RunCards : public QWidget {
  Q_OBJECT
 public:
  explicit RunCards(QWidget* parent = nullptr);
  void setRun(Shared<RunResult> run);  // null: none
  bool hasCards() const { return !cards_.isEmpty(); }

 Q_SIGNALS:
  void linkChosen(const QString& link, const QString& target);

 private:
  QList<RunCard> cards_;
};

}  // namespace dyn::ui
