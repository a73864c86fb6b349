#include "ui/views/run/rows_canvas.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "ui/graph/graph_painter.h"
#include "ui/graph/graph_scene.h"
#include "ui/support/theme.h"

namespace dyn::ui {

namespace {

constexpr double kRowsSide = 8, kRowsGap = 10, kLeastRow = 3, kMostRow = 24, kLeastMark = 2, kMostMark = 14;

std::vector<int64_t> sumsOf(const std::vector<int64_t>& all) {
  std::vector<int64_t> sums{0};
  for (const int64_t one : all) sums.push_back(sums.back() + one);
  return sums;
}

QString rowRangeText(size_t begin, size_t end) {
  const QString first = groupedText(static_cast<int64_t>(begin) + 1);
  return begin + 1 == end ? first : first + QString::fromUtf8("–") + groupedText(static_cast<int64_t>(end));
}

}  // namespace

RowsCanvas::RowsCanvas(QWidget* parent) : QWidget(parent) {
  setObjectName("rowsCanvas");
  setAccessibleName("Levels of nodes, or sequences, of the last run");
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(200, 40);
}

void RowsCanvas::clear(const QString& message) {
  message_ = message;
  caches_ = std::nullopt;
  take({}, {}, {});
}

void RowsCanvas::setLoop(const LevelLoop& loop) {
  isTree_ = true;
  caches_ = std::nullopt;
  leaves_ = loop.leaves.value_or(-1);
  take(loop.nodes, loop.timesNs, loop.takenBytes);
}

void RowsCanvas::setSequences(const SequenceRows& sequences) {
  isTree_ = false;
  leaves_ = -1;
  sequences_ = sequences;
  caches_ = std::nullopt;
  take(sequences.lengths, {}, {});
}

void RowsCanvas::setCaches(const GrownCaches& caches) {
  isTree_ = false;
  leaves_ = -1;
  caches_ = caches;
  std::vector<int64_t> positions;
  for (const GrownCaches::Run& run : caches.runs) positions.push_back(run.after);
  take(std::move(positions), {}, {});
}

QRectF RowsCanvas::givenPart(const Row& row) const {
  if (!caches_ || row.begin + 1 != row.end) return {};
  QRectF part = row.marks;
  const GrownCaches::Run& run = caches_->runs[row.begin];
  part.setWidth(part.width() * static_cast<double>(run.before) /
                std::max(1.0, static_cast<double>(run.after)));
  return part;
}

void RowsCanvas::take(std::vector<int64_t> sizes, std::vector<int64_t> timesNs, std::vector<int64_t> bytes) {
  sizes_ = std::move(sizes);
  sums_ = sumsOf(sizes_);
  timeSums_ = timesNs.empty() ? std::vector<int64_t>() : sumsOf(timesNs);
  bytes_ = std::move(bytes);
  most_ = sizes_.empty() ? 1 : std::max<int64_t>(1, *std::max_element(sizes_.begin(), sizes_.end()));
  chosen_ = std::nullopt;
  showAll();
}

void RowsCanvas::showAll() {
  first_ = 0;
  last_ = sizes_.size();
  update();
}

void RowsCanvas::mark(std::optional<size_t> row) {
  chosen_ = row && *row < sizes_.size() ? row : std::nullopt;
  update();
}

double RowsCanvas::rowsTop() const { return fontMetrics().height() + 8; }

// Where rows end; below are the leaves.
double RowsCanvas::rowsBottom() const {
  const double line = fontMetrics().height() + 4;
  return height() - (leaves_ >= 0 ? line : 4);
}

RowsCanvas::Columns RowsCanvas::columns() const {
  const QFontMetricsF metrics(font());
  const auto wide = [&](const QString& text) { return metrics.horizontalAdvance(text); };
  Columns c;
  c.label = kRowsSide;
  const std::vector<size_t> parts = partsInSight();
  double labels = std::max(wide(headOfLabels()), leaves_ >= 0 ? wide("leaves") : 0.0);
  int64_t most = leaves_;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    const Row row{parts[i], parts[i + 1], {}, {}, {}, 0, 0};
    most = std::max(most, sum(sums_, row.begin, row.end));
    c.mostNs = std::max(c.mostNs, meanNsOf(row));
  }
  if (parts.size() > 1) labels = std::max(labels, wide(rowRangeText(parts[parts.size() - 2], parts.back())));
  c.marks = kRowsSide + labels + kRowsGap;
  c.sizeWidth = wide(groupedText(most));
  c.durationWidth = timeSums_.empty() ? 0 : wide("000.0 ms") + kRowsGap;
  const double room = std::max(40.0, width() - c.marks - c.sizeWidth - c.durationWidth - 3 * kRowsGap);
  const double time = timeSums_.empty() ? 0 : std::min(260.0, 0.25 * room);
  const double marks = room - time - (time > 0 ? kRowsGap : 0);
  c.pixelsEach = marks / static_cast<double>(most_);
  if (isTree_) c.pixelsEach = std::min(kMostMark, c.pixelsEach);
  // Few nodes leave room: time stands right behind the widest level.
  const double used = std::min(marks, std::max(60.0, c.pixelsEach * static_cast<double>(most_)));
  c.time = c.marks + used + kRowsGap;
  if (time > 0) c.timeWidth = std::max(time, room - used - kRowsGap);
  c.text = c.time + c.timeWidth + (c.timeWidth > 0 ? kRowsGap : 0);
  return c;
}

