// Theme: measures, sizes and weights of letters, colours of the light and of the dark window.
//
// Everything painted takes its colours from here or from the application's palette (a dark one has a dark
// QPalette::Base), so that this is the only place that knows two themes. style_sheet.h makes the style sheet
// of all widgets from it.
#pragma once

#include <QFont>
#include <QPalette>
#include <QString>
#include <array>
#include <optional>
#include <span>

namespace dyn::ui {

enum class Theme : uint8_t { system, light, dark };

QString nameOf(Theme theme);  // "system"
std::optional<Theme> themeOf(const QString& name);

// --- measures, in pixels ---
constexpr int kSpaceTiny = 4, kSpaceSmall = 8, kSpace = 16, kSpaceLarge = 32;
constexpr int kRadius = 6, kRadiusSmall = 4;
constexpr int kIconSize = 18, kRailIconSize = 22;

// --- colours ---
struct ThemeColors {
  QColor window;     // behind panels, tool bar, status bar
  QColor base;       // of text, tables, the graph
  QColor alternate;  // every other row
  QColor raised;     // buttons, cards
  QColor hover;      // under the mouse
  QColor border;     // between panels; no text
  QColor outline;    // of fields and check boxes: 3 of what is behind
  QColor text, quiet;
  QColor bright;  // warnings
  QColor link;
  QColor accent, onAccent;    // the one button that stands out, marks, the focus
  QColor chosen, chosenText;  // the selected row
};
const ThemeColors& themeColors(bool dark);

// What an operator, a kernel or a bar of a plot is about. The colours differ for colour-blind eyes, too.
enum class Category : uint8_t {
  contraction,  // products, convolutions, attention
  elementwise,
  reduction,  // sums, normalisations
  movement,   // gathers, transposes, copies
  control,    // loops, branches, calls
  check,
  boundary,  // inputs and outputs
  other,
};
constexpr std::array<Category, 8> kCategories = {
    Category::contraction, Category::elementwise, Category::reduction, Category::movement,
    Category::control,     Category::check,       Category::boundary,  Category::other};
QString nameOf(Category category);
// Of an operator's class as the graph names it ("injective"), and of a kernel's name ("gemm", "softmax").
Category categoryOfClass(const QString& opClass);
Category categoryOfKernel(const QString& name);
// Strong: of bars, marks and borders, 3 of the background. Soft: of a fill under text.
QColor categoryColor(Category category, bool dark);
QColor categoryFill(Category category, bool dark);

// Of the share from 0 to 1, between stops that are equally far apart.
struct Rgb {
  double red, green, blue;
};
QColor gradient(std::span<const Rgb> stops, double share);

// How far apart two colours are for the eye, as WCAG 2 counts it: 1 to 21. Text needs 4.5 of what is behind
// it, a line that means something 3.
constexpr double kLegible = 4.5, kVisible = 3;
double contrastOf(const QColor& a, const QColor& b);
// Text on a fill of any colour: dark or light, whichever is read more easily. Of less weight: as pale as
// kLegible allows.
QColor legibleOn(const QColor& fill);
QColor quietOn(const QColor& fill);
// Of letters of a few pixels: black or white.
QColor strongestOn(const QColor& fill);

QPalette lightPalette();
QPalette darkPalette();
inline bool isDark(const QPalette& palette) { return palette.color(QPalette::Base).lightness() < 128; }

// Needs the QApplication; all windows are painted anew. `system` is what the desktop asks for, and goes on
// following it where Qt can tell (6.5 and later), or else the palette of the desktop's theme.
void applyTheme(Theme theme);

// --- letters ---
// Steps of size and weight over the desktop's font, which is the body's.
enum class TextStep : uint8_t { title, section, body, caption };
QFont fontOf(TextStep step);
double pointsOf(TextStep step, double bodyPoints);

// Letters larger or smaller than the desktop's, in steps of one point, for all windows.
constexpr int kMostTextSteps = 12, kLeastTextSteps = -4;
void applyTextSteps(int steps);
// Of code: JetBrains Mono or DejaVu Sans Mono where it is installed, as large as all letters.
QFont fixedFont();

}  // namespace dyn::ui
