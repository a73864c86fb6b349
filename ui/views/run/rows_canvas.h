// RowsCanvas: what a run computed together, row by row: the levels of a tree computed level by level, leaves
// at the bottom, a mark for each node and beside them the time of the level; or the sequences of a ragged
// value, a bar as long as each, and pale behind it what padding would have added; or the caches of a
// decoder, a bar for each run: what it was given, and behind it what it appended.
//
// Where marks would be too small they are a bar; where there are more rows than lines of the picture,
// neighbours stand together: what is painted depends on the size of the window alone, so a million nodes are
// as quick as ten. The wheel zooms at the cursor, dragging and Page Up or Down scroll, Up and Down choose a
// row, W and S zoom, F shows all. Hover says what a row is.
#pragma once

#include <QWidget>
#include <vector>

#include "app/engine/run/level_loops.h"
#include "ui/views/run/grown_caches.h"

class QPainter;

namespace dyn::ui {

class RowsCanvas : public QWidget {
  Q_OBJECT
 public:
  explicit RowsCanvas(QWidget* parent = nullptr);

  void clear(const QString& message = kNothingYet);
  const QString& message() const { return message_; }
  void setLoop(const LevelLoop& loop);
  void setSequences(const SequenceRows& sequences);
  void setCaches(const GrownCaches& caches);
  void showAll();
  void mark(std::optional<size_t> row);  // as if it were chosen; no signal

  // Of the levels or sequences [begin, end), counted from 0: what one line of the picture stands for.
  struct Row {
    size_t begin = 0, end = 0;
    QRectF rect;         // all of it
    QRectF marks, time;  // where nodes (or the sequence) and time are drawn; time may be empty
    int marksCount = 0;  // drawn one by one; 0: a bar
    double heat = 0;     // time of a level, by the longest row's
  };
  std::vector<Row> rows() const;
  size_t count() const { return sizes_.size(); }
  std::pair<size_t, size_t> inSight() const { return {first_, last_}; }
  std::optional<size_t> chosen() const { return chosen_; }
  QString describe(size_t begin, size_t end) const;
  // Of caches: where what was given ends in the bar of a row of one run.
  QRectF givenPart(const Row& row) const;

 Q_SIGNALS:
  void rowChosen(qint64 row);  // a level or a sequence, from 0

 protected:
  void paintEvent(QPaintEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  struct Columns {
    double label = 0, marks = 0, time = 0, text = 0;  // where each begins
    double timeWidth = 0, sizeWidth = 0, durationWidth = 0;
    double pixelsEach = 1;  // of one node or row
    double mostNs = 1;      // of a level, on average over its row
  };
  void take(std::vector<int64_t> sizes, std::vector<int64_t> timesNs, std::vector<int64_t> bytes);
  Columns columns() const;
  int64_t sum(const std::vector<int64_t>& sums, size_t begin, size_t end) const {
    return sums.empty() ? 0 : sums[end] - sums[begin];
  }
  double meanOf(const Row& row) const;
  double meanNsOf(const Row& row) const;
  QString labelOf(const Row& row) const;
  QString headOfLabels() const;
  void paintRow(QPainter& painter, const Row& row, const Columns& columns) const;
  void paintLeaves(QPainter& painter, const Columns& columns) const;
  std::optional<Row> rowAt(QPointF p) const;
  void choose(size_t row);
  void zoom(double factor, double y);
  void scroll(double rows);
  std::vector<size_t> partsInSight() const;
  double rowsTop() const;
  double rowsBottom() const;

  static constexpr const char* kNothingYet =
      "Run a model over trees, over sequences of different lengths, or a decoder with caches: levels, rows "
      "and "
      "caches appear here.";
  QString message_ = kNothingYet;  // where there is nothing to draw
  QString describeCaches(size_t begin, size_t end) const;
  bool isTree_ = true;
  int64_t leaves_ = -1;
  SequenceRows sequences_;  // what is known of them besides
  std::optional<GrownCaches> caches_;
  std::vector<int64_t> sizes_, sums_, timeSums_, bytes_;
  int64_t most_ = 1;
  size_t first_ = 0, last_ = 0;  // in sight
  std::optional<size_t> chosen_;
  QPointF pressed_;
  double dragged_ = 0;
  bool dragging_ = false;
};

}  // namespace dyn::ui