// Where the rows of the picture begin, and the end: levels or sequences.
std::vector<size_t> RowsCanvas::partsInSight() const {
  const double room = std::max(kLeastRow, rowsBottom() - rowsTop());
  std::vector<size_t> parts = evenParts(last_ - first_, static_cast<size_t>(room / kLeastRow));
  for (size_t& part : parts) part += first_;
  return parts;
}

std::vector<RowsCanvas::Row> RowsCanvas::rows() const {
  std::vector<Row> rows;
  const std::vector<size_t> parts = partsInSight();
  if (parts.size() < 2) return rows;
  const double bottom = rowsBottom(), top = rowsTop();
  const Columns c = columns();
  const double high =
      std::min(kMostRow, std::max(kLeastRow, bottom - top) / static_cast<double>(parts.size() - 1));
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    Row row;
    row.begin = parts[i];
    row.end = parts[i + 1];
    // Trees grow upwards; sequences are read from the top.
    const double y =
        isTree_ ? bottom - high * static_cast<double>(i + 1) : top + high * static_cast<double>(i);
    row.rect = QRectF(0, y, width(), high);
    const double inner = high > 5 ? high - 2 : high > 3.5 ? high - 1 : high;
    row.marks = QRectF(c.marks, y, std::max(1.0, c.pixelsEach * meanOf(row)), inner);
    if (isTree_ && row.begin + 1 == row.end && c.pixelsEach >= kLeastMark)
      row.marksCount = static_cast<int>(sizes_[row.begin]);
    row.heat = meanNsOf(row) / c.mostNs;
    if (c.timeWidth > 0) row.time = QRectF(c.time, y, std::max(1.0, c.timeWidth * row.heat), inner);
    rows.push_back(row);
  }
  return rows;
}

double RowsCanvas::meanOf(const Row& row) const {
  return static_cast<double>(sum(sums_, row.begin, row.end)) / static_cast<double>(row.end - row.begin);
}

double RowsCanvas::meanNsOf(const Row& row) const {
  return static_cast<double>(sum(timeSums_, row.begin, row.end)) / static_cast<double>(row.end - row.begin);
}

