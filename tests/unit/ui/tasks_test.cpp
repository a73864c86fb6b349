// The tasks that the window was tried with, by their fewest steps (tests/support/window_story.h).
#include <gtest/gtest.h>

#include <QFile>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QSpinBox>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTimer>

#include "tests/support/window_story.h"
#include "ui/views/code/levels_panel.h"
#include "ui/views/run/rows_panel.h"
#include "ui/views/run/stop_panel.h"
#include "ui/views/run/sweep_plot.h"

namespace dyn::ui {
namespace {

class Tasks : public test::WindowStory {
 protected:
  // In the list of passes.
  QPoint passAt(const char* name) const {
    auto* passes = named<QTableWidget>("passes");
    for (int row = 0; row < passes->rowCount(); ++row)
      if (passes->item(row, 1)->text() == name) return passes->visualItemRect(passes->item(row, 1)).center();
    ADD_FAILURE() << "no pass " << name;
    return {};
  }
  QPoint boxAt(const char* op) const {
    for (const SceneBox& box : canvas()->scene().boxes)
      if (box.node >= 0 && canvas()->graph()->nodes[static_cast<size_t>(box.node)].op == op)
        return canvas()->onScreen(box.rect.center()).toPoint();
    ADD_FAILURE() << "no box " << op;
    return {};
  }
  QString answer() const { return named<QTextBrowser>("whyAnswer")->toPlainText(); }
};

TEST_F(Tasks, theSlowestLayerAndItsAssembly) {
  press("Ctrl+R");
  ASSERT_NE(window_.lastRun(), nullptr);
  auto* kernels = named<QTableWidget>("kernels");
  click(kernels->viewport(), kernels->visualItemRect(kernels->item(0, 0)).center());
  press("Alt+6");
  const auto* code = window_.findChild<LevelsPanel*>()->pane(1)->view();
  ASSERT_FALSE(code->highlights().empty());
  EXPECT_FALSE(code->lineRect(code->highlights().front().first).isEmpty()) << "in sight";
  EXPECT_LE(steps_, 4);
}

// Each dim of an output is a link where the model is described.
TEST_F(Tasks, whyAnAxisIsDynamicAndWhichChecksThereAre) {
  auto* inspector = named<QTextBrowser>("details");
  inspector->moveCursor(QTextCursor::Start);
  ASSERT_TRUE(inspector->find("Outputs"));
  ASSERT_TRUE(inspector->find("seq"));
  click(inspector->viewport(), inspector->cursorRect().center() - QPoint(8, 0));
  EXPECT_TRUE(answer().contains("input_ids")) << answer().toStdString();
  EXPECT_TRUE(named<QTextBrowser>("overview")->toPlainText().contains("Checked at run time"));
  EXPECT_LE(steps_, 2);
}

TEST_F(Tasks, beforeAndAfterAPass) {
  press("Alt+2");
  doubleClick(named<QTableWidget>("passes")->viewport(), passAt("fuse"));
  EXPECT_EQ(canvas()->graph()->stepName, "fuse");
  EXPECT_GT(canvas()->changesCount(BoxChange::added) + canvas()->changesCount(BoxChange::changed), 0);
  EXPECT_LE(steps_, 2);
}

TEST_F(Tasks, whatChangedBetweenTwoPasses) {
  clickMode("Passes");
  QWidget* passes = named<QTableWidget>("passes")->viewport();
  click(passes, passAt("import"));
  QTest::mouseClick(passes, Qt::LeftButton, Qt::ShiftModifier, passAt("fuse"));
  settle();
  EXPECT_EQ(canvas()->graph()->stepName, "fuse");
  EXPECT_GT(canvas()->changesCount(BoxChange::added) + canvas()->changesCount(BoxChange::changed), 0);
}

// The sizes are typed one after the other, then the limit.
TEST_F(Tasks, thePlanItsPeakAndTheLongestText) {
  press("Alt+3");
  ASSERT_EQ(QApplication::focusWidget(), named<QSpinBox>("size_batch"));
  enterHere("4", Qt::Key_Tab);
  while (QApplication::focusWidget() != named<QSpinBox>("size_seq")) {
    ASSERT_TRUE(QApplication::focusWidget()->parentWidget()) << "Tab goes from size to size";
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
  }
  enterHere("128", Qt::Key_Return);
  enter("limitField", "512 MB");
  QTest::qWait(300);  // changes that come quickly are asked for once
  settle();
  EXPECT_TRUE(named<QTextBrowser>("forecast")->toPlainText().contains("peak"));
  const QString largest = window_.findChild<SweepPlot*>()->answer();
  EXPECT_TRUE(largest.contains("largest seq within")) << largest.toStdString();
  EXPECT_EQ(window_.dimValues().at("batch"), 4);
  EXPECT_EQ(window_.dimValues().at("seq"), 128);
  EXPECT_LE(steps_, 4);
}

TEST_F(Tasks, aBreakpointAndATensorThere) {
  QTemporaryDir folder;
  QFile file(folder.filePath("m.dyn"));
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(
      "fn @main(%x: Tensor[(2, 5), f32], %w: Tensor[(5, 5), f32]) {\n  %s = matmul(%x, %w)\n"
      "  %y = softmax(%s, axis = -1)\n  return %y\n}\n");
  file.close();
  window_.open(file.fileName());
  settle();
  click(canvas(), boxAt("softmax"));
  ASSERT_EQ(chosen(), "softmax");
  press("F9");
  press("F5");
  auto* stop = window_.findChild<StopPanel*>();
  ASSERT_TRUE(stop->isStopped()) << said().toStdString();
  EXPECT_EQ(stop->stop()->why, "breakpoint 1");
  QTableWidget* registers = stop->registers();
  int tensor = 0;
  while (tensor < registers->rowCount() && !registers->item(tensor, 2)->text().contains("f32")) ++tensor;
  ASSERT_LT(tensor, registers->rowCount());
  doubleClick(registers->viewport(), registers->visualItemRect(registers->item(tensor, 1)).center());
  EXPECT_TRUE(named<QLabel>("tensorStatistics")->text().contains("at the stop"))
      << named<QLabel>("tensorStatistics")->text().toStdString();
  EXPECT_LE(steps_, 4);
}

TEST_F(Tasks, withoutAPassAndTheTimesCompared) {
  press("Ctrl+R");
  ASSERT_NE(window_.lastRun(), nullptr);
  clickMode("Passes");
  steps_ = 0;
  enter("pipeline", "-fuse");
  press("Ctrl+R");
  press("Ctrl+D");
  EXPECT_GT(named<QTableWidget>("differences")->rowCount(), 3);
  EXPECT_LE(steps_, 3);
}

TEST_F(Tasks, bodiesOfLoopsAndBranches) {
  open("/samples/models/early_exit/model.onnx");
  const size_t before = canvas()->scene().boxes.size();
  const auto body =
      std::find_if(canvas()->scene().boxes.begin(), canvas()->scene().boxes.end(),
                   [](const SceneBox& box) { return box.node >= 0 && box.expandable && !box.frame; });
  ASSERT_NE(body, canvas()->scene().boxes.end());
  doubleClick(canvas(), canvas()->onScreen(body->rect.center()).toPoint());
  EXPECT_GT(canvas()->scene().boxes.size(), before);
  EXPECT_LE(steps_, 3);
}

TEST_F(Tasks, theLevelsOfATree) {
  open("/samples/models/treelstm/model.onnx");
  press("Ctrl+`");
  type(":profile --input x=random --dim leaves=4 --input left=[0,2,4] --input right=[1,3,5]");
  press("Return");
  clickTab("Structure");
  const QString summary = window_.findChild<RowsPanel*>()->summary();
  EXPECT_TRUE(summary.contains("in 2 levels")) << summary.toStdString() << said().toStdString();
  EXPECT_LE(steps_, 4);
}

TEST_F(Tasks, theGraphAsAPicture) {
  QApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
  QTemporaryDir folder;
  const QString file = folder.filePath("bert.svg");
  QTimer person;
  person.setInterval(20);
  QObject::connect(&person, &QTimer::timeout, &person, [&] {
    auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
    if (!dialog || !dialog->isVisible()) return;
    person.stop();
    auto* name = dialog->findChild<QLineEdit*>("fileNameEdit");
    EXPECT_TRUE(name->text().endsWith(".svg")) << "a name is there: Enter would do";
    name->setText(file);
    ++steps_;
    QTest::keyClick(name, Qt::Key_Return);
  });
  person.start();
  press("Ctrl+Shift+S");
  EXPECT_TRUE(QFile::exists(file));
  EXPECT_LE(steps_, 2);
}

}  // namespace
}  // namespace dyn::ui
