// The text view: what it costs, what it folds, finds, marks and copies.
#include "ui/views/code/code_view.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QImage>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>

#include "app/session/views/pass_views.h"
#include "tests/support/watched_application.h"
#include "ui/views/code/ir_text.h"

namespace dyn::ui {
namespace {

void strikeInCode(QWidget& widget, int key, Qt::KeyboardModifiers with = Qt::NoModifier) {
  QKeyEvent press(QEvent::KeyPress, key, with);
  QApplication::sendEvent(&widget, &press);
}

void mouseOnCode(CodeView& view, QEvent::Type type, QPointF at) {
  const bool up = type == QEvent::MouseButtonRelease;
  QMouseEvent event(type, at, view.viewport()->mapToGlobal(at),
                    type == QEvent::MouseMove ? Qt::NoButton : Qt::LeftButton,
                    up ? Qt::NoButton : Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(view.viewport(), &event);
}

std::shared_ptr<CodeText> folded(std::string text) {
  auto code = std::make_shared<CodeText>(std::move(text));
  code->folds = foldsOf(*code);
  return code;
}

std::string tokens(std::string_view line) {
  std::string text;
  for (const Token& token : tokensOf(line))
    text += std::to_string(static_cast<int>(token.kind)) + ":" +
            std::string(line.substr(token.begin, token.end - token.begin)) + "|";
  return text;
}

TEST(CodeText, linesAndColumns) {
  const CodeText text("ab\n\n\tx\nh\xc3\xa9");
  ASSERT_EQ(text.lineCount(), 4u);
  EXPECT_EQ(text.line(0), "ab");
  EXPECT_EQ(text.line(1), "");
  EXPECT_EQ(text.columns(2), 9u);
  EXPECT_EQ(text.columns(3), 2u);
  EXPECT_EQ(text.widest(), 9u);
  EXPECT_EQ(CodeText("").lineCount(), 0u);
  EXPECT_EQ(CodeText("\n").lineCount(), 1u);
}

TEST(CodeText, tokensOfAllLevels) {
  EXPECT_EQ(tokens("  %y = relu(%x) : Tensor[(n, 3), f32]"), "2:%y|4:relu|2:%x|5:Tensor|6:3|5:f32|");
  EXPECT_EQ(tokens("%\"/a/b/c/d\""), "3:%\"/a/b/|2:c/d\"|");
  EXPECT_EQ(tokens("\tvmovups\t%zmm7, -64(%rdi)"), "2:%zmm7|6:-64|2:%rdi|");
  EXPECT_EQ(tokens("place 4 ; \"m.onnx\""), "1:place|6:4|8:; \"m.onnx\"|");
  EXPECT_EQ(tokens("%\"open"), "2:%\"open|") << "a quote that does not end";
}

TEST(CodeText, foldsAreBlocksAndAsides) {
  const auto text = folded(
      "dim a == b\ndim c == d\nfn @main() {\n  %y = fused() body () {\n    %a = relu(%x)\n    return %a\n  "
      "}\n"
      "  return %y\n}\n");
  ASSERT_EQ(text->folds.size(), 3u);
  EXPECT_TRUE(text->folds[0].closed);
  EXPECT_EQ(text->folds[0].last, 1u);
  EXPECT_EQ(text->folds[1].first, 2u);
  EXPECT_EQ(text->folds[1].last, 7u);
  EXPECT_EQ(text->folds[2].first, 3u);
  EXPECT_EQ(text->folds[2].last, 5u);
}

TEST(CodeText, differencesInALine) {
  using List = std::vector<Columns>;
  const WordDifference renamed = wordsThatDiffer("%y = relu(%x)", "%y = tanh(%x)");
  EXPECT_EQ(renamed.before, (List{{5, 9}}));
  EXPECT_EQ(renamed.after, (List{{5, 9}}));
  const WordDifference two = wordsThatDiffer("%y = add(%a, %b) : f32[2]", "%y = add(%c, %b) : f32[2, 3]");
  EXPECT_EQ(two.before, (List{{9, 11}})) << "what only came is not marked where it was not";
  EXPECT_EQ(two.after, (List{{9, 11}, {24, 27}})) << "words in between that are the same have no mark";
  EXPECT_EQ(wordsThatDiffer("a b", "a c b").after, (List{{2, 4}}));
  EXPECT_TRUE(wordsThatDiffer("", "x").before.empty());
  EXPECT_EQ(wordsThatDiffer("", "x").after, (List{{0, 1}}));
  EXPECT_EQ(wordsThatDiffer("\xc3\xa9", "\xc3\xa8").before, (List{{0, 1}})) << "whole characters";
  const WordDifference same = wordsThatDiffer("%y = relu(%x)", "%y = relu(%x)");
  EXPECT_TRUE(same.before.empty() && same.after.empty());
  std::string many, others;
  for (int i = 0; i < 3000; ++i)
    many += "a" + std::to_string(i) + " ", others += "b" + std::to_string(i) + " ";
  EXPECT_EQ(wordsThatDiffer(many, others).before.size(), 1u) << "of very many words one mark";
}

TEST(CodeView, foldedLinesTakeNoRowsAndOpenWhenShown) {
  CodeView view;
  view.resize(500, 400);
  view.show();
  view.setCode(folded("dim a\ndim b\ndim c\nfn @f() {\n  %a = x()\n  %b = y()\n}\nend\n"));
  EXPECT_TRUE(view.isHidden(1) && view.isHidden(2));
  EXPECT_FALSE(view.isHidden(3));
  EXPECT_EQ(view.lineRect(3).top(), view.lineRect(0).bottom() + 1);
  view.setFolded(3, true);
  EXPECT_TRUE(view.isHidden(4) && view.isHidden(5));
  EXPECT_FALSE(view.isHidden(6));
  view.showLine(5);
  EXPECT_FALSE(view.isHidden(5));
  EXPECT_TRUE(view.isHidden(1)) << "only what hides it opens";
  // The sign beside the line number.
  const QRect row = view.lineRect(0);
  mouseOnCode(view, QEvent::MouseButtonPress, QPointF(row.left() - 10, row.center().y()));
  EXPECT_FALSE(view.isHidden(1));
}

TEST(CodeView, choosesSelectsFindsAndCopies) {
  CodeView view;
  view.resize(500, 400);
  view.show();
  view.setCode(folded("alpha beta\ngamma Beta\ndelta\n"));
  std::vector<int> chosen;
  QObject::connect(&view, &CodeView::lineChosen, [&](int line) { chosen.push_back(line); });
  const QPointF first(view.lineRect(0).left() + 1, view.lineRect(0).center().y());
  mouseOnCode(view, QEvent::MouseButtonPress, first);
  mouseOnCode(view, QEvent::MouseButtonRelease, first);
  strikeInCode(view, Qt::Key_Down);
  EXPECT_EQ(chosen, (std::vector<int>{0, 1}));
  EXPECT_EQ(view.findCount("beta"), 2);
  strikeInCode(view, Qt::Key_Home, Qt::ControlModifier);
  EXPECT_TRUE(view.find("BETA"));
  EXPECT_EQ(view.selectedText(), "beta");
  EXPECT_TRUE(view.find("beta"));
  EXPECT_EQ(view.selectedText(), "Beta");
  EXPECT_TRUE(view.find("beta"));
  EXPECT_EQ(view.currentLine(), 0) << "round the end";
  EXPECT_TRUE(view.find("beta", CodeView::Direction::backward));
  EXPECT_EQ(view.currentLine(), 1);
  EXPECT_FALSE(view.find("epsilon"));
  mouseOnCode(view, QEvent::MouseButtonPress, first);
  mouseOnCode(view, QEvent::MouseMove, QPointF(view.width() - 40, view.lineRect(1).center().y()));
  mouseOnCode(view, QEvent::MouseButtonRelease, QPointF(view.width() - 40, view.lineRect(1).center().y()));
  EXPECT_EQ(view.selectedText(), "alpha beta\ngamma Beta");
  strikeInCode(view, Qt::Key_C, Qt::ControlModifier);
  EXPECT_EQ(QApplication::clipboard()->text(), "alpha beta\ngamma Beta");
}

// The path in front of a name is folded away, and is there for who copies or searches it.
TEST(CodeView, pathsOfNamesAreFolded) {
  CodeView view;
  view.resize(600, 300);
  view.show();
  view.setShortNames(true);
  const QString text =
      "%\"/encoder/layer.0/self/MatMul\" = matmul(%\"/encoder/layer.0/self/Add\", %x)\n%\"/y\" = "
      "relu(%\"/a/b\")\n";
  view.setPlainText(text);
  EXPECT_EQ(view.code().line(0), "%\"…/self/MatMul\" = matmul(%\"…/self/Add\", %x)");
  EXPECT_EQ(view.code().line(1), "%\"/y\" = relu(%\"/a/b\")") << "two words are not a path";
  EXPECT_EQ(view.toPlainText(), text);
  EXPECT_EQ(view.lineText(0), text.split('\n').at(0));
  strikeInCode(view, Qt::Key_A, Qt::ControlModifier);
  strikeInCode(view, Qt::Key_C, Qt::ControlModifier);
  EXPECT_EQ(QApplication::clipboard()->text(), text) << "copies are whole";
  EXPECT_TRUE(view.find("MatMul"));
  EXPECT_TRUE(view.hasShortNames());
  EXPECT_EQ(view.findCount("encoder"), 2);
  EXPECT_TRUE(view.find("encoder"));
  EXPECT_FALSE(view.hasShortNames()) << "what is found is seen";
  EXPECT_EQ(view.selectedText(), "encoder");
}

TEST(CodeView, wrapsLongLines) {
  CodeView view;
  view.resize(400, 300);
  view.show();
  view.setPlainText(QString(500, 'x') + "\nshort\n");
  EXPECT_GT(view.horizontalScrollBar()->maximum(), 0);
  const int height = view.lineRect(0).height();
  view.setWrapped(true);
  EXPECT_EQ(view.horizontalScrollBar()->maximum(), 0);
  EXPECT_GT(view.lineRect(0).height(), 5 * height);
  EXPECT_EQ(view.lineRect(1).height(), height);
}

// A change is shown where in its line it is.
TEST(CodeView, differencesAreMarkedInTheirLines) {
  IrTextView view;
  DiffView diff;
  diff.toName = "fuse";
  diff.lines.push_back({DiffKind::changed, 7, "%y = relu(%x)", "%y = tanh(%x)", {"operator"}, "main"});
  diff.lines.push_back({DiffKind::added, 8, "", "%z = exp(%y)", {}, "main"});
  view.showDiff(diff);
  ASSERT_EQ(view.lineCount(), 4);
  EXPECT_EQ(view.code().marks[1], LineMark::before);
  EXPECT_EQ(view.code().marks[3], LineMark::added);
  EXPECT_EQ(view.code().changed[2], (std::vector<Columns>{{7, 11}}));
  EXPECT_EQ(view.nodeAtLine(3), 7u);
  EXPECT_EQ(view.nodeAtLine(4), 8u);
}

// A text of ten megabytes, and a line of one, cost what is seen.
TEST(CodeView, hugeTextsAreShownAtOnce) {
  std::string text;
  for (int i = 0; i < 60'000; ++i)
    text += "  %\"/encoder/layer." + std::to_string(i) + "/attention/MatMul_output_0\" = matmul(%" +
            std::to_string(i) +
            ", %w) {k = dims(64)} : Tensor[(batch, seq, 64), f32] // model.onnx: node /layer/MatMul\n";
  text += "  %c = constant() {value = f32[100000] [" + std::string(1'000'000, '7') + "]}\n";
  const auto code = folded(std::move(text));
  CodeView view;
  view.resize(900, 600);
  view.show();
  double least = 1e9;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const double begin = test::threadMilliseconds();
    view.setCode(code);
    (void)view.grab();
    view.showLine(60'000);
    (void)view.grab();
    least = std::min(least, test::threadMilliseconds() - begin);
  }
  EXPECT_LT(least, 100) << "milliseconds of the processor for two pictures of a long text";
}

}  // namespace
}  // namespace dyn::ui
