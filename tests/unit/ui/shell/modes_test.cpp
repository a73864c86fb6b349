// Modes, the strip below, the overview and the start page, by the mouse.
#include "ui/shell/window_modes.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QPushButton>
#include <QSlider>
#include <QSpinBox>
#include <QTabBar>
#include <QTabWidget>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBlock>
#include <QToolBar>
#include <QToolButton>
#include <QUrl>

#include "tests/support/idle_window.h"
#include "tests/support/paths.h"
#include "ui/support/icons.h"
#include "ui/views/overview_page.h"

namespace dyn::ui {
namespace {

class Modes : public testing::Test {
 protected:
  void SetUp() override {
    QFile file(model_);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write("fn @main(%x: Tensor[(n, m), f32]) { softmax(relu(x) * 2.0 + x, axis = -1) }");
  }
  void show(MainWindow& window, QSize size) {
    window.resize(size);
    window.show();
    window.activateWindow();
    window.open(model_);
    settle(window);
    ASSERT_EQ(window.lastError().toStdString(), "");
  }
  static void settle(MainWindow& window) {
    QApplication::processEvents();
    test::waitIdle(window);
    QApplication::processEvents();
  }
  static void click(MainWindow& window, QWidget* widget) {
    ASSERT_NE(widget, nullptr);
    ASSERT_TRUE(widget->isVisible());
    QTest::mouseClick(widget, Qt::LeftButton, {}, widget->rect().center());
    settle(window);
  }
  static QToolButton* button(const MainWindow& window, const QString& name) {
    return window.findChild<QToolButton*>(name);
  }
  static QStringList tabsOf(const QTabWidget& tabs) {
    QStringList shown;
    for (int i = 0; i < tabs.count(); ++i)
      if (tabs.isTabVisible(i)) shown << tabs.tabText(i);
    return shown;
  }
  // Itself, or what is in it and covers it.
  static bool isSeen(const QWidget* widget) {
    if (!widget || !widget->isVisible()) return false;
    if (!widget->visibleRegion().isEmpty()) return true;
    for (const QWidget* part : widget->findChildren<QWidget*>())
      if (!part->visibleRegion().isEmpty()) return true;
    return false;
  }

