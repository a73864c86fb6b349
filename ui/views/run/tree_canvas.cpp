#include "ui/views/run/tree_canvas.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <array>
#include <cmath>

#include "ui/graph/graph_scene.h"
#include "ui/support/theme.h"

namespace dyn::ui {

namespace {

constexpr double kTreeSide = 14, kMostLeafGap = 84, kLeastLeafGap = 1, kMostRise = 54;

// Between levels that follow each other the colours differ most.
constexpr std::array<Category, 6> kLevelCategories = {Category::contraction, Category::reduction,
                                                      Category::movement,    Category::control,
                                                      Category::elementwise, Category::boundary};

}  // namespace

TreeCanvas::TreeCanvas(QWidget* parent) : QWidget(parent) {
  setObjectName("treeCanvas");
  setAccessibleName("The trees of the last run");
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(160, 60);
}

QColor TreeCanvas::levelColor(uint32_t level, bool dark) {
  return categoryColor(kLevelCategories[(std::max(level, 1u) - 1) % kLevelCategories.size()], dark);
}

void TreeCanvas::setTrees(NodeTrees trees) {
  trees_ = std::move(trees);
  chosen_ = std::nullopt;
  sizes_.assign(trees_.levelsCount() + 1, 0);
  for (const NodeTrees::Node& node : trees_.nodes) ++sizes_[node.level];
  lay();
  showAll();
}

void TreeCanvas::chooseLevel(std::optional<uint32_t> level) {
  if (level && *level >= sizes_.size()) level = std::nullopt;
  if (level == chosen_) return;
  chosen_ = level;
  update();
}

// Leaves from the left to the right as the trees have them; a node in the middle of its children. A node that
// several have as a child stands once.
void TreeCanvas::lay() {
  const std::vector<NodeTrees::Node>& nodes = trees_.nodes;
  places_.assign(nodes.size(), QPointF(-1, 0));
  double next = 0;
  std::vector<std::pair<uint32_t, size_t>> open;
  for (uint32_t root = 0; root < nodes.size(); ++root) {
    if (!nodes[root].isRoot) continue;
    if (next > 0) next += 0.5;  // between two trees
    open.push_back({root, 0});
    while (!open.empty()) {
      auto& [node, child] = open.back();
      const std::vector<uint32_t>& children = nodes[node].children;
      if (child < children.size()) {
        const uint32_t below = children[child++];
        if (places_[below].x() < 0) open.push_back({below, 0});
        continue;
      }
      double sum = 0;
      for (const uint32_t below : children) sum += places_[below].x();
      const double x = children.empty() ? next++ : sum / static_cast<double>(children.size());
      places_[node] = QPointF(x, nodes[node].level);
      open.pop_back();
    }
  }
  extent_ = QSizeF(std::max(0.0, next - 1), static_cast<double>(sizes_.empty() ? 0 : sizes_.size() - 1));
}

void TreeCanvas::showAll() {
  isFitted_ = true;
  const double line = fontMetrics().height();
  const double wide = width() - 2 * kTreeSide - fontMetrics().horizontalAdvance("level 00  ") - 40;
  const double high = height() - 2 * kTreeSide - 2 * line;
  scale_ = std::clamp(wide / std::max(1.0, extent_.width()), kLeastLeafGap, kMostLeafGap);
  rise_ = std::clamp(high / std::max(1.0, extent_.height()), 4.0, kMostRise);
  const double left = fontMetrics().horizontalAdvance("level 00  ") + kTreeSide + 20;
  origin_ = QPointF(
      left, std::min(height() - kTreeSide - 1.5 * line, kTreeSide + line + rise_ * extent_.height() + line));
  update();
}

QPointF TreeCanvas::onScreen(size_t node) const {
  return {origin_.x() + places_[node].x() * scale_, origin_.y() - places_[node].y() * rise_};
}

double TreeCanvas::radius() const { return std::clamp(std::min(scale_, rise_) * 0.22, 1.5, 8.0); }

QString TreeCanvas::describe(size_t node) const {
  const NodeTrees::Node& one = trees_.nodes[node];
  QString text = one.children.empty() ? QString("leaf ") : QString("node ");
  text += groupedText(one.number);
  if (!one.word.empty()) text += ": " + QString::fromStdString(one.word);
  if (!one.children.empty()) {
    QStringList children;
    for (const uint32_t child : one.children) children << groupedText(trees_.nodes[child].number);
    text += "\nwaits for " + children.join(" and ");
  }
  const int64_t beside = sizes_[one.level] - 1;
  text += one.level == 0 ? QString("\nlevel 0, the leaves")
                         : QString("\nlevel %1, which runs at once").arg(one.level);
  if (beside > 0)
    text += QString(", with %1 other %2").arg(groupedText(beside), beside == 1 ? "node" : "nodes");
  return text;
}

void TreeCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  painter.setRenderHint(QPainter::Antialiasing);
  const bool dark = isDark(palette());
  const QColor quiet = palette().color(QPalette::PlaceholderText);
  // Edges below all nodes; those into the chosen level are what it waits for.
  for (size_t i = 0; i < trees_.nodes.size(); ++i) {
    const NodeTrees::Node& node = trees_.nodes[i];
    const bool isChosen = chosen_ && node.level == *chosen_;
    QColor color = isChosen ? levelColor(node.level, dark) : quiet;
    color.setAlpha(isChosen ? 255 : chosen_ ? 60 : 130);
    painter.setPen(QPen(color, isChosen ? 2 : 1.2));
    for (const uint32_t child : node.children) painter.drawLine(onScreen(i), onScreen(child));
  }
  paintNodes(painter);
  // The names of the levels at the left, on the ground.
  painter.fillRect(QRectF(0, 0, fontMetrics().horizontalAdvance("level 00  ") + 4, height()),
                   palette().color(QPalette::Base));
  double last = 1e9;
  for (uint32_t level = 0; level < sizes_.size(); ++level) {
    const double y = origin_.y() - level * rise_;
    if (last - y < fontMetrics().height()) continue;
    last = y;
    painter.setPen(chosen_ && *chosen_ == level ? palette().color(QPalette::Text) : quiet);
    painter.drawText(QPointF(kSpaceSmall, y + fontMetrics().ascent() / 2.0 - 1),
                     level == 0 ? QString("leaves") : QString("level %1").arg(level));
  }
  if (trees_.allNodes <= static_cast<int64_t>(trees_.nodes.size())) return;
  painter.setPen(quiet);
  painter.drawText(
      rect().adjusted(0, 2, -kSpaceSmall, 0), Qt::AlignRight | Qt::AlignTop,
      QString("%1 of %2 nodes are drawn")
          .arg(groupedText(static_cast<int64_t>(trees_.nodes.size())), groupedText(trees_.allNodes)));
}

