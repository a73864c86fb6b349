// GraphCanvas: one widget that paints a graph view: pan by dragging, zoom at the cursor, groups that open and close, search, heat of a run.
//
// Only what is in sight is painted, and less of it when far away. The same painter writes pictures (exportTo).
#pragma once

#include <QWidget>
#include <unordered_map>

#include "ui/graph/graph_scene.h"

namespace dyn::ui {

class GraphCanvas : public QWidget {
  Q_OBJECT
 public:
  explicit GraphCanvas(QWidget* parent = nullptr);

  // Keeps open groups, selection and, when the model is the same, the place on screen.
  void setGraph(Shared<GraphView> view, bool sameModel);
  void setTimes(const std::vector<NodeTime>& times);  // empty: no heat
  void setShowConstants(bool show);
  bool exportTo(const QString& file) const;  // .png or .svg, the whole graph

  const GraphView* graph() const { return view_.get(); }
  const GraphScene& scene() const { return scene_; }
  int selectedNode() const { return selected_; }  // index; -1: none
  int64_t timeOfBox(int box) const;
  int matchesCount() const { return static_cast<int>(matches_.size()); }
  void toggle(int box);  // opens or closes what the box stands for
  void setAllOpen(bool open);
  void select(int node);
  void search(const QString& text);
  void nextMatch();
  void fit();

 Q_SIGNALS:
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
  void rebuild(int keepNode);
  void recount();  // times and matches per box
  int boxAt(QPointF scenePoint) const;
  QPointF toScene(QPointF p) const { return (p - offset_) / scale_; }
  void reveal(int node);
  void zoom(double factor, QPointF at);
  void paintScene(QPainter& painter, const QRectF& visible, double scale) const;
  void paintBox(QPainter& painter, size_t index, double scale) const;
  void paintEdge(QPainter& painter, const SceneEdge& edge, double scale) const;
  bool dark() const;

  Shared<GraphView> view_;
  GraphScene scene_;
  SceneOptions options_;
  std::unordered_map<int, int64_t> nodeTimes_;
  std::vector<int64_t> boxTimes_;
  std::vector<int> boxMatches_, matches_;
  QString query_;
  size_t match_ = 0;
  int64_t mostNs_ = 0, sumNs_ = 0;
  int selected_ = -1, selectedBox_ = -1;
  double scale_ = 1;
  QPointF offset_, pressed_;
  bool dragging_ = false, fitted_ = true;
};

}  // namespace dyn::ui
