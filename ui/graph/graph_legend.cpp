#include "ui/graph/graph_legend.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ui/support/theme.h"

namespace dyn::ui {

namespace {

constexpr int kMargin = 10, kBar = 120, kHigh = 10;

QFont legendFont(QFont font) {
  font.setPixelSize(11);
  return font;
}

int barHeight(const QFontMetrics& metrics) { return metrics.height() + kMargin; }

void frame(QPainter& painter, const QRect& rect, const QPalette& palette) {
  QColor paper = palette.color(QPalette::Base);
  paper.setAlpha(225);
  painter.setPen(QPen(palette.color(QPalette::Mid), 1));
  painter.setBrush(paper);
  painter.drawRoundedRect(rect, 5, 5);
  painter.setPen(palette.color(QPalette::Text));
}

// "0   of the longest box   1.2 ms"
void paintHeat(QPainter& painter, QSize size, const BoxMarks& marks, const QPalette& palette) {
  const QFontMetrics metrics = painter.fontMetrics();
  const QString most =
      timeText(marks.mostNs) + QString::fromUtf8(" · ") +
      QString::number(
          marks.sumNs > 0 ? 100.0 * static_cast<double>(marks.mostNs) / static_cast<double>(marks.sumNs) : 0,
          'f', 1) +
      "%";
  const QString least = marks.logarithmicHeat ? timeText(std::max<int64_t>(1, marks.mostNs / 1000)) : "0";
  const int width =
      3 * kMargin + kBar + metrics.horizontalAdvance(least) + metrics.horizontalAdvance(most) + 8;
  const int height = barHeight(metrics);
  const QRect rect(kMargin, size.height() - height - kMargin, width, height);
  frame(painter, rect, palette);
  int x = rect.left() + kMargin;
  const int base = rect.center().y() + metrics.ascent() / 2 - 1;
  painter.drawText(x, base, least);
  x += metrics.horizontalAdvance(least) + 4;
  for (int i = 0; i < kBar; ++i)
    painter.fillRect(x + i, rect.center().y() - kHigh / 2, 1, kHigh, heatColor(double(i) / kBar));
  painter.setPen(palette.color(QPalette::Text));
  painter.drawText(x + kBar + 4, base, most);
}

// "half   the same   twice"
void paintRatios(QPainter& painter, QSize size, const QPalette& palette) {
  const QFontMetrics metrics = painter.fontMetrics();
  const QString half = "half the time", twice = "twice the time";
  const int width =
      3 * kMargin + kBar + metrics.horizontalAdvance(half) + metrics.horizontalAdvance(twice) + 8;
  const int height = barHeight(metrics);
  const QRect rect(kMargin, size.height() - height - kMargin, width, height);
  frame(painter, rect, palette);
  int x = rect.left() + kMargin;
  const int base = rect.center().y() + metrics.ascent() / 2 - 1;
  painter.drawText(x, base, half);
  x += metrics.horizontalAdvance(half) + 4;
  for (int i = 0; i < kBar; ++i)
    painter.fillRect(x + i, rect.center().y() - kHigh / 2, 1, kHigh,
                     ratioColor(std::exp2(2.0 * i / kBar - 1), isDark(palette)));
  painter.setPen(palette.color(QPalette::Text));
  painter.drawText(x + kBar + 4, base, twice);
}

struct LegendRow {
  QColor color, border;
  QString what;
};

// Squares of colours with what they mean, `above` the lower edge.
void paintRows(QPainter& painter, QSize size, int above, const std::vector<LegendRow>& rows,
               const QPalette& palette) {
  const QFontMetrics metrics = painter.fontMetrics();
  int width = kMargin;
  for (const LegendRow& row : rows) width += kHigh + 5 + metrics.horizontalAdvance(row.what) + kMargin;
  const int height = barHeight(metrics);
  const QRect rect(kMargin, size.height() - height - kMargin - above, width, height);
  frame(painter, rect, palette);
  int x = rect.left() + kMargin;
  for (const LegendRow& row : rows) {
    painter.fillRect(x, rect.center().y() - kHigh / 2, kHigh, kHigh, row.border);
    painter.fillRect(x + 2, rect.center().y() - kHigh / 2 + 2, kHigh - 4, kHigh - 4, row.color);
    x += kHigh + 5;
    painter.drawText(x, rect.center().y() + metrics.ascent() / 2 - 1, row.what);
    x += metrics.horizontalAdvance(row.what) + kMargin;
  }
}

void paintChanges(QPainter& painter, QSize size, const QPalette& palette) {
  const auto row = [dark = isDark(palette)](BoxChange change, const char* what) {
    return LegendRow{changeFill(change, dark), changeColor(change, dark), what};
  };
  paintRows(
      painter, size, 0,
      {row(BoxChange::added, "new"), row(BoxChange::changed, "changed"), row(BoxChange::removed, "removed")},
      palette);
}

// "+ new   ~ changed   - removed", above the scale of the heat
void paintSigns(QPainter& painter, QSize size, int above, const QPalette& palette) {
  QStringList words;
  for (const auto& [change, what] :
       {std::pair(BoxChange::added, "new"), std::pair(BoxChange::changed, "changed"),
        std::pair(BoxChange::removed, "removed")})
    words << changeSign(change) + " " + what;
  const QString text = words.join("    ");
  const QFontMetrics metrics = painter.fontMetrics();
  const int height = barHeight(metrics);
  const QRect rect(kMargin, size.height() - height - kMargin - above,
                   2 * kMargin + metrics.horizontalAdvance(text), height);
  frame(painter, rect, palette);
  painter.drawText(rect, Qt::AlignCenter, text);
}

void paintSides(QPainter& painter, QSize size, int above, const QPalette& palette) {
  const auto row = [](const QColor& color, const char* what) { return LegendRow{color, color, what}; };
  const bool dark = isDark(palette);
  paintRows(painter, size, above,
            {row(sideColor(BoxSide::host, dark), "on the host"),
             row(sideColor(BoxSide::device, dark), "on the GPU"), row(copyColor(dark), "copy between them")},
            palette);
}

// "error: -41.5 ... 3.2 dB", and squares of the texts.
void paintOverlay(QPainter& painter, QSize size, const OverlayMarks& overlay, const QPalette& palette) {
  const QFontMetrics metrics = painter.fontMetrics();
  const QString title = metrics.elidedText(overlay.title, Qt::ElideMiddle, 160);
  const QString unit = overlay.unit.isEmpty() ? "" : " " + overlay.unit;
  const QString least = QString::number(overlay.least, 'g', 4),
                largest = QString::number(overlay.largest, 'g', 4) + unit;
  std::vector<LegendRow> rows;
  const bool dark = isDark(palette);
  for (int i = 0; i < std::min<int>(kMostOverlayTexts, static_cast<int>(overlay.texts.size())); ++i)
    rows.push_back({overlayTextColor(i, dark), palette.color(QPalette::Mid),
                    metrics.elidedText(overlay.texts[i], Qt::ElideMiddle, 120)});
  if (overlay.texts.size() > kMostOverlayTexts)
    rows.push_back({overlayTextColor(kMostOverlayTexts, dark), palette.color(QPalette::Mid),
                    QString("%1 more").arg(overlay.texts.size() - kMostOverlayTexts)});
  int width = 2 * kMargin + metrics.horizontalAdvance(title);
  if (overlay.hasNumbers)
    width += 2 * kMargin + kBar + metrics.horizontalAdvance(least) + metrics.horizontalAdvance(largest) + 8;
  for (const LegendRow& row : rows) width += kHigh + 5 + metrics.horizontalAdvance(row.what) + kMargin;
  const QString nothing = "no node of this step is in the file";
  if (!overlay.hasNumbers && rows.empty()) width += metrics.horizontalAdvance(nothing) + kMargin;
  const int height = barHeight(metrics);
  const QRect rect(kMargin, size.height() - height - kMargin, width, height);
  frame(painter, rect, palette);
  int x = rect.left() + kMargin;
  const int base = rect.center().y() + metrics.ascent() / 2 - 1;
  const auto write = [&](const QString& text) {
    painter.setPen(palette.color(QPalette::Text));
    painter.drawText(x, base, text);
    x += metrics.horizontalAdvance(text);
  };
  write(title);
  x += kMargin;
  if (overlay.hasNumbers) {
    write(least);
    x += 4;
    for (int i = 0; i < kBar; ++i)
      painter.fillRect(x + i, rect.center().y() - kHigh / 2, 1, kHigh, overlayColor(double(i) / kBar));
    x += kBar + 4;
    write(largest);
    x += kMargin;
  }
  for (const LegendRow& row : rows) {
    painter.fillRect(x, rect.center().y() - kHigh / 2, kHigh, kHigh, row.border);
    painter.fillRect(x + 1, rect.center().y() - kHigh / 2 + 1, kHigh - 2, kHigh - 2, row.color);
    x += kHigh + 5;
    write(row.what);
    x += kMargin;
  }
  if (!overlay.hasNumbers && rows.empty()) write(nothing);
}

// Colours of a run, or of two steps or runs.
bool hasColors(const BoxMarks& marks) {
  return marks.overlay.isShown() || !marks.changes.empty() || !marks.ratios.empty() || marks.mostNs > 0;
}

}  // namespace

int legendHeight(const BoxMarks& marks, const QFont& font) {
  const int bars =
      (hasColors(marks) ? 1 : 0) + (marks.signsChanges() ? 1 : 0) + (marks.sides.empty() ? 0 : 1);
  return bars * (barHeight(QFontMetrics(legendFont(font))) + kMargin);
}

void paintLegend(QPainter& painter, QSize size, const BoxMarks& marks, const QPalette& palette) {
  painter.save();
  painter.setFont(legendFont(painter.font()));
  if (marks.overlay.isShown())
    paintOverlay(painter, size, marks.overlay, palette);
  else if (!marks.changes.empty() && !marks.signsChanges())
    paintChanges(painter, size, palette);
  else if (!marks.ratios.empty() && !marks.signsChanges())
    paintRatios(painter, size, palette);
  else if (marks.mostNs > 0)
    paintHeat(painter, size, marks, palette);
  const int bar = barHeight(painter.fontMetrics()) + kMargin;
  if (marks.signsChanges()) paintSigns(painter, size, bar, palette);
  if (!marks.sides.empty())
    paintSides(painter, size, (hasColors(marks) ? bar : 0) + (marks.signsChanges() ? bar : 0), palette);
  painter.restore();
}

}  // namespace dyn::ui
