// Pictures of every mode, light and dark, in a small and a large window, by what holds with any font: nothing
// is cut off, nothing overlaps, a dark window has no white areas, and a page is not empty.
#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QApplication>
#include <QDockWidget>
#include <QFile>
#include <QLabel>
#include <QPlainTextEdit>
#include <QScrollBar>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTextBrowser>
#include <QToolButton>
#include <set>

#include "tests/support/idle_window.h"
#include "tests/support/paths.h"
#include "ui/shell/window_modes.h"
#include "ui/support/theme.h"
#include "ui/views/run/variant_words.h"

namespace dyn::ui {
namespace {

constexpr const char* kLayered = R"(fn @main(%x: Tensor[(batch, seq, 96), f32], %w: Tensor[(96, 96), f32]) {
  %h = matmul(%x, %w)
  %g = relu(%h)
  %s = softmax(%g, axis = -1)
  %y = matmul(%s, %w)
  return %y
}
)";

class Looks : public testing::Test {
 protected:
  void TearDown() override { applyTheme(Theme::light); }
  void lookAtEveryMode(QSize size);
  void open(MainWindow& window, QSize size) {
    QFile file(folder_.filePath("m.dyn"));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(kLayered);
    file.close();
    window.resize(size);
    window.show();
    window.setDim("batch", 2);
    window.setDim("seq", 12);
    window.open(file.fileName());
    settle(window);
    ASSERT_EQ(window.lastError().toStdString(), "");
    window.run();
    settle(window);
  }
  static void settle(MainWindow& window) {
    QApplication::processEvents();
    test::waitIdle(window);
    QApplication::processEvents();
  }
  static QRect inWindow(const QWidget& widget, const MainWindow& window) {
    return {widget.mapTo(&window, QPoint()), widget.size()};
  }

  // Itself, or what is in it and covers it.
  static bool isSeen(const QWidget& widget) {
    if (!widget.isVisible()) return false;
    if (!widget.visibleRegion().isEmpty()) return true;
    for (const QWidget* part : widget.findChildren<QWidget*>())
      if (!part->visibleRegion().isEmpty()) return true;
    return false;
  }

  // Words of labels and buttons that are seen but have less room than they need.
  static QStringList cutWords(const MainWindow& window) {
    QStringList cut;
    for (const QLabel* label : window.findChildren<QLabel*>()) {
      if (label->visibleRegion().isEmpty() || label->wordWrap() || label->text().isEmpty() ||
          Qt::mightBeRichText(label->text()))
        continue;
      const bool isElided = label->sizePolicy().horizontalPolicy() == QSizePolicy::Ignored;
      if (!isElided && label->fontMetrics().horizontalAdvance(label->text()) > label->width())
        cut << label->text();
    }
    for (const QAbstractButton* button : window.findChildren<QAbstractButton*>()) {
      const auto* tool = qobject_cast<const QToolButton*>(button);
      if (tool && tool->toolButtonStyle() == Qt::ToolButtonIconOnly) continue;
      if (!button->visibleRegion().isEmpty() && !button->text().isEmpty() &&
          button->width() < button->fontMetrics().horizontalAdvance(button->text().remove('&')))
        cut << button->text();
    }
    return cut;
  }

  // The share of pixels that are as light as paper.
  static double lightShare(const QImage& image) {
    int64_t light = 0, all = 0;
    for (int y = 0; y < image.height(); y += 3)
      for (int x = 0; x < image.width(); x += 3, ++all) light += image.pixelColor(x, y).lightness() > 200;
    return static_cast<double>(light) / static_cast<double>(all);
  }
  static size_t colorsCount(const QImage& image) {
    std::set<QRgb> colors;
    for (int y = 0; y < image.height(); y += 2)
      for (int x = 0; x < image.width(); x += 2) colors.insert(image.pixel(x, y));
    return colors.size();
  }
  QTemporaryDir folder_;
};

void Looks::lookAtEveryMode(QSize size) {
  MainWindow window;
  open(window, size);
  for (const WindowMode mode : kWindowModes)
    for (const Theme theme : {Theme::light, Theme::dark}) {
      SCOPED_TRACE((nameOf(mode) + " " + nameOf(theme) + " " + QString::number(size.width())).toStdString());
      applyTheme(theme);
      window.setMode(mode);
      settle(window);
      EXPECT_EQ(window.size(), size) << "no mode widens the window";
      EXPECT_EQ(cutWords(window).join("; ").toStdString(), "");
      const QRect graph = inWindow(*window.canvas(), window);
      EXPECT_GE(graph.width(), 300);
      EXPECT_GE(graph.height(), 150);
      std::vector<QRect> taken = {graph};
      for (const QDockWidget* dock : window.findChildren<QDockWidget*>()) {
        if (!isSeen(*dock)) continue;
        const QRect rect = inWindow(*dock, window);
        EXPECT_TRUE(window.rect().contains(rect)) << dock->objectName().toStdString();
        for (const QRect& other : taken)
          EXPECT_FALSE(rect.intersects(other)) << dock->objectName().toStdString();
        taken.push_back(rect);
      }
      EXPECT_GE(taken.size(), 2u) << "a mode has panels";
      const QImage picture = window.grab().toImage();
      const double light = lightShare(picture);
      if (theme == Theme::dark) {
        EXPECT_LT(light, 0.08) << "white areas in the dark";
      } else {
        EXPECT_GT(light, 0.6);
      }
      EXPECT_GT(colorsCount(picture), 40u) << "there is something on it";
    }
}

