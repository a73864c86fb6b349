// The legend in the corner of a graph: what the colours of a run, or of two steps, mean.
#pragma once

#include <QSize>

#include "ui/graph/graph_painter.h"

namespace dyn::ui {

// In the lower left corner of `size`; nothing where the colours are those of operators, and all of them run
// on the host.
int legendHeight(const BoxMarks& marks, const QFont& font);  // with its margin; 0: absent
void paintLegend(QPainter& painter, QSize size, const BoxMarks& marks, const QPalette& palette);

}  // namespace dyn::ui
