#include "ui/views/run/sweep_plot.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "app/engine/run/run_result.h"
#include "app/session/views/predict_views.h"
#include "ui/graph/graph_scene.h"
#include "ui/support/axis_step.h"
#include "ui/support/paper_text.h"
#include "ui/support/theme.h"
#include "ui/views/run/variant_words.h"

namespace dyn::ui {

namespace {

constexpr double kNear = 6, kLeastBetweenTicks = 40;  // pixels

// Blue and orange stay apart for eyes that do not part red from green.
QColor timeColor(bool dark) { return dark ? QColor(106, 168, 255) : QColor(20, 92, 190); }
QColor peakColor(bool dark) { return dark ? QColor(255, 176, 84) : QColor(196, 98, 8); }

QColor bandColor(size_t band, bool dark) {
  // Two shades in turn: beside each other they differ, and curves and letters stay the loudest.
  const bool even = band % 2 == 0;
  return QColor::fromHsl(212, 50, dark ? (even ? 36 : 48) : (even ? 246 : 236));
}

}  // namespace

SweepPlot::SweepPlot(QWidget* parent) : QWidget(parent) {
  setObjectName("sweepPlot");
  setAccessibleName("Time and peak memory over one dim");
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(220, 110);
}

void SweepPlot::setSweep(Shared<SweepView> sweep) {
  const bool other = !sweep || (sweep_ && sweep->symbol != sweep_->symbol);
  sweep_ = sweep && !sweep->points.empty() ? std::move(sweep) : nullptr;
  mostBytes_ = mostNs_ = 1;
  if (sweep_) {
    for (const SweepPoint& p : sweep_->points) {
      mostBytes_ = std::max(mostBytes_, static_cast<double>(p.peakBytes.value_or(0)));
      mostNs_ = std::max(mostNs_, static_cast<double>(p.timeNs.value_or(0)));
    }
    for (const MeasuredRun& run : sweep_->measured)
      mostNs_ = std::max(mostNs_, static_cast<double>(run.timeNs));
    mostBytes_ *= 1.12;
    mostNs_ *= 1.12;
  }
  if (other) answer_.clear();
  dragging_ = dragging_ && !other && sweep_;  // what is dragged is of the plot that was there
  if (!sweep_) limitBytes_ = std::nullopt;
  if (sweep_ && (!limitBytes_ || static_cast<double>(*limitBytes_) > mostBytes_))
    limitBytes_ = static_cast<qint64>(mostBytes_ * 0.75);
  update();
}

void SweepPlot::setAbsence(const QString& why) {
  absence_ = why;
  update();
}

void SweepPlot::setSize(qint64 size) {
  size_ = size;
  update();
}

void SweepPlot::setAnswer(const QString& text) {
  answer_ = text;
  update();
}

QRectF SweepPlot::frame() const {
  const QFontMetricsF metrics(font());
  const double side = metrics.horizontalAdvance("999.9 MiB") + 8;
  const double lines = answer_.isEmpty() ? 1 : 2;  // an answer is a sentence
  return QRectF(rect()).adjusted(side, lines * metrics.height() + 6, -side, -metrics.height() - 6);
}

double SweepPlot::xOf(double size) const {
  const double first = static_cast<double>(sweep_->points.front().value),
               last = static_cast<double>(sweep_->points.back().value);
  const QRectF f = frame();
  return last > first ? f.left() + (size - first) / (last - first) * f.width() : f.center().x();
}
double SweepPlot::yOfBytes(double bytes) const {
  return frame().bottom() - bytes / mostBytes_ * frame().height();
}
double SweepPlot::yOfTime(double ns) const { return frame().bottom() - ns / mostNs_ * frame().height(); }
double SweepPlot::bytesAt(double y) const {
  return std::clamp((frame().bottom() - y) / frame().height(), 0.0, 1.0) * mostBytes_;
}

qint64 SweepPlot::sizeAt(double x) const {
  const double first = static_cast<double>(sweep_->points.front().value),
               last = static_cast<double>(sweep_->points.back().value);
  const QRectF f = frame();
  return std::llround(first + std::clamp((x - f.left()) / f.width(), 0.0, 1.0) * (last - first));
}

QPointF SweepPlot::limitHandle() const {
  return {frame().center().x(), limitBytes_ ? yOfBytes(static_cast<double>(*limitBytes_)) : 0};
}

void SweepPlot::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  if (!sweep_) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(rect().adjusted(12, 0, -12, 0), Qt::AlignCenter | Qt::TextWordWrap,
                     absence_.isEmpty() ? "Time and peak over one dim appear here." : absence_);
    return;
  }
  paintBands(painter);
  paintAxes(painter);
  paintCurves(painter);
  paintLimit(painter);
  if (hasFocus()) {
    painter.setPen(QPen(palette().color(QPalette::Highlight), 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

void SweepPlot::paintBands(QPainter& painter) const {
  const bool dark = isDark(palette());
  const QRectF f = frame();
  bool named = false;
  for (size_t i = 0; i < sweep_->bands.size(); ++i) {
    const SweepBand& band = sweep_->bands[i];
    const double left = xOf(static_cast<double>(band.from));
    const double right = i + 1 < sweep_->bands.size() ? xOf(static_cast<double>(sweep_->bands[i + 1].from))
                                                      : xOf(static_cast<double>(band.to));
    const QRectF area(left, f.top(), right - left, f.height());
    painter.fillRect(area, bandColor(i, dark));
    painter.setPen(palette().color(QPalette::PlaceholderText));
    const QString text = variantWords(QString::fromStdString(band.versions));
    if (painter.fontMetrics().horizontalAdvance(text) > area.width() - 8) continue;
    named = true;
    painter.drawText(area.adjusted(4, 2, -4, 0), Qt::AlignTop | Qt::AlignLeft, text);
  }
  if (!named && sweep_->bands.size() > 1)
    painter.drawText(f.adjusted(4, 2, -4, 0), Qt::AlignTop | Qt::AlignLeft,
                     "another shade: another kernel variant");
  painter.setBrush(QBrush(palette().color(QPalette::PlaceholderText), Qt::BDiagPattern));
  painter.setPen(Qt::NoPen);
  // From the first size that cannot be run to the last beside it.
  for (size_t i = 0; i < sweep_->points.size(); ++i) {
    if (sweep_->points[i].refused.empty()) continue;
    size_t last = i;
    while (last + 1 < sweep_->points.size() && !sweep_->points[last + 1].refused.empty()) ++last;
    const double left = xOf(static_cast<double>(sweep_->points[i].value)),
                 right = xOf(static_cast<double>(sweep_->points[last].value));
    painter.drawRect(QRectF(left, f.top(), std::max(3.0, right - left), f.height()));
    i = last;
  }
}

void SweepPlot::paintAxes(QPainter& painter) const {
  const bool dark = isDark(palette());
  const QRectF f = frame();
  painter.setPen(palette().color(QPalette::Mid));
  painter.drawLine(f.bottomLeft(), f.bottomRight());
  const double height = painter.fontMetrics().height();
  const int ticks = std::max(2, static_cast<int>(f.height() / kLeastBetweenTicks));
  const double bytesBetween = bytesStep(mostBytes_, ticks), nsBetween = decimalStep(mostNs_, ticks);
  painter.setPen(peakColor(dark));
  for (double bytes = 0; bytes <= mostBytes_; bytes += bytesBetween) {
    const double y = yOfBytes(bytes);
    painter.drawLine(QPointF(f.left() - 4, y), QPointF(f.left(), y));
    painter.drawText(QRectF(0, y - height / 2, f.left() - 6, height), Qt::AlignRight | Qt::AlignVCenter,
                     withoutZeros(bytesText(std::llround(bytes))));
  }
  painter.setPen(timeColor(dark));
  for (double ns = 0; ns <= mostNs_; ns += nsBetween) {
    const double y = yOfTime(ns);
    painter.drawLine(QPointF(f.right(), y), QPointF(f.right() + 4, y));
    painter.drawText(QRectF(f.right() + 6, y - height / 2, width() - f.right() - 6, height),
                     Qt::AlignLeft | Qt::AlignVCenter,
                     ns == 0 ? QString("0") : withoutZeros(timeText(std::llround(ns))));
  }
  painter.setPen(palette().color(QPalette::Text));
  const int64_t first = sweep_->points.front().value, last = sweep_->points.back().value;
  for (const int64_t size : {first, (first + last) / 2, last})
    painter.drawText(QRectF(xOf(static_cast<double>(size)) - 50, f.bottom() + 3, 100, height),
                     Qt::AlignHCenter | Qt::AlignTop, QString::number(size));
  QString title = QString::fromStdString(sweep_->symbol);
  for (const auto& [name, value] : sweep_->others)
    title += QString(", %1 = %2").arg(QString::fromStdString(name)).arg(value);
  const QRectF top(f.left(), 0, f.width(), f.top() - 2);
  if (answer_.isEmpty())
    painter.drawText(
        top, Qt::AlignHCenter | Qt::AlignVCenter,
        painter.fontMetrics().elidedText("over " + title, Qt::ElideMiddle, static_cast<int>(top.width())));
  else
    painter.drawText(top, Qt::AlignHCenter | Qt::AlignVCenter | Qt::TextWordWrap, answer_);
  painter.setPen(peakColor(dark));
  painter.drawText(QRectF(0, 0, f.left(), f.top() - 2), Qt::AlignRight | Qt::AlignVCenter, "peak ");
  painter.setPen(timeColor(dark));
  painter.drawText(QRectF(f.right(), 0, width() - f.right(), f.top() - 2), Qt::AlignLeft | Qt::AlignVCenter,
                   " time");
}

void SweepPlot::paintCurves(QPainter& painter) const {
  const bool dark = isDark(palette());
  QPainterPath time, peak;
  bool begun = false;
  for (const SweepPoint& p : sweep_->points) {
    if (!p.timeNs || !p.peakBytes) {
      begun = false;
      continue;
    }
    const double x = xOf(static_cast<double>(p.value));
    const QPointF t(x, yOfTime(static_cast<double>(*p.timeNs))),
        b(x, yOfBytes(static_cast<double>(*p.peakBytes)));
    begun ? time.lineTo(t) : time.moveTo(t);
    begun ? peak.lineTo(b) : peak.moveTo(b);
    begun = true;
  }
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(peakColor(dark), 2));
  painter.drawPath(peak);
  painter.setPen(QPen(timeColor(dark), 2));
  painter.drawPath(time);
  painter.setBrush(timeColor(dark));
  painter.setPen(QPen(palette().color(QPalette::Base), 1.5));
  for (const MeasuredRun& run : sweep_->measured) {
    const double size = static_cast<double>(run.dims.at(sweep_->symbol));
    const QPointF at(xOf(size), yOfTime(static_cast<double>(run.timeNs)));
    if (frame().adjusted(-4, -4, 4, 4).contains(at)) painter.drawEllipse(at, 4.5, 4.5);
  }
  if (size_) {
    const double x = xOf(static_cast<double>(*size_));
    if (x < frame().left() - 1 || x > frame().right() + 1) return;
    painter.setPen(QPen(palette().color(QPalette::Text), 1, Qt::DotLine));
    painter.drawLine(QPointF(x, frame().top()), QPointF(x, frame().bottom()));
  }
}

void SweepPlot::paintLimit(QPainter& painter) const {
  if (!limitBytes_) return;
  const double y = yOfBytes(static_cast<double>(*limitBytes_));
  painter.setPen(QPen(peakColor(isDark(palette())), dragging_ ? 2 : 1.3, Qt::DashLine));
  painter.drawLine(QPointF(frame().left(), y), QPointF(frame().right(), y));
  const QString text = "limit " + bytesText(*limitBytes_);
  const double width = painter.fontMetrics().horizontalAdvance(text) + 8,
               height = painter.fontMetrics().height();
  QRectF label(frame().left() + 4, y - height - 1, width, height);  // curves rise to the right
  if (label.top() < frame().top()) label.moveTop(y + 2);
  painter.setPen(palette().color(QPalette::Text));
  paintOnPaper(painter, QPointF(label.left() + 4, label.top() + painter.fontMetrics().ascent()), text,
               palette());
}

QString SweepPlot::describe(double x) const {
  const qint64 size = sizeAt(x);
  const SweepPoint* near = &sweep_->points.front();
  for (const SweepPoint& p : sweep_->points)
    if (std::abs(p.value - size) < std::abs(near->value - size)) near = &p;
  QString text = QString("%1 = %2").arg(QString::fromStdString(sweep_->symbol)).arg(near->value);
  if (!near->refused.empty()) return text + "\nno run: " + QString::fromStdString(near->refused);
  text +=
      "\nexpected " + timeText(near->timeNs.value_or(0)) + ", peak " + bytesText(near->peakBytes.value_or(0));
  if (near->band >= 0)
    text +=
        "\n" + variantWords(QString::fromStdString(sweep_->bands[static_cast<size_t>(near->band)].versions));
  for (const MeasuredRun& run : sweep_->measured)
    if (run.dims.at(sweep_->symbol) == near->value)
      text += "\nmeasured " + timeText(run.timeNs) + ", peak " + bytesText(run.peakBytes);
  return text;
}

void SweepPlot::mousePressEvent(QMouseEvent* event) {
  if (!sweep_ || event->button() != Qt::LeftButton) return;
  dragging_ = limitBytes_ && std::abs(event->position().y() - limitHandle().y()) <= kNear;
  if (!dragging_) Q_EMIT sizeChosen(sizeAt(event->position().x()));
  update();
}

void SweepPlot::mouseMoveEvent(QMouseEvent* event) {
  if (!sweep_) return;
  if (dragging_) {
    limitBytes_ = static_cast<qint64>(bytesAt(event->position().y()));
    update();
    return;
  }
  const bool onLine = limitBytes_ && std::abs(event->position().y() - limitHandle().y()) <= kNear;
  setCursor(onLine ? Qt::SizeVerCursor : Qt::ArrowCursor);
  QToolTip::showText(event->globalPosition().toPoint(), describe(event->position().x()), this);
}

void SweepPlot::mouseReleaseEvent(QMouseEvent*) {
  if (!dragging_) return;
  dragging_ = false;
  update();
  Q_EMIT limitChosen(*limitBytes_);
}

void SweepPlot::keyPressEvent(QKeyEvent* event) {
  const int step = event->key() == Qt::Key_Up ? 1 : event->key() == Qt::Key_Down ? -1 : 0;
  if (!limitBytes_ || step == 0) return QWidget::keyPressEvent(event);
  limitBytes_ = static_cast<qint64>(
      std::clamp(static_cast<double>(*limitBytes_) + step * mostBytes_ / 50, 0.0, mostBytes_));
  update();
  Q_EMIT limitChosen(*limitBytes_);
}

}  // namespace dyn::ui
