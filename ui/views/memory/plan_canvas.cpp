#include "ui/views/memory/plan_canvas.h"

#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "app/session/views/memory_views.h"
#include "app/session/views/node_id.h"
#include "ui/graph/graph_scene.h"
#include "ui/support/axis_step.h"
#include "ui/support/formula_text.h"
#include "ui/support/paper_text.h"
#include "ui/support/theme.h"

namespace dyn::ui {

namespace {

constexpr double kLeft = 64, kRight = 10, kTop = 8, kBottom = 22;
constexpr double kLeastBetweenLines = 44;  // pixels

}  // namespace

QColor bufferColor(Category category, size_t index, bool pooled, bool dark) {
  const QColor paper = themeColors(dark).base, strong = categoryColor(category, dark);
  const double part = (pooled ? 0.3 : 0.42) + 0.1 * static_cast<double>(index % 3);
  const auto mix = [part](int from, int to) { return static_cast<int>(from + part * (to - from)); };
  return QColor(mix(paper.red(), strong.red()), mix(paper.green(), strong.green()),
                mix(paper.blue(), strong.blue()));
}

namespace {

// What a picture of sizes needs: every buffer of the function with a number.
QString missingSizes(const PlanView& plan, const QString& function) {
  for (const PlanBuffer& b : plan.buffers)
    if (QString::fromStdString(b.function) == function && !b.pooled && !b.sizeBytes)
      return "Sizes depend on dims without a value. Set them in the Run panel.";
  return {};
}

// As much of the end of a value's name as fits, in whole parts: the last one says what makes it. Without what
// exporters add to the name of a node for its first result.
QString labelOf(const QString& name, const QFontMetrics& metrics, int width) {
  static const QString result = QStringLiteral("_output_0");
  const QString whole = name.endsWith(result) ? name.chopped(result.size()) : name;
  for (qsizetype parts = whole.count('/') + 1; parts > 0; --parts) {
    const QString end = whole.section('/', -parts);
    if (metrics.horizontalAdvance(end) <= width) return end;
  }
  return metrics.elidedText(whole.section('/', -1), Qt::ElideRight, width);
}

}  // namespace

PlanCanvas::PlanCanvas(QWidget* parent) : QWidget(parent) {
  setObjectName("planCanvas");
  setAccessibleName("Memory plan");
  setMouseTracking(true);
  setMinimumHeight(90);
}

void PlanCanvas::setPlan(Shared<PlanView> plan, const QString& function) {
  plan_ = std::move(plan);
  blocks_.clear();
  part_ = std::nullopt;
  hovered_ = -1;
  steps_ = 1;
  bytes_ = arenaBytes_ = 0;
  message_ = "No plan yet.";
  update();
  if (!plan_) return;
  isMain_ = function == "main";
  message_ = missingSizes(*plan_, function);
  if (!message_.isEmpty()) return;
  for (const PlanArena& arena : plan_->arenas)
    if (QString::fromStdString(arena.function) == function) {
      arenaBytes_ = arena.sizeBytes ? static_cast<double>(*arena.sizeBytes) : 0;
      steps_ = std::max(steps_, static_cast<double>(arena.stepsCount));
    }
  std::vector<Block> pooled;
  for (size_t i = 0; i < plan_->buffers.size(); ++i) {
    const PlanBuffer& b = plan_->buffers[i];
    if (QString::fromStdString(b.function) != function || !b.sizeBytes) continue;
    const double size = static_cast<double>(*b.sizeBytes);
    Block block{i, static_cast<double>(b.begin), static_cast<double>(b.end) + 1, 0, size};
    steps_ = std::max(steps_, block.end);
    if (b.pooled || !b.offsetBytes) {
      pooled.push_back(block);
      continue;
    }
    block.low = static_cast<double>(*b.offsetBytes);
    block.high = block.low + size;
    blocks_.push_back(block);
  }
  // Pooled buffers have no address: each goes to the lowest place above the arena that is free during its
  // life.
  const size_t first = blocks_.size();
  for (Block& block : pooled) {
    std::vector<std::pair<double, double>> taken;
    for (size_t i = first; i < blocks_.size(); ++i)
      if (blocks_[i].begin < block.end && block.begin < blocks_[i].end)
        taken.emplace_back(blocks_[i].low, blocks_[i].high);
    std::sort(taken.begin(), taken.end());
    double low = arenaBytes_;
    for (const auto& [from, to] : taken)
      if (from < low + block.high && low < to) low = to;
    block.high += low;
    block.low = low;
    blocks_.push_back(block);
  }
  bytes_ = arenaBytes_;
  for (const Block& block : blocks_) bytes_ = std::max(bytes_, block.high);
  if (blocks_.empty()) message_ = "This function has no tensor in its own memory.";
}

void PlanCanvas::setCategories(std::shared_ptr<const NodeCategories> categories) {
  categories_ = std::move(categories);
  update();
}

// The last part of a value's name tells what makes it: "/layer.0/MatMul_output_0".
Category PlanCanvas::categoryOf(const PlanBuffer& buffer) const {
  const Category byName = categoryOfKernel(QString::fromStdString(buffer.name).section('/', -1));
  if (byName != Category::other || !categories_) return byName;
  const auto known = categories_->find(buffer.node);
  return known == categories_->end() ? byName : known->second;
}

void PlanCanvas::setChosen(NodeId node) {
  chosen_ = node;
  update();
}

void PlanCanvas::setPart(const std::set<NodeId>* made) {
  part_ = std::nullopt;
  for (const Block& block : blocks_) {
    const PlanBuffer& b = plan_->buffers[block.buffer];
    if (!made || made->count(b.node) == 0) continue;
    if (!part_) part_ = {b.begin, b.begin};
    part_->first = std::min(part_->first, b.begin);
    part_->second = std::max(part_->second, b.begin);
  }
  update();
}

void PlanCanvas::setLeastTop(double bytes) {
  leastTop_ = bytes;
  update();
}

QRectF PlanCanvas::rectOf(const Block& block) const {
  const double across = (width() - kLeft - kRight) / steps_, up = (height() - kTop - kBottom) / top();
  const double bottom = height() - kBottom;
  return QRectF(QPointF(kLeft + block.begin * across, bottom - block.high * up),
                QPointF(kLeft + block.end * across, bottom - block.low * up));
}

int PlanCanvas::blockAt(QPointF p) const {
  for (size_t i = blocks_.size(); i-- > 0;)
    if (rectOf(blocks_[i]).adjusted(-1, -1, 1, 1).contains(p)) return static_cast<int>(i);
  return -1;
}

QString PlanCanvas::describe(const Block& block) const {
  const PlanBuffer& b = plan_->buffers[block.buffer];
  QString text = QString::fromStdString(b.name) + ": " + QString::fromStdString(b.dtype) + " [";
  for (size_t i = 0; i < b.shape.size(); ++i)
    text += (i ? ", " : "") + formulaText(QString::fromStdString(b.shape[i]), Numbers::exact);
  text += "]\n" + bytesText(*b.sizeBytes) + " = " +
          formulaText(QString::fromStdString(b.bytes), Numbers::exact) + " bytes\n";
  text += b.pooled || !b.offsetBytes ? "from the pool"
                                     : "at byte " + QString::number(*b.offsetBytes) + " of the arena";
  text += QString("\nfrom operation %1 to %2").arg(b.begin).arg(b.end);
  constexpr size_t kMostViews = 6;
  for (size_t i = 0; i < std::min(b.views.size(), kMostViews); ++i)
    text += (i ? ", " : "\nview without a copy: ") + QString::fromStdString(b.views[i]);
  if (b.views.size() > kMostViews) text += QString(" and %1 more").arg(b.views.size() - kMostViews);
  return text;
}

void PlanCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  if (!message_.isEmpty()) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(rect(), Qt::AlignCenter, message_);
    return;
  }
  const bool dark = palette().color(QPalette::Base).lightness() < 128;
  const double bottom = height() - kBottom, up = (bottom - kTop) / top();
  const QColor line = dark ? QColor(90, 96, 110) : QColor(200, 206, 216);
  painter.setFont(fontOf(TextStep::caption));
  const double step = bytesStep(top(), std::max(2, static_cast<int>((bottom - kTop) / kLeastBetweenLines)));
  for (double bytes = 0; bytes <= top() * (1 + 1e-9); bytes += step) {
    const double y = bottom - bytes * up;
    painter.setPen(line);
    painter.drawLine(QPointF(kLeft, y), QPointF(width() - kRight, y));
    painter.setPen(palette().color(QPalette::Text));
    painter.drawText(QRectF(0, y - 8, kLeft - 6, 16), Qt::AlignRight | Qt::AlignVCenter,
                     withoutZeros(bytesText(std::llround(bytes))));
  }
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const PlanBuffer& b = plan_->buffers[blocks_[i].buffer];
    const QRectF r = rectOf(blocks_[i]);
    const bool chosen = b.node == chosen_ && chosen_ != kNoNode, hovered = static_cast<int>(i) == hovered_;
    painter.setPen(chosen || hovered ? QPen(palette().color(QPalette::Highlight), 2) : QPen(line, 0.7));
    const QColor fill = bufferColor(categoryOf(b), blocks_[i].buffer, b.pooled, dark);
    painter.setBrush(b.pooled ? QBrush(fill, Qt::BDiagPattern) : QBrush(fill));
    painter.drawRect(r);
    if (r.width() < 40 || r.height() < 13) continue;
    // A pattern lets the paper through.
    painter.setPen(b.pooled ? palette().color(QPalette::Text) : legibleOn(fill));
    painter.drawText(
        r.adjusted(3, 0, -3, 0), Qt::AlignLeft | Qt::AlignVCenter,
        labelOf(QString::fromStdString(b.name), painter.fontMetrics(), static_cast<int>(r.width()) - 6));
  }
  if (bytes_ > arenaBytes_ && arenaBytes_ > 0) {
    painter.setPen(QPen(palette().color(QPalette::Text), 1, Qt::DashLine));
    const double y = bottom - arenaBytes_ * up;
    painter.drawLine(QPointF(kLeft, y), QPointF(width() - kRight, y));
    paintOnPaper(painter, QPointF(kLeft + 4, y - 3), "end of the arena; above it: from the pool", palette());
  }
  const QRectF peak = paintPeak(painter);
  const QString steps = QString::fromUtf8("operations 0 → %1").arg(static_cast<int>(steps_) - 1);
  const double stepsWidth = painter.fontMetrics().horizontalAdvance(steps);
  QRectF below(width() - kRight - stepsWidth, bottom + 2, stepsWidth, kBottom - 3);
  if (below.intersects(peak)) below.moveLeft(kLeft);
  painter.setPen(palette().color(QPalette::PlaceholderText));
  if (!below.intersects(peak)) painter.drawText(below, Qt::AlignLeft | Qt::AlignVCenter, steps);
  if (!part_) return;
  const double across = (width() - kLeft - kRight) / steps_;
  const double from = kLeft + part_->first * across, to = kLeft + (part_->second + 1) * across;
  QColor shade = palette().color(QPalette::Base);
  shade.setAlpha(185);
  painter.fillRect(QRectF(kLeft, kTop, from - kLeft, bottom - kTop), shade);
  painter.fillRect(QRectF(to, kTop, width() - kRight - to, bottom - kTop), shade);
}

