// Theme: light or dark, chosen or as the desktop has it, and the size of letters.
//
// Everything painted takes its colours from the application's palette (a dark one has a dark QPalette::Base),
// so that this is the only place that knows two themes.
#pragma once

#include <QFont>
#include <QPalette>
#include <QString>
#include <optional>

namespace dyn::ui {

enum class Theme : uint8_t { system, light, dark };

QString nameOf(Theme theme);  // "system"
std::optional<Theme> themeOf(const QString& name);

QPalette lightPalette();
QPalette darkPalette();
inline bool isDark(const QPalette& palette) { return palette.color(QPalette::Base).lightness() < 128; }

// How far apart two colours are for the eye, as WCAG 2 counts it: 1 to 21. Text needs 4.5 of what is behind
// it.
constexpr double kLegible = 4.5;
double contrastOf(const QColor& a, const QColor& b);
// Text on a fill of any colour: dark or light, whichever is read more easily. Of less weight: as pale as
// kLegible allows.
QColor legibleOn(const QColor& fill);
QColor quietOn(const QColor& fill);

// Needs the QApplication; all windows are painted anew. `system` is what the desktop asks for, and goes on
// following it where Qt can tell (6.5 and later), or else the palette of the desktop's theme.
void applyTheme(Theme theme);

// Letters larger or smaller than the desktop's, in steps of one point, for all windows.
constexpr int kMostTextSteps = 12, kLeastTextSteps = -4;
void applyTextSteps(int steps);
// Of one width, as large as the application's letters.
QFont fixedFont();

}  // namespace dyn::ui