TEST_F(Looks, everyModeInBothThemesInASmallWindow) { lookAtEveryMode({1000, 700}); }
TEST_F(Looks, everyModeInBothThemesInALargeWindow) { lookAtEveryMode({1440, 900}); }

// In one column the page of the overview has most of the height.
TEST_F(Looks, theOverviewIsAPageInASmallWindow) {
  MainWindow window;
  open(window, {1000, 700});
  window.setMode(WindowMode::overview);
  settle(window);
  const auto* page = window.findChild<QDockWidget*>("overviewDock");
  EXPECT_GE(page->height(), 350);
}

// "…, past_value_11 are random (seed 0)": only the end of a long line was seen.
TEST_F(Looks, longLinesOfTheConsoleGoOnBelow) {
  MainWindow window;
  open(window, {1000, 700});
  ASSERT_TRUE(window.submitLine("\"" + std::string(400, 'a') + "\""));
  settle(window);
  ASSERT_TRUE(window.showPanel("Console"));
  settle(window);
  auto* output = window.findChild<QPlainTextEdit*>("consoleOutput");
  EXPECT_EQ(output->horizontalScrollBar()->maximum(), 0);
  EXPECT_EQ(output->horizontalScrollBar()->value(), 0);
}

// Times stood behind the right edge of a small window.
TEST_F(Looks, theTimeOfARunIsSeenInASmallWindow) {
  MainWindow window;
  open(window, {1000, 700});
  if (!window.lastRun()) GTEST_SKIP() << "this build generates no code";
  ASSERT_TRUE(window.showPanel("Runs"));
  settle(window);
  auto* runs = window.findChild<QTableWidget*>("runs");
  ASSERT_EQ(runs->rowCount(), 1);
  for (int column = 0; column < runs->columnCount(); ++column) {
    const QString header = runs->horizontalHeaderItem(column)->text();
    if (header == "Median" || header == "Spread" || header == "Peak" || header == "Sizes") {
      EXPECT_TRUE(runs->viewport()->rect().contains(runs->visualItemRect(runs->item(0, column))))
          << header.toStdString();
    }
  }
}

// "f3…4]" told nobody a type: without room it is in the tooltip of the name.
TEST_F(Looks, typesOfInputsAreReadOrNotShown) {
  for (const int width : {1000, 1440}) {
    MainWindow window;
    open(window, {width, 900});
    window.setMode(WindowMode::profile);
    settle(window);
    auto* inputs = window.findChild<QTableWidget*>("inputs");
    if (!inputs->isColumnHidden(2)) {
      EXPECT_GE(inputs->columnWidth(2), inputs->fontMetrics().horizontalAdvance("f32 [… seq]")) << width;
    }
    EXPECT_TRUE(inputs->item(0, 0)->toolTip().contains("f32 [batch, seq, 96]"));
  }
}

// Without a tensor the panel says how to get one, and has no empty halves.
TEST_F(Looks, aTensorPanelWithoutATensorIsOnePage) {
  MainWindow window;
  open(window, {1000, 700});
  ASSERT_TRUE(window.showPanel("Tensor"));
  settle(window);
  EXPECT_FALSE(window.findChild<QWidget*>("histogram")->isVisible());
  EXPECT_FALSE(window.findChild<QWidget*>("tensorNumbers")->isVisible());
  if (!window.lastRun()) GTEST_SKIP() << "this build generates no code";
  ASSERT_TRUE(window.submitLine(":tensor h"));
  settle(window);
  EXPECT_TRUE(window.findChild<QWidget*>("histogram")->isVisible());
  EXPECT_TRUE(window.findChild<QWidget*>("tensorNumbers")->isVisible());
}

TEST_F(Looks, variantsOfKernelsInWords) {
  const QString columns = QString::fromUtf8("blocks of 768 × 12 tiles, threads share columns");
  EXPECT_EQ(variantWords("k768r12-panels"), columns);
  EXPECT_EQ(variantWords("k768r12-panels; winograd"), columns + "; Winograd");
  EXPECT_EQ(variantWords("auto<=59,kallr6-rows"),
            QString::fromUtf8("the cheapest up to 59 rows, then blocks of the whole depth × 6 tiles, threads "
                              "share rows"));
  EXPECT_EQ(variantWords("something new"), "something new");
}

}  // namespace
}  // namespace dyn::ui
