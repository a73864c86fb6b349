#include "ui/views/run/timeline_canvas.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "app/engine/run/run_result.h"
#include "app/session/views/run_views.h"
#include "ui/graph/graph_painter.h"
#include "ui/graph/graph_scene.h"
#include "ui/support/kind_text.h"
#include "ui/support/theme.h"
#include "ui/views/device_counts_text.h"

namespace dyn::ui {

namespace {

constexpr double kRuler = 20, kRowHeight = 20, kSide = 8, kTitles = 84;

}  // namespace

QColor timelineColor(const std::string& kind, const QString& name, bool dark) {
  const Category category = kind == "iteration"                      ? Category::control
                            : kind == "copy" || kind == "allocation" ? Category::movement
                                                                     : categoryOfKernel(name);
  const QColor paper = themeColors(dark).base, strong = categoryColor(category, dark);
  const double part = kind == "iteration" || category == Category::other ? 0.25 : 0.55;
  const auto mix = [part](int from, int to) { return static_cast<int>(from + part * (to - from)); };
  return QColor(mix(paper.red(), strong.red()), mix(paper.green(), strong.green()),
                mix(paper.blue(), strong.blue()));
}

namespace {

QString laneTitle(const RunResult& run, int thread) {
  if (thread == 1) return "main thread";
  const auto named = run.lanes.find(thread);
  return named == run.lanes.end() ? QString("worker %1").arg(thread - 1)
                                  : QString::fromStdString(named->second);
}

// 1, 2 or 5 times a power of ten, at least `least`.
double roundStep(double least) {
  const double power = std::pow(10, std::floor(std::log10(std::max(least, 1.0))));
  for (double factor : {1.0, 2.0, 5.0})
    if (power * factor >= least) return power * factor;
  return power * 10;
}

}  // namespace

TimelineCanvas::TimelineCanvas(QWidget* parent) : QWidget(parent) {
  setObjectName("timeline");
  setAccessibleName("Timeline of the last run");
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumHeight(90);
}

void TimelineCanvas::setRun(Shared<RunResult> run) {
  run_ = std::move(run);
  bars_.clear();
  rowsCount_ = 0;
  totalNs_ = 0;
  hovered_ = -1;
  range_ = std::nullopt;
  lanes_.clear();
  down_ = 0;
  if (run_) {
    const std::vector<TimelineEvent>& events = run_->timeline;
    bars_.resize(events.size());
    // An event stands below those that are open when it begins.
    std::vector<size_t> order(events.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return events[a].beginNs != events[b].beginNs ? events[a].beginNs < events[b].beginNs
                                                    : events[a].durationNs > events[b].durationNs;
    });
    std::map<int, std::vector<size_t>> byThread;
    for (const size_t i : order) byThread[events[i].thread].push_back(i);
    for (const auto& [thread, bars] : byThread) {
      const int first = rowsCount_;
      lanes_.push_back({laneTitle(*run_, thread), first});
      std::vector<int64_t> open;
      for (const size_t i : bars) {
        const int64_t begin = events[i].beginNs, end = begin + events[i].durationNs;
        while (!open.empty() && open.back() <= begin) open.pop_back();
        bars_[i] = {begin, end, first + static_cast<int>(open.size())};
        rowsCount_ = std::max(rowsCount_, bars_[i].row + 1);
        totalNs_ = std::max(totalNs_, end);
        open.push_back(end);
      }
    }
  }
  showAll();
}

void TimelineCanvas::setChosenPlace(const QString& place) {
  chosen_ = place;
  update();
}

void TimelineCanvas::showAll() {
  all_ = true;
  beginNs_ = 0;
  const auto total = static_cast<double>(std::max(totalNs_, leastTotalNs_));
  nsPerPixel_ = std::max(1e-3, total / std::max(1.0, width() - side() - kSide));
  update();
}

void TimelineCanvas::setLeastTotal(int64_t ns) {
  leastTotalNs_ = ns;
  if (all_) showAll();
}

void TimelineCanvas::setView(double beginNs, double nsPerPixel) {
  beginNs_ = beginNs;
  nsPerPixel_ = nsPerPixel;
  all_ = false;
  update();
}

QRectF TimelineCanvas::rectOf(const Bar& bar) const {
  const double left = side() + (static_cast<double>(bar.beginNs) - beginNs_) / nsPerPixel_;
  const double length = static_cast<double>(bar.endNs - bar.beginNs) / nsPerPixel_;
  return QRectF(left, kRuler + bar.row * kRowHeight - down_, std::max(length, 0.6), kRowHeight - 2);
}

// One lane needs no title.
double TimelineCanvas::side() const { return lanes_.size() > 1 ? kTitles : kSide; }

int TimelineCanvas::barAt(QPointF p) const {
  if (p.y() < kRuler || (lanes_.size() > 1 && p.x() < side())) return -1;
  for (size_t i = bars_.size(); i-- > 0;)
    if (rectOf(bars_[i]).adjusted(-1, 0, 1, 1).contains(p)) return static_cast<int>(i);
  return -1;
}

