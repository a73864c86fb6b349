#include "ui/graph/graph_canvas.h"

#include <QImage>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QSvgGenerator>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

namespace dyn::ui {

namespace {

constexpr double kLeastScale = 0.02, kMostScale = 4;
constexpr double kTextScale = 0.3, kLineScale = 0.14;

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

struct ClassHue {
  const char* name;
  int hue, saturation;  // degrees, percent
};

constexpr ClassHue kHues[] = {{"elementwise", 172, 60}, {"view", 210, 18},       {"injective", 265, 55}, {"reduction", 32, 80},
                              {"contraction", 215, 80}, {"opaque", 28, 25},      {"structural", 320, 50}, {"check", 0, 65},
                              {"input", 135, 55},       {"output", 135, 55},     {"constant", 50, 30},    {"group", 230, 30}};

struct BoxColors {
  QColor fill, border, text, quiet;
};

BoxColors colorsOf(const QString& opClass, bool dark) {
  int hue = 210, saturation = 10;
  for (const ClassHue& h : kHues)
    if (opClass == QLatin1String(h.name)) hue = h.hue, saturation = h.saturation;
  const auto hsl = [&](int s, int l) { return QColor::fromHsl(hue, s * 255 / 100, l * 255 / 100); };
  if (dark) return {hsl(saturation * 6 / 10, 24), hsl(saturation, 55), QColor(236, 238, 242), QColor(178, 184, 194)};
  return {hsl(saturation, 94), hsl(saturation * 8 / 10, 52), QColor(28, 32, 40), QColor(92, 100, 114)};
}

// Pale yellow over orange to dark red: light falls with heat, so it reads without colours too.
QColor heatColor(double share) {
  const double t = std::clamp(share, 0.0, 1.0);
  const double stops[4][3] = {{255, 247, 214}, {254, 204, 107}, {243, 120, 53}, {172, 22, 38}};
  const double at = t * 3;
  const int i = std::min(2, static_cast<int>(at));
  const double f = at - i;
  const auto mix = [&](int c) { return static_cast<int>(stops[i][c] * (1 - f) + stops[i + 1][c] * f); };
  return QColor(mix(0), mix(1), mix(2));
}

}  // namespace

GraphCanvas::GraphCanvas(QWidget* parent) : QWidget(parent) {
  setObjectName("graph");
  setAccessibleName("Graph of the model");
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(false);
  setMinimumSize(200, 150);
  options_.titleWidth = [metrics = QFontMetricsF(titleFont())](const QString& s) { return metrics.horizontalAdvance(s); };
  options_.subtitleWidth = [metrics = QFontMetricsF(subtitleFont())](const QString& s) { return metrics.horizontalAdvance(s); };
}

bool GraphCanvas::dark() const { return palette().color(QPalette::Window).lightness() < 128; }

void GraphCanvas::setGraph(Shared<GraphView> view, bool sameModel) {
  const NodeId kept = sameModel && view_ && selected_ >= 0 ? view_->nodes[static_cast<size_t>(selected_)].id : kNoNode;
  view_ = std::move(view);
  selected_ = selectedBox_ = -1;
  nodeTimes_.clear();
  if (!view_) {
    scene_ = {};
    update();
    return;
  }
  if (!sameModel) options_.open = firstOpenGroups(*view_);
  if (!sameModel) fitted_ = true;
  for (size_t n = 0; n < view_->nodes.size(); ++n)
    if (view_->nodes[n].id == kept) selected_ = static_cast<int>(n);
  rebuild(-1);
  search(query_);
  if (fitted_) fit();
}

void GraphCanvas::rebuild(int keepNode) {
  QPointF before;
  const bool keep = keepNode >= 0 && scene_.boxOfNode[static_cast<size_t>(keepNode)] >= 0;
  if (keep) before = scene_.boxes[static_cast<size_t>(scene_.boxOfNode[static_cast<size_t>(keepNode)])].rect.center();
  scene_ = buildScene(*view_, options_);
  if (keep && scene_.boxOfNode[static_cast<size_t>(keepNode)] >= 0) {
    const QPointF now = scene_.boxes[static_cast<size_t>(scene_.boxOfNode[static_cast<size_t>(keepNode)])].rect.center();
    offset_ += (before - now) * scale_;
  }
  selectedBox_ = selected_ >= 0 ? scene_.boxOfNode[static_cast<size_t>(selected_)] : -1;
  recount();
  update();
}

void GraphCanvas::setTimes(const std::vector<NodeTime>& times) {
  nodeTimes_.clear();
  if (view_) {
    std::unordered_map<std::string, std::vector<int>> byPlace;
    std::unordered_map<NodeId, int> byId;
    for (size_t n = 0; n < view_->nodes.size(); ++n) {
      byId[view_->nodes[n].id] = static_cast<int>(n);
      if (view_->nodes[n].kind == NodeKind::operation) byPlace[view_->nodes[n].place].push_back(static_cast<int>(n));
    }
    // Several operations made of one source node share its time.
    for (const NodeTime& time : times) {
      auto id = byId.find(time.node);
      if (time.node != kNoNode && id != byId.end()) {
        nodeTimes_[id->second] += time.totalNs;
        continue;
      }
      auto found = byPlace.find(time.place);
      if (found == byPlace.end()) continue;
      for (int n : found->second) nodeTimes_[n] += time.totalNs / static_cast<int64_t>(found->second.size());
    }
  }
  recount();
  update();
}

void GraphCanvas::recount() {
  boxTimes_.assign(scene_.boxes.size(), 0);
  boxMatches_.assign(scene_.boxes.size(), 0);
  for (const auto& [node, time] : nodeTimes_) {
    const int box = scene_.boxOfNode[static_cast<size_t>(node)];
    if (box >= 0) boxTimes_[static_cast<size_t>(box)] += time;
  }
  mostNs_ = sumNs_ = 0;
  for (int64_t t : boxTimes_) mostNs_ = std::max(mostNs_, t), sumNs_ += t;
  for (int node : matches_) {
    const int box = scene_.boxOfNode[static_cast<size_t>(node)];
    if (box >= 0) ++boxMatches_[static_cast<size_t>(box)];
  }
}

int64_t GraphCanvas::timeOfBox(int box) const { return boxTimes_[static_cast<size_t>(box)]; }

void GraphCanvas::setShowConstants(bool show) {
  options_.showConstants = show;
  if (view_) rebuild(selected_);
}

void GraphCanvas::toggle(int box) {
  const SceneBox target = scene_.boxes[static_cast<size_t>(box)];
  int keep = target.node;
  const auto flip = [&](const std::string& path) {
    if (!options_.open.erase(path)) options_.open.insert(path);
  };
  if (target.group >= 0) {
    flip(view_->groups[static_cast<size_t>(target.group)].path);
  } else {
    for (const GraphGroup& g : view_->groups)
      if (g.kind == GroupKind::region && g.owner == view_->nodes[static_cast<size_t>(target.node)].id) flip(g.path);
  }
  if (keep < 0)
    for (size_t n = 0; n < scene_.boxOfNode.size() && keep < 0; ++n)
      if (scene_.boxOfNode[n] == box) keep = static_cast<int>(n);
  rebuild(keep);
}

void GraphCanvas::setAllOpen(bool open) {
  if (!view_) return;
  options_.open.clear();
  if (open) {
    for (const GraphGroup& g : view_->groups)
      if (g.kind != GroupKind::region) options_.open.insert(g.path);
  }
  rebuild(selected_);
  fit();
}

void GraphCanvas::select(int node) {
  selected_ = node;
  selectedBox_ = node >= 0 ? scene_.boxOfNode[static_cast<size_t>(node)] : -1;
  update();
  Q_EMIT nodeSelected(node);
}

void GraphCanvas::search(const QString& text) {
  query_ = text;
  matches_.clear();
  match_ = 0;
  const QStringList terms = text.split(' ', Qt::SkipEmptyParts);
  if (view_ && !terms.isEmpty()) {
    for (size_t n = 0; n < view_->nodes.size(); ++n) {
      const GraphNode& node = view_->nodes[n];
      if (node.kind == NodeKind::constant && !options_.showConstants) continue;
      std::string all = node.op + "\n" + node.label + "\n" + node.name + "\n" + node.sourceNode;
      for (const GraphPort& p : node.outputs) all += "\n" + p.name + "\n" + p.type + "\n" + shortType(p.type).toStdString();
      const QString haystack = QString::fromStdString(all);
      if (std::all_of(terms.begin(), terms.end(), [&](const QString& t) { return haystack.contains(t, Qt::CaseInsensitive); }))
        matches_.push_back(static_cast<int>(n));
    }
  }
  recount();
  update();
  Q_EMIT searched(matchesCount());
}

void GraphCanvas::reveal(int node) {
  const int group = view_->nodes[static_cast<size_t>(node)].group;
  bool opened = false;
  for (int g = group; g >= 0; g = view_->groups[static_cast<size_t>(g)].parent)
    opened |= options_.open.insert(view_->groups[static_cast<size_t>(g)].path).second;
  if (opened) rebuild(node);
  const int box = scene_.boxOfNode[static_cast<size_t>(node)];
  if (box < 0) return;
  scale_ = std::max(scale_, 0.8);
  offset_ = QPointF(width(), height()) / 2 - scene_.boxes[static_cast<size_t>(box)].rect.center() * scale_;
  fitted_ = false;
}

void GraphCanvas::nextMatch() {
  if (matches_.empty()) return;
  const int node = matches_[match_ % matches_.size()];
  ++match_;
  reveal(node);
  select(node);
}

void GraphCanvas::fit() {
  fitted_ = true;
  const QRectF b = scene_.bounds;
  if (b.isEmpty()) return;
  scale_ = std::clamp(std::min((width() - 40) / b.width(), (height() - 40) / b.height()), kLeastScale, 1.3);
  offset_ = QPointF(width(), height()) / 2 - b.center() * scale_;
  update();
}

void GraphCanvas::zoom(double factor, QPointF at) {
  const QPointF under = toScene(at);
  scale_ = std::clamp(scale_ * factor, kLeastScale, kMostScale);
  offset_ = at - under * scale_;
  fitted_ = false;
  update();
}

int GraphCanvas::boxAt(QPointF p) const {
  for (size_t i = scene_.boxes.size(); i-- > 0;)
    if (!scene_.boxes[i].frame && scene_.boxes[i].rect.contains(p)) return static_cast<int>(i);
  // Of frames the innermost: they come after those around them.
  for (size_t i = scene_.boxes.size(); i-- > 0;)
    if (scene_.boxes[i].frame && scene_.boxes[i].rect.contains(p)) return static_cast<int>(i);
  return -1;
}

void GraphCanvas::wheelEvent(QWheelEvent* event) { zoom(std::pow(1.0015, event->angleDelta().y()), event->position()); }

void GraphCanvas::mousePressEvent(QMouseEvent* event) {
  pressed_ = event->position();
  dragging_ = false;
}

void GraphCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (!(event->buttons() & (Qt::LeftButton | Qt::MiddleButton))) return;
  const QPointF moved = event->position() - pressed_;
  if (!dragging_ && moved.manhattanLength() < 4) return;
  dragging_ = true;
  fitted_ = false;
  setCursor(Qt::ClosedHandCursor);
  offset_ += moved;
  pressed_ = event->position();
  update();
}

