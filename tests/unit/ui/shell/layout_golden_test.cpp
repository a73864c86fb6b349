// Where things stand: rectangles of the named parts of the window in each mode, at two sizes and in both
// themes, against window_layout.golden beside this file. Pictures would differ with the fonts of a machine;
// places are rounded to 8 pixels and compared with room for fonts of another size.
//
// DYN_UPDATE=1 writes the file anew: look at each difference.
#include <gtest/gtest.h>

#include <QDockWidget>
#include <QFile>
#include <QRegularExpression>
#include <QTabWidget>

#include "tests/support/window_story.h"
#include "ui/support/theme.h"

namespace dyn::ui {
namespace {

constexpr int kGrid = 8, kRoom = 48;

struct Part {
  QString name;
  QRect rect;
};

class LayoutGolden : public test::WindowStory {
 protected:
  void TearDown() override { applyTheme(Theme::light); }
  std::vector<Part> parts() {
    std::vector<Part> found;
    const auto add = [&](QWidget* widget, const QString& name) {
      if (!widget || !widget->isVisible()) return;
      const QPoint at = widget->mapTo(&window_, QPoint());
      if (!window_.rect().intersects(QRect(at, widget->size()))) return;  // a dock behind another
      const auto round = [](int value) { return (value + kGrid / 2) / kGrid * kGrid; };
      found.push_back(
          {name, QRect(round(at.x()), round(at.y()), round(widget->width()), round(widget->height()))});
    };
    add(canvas(), "graph");
    for (const char* name : {"mainToolBar", "modeRail", "runCards"}) add(named<QWidget>(name), name);
    auto docks = window_.findChildren<QDockWidget*>(QString(), Qt::FindDirectChildrenOnly);
    std::sort(docks.begin(), docks.end(), [](auto* a, auto* b) { return a->objectName() < b->objectName(); });
    for (QDockWidget* dock : docks) add(dock, dock->objectName());
    const auto* tabs = named<QTabWidget>("bottomTabs");
    if (tabs->isVisible())
      add(tabs->currentWidget(), "panel " + tabs->tabText(tabs->currentIndex()).replace(' ', '_'));
    return found;
  }
};

std::vector<std::pair<QString, std::vector<Part>>> read(const QString& text) {
  std::vector<std::pair<QString, std::vector<Part>>> scenes;
  static const QRegularExpression row("^  (.+): (-?\\d+) (-?\\d+) (\\d+) x (\\d+)$");
  for (const QString& line : text.split('\n', Qt::SkipEmptyParts)) {
    const auto match = row.match(line);
    if (!match.hasMatch()) {
      scenes.push_back({line, {}});
    } else if (!scenes.empty()) {
      scenes.back().second.push_back(
          {match.captured(1), QRect(match.captured(2).toInt(), match.captured(3).toInt(),
                                    match.captured(4).toInt(), match.captured(5).toInt())});
    }
  }
  return scenes;
}

TEST_F(LayoutGolden, AllModesInBothThemesAtTwoSizes) {
  window_.run();
  settle();
  if (!window_.lastRun()) GTEST_SKIP() << "this build generates no code";
  QString text;
  for (const QSize size : {QSize(1000, 700), QSize(1440, 900)}) {
    window_.resize(size);
    settle();
    for (const WindowMode mode : kWindowModes) {
      std::vector<Part> light;
      for (const Theme theme : {Theme::light, Theme::dark}) {
        applyTheme(theme);
        window_.setMode(mode);
        settle();
        ASSERT_EQ(window_.size(), size) << nameOf(mode).toStdString() << " widens the window";
        const std::vector<Part> now = parts();
        for (const Part& part : now)
          EXPECT_TRUE(window_.rect().adjusted(-kGrid, -kGrid, kGrid, kGrid).contains(part.rect))
              << part.name.toStdString() << " is beyond the window in " << nameOf(mode).toStdString();
        if (theme == Theme::light) {
          light = now;
          text += QString("%1 %2x%3\n").arg(nameOf(mode)).arg(size.width()).arg(size.height());
          for (const Part& part : now)
            text += QString("  %1: %2 %3 %4 x %5\n")
                        .arg(part.name)
                        .arg(part.rect.x())
                        .arg(part.rect.y())
                        .arg(part.rect.width())
                        .arg(part.rect.height());
          continue;
        }
        // A theme changes colours and moves nothing.
        ASSERT_EQ(now.size(), light.size()) << nameOf(mode).toStdString();
        for (size_t i = 0; i < now.size(); ++i)
          EXPECT_TRUE(light[i].rect.adjusted(-kGrid, -kGrid, kGrid, kGrid).contains(now[i].rect))
              << nameOf(mode).toStdString() << " " << now[i].name.toStdString();
      }
    }
  }
  QFile golden(QString::fromStdString(test::sourceFolder() + "/tests/unit/ui/shell/window_layout.golden"));
  if (qEnvironmentVariableIsSet("DYN_UPDATE")) {
    ASSERT_TRUE(golden.open(QIODevice::WriteOnly));
    golden.write(text.toUtf8());
    return;
  }
  ASSERT_TRUE(golden.open(QIODevice::ReadOnly)) << "DYN_UPDATE=1 writes it";
  const auto wanted = read(QString::fromUtf8(golden.readAll())), found = read(text);
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t s = 0; s < found.size(); ++s) {
    ASSERT_EQ(found[s].first, wanted[s].first);
    const std::string scene = found[s].first.toStdString();
    QStringList names, wantedNames;
    for (const Part& part : found[s].second) names << part.name;
    for (const Part& part : wanted[s].second) wantedNames << part.name;
    ASSERT_EQ(names.join(", ").toStdString(), wantedNames.join(", ").toStdString()) << scene;
    for (size_t i = 0; i < found[s].second.size(); ++i) {
      const QRect now = found[s].second[i].rect, then = wanted[s].second[i].rect;
      for (const int moved : {now.left() - then.left(), now.top() - then.top(), now.width() - then.width(),
                              now.height() - then.height()})
        EXPECT_LE(std::abs(moved), kRoom)
            << scene << ": " << names[i].toStdString() << " stands elsewhere; DYN_UPDATE=1 if that is wanted";
    }
  }
}

}  // namespace
}  // namespace dyn::ui