void TreeCanvas::paintNodes(QPainter& painter) const {
  const bool dark = isDark(palette());
  const double r = radius();
  double textEnd = -1e9;  // of the last word; words that have no room are left to the tooltips
  std::vector<std::pair<double, size_t>> leaves;
  for (size_t i = 0; i < trees_.nodes.size(); ++i) {
    const NodeTrees::Node& node = trees_.nodes[i];
    const QPointF at = onScreen(i);
    const bool isQuiet = chosen_ && node.level != *chosen_;
    QColor color = node.level == 0 ? palette().color(QPalette::Text) : levelColor(node.level, dark);
    if (isQuiet) color.setAlpha(80);
    painter.setPen(QPen(color, 1.5));
    painter.setBrush(node.level == 0 ? palette().brush(QPalette::Base) : QBrush(color));
    painter.drawEllipse(at, r, r);
    if (node.children.empty()) leaves.emplace_back(at.x(), i);
  }
  std::sort(leaves.begin(), leaves.end());
  painter.setPen(palette().color(QPalette::Text));
  for (const auto& [x, leaf] : leaves) {
    const NodeTrees::Node& node = trees_.nodes[leaf];
    const QString word = node.word.empty() ? groupedText(node.number) : QString::fromStdString(node.word);
    const double wide = fontMetrics().horizontalAdvance(word);
    if (x - wide / 2 < textEnd + 4) continue;
    textEnd = x + wide / 2;
    painter.drawText(QPointF(x - wide / 2, onScreen(leaf).y() + r + fontMetrics().ascent() + 3), word);
  }
}

std::optional<size_t> TreeCanvas::nodeAt(QPointF at) const {
  std::optional<size_t> found;
  double nearest = std::max(radius() + 3, 6.0);
  for (size_t i = 0; i < places_.size(); ++i) {
    const QPointF off = onScreen(i) - at;
    const double far = std::hypot(off.x(), off.y());
    if (far >= nearest) continue;
    nearest = far;
    found = i;
  }
  return found;
}

void TreeCanvas::wheelEvent(QWheelEvent* event) {
  const double factor = std::pow(1.0015, event->angleDelta().y());
  const double before = scale_;
  scale_ = std::clamp(scale_ * factor, kLeastLeafGap, 4 * kMostLeafGap);
  const QPointF at = event->position();
  origin_.setX(at.x() + (origin_.x() - at.x()) * scale_ / before);
  isFitted_ = false;
  update();
}

void TreeCanvas::mousePressEvent(QMouseEvent* event) {
  pressed_ = event->position();
  isDragging_ = false;
}

void TreeCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (event->buttons() & Qt::LeftButton) {
    const QPointF by = event->position() - pressed_;
    if (!isDragging_ && std::hypot(by.x(), by.y()) < 4) return;
    isDragging_ = true;
    isFitted_ = false;
    origin_ += by;
    pressed_ = event->position();
    return update();
  }
  if (const std::optional<size_t> node = nodeAt(event->position()))
    QToolTip::showText(event->globalPosition().toPoint(), describe(*node), this);
  else
    QToolTip::hideText();
}

void TreeCanvas::mouseReleaseEvent(QMouseEvent* event) {
  if (isDragging_) return;
  const std::optional<size_t> node = nodeAt(event->position());
  chooseLevel(node ? std::optional(trees_.nodes[*node].level) : std::nullopt);
  if (!node) return;
  setAccessibleDescription(describe(*node));
  Q_EMIT levelChosen(static_cast<int>(trees_.nodes[*node].level));
}

void TreeCanvas::keyPressEvent(QKeyEvent* event) {
  const auto levels = static_cast<int>(sizes_.size());
  const int now = chosen_ ? static_cast<int>(*chosen_) : -1;
  if (event->key() == Qt::Key_F) return showAll();
  const bool isUp = event->key() == Qt::Key_Up, isDown = event->key() == Qt::Key_Down;
  if ((!isUp && !isDown) || levels == 0) return QWidget::keyPressEvent(event);
  const int level = std::clamp(now + (isUp ? 1 : -1), 0, levels - 1);
  chooseLevel(static_cast<uint32_t>(level));
  Q_EMIT levelChosen(level);
}

void TreeCanvas::resizeEvent(QResizeEvent*) {
  if (isFitted_) showAll();
}

}  // namespace dyn::ui
