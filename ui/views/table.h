// Tables and rows of text as all panels show them.
#pragma once

#include <QList>
#include <QString>
#include <QStringList>

class QTableWidget;

namespace dyn::ui {

enum class CellAlignment : uint8_t { left, right };

QTableWidget* makeTable(const QString& name, const QStringList& headers);
void prepareTable(QTableWidget* table, const QString& name, const QStringList& headers);
void setCell(QTableWidget* table, int row, int column, const QString& text,
             CellAlignment alignment = CellAlignment::left);
// At the right, and sorted by its value.
void setNumber(QTableWidget* table, int row, int column, const QString& text, double value);
// As wide as cells and headers need, and at most as wide, in pixels, as the column's cap says.
struct ColumnCap {
  int column, most;
};
void fitColumns(QTableWidget* table, const QList<ColumnCap>& caps = {});
// The column takes the room that the others leave. Where its cells do not fit, the columns of `giveWay` are
// hidden, the first of them first. After cells changed: fitColumns().
void keepRoomFor(QTableWidget* table, int column, const QList<int>& giveWay);
// Shown in place of rows, while there are none.
void setEmptyText(QTableWidget* table, const QString& text);
// "<tr>..." with the key of less weight; `value` is HTML.
QString htmlRow(const QString& key, const QString& value);
// Of a page: a step larger, and above a part of it.
QString htmlTitle(const QString& text);
QString htmlLine(const QString& text);  // a paragraph; `text` is HTML
QString htmlSection(const QString& text);
QString html(const std::string& text);  // escaped

}  // namespace dyn::ui