QString TimelineCanvas::describe(size_t bar) const {
  const TimelineEvent& e = run_->timeline[bar];
  QString text = QString::fromStdString(e.name) + " (" + kindText(e.kind) + "), " + timeText(e.durationNs) +
                 ", at " + timeText(e.beginNs);
  if (!e.kernel.empty()) text += "\n" + QString::fromStdString(e.kernel);
  if (!e.shapes.empty()) text += "\n" + QString::fromStdString(e.shapes);
  if (e.bytes > 0) {
    text += "\n" + bytesText(e.bytes);
    if (e.durationNs > 0)
      text += ", " +
              QString::number(static_cast<double>(e.bytes) / static_cast<double>(e.durationNs), 'f', 1) +
              " GB/s";
  }
  if (e.counts) text += "\n" + countsText(*e.counts);
  if (!e.place.empty()) text += "\n" + QString::fromStdString(e.place);
  return text;
}

void TimelineCanvas::setComparedRuns(Shared<RunsView> runs) {
  comparedRuns_ = std::move(runs);
  comparedRows_.clear();
  for (size_t i = 0; comparedRuns_ && i < comparedRuns_->rows.size(); ++i) {
    const RunDifference& row = comparedRuns_->rows[i];
    comparedRows_[row.place] = i;
    for (const std::string& member : row.members) comparedRows_.emplace(member, i);
  }
  update();
}

QColor TimelineCanvas::fillOf(const TimelineEvent& event, bool dark) const {
  if (!comparedRuns_) return timelineColor(event.kind, QString::fromStdString(event.name), dark);
  const auto row = comparedRows_.find(event.place);
  const RunDifference* difference = row == comparedRows_.end() ? nullptr : &comparedRuns_->rows[row->second];
  if (!difference || !difference->ratio || difference->change == TimeChange::withinNoise)
    return dark ? QColor(70, 74, 82) : QColor(214, 216, 222);
  return ratioColor(*difference->ratio, dark);
}

void TimelineCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  painter.setFont(fontOf(TextStep::caption));
  if (bars_.empty()) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(rect(), Qt::AlignCenter, "Run the model: its kernels appear here along time.");
    return;
  }
  const bool dark = palette().color(QPalette::Base).lightness() < 128;
  const double step = roundStep(nsPerPixel_ * 90);
  for (double t = std::ceil(beginNs_ / step) * step; t < beginNs_ + nsPerPixel_ * width(); t += step) {
    const double x = side() + (t - beginNs_) / nsPerPixel_;
    painter.setPen(dark ? QColor(72, 78, 92) : QColor(222, 226, 234));
    painter.drawLine(QPointF(x, 0), QPointF(x, height()));
    painter.setPen(palette().color(QPalette::Text));
    painter.drawText(QPointF(x + 3, 12), timeText(static_cast<int64_t>(t)));
  }
  painter.setClipRect(QRectF(0, kRuler, width(), height() - kRuler));
  // Of bars that share a pixel one is drawn.
  std::vector<int> lastPixel(static_cast<size_t>(rowsCount_), -1);
  for (size_t i = 0; i < bars_.size(); ++i) {
    const QRectF r = rectOf(bars_[i]);
    if (r.right() < 0 || r.left() > width() || r.bottom() < kRuler || r.top() > height()) continue;
    const TimelineEvent& e = run_->timeline[i];
    const bool chosen = !chosen_.isEmpty() && QString::fromStdString(e.place) == chosen_,
               hovered = static_cast<int>(i) == hovered_;
    int& last = lastPixel[static_cast<size_t>(bars_[i].row)];
    if (r.width() < 1 && static_cast<int>(r.left()) == last && !chosen && !hovered) continue;
    last = static_cast<int>(r.left());
    const QColor fill = fillOf(e, dark);
    painter.fillRect(r, fill);
    if (chosen || hovered) {
      painter.setPen(QPen(palette().color(QPalette::Highlight), 2));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(r);
    }
    if (r.width() < 30) continue;
    painter.setPen(legibleOn(fill));
    const QRectF text = r.intersected(QRectF(rect()).adjusted(side(), 0, 0, 0)).adjusted(3, 0, -3, 0);
    if (text.width() < 20) continue;
    QString name = QString::fromStdString(e.kernel.empty() ? e.name : e.name + "  " + e.kernel);
    // Of "iteration 12" the number says more.
    if (e.kind == "iteration" && painter.fontMetrics().horizontalAdvance(name) > text.width())
      name = name.section(' ', -1);
    painter.drawText(text, Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(name, Qt::ElideRight, static_cast<int>(text.width())));
  }
  if (lanes_.size() > 1) paintLanes(painter);
  painter.setClipping(false);
  paintRange(painter);
}

