// Names and formulas as the window writes them.
#include <gtest/gtest.h>

#include <QApplication>
#include <QTableWidget>

#include "ui/support/axis_step.h"
#include "ui/support/formula_text.h"
#include "ui/support/short_name.h"
#include "ui/views/table.h"

namespace dyn::ui {
namespace {

TEST(ShortName, thePrefixThatAllShareEndsWithAPart) {
  EXPECT_EQ(sharedPrefix({}), 0);
  EXPECT_EQ(sharedPrefix({"/bert/layer.0/MatMul"}), 0) << "a single name is all of it";
  EXPECT_EQ(sharedPrefix({"/bert/layer.0/MatMul", "/bert/layer.11/MatMul"}), 6);
  EXPECT_EQ(sharedPrefix({"/bert/a", "/bert/a"}), 6) << "the last part tells which it is";
  EXPECT_EQ(sharedPrefix({"a", "b"}), 0);
  EXPECT_EQ(sharedPrefix({"model.layers.0.mlp", "model.layers.1.mlp"}), 13);
}

TEST(ShortName, theMiddleIsLeftOutAndTheLastTwoPartsStay) {
  const QFontMetrics metrics(QApplication::font());
  const QString name = "/bert/encoder/layer.0/attention/output/dense/MatMul";
  const qsizetype prefix = 14;
  EXPECT_EQ(elidedName(name, prefix, metrics, 10'000), name);
  QString before = name;
  for (int width = metrics.horizontalAdvance(name); width > 20; --width) {
    const QString shown = elidedName(name, prefix, metrics, width);
    EXPECT_LE(metrics.horizontalAdvance(shown), width) << shown.toStdString();
    EXPECT_LE(shown.size(), before.size()) << "less room, no longer name";
    if (width > metrics.horizontalAdvance(QString::fromUtf8("…dense/MatMul"))) {
      EXPECT_TRUE(shown.endsWith("dense/MatMul")) << shown.toStdString();
    }
    before = shown;
  }
  EXPECT_EQ(elidedName(name, prefix, metrics, metrics.horizontalAdvance(name) - 1),
            QString::fromUtf8("…layer.0/attention/output/dense/MatMul"));
}

TEST(ShortName, aLocationIsItsNode) {
  EXPECT_EQ(nodeOfPlace(QString("m.onnx: byte 7: node /layer/MatMul (MatMul, opset 17)")), "/layer/MatMul");
  EXPECT_EQ(nodeOfPlace(QString("m.dyn:3:5")), "m.dyn:3:5");
}

// The cell holds the whole name, which is what is copied and what its tooltip says.
TEST(ShortName, aCellPaintsTheShortNameAndKeepsTheWholeOne) {
  QTableWidget table;
  prepareTable(&table, "names", {"Name"});
  auto* names = new NameDelegate(&table);
  table.setItemDelegateForColumn(0, names);
  const QStringList all = {"/bert/encoder/layer.0/output/dense/MatMul",
                           "/bert/encoder/layer.1/output/dense/Add"};
  table.setRowCount(2);
  for (int row = 0; row < 2; ++row) setCell(&table, row, 0, all[row]);
  names->setNames(all);
  EXPECT_EQ(names->prefix(), 14);
  table.setColumnWidth(0, 120);
  table.resize(300, 100);
  const QImage narrow = table.grab().toImage();
  names->setNames({});
  EXPECT_NE(table.grab().toImage(), narrow);
  EXPECT_EQ(table.item(0, 0)->text(), all[0]);
  EXPECT_EQ(table.item(0, 0)->toolTip(), all[0]);
}

TEST(FormulaText, countsHaveUnits) {
  EXPECT_EQ(countInUnits(0), "0");
  EXPECT_EQ(countInUnits(9'999), "9999");
  EXPECT_EQ(countInUnits(12'288), "12.3 k");
  EXPECT_EQ(countInUnits(109'482'240), "109 M");
  EXPECT_EQ(countInUnits(1.1e10), "11.0 G");
  EXPECT_EQ(countInUnits(999'999), "1.00 M");
  EXPECT_EQ(countInUnits(3.2e15), "3200 T");
}

TEST(FormulaText, productsPowersAndDivisionsAreWrittenAsPeopleDo) {
  const auto text = [](const char* formula) { return formulaText(formula).toStdString(); };
  EXPECT_EQ(text("170016768*batch*seq + 18432*batch*seq*seq"), "170 M·batch·seq + 18.4 k·batch·seq²");
  EXPECT_EQ(text("64*floordiv(h + 15, 16)"), "64·⌈h/16⌉");
  EXPECT_EQ(text("floordiv(batch*seq + 15, 16)"), "⌈batch·seq/16⌉");
  EXPECT_EQ(text("floordiv(h + 1, 16)"), "⌊(h + 1)/16⌋");
  EXPECT_EQ(text("ceildiv(n, k)"), "⌈n/k⌉");
  EXPECT_EQ(text("min(512, seq)*8"), "min(512, seq)·8");
  EXPECT_EQ(text("n*n*n"), "n³");
  EXPECT_EQ(text("4"), "4");
  // Within each other, and around other functions.
  EXPECT_EQ(text("floordiv(3*floordiv(h + 15, 16)*floordiv(w + 15, 16) + 15, 16)"), "⌈3·⌈h/16⌉·⌈w/16⌉/16⌉");
  EXPECT_EQ(text("64*floordiv(max(12*floordiv(h + 15, 16), n*n) + 63, 64)"), "64·⌈max(12·⌈h/16⌉, n·n)/64⌉");
  EXPECT_EQ(text("max(floordiv(n, 2), 3)"), "max(⌊n/2⌋, 3)");
  EXPECT_EQ(formulaText("12288*n", Numbers::exact).toStdString(), "12288·n");
}

TEST(FormulaText, whatABoxShowsIsFound) {
  for (const char* formula :
       {"3*floordiv(h + 15, 16)*floordiv(w + 15, 16)", "floordiv(n, 2)", "12288*n*n", "past + seq",
        "min(512, seq)", "floordiv(h + 1, 16)", "floordiv(3*floordiv(h + 15, 16) + 15, 16)"})
    EXPECT_EQ(plainFormula(formulaText(formula, Numbers::exact)).toStdString(), formula);
}

TEST(FormulaText, dimsAreDividedOutsideOfBrackets) {
  EXPECT_EQ(dimsOf("batch, min(512, seq), 768"), QStringList({"batch", "min(512, seq)", "768"}));
  EXPECT_EQ(dimsOf(""), QStringList());
}

TEST(AxisStep, isARoundNumber) {
  EXPECT_EQ(decimalStep(370e6, 5), 100e6);
  EXPECT_EQ(decimalStep(7, 4), 2);
  EXPECT_EQ(bytesStep(864.1 * 1024, 5), 200 * 1024);
  EXPECT_EQ(bytesStep(3, 10), 1) << "there is no half of a byte";
  EXPECT_EQ(withoutZeros("200.0 KiB"), "200 KiB");
  EXPECT_EQ(withoutZeros("1.50 ms"), "1.5 ms");
  EXPECT_EQ(withoutZeros("10 ms"), "10 ms");
}

}  // namespace
}  // namespace dyn::ui
