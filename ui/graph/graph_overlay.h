// An overlay on the boxes of a graph: a number or a text of each, the colours of these, and their legend.
#pragma once

#include <QColor>
#include <QString>
#include <QStringList>
#include <vector>

#include "app/session/graph/overlay_file.h"
#include "ui/graph/graph_scene.h"

namespace dyn::ui {

// Of one box. A closed group has the largest number of its operations, and a text only where it is that of
// all.
struct OverlayMark {
  enum class Kind : uint8_t { none, number, text, texts } kind = Kind::none;
  double number = 0;
  int text = -1;  // index into OverlayMarks::texts
  QString shown;  // "1.25 ms", "up to 1.25 ms" of a group, "int8"
};

struct OverlayMarks {
  std::vector<OverlayMark> boxes;  // empty: there is no overlay
  QString title, unit;
  double least = 0, largest = 0;
  bool hasNumbers = false;
  QStringList texts;
  bool isShown() const { return !boxes.empty(); }
  // The colour that stands for the mark; none for one without.
  QColor fillOf(const OverlayMark& mark, bool dark) const;
};

// From pale to deep purple, which no other view has: it reads without colours, too.
QColor overlayColor(double part);
// Of the texts after another; the seventh and those behind share one.
constexpr int kMostOverlayTexts = 6;
QColor overlayTextColor(int text, bool dark);
QString overlayText(const OverlayEntry& entry, const QString& unit);  // "1.25 ms", "int8"

OverlayMarks overlayMarks(const Overlay& overlay, const OverlayOnGraph& on, const GraphScene& scene);

}  // namespace dyn::ui