void TimelineCanvas::paintLanes(QPainter& painter) const {
  painter.fillRect(QRectF(0, kRuler, side() - 2, height() - kRuler), palette().color(QPalette::Base));
  for (const Lane& lane : lanes_) {
    const double y = kRuler + lane.firstRow * kRowHeight - down_ - 1;
    painter.setPen(palette().color(QPalette::Mid));
    painter.drawLine(QPointF(0, y), QPointF(width(), y));
    painter.setPen(palette().color(QPalette::Text));
    painter.drawText(QRectF(6, y, side() - 10, kRowHeight), Qt::AlignLeft | Qt::AlignVCenter, lane.title);
  }
}

void TimelineCanvas::scroll(double pixels) {
  const double most = kRuler + rowsCount_ * kRowHeight + 4 - height();
  down_ = std::clamp(down_ + pixels, 0.0, std::max(0.0, most));
  update();
}

double TimelineCanvas::nsAt(double x) const { return beginNs_ + (x - side()) * nsPerPixel_; }

void TimelineCanvas::paintRange(QPainter& painter) const {
  if (!range_) return;
  const auto [first, last] = std::minmax(range_->first, range_->second);
  const double left = side() + (first - beginNs_) / nsPerPixel_,
               right = side() + (last - beginNs_) / nsPerPixel_;
  QColor shade = palette().color(QPalette::Text);
  shade.setAlpha(45);
  painter.fillRect(QRectF(0, 0, std::max(0.0, left), height()), shade);
  painter.fillRect(QRectF(right, 0, std::max(0.0, width() - right), height()), shade);
  painter.setPen(palette().color(QPalette::Text));
  painter.drawText(QRectF(left + 3, height() - 16, 200, 14), Qt::AlignLeft | Qt::AlignVCenter,
                   timeText(static_cast<int64_t>(last - first)));
}

void TimelineCanvas::tellRange() {
  if (!range_) return Q_EMIT rangeChosen(INT64_MIN, INT64_MAX);
  const auto [first, last] = std::minmax(range_->first, range_->second);
  Q_EMIT rangeChosen(static_cast<qint64>(first), static_cast<qint64>(last));
}

void TimelineCanvas::zoom(double factor, double x) {
  const double under = beginNs_ + (x - side()) * nsPerPixel_;
  nsPerPixel_ = std::clamp(nsPerPixel_ * factor, 0.5, std::max(1.0, static_cast<double>(totalNs_)));
  beginNs_ = under - (x - side()) * nsPerPixel_;
  all_ = false;
  update();
  Q_EMIT viewMoved(beginNs_, nsPerPixel_);
}

void TimelineCanvas::pan(double pixels) {
  beginNs_ += pixels * nsPerPixel_;
  all_ = false;
  update();
  Q_EMIT viewMoved(beginNs_, nsPerPixel_);
}

void TimelineCanvas::wheelEvent(QWheelEvent* event) {
  zoom(std::pow(0.9985, event->angleDelta().y()), event->position().x());
}

void TimelineCanvas::mousePressEvent(QMouseEvent* event) {
  pressed_ = event->position();
  dragging_ = false;
  choosing_ = run_ && (event->modifiers() & Qt::ShiftModifier) != 0;
}

void TimelineCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (event->buttons() & Qt::LeftButton) {
    const double moved = event->position().x() - pressed_.x(), fell = event->position().y() - pressed_.y();
    if (!dragging_ && std::max(std::abs(moved), std::abs(fell)) < 4) return;
    dragging_ = true;
    if (choosing_) {
      range_ = {nsAt(pressed_.x()), nsAt(event->position().x())};
      return update();
    }
    pressed_ = event->position();
    scroll(-fell);
    return pan(-moved);
  }
  const int bar = barAt(event->position());
  if (bar != hovered_) update();
  hovered_ = bar;
  if (bar >= 0)
    QToolTip::showText(event->globalPosition().toPoint(), describe(static_cast<size_t>(bar)), this);
  else
    QToolTip::hideText();
}

void TimelineCanvas::mouseReleaseEvent(QMouseEvent* event) {
  if (dragging_ && choosing_) tellRange();
  if (dragging_) return;
  if (range_) {
    range_ = std::nullopt;
    tellRange();
    update();
  }
  const int bar = barAt(event->position());
  if (bar >= 0 && !run_->timeline[static_cast<size_t>(bar)].place.empty())
    Q_EMIT placeChosen(QString::fromStdString(run_->timeline[static_cast<size_t>(bar)].place));
}

void TimelineCanvas::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_W:
      return zoom(0.8, width() / 2.0);
    case Qt::Key_S:
      return zoom(1.25, width() / 2.0);
    case Qt::Key_A:
      return pan(-80);
    case Qt::Key_D:
      return pan(80);
    case Qt::Key_F:
      showAll();
      Q_EMIT viewMoved(beginNs_, nsPerPixel_);
      return;
    default:
      QWidget::keyPressEvent(event);
  }
}

void TimelineCanvas::resizeEvent(QResizeEvent*) {
  if (all_) showAll();
}

}  // namespace dyn::ui