// Where most lives at once: an upright line, its sum, and what lives then.
QRectF PlanCanvas::paintPeak(QPainter& painter) const {
  if (!isMain_ || plan_->peakStep < 0) return {};
  const double x = kLeft + (plan_->peakStep + 0.5) * (width() - kLeft - kRight) / steps_;
  painter.setPen(QPen(palette().color(QPalette::Highlight), 1.5, Qt::DashLine));
  painter.drawLine(QPointF(x, kTop), QPointF(x, height() - kBottom));
  const QString text = QString("most is live at operation %1: %2 in %3 buffers")
                           .arg(plan_->peakStep)
                           .arg(bytesText(plan_->peakStepBytes))
                           .arg(plan_->peakBuffers.size());
  const double width = painter.fontMetrics().horizontalAdvance(text) + 8;
  const double left = std::clamp(x + 4, kLeft, std::max(kLeft, this->width() - kRight - width));
  const QRectF below(left, height() - kBottom + 2, width, kBottom - 3);
  painter.setPen(palette().color(QPalette::Text));
  painter.drawText(below.adjusted(4, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, text);
  return below;
}

void PlanCanvas::mouseMoveEvent(QMouseEvent* event) {
  const int block = blockAt(event->position());
  if (block != hovered_) update();
  hovered_ = block;
  if (block >= 0)
    QToolTip::showText(event->globalPosition().toPoint(), describe(blocks_[static_cast<size_t>(block)]),
                       this);
  else
    QToolTip::hideText();
}

void PlanCanvas::mousePressEvent(QMouseEvent* event) {
  const int block = blockAt(event->position());
  if (block >= 0) Q_EMIT nodeChosen(plan_->buffers[blocks_[static_cast<size_t>(block)].buffer].node);
}

void PlanCanvas::leaveEvent(QEvent*) {
  hovered_ = -1;
  update();
}

}  // namespace dyn::ui
