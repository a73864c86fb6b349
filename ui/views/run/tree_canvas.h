// TreeCanvas: the trees of a run, drawn: leaves at the bottom with their words, a node above its children, an
// edge to each. Nodes of one level stand at one height and have one colour, as they run together.
//
// The wheel zooms at the cursor, dragging moves, F shows all. A click on a node chooses its level; hover says
// what the node is.
#pragma once

#include <QWidget>
#include <optional>

#include "app/session/answers/node_trees.h"

namespace dyn::ui {

class TreeCanvas : public QWidget {
  Q_OBJECT
 public:
  explicit TreeCanvas(QWidget* parent = nullptr);

  void setTrees(NodeTrees trees);
  const NodeTrees& trees() const { return trees_; }
  // Its nodes stand out; none: all alike. No signal.
  void chooseLevel(std::optional<uint32_t> level);
  std::optional<uint32_t> chosenLevel() const { return chosen_; }
  void showAll();

  QPointF onScreen(size_t node) const;
  QString describe(size_t node) const;
  static QColor levelColor(uint32_t level, bool dark);  // leaves have none: level is at least 1

 Q_SIGNALS:
  void levelChosen(int level);  // 0: of the leaves

 protected:
  void paintEvent(QPaintEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void lay();
  void paintNodes(QPainter& painter) const;
  std::optional<size_t> nodeAt(QPointF at) const;
  double radius() const;

  NodeTrees trees_;
  std::vector<QPointF> places_;  // by node: leaves are one apart, levels are one high, upwards
  std::vector<int64_t> sizes_;   // by level
  QSizeF extent_;
  double scale_ = 1;  // pixels between two leaves
  double rise_ = 40;  // pixels between two levels
  QPointF origin_;    // where the first leaf is
  bool isFitted_ = true, isDragging_ = false;
  QPointF pressed_;
  std::optional<uint32_t> chosen_;
};

}  // namespace dyn::ui
