#include "ui/shell/debug_menu.h"

#include <QAction>
#include <QMenu>

namespace dyn::ui {

DebugMenu::DebugMenu(QMenu* menu, std::function<Command()> start, std::function<QString()> chosen)
    : QObject(menu) {
  const auto action = [&](const QString& text, const QString& shown, const char* keys, auto&& what) {
    QAction* a = menu->addAction(text);
    a->setIconText(shown);
    a->setShortcut(QKeySequence(keys));
    a->setToolTip(text + " (" + keys + ")");
    connect(a, &QAction::triggered, this, what);
    return a;
  };
  const auto step = [&](const QString& text, const QString& shown, const char* keys, CommandId id) {
    QAction* a = action(text, shown, keys, [this, id] { Q_EMIT asked(Command::of(id)); });
    whileStopped_ << a;
    return a;
  };
  go_ = action("Start stepping", "Start", "F5",
               [this, start] { Q_EMIT asked(stopped_ ? Command::of(CommandId::continue_) : start()); });
  steps_ << go_ << step("Step over", "Over", "F10", CommandId::nexti)
         << step("Step into", "Into", "F11", CommandId::stepi)
         << step("Step out", "Out", "Shift+F11", CommandId::finish)
         << step("Next operation", "Next op", "Ctrl+F10", CommandId::next)
         << step("End the run", "End", "Shift+F5", CommandId::kill);
  menu->addSeparator();
  break_ = action("Break at the chosen operation", "Break", "F9", [this, chosen] {
    if (const QString name = chosen(); !name.isEmpty())
      Q_EMIT asked(Command::of(CommandId::break_).add("rest", name.toStdString()));
  });
  delete_ = action("Delete all breakpoints", "Delete", "Ctrl+Shift+F9",
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
