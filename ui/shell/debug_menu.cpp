#include "ui/shell/debug_menu.h"

#include <QAction>
#include <QMenu>

#include "ui/support/icons.h"
#include "ui/support/why_grey.h"

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
  setState("Open a model first.", false);
}

void DebugMenu::setState(const QString& whyNot, bool isStopped) {
  stopped_ = isStopped;
  sayWhyGrey(go_, {});
  go_->setText(stopped_ ? "Continue" : "Start stepping");
  go_->setIconText(stopped_ ? "Continue" : "Start");
  go_->setToolTip(stopped_ ? "Go on to the next breakpoint, or to the end (F5)"
                           : "Start a run that stops at the first breakpoint; without any, at once (F5)");
  for (QAction* one : {go_, break_, delete_}) enableUnless(one, whyNot);
  for (QAction* one : whileStopped_) enableUnless(one, stopped_ ? "" : "No run is stopped: F5 starts one.");
}

}  // namespace dyn::ui