void GraphCanvas::mouseReleaseEvent(QMouseEvent* event) {
  unsetCursor();
  if (dragging_ || !view_) return;
  const int box = boxAt(toScene(event->position()));
  select(box >= 0 ? scene_.boxes[static_cast<size_t>(box)].node : -1);
}

void GraphCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  const int box = boxAt(toScene(event->position()));
  dragging_ = true;  // the release that follows selects nothing
  if (box >= 0 && scene_.boxes[static_cast<size_t>(box)].expandable) toggle(box);
}

void GraphCanvas::keyPressEvent(QKeyEvent* event) {
  const QPointF middle(width() / 2.0, height() / 2.0);
  switch (event->key()) {
    case Qt::Key_Space: return fit();
    case Qt::Key_Plus: return zoom(1.25, middle);
    case Qt::Key_Minus: return zoom(0.8, middle);
    case Qt::Key_1: return zoom(1 / scale_, middle);
    case Qt::Key_Return:
    case Qt::Key_F3: return nextMatch();
    case Qt::Key_Left: offset_.rx() += 60; break;
    case Qt::Key_Right: offset_.rx() -= 60; break;
    case Qt::Key_Up: offset_.ry() += 60; break;
    case Qt::Key_Down: offset_.ry() -= 60; break;
    default: return QWidget::keyPressEvent(event);
  }
  fitted_ = false;
  update();
}

