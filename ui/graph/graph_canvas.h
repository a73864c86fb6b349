// GraphCanvas: one widget that paints a graph view: pan by dragging, zoom at the cursor, groups that open and
// close, search, heat of a run.
//
// Large graphs are laid out on another thread while the picture before stays; sceneReady() says when the new
// one is there. A small map in the corner shows the whole when only a part is in sight. The same painter
// writes pictures (exportTo).
#pragma once

#include <QWidget>
#include <atomic>
#include <unordered_map>

#include "ui/graph/graph_painter.h"
#include "ui/graph/minimap.h"
#include "ui/support/inbox.h"

namespace dyn::ui {

class GraphCanvas : public QWidget {
  Q_OBJECT
 public:
  explicit GraphCanvas(QWidget* parent = nullptr);
  ~GraphCanvas() override;

  // Keeps open groups, selection and, when the model is the same, the place on screen.
  void setGraph(Shared<GraphView> view, bool sameModel);
  bool settled() const { return settled_; }    // false while a layout is under way
  void setTimes(std::vector<NodeTime> times);  // empty: no heat
  void setShowConstants(bool show);
  void setEmptyText(const QString& text) { emptyText_ = text; }
  bool exportTo(const QString& file) const;  // .png, .svg or .dot: the whole graph as it is opened

  const GraphView* graph() const { return view_.get(); }
  const GraphScene& scene() const { return scene_; }
  int selectedNode() const { return selected_; }  // index; -1: none
  // Of the kernels that compute something in it, each as a whole.
  int64_t timeOfBox(int box) const;
  // The other nodes that its kernels compute.
  std::vector<int> computedWith(int node) const;
  int matchesCount() const { return static_cast<int>(matches_.size()); }
  void toggle(int box);  // opens or closes what the box stands for
  void setAllOpen(bool open);
  void select(int node);
  void search(const QString& text);
  void nextMatch();
  // Opens the groups around the node, brings it to the middle and selects it; false: it is not in this graph.
  bool revealId(NodeId id);
  bool revealPlace(const QString& place);
  void fit();
  bool minimapShown() const;

 Q_SIGNALS:
  void sceneReady();
  void nodeSelected(int node);
  void searched(int matches);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  // What is to happen when a layout is there.
  struct Arrangement {
    Shared<GraphView> view;
    int keepNode = -1;    // stays where it is on screen
    int centerNode = -1;  // comes to the middle
    bool fit = false, newModel = false;
  };
  void arrange(Arrangement wish);
  void adopt(const Arrangement& wish, GraphScene scene);
  void rebuild(int keepNode);
  void spreadTimes();
  void findMatches();
  void recount();  // times and matches per box
  const SceneBox* boxOf(int node) const;
  int boxAt(QPointF scenePoint) const;
  QPointF toScene(QPointF p) const { return (p - offset_) / scale_; }
  QRectF inSight() const;
  void lookAt(QPointF scenePoint);
  void reveal(int node);
  void center(int node);
  void zoom(double factor, QPointF at);

  Shared<GraphView> view_, wanted_;  // view_ is shown; wanted_ will be
  GraphScene scene_;
  SceneOptions options_;
  std::atomic<uint64_t> generation_{0};  // the last layout that was wished for
  bool settled_ = true;
  std::vector<NodeTime> times_;
  std::vector<std::vector<int>> nodesOfTime_;  // one for each of times_
  BoxMarks marks_;
  std::vector<int> matches_;
  Minimap minimap_;
  QString query_, emptyText_ = "Open a model: Ctrl+O, or drop a .onnx, .dyn or .dynpkg file here";
  size_t match_ = 0;
  int selected_ = -1;
  double scale_ = 1;
  QPointF offset_, pressed_;
  bool dragging_ = false, inMinimap_ = false, fitted_ = true;
  Inbox inbox_;
  std::unique_ptr<Worker> layouts_;  // made for the first large graph; ends before the inbox
};

}  // namespace dyn::ui
