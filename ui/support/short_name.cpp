#include "ui/support/short_name.h"

#include <QApplication>
#include <QPainter>
#include <algorithm>

#include "ui/support/theme.h"

namespace dyn::ui {

namespace {

const QString kLeftOut = QString::fromUtf8("…");

// Parts of ONNX nodes are divided by slashes, those of modules by dots.
QChar separatorOf(const QString& name) { return name.contains('/') ? '/' : '.'; }

// Where the last two parts begin.
qsizetype tailOf(const QString& name) {
  const QChar separator = separatorOf(name);
  const qsizetype last = name.lastIndexOf(separator);
  return last <= 0 ? 0 : name.lastIndexOf(separator, last - 1) + 1;
}

}  // namespace

QString nodeOfPlace(const QString& place) {
  const qsizetype node = place.lastIndexOf("node ");
  if (node < 0) return place;
  QString name = place.mid(node + 5).section(" (", 0, 0);
  // Of a node without a name the value that it makes.
  if (name.startsWith("-> ")) name.replace(0, 2, QString::fromUtf8("→"));
  return name;
}

qsizetype sharedPrefix(const QStringList& names) {
  if (names.size() < 2) return 0;
  qsizetype shared = names.first().size();
  for (const QString& name : names) {
    const qsizetype most = std::min(shared, name.size());
    shared = 0;
    while (shared < most && name[shared] == names.first()[shared]) ++shared;
  }
  // No part is cut, and none that tells names apart is dimmed.
  const QString common = names.first().left(shared);
  return common.lastIndexOf(separatorOf(names.first())) + 1;
}

QString elidedName(const QString& name, qsizetype prefix, const QFontMetrics& metrics, int width) {
  if (metrics.horizontalAdvance(name) <= width) return name;
  const QString rest = prefix > 0 && prefix < name.size() ? kLeftOut + name.mid(prefix) : name;
  if (metrics.horizontalAdvance(rest) <= width) return rest;
  const QString tail = kLeftOut + name.mid(tailOf(name));
  const int room = width - metrics.horizontalAdvance(tail);
  if (room < 0) return metrics.elidedText(tail.mid(1), Qt::ElideMiddle, width);
  qsizetype letters = std::max<qsizetype>(0, rest.size() - (name.size() - tailOf(name)));
  while (letters > 0 && metrics.horizontalAdvance(rest.left(letters)) > room) --letters;
  return letters <= 1 ? tail : rest.left(letters) + tail;
}

void NameDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                         const QModelIndex& index) const {
  QStyleOptionViewItem item = option;
  initStyleOption(&item, index);
  if (const QVariant brush = index.data(Qt::BackgroundRole); brush.isValid())
    painter->fillRect(item.rect, brush.value<QBrush>());
  const QString name = std::exchange(item.text, QString());
  const QStyle* style = item.widget ? item.widget->style() : QApplication::style();
  style->drawControl(QStyle::CE_ItemViewItem, &item, painter, item.widget);
  item.text = name;
  const int margin = style->pixelMetric(QStyle::PM_FocusFrameHMargin, &item, item.widget) + 1;
  const QRect room =
      style->subElementRect(QStyle::SE_ItemViewItemText, &item, item.widget).adjusted(margin, 0, -margin, 0);
  const QString shown = elidedName(name, prefix_, item.fontMetrics, room.width());
  const bool chosen = item.state.testFlag(QStyle::State_Selected);
  const QColor ink = item.palette.color(chosen ? QPalette::HighlightedText : QPalette::Text);
  painter->save();
  painter->setFont(item.font);
  const qsizetype dimmed = shown == name ? prefix_ : 0;
  const QString quiet = shown.left(dimmed);
  painter->setPen(chosen ? ink : item.palette.color(QPalette::PlaceholderText));
  painter->drawText(room, Qt::AlignLeft | Qt::AlignVCenter, quiet);
  painter->setPen(ink);
  painter->drawText(room.adjusted(item.fontMetrics.horizontalAdvance(quiet), 0, 0, 0),
                    Qt::AlignLeft | Qt::AlignVCenter, shown.mid(dimmed));
  painter->restore();
}

}  // namespace dyn::ui
