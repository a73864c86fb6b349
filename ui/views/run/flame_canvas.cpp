#include "ui/views/run/flame_canvas.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "app/session/views/run_views.h"
#include "ui/graph/graph_scene.h"
#include "ui/support/theme.h"
#include "ui/views/run/timeline_canvas.h"

namespace dyn::ui {

namespace {
constexpr double kFlameRow = 22, kFlameSide = 8, kLeastFlame = 0.5;  // pixels
constexpr double kLeastLabelled = 44;                                // fewer letters than four tell nothing
}  // namespace

FlameCanvas::FlameCanvas(QWidget* parent) : QWidget(parent) {
  setObjectName("flame");
  setAccessibleName("Time of the run by module");
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumHeight(90);
}

void FlameCanvas::setPlaces(Shared<PlaceTree> places) {
  places_ = std::move(places);
  root_ = hovered_ = chosen_ = -1;
  children_.clear();
  if (places_) {
    children_.resize(places_->rows.size() + 1);
    for (size_t i = 0; i < places_->rows.size(); ++i) {
      const int parent = places_->rows[i].parent;
      children_[parent < 0 ? places_->rows.size() : static_cast<size_t>(parent)].push_back(
          static_cast<int>(i));
    }
    for (std::vector<int>& rows : children_)
      std::stable_sort(rows.begin(), rows.end(), [&](int a, int b) { return timeOf(a) > timeOf(b); });
  }
  layOut();
  update();
}

int64_t FlameCanvas::timeOf(int row) const {
  return row < 0 ? places_->runNs : places_->rows[static_cast<size_t>(row)].totalNs;
}

QString FlameCanvas::labelOf(int row) const {
  return row < 0 ? QString("the whole run")
                 : QString::fromStdString(places_->rows[static_cast<size_t>(row)].label);
}

// What is above the root stands there too, as wide as it: the way back.
void FlameCanvas::layOut() {
  bars_.clear();
  if (!places_ || places_->rows.empty()) return;
  std::vector<int> above;
  for (int row = root_; row >= 0;) above.push_back(row = places_->rows[static_cast<size_t>(row)].parent);
  std::reverse(above.begin(), above.end());
  int depth = 0;
  for (const int row : above) bars_.push_back({row, depth++, 0, 1});
  bars_.push_back({root_, depth, 0, 1});
  const double least = kLeastFlame / std::max(1.0, width() - 2 * kFlameSide);
  for (size_t i = bars_.size() - 1; i < bars_.size(); ++i) {
    const Bar bar = bars_[i];
    const auto time = static_cast<double>(std::max<int64_t>(1, timeOf(bar.row)));
    double begin = bar.begin;
    for (const int child : children_[bar.row < 0 ? places_->rows.size() : static_cast<size_t>(bar.row)]) {
      const double share = (bar.end - bar.begin) * static_cast<double>(timeOf(child)) / time;
      if (share >= least) bars_.push_back({child, bar.depth + 1, begin, std::min(bar.end, begin + share)});
      begin += share;
    }
  }
}

QRectF FlameCanvas::rectOf(const Bar& bar) const {
  const double across = width() - 2 * kFlameSide;
  return {kFlameSide + bar.begin * across, 6 + bar.depth * kFlameRow, (bar.end - bar.begin) * across,
          kFlameRow - 2};
}

int FlameCanvas::barAt(QPointF p) const {
  for (size_t i = 0; i < bars_.size(); ++i)
    if (rectOf(bars_[i]).adjusted(-0.5, 0, 0.5, 0).contains(p)) return static_cast<int>(i);
  return -1;
}

void FlameCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  painter.setFont(fontOf(TextStep::caption));
  if (bars_.empty()) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(rect(), Qt::AlignCenter | Qt::TextWordWrap,
                     "Run the model: its time appears here, by module and operation.");
    return;
  }
  const bool dark = isDark(palette());
  for (size_t i = 0; i < bars_.size(); ++i) {
    const Bar& bar = bars_[i];
    const QRectF r = rectOf(bar);
    if (r.top() > height()) continue;
    const bool isPart = bar.row >= 0 && places_->rows[static_cast<size_t>(bar.row)].kind != "module";
    const QString label = labelOf(bar.row);
    const QColor fill = isPart ? timelineColor("kernel", label, dark) : themeColors(dark).hover;
    painter.fillRect(r.adjusted(0, 0, r.width() > 3 ? -1 : 0, 0), fill);
    if (static_cast<int>(i) == hovered_ || (bar.row == chosen_ && chosen_ >= 0)) {
      painter.setPen(QPen(palette().color(QPalette::Highlight), 2));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(r.adjusted(1, 1, -2, -1));
    }
    if (r.width() < kLeastLabelled) continue;
    painter.setPen(legibleOn(fill));
    const QString time = "  " + timeText(timeOf(bar.row));
    const QFontMetrics metrics = painter.fontMetrics();
    const int room = static_cast<int>(r.width()) - 8;
    const bool both = metrics.horizontalAdvance(label + time) <= room;
    painter.drawText(r.adjusted(4, 0, -4, 0), Qt::AlignLeft | Qt::AlignVCenter,
                     both ? label + time : metrics.elidedText(label, Qt::ElideRight, room));
  }
  if (!hasFocus()) return;
  painter.setPen(QPen(palette().color(QPalette::Highlight), 1));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

