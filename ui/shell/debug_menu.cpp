#include "ui/shell/debug_menu.h"

#include <QAction>
#include <QMenu>

#include "ui/support/icons.h"

namespace dyn::ui {

DebugMenu::DebugMenu(QMenu* menu, std::function<Command()> start, std::function<QString()> chosen)
    : QObject(menu) {
  const auto action = [&](const QString& text, const QString& shown, const char* keys, const char* drawing,
                          auto&& what) {
    QAction* a = menu->addAction(icon(drawing), text);
    a->setIconText(shown);
    a->setShortcut(QKeySequence(keys));
    a->setToolTip(text + " (" + keys + ")");
    connect(a, &QAction::triggered, this, what);
    return a;
  };
  const auto step = [&](const QString& text, const QString& shown, const char* keys, const char* drawing,
                        CommandId id) {
    QAction* a = action(text, shown, keys, drawing, [this, id] { Q_EMIT asked(Command::of(id)); });
    whileStopped_ << a;
    return a;
  };
  go_ = action("Start stepping", "Start", "F5", "actions/run",
               [this, start] { Q_EMIT asked(stopped_ ? Command::of(CommandId::continue_) : start()); });
  steps_ << go_ << step("Step over", "Over", "F10", "actions/step_over", CommandId::nexti)
         << step("Step into", "Into", "F11", "actions/step_into", CommandId::stepi)
         << step("Step out", "Out", "Shift+F11", "actions/step_out", CommandId::finish)
         << step("Next operation", "Next op", "Ctrl+F10", "actions/next_operation", CommandId::next)
         << step("End the run", "End", "Shift+F5", "actions/cancel", CommandId::kill);
  menu->addSeparator();
  break_ = action("Break at the chosen operation", "Break", "F9", "actions/breakpoint", [this, chosen] {
    if (const QString name = chosen(); !name.isEmpty())
      Q_EMIT asked(Command::of(CommandId::break_).add("rest", name.toStdString()));
  });
  delete_ = action("Delete all breakpoints", "Delete", "Ctrl+Shift+F9", "actions/close",
                   [this] { Q_EMIT asked(Command::of(CommandId::delete_)); });
  setState(false, false);
}

void DebugMenu::setState(bool canRun, bool isStopped) {
  stopped_ = isStopped;
  go_->setText(stopped_ ? "Continue" : "Start stepping");
  go_->setIconText(stopped_ ? "Continue" : "Start");
  go_->setToolTip(go_->text() + " (F5)");
  go_->setEnabled(canRun);
  break_->setEnabled(canRun);
  delete_->setEnabled(canRun);
  for (QAction* one : whileStopped_) one->setEnabled(stopped_);
}

}  // namespace dyn::ui
