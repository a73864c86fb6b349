// Tables and trees as text for other programs.
#include "ui/views/table_copy.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QTableWidget>
#include <QTreeWidget>
#include <memory>

#include "ui/views/table.h"

namespace dyn::ui {
namespace {

TEST(TableCopy, aTableAsItIsShown) {
  const std::unique_ptr<QTableWidget> table(makeTable("t", {"Kernel", "Total", "Hidden", "Place"}));
  table->setRowCount(3);
  const char* const kernels[] = {"gemm", "a|b", "say \"no\", twice"};
  for (int row = 0; row < 3; ++row) {
    setCell(table.get(), row, 0, kernels[row]);
    setNumber(table.get(), row, 1, QString("%1 ms").arg(row + 1), row);
    setCell(table.get(), row, 2, "x");
    setCell(table.get(), row, 3, row == 2 ? "two\nlines" : "/layer");
  }
  table->setColumnHidden(2, true);
  EXPECT_EQ(tableText(*table, TableText::csv).toStdString(),
            "Kernel,Total,Place\ngemm,1 ms,/layer\na|b,2 ms,/layer\n\"say \"\"no\"\", twice\",3 "
            "ms,\"two\nlines\"\n");
  table->setRowHidden(0, true);
  EXPECT_EQ(tableText(*table, TableText::markdown).toStdString(),
            "| Kernel | Total | Place |\n| --- | --: | --- |\n| a\\|b | 2 ms | /layer |\n"
            "| say \"no\", twice | 3 ms | two lines |\n");
}

TEST(TableCopy, ofATreeWhatIsClosedToo) {
  QTreeWidget tree;
  tree.setHeaderLabels({"Place", "Time"});
  auto* layer = new QTreeWidgetItem(&tree, {"layer", "3 ms"});
  new QTreeWidgetItem(layer, {"MatMul", "2 ms"});
  EXPECT_EQ(tableText(tree, TableText::csv).toStdString(), "Place,Time\nlayer,3 ms\n  MatMul,2 ms\n");
}

TEST(TableCopy, eachTableOffersIt) {
  const std::unique_ptr<QTableWidget> table(makeTable("t", {"A"}));
  table->setRowCount(1);
  setCell(table.get(), 0, 0, "1");
  ASSERT_EQ(table->contextMenuPolicy(), Qt::ActionsContextMenu);
  ASSERT_EQ(table->actions().size(), 2);
  table->actions()[1]->trigger();
  EXPECT_EQ(QApplication::clipboard()->text().toStdString(), "| A |\n| --- |\n| 1 |\n");
}

}  // namespace
}  // namespace dyn::ui
