#include "ui/support/theme.h"

#include <QApplication>
#include <QFontDatabase>
#include <QStyleHints>
#include <algorithm>
#include <array>
#include <cmath>

#include "ui/support/style_sheet.h"

namespace dyn::ui {

namespace {

constexpr std::array<const char*, 3> kNames = {"system", "light", "dark"};

constexpr const char* kCodeFonts[] = {"JetBrains Mono", "DejaVu Sans Mono"};

QPalette paletteOf(const ThemeColors& colors) {
  QPalette palette(colors.raised, colors.window);
  palette.setColor(QPalette::Base, colors.base);
  palette.setColor(QPalette::AlternateBase, colors.alternate);
  palette.setColor(QPalette::ToolTipBase, colors.raised);
  palette.setColor(QPalette::BrightText, colors.bright);
  palette.setColor(QPalette::PlaceholderText, colors.quiet);
  palette.setColor(QPalette::Link, colors.link);
  palette.setColor(QPalette::LinkVisited, colors.link);
  palette.setColor(QPalette::Highlight, colors.chosen);
  palette.setColor(QPalette::HighlightedText, colors.chosenText);
  for (const QPalette::ColorRole role :
       {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::ToolTipText}) {
    palette.setColor(role, colors.text);
    palette.setColor(QPalette::Disabled, role, colors.quiet);
  }
  return palette;
}

// What Qt began with: of the desktop.
const QPalette& firstPalette() {
  static const QPalette palette = QApplication::palette();
  return palette;
}

bool systemIsDark() {
#if QT_VERSION >= QT_VERSION_CHECK(6, 5, 0)
  return QGuiApplication::styleHints()->colorScheme() == Qt::ColorScheme::Dark;
#else
  return isDark(firstPalette());
#endif
}

// Of one channel, as light.
double linear(double part) { return part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4); }

double luminance(const QColor& color) {
  return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
}

QColor mixed(const QColor& from, const QColor& to, double part) {
  const auto mix = [part](int a, int b) { return static_cast<int>(std::lround(a + part * (b - a))); };
  return QColor(mix(from.red(), to.red()), mix(from.green(), to.green()), mix(from.blue(), to.blue()));
}

void showPalette(bool dark) {
  QApplication::setPalette(dark ? darkPalette() : lightPalette());
  applyStyleSheet(dark);
}

void showSystem() { showPalette(systemIsDark()); }

}  // namespace

QString nameOf(Theme theme) { return kNames[static_cast<size_t>(theme)]; }

std::optional<Theme> themeOf(const QString& name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (name == kNames[i]) return static_cast<Theme>(i);
  return std::nullopt;
}

QColor gradient(std::span<const Rgb> stops, double share) {
  const double at = std::clamp(share, 0.0, 1.0) * static_cast<double>(stops.size() - 1);
  const size_t i = std::min(stops.size() - 2, static_cast<size_t>(at));
  const double f = at - static_cast<double>(i);
  const auto mix = [f](double a, double b) { return static_cast<int>(a * (1 - f) + b * f); };
  const Rgb &from = stops[i], &to = stops[i + 1];
  return QColor(mix(from.red, to.red), mix(from.green, to.green), mix(from.blue, to.blue));
}

double contrastOf(const QColor& a, const QColor& b) {
  const auto [darker, lighter] = std::minmax({luminance(a), luminance(b)});  // by value: both are temporaries
  return (lighter + 0.05) / (darker + 0.05);
}

QColor legibleOn(const QColor& fill) {
  const QColor ink(28, 32, 40), paper(255, 255, 255), black(0, 0, 0);
  if (contrastOf(ink, fill) >= std::max(kLegible, contrastOf(paper, fill))) return ink;
  // Of black and white one always does.
  return contrastOf(paper, fill) >= kLegible ? paper : black;
}

QColor strongestOn(const QColor& fill) {
  const QColor black(0, 0, 0), white(255, 255, 255);
  return contrastOf(black, fill) >= contrastOf(white, fill) ? black : white;
}

QColor quietOn(const QColor& fill) {
  const QColor text = legibleOn(fill);
  for (int part = 40; part > 0; part -= 5)
    if (const QColor paler = mixed(text, fill, part / 100.0); contrastOf(paler, fill) >= kLegible)
      return paler;
  return text;
}