void GraphCanvas::resizeEvent(QResizeEvent*) {
  if (fitted_) fit();
}

void GraphCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  if (!view_) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(rect(), Qt::AlignCenter, "Open a model: Ctrl+O, or drop a .onnx, .dyn or .dynpkg file here");
    return;
  }
  painter.setRenderHint(QPainter::Antialiasing);
  painter.translate(offset_);
  painter.scale(scale_, scale_);
  paintScene(painter, QRectF(toScene({0, 0}), toScene(QPointF(width(), height()))), scale_);
}

void GraphCanvas::paintScene(QPainter& painter, const QRectF& visible, double scale) const {
  const bool isDark = dark();
  for (const SceneBox& box : scene_.boxes) {
    if (!box.frame || !box.rect.intersects(visible)) continue;
    const GroupKind kind = view_->groups[static_cast<size_t>(box.group)].kind;
    painter.setPen(QPen(isDark ? QColor(96, 106, 128) : QColor(176, 186, 206), 1.2, kind == GroupKind::region ? Qt::DashLine : Qt::SolidLine));
    painter.setBrush(isDark ? QColor(255, 255, 255, 9) : QColor(90, 110, 160, 13));
    painter.drawRoundedRect(box.rect, 9, 9);
    if (scale < kTextScale / 2) continue;
    painter.setFont(titleFont());
    painter.setPen(isDark ? QColor(160, 172, 196) : QColor(88, 102, 134));
    painter.drawText(box.rect.adjusted(12, 5, -8, 0), Qt::AlignLeft | Qt::AlignTop, QString::fromUtf8("▾ ") + box.title);
  }
  for (const SceneEdge& edge : scene_.edges) {
    const QPointF a = edge.points.front(), b = edge.points.back();
    QRectF around = QRectF(a, b).normalized();
    for (const QPointF& p : edge.points) around |= QRectF(p, QSizeF(1, 1));
    if (around.adjusted(-4, -24, 4, 24).intersects(visible)) paintEdge(painter, edge, scale);
  }
  for (size_t i = 0; i < scene_.boxes.size(); ++i)
    if (!scene_.boxes[i].frame && scene_.boxes[i].rect.adjusted(-4, -4, 4, 14).intersects(visible)) paintBox(painter, i, scale);
}

