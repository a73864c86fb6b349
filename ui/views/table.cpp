#include "ui/views/table.h"

#include <QHeaderView>
#include <QTableWidget>

namespace dyn::ui {

QTableWidget* makeTable(const QString& name, const QStringList& headers) {
  auto* table = new QTableWidget;
  prepareTable(table, name, headers);
  return table;
}

void prepareTable(QTableWidget* table, const QString& name, const QStringList& headers) {
  table->setColumnCount(static_cast<int>(headers.size()));
  table->setObjectName(name);
  table->setHorizontalHeaderLabels(headers);
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(22);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setSelectionMode(QAbstractItemView::SingleSelection);
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setShowGrid(false);
  table->setAlternatingRowColors(true);
  table->horizontalHeader()->setHighlightSections(false);
}

void setCell(QTableWidget* table, int row, int column, const QString& text, CellAlignment alignment) {
  auto* item = new QTableWidgetItem(text);
  item->setToolTip(text);
  if (alignment == CellAlignment::right) item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
  table->setItem(row, column, item);
}

QString htmlRow(const QString& key, const QString& value) {
  return "<tr><td style='padding-right:8px'><b>" + key + "</b></td><td>" + value + "</td></tr>";
}

QString html(const std::string& text) { return QString::fromStdString(text).toHtmlEscaped(); }

}  // namespace dyn::ui
