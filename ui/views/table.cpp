#include "ui/views/table.h"

#include <QApplication>
#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QPainter>
#include <QTableWidget>
#include <algorithm>

#include "ui/support/theme.h"
#include "ui/views/table_copy.h"

namespace dyn::ui {

namespace {

// Around the text of a header: its padding, and the margins of the style.
constexpr int kAroundHeader = 27;

int headerWidth(const QTableWidget* table, int column) {
  const QTableWidgetItem* header = table->horizontalHeaderItem(column);
  if (!header || header->text().isEmpty()) return 0;
  return table->horizontalHeader()->fontMetrics().horizontalAdvance(header->text()) + kAroundHeader;
}

// No header is cut.
void widenToHeaders(QTableWidget* table) {
  for (int column = 0; column < table->columnCount(); ++column) {
    const int needed = headerWidth(table, column);
    if (!table->isColumnHidden(column) && table->columnWidth(column) < needed)
      table->setColumnWidth(column, needed);
  }
}

// Copies whole rows, and keeps them as high as the letters.
class TableManners : public QObject {
 public:
  explicit TableManners(QTableWidget* table) : QObject(table), table_(table) { fit(); }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::FontChange) fit();
    // Until a table is shown, its letters are not yet those of the theme.
    if (event->type() == QEvent::FontChange || event->type() == QEvent::Show) widenToHeaders(table_);
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

// Says why there are no rows.
class EmptyText : public QObject {
 public:
  EmptyText(QTableWidget* table, const QString& text) : QObject(table), table_(table), text_(text) {
    table->viewport()->installEventFilter(this);
  }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() != QEvent::Paint || table_->rowCount() > 0) return QObject::eventFilter(watched, event);
    QPainter painter(table_->viewport());
    painter.setPen(table_->palette().color(QPalette::PlaceholderText));
    painter.drawText(table_->viewport()->rect().adjusted(8, 8, -8, -8),
                     Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap, text_);
    return true;
  }

 private:
  QTableWidget* table_;
  QString text_;
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

// Numbers stand below each other, and their header above them.
void alignRight(QTableWidget* table, int column, QTableWidgetItem* item) {
  item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
  if (QTableWidgetItem* header = table->horizontalHeaderItem(column))
    header->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
}

// Hides columns of less use while another one has too little room.
class ColumnRoom : public QObject {
 public:
  ColumnRoom(QTableWidget* table, int column, const QList<int>& giveWay)
      : QObject(table), table_(table), column_(column), giveWay_(giveWay) {
    table->viewport()->installEventFilter(this);
    table->horizontalHeader()->setSectionResizeMode(column, QHeaderView::Stretch);
  }
  void showAll() {
    for (const int column : giveWay_) table_->setColumnHidden(column, false);
  }
  void arrange() {
    showAll();
    for (const int column : giveWay_) {
      if (roomOf() >= needed_) return;
      table_->setColumnHidden(column, true);
    }
  }
  void measure() {
    needed_ = 0;
    for (int row = 0; row < table_->rowCount(); ++row)
      if (const QTableWidgetItem* item = table_->item(row, column_))
        needed_ = std::max(needed_, table_->fontMetrics().horizontalAdvance(item->text()) + kAround);
    needed_ = std::min(needed_, kMostNeeded);
  }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::Resize) arrange();
    return QObject::eventFilter(watched, event);
  }

 private:
  static constexpr int kAround = 14, kMostNeeded = 160;
  int roomOf() const {
    int room = table_->viewport()->width();
    for (int column = 0; column < table_->columnCount(); ++column)
      if (column != column_ && !table_->isColumnHidden(column)) room -= table_->columnWidth(column);
    return room;
  }
  QTableWidget* table_;
  int column_, needed_ = 0;
  QList<int> giveWay_;
};

// The one of the table, if any.
ColumnRoom* roomOf(const QTableWidget* table) {
  for (QObject* child : table->children())
    if (auto* room = dynamic_cast<ColumnRoom*>(child)) return room;
  return nullptr;
}

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
  table->horizontalHeader()->setMinimumSectionSize(30);
  offerCopies(table);
}

void setCell(QTableWidget* table, int row, int column, const QString& text, CellAlignment alignment) {
  auto* item = new QTableWidgetItem(text);
  item->setToolTip(text);
  if (alignment == CellAlignment::right) alignRight(table, column, item);
  table->setItem(row, column, item);
}

void setNumber(QTableWidget* table, int row, int column, const QString& text, double value) {
  auto* item = new NumberItem(text, value);
  item->setToolTip(text);
  alignRight(table, column, item);
  table->setItem(row, column, item);
}

void fitColumns(QTableWidget* table, const QList<ColumnCap>& caps) {
  table->ensurePolished();
  table->horizontalHeader()->ensurePolished();
  ColumnRoom* room = roomOf(table);
  if (room) room->showAll();  // a hidden column is not measured
  table->resizeColumnsToContents();
  widenToHeaders(table);
  for (const auto& [column, most] : caps)
    table->setColumnWidth(column, std::min(table->columnWidth(column), most));
  if (room) {
    room->measure();
    room->arrange();
  }
}

void keepRoomFor(QTableWidget* table, int column, const QList<int>& giveWay) {
  (new ColumnRoom(table, column, giveWay))->arrange();
}

void setEmptyText(QTableWidget* table, const QString& text) { new EmptyText(table, text); }

QString htmlRow(const QString& key, const QString& value) {
  const QString quiet = themeColors(isDark(QApplication::palette())).quiet.name();
  return "<tr><td style='padding-right:10px; padding-bottom:3px; color:" + quiet + "'>" + key +
         "</td><td style='padding-bottom:3px'>" + value + "</td></tr>";
}

QString htmlTitle(const QString& text) {
  return QString("<p style='margin-top:0; margin-bottom:6px; font-weight:600; font-size:%1pt'>%2</p>")
      .arg(fontOf(TextStep::section).pointSizeF(), 0, 'f', 1)
      .arg(text);
}

QString htmlLine(const QString& text) {
  return "<p style='margin-top:0; margin-bottom:2px'>" + text + "</p>";
}

QString htmlSection(const QString& text) {
  return "<p style='margin-top:12px; margin-bottom:3px; font-weight:600'>" + text + "</p>";
}

QString html(const std::string& text) { return QString::fromStdString(text).toHtmlEscaped(); }

}  // namespace dyn::ui
