// What a table or a tree shows, as text for other programs.
#pragma once

#include <QString>

class QAbstractItemView;

namespace dyn::ui {

enum class TableText : uint8_t { csv, markdown };

// The columns and rows that are not hidden, below their headers. Of a tree also what is closed: the first
// column is indented by two blanks a level.
QString tableText(const QAbstractItemView& view, TableText kind);

// "Copy as CSV", "Copy as Markdown" in its context menu.
void offerCopies(QAbstractItemView* view);

}  // namespace dyn::ui