void GraphCanvas::paintEdge(QPainter& painter, const SceneEdge& edge, double scale) const {
  const bool isDark = dark(), chosen = selectedBox_ >= 0 && (edge.from == selectedBox_ || edge.to == selectedBox_);
  const QColor color = chosen ? palette().color(QPalette::Highlight) : isDark ? QColor(128, 138, 156) : QColor(142, 152, 170);
  const double width = (chosen ? 2.0 : 1.1) + std::min(1.2, 0.25 * (edge.count - 1));
  painter.setPen(QPen(color, scale < kLineScale ? 0.7 / scale : width, edge.ownership ? Qt::DashLine : Qt::SolidLine));
  painter.setBrush(Qt::NoBrush);
  if (edge.tunnelled) {
    const QRectF to = scene_.boxes[static_cast<size_t>(edge.to)].rect;
    const QPointF end(to.left() + 12, to.top());
    painter.drawLine(end - QPointF(0, 9), end);
    painter.setBrush(color);
    painter.drawEllipse(end - QPointF(0, 11), 2.6, 2.6);
    if (scale < kTextScale) return;
    painter.setFont(subtitleFont());
    painter.drawText(end + QPointF(6, -5), edge.name.left(24));
    return;
  }
  if (scale < kLineScale) {
    painter.drawPolyline(edge.points.data(), static_cast<int>(edge.points.size()));
    return;
  }
  QPainterPath path(edge.points.front());
  for (size_t i = 1; i < edge.points.size(); ++i) {
    const QPointF a = edge.points[i - 1], b = edge.points[i];
    if (std::abs(a.x() - b.x()) < 0.5) {
      path.lineTo(b);
    } else {
      const double bend = (b.y() - a.y()) / 2;
      path.cubicTo(a + QPointF(0, bend), b - QPointF(0, bend), b);
    }
  }
  painter.drawPath(path);
  if (edge.ownership) return;
  const QPointF tip = edge.points.back();
  const double side = edge.points[edge.points.size() - 2].y() <= tip.y() ? -7 : 7;
  painter.setPen(Qt::NoPen);
  painter.setBrush(color);
  const QPointF head[3] = {tip, tip + QPointF(-3.6, side), tip + QPointF(3.6, side)};
  painter.drawPolygon(head, 3);
}

