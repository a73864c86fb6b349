#include "ui/graph/graph_painter.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "app/session/views/graph_views.h"
#include "ui/graph/run_ratios.h"
#include "ui/support/theme.h"

namespace dyn::ui {

QFont titleFont() {
  QFont font("DejaVu Sans");
  font.setPixelSize(12);
  font.setWeight(QFont::DemiBold);
  return font;
}

QFont subtitleFont() {
  QFont font("DejaVu Sans");
  font.setPixelSize(10);
  return font;
}

namespace {

constexpr double kLineScale = 0.14;
constexpr double kUsualLetters = 8.5, kLeastLetters = 7;  // pixels of a title
constexpr double kPortText = 6;                           // from a port to its text
constexpr double kFaded = 0.22;                           // what is not traced
const QColor kMatch(255, 196, 0);

constexpr const char* kClasses[] = {"elementwise", "view",       "injective", "reduction", "contraction",
                                    "opaque",      "structural", "check",     "input",     "output",
                                    "neutral",     "constant",   "group"};

// Text follows from the fill.
BoxColors filled(const QColor& fill, const QColor& border) {
  return {fill, border, legibleOn(fill), quietOn(fill)};
}

}  // namespace

BoxColors classColors(const QString& opClass, bool dark) {
  const Category category = categoryOfClass(opClass);
  return filled(categoryFill(category, dark), categoryColor(category, dark));
}

QStringList boxClasses() {
  QStringList names;
  for (const char* name : kClasses) names << name;
  return names;
}

QColor heatColor(double share) {
  static constexpr Rgb kStops[] = {{255, 247, 214}, {254, 204, 107}, {243, 120, 53}, {172, 22, 38}};
  return gradient(kStops, share);
}

QColor ratioColor(double ratio, bool dark) {
  const QColor same = dark ? QColor(58, 62, 72) : QColor(244, 245, 248);
  const QColor end = ratio > 1 ? (dark ? QColor(198, 66, 44) : QColor(226, 92, 64))
                               : (dark ? QColor(48, 110, 204) : QColor(84, 146, 230));
  const double t = std::min(1.0, std::abs(std::log2(std::max(ratio, 1e-6))));
  const auto mix = [t](int a, int b) { return static_cast<int>(a + t * (b - a)); };
  return QColor(mix(same.red(), end.red()), mix(same.green(), end.green()), mix(same.blue(), end.blue()));
}

QColor sideColor(BoxSide side, bool dark) {
  if (side == BoxSide::device) return dark ? QColor(122, 190, 60) : QColor(92, 158, 24);
  return dark ? QColor(116, 140, 190) : QColor(92, 116, 172);
}

QColor copyColor(bool dark) { return dark ? QColor(236, 164, 62) : QColor(204, 120, 8); }

QColor changeColor(BoxChange change, bool dark) {
  switch (change) {
    case BoxChange::added:
      return dark ? QColor(60, 170, 92) : QColor(34, 150, 70);
    case BoxChange::removed:
      return dark ? QColor(226, 84, 84) : QColor(206, 44, 48);
    case BoxChange::changed:
      return dark ? QColor(230, 168, 50) : QColor(208, 136, 0);
    case BoxChange::none:
      break;
  }
  return QColor();
}

QColor changeFill(BoxChange change, bool dark) {
  const QColor border = changeColor(change, dark);
  const QColor paper = dark ? QColor(27, 30, 36) : QColor(255, 255, 255);
  const double part = dark ? 0.38 : 0.24;
  const auto mix = [part](int a, int b) { return static_cast<int>(a + part * (b - a)); };
  return QColor(mix(paper.red(), border.red()), mix(paper.green(), border.green()),
                mix(paper.blue(), border.blue()));
}

std::vector<BoxSide> sidesOf(const GraphView& view, const GraphScene& scene) {
  std::vector<BoxSide> sides(scene.boxes.size(), BoxSide::none);
  bool any = false;
  for (size_t i = 0; i < sides.size(); ++i) {
    if (scene.boxes[i].node < 0) continue;
    const GraphNode& node = view.nodes[static_cast<size_t>(scene.boxes[i].node)];
    if (node.kind != NodeKind::operation) continue;
    const bool there = node.isOnDevice;
    if (node.op == "device_copy")
      sides[i] = there ? BoxSide::toDevice : BoxSide::toHost;
    else
      sides[i] = there ? BoxSide::device : BoxSide::host;
    any |= there || node.op == "device_copy";
  }
  if (!any) sides.clear();
  return sides;
}

double BoxMarks::heatOf(int64_t timeNs) const {
  if (timeNs <= 0 || mostNs <= 0) return 0;
  const double share = static_cast<double>(timeNs) / static_cast<double>(mostNs);
  constexpr double kDecades = 3;
  return logarithmicHeat ? std::clamp(1 + std::log10(share) / kDecades, 0.0, 1.0) : share;
}

void GraphPainter::paint(QPainter& painter, const QRectF& visible, double scale) const {
  const bool isDark = dark_;
  // Far away thousands of lines are drawn, each of a pixel: smooth ones would take several frames.
  if (scale < kLineScale) painter.setRenderHint(QPainter::Antialiasing, false);
  for (const SceneBox& box : scene_.boxes) {
    if (!box.frame || !box.rect.intersects(visible)) continue;
    const GroupKind kind = view_.groups[static_cast<size_t>(box.group)].kind;
    painter.setPen(QPen(isDark ? QColor(96, 106, 128) : QColor(176, 186, 206), 1.2,
                        kind == GroupKind::region ? Qt::DashLine : Qt::SolidLine));
    painter.setBrush(isDark ? QColor(255, 255, 255, 9) : QColor(90, 110, 160, 13));
    painter.drawRoundedRect(box.rect, 9, 9);
    // Above what stands in it there is room for this much.
    constexpr int kMostFrameLetters = 18;
    QFont font = titleFont();
    font.setPixelSize(
        std::clamp(static_cast<int>(std::ceil(kUsualLetters / scale)), font.pixelSize(), kMostFrameLetters));
    if (font.pixelSize() * scale < kLeastLetters) continue;
    painter.setFont(font);
    painter.setPen(frameTitleColor(isDark));
    const QRectF room = box.rect.adjusted(12, 5 - (font.pixelSize() - 12) / 2.0, -8, 0);
    painter.drawText(
        room, Qt::AlignLeft | Qt::AlignTop,
        QFontMetricsF(font).elidedText(QString::fromUtf8("▾ ") + box.title, Qt::ElideRight, room.width()));
  }
  if (scale < kLineScale) {
    paintFar(painter, visible);
    paintNotes(painter, visible, scale);
    return;
  }
  for (const SceneEdge& edge : scene_.edges) {
    if (!edge.around.intersects(visible)) continue;
    painter.setOpacity(isBright(edge) ? 1 : kFaded);
    paintEdge(painter, edge, scale);
  }
  for (size_t i = 0; i < scene_.boxes.size(); ++i)
    if (!scene_.boxes[i].frame && scene_.boxes[i].rect.adjusted(-4, -4, 4, 14).intersects(visible))
      paintBox(painter, i, scale);
  painter.setOpacity(1);
  paintNotes(painter, visible, scale);
}

// A slip of paper at the upper left corner, and never too small to be seen.
void GraphPainter::paintNotes(QPainter& painter, const QRectF& visible, double scale) const {
  constexpr double kSide = 12, kLeastOnScreen = 7, kOut = 5;
  const double side = std::max(kSide, kLeastOnScreen / scale);
  for (size_t i = 0; i < marks_.notes.size(); ++i) {
    const SceneBox& box = scene_.boxes[i];
    if (!marks_.notes[i] || box.frame || !box.rect.intersects(visible)) continue;
    const QRectF slip(box.rect.left() - kOut, box.rect.top() - kOut, side, side);
    painter.setPen(QPen(noteInk(), scale < kLineScale ? 0 : 1.2));
    painter.setBrush(noteFill());
    painter.drawRect(slip);
    if (scale < kTextScale) continue;
    for (const double line : {0.3, 0.53, 0.76})
      painter.drawLine(QPointF(slip.left() + 0.22 * side, slip.top() + line * side),
                       QPointF(slip.right() - (line > 0.7 ? 0.45 : 0.22) * side, slip.top() + line * side));
  }
}

// Thousands of boxes and lines of a few pixels: those of one colour at once.
void GraphPainter::paintFar(QPainter& painter, const QRectF& visible) const {
  std::map<std::pair<bool, QRgb>, QList<QLineF>> lines;  // by bright or faded, and colour
  for (const SceneEdge& edge : scene_.edges) {
    if (edge.tunnelled) continue;  // a dot beside its box
    if (!edge.around.intersects(visible)) continue;
    QList<QLineF>& list = lines[{isBright(edge), edgeColor(edge).rgb()}];
    for (size_t i = 1; i < edge.points.size(); ++i) list.emplaceBack(edge.points[i - 1], edge.points[i]);
  }
  for (const auto& [key, list] : lines) {
    painter.setOpacity(key.first ? 1 : kFaded);
    painter.setPen(QPen(QColor::fromRgb(key.second), 0));
    painter.drawLines(list);
  }
  std::map<std::tuple<bool, QRgb, QRgb>, QList<QRectF>> rects;
  for (size_t i = 0; i < scene_.boxes.size(); ++i) {
    if (scene_.boxes[i].frame || !scene_.boxes[i].rect.intersects(visible)) continue;
    const BoxColors colors = colorsOfBox(i);
    const bool isChanged = !marks_.changes.empty() && !marks_.overlay.isShown() && !marks_.signsChanges() &&
                           marks_.changes[i] != BoxChange::none;
    const bool copies = isCopy(sideOf(i));
    const QColor fill = marks_.matches[i] > 0 ? kMatch
                        : isChanged || copies ? colors.border
                        : sideOf(i) == BoxSide::device && marks_.mostNs == 0
                            ? sideColor(BoxSide::device, dark_)
                            : colors.fill;
    const bool isOnTrace = marks_.traced.empty() || marks_.traced[i];
    const QColor border =
        static_cast<int>(i) == marks_.selected ? palette_.color(QPalette::Highlight) : colors.border;
    rects[{isOnTrace, fill.rgb(), border.rgb()}].append(scene_.boxes[i].rect);
  }
  for (const auto& [key, list] : rects) {
    painter.setOpacity(std::get<0>(key) ? 1 : kFaded);
    painter.setBrush(QColor::fromRgb(std::get<1>(key)));
    painter.setPen(QPen(QColor::fromRgb(std::get<2>(key)), 0));
    painter.drawRects(list);
  }
  painter.setOpacity(1);
}

bool GraphPainter::isBright(const SceneEdge& edge) const {
  return marks_.traced.empty() ||
         (marks_.traced[static_cast<size_t>(edge.from)] && marks_.traced[static_cast<size_t>(edge.to)]);
}

QColor GraphPainter::edgeColor(const SceneEdge& edge) const {
  const bool isChosen = marks_.selected >= 0 && (edge.from == marks_.selected || edge.to == marks_.selected);
  if (!isChosen && crosses(edge)) return copyColor(dark_);
  return isChosen ? palette_.color(QPalette::Highlight)
         : dark_  ? QColor(128, 138, 156)
                  : QColor(142, 152, 170);
}

bool GraphPainter::crosses(const SceneEdge& edge) const {
  return isCopy(sideOf(static_cast<size_t>(edge.from))) || isCopy(sideOf(static_cast<size_t>(edge.to)));
}

namespace {

// Where a port stands on the upper side of its box.
QPointF portOf(const SceneEdge& edge, const QRectF& to) {
  const double step = std::min(9.0, (to.width() - 24) / std::max(1, edge.ports - 1));
  return {to.left() + 12 + step * edge.port, to.top()};
}

}  // namespace

QRectF portTextRect(const SceneEdge& edge, const QRectF& to) {
  if (!edge.tunnelled || edge.port + 1 < edge.ports) return {};
  const QPointF port = portOf(edge, to);
  const double height = QFontMetricsF(subtitleFont()).height();
  return {port.x() + kPortText, port.y() - 3 - height, std::max(0.0, to.right() - port.x() - kPortText),
          height};
}

// Straight within rows, bent between them.
QPainterPath edgePath(const SceneEdge& edge) {
  QPainterPath path(edge.points.front());
  for (size_t i = 1; i < edge.points.size(); ++i) {
    const QPointF a = edge.points[i - 1], b = edge.points[i];
    if (edge.isWhole || std::abs(a.x() - b.x()) < 0.5) {
      path.lineTo(b);
    } else {
      const double bend = (b.y() - a.y()) / 2;
      path.cubicTo(a + QPointF(0, bend), b - QPointF(0, bend), b);
    }
  }
  return path;
}

void GraphPainter::paintEdge(QPainter& painter, const SceneEdge& edge, double scale) const {
  const bool chosen = marks_.selected >= 0 && (edge.from == marks_.selected || edge.to == marks_.selected);
  const QColor color = edgeColor(edge);
  const double width = (chosen || crosses(edge) ? 2.0 : 1.1) + std::min(1.2, 0.25 * (edge.count - 1));
  painter.setPen(QPen(color, width, edge.ownership ? Qt::DashLine : Qt::SolidLine));
  painter.setBrush(Qt::NoBrush);
  if (edge.tunnelled) {
    const QRectF to = scene_.boxes[static_cast<size_t>(edge.to)].rect;
    const QPointF end = portOf(edge, to);
    painter.drawLine(end - QPointF(0, 9), end);
    painter.setBrush(color);
    painter.drawEllipse(end - QPointF(0, 11), 2.6, 2.6);
    const QRectF room = portTextRect(edge, to);
    if (scale < kWholeScale || room.isEmpty()) return;
    painter.setFont(subtitleFont());
    const QString text = edge.ports == 1 ? edge.name : QString("%1 values").arg(edge.ports);
    painter.drawText(room, Qt::AlignLeft | Qt::AlignVCenter,
                     QFontMetricsF(subtitleFont()).elidedText(text, Qt::ElideMiddle, room.width()));
    return;
  }
  painter.drawPath(edgePath(edge));
  if (edge.ownership) return;
  const QPointF tip = edge.points.back();
  const double side = edge.points[edge.points.size() - 2].y() <= tip.y() ? -7 : 7;
  painter.setPen(Qt::NoPen);
  painter.setBrush(color);
  const QPointF head[3] = {tip, tip + QPointF(-3.6, side), tip + QPointF(3.6, side)};
  painter.drawPolygon(head, 3);
}

// Problems, then an overlay, then a difference of two steps, then that of two runs, then heat, then the
// class: one of them fills a box, so that no colour means two things in one picture.
BoxColors GraphPainter::colorsOfBox(size_t index) const {
  const bool isDark = dark_;
  if (marks_.problems[index] > 0)
    return filled(isDark ? QColor(150, 30, 36) : QColor(206, 44, 48), QColor(120, 12, 20));
  const bool neutral =
      marks_.mostNs > 0 || !marks_.changes.empty() || !marks_.ratios.empty() || marks_.overlay.isShown();
  const QString opClass = neutral ? QStringLiteral("neutral") : scene_.boxes[index].opClass;
  auto known = colors_.constFind(opClass);
  if (known == colors_.constEnd()) known = colors_.insert(opClass, classColors(opClass, isDark));
  if (marks_.overlay.isShown()) {
    const QColor fill = marks_.overlay.fillOf(marks_.overlay.boxes[index], isDark);
    return fill.isValid() ? filled(fill, known->border) : *known;
  }
  if (!marks_.changes.empty() && !marks_.signsChanges()) {
    const BoxChange change = marks_.changes[index];
    return change == BoxChange::none ? *known
                                     : filled(changeFill(change, isDark), changeColor(change, isDark));
  }
  if (!marks_.ratios.empty() && !marks_.signsChanges()) {
    const double ratio = marks_.ratios[index];
    return ratio > 0 ? filled(ratioColor(ratio, isDark), known->border) : *known;
  }
  BoxColors colors = *known;
  if (const int64_t time = marks_.times[index]; time > 0 && marks_.mostNs > 0)
    colors = filled(heatColor(marks_.heatOf(time)), known->border);
  // Its kernel's time stands at another box.
  else if (marks_.mostNs > 0 && marks_.together[index])
    colors.border = heatColor(0.5);
  return colors;
}

QColor frameTitleColor(bool dark) { return dark ? QColor(172, 184, 208) : QColor(80, 94, 126); }

QColor noteFill() { return QColor(255, 224, 102); }
QColor noteInk() { return QColor(84, 62, 0); }

QString changeSign(BoxChange change) {
  switch (change) {
    case BoxChange::added:
      return "+";
    case BoxChange::removed:
      return QString::fromUtf8("−");
    case BoxChange::changed:
      return "~";
    case BoxChange::none:
      break;
  }
  return {};
}

// A disc of paper on the upper right corner, with letters' colours alone: the fill of the box is the heat.
void GraphPainter::paintSign(QPainter& painter, const QRectF& rect, BoxChange change) const {
  constexpr double kSide = 20;
  const QRectF disc(rect.right() - 0.6 * kSide, rect.top() - 0.4 * kSide, kSide, kSide);
  painter.setPen(QPen(palette_.color(QPalette::Text), 1.2));
  painter.setBrush(palette_.color(QPalette::Base));
  painter.drawEllipse(disc);
  QFont font = titleFont();
  font.setPixelSize(16);
  painter.setFont(font);
  painter.drawText(disc, Qt::AlignCenter, changeSign(change));
}

// A band along the left side.
void GraphPainter::paintSide(QPainter& painter, const QRectF& rect, double round, BoxSide side) const {
  QPainterPath shape, band;
  shape.addRoundedRect(rect, round, round);
  band.addRect(QRectF(rect.left(), rect.top(), 7, rect.height()));
  painter.fillPath(shape.intersected(band), sideColor(side, dark_));
}

// The border between the two sides: above it the one that a value comes from, below it the one it goes to.
void GraphPainter::paintCopy(QPainter& painter, size_t index, double scale) const {
  const SceneBox& box = scene_.boxes[index];
  const QRectF r = box.rect;
  const bool up = sideOf(index) == BoxSide::toDevice;
  QPainterPath shape;
  shape.addRoundedRect(r, 3, 3);
  painter.setClipPath(shape, Qt::IntersectClip);
  const QRectF above(r.left(), r.top(), r.width(), r.height() / 2),
      below = above.translated(0, r.height() / 2);
  painter.fillRect(above, sideColor(up ? BoxSide::host : BoxSide::device, dark_));
  painter.fillRect(below, sideColor(up ? BoxSide::device : BoxSide::host, dark_));
  painter.setClipping(false);
  const bool chosen = static_cast<int>(index) == marks_.selected;
  painter.setPen(QPen(chosen ? palette_.color(QPalette::Highlight) : copyColor(dark_), chosen ? 3 : 1.6));
  painter.setBrush(Qt::NoBrush);
  painter.drawRoundedRect(r, 3, 3);
  painter.setPen(QPen(Qt::white, 1.2, Qt::DashLine));
  painter.drawLine(QPointF(r.left() + 3, r.center().y()), QPointF(r.right() - 3, r.center().y()));
  if (scale < kWholeScale) return;
  const QPointF tip(r.left() + 13, r.bottom() - 5);
  painter.setPen(QPen(Qt::white, 2));
  painter.drawLine(QPointF(tip.x(), r.top() + 5), tip - QPointF(0, 4));
  painter.setPen(Qt::NoPen);
  painter.setBrush(Qt::white);
  const QPointF head[3] = {tip, tip + QPointF(-4.5, -7), tip + QPointF(4.5, -7)};
  painter.drawPolygon(head, 3);
  painter.setFont(subtitleFont());
  const QFontMetricsF metrics(subtitleFont());
  const auto write = [&](const QRectF& half, BoxSide side, const QString& text) {
    painter.setPen(legibleOn(sideColor(side, dark_)));
    const QRectF room = half.adjusted(24, 0, -6, 0);
    painter.drawText(room, Qt::AlignCenter, metrics.elidedText(text, Qt::ElideRight, room.width()));
  };
  const int64_t time = marks_.times[index];
  write(above, up ? BoxSide::host : BoxSide::device,
        time > 0 ? "copy, " + timeText(time) : QStringLiteral("copy"));
  write(below, up ? BoxSide::device : BoxSide::host,
        up ? QStringLiteral("to the GPU") : QStringLiteral("to the host"));
}

namespace {

// A title in a small picture: as large as it fits, within what can be read. Letters are set in pixels of the
// screen, so that their stems are whole ones: between two pixels they are pale.
void paintSmallTitle(QPainter& painter, const QRectF& room, const QString& title, const QColor& fill) {
  const QTransform toScreen = painter.transform();
  const QRectF onScreen = toScreen.mapRect(room);
  QFont font = titleFont();
  font.setWeight(QFont::Bold);
  font.setHintingPreference(QFont::PreferFullHinting);
  const int most = static_cast<int>(std::ceil(kUsualLetters)), least = static_cast<int>(kLeastLetters);
  font.setPixelSize(most);
  while (font.pixelSize() > least && QFontMetricsF(font).horizontalAdvance(title) > onScreen.width())
    font.setPixelSize(font.pixelSize() - 1);
  const QFontMetrics metrics(font);
  // In a few letters the first tell most.
  const QString shown = metrics.elidedText(title, Qt::ElideRight, static_cast<int>(onScreen.width()));
  painter.save();
  painter.resetTransform();
  painter.setFont(font);
  painter.setPen(strongestOn(fill));
  painter.drawText(
      QPoint(static_cast<int>(std::lround(onScreen.center().x() - metrics.horizontalAdvance(shown) / 2.0)),
             static_cast<int>(
                 std::lround(onScreen.center().y() + (metrics.ascent() - metrics.descent()) / 2.0))),
      shown);
  painter.restore();
}

}  // namespace

void GraphPainter::paintBox(QPainter& painter, size_t index, double scale) const {
  const SceneBox& box = scene_.boxes[index];
  const bool group = box.node < 0;
  const int64_t time = marks_.times[index];
  const BoxChange change =
      marks_.changes.empty() || marks_.overlay.isShown() ? BoxChange::none : marks_.changes[index];
  const BoxColors colors = colorsOfBox(index);
  const bool faded = !marks_.traced.empty() && !marks_.traced[index];
  painter.setOpacity(faded ? kFaded : 1);
  const bool matched = marks_.matches[index] > 0;
  const QRectF r = box.rect;
  const double round = group ? 10 : box.opClass == "input" || box.opClass == "output" ? r.height() / 2 : 6;
  if (group) {  // a second sheet behind: there is more in it
    painter.setPen(QPen(colors.border, 1));
    painter.setBrush(colors.fill);
    painter.drawRoundedRect(r.translated(3, 3), round, round);
  }
  if (matched) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(QColor(kMatch.red(), kMatch.green(), kMatch.blue(), 130));
    painter.drawRoundedRect(r.adjusted(-5, -5, 5, 5), round + 4, round + 4);
  }
  if (isCopy(sideOf(index)) && change == BoxChange::none && marks_.problems[index] == 0) {
    paintCopy(painter, index, scale);
    return;
  }
  const bool chosen = static_cast<int>(index) == marks_.selected;
  painter.setPen(QPen(chosen ? palette_.color(QPalette::Highlight) : colors.border,
                      chosen || (change != BoxChange::none && !marks_.signsChanges()) ? 3 : 1.2));
  painter.setBrush(colors.fill);
  painter.drawRoundedRect(r, round, round);
  if (sideOf(index) != BoxSide::none) paintSide(painter, r, round, sideOf(index));
  if (marks_.signsChanges() && change != BoxChange::none) paintSign(painter, r, change);
  if (scale < kTextScale) return;
  QRectF text = r.adjusted(9, 3, -9, -3);
  QString title = box.title;
  const bool isWhole = scale >= kWholeScale;
  if (box.expandable && isWhole) title = QString::fromUtf8("▸ ") + title;
  if (group && matched) title += QString::fromUtf8(" · ") + QString::number(marks_.matches[index]);
  if (!isWhole) return paintSmallTitle(painter, r.adjusted(2, 0, -2, 0), title, colors.fill);
  const QFont font = titleFont();
  painter.setFont(font);
  painter.setPen(scale < 1 ? strongestOn(colors.fill) : colors.text);
  const QString shown = QFontMetricsF(font).elidedText(title, Qt::ElideMiddle, text.width());
  if (box.subtitle.isEmpty()) {
    painter.drawText(text, Qt::AlignCenter, shown);
    return;
  }
  painter.drawText(text, Qt::AlignHCenter | Qt::AlignTop, shown);
  painter.setFont(subtitleFont());
  // Letters of a few pixels are paler than their colour: those of less weight are for larger ones.
  painter.setPen(scale < 1 ? strongestOn(colors.fill) : colors.quiet);
  QString below = box.subtitle;
  if (marks_.overlay.isShown()) {
    if (const QString& value = marks_.overlay.boxes[index].shown; !value.isEmpty()) below = value;
  } else if (!marks_.changes.empty() && !marks_.signsChanges()) {
    // A difference of two steps has no times.
  } else if (!marks_.ratios.empty() && !marks_.signsChanges()) {
    if (const double ratio = marks_.ratios[index]; ratio > 0)
      below = QString::fromUtf8("× %1").arg(ratio, 0, 'f', 2);
    else if (ratio == kWithinNoise)
      below = "within noise";
  } else if (time > 0) {
    below = timeText(time);
    if (marks_.sumNs > 0)
      below +=
          QString::fromUtf8(" · ") +
          QString::number(100.0 * static_cast<double>(time) / static_cast<double>(marks_.sumNs), 'f', 1) +
          "%";
  }
  painter.drawText(text, Qt::AlignHCenter | Qt::AlignBottom,
                   QFontMetricsF(subtitleFont()).elidedText(below, Qt::ElideRight, text.width()));
}

}  // namespace dyn::ui
