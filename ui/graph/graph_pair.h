// GraphPair: the graph, and beside it the graph of the step that it is compared with, the earlier one at the
// left. What is gone is marked in the one, what is new in the other. An operation that is chosen in one is
// chosen in both; both have one scale, and where one is moved the other follows: the point in the middle of
// the one goes to where the operations around it are in the other.
//
// The graph that is shown always is the window's (GraphCanvas given to the constructor); the other one has
// its opened groups and the times of its run.
#pragma once

#include <QWidget>

#include "ui/graph/graph_canvas.h"

class QLabel;
class QSplitter;

namespace dyn::ui {

class GraphPair : public QWidget {
  Q_OBJECT
 public:
  explicit GraphPair(GraphCanvas* shown, QWidget* parent = nullptr);

  // Both are wanted; `other` null: there is nothing to stand beside the graph.
  void setOther(Shared<GraphView> other);
  void setSideBySide(bool on);
  void takeNotes();  // those of the graph that is shown
  bool isSideBySide() const { return isWanted_; }
  const Shared<GraphView>& compared() const { return compared_; }  // null: none
  GraphCanvas* other() const { return other_; }                    // null until both were shown once
  bool isOtherShown() const;
  bool settled() const { return !other_ || !isOtherShown() || other_->settled(); }

 Q_SIGNALS:
  void otherReady();  // it was laid out

 private:
  void refresh();
  void follow(GraphCanvas& from, GraphCanvas& to);
  void moveAlong(GraphCanvas& from, GraphCanvas& to);
  void findCommon();
  QPointF counterpart(const GraphCanvas& from, QPointF scenePoint) const;
  QWidget* titled(GraphCanvas* canvas, QLabel*& title);

  GraphCanvas* shown_ = nullptr;
  GraphCanvas* other_ = nullptr;
  QLabel *shownTitle_ = nullptr, *otherTitle_ = nullptr;
  QSplitter* parts_ = nullptr;
  QWidget* otherPart_ = nullptr;
  Shared<GraphView> compared_;
  struct Common {
    int shownNode = -1;    // of both graphs
    QPointF shown, other;  // places in their scenes
  };
  std::vector<Common> common_;
  bool isWanted_ = false, isFollowing_ = false, isMoving_ = false;
};

}  // namespace dyn::ui