QString RowsCanvas::labelOf(const Row& row) const {
  if (!caches_) return rowRangeText(row.begin, row.end);
  const QString first = groupedText(caches_->runs[row.begin].number);
  if (row.begin + 1 == row.end) return first;
  return first + QString::fromUtf8("–") + groupedText(caches_->runs[row.end - 1].number);
}

QString RowsCanvas::headOfLabels() const { return caches_ ? "run" : isTree_ ? "level" : "sequence"; }

// "run 3: 16 positions given, 8 appended: 24" and the bytes of all caches
QString RowsCanvas::describeCaches(size_t begin, size_t end) const {
  QString text;
  constexpr size_t kMostLines = 8;
  for (size_t i = begin; i < std::min(end, begin + kMostLines); ++i) {
    const GrownCaches::Run& run = caches_->runs[i];
    text += QString("%1run %2: %3 %4 given, %5 appended: %6 (%7)")
                .arg(i > begin ? "\n" : "", groupedText(run.number), groupedText(run.before),
                     run.before == 1 ? "position" : "positions", groupedText(run.after - run.before),
                     groupedText(run.after), QString::fromStdString(run.sizes)) +
            QString("\n%1 in %2, %3 after it")
                .arg(bytesText(run.bytesBefore),
                     caches_->count == 1 ? QString("one cache") : groupedText(caches_->count) + " caches",
                     bytesText(run.bytesAfter));
  }
  if (end > begin + kMostLines) text += QString("\nand %1 more").arg(end - begin - kMostLines);
  return text;
}

QString RowsCanvas::describe(size_t begin, size_t end) const {
  if (caches_) return describeCaches(begin, end);
  const int64_t size = sum(sums_, begin, end);
  const bool one = begin + 1 == end;
  if (!isTree_) {
    QString text = (one ? "sequence " : "sequences ") + rowRangeText(begin, end) + ": " + groupedText(size) +
                   (size == 1 ? " row" : " rows") + " from " + groupedText(sums_[begin]) + " on";
    const int64_t padding = most_ * static_cast<int64_t>(end - begin) - size;
    if (padding > 0)
      text += "\n" + groupedText(padding) +
              (sequences_.isComputedPadded ? " more are padding" : " rows of padding are left out");
    return text;
  }
  QString text = (one ? "level " : "levels ") + rowRangeText(begin, end) + ": " + groupedText(size) +
                 (size == 1 ? " node" : " nodes");
  if (!timeSums_.empty()) {
    const int64_t ns = sum(timeSums_, begin, end);
    text += "\n" + timeText(ns);
    if (size > 0) text += ", " + timeText(ns / size) + " a node";
  }
  if (!bytes_.empty())
    text += "\ntakes " + QString(one ? "" : "up to ") +
            bytesText(*std::max_element(bytes_.begin() + static_cast<ptrdiff_t>(begin),
                                        bytes_.begin() + static_cast<ptrdiff_t>(end)));
  return text;
}

