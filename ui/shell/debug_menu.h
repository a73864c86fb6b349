// DebugMenu: what can be done with a run that is stepped through, as actions; each is a command of the
// session.
#pragma once

#include <QObject>
#include <functional>

#include "app/session/command.h"

class QAction;
class QMenu;

namespace dyn::ui {

class DebugMenu : public QObject {
  Q_OBJECT
 public:
  // `start` makes the command that begins a run; `chosen` names the chosen operation, "" without one.
  DebugMenu(QMenu* menu, std::function<Command()> start, std::function<QString()> chosen);

  // `whyNot`: a run can begin, or why not. A run is stepped while it stands.
  void setState(const QString& whyNot, bool isStopped);
  QList<QAction*> steps() const { return steps_; }  // for buttons

 Q_SIGNALS:
  void asked(const Command& command);

 private:
  bool stopped_ = false;
  QAction* go_ = nullptr;
  QAction* break_ = nullptr;
  QAction* delete_ = nullptr;
  QList<QAction*> steps_, whileStopped_;
};

}  // namespace dyn::ui
