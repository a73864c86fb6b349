// What is grey says why, in its tooltip.
#pragma once

#include <QString>
#include <QVariant>

namespace dyn::ui {

// Of an action or a widget: "" restores its own tooltip.
template <typename Control>
void sayWhyGrey(Control* control, const QString& why) {
  constexpr const char* kWhy = "whyGrey";
  constexpr const char* kOwnTip = "ownTip";
  const QString before = control->property(kWhy).toString();
  if (why == before) return;
  if (before.isEmpty()) control->setProperty(kOwnTip, control->toolTip());
  const QString own = control->property(kOwnTip).toString();
  control->setProperty(kWhy, why);
  control->setToolTip(why.isEmpty() ? own : own.isEmpty() ? why : own + "\n" + why);
}

// Enabled unless there is a reason not to be.
template <typename Control>
void enableUnless(Control* control, const QString& why) {
  control->setEnabled(why.isEmpty());
  sayWhyGrey(control, why);
}

template <typename Control>
QString whyGrey(const Control* control) {
  return control->property("whyGrey").toString();
}

}  // namespace dyn::ui
