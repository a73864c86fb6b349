// PlanCanvas: the memory plan of one function as a picture: operations from left to right, addresses from
// bottom to top, a rectangle for each buffer.
//
// Buffers of the arena lie at their offset; those that come from the pool when they are made are stacked
// above it. Hover shows a buffer, a click chooses its operation. Sizes must have values: the plan of a model
// is asked for with its dims.
#pragma once

#include <QWidget>
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "app/session/views/memory_views.h"
#include "app/session/views/node_id.h"
#include "app/session/views/view.h"
#include "ui/support/theme.h"

class QPainter;

namespace dyn::ui {

// Of a buffer of the plan: the colour of the operation that makes it, lighter or darker than those beside it.
QColor bufferColor(Category category, size_t index, bool pooled, bool dark);

using NodeCategories = std::unordered_map<NodeId, Category>;

class PlanCanvas : public QWidget {
  Q_OBJECT
 public:
  explicit PlanCanvas(QWidget* parent = nullptr);

  void setPlan(Shared<PlanView> plan, const QString& function);
  // What makes each value, where its name does not say it.
  void setCategories(std::shared_ptr<const NodeCategories> categories);
  void setChosen(NodeId node);  // drawn with a border
  // A part of a run: operations that make none of these values lie in shadow, before the first of them and
  // behind the last. Null: the whole run.
  void setPart(const std::set<NodeId>* made);
  std::optional<std::pair<int, int>> part() const { return part_; }  // operations, both ends in it
  // Two pictures side by side have one scale: the upper end is at least there.
  void setLeastTop(double bytes);
  double mostBytes() const { return bytes_; }
  // Buffers as they are drawn; y upwards, in bytes.
  struct Block {
    size_t buffer = 0;  // of PlanView::buffers
    double begin = 0, end = 0, low = 0, high = 0;
  };
  const std::vector<Block>& blocks() const { return blocks_; }
  QRectF rectOf(const Block& block) const;

 Q_SIGNALS:
  void nodeChosen(quint64 node);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;

 private:
  int blockAt(QPointF p) const;
  Category categoryOf(const PlanBuffer& buffer) const;
  // Returns what it covers below the plot.
  QRectF paintPeak(QPainter& painter) const;
  QString describe(const Block& block) const;

  Shared<PlanView> plan_;
  std::shared_ptr<const NodeCategories> categories_;
  std::vector<Block> blocks_;
  double top() const { return std::max({1.0, bytes_, leastTop_}); }
  double steps_ = 1, bytes_ = 0, arenaBytes_ = 0, leastTop_ = 0;
  NodeId chosen_ = kNoNode;
  std::optional<std::pair<int, int>> part_;
  int hovered_ = -1;
  bool isMain_ = false;
  QString message_;
};

}  // namespace dyn::ui