QString FlameCanvas::describe(const Bar& bar) const {
  QString text = labelOf(bar.row) + "\n" + timeText(timeOf(bar.row));
  if (places_->runNs > 0)
    text +=
        QString(", %1 % of the run")
            .arg(100 * static_cast<double>(timeOf(bar.row)) / static_cast<double>(places_->runNs), 0, 'f', 1);
  if (bar.row < 0) return text;
  const PlaceRow& row = places_->rows[static_cast<size_t>(bar.row)];
  text += QString(row.launchesCount == 1 ? "\n%1 launch" : "\n%1 launches").arg(row.launchesCount);
  if (!row.place.empty()) text += "\n" + QString::fromStdString(row.place);
  return text;
}

void FlameCanvas::setRoot(int row) {
  root_ = row;
  hovered_ = -1;
  layOut();
  update();
}

void FlameCanvas::choose(int bar) {
  chosen_ = bars_[static_cast<size_t>(bar)].row;
  update();
  if (chosen_ < 0) return;
  const std::string& place = places_->rows[static_cast<size_t>(chosen_)].place;
  if (!place.empty()) Q_EMIT placeChosen(QString::fromStdString(place));
}

void FlameCanvas::mouseMoveEvent(QMouseEvent* event) {
  const int bar = barAt(event->position());
  if (bar != hovered_) update();
  hovered_ = bar;
  if (bar >= 0)
    QToolTip::showText(event->globalPosition().toPoint(), describe(bars_[static_cast<size_t>(bar)]), this);
  else
    QToolTip::hideText();
}

void FlameCanvas::mousePressEvent(QMouseEvent* event) {
  const int bar = barAt(event->position());
  if (bar < 0 || event->button() != Qt::LeftButton) return;
  const int row = bars_[static_cast<size_t>(bar)].row;
  choose(bar);
  // One above what is wide: back to it.
  for (int above = root_; above >= 0;) {
    above = places_->rows[static_cast<size_t>(above)].parent;
    if (above == row) return setRoot(row);
  }
}

void FlameCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  const int bar = barAt(event->position());
  if (bar >= 0) setRoot(bars_[static_cast<size_t>(bar)].row);
}

void FlameCanvas::keyPressEvent(QKeyEvent* event) {
  if (bars_.empty()) return QWidget::keyPressEvent(event);
  int now = 0;
  for (size_t i = 0; i < bars_.size(); ++i)
    if (bars_[i].row == chosen_) now = static_cast<int>(i);
  const Bar bar = bars_[static_cast<size_t>(now)];
  // The nearest bar of the row above or below, or the next one in the same row.
  const auto nearest = [&](int depth, auto&& fits) {
    for (size_t i = 0; i < bars_.size(); ++i)
      if (bars_[i].depth == depth && fits(bars_[i])) return choose(static_cast<int>(i));
  };
  switch (event->key()) {
    case Qt::Key_Down:
      return nearest(bar.depth + 1, [&](const Bar& b) { return b.begin >= bar.begin && b.begin < bar.end; });
    case Qt::Key_Up:
      return nearest(bar.depth - 1, [&](const Bar& b) { return b.begin <= bar.begin && b.end >= bar.end; });
    case Qt::Key_Right:
      return nearest(bar.depth, [&](const Bar& b) { return b.begin > bar.begin; });
    case Qt::Key_Left:
      for (size_t i = static_cast<size_t>(now); i-- > 0;)
        if (bars_[i].depth == bar.depth) return choose(static_cast<int>(i));
      return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      return setRoot(bar.row);
    case Qt::Key_Backspace:
      return setRoot(root_ < 0 ? -1 : places_->rows[static_cast<size_t>(root_)].parent);
    default:
      QWidget::keyPressEvent(event);
  }
}

// Bars that were too narrow may be seen.
void FlameCanvas::resizeEvent(QResizeEvent*) { layOut(); }

void FlameCanvas::leaveEvent(QEvent*) {
  hovered_ = -1;
  update();
}

}  // namespace dyn::ui
