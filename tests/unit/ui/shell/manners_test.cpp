// How the window looks and what it remembers: layouts, themes, the start page, the model of the last time.
#include <gtest/gtest.h>

#include <QtCore/qtestsupport_core.h>
#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QFile>
#include <QFileInfo>
#include <QMenu>
#include <QTemporaryDir>

#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"
#include "tests/support/idle_window.h"
#include "tests/support/paths.h"

namespace dyn::ui {
namespace {

using test::waitIdle;

void write(const QString& name, const QString& text) {
  QFile file(name);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(text.toUtf8());
}

QString modelOf(const char* operation) {
  return QString("fn @main(%x: Tensor[(n, m), f32]) { %1(relu(x) * 2.0 + x) }").arg(operation);
}

QAction* actionNamed(const MainWindow& window, const QString& text) {
  for (QAction* action : window.findChildren<QAction*>())
    if (action->text() == text) return action;
  return nullptr;
}

class Manners : public ::testing::Test {
 protected:
  void SetUp() override { write(model_, modelOf("exp")); }
  QTemporaryDir folder_;
  const QString settings_ = folder_.filePath("settings.json"), model_ = folder_.filePath("model.dyn");
};

TEST_F(Manners, theGraphHasHalfOfASmallWindow) {
  MainWindow window;
  window.resize(1000, 700);
  window.show();
  window.open(model_);
  waitIdle(window);
  QApplication::processEvents();
  const QSize graph = window.canvas()->size();
  EXPECT_GE(2 * graph.width() * graph.height(), 1000 * 700) << graph.width() << "x" << graph.height();
}

TEST_F(Manners, theShownGraphIsSavedAsAnOnnxModel) {
  MainWindow window;
  ASSERT_NE(actionNamed(window, "Save as ONNX…"), nullptr);
  window.open(model_);
  waitIdle(window);
  const QString saved = folder_.filePath("saved");  // gets its ending
  window.saveOnnx(saved);
  waitIdle(window);
  ASSERT_TRUE(QFileInfo::exists(saved + ".onnx"));
  // It opens in the window as any other.
  window.open(saved + ".onnx");
  waitIdle(window);
  EXPECT_EQ(window.lastErrorCode(), 0) << window.lastError().toStdString();
}

TEST_F(Manners, modesBringTheirPanelsToTheFront) {
  MainWindow window;
  window.resize(1400, 900);
  window.show();
  const auto dock = [&](const char* name) { return window.findChild<QDockWidget*>(name); };
  window.setMode(WindowMode::code);
  QApplication::processEvents();
  EXPECT_GE(dock("textDock")->height(), 350);
  EXPECT_EQ(window.dockWidgetArea(dock("passesDock")), Qt::LeftDockWidgetArea);
  EXPECT_TRUE(dock("steppingDock")->isHidden());
  window.setMode(WindowMode::profile);
  QApplication::processEvents();
  EXPECT_FALSE(window.findChild<QWidget*>("runButton")->visibleRegion().isEmpty());
  EXPECT_TRUE(window.findChild<QWidget*>("whyQuestion")->visibleRegion().isEmpty())
      << "it is behind the inspector";
  EXPECT_TRUE(dock("passesDock")->isHidden());
  // A dock that a person moved stays when the window becomes narrow.
  window.addDockWidget(Qt::RightDockWidgetArea, dock("runDock"));
  window.resize(1000, 700);
  QApplication::processEvents();
  EXPECT_EQ(window.dockWidgetArea(dock("outlineDock")), Qt::LeftDockWidgetArea);
}

TEST_F(Manners, themesChangeWhatIsPainted) {
  MainWindow window;
  window.resize(1000, 700);
  window.show();
  window.open(model_);
  waitIdle(window);
  const auto corner = [&] {
    QApplication::processEvents();
    return window.canvas()->grab().toImage().pixelColor(3, 3).lightness();
  };
  ASSERT_NE(actionNamed(window, "Dark"), nullptr);
  actionNamed(window, "Dark")->trigger();
  EXPECT_LT(corner(), 80);
  actionNamed(window, "Light")->trigger();
  EXPECT_GT(corner(), 200);
  for (const Theme theme : {Theme::system, Theme::light, Theme::dark})
    EXPECT_EQ(themeOf(nameOf(theme)), theme);
  EXPECT_EQ(themeOf("blue"), std::nullopt);
  const double size = QApplication::font().pointSizeF();
  actionNamed(window, "Larger letters")->trigger();
  EXPECT_GT(QApplication::font().pointSizeF(), size);
  actionNamed(window, "Font size of the desktop")->trigger();
  EXPECT_EQ(QApplication::font().pointSizeF(), size);
}

// What a page was written with in the one theme is not read in the other.
TEST_F(Manners, pagesThatStandThereTakeTheColoursOfTheTheme) {
  MainWindow window;
  window.resize(1000, 700);
  window.show();
  actionNamed(window, "Light")->trigger();
  window.open(model_);
  waitIdle(window);
  window.run();
  waitIdle(window);
  const auto* inspector = window.findChild<QTextBrowser*>("details");
  ASSERT_TRUE(inspector->toHtml().contains(themeColors(false).quiet.name()));
  for (const bool dark : {true, false, true}) {
    actionNamed(window, dark ? "Dark" : "Light")->trigger();
    QApplication::processEvents();
    EXPECT_TRUE(inspector->toHtml().contains(themeColors(dark).quiet.name()));
    const ThemeColors& other = themeColors(!dark);
    for (const QTextBrowser* page : window.findChildren<QTextBrowser*>())
      for (const QColor& color : {other.text, other.quiet, other.link})
        EXPECT_FALSE(page->toHtml().contains(color.name()))
            << page->objectName().toStdString() << " " << color.name().toStdString();
  }
  actionNamed(window, "Light")->trigger();
}

TEST_F(Manners, whatWasLookedAtComesBack) {
  NodeId chosen = kNoNode;
  {
    MainWindow window({}, settings_);
    window.show();
    window.open(model_);
    waitIdle(window);
    window.setDim("n", 5);
    window.submitLine(":graph fuse");
    waitIdle(window);
    window.canvas()->search("exp");
    window.canvas()->nextMatch();
    waitIdle(window);
    ASSERT_GE(window.canvas()->selectedNode(), 0);
    chosen = window.canvas()->graph()->nodes[static_cast<size_t>(window.canvas()->selectedNode())].id;
    window.close();
  }
  MainWindow window({}, settings_);
  window.show();
  window.reopenLast();
  waitIdle(window);
  ASSERT_NE(window.canvas()->graph(), nullptr);
  EXPECT_EQ(window.canvas()->graph()->stepName, "fuse");
  ASSERT_GE(window.canvas()->selectedNode(), 0);
  const int node = window.canvas()->selectedNode();
  EXPECT_EQ(window.canvas()->graph()->nodes[static_cast<size_t>(node)].id, chosen);
  EXPECT_EQ(window.dimValues().at("n"), 5);
  EXPECT_TRUE(window.windowTitle().contains(folder_.path())) << window.windowTitle().toStdString();
}

// A model that ended the window while it was opened, is gone, or is not wanted, is not opened by itself.
TEST_F(Manners, whatCanNotComeBackStaysClosed) {
  const auto reopened = [&](const WindowSettings::LookedAt& last, bool reopens) {
    WindowSettings settings(settings_);
    settings.last = last;
    settings.reopens = reopens;
    settings.save();
    MainWindow window({}, settings_);
    window.reopenLast();
    waitIdle(window);
    return window.model() != nullptr;
  };
  EXPECT_TRUE(reopened({.file = model_}, true));
  EXPECT_FALSE(reopened({.file = model_}, false));
  EXPECT_FALSE(reopened({.file = model_, .opened = false}, true));
  EXPECT_FALSE(reopened({.file = model_ + ".gone"}, true));
  write(settings_, R"({"version": 1, "theme": 7, "textSteps": "x", "last": [1], "recent": {}})");
  EXPECT_FALSE(reopened({}, true));
}

TEST_F(Manners, aModelThatChangesIsReadAgainIfWanted) {
  MainWindow window;
  window.show();
  window.open(model_);
  waitIdle(window);
  const auto holds = [&](const char* operation) {
    for (const GraphNode& node : window.canvas()->graph()->nodes)
      if (node.op == operation) return true;
    return false;
  };
  ASSERT_TRUE(holds("exp"));
  actionNamed(window, "Reload when the file changes")->setChecked(true);
  // Replaced, as editors do it.
  write(model_ + ".new", modelOf("tanh"));
  ASSERT_TRUE(QFile::remove(model_) && QFile::rename(model_ + ".new", model_));
  EXPECT_TRUE(
      QTest::qWaitFor([&] { return window.idle() && window.canvas()->graph() && holds("tanh"); }, 20000));
  // Written over.
  write(model_, modelOf("sqrt"));
  EXPECT_TRUE(
      QTest::qWaitFor([&] { return window.idle() && window.canvas()->graph() && holds("sqrt"); }, 20000));
}

TEST_F(Manners, whatWasOpenedAndTypedIsTakenBack) {
  MainWindow window;
  window.show();
  window.open(QString::fromStdString(test::sourceFolder() + "/samples/models/bert/model.onnx"));
  waitIdle(window);
  if (window.lastError().contains("reads no ONNX files")) GTEST_SKIP() << "this build reads no ONNX files";
  const GraphLook first = window.canvas()->look();
  QAction* undo = nullptr;
  for (QAction* action : window.findChildren<QAction*>())
    if (action->shortcut() == QKeySequence(QKeySequence::Undo)) undo = action;
  ASSERT_NE(undo, nullptr);
  EXPECT_FALSE(undo->isEnabled());
  window.canvas()->setAllOpen(true);
  actionNamed(window, "Show constants")->trigger();
  for (const int size : {3, 30, 300}) window.setDim("seq", size);
  window.setDim("batch", 7);
  waitIdle(window);
  EXPECT_NE(window.canvas()->look(), first);
  undo->trigger();
  EXPECT_EQ(window.dimValues().at("batch"), 1);
  undo->trigger();
  EXPECT_EQ(window.dimValues().at("seq"), 16) << "edits of one dim that follow each other are one";
  undo->trigger();
  EXPECT_FALSE(actionNamed(window, "Show constants")->isChecked());
  undo->trigger();
  waitIdle(window);
  EXPECT_EQ(window.canvas()->look(), first);
  EXPECT_FALSE(undo->isEnabled());
}

TEST_F(Manners, theStartPageOffersModels) {
  MainWindow window({}, settings_);
  window.resize(1000, 700);
  window.show();
  auto* page = window.findChild<StartPage*>();
  ASSERT_NE(page, nullptr);
  EXPECT_TRUE(page->isVisible());
  EXPECT_EQ(QFileInfo(samplesFolder()).canonicalFilePath().toStdString(), test::sourceFolder() + "/samples");
  QStringList samples;
  for (const StartCard* card : page->findChildren<StartCard*>("startSample")) samples << card->text();
  EXPECT_TRUE(samples.contains("gpt2")) << samples.join(", ").toStdString();
  Q_EMIT page->fileChosen(model_);
  waitIdle(window);
  EXPECT_NE(window.model(), nullptr);
  EXPECT_FALSE(page->isVisible());
  EXPECT_EQ(window.canvas()->exportTo(folder_.filePath("graph.pdf")).toStdString(), "");
  QFile pdf(folder_.filePath("graph.pdf"));
  ASSERT_TRUE(pdf.open(QIODevice::ReadOnly));
  EXPECT_TRUE(pdf.readAll().startsWith("%PDF"));
}

}  // namespace
}  // namespace dyn::ui
