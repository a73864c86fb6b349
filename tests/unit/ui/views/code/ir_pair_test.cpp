// Two texts of the IR beside each other: lines at one height, what differs, one scroll, one choice.
#include "ui/views/code/ir_pair.h"

#include <gtest/gtest.h>

#include <QLabel>
#include <QScrollBar>
#include <QTableWidget>
#include <QWheelEvent>
#include <algorithm>

#include "tests/support/window_story.h"
#include "ui/views/code/aligned_texts.h"

namespace dyn::ui {
namespace {

IrText textOf(int step, const char* text, std::vector<IrLine> lines) {
  IrText ir;
  ir.step = step;
  ir.title = "after pass " + std::to_string(step);
  ir.text = text;
  ir.lines = std::move(lines);
  return ir;
}

std::vector<std::string> rowsOf(const CodeText& code) {
  const char signs[] = {' ', '+', '-', '<', '>', '.'};
  std::vector<std::string> rows;
  for (uint32_t i = 0; i < code.lineCount(); ++i)
    rows.push_back(signs[static_cast<size_t>(code.marks[i])] + std::to_string(code.numbers[i]) + " " +
                   std::string(code.line(i)));
  return rows;
}

using Rows = std::vector<std::string>;

TEST(AlignedTexts, OperationsStandAtOneHeight) {
  const IrText before = textOf(1, "fn @main(%x) {\n  %h = relu(%x)\n  %g = relu(%x)\n  %s = add(%h, %g)\n}\n",
                               {{2, 10}, {3, 11}, {4, 12}});
  const IrText after = textOf(2, "fn @main(%x) {\n  %h = relu(%x)\n  %s = add(%h, %h)\n  %y = tanh(%s)\n}\n",
                              {{2, 10}, {3, 12}, {4, 13}});
  const AlignedTexts texts = alignTexts(before, after);
  EXPECT_EQ(rowsOf(*texts.before), (Rows{" 1 fn @main(%x) {", " 2   %h = relu(%x)", "-3   %g = relu(%x)",
                                         "<4   %s = add(%h, %g)", ".0 ", " 5 }"}));
  EXPECT_EQ(rowsOf(*texts.after), (Rows{" 1 fn @main(%x) {", " 2   %h = relu(%x)", ".0 ",
                                        ">3   %s = add(%h, %h)", "+4   %y = tanh(%s)", " 5 }"}));
  EXPECT_EQ(texts.before->changed[3], (std::vector<Columns>{{15, 17}}));
  EXPECT_EQ(texts.removedCount, 1);
  EXPECT_EQ(texts.addedCount, 1);
  EXPECT_EQ(texts.changedCount, 1);
  ASSERT_EQ(texts.afterLines.size(), 3u);
  EXPECT_EQ(texts.afterLines[1].line, 4u) << "the line of the sum, as it stands there";
}

TEST(AlignedTexts, NothingAndEverything) {
  const IrText none = textOf(1, "", {}), some = textOf(2, "a\nb\n", {{1, 1}, {2, 2}});
  EXPECT_EQ(rowsOf(*alignTexts(none, some).before), (Rows{".0 ", ".0 "}));
  EXPECT_EQ(rowsOf(*alignTexts(some, none).before), (Rows{"-1 a", "-2 b"}));
  EXPECT_EQ(alignTexts(some, some).changedCount + alignTexts(some, some).addedCount, 0);
  EXPECT_EQ(rowsOf(*alignTexts(some, some).after), (Rows{" 1 a", " 2 b"}));
  // One that moved is gone at the one place and there at the other.
  const IrText turned = textOf(3, "b\na\n", {{1, 2}, {2, 1}});
  EXPECT_EQ(alignTexts(some, turned).before->lineCount(), alignTexts(some, turned).after->lineCount());
  EXPECT_EQ(alignTexts(some, turned).addedCount, 1);
}

// What differs in a line keeps its place when names are cut.
TEST(AlignedTexts, ChangedWordsUnderShortNames) {
  CodeText code("%y = relu(%\"/a/b/c/d\") {axis = 1}\n");
  code.changed = {{{5, 9}, {31, 32}}};
  const CodeText cut = withShortNames(code);
  ASSERT_EQ(cut.line(0), "%y = relu(%\"…/c/d\") {axis = 1}");
  ASSERT_EQ(cut.changed[0].size(), 2u);
  EXPECT_EQ(cut.changed[0][0], Columns(5, 9));
  const QString line = QString::fromUtf8(cut.line(0).data(), static_cast<qsizetype>(cut.line(0).size()));
  EXPECT_EQ(line.mid(cut.changed[0][1].first, 1), "1");
}

class IrPairStory : public test::WindowStory {
 protected:
  void sideBySide() {
    clickMode("Passes");
    auto* passes = named<QTableWidget>("passes");
    for (int row = 0; row < passes->rowCount(); ++row)
      if (passes->item(row, 1)->text() == "cse")
        click(passes->viewport(), passes->visualItemRect(passes->item(row, 1)).center());
    canvas()->setFocus();
    QTest::keyClick(canvas(), Qt::Key_D, Qt::ShiftModifier);
    settle();
  }
};

TEST_F(IrPairStory, textsOfTwoPasses) {
  sideBySide();
  const IrPair* pair = window_.findChild<IrPair*>();
  ASSERT_NE(pair, nullptr);
  ASSERT_TRUE(pair->isSideBySide());
  const IrTextView &before = *pair->other(), &after = *pair->view();
  EXPECT_LT(before.mapToGlobal(QPoint()).x(), after.mapToGlobal(QPoint()).x());
  EXPECT_NEAR(before.width(), after.width(), 0.1 * after.width());
  EXPECT_EQ(before.lineCount(), after.lineCount());
  const auto count = [](const IrTextView& view, LineMark mark) {
    return std::count(view.code().marks.begin(), view.code().marks.end(), mark);
  };
  EXPECT_GT(count(before, LineMark::removed), 50) << "the pass took more than a hundred operations";
  EXPECT_EQ(count(before, LineMark::added), 0);
  EXPECT_EQ(count(after, LineMark::removed), 0);
  EXPECT_GT(count(before, LineMark::before), 0);
  EXPECT_EQ(count(before, LineMark::before), count(after, LineMark::after));
  EXPECT_TRUE(named<QLabel>("otherIrTextTitle")->text().contains("lines removed"));
  // They scroll together, from either side and by the wheel.
  before.verticalScrollBar()->setValue(40);
  EXPECT_EQ(after.verticalScrollBar()->value(), 40);
  const QPointF at(20, 20);
  QWheelEvent wheel(at, after.viewport()->mapToGlobal(at), {}, QPoint(0, -240), Qt::NoButton, Qt::NoModifier,
                    Qt::NoScrollPhase, false);
  QApplication::sendEvent(after.viewport(), &wheel);
  EXPECT_GT(after.verticalScrollBar()->value(), 40);
  EXPECT_EQ(before.verticalScrollBar()->value(), after.verticalScrollBar()->value());
  // A click on a line chooses its operation in both, and on the graph.
  int line = before.lineCount() / 2;
  while (line < before.lineCount() && before.code().marks[static_cast<size_t>(line)] != LineMark::none)
    ++line;
  ASSERT_LT(line, before.lineCount());
  const_cast<IrTextView&>(before).showLine(line);
  const QPoint middle = before.lineRect(line).center();
  click(before.viewport(), QPoint(before.lineRect(line).left() + 60, middle.y()));
  ASSERT_GE(canvas()->selectedNode(), 0);
  ASSERT_EQ(before.highlights().size(), 1u);
  ASSERT_EQ(after.highlights().size(), 1u);
  EXPECT_EQ(before.highlights()[0].first, after.highlights()[0].first) << "at one height";
  // Once more, and the text is alone.
  canvas()->setFocus();
  QTest::keyClick(canvas(), Qt::Key_D, Qt::ShiftModifier);
  settle();
  EXPECT_FALSE(pair->isSideBySide());
  EXPECT_EQ(count(after, LineMark::absent), 0);
  EXPECT_TRUE(after.code().numbers.empty());
}

// Another pass, and then another model.
TEST_F(IrPairStory, theOtherTextIsThatOfTheOtherGraph) {
  sideBySide();
  const IrPair* pair = window_.findChild<IrPair*>();
  ASSERT_TRUE(pair->isSideBySide());
  canvas()->setFocus();
  press("J");
  EXPECT_EQ(pair->otherStep(), canvas()->graph()->step - 1);
  open("/samples/models/gru/model.onnx");
  EXPECT_TRUE(!pair->isSideBySide() || pair->otherStep() == canvas()->graph()->step - 1);
  EXPECT_FALSE(pair->view()->toPlainText().contains("embeddings"));
  EXPECT_FALSE(pair->other()->toPlainText().contains("embeddings")) << "of the model that is gone";
}

}  // namespace
}  // namespace dyn::ui
