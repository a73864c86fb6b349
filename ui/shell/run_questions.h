// RunQuestions: when "why?" of the last run can be asked, and where: the panel, two actions, and a button in
// the status bar after a run that failed.
#pragma once

#include <QObject>

#include "app/session/session.h"
#include "ui/views/run/causes_panel.h"

class QAction;
class QToolButton;

namespace dyn::ui {

class RunQuestions : public QObject {
  Q_OBJECT
 public:
  explicit RunQuestions(QObject* parent);

  CausesPanel* panel() const { return panel_; }
  QList<QAction*> actions() const { return {why_, failure_}; }
  QToolButton* button() const { return button_; }  // hidden unless the last run failed
  bool failed() const { return !fault_.isEmpty(); }
  // Why the run of the model can not be asked about, "" where it can.
  QString whyNot() const;

  void forget();                              // another model
  void setModelState(const QString& whyNot);  // "" or why there are no runs
  bool take(const Outcome& outcome);          // true when it is an answer
  void ask(const QString& question);
  QString failureHtml() const;  // for the Run panel

 Q_SIGNALS:
  void panelWanted();
  void changed();

 private:
  void update();
  CausesPanel* panel_ = nullptr;
  QAction* why_ = nullptr;
  QAction* failure_ = nullptr;
  QToolButton* button_ = nullptr;
  QString noModel_ = "Open a model first.";
  QString fault_;  // of the last run
  bool hasRun_ = false;
};

}  // namespace dyn::ui
