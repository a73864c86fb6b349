#include "ui/graph/graph_overlay.h"

#include <algorithm>

#include "ui/support/theme.h"

namespace dyn::ui {

QColor overlayColor(double part) {
  static constexpr Rgb kStops[] = {{244, 240, 250}, {166, 148, 214}, {84, 32, 140}};
  return gradient(kStops, part);
}

QColor overlayTextColor(int text, bool dark) {
  constexpr Category kColors[kMostOverlayTexts] = {Category::contraction, Category::movement,
                                                   Category::reduction,   Category::elementwise,
                                                   Category::control,     Category::boundary};
  return categoryFill(text < kMostOverlayTexts ? kColors[text] : Category::other, dark);
}

QColor OverlayMarks::fillOf(const OverlayMark& mark, bool dark) const {
  if (mark.kind == OverlayMark::Kind::text) return overlayTextColor(mark.text, dark);
  if (mark.kind != OverlayMark::Kind::number) return {};
  return overlayColor(largest > least ? (mark.number - least) / (largest - least) : 1);
}

QString overlayText(const OverlayEntry& entry, const QString& unit) {
  if (!entry.number) return QString::fromStdString(entry.text);
  return QString::number(*entry.number, 'g', 4) + (unit.isEmpty() ? "" : " " + unit);
}

OverlayMarks overlayMarks(const Overlay& overlay, const OverlayOnGraph& on, const GraphScene& scene) {
  using Kind = OverlayMark::Kind;
  OverlayMarks marks;
  marks.boxes.resize(scene.boxes.size());
  marks.title = QString::fromStdString(overlay.title);
  marks.unit = QString::fromStdString(overlay.unit);
  marks.hasNumbers = on.least.has_value();
  marks.least = on.least.value_or(0);
  marks.largest = on.largest.value_or(0);
  for (const std::string& text : on.texts) marks.texts << QString::fromStdString(text);
  for (size_t n = 0; n < on.entryOfNode.size() && n < scene.boxOfNode.size(); ++n) {
    if (on.entryOfNode[n] < 0 || scene.boxOfNode[n] < 0) continue;
    const OverlayEntry& entry = overlay.entries[static_cast<size_t>(on.entryOfNode[n])];
    const size_t box = static_cast<size_t>(scene.boxOfNode[n]);
    OverlayMark& mark = marks.boxes[box];
    const QString text = overlayText(entry, marks.unit);
    if (entry.number) {
      if (mark.kind == Kind::number && mark.number >= *entry.number) continue;
      mark.kind = Kind::number;
      mark.number = *entry.number;
      mark.shown = scene.boxes[box].node < 0 ? "up to " + text : text;
    } else if (mark.kind == Kind::none) {
      mark.kind = Kind::text;
      mark.text = static_cast<int>(marks.texts.indexOf(text));
      mark.shown = text;
    } else if (mark.kind == Kind::text && mark.shown != text) {
      mark.kind = Kind::texts;
      mark.shown = "several values";
    }
  }
  return marks;
}

}  // namespace dyn::ui
