// The style sheet of all widgets, made from the theme: flat panels, slim tabs and scroll bars, one button
// that stands out, a focus that is seen.
#pragma once

#include <QString>

namespace dyn::ui {

// For letters of that size; `caption` is one step below.
QString styleSheet(bool dark, double bodyPoints);
// Of the application, when it is not there already.
void applyStyleSheet(bool dark);

}  // namespace dyn::ui
