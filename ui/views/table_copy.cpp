#include "ui/views/table_copy.h"

#include <QAbstractItemView>
#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QStringList>
#include <QTableView>
#include <QTreeView>

namespace dyn::ui {

namespace {

QString cellText(QString text, TableText kind) {
  if (kind == TableText::markdown) return text.replace('|', "\\|").replace('\n', ' ');
  const bool isPlain = !text.contains(',') && !text.contains('"') && !text.contains('\n');
  return isPlain ? text : '"' + text.replace('"', "\"\"") + '"';
}

class TableWriter {
 public:
  TableWriter(const QAbstractItemView& view, TableText kind)
      : view_(view), model_(*view.model()), kind_(kind) {
    const auto* table = qobject_cast<const QTableView*>(&view);
    const auto* tree = qobject_cast<const QTreeView*>(&view);
    for (int column = 0; column < model_.columnCount(); ++column)
      if (!(table && table->isColumnHidden(column)) && !(tree && tree->isColumnHidden(column)))
        columns_ << column;
  }

  QString text() {
    QStringList headers, rules;
    for (const int column : columns_) {
      headers << cellText(model_.headerData(column, Qt::Horizontal).toString(), kind_);
      const QVariant side = model_.headerData(column, Qt::Horizontal, Qt::TextAlignmentRole);
      rules << (Qt::Alignment(side.toInt()) & Qt::AlignRight ? "--:" : "---");
    }
    line(headers);
    if (kind_ == TableText::markdown) line(rules);
    rows({}, 0);
    return text_;
  }

 private:
  void line(const QStringList& cells) {
    text_ += kind_ == TableText::csv ? cells.join(',') + '\n' : "| " + cells.join(" | ") + " |\n";
  }

  void rows(const QModelIndex& parent, int depth) {
    const auto* table = qobject_cast<const QTableView*>(&view_);
    for (int row = 0; row < model_.rowCount(parent); ++row) {
      if (table && table->isRowHidden(row)) continue;
      QStringList cells;
      for (const int column : columns_) {
        const QString text = model_.index(row, column, parent).data().toString();
        cells << cellText(cells.isEmpty() ? QString(2 * depth, ' ') + text : text, kind_);
      }
      line(cells);
      rows(model_.index(row, 0, parent), depth + 1);
    }
  }

  const QAbstractItemView& view_;
  const QAbstractItemModel& model_;
  TableText kind_;
  QList<int> columns_;
  QString text_;
};

}  // namespace

QString tableText(const QAbstractItemView& view, TableText kind) { return TableWriter(view, kind).text(); }

void offerCopies(QAbstractItemView* view) {
  for (const auto& [title, kind] :
       {std::pair("Copy as CSV", TableText::csv), std::pair("Copy as Markdown", TableText::markdown)}) {
    auto* copy = new QAction(title, view);
    QObject::connect(copy, &QAction::triggered, view,
                     [view, kind = kind] { QGuiApplication::clipboard()->setText(tableText(*view, kind)); });
    view->addAction(copy);
  }
  view->setContextMenuPolicy(Qt::ActionsContextMenu);
}

}  // namespace dyn::ui
