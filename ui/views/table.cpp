#include "ui/views/table.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QTableWidget>
#include <algorithm>

namespace dyn::ui {

namespace {

// Copies whole rows, and keeps them as high as the letters.
class TableManners : public QObject {
 public:
  explicit TableManners(QTableWidget* table) : QObject(table), table_(table) { fit(); }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::FontChange) fit();
    const bool copies =
        event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->matches(QKeySequence::Copy);
    if (!copies || table_->currentRow() < 0) return QObject::eventFilter(watched, event);
    QStringList cells;
    for (int column = 0; column < table_->columnCount(); ++column)
      if (const QTableWidgetItem* item = table_->item(table_->currentRow(), column);
          item && !table_->isColumnHidden(column))
        cells << item->text();
    QGuiApplication::clipboard()->setText(cells.join('\t'));
    return true;
  }

 private:
  void fit() {
    table_->verticalHeader()->setDefaultSectionSize(std::max(22, table_->fontMetrics().height() + 6));
  }
  QTableWidget* table_;
};

// Sorts by what it stands for.
class NumberItem : public QTableWidgetItem {
 public:
  NumberItem(const QString& text, double value) : QTableWidgetItem(text), value_(value) {}
  bool operator<(const QTableWidgetItem& other) const override {
    const auto* number = dynamic_cast<const NumberItem*>(&other);
    return number ? value_ < number->value_ : QTableWidgetItem::operator<(other);
  }

 private:
  double value_;
};

}  // namespace

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
  table->setWordWrap(false);
  table->setTextElideMode(Qt::ElideMiddle);  // what tells names apart stands at their end
  table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  table->installEventFilter(new TableManners(table));
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

void setNumber(QTableWidget* table, int row, int column, const QString& text, double value) {
  auto* item = new NumberItem(text, value);
  item->setToolTip(text);
  item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
  table->setItem(row, column, item);
}

QString htmlRow(const QString& key, const QString& value) {
  return "<tr><td style='padding-right:8px'><b>" + key + "</b></td><td>" + value + "</td></tr>";
}

QString html(const std::string& text) { return QString::fromStdString(text).toHtmlEscaped(); }

}  // namespace dyn::ui
