// The theme: what is written can be read in both, categories differ for all eyes, icons are one family.
#include "ui/support/theme.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QFile>
#include <QRegularExpression>
#include <cmath>

#include "ui/shell/window_modes.h"
#include "ui/support/icons.h"
#include "ui/support/style_sheet.h"

namespace dyn::ui {
namespace {

std::string themeName(bool dark) { return dark ? "dark" : "light"; }

void expectContrast(const QColor& a, const QColor& b, double least, const std::string& where) {
  EXPECT_GE(contrastOf(a, b), least) << where << ": " << a.name().toStdString() << " on "
                                     << b.name().toStdString();
}

TEST(Theme, everyTextIsLegibleOnEveryPaper) {
  for (const bool dark : {false, true}) {
    const ThemeColors& c = themeColors(dark);
    for (const QColor& paper : {c.window, c.base, c.alternate, c.raised, c.hover}) {
      for (const QColor& text : {c.text, c.link, c.bright})
        expectContrast(text, paper, kLegible, themeName(dark) + " text");
      expectContrast(c.quiet, paper, kLegible, themeName(dark) + " quiet text");
    }
    expectContrast(c.onAccent, c.accent, kLegible, themeName(dark) + " on the accent");
    expectContrast(c.chosenText, c.chosen, kLegible, themeName(dark) + " on the chosen row");
    for (const QColor& paper : {c.window, c.base, c.raised}) {
      expectContrast(c.accent, paper, kVisible, themeName(dark) + " accent, the focus");
      expectContrast(c.outline, c.base, kVisible, themeName(dark) + " outline of fields");
    }
  }
}

TEST(Theme, everyCategoryIsSeenAndReadable) {
  for (const bool dark : {false, true})
    for (const Category category : kCategories) {
      const std::string where = themeName(dark) + " " + nameOf(category).toStdString();
      expectContrast(categoryColor(category, dark), themeColors(dark).base, kVisible, where);
      const QColor fill = categoryFill(category, dark);
      expectContrast(legibleOn(fill), fill, kLegible, where + " fill");
      expectContrast(quietOn(fill), fill, kLegible, where + " fill, quiet");
    }
}

struct Light {
  double r, g, b;
};

Light linearOf(const QColor& color) {
  const auto part = [](double v) { return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
  return {part(color.redF()), part(color.greenF()), part(color.blueF())};
}

// As Machado, Oliveira and Fernandes (2009) simulate an eye without the long (protan) or the middle (deutan)
// cones.
using Matrix = std::array<std::array<double, 3>, 3>;
constexpr Matrix kUsual = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
constexpr Matrix kProtan = {
    {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}};
constexpr Matrix kDeutan = {
    {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}};

// CIE L*a*b*, of daylight.
std::array<double, 3> labOf(const QColor& color, const Matrix& eye) {
  const Light c = linearOf(color);
  std::array<double, 3> seen;
  for (size_t i = 0; i < 3; ++i)
    seen[i] = std::clamp(eye[i][0] * c.r + eye[i][1] * c.g + eye[i][2] * c.b, 0.0, 1.0);
  const double x = (0.4124 * seen[0] + 0.3576 * seen[1] + 0.1805 * seen[2]) / 0.9505,
               y = 0.2126 * seen[0] + 0.7152 * seen[1] + 0.0722 * seen[2],
               z = (0.0193 * seen[0] + 0.1192 * seen[1] + 0.9505 * seen[2]) / 1.089;
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  return {116 * f(y) - 16, 500 * (f(x) - f(y)), 200 * (f(y) - f(z))};
}

double distance(const QColor& a, const QColor& b, const Matrix& eye) {
  const auto p = labOf(a, eye), q = labOf(b, eye);
  return std::sqrt(std::pow(p[0] - q[0], 2) + std::pow(p[1] - q[1], 2) + std::pow(p[2] - q[2], 2));
}

// 2.3 is the least that is seen at all; side by side 8 are told apart at a glance.
TEST(Theme, categoriesDifferForColourBlindEyes) {
  for (const bool dark : {false, true})
    for (const auto& [eye, name] : {std::pair(kUsual, "usual"), {kProtan, "protan"}, {kDeutan, "deutan"}})
      for (const Category a : kCategories)
        for (const Category b : kCategories)
          if (a < b) {
            EXPECT_GE(distance(categoryColor(a, dark), categoryColor(b, dark), eye), 8)
                << themeName(dark) << ", " << name << " eye: " << nameOf(a).toStdString() << " and "
                << nameOf(b).toStdString();
          }
}

TEST(Theme, kernelsAndOperatorsOfOneKindHaveOneColour) {
  EXPECT_EQ(categoryOfKernel("gemm"), categoryOfClass("contraction"));
  EXPECT_EQ(categoryOfKernel("fused_softmax"), categoryOfClass("reduction"));
  EXPECT_EQ(categoryOfKernel("slice_gather"), categoryOfClass("injective"));
  EXPECT_EQ(categoryOfKernel("add_relu"), categoryOfClass("elementwise"));
  EXPECT_EQ(categoryOfKernel("?"), Category::other);
}

TEST(Theme, theStyleSheetNamesOnlyColoursThatThereAre) {
  for (const bool dark : {false, true}) {
    const QString sheet = styleSheet(dark, 10);
    EXPECT_FALSE(sheet.contains('@')) << sheet.mid(sheet.indexOf('@'), 30).toStdString();
    EXPECT_EQ(sheet.count('{'), sheet.count('}'));
    static const QRegularExpression picture("url\\(([^)]*)\\)");
    for (auto found = picture.globalMatch(sheet); found.hasNext();) {
      const QString file = found.next().captured(1);
      EXPECT_TRUE(QFile::exists(file)) << file.toStdString();
    }
  }
}

TEST(Theme, stepsOfLettersDiffer) {
  EXPECT_GT(pointsOf(TextStep::title, 10), pointsOf(TextStep::section, 10));
  EXPECT_GT(pointsOf(TextStep::section, 10), pointsOf(TextStep::body, 10));
  EXPECT_GT(pointsOf(TextStep::body, 10), pointsOf(TextStep::caption, 10));
  EXPECT_EQ(fixedFont().pointSizeF(), QApplication::font().pointSizeF());
}

TEST(Icons, areOneFamily) {
  const QStringList names = iconNames();
  EXPECT_GE(names.size(), 40);
  for (const QString& name : names) {
    QFile file(":/icons/" + name + ".svg");
    ASSERT_TRUE(file.open(QIODevice::ReadOnly)) << name.toStdString();
    const QByteArray text = file.readAll();
    EXPECT_TRUE(text.contains("viewBox=\"0 0 24 24\"")) << name.toStdString();
    EXPECT_TRUE(text.contains("stroke=\"currentColor\"")) << name.toStdString();
    EXPECT_EQ(text.count("stroke-width"), 1) << name.toStdString() << ": one width of lines";
    EXPECT_TRUE(text.contains("stroke-width=\"1.75\"")) << name.toStdString();
    EXPECT_FALSE(text.contains('#')) << name.toStdString() << ": colours are those of the theme";
  }
}

int inked(const QPixmap& pixmap, const QColor& color) {
  const QImage image = pixmap.toImage();
  int count = 0;
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x) count += image.pixelColor(x, y) == color;
  return count;
}

TEST(Icons, areDrawnInTheColoursOfTheTheme) {
  for (const Theme theme : {Theme::light, Theme::dark}) {
    applyTheme(theme);
    const ThemeColors& colors = themeColors(theme == Theme::dark);
    for (const QString& name : iconNames())
      EXPECT_GT(inked(icon(name, IconInk::accent).pixmap(48, 48), colors.accent), 40) << name.toStdString();
  }
  applyTheme(Theme::system);
}

// Whatever names one has it.
TEST(Icons, thatAreNamedAreThere) {
  const QStringList names = iconNames();
  for (const WindowMode mode : kWindowModes)
    EXPECT_TRUE(names.contains(specOf(mode).icon)) << specOf(mode).icon;
  for (const Category category : kCategories)
    EXPECT_TRUE(names.contains(iconOfCategory(category))) << iconOfCategory(category).toStdString();
  for (const char* name : {"input", "output", "view", "opaque", "constant", "group", "contraction", "?"})
    EXPECT_TRUE(names.contains(iconOfClass(name))) << name;
  for (const char* name : {"import", "infer", "fuse", "plan", "fold_transposes", "batch_levels", "?"})
    EXPECT_TRUE(names.contains(iconOfPass(name, "pass"))) << name;
}

}  // namespace
}  // namespace dyn::ui