  QTemporaryDir folder_;
  const QString model_ = folder_.filePath("m.dyn");
};

TEST_F(Modes, theRailChoosesThePanels) {
  for (const QSize size : {QSize(1440, 900), QSize(1000, 700)}) {
    MainWindow window;
    show(window, size);
    EXPECT_LE(window.width(), size.width()) << "no panel widens the window";
    auto* tabs = window.findChild<QTabWidget*>("bottomTabs");
    auto* lower = window.findChild<QDockWidget*>("textDock");
    const QPoint graph = window.canvas()->mapTo(&window, QPoint());
    for (const WindowMode mode : kWindowModes) {
      const ModeSpec& spec = specOf(mode);
      QToolButton* choice = button(window, QString("mode%1").arg(spec.name));
      click(window, choice);
      EXPECT_EQ(window.mode(), mode);
      EXPECT_TRUE(choice->isChecked()) << spec.name;
      EXPECT_FALSE(choice->icon().isNull()) << spec.name;
      EXPECT_EQ(isSeen(lower), !spec.panels.isEmpty()) << spec.name;
      if (!spec.panels.isEmpty()) {
        QStringList wanted = spec.panels, shown = tabsOf(*tabs);
        EXPECT_EQ(tabs->tabText(tabs->currentIndex()), wanted.first()) << spec.name;
        wanted.sort();
        shown.sort();
        EXPECT_EQ(shown, wanted) << spec.name;
      }
      for (const QString& name : {spec.left.first(), spec.right.first()})
        EXPECT_TRUE(isSeen(window.findChild<QDockWidget*>(name)->widget()))
            << spec.name << ": " << name.toStdString() << " is in front";
      EXPECT_TRUE(isSeen(window.canvas())) << spec.name;
      EXPECT_EQ(window.canvas()->mapTo(&window, QPoint()).y(), graph.y()) << "the graph stays above";
    }
  }
}

TEST_F(Modes, everyPanelIsOfAModeOrOfTheStrip) {
  MainWindow window;
  const auto* tabs = window.findChild<QTabWidget*>("bottomTabs");
  for (int i = 0; i < tabs->count(); ++i) {
    const QString title = tabs->tabText(i);
    EXPECT_TRUE(modeWithPanel(title) || title == "Problems" || title == "Console") << title.toStdString();
  }
  for (const WindowMode mode : kWindowModes) {
    for (const QString& title : specOf(mode).panels) {
      bool isThere = false;
      for (int i = 0; i < tabs->count(); ++i) isThere = isThere || tabs->tabText(i) == title;
      EXPECT_TRUE(isThere) << title.toStdString();
    }
    for (const QString& dock : specOf(mode).left + specOf(mode).right)
      EXPECT_NE(window.findChild<QDockWidget*>(dock), nullptr) << dock.toStdString();
    EXPECT_EQ(modeOf(nameOf(mode)), mode);
  }
  EXPECT_EQ(modeOf("explore"), WindowMode::overview) << "names of layouts are known for one version";
  EXPECT_EQ(modeOf("compile"), WindowMode::passes);
  EXPECT_EQ(modeOf("?"), std::nullopt);
}

TEST_F(Modes, aPanelThatIsWantedBringsItsMode) {
  MainWindow window;
  show(window, {1440, 900});
  ASSERT_TRUE(window.showPanel("Memory"));
  settle(window);
  EXPECT_EQ(window.mode(), WindowMode::memory);
  ASSERT_TRUE(window.showPanel("levels")) << "its former title";
  EXPECT_EQ(window.mode(), WindowMode::code);
  window.run();
  settle(window);
  EXPECT_EQ(window.mode(), WindowMode::code) << "whoever reads code stays there";
  click(window, button(window, "modePasses"));
  window.run();
  settle(window);
  EXPECT_EQ(window.mode(), WindowMode::profile);
}

// Its panel is gone with the mode; letters are no search then.
TEST_F(Modes, theFocusOfAModeIsNotLeftToTheSearch) {
  MainWindow window;
  show(window, {1440, 900});
  click(window, button(window, "modePasses"));
  auto* passes = window.findChild<QWidget*>("passes");
  ASSERT_NE(passes, nullptr);
  passes->setFocus();
  for (const char* mode : {"modeMemory", "modeDebug", "modeOverview"}) {
    click(window, button(window, mode));
    ASSERT_NE(window.focusWidget(), nullptr) << mode;
    EXPECT_NE(window.focusWidget()->objectName(), "search") << mode;
  }
}

TEST_F(Modes, aModeKeepsThePanelThatWasInFront) {
  MainWindow window;
  show(window, {1440, 900});
  auto* tabs = window.findChild<QTabWidget*>("bottomTabs");
  click(window, button(window, "modePasses"));
  ASSERT_TRUE(window.showPanel("Changes"));
  click(window, button(window, "modeSizes"));
  click(window, button(window, "modePasses"));
  EXPECT_EQ(tabs->tabText(tabs->currentIndex()), "Changes");
}

TEST_F(Modes, theStripOpensAndClosesConsoleAndProblems) {
  MainWindow window;
  show(window, {1000, 700});
  auto* tabs = window.findChild<QTabWidget*>("bottomTabs");
  auto* lower = window.findChild<QDockWidget*>("textDock");
  QToolButton *console = button(window, "consoleButton"), *problems = button(window, "problemsButton");
  EXPECT_FALSE(isSeen(lower)) << "the overview has no lower panel";
  click(window, console);
  EXPECT_TRUE(isSeen(lower));
  EXPECT_EQ(tabs->tabText(tabs->currentIndex()), "Console");
  EXPECT_TRUE(console->isChecked());
  click(window, problems);
  EXPECT_EQ(tabs->tabText(tabs->currentIndex()), "Problems");
  EXPECT_FALSE(console->isChecked());
  click(window, problems);
  EXPECT_FALSE(isSeen(lower));
  EXPECT_EQ(window.mode(), WindowMode::overview);
  click(window, button(window, "modePasses"));
  click(window, console);
  click(window, console);
  EXPECT_EQ(tabs->tabText(tabs->currentIndex()), "IR") << "the mode's panel comes back";
}

TEST_F(Modes, theStripCountsErrorsAndProblems) {
  QFile file(model_);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("fn @main(%x: Tensor[(2, 3), f32]) {\n  %z = matmul(%x, %x)\n  return %z\n}");
  file.close();
  MainWindow window;
  window.resize(1440, 900);
  window.show();
  window.open(model_);
  settle(window);
  EXPECT_EQ(button(window, "problemsButton")->text(), "Problems 1");
  click(window, button(window, "modePasses"));
  EXPECT_EQ(button(window, "problemsButton")->text(), "Problems 1");
}

TEST_F(Modes, theOverviewSaysThatPositionsAreTestedWhereTheyAreLookedUp) {
  QFile file(model_);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(R"(fn @main(%x: Tensor[(seq), f32], %cache: Tensor[(past, 2), f32]) {
  %held = gather(shape(%cache), i64[] 0) {axis = 0}
  %all = add(%held, gather(shape(%x), i64[] 0) {axis = 0})
  %y = add(%x, gather(f32[4] [0, 1, 2, 3], range(%held, %all, i64[] 1)) {axis = 0})
  return %y
})");
  file.close();
  MainWindow window;
  show(window, {1440, 900});
  auto* page = window.findChild<OverviewPage*>();
  ASSERT_TRUE(isSeen(page));
  const QString text = page->toPlainText();
  EXPECT_TRUE(text.contains("past + seq must be at most 4")) << text.toStdString();
  EXPECT_FALSE(text.contains("proved that all sizes fit"));
}

TEST_F(Modes, theOverviewSaysWhatVariesAndLeadsThere) {
  MainWindow window;
  show(window, {1440, 900});
  auto* page = window.findChild<OverviewPage*>();
  ASSERT_TRUE(isSeen(page));
  const QString text = page->toPlainText();
  for (const char* said : {"What varies from run to run", "n: any size", "m: any size", "Checked at run time",
                           "What the compiler did", "Not run yet"})
    EXPECT_TRUE(text.contains(said)) << said << " in\n" << text.toStdString();
  window.run();
  settle(window);
  EXPECT_FALSE(page->toPlainText().contains("Not run yet"));
  // Every link leads somewhere.
  const auto* shown = window.findChild<OverviewPage*>();
  int links = 0;
  for (QTextBlock block = shown->document()->begin(); block.isValid(); block = block.next())
    for (auto part = block.begin(); !part.atEnd(); ++part) {
      if (!part.fragment().charFormat().isAnchor()) continue;
      const QUrl url(part.fragment().charFormat().anchorHref());
      EXPECT_TRUE(QStringList({"why", "mode", "find", "pass", "panel", "run", "plan"}).contains(url.scheme()))
          << url.toString().toStdString();
      ++links;
    }
  EXPECT_GE(links, 5);
  Q_EMIT page->linkChosen("why", "n");
  settle(window);
  EXPECT_TRUE(window.stateJson().contains("what is n")) << "the dim is explained";
  Q_EMIT page->linkChosen("find", "op:softmax");
  settle(window);
  EXPECT_GE(window.canvas()->selectedNode(), 0);
  Q_EMIT page->linkChosen("pass", "fuse");
  settle(window);
  EXPECT_EQ(window.mode(), WindowMode::passes);
  EXPECT_EQ(window.canvas()->graph()->stepName, "fuse");
}

TEST_F(Modes, theOverviewSaysWhatARunTakes) {
  QFile file(model_);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(
      "fn @main(%x: Tensor[(n, 4), f32]) {\n  %w = constant() {value = f32[4, 2] [1,2,3,4,5,6,7,8]}\n");
  file.write("  %y = matmul(%x, %w)\n  return %y\n}");
  file.close();
  MainWindow window;
  window.setDim("n", 10);
  show(window, {1440, 900});
  auto* page = window.findChild<OverviewPage*>();
  const auto says = [&](const char* text) { return page->toPlainText().contains(QString::fromUtf8(text)); };
  EXPECT_TRUE(says("8 parameters")) << page->toPlainText().toStdString();
  EXPECT_TRUE(says("160 FLOPs at n = 10")) << page->toPlainText().toStdString();
  EXPECT_TRUE(says("16·n")) << "the formula of the arithmetic";
  window.setDim("n", 20);
  QTest::qWait(300);  // sizes that change quickly are taken once
  settle(window);
  EXPECT_TRUE(says("320 FLOPs at n = 20")) << page->toPlainText().toStdString();
  // The peak is computed when it is asked for, by a click on its link.
  ASSERT_TRUE(says("Compute the peak")) << page->toPlainText().toStdString();
  ASSERT_TRUE(page->find("Compute the peak") ||
              (page->moveCursor(QTextCursor::Start), page->find("Compute the peak")));
  QTest::mouseClick(page->viewport(), Qt::LeftButton, {}, page->cursorRect().center() - QPoint(8, 0));
  settle(window);
  if (window.lastError().contains("generates no code")) GTEST_SKIP() << "this build generates no code";
  EXPECT_FALSE(says("Compute the peak")) << page->toPlainText().toStdString();
  EXPECT_TRUE(says("besides weights")) << page->toPlainText().toStdString();
}

// In a small window the columns that matter are whole.
TEST_F(Modes, aSmallWindowCutsNoPassAndNoSlider) {
  MainWindow window;
  show(window, {1000, 700});
  click(window, button(window, "modePasses"));
  auto* passes = window.findChild<QTableWidget*>("passes");
  for (int row = 0; row < passes->rowCount(); ++row) {
    if (passes->isRowHidden(row)) continue;
    const QString name = passes->item(row, 1)->text();
    EXPECT_GE(passes->columnWidth(1), passes->fontMetrics().horizontalAdvance(name)) << name.toStdString();
  }
  click(window, button(window, "modeSizes"));
  for (const char* name : {"n", "m"}) {
    auto* slider = window.findChild<QSlider*>(QString("slider_%1").arg(name));
    auto* box = window.findChild<QSpinBox*>(QString("size_%1").arg(name));
    ASSERT_TRUE(slider && box);
    EXPECT_GE(slider->width(), 40) << name;
    EXPECT_EQ(box->visibleRegion().boundingRect().width(), box->width()) << name << ": all of it is seen";
  }
  // With letters six steps larger, too.
  applyTextSteps(6);
  settle(window);
  click(window, button(window, "modePasses"));
  EXPECT_GE(passes->rowHeight(0), passes->fontMetrics().height());
  for (const QDockWidget* dock : window.findChildren<QDockWidget*>())
    if (isSeen(dock) && dock->titleBarWidget())
      for (const QLabel* title : dock->titleBarWidget()->findChildren<QLabel*>())
        if (title->isVisible()) {
          EXPECT_GE(title->height(), title->fontMetrics().height());
        }
  applyTextSteps(0);
  settle(window);
}

TEST_F(Modes, theStartPageIsAllThatIsShownAndItsCardsOpenModels) {
  MainWindow window;
  window.resize(1000, 700);
  window.show();
  auto* page = window.findChild<StartPage*>();
  ASSERT_TRUE(QTest::qWaitFor([&] { return isSeen(page); }, 2000));
  EXPECT_EQ(page->size(), window.canvas()->size());
  for (const QDockWidget* dock : window.findChildren<QDockWidget*>())
    EXPECT_FALSE(isSeen(dock)) << dock->objectName().toStdString() << ": nothing to show yet";
  EXPECT_FALSE(button(window, "modePasses")->isEnabled());
  if (samplesFolder().isEmpty()) GTEST_SKIP() << "no samples beside this build";
  const auto samples = page->findChildren<StartCard*>("startSample");
  ASSERT_GE(samples.size(), 5);
  EXPECT_EQ(page->findChildren<StartCard*>("startTour").size(), static_cast<qsizetype>(tours().size()));
  // The one in the text language opens in any build.
  StartCard* card = samples.last();
  settle(window);  // the cards have their places
  page->ensureWidgetVisible(card);
  click(window, card);
  ASSERT_NE(window.model(), nullptr) << card->text().toStdString() << ": "
                                     << window.lastError().toStdString();
  EXPECT_FALSE(page->isVisible());
  EXPECT_TRUE(button(window, "modePasses")->isEnabled());
  EXPECT_TRUE(isSeen(window.findChild<OverviewPage*>()));
}

TEST_F(Modes, theStartPageShowsRecentModels) {
  const QString settings = folder_.filePath("settings.json");
  {
    MainWindow window({}, settings);
    show(window, {1440, 900});
    click(window, button(window, "modeMemory"));
    window.close();
  }
  MainWindow window({}, settings);
  window.resize(1440, 900);
  window.show();
  QApplication::processEvents();
  const auto recent = window.findChild<StartPage*>()->findChildren<StartCard*>("startRecent");
  ASSERT_EQ(recent.size(), 1);
  EXPECT_EQ(recent.first()->text(), "m");
  click(window, recent.first());
  ASSERT_NE(window.model(), nullptr);
  EXPECT_EQ(window.mode(), WindowMode::memory) << "the mode of the last time";
}

TEST_F(Modes, aFileThatIsHeldOverTheWindowIsWelcomed) {
  MainWindow window;
  window.resize(1000, 700);
  window.show();
  QApplication::processEvents();
  auto* page = window.findChild<StartPage*>();
  const QImage before = page->grab().toImage();
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(model_)});
  QDragEnterEvent enter({500, 300}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(&window, &enter);
  EXPECT_TRUE(enter.isAccepted());
  EXPECT_NE(page->grab().toImage(), before) << "the place to drop it stands out";
  QDropEvent drop({500, 300}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(&window, &drop);
  settle(window);
  EXPECT_NE(window.model(), nullptr);
}

TEST_F(Modes, toursShowTheRealViews) {
  MainWindow window;
  window.resize(1440, 900);
  window.show();
  QApplication::processEvents();
  auto* page = window.findChild<StartPage*>();
  if (samplesFolder().isEmpty()) GTEST_SKIP() << "no samples beside this build";
  for (const Tour& tour : tours()) {
    EXPECT_TRUE(QFile::exists(samplesFolder() + "/" + tour.file)) << tour.file;
    EXPECT_TRUE(iconNames().contains(tour.icon)) << tour.icon;
    ASSERT_GE(tour.steps.size(), 3u) << tour.title;
    Q_EMIT page->tourChosen(tour);
    settle(window);
    settle(window);  // the tour begins when the model is there
    if (window.lastError().contains("reads no ONNX files")) GTEST_SKIP() << "this build reads no ONNX files";
    auto* bar = window.findChild<TourBar*>();
    for (size_t step = 0; step < tour.steps.size(); ++step) {
      EXPECT_EQ(bar->step(), static_cast<int>(step)) << tour.title;
      EXPECT_TRUE(isSeen(bar)) << tour.title;
      EXPECT_EQ(window.lastError().toStdString(), "") << tour.title << ", step " << step;
      const QString what = tour.steps[step].what, which = tour.steps[step].which;
      auto* tabs = window.findChild<QTabWidget*>("bottomTabs");
      if (what == "mode") {
        EXPECT_EQ(window.mode(), modeOf(which)) << tour.title;
      }
      if (what == "panel") {
        EXPECT_EQ(tabs->tabText(tabs->currentIndex()), which) << tour.title;
      }
      if (what == "find") {
        EXPECT_GE(window.canvas()->selectedNode(), 0) << tour.title;
      }
      if (what == "why") {
        EXPECT_TRUE(window.stateJson().contains("input_ids")) << tour.title;
      }
      if (what == "line") {
        EXPECT_NE(window.lastRun(), nullptr) << tour.title;
      }
      if (what == "limit") {
        EXPECT_EQ(window.findChild<QLineEdit*>("limitField")->text(), which) << tour.title;
      }
      click(window, window.findChild<QPushButton*>("tourNext"));
    }
    EXPECT_EQ(bar->step(), -1) << tour.title;
    EXPECT_FALSE(bar->isVisible());
  }
  EXPECT_NE(window.lastRun(), nullptr);
}

}  // namespace
}  // namespace dyn::ui
