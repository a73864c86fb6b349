// What a person does in the window besides reading a graph: samples, the palette, runs that are kept, limits,
// files that are dropped, the keyboard alone. Keys, clicks and drops only (tests/support/window_story.h).
#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFile>
#include <QFileDialog>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QMimeData>
#include <QPushButton>
#include <QRegularExpression>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>
#include <QTimer>
#include <QToolButton>
#include <algorithm>

#include "tests/support/window_story.h"
#include "ui/shell/start_page.h"
#include "ui/support/why_grey.h"
#include "ui/views/code/levels_panel.h"
#include "ui/views/memory/plan_panel.h"
#include "ui/views/run/rows_panel.h"
#include "ui/views/run/runs_panel.h"
#include "ui/views/run/sweep_plot.h"

namespace dyn::ui {
namespace {

class WindowStories : public test::WindowStory {
 protected:
  // With the mouse, over the middle of the window.
  void drop(const QString& file) {
    ++steps_;
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(file)});
    QDragEnterEvent enter(QPoint(500, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window_, &enter);
    ASSERT_TRUE(enter.isAccepted());
    QDropEvent event(QPointF(500, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window_, &event);
    settle();
  }
  // By its menu: Alt and the letter of the menu, then the entry.
  void chooseEntry(const QString& menu, const QString& entry) {
    ++steps_;
    for (QAction* top : window_.menuBar()->actions()) {
      if (QString(top->text()).remove('&') != menu) continue;
      QMenu* shown = top->menu();
      window_.menuBar()->setActiveAction(top);
      QApplication::processEvents();
      for (QAction* action : shown->actions())
        if (QString(action->text()).remove('&') == entry) {
          QTest::mouseClick(shown, Qt::LeftButton, {}, shown->actionGeometry(action).center());
          settle();
          return;
        }
      shown->close();
    }
    FAIL() << menu.toStdString() << " has no entry " << entry.toStdString();
  }
  // What a person does in the next dialog that asks for a file.
  void answerFileDialog(const QString& file) {
    QApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
    person_.setInterval(20);
    QObject::connect(&person_, &QTimer::timeout, &person_, [this, file] {
      auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
      if (!dialog || !dialog->isVisible()) return;
      person_.stop();
      auto* name = dialog->findChild<QLineEdit*>("fileNameEdit");
      name->setText(file);
      QTest::keyClick(name, Qt::Key_Return);
    });
    person_.start();
  }
  QStringList paletteRows() const {
    QStringList texts;
    const auto* table = named<QTableWidget>("paletteRows");
    for (int row = 0; row < table->rowCount(); ++row) texts << table->item(row, 0)->text();
    return texts;
  }
  LevelsPanel* code() const { return window_.findChild<LevelsPanel*>(); }
  static QStringList marked(const CodeView& view) {
    QStringList lines;
    for (const auto& [line, color] : view.highlights()) lines << view.lineText(line);
    return lines;
  }
  QTimer person_;
  QTemporaryDir folder_;
};

TEST_F(WindowStories, whereInPythonTheChosenOperationWasWritten) {
  open("/samples/models/bert_new/model.onnx");
  steps_ = 0;
  clickMode("Code");
  auto* level = named<QComboBox>("leftLevelLevel");
  level->setFocus();
  press("Home");
  ASSERT_EQ(level->currentText(), "Source");
  press("Ctrl+F");
  type("op:gelu");
  press("Return");
  CodeView& source = *code()->pane(0)->view();
  const QString seen = marked(source).join('\n');
  EXPECT_TRUE(seen.startsWith("Gelu \"")) << seen.toStdString();
  EXPECT_TRUE(seen.contains(QRegularExpression("File \".*modeling_bert\\.py\", line \\d+, in forward")))
      << seen.toStdString();
  ASSERT_FALSE(source.highlights().empty());
  EXPECT_FALSE(source.lineRect(source.highlights().front().first).isEmpty()) << "it is seen";
  EXPECT_LE(steps_, 5);
  // And back: a line of another node chooses its operation, in the graph and in the code.
  int other = 0;
  while (other < source.lineCount() && !source.lineText(other).startsWith("Softmax \"")) ++other;
  ASSERT_LT(other, source.lineCount());
  source.showLine(other);
  const QRect at = source.lineRect(other);
  click(source.viewport(), QPoint(at.left() + 4, at.center().y()));
  EXPECT_EQ(chosen(), "softmax");
  EXPECT_FALSE(code()->pane(1)->view()->highlights().empty()) << "its machine code is marked, too";
}

TEST_F(WindowStories, theColumnsOfCodeComeBackAtTheNextStart) {
  const QString settings = folder_.filePath("settings.json");
  {
    MainWindow window({}, settings);
    window.show();
    window.setMode(WindowMode::code);
    auto* level = window.findChild<QComboBox*>("leftLevelLevel");
    level->setFocus();
    QTest::keyClick(level, Qt::Key_Home);
    window.close();
  }
  MainWindow window({}, settings);
  window.show();
  window.setMode(WindowMode::code);
  EXPECT_EQ(window.findChild<QComboBox*>("leftLevelLevel")->currentText(), "Source");
  EXPECT_EQ(window.findChild<QComboBox*>("rightLevelLevel")->currentText(), "Assembly");
}

TEST_F(WindowStories, theSourceOfAModelThatCannotBeCompiled) {
  const QString name = folder_.filePath("unknown.onnx");
  QFile known(QString::fromStdString(test::sourceFolder() + "/samples/models/bert_new/model.onnx")),
      file(name);
  ASSERT_TRUE(known.open(QIODevice::ReadOnly) && file.open(QIODevice::WriteOnly));
  file.write(known.readAll().replace("\x22\x07Softmax", "\x22\x07Softmex"));
  file.close();
  drop(name);
  EXPECT_TRUE(window_.lastError().contains("Softmex"));
  clickMode("Code");
  auto* level = named<QComboBox>("leftLevelLevel");
  level->setFocus();
  press("Home");
  CodeView& source = *code()->pane(0)->view();
  EXPECT_TRUE(source.toPlainText().contains("Softmex \""));
  EXPECT_TRUE(code()->pane(1)->view()->toPlainText().contains("cannot be compiled"));
  auto* problems = named<QTableWidget>("problems");
  press("Ctrl+Shift+M");
  ASSERT_GT(problems->rowCount(), 1);
  Q_EMIT problems->cellActivated(1, 0);
  settle();
  EXPECT_TRUE(marked(source).join('\n').contains("Softmex")) << "the node of the problem is marked";
}

TEST_F(WindowStories, theTreesOfARunAreDrawnWithTheirWords) {
  const QString folder = QString::fromStdString(test::sourceFolder()) + "/samples/03_tree/";
  open("/samples/03_tree/sentences.dyn");
  steps_ = 0;
  press("Ctrl+`");
  type(":profile --dim words=6 --input trees=@" + folder + "sentences.txt,words=" + folder + "words.txt");
  press("Return");
  clickTab("Structure");
  EXPECT_LE(steps_, 4);
  auto* panel = window_.findChild<RowsPanel*>();
  TreeCanvas* tree = panel->tree();
  ASSERT_TRUE(tree->isVisible()) << said().toStdString();
  const auto& nodes = tree->trees().nodes;
  ASSERT_EQ(nodes.size(), 11u);
  // Every node is seen, children below their parents, and no two at one place.
  for (size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_TRUE(QRectF(tree->rect()).contains(tree->onScreen(i))) << i;
    for (const uint32_t child : nodes[i].children)
      EXPECT_GT(tree->onScreen(child).y(), tree->onScreen(i).y());
    for (size_t j = 0; j < i; ++j) EXPECT_NE(tree->onScreen(i), tree->onScreen(j));
  }
  // A click on a node marks its level, here and in the bars beside it.
  const auto above =
      std::find_if(nodes.begin(), nodes.end(), [](const auto& node) { return node.level == 2; });
  const auto at = static_cast<size_t>(above - nodes.begin());
  click(tree, tree->onScreen(at).toPoint());
  EXPECT_EQ(tree->chosenLevel(), 2u);
  EXPECT_EQ(panel->canvas()->chosen(), 1u) << "the second level above the leaves";
  EXPECT_TRUE(tree->describe(at).contains("waits for")) << tree->describe(at).toStdString();
  tree->setFocus();
  press("Down");
  EXPECT_EQ(tree->chosenLevel(), 1u);
}

TEST_F(WindowStories, aSampleFromTheStartPage) {
  MainWindow window;
  window.resize(1000, 700);
  window.show();
  QApplication::processEvents();
  const auto cards = window.findChild<StartPage*>()->findChildren<StartCard*>("startSample");
  if (cards.isEmpty()) GTEST_SKIP() << "no samples beside this build";
  // By the keyboard alone: Tab to a card, Enter.
  cards.last()->setFocus();
  QTest::keyClick(cards.last(), Qt::Key_Return);
  test::waitIdle(window);
  ASSERT_NE(window.model(), nullptr) << window.lastError().toStdString();
  EXPECT_FALSE(window.findChild<StartPage*>()->isVisible());
}

TEST_F(WindowStories, thePaletteGoesWhereItsSignSays) {
  press("Ctrl+Shift+P");
  type("#fuse");
  press("Return");
  EXPECT_EQ(canvas()->graph()->stepName, "fuse");
  press("Ctrl+P");
  type("softmax");
  ASSERT_FALSE(paletteRows().isEmpty());
  press("Return");
  EXPECT_NE(chosen(), "") << "an operation";
  press("Ctrl+Shift+P");
  type(">problems");
  press("Return");
  EXPECT_TRUE(named<QTableWidget>("problems")->isVisible());
  press("Ctrl+Shift+P");
  type(":plan");
  press("Return");
  EXPECT_EQ(named<QLineEdit>("consoleLine")->text(), ":plan ");
  press("Ctrl+Shift+P");
  type("no such thing anywhere");
  press("Escape");
  EXPECT_FALSE(named<QWidget>("palette")->isVisible());
  EXPECT_LE(steps_, 15);
}

TEST_F(WindowStories, aBaselineIsPinnedAndComparedWith) {
  press("Ctrl+R");
  ASSERT_NE(window_.lastRun(), nullptr);
  enter("pipeline", "-fuse");
  press("Ctrl+R");
  clickTab("Runs");
  auto* table = named<QTableWidget>("runs");
  ASSERT_EQ(table->rowCount(), 2);
  EXPECT_EQ(table->item(0, 6)->text(), "-fuse");
  click(table->viewport(), table->visualItemRect(table->item(1, 2)).center());
  click(named<QPushButton>("pinRun"));
  EXPECT_EQ(table->item(1, 1)->text(), "baseline");
  click(named<QPushButton>("compareChecked"));
  EXPECT_GT(named<QTableWidget>("differences")->rowCount(), 3);
  EXPECT_LE(steps_, 7);
}

TEST_F(WindowStories, twoRunsAreCheckedByTheMouse) {
  press("Ctrl+R");
  press("Ctrl+R");
  ASSERT_NE(window_.lastRun(), nullptr);
  clickTab("Runs");
  auto* table = named<QTableWidget>("runs");
  for (int row : {1, 0}) {
    const QRect cell = table->visualItemRect(table->item(row, 0));
    click(table->viewport(), QPoint(cell.left() + 12, cell.center().y()));
  }
  EXPECT_TRUE(named<QLabel>("runsTitle")->text().contains("compared: run 1 and run 2"))
      << named<QLabel>("runsTitle")->text().toStdString();
}

TEST_F(WindowStories, aSwitchOfThePipelineIsTakenBack) {
  const QString before = QString::fromStdString(window_.passes()->edits);
  enter("pipeline", "-fuse");
  ASSERT_EQ(window_.passes()->edits, "-fuse");
  canvas()->setFocus();
  press("Ctrl+Z");
  EXPECT_EQ(QString::fromStdString(window_.passes()->edits), before);
  press("Ctrl+Shift+Z");
  EXPECT_EQ(window_.passes()->edits, "-fuse");
  EXPECT_LE(steps_, 3);
}

TEST_F(WindowStories, aLimitThatIsTooSmallSaysSo) {
  clickMode("Sizes");
  enter("limitField", "1 B");
  QTest::qWait(300);
  settle();
  const QString answer = window_.findChild<SweepPlot*>()->answer();
  EXPECT_FALSE(answer.contains("largest seq within")) << answer.toStdString();
  EXPECT_NE(answer, "");
  enter("limitField", "64 MB");
  QTest::qWait(300);
  settle();
  EXPECT_TRUE(window_.findChild<SweepPlot*>()->answer().contains("largest"))
      << window_.findChild<SweepPlot*>()->answer().toStdString();
}

// F6 goes to every part that is seen and back to where it began; Escape leaves what it went to.
TEST_F(WindowStories, theKeyboardAloneReachesAllParts) {
  canvas()->setFocus();
  QList<QWidget*> parts;
  for (int i = 0; i < 12; ++i) {
    press("F6");
    ASSERT_NE(QApplication::focusWidget(), nullptr);
    parts << QApplication::focusWidget();
    if (QApplication::focusWidget() == canvas()) break;
  }
  ASSERT_EQ(QApplication::focusWidget(), canvas()) << "it goes round";
  EXPECT_GE(parts.size(), 3) << "lists at the left, the Inspector, panels below";
  press("Shift+F6");
  EXPECT_EQ(QApplication::focusWidget(), parts.value(parts.size() - 2)) << "and the other way";
  press("F6");
  press("Ctrl+F");
  type("soft");
  press("Escape");
  EXPECT_EQ(QApplication::focusWidget(), canvas());
}

TEST_F(WindowStories, whatIsGreySaysWhy) {
  int grey = 0;
  for (QAction* action : window_.findChildren<QAction*>())
    if (!action->isEnabled() && QString(action->text()).remove('&') == "Compare runs") {
      ++grey;
      EXPECT_NE(whyGrey(action), "");
    }
  press("Ctrl+Shift+P");
  type(">undo");
  auto* rows = named<QTableWidget>("paletteRows");
  ASSERT_GT(rows->rowCount(), 0);
  EXPECT_EQ(rows->item(0, 2)->text(), "Nothing to go back on.");
  press("Escape");
}

TEST_F(WindowStories, aFileOfNumbersIsDroppedOnTheGraph) {
  const QString name = folder_.filePath("error.json");
  QFile file(name);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  const auto& nodes = canvas()->graph()->nodes;
  const auto node =
      std::find_if(nodes.begin(), nodes.end(), [](const auto& one) { return one.op == "softmax"; });
  ASSERT_NE(node, nodes.end());
  file.write(("{\"name\": \"error\", \"unit\": \"dB\", \"results\": {\"" + node->name + "\": 5}}").c_str());
  file.close();
  drop(name);
  ASSERT_EQ(window_.lastError().toStdString(), "");
  EXPECT_TRUE(named<QAction>("showOverlay")->isChecked());
  press("Ctrl+F");
  type("op:softmax");
  press("Return");
  EXPECT_TRUE(named<QTextBrowser>("details")->toPlainText().contains("5 dB"));
  EXPECT_LE(steps_, 4);
}

TEST_F(WindowStories, aPictureIsDroppedOntoAnInput) {
  open("/samples/models/espcn/model.onnx");
  ASSERT_EQ(window_.lastError().toStdString(), "");
  const QString input = QString::fromStdString(window_.model()->inputs.at(0).name);
  const QString name = folder_.filePath(input + ".png");
  QImage picture(12, 8, QImage::Format_Grayscale8);
  picture.fill(90);
  ASSERT_TRUE(picture.save(name));
  steps_ = 0;
  drop(name);
  if (window_.lastError().contains("PNG")) GTEST_SKIP() << "this build reads no PNG";
  ASSERT_EQ(window_.lastError().toStdString(), "");
  ASSERT_NE(window_.lastRun(), nullptr) << "it runs at once";
  EXPECT_TRUE(QString::fromStdString(window_.lastRun()->inputs.at(0).type).contains("8, 12"))
      << window_.lastRun()->inputs.at(0).type;
  EXPECT_LE(steps_, 1);
}

TEST_F(WindowStories, aReportForAColleague) {
  const QString file = folder_.filePath("bert.html");
  answerFileDialog(file);
  chooseEntry("File", "Report…");
  QFile page(file);
  ASSERT_TRUE(page.open(QIODevice::ReadOnly)) << said().toStdString();
  EXPECT_TRUE(page.readAll().contains("<html"));
  EXPECT_LE(steps_, 2);
}

TEST_F(WindowStories, theStripCountsFaultsUntilTheyAreSeen) {
  const auto* console = named<QToolButton>("consoleButton");
  press("Ctrl+`");
  type(":nothing");
  press("Return");
  EXPECT_TRUE(said().contains("nothing"));
  QTRY_COMPARE(console->text(), "Console");  // it is open: the error was seen
  press("Escape");
  clickMode("Passes");
  EXPECT_EQ(console->text(), "Console") << "going away brings none back";
  // The problems of a model come in front of the console: its errors were not seen there.
  const qsizetype before = said().count("error[");
  const QString name = folder_.filePath("unknown.onnx");
  QFile known(QString::fromStdString(test::sourceFolder() + "/samples/models/bert_new/model.onnx")),
      file(name);
  ASSERT_TRUE(known.open(QIODevice::ReadOnly) && file.open(QIODevice::WriteOnly));
  file.write(known.readAll().replace("\x22\x07Softmax", "\x22\x07Softmex"));
  file.close();
  drop(name);
  const qsizetype faults = said().count("error[") - before;
  ASSERT_GT(faults, 0);
  EXPECT_TRUE(named<QToolButton>("problemsButton")->isChecked());
  EXPECT_EQ(console->text(), QString("Console %1").arg(faults));
  QTest::qWait(1500);
  EXPECT_EQ(console->text(), QString("Console %1").arg(faults)) << "no time makes them seen";
  EXPECT_EQ(console->accessibleDescription(),
            faults == 1 ? QString("1 error") : QString("%1 errors").arg(faults));
  click(named<QToolButton>("consoleButton"));
  QTRY_COMPARE(console->text(), "Console");
  EXPECT_EQ(console->accessibleDescription(), "");
}

TEST_F(WindowStories, lightAndDarkByTheMenu) {
  press("Ctrl+Shift+P");
  type(">dark");
  press("Return");
  ASSERT_TRUE(isDark(canvas()->palette()));
  press("Ctrl+Shift+P");
  type(">light");
  press("Return");
  EXPECT_FALSE(isDark(canvas()->palette()));
  applyTheme(Theme::system);
}

}  // namespace
}  // namespace dyn::ui
