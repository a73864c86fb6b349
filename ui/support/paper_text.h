// A label over a plot: letters on paper of their own, so that curves, blocks and patterns behind them do not
// cross them.
#pragma once

#include <QPainter>
#include <QPalette>

namespace dyn::ui {

// `baseline`: where the first letter stands. The pen stays as it is.
inline void paintOnPaper(QPainter& painter, QPointF baseline, const QString& text, const QPalette& palette) {
  const QFontMetricsF metrics = QFontMetricsF(painter.font());
  QColor paper = palette.color(QPalette::Base);
  paper.setAlpha(215);
  painter.fillRect(QRectF(baseline.x() - 2, baseline.y() - metrics.ascent(),
                          metrics.horizontalAdvance(text) + 4, metrics.height()),
                   paper);
  painter.drawText(baseline, text);
}

}  // namespace dyn::ui