void RowsCanvas::paintRow(QPainter& painter, const Row& row, const Columns& c) const {
  const QPalette& p = palette();
  const bool timed = !timeSums_.empty();
  const QColor color = timed ? heatColor(row.heat) : p.color(QPalette::Highlight);
  if (!isTree_ && !caches_) {  // what padding adds
    QColor pale = p.color(QPalette::Text);
    pale.setAlpha(sequences_.isComputedPadded ? 60 : 22);
    painter.fillRect(
        QRectF(c.marks, row.marks.y(), c.pixelsEach * static_cast<double>(most_), row.marks.height()), pale);
  }
  if (row.marksCount > 0) {
    const double side = std::max(1.0, std::min(c.pixelsEach - 1, kMostMark));
    for (int i = 0; i < row.marksCount; ++i)
      painter.fillRect(QRectF(c.marks + i * c.pixelsEach, row.marks.y(), side, row.marks.height()), color);
  } else if (sum(sums_, row.begin, row.end) > 0) {
    painter.fillRect(row.marks, color);
    // What a run was given is quieter than what it appended.
    if (const QRectF given = givenPart(row); given.width() > 0) {
      painter.fillRect(given, p.color(QPalette::Base));
      QColor quiet = p.color(QPalette::Highlight);
      quiet.setAlpha(110);
      painter.fillRect(given, quiet);
    }
  }
  if (c.timeWidth > 0) painter.fillRect(row.time, color);
  if (chosen_ && *chosen_ >= row.begin && *chosen_ < row.end) {
    painter.setPen(QPen(p.color(QPalette::Highlight), 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(row.rect.adjusted(2, 0, -2, -1));
  }
}

void RowsCanvas::paintLeaves(QPainter& painter, const Columns& c) const {
  if (leaves_ < 0) return;
  const double high = fontMetrics().height();
  const QRectF line(0, height() - high - 2, width(), high);
  painter.setPen(palette().color(QPalette::PlaceholderText));
  painter.drawText(QRectF(c.label, line.y(), c.marks - c.label - kRowsGap / 2, high),
                   Qt::AlignRight | Qt::AlignVCenter, "leaves");
  const double room = std::max(20.0, c.time + c.timeWidth - c.marks);
  QColor pale = palette().color(QPalette::Text);
  pale.setAlpha(50);
  const double wide = std::min(room, c.pixelsEach * static_cast<double>(leaves_));
  painter.fillRect(QRectF(c.marks, line.y() + 3, wide, high - 6), pale);
  painter.drawText(QRectF(c.text, line.y(), c.sizeWidth, high), Qt::AlignRight | Qt::AlignVCenter,
                   groupedText(leaves_));
}

void RowsCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  if (sizes_.empty()) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(rect(), Qt::AlignCenter | Qt::TextWordWrap, message_);
    return;
  }
  const Columns c = columns();
  const QFontMetricsF metrics(font());
  painter.setPen(palette().color(QPalette::PlaceholderText));
  const auto head = [&](double x, const QString& text) {
    painter.drawText(QPointF(x, metrics.ascent() + 3), text);
  };
  head(c.label, headOfLabels());
  head(c.marks, caches_ ? "positions: given, and appended by the run" : isTree_ ? "nodes" : "rows");
  if (c.timeWidth > 0) head(c.time, "time");
  double lastText = isTree_ ? 1e9 : -1e9;
  for (const Row& row : rows()) {
    paintRow(painter, row, c);
    // Letters stand apart, however small rows are.
    const double middle = row.rect.center().y();
    if (std::abs(middle - lastText) < metrics.height()) continue;
    lastText = middle;
    painter.setPen(palette().color(QPalette::Text));
    const QRectF line(0, middle - metrics.height() / 2, width(), metrics.height());
    painter.drawText(QRectF(c.label, line.y(), c.marks - c.label - kRowsGap / 2, line.height()),
                     Qt::AlignRight | Qt::AlignVCenter, labelOf(row));
    painter.drawText(QRectF(c.text, line.y(), c.sizeWidth, line.height()), Qt::AlignRight | Qt::AlignVCenter,
                     groupedText(sum(sums_, row.begin, row.end)));
    if (!timeSums_.empty())
      painter.drawText(QRectF(c.text + c.sizeWidth, line.y(), c.durationWidth, line.height()),
                       Qt::AlignRight | Qt::AlignVCenter, timeText(sum(timeSums_, row.begin, row.end)));
  }
  paintLeaves(painter, c);
}

std::optional<RowsCanvas::Row> RowsCanvas::rowAt(QPointF p) const {
  for (const Row& row : rows())
    if (p.y() >= row.rect.top() && p.y() < row.rect.bottom()) return row;
  return std::nullopt;
}