const ThemeColors& themeColors(bool dark) {
  static const ThemeColors light{
#define DYN_THEME_COLOR(name, light, dark) .name = QColor(light),
#include "app/session/views/theme_colors.def"
  };
  static const ThemeColors dark_{
#define DYN_THEME_COLOR(name, light, dark) .name = QColor(dark),
#include "app/session/views/theme_colors.def"
  };
  return dark ? dark_ : light;
}

QPalette lightPalette() { return paletteOf(themeColors(false)); }
QPalette darkPalette() { return paletteOf(themeColors(true)); }

namespace {

struct CategoryRow {
  const char* name;
  const char *light, *dark;
};
constexpr CategoryRow kCategoryRows[] = {
#define DYN_CATEGORY(name, title, light, dark) {title, light, dark},
#include "app/session/views/theme_colors.def"
};

struct KernelWord {
  const char* part;
  Category category;
};
constexpr KernelWord kKernelWords[] = {
#define DYN_CATEGORY_WORD(word, name) {word, Category::name},
#include "app/session/views/theme_colors.def"
};

}  // namespace

QString nameOf(Category category) { return kCategoryRows[static_cast<size_t>(category)].name; }

Category categoryOfClass(const QString& opClass) {
  static constexpr std::pair<const char*, Category> kClasses[] = {
#define DYN_CATEGORY_CLASS(opClass, name) {opClass, Category::name},
#include "app/session/views/theme_colors.def"
  };
  for (const auto& [name, category] : kClasses)
    if (opClass == QLatin1String(name)) return category;
  return Category::other;
}

Category categoryOfKernel(const QString& name) {
  for (const KernelWord& word : kKernelWords)
    if (name.contains(QLatin1String(word.part), Qt::CaseInsensitive)) return word.category;
  return Category::other;
}

QColor categoryColor(Category category, bool dark) {
  const CategoryRow& row = kCategoryRows[static_cast<size_t>(category)];
  return QColor(dark ? row.dark : row.light);
}

QColor categoryFill(Category category, bool dark) {
  const double part = category == Category::other ? (dark ? 0.22 : 0.12) : dark ? 0.32 : 0.16;
  return mixed(themeColors(dark).base, categoryColor(category, dark), part);
}

void applyTheme(Theme theme) {
  (void)firstPalette();
#if QT_VERSION >= QT_VERSION_CHECK(6, 5, 0)
  static QMetaObject::Connection following;
  QObject::disconnect(following);
  if (theme == Theme::system)
    following = QObject::connect(QGuiApplication::styleHints(), &QStyleHints::colorSchemeChanged, qApp,
                                 [] { showSystem(); });
#endif
  if (theme == Theme::system)
    showSystem();
  else
    showPalette(theme == Theme::dark);
}

double pointsOf(TextStep step, double bodyPoints) {
  switch (step) {
    case TextStep::title:
      return bodyPoints * 1.8;
    case TextStep::section:
      return bodyPoints * 1.2;
    case TextStep::body:
      return bodyPoints;
    case TextStep::caption:
      return std::max(6.0, bodyPoints * 0.9);
  }
  return bodyPoints;
}

QFont fontOf(TextStep step) {
  QFont font = QApplication::font();
  font.setPointSizeF(pointsOf(step, font.pointSizeF() > 0 ? font.pointSizeF() : 9));
  if (step == TextStep::title || step == TextStep::section) font.setWeight(QFont::DemiBold);
  return font;
}

void applyTextSteps(int steps) {
  static const QFont first = QApplication::font();
  QFont font = first;
  const double size = first.pointSizeF() > 0 ? first.pointSizeF() : 9;
  font.setPointSizeF(std::max(5.0, size + std::clamp(steps, kLeastTextSteps, kMostTextSteps)));
  QApplication::setFont(font);
  applyStyleSheet(isDark(QApplication::palette()));  // it has sizes of letters
}

QFont fixedFont() {
  QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  for (const char* family : kCodeFonts)
    if (QFontDatabase::hasFamily(family)) {
      font = QFont(family);
      font.setStyleHint(QFont::Monospace);
      break;
    }
  font.setPointSizeF(QApplication::font().pointSizeF());
  return font;
}

}  // namespace dyn::ui
