#include "ui/support/theme.h"

#include <QApplication>
#include <QFontDatabase>
#include <QStyleHints>
#include <algorithm>
#include <array>
#include <cmath>

namespace dyn::ui {

namespace {

constexpr std::array<const char*, 3> kNames = {"system", "light", "dark"};

struct Shades {
  QColor window, base, alternate, button, text, quiet, bright, link, chosen, chosenText;
};

QPalette paletteOf(const Shades& shades) {
  QPalette palette(shades.button, shades.window);
  palette.setColor(QPalette::Base, shades.base);
  palette.setColor(QPalette::AlternateBase, shades.alternate);
  palette.setColor(QPalette::ToolTipBase, shades.alternate);
  palette.setColor(QPalette::BrightText, shades.bright);
  palette.setColor(QPalette::PlaceholderText, shades.quiet);
  palette.setColor(QPalette::Link, shades.link);
  palette.setColor(QPalette::LinkVisited, shades.link);
  palette.setColor(QPalette::Highlight, shades.chosen);
  palette.setColor(QPalette::HighlightedText, shades.chosenText);
  for (const QPalette::ColorRole role :
       {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::ToolTipText}) {
    palette.setColor(role, shades.text);
    palette.setColor(QPalette::Disabled, role, shades.quiet);
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

void showSystem() { QApplication::setPalette(systemIsDark() ? darkPalette() : lightPalette()); }

}  // namespace

QString nameOf(Theme theme) { return kNames[static_cast<size_t>(theme)]; }

std::optional<Theme> themeOf(const QString& name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (name == kNames[i]) return static_cast<Theme>(i);
  return std::nullopt;
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

QColor quietOn(const QColor& fill) {
  const QColor text = legibleOn(fill);
  for (int part = 40; part > 0; part -= 5)
    if (const QColor paler = mixed(text, fill, part / 100.0); contrastOf(paler, fill) >= kLegible)
      return paler;
  return text;
}

QPalette lightPalette() {
  return paletteOf({.window = QColor(243, 244, 246),
                    .base = QColor(255, 255, 255),
                    .alternate = QColor(247, 248, 250),
                    .button = QColor(236, 238, 241),
                    .text = QColor(28, 32, 40),
                    .quiet = QColor(98, 105, 120),
                    .bright = QColor(200, 30, 40),
                    .link = QColor(11, 99, 176),
                    .chosen = QColor(48, 112, 208),
                    .chosenText = QColor(255, 255, 255)});
}

QPalette darkPalette() {
  return paletteOf({.window = QColor(37, 40, 47),
                    .base = QColor(27, 30, 36),
                    .alternate = QColor(33, 36, 43),
                    .button = QColor(49, 53, 62),
                    .text = QColor(222, 226, 234),
                    .quiet = QColor(150, 158, 174),
                    .bright = QColor(255, 120, 120),
                    .link = QColor(126, 176, 255),
                    .chosen = QColor(58, 104, 178),
                    .chosenText = QColor(255, 255, 255)});
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
    QApplication::setPalette(theme == Theme::dark ? darkPalette() : lightPalette());
}

void applyTextSteps(int steps) {
  static const QFont first = QApplication::font();
  QFont font = first;
  const double size = first.pointSizeF() > 0 ? first.pointSizeF() : 9;
  font.setPointSizeF(std::max(5.0, size + std::clamp(steps, kLeastTextSteps, kMostTextSteps)));
  QApplication::setFont(font);
}

QFont fixedFont() {
  QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  font.setPointSizeF(QApplication::font().pointSizeF());
  return font;
}

}  // namespace dyn::ui