void RowsCanvas::choose(size_t row) {
  if (sizes_.empty()) return;
  chosen_ = std::min(row, sizes_.size() - 1);
  const size_t span = last_ - first_;
  if (*chosen_ < first_) first_ = *chosen_;
  if (*chosen_ >= first_ + span) first_ = *chosen_ + 1 - span;
  last_ = first_ + span;
  setAccessibleDescription(describe(*chosen_, *chosen_ + 1));
  update();
  Q_EMIT rowChosen(static_cast<qint64>(*chosen_));
}

void RowsCanvas::zoom(double factor, double y) {
  const auto count = static_cast<double>(sizes_.size()), span = static_cast<double>(last_ - first_);
  if (count < 1) return;
  const double top = rowsTop(), part = std::clamp((y - top) / (rowsBottom() - top), 0.0, 1.0);
  const double share = isTree_ ? 1 - part : part;
  // At least by one row, so that small spans go on.
  double wanted = std::clamp(span * factor, std::min(4.0, count), count);
  wanted = factor < 1 ? std::floor(wanted) : std::ceil(wanted);
  const double from = std::clamp(static_cast<double>(first_) + share * (span - wanted), 0.0, count - wanted);
  first_ = static_cast<size_t>(from);
  last_ = first_ + static_cast<size_t>(wanted);
  update();
}

void RowsCanvas::scroll(double rows) {
  const auto span = last_ - first_;
  const double from =
      std::clamp(static_cast<double>(first_) + rows, 0.0, static_cast<double>(sizes_.size() - span));
  first_ = static_cast<size_t>(from);
  last_ = first_ + span;
  update();
}

void RowsCanvas::wheelEvent(QWheelEvent* event) {
  zoom(std::pow(0.9985, event->angleDelta().y()), event->position().y());
}

void RowsCanvas::mousePressEvent(QMouseEvent* event) {
  pressed_ = event->position();
  dragging_ = false;
}

void RowsCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (event->buttons() & Qt::LeftButton) {
    const double fell = event->position().y() - pressed_.y();
    if (!dragging_ && std::abs(fell) < 4) return;
    dragging_ = true;
    const std::vector<Row> all = rows();
    if (all.empty()) return;
    const double each = all.front().rect.height() / static_cast<double>(all.front().end - all.front().begin);
    dragged_ += (isTree_ ? fell : -fell) / std::max(each, 1e-9);
    const double whole = std::trunc(dragged_);
    dragged_ -= whole;
    pressed_ = event->position();
    return scroll(whole);
  }
  if (const std::optional<Row> row = rowAt(event->position()))
    QToolTip::showText(event->globalPosition().toPoint(), describe(row->begin, row->end), this);
  else
    QToolTip::hideText();
}

void RowsCanvas::mouseReleaseEvent(QMouseEvent* event) {
  if (dragging_) return;
  if (const std::optional<Row> row = rowAt(event->position())) choose(row->begin);
}

void RowsCanvas::keyPressEvent(QKeyEvent* event) {
  const int upwards = isTree_ ? 1 : -1;  // which row is above
  const auto move = [&](int by) {
    const auto at = static_cast<int64_t>(chosen_.value_or(first_)) + (chosen_ ? by : 0);
    choose(static_cast<size_t>(std::max<int64_t>(0, at)));
  };
  const auto page = static_cast<double>(last_ - first_) * 0.9;
  switch (event->key()) {
    case Qt::Key_Up:
      return move(upwards);
    case Qt::Key_Down:
      return move(-upwards);
    case Qt::Key_PageUp:
      return scroll(upwards * page);
    case Qt::Key_PageDown:
      return scroll(-upwards * page);
    case Qt::Key_Home:
      return choose(0);
    case Qt::Key_End:
      return choose(sizes_.empty() ? 0 : sizes_.size() - 1);
    case Qt::Key_W:
      return zoom(0.8, height() / 2.0);
    case Qt::Key_S:
      return zoom(1.25, height() / 2.0);
    case Qt::Key_F:
      return showAll();
    default:
      QWidget::keyPressEvent(event);
  }
}

}  // namespace dyn::ui