void GraphCanvas::paintBox(QPainter& painter, size_t index, double scale) const {
  const SceneBox& box = scene_.boxes[index];
  const bool isDark = dark(), group = box.node < 0;
  BoxColors colors = colorsOf(box.opClass, isDark);
  const int64_t time = boxTimes_[index];
  if (time > 0 && mostNs_ > 0) {
    const double share = static_cast<double>(time) / static_cast<double>(mostNs_);
    colors.fill = heatColor(share);
    colors.text = share > 0.6 ? QColor(255, 255, 255) : QColor(40, 24, 16);
    colors.quiet = share > 0.6 ? QColor(255, 232, 220) : QColor(104, 76, 56);
  }
  const bool matched = boxMatches_[index] > 0;
  const QRectF r = box.rect;
  if (scale < kLineScale) {
    painter.fillRect(r, matched ? QColor(255, 196, 0) : time > 0 ? colors.fill : colors.border);
    return;
  }
  const double round = group ? 10 : box.opClass == "input" || box.opClass == "output" ? r.height() / 2 : 6;
  if (group) {  // a second sheet behind: there is more in it
    painter.setPen(QPen(colors.border, 1));
    painter.setBrush(colors.fill);
    painter.drawRoundedRect(r.translated(3, 3), round, round);
  }
  if (matched) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(QColor(255, 196, 0, 130));
    painter.drawRoundedRect(r.adjusted(-5, -5, 5, 5), round + 4, round + 4);
  }
  const bool chosen = static_cast<int>(index) == selectedBox_;
  painter.setPen(QPen(chosen ? palette().color(QPalette::Highlight) : colors.border, chosen ? 3 : 1.2));
  painter.setBrush(colors.fill);
  painter.drawRoundedRect(r, round, round);
  if (scale < kTextScale) return;
  const QRectF text = r.adjusted(9, 3, -9, -3);
  QString title = box.title;
  if (box.expandable) title = QString::fromUtf8("▸ ") + title;
  if (group && matched) title += QString::fromUtf8(" · ") + QString::number(boxMatches_[index]);
  painter.setFont(titleFont());
  painter.setPen(colors.text);
  const QString shown = QFontMetricsF(titleFont()).elidedText(title, Qt::ElideMiddle, text.width());
  if (box.subtitle.isEmpty()) {
    painter.drawText(text, Qt::AlignCenter, shown);
    return;
  }
  painter.drawText(text, Qt::AlignHCenter | Qt::AlignTop, shown);
  painter.setFont(subtitleFont());
  painter.setPen(colors.quiet);
  QString below = box.subtitle;
  if (time > 0) {
    below = timeText(time);
    if (sumNs_ > 0) below += QString::fromUtf8(" · ") + QString::number(100.0 * static_cast<double>(time) / static_cast<double>(sumNs_), 'f', 1) + "%";
  }
  painter.drawText(text, Qt::AlignHCenter | Qt::AlignBottom, QFontMetricsF(subtitleFont()).elidedText(below, Qt::ElideRight, text.width()));
}

bool GraphCanvas::exportTo(const QString& file) const {
  if (!view_) return false;
  const QRectF bounds = scene_.bounds.adjusted(-24, -24, 24, 24);
  const auto paint = [&](QPaintDevice* device, double scale) {
    QPainter painter(device);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.fillRect(QRectF(QPointF(0, 0), bounds.size() * scale), palette().color(QPalette::Base));
    painter.scale(scale, scale);
    painter.translate(-bounds.topLeft());
    paintScene(painter, bounds, 1);
  };
  if (file.endsWith(".svg", Qt::CaseInsensitive)) {
    QSvgGenerator svg;
    svg.setFileName(file);
    svg.setSize(bounds.size().toSize());
    svg.setViewBox(QRectF(QPointF(0, 0), bounds.size()));
    paint(&svg, 1);
    return true;
  }
  // At most 16384 pixels a side.
  const double scale = std::min(1.5, 16384 / std::max(bounds.width(), bounds.height()));
  QImage image((bounds.size() * scale).toSize(), QImage::Format_RGB32);
  paint(&image, scale);
  return image.save(file);
}

}  // namespace dyn::ui
