// GraphCanvas: one widget that paints a graph view: pan by dragging, zoom at the cursor, groups that open and
// close, search, heat of a run.
//
// Large graphs are laid out on another thread while the picture before stays; sceneReady() says when the new
// one is there. A small map in the corner shows the whole when only a part is in sight. The same painter
// writes pictures (exportTo).
#pragma once

#include <QWidget>
#include <algorithm>
#include <atomic>
#include <unordered_map>

#include "app/session/graph/graph_query.h"
#include "app/session/graph/note_file.h"
#include "app/session/graph/overlay_file.h"
#include "app/session/views/graph_views.h"
#include "app/session/views/kernel_views.h"
#include "app/session/views/node_id.h"
#include "app/session/views/run_views.h"
#include "app/session/views/view.h"
#include "ui/graph/graph_painter.h"
#include "ui/graph/kernel_nodes.h"
#include "ui/graph/minimap.h"
#include "ui/support/inbox.h"

namespace dyn::ui {

// What of a graph is shown.
struct GraphLook {
  std::set<std::string> open;  // paths of groups
  bool constants = false;
  bool operator==(const GraphLook&) const = default;
};

class GraphCanvas : public QWidget {
  Q_OBJECT
 public:
  explicit GraphCanvas(QWidget* parent = nullptr);
  ~GraphCanvas() override;

  // Keeps open groups, selection and, when the model is the same, the place on screen.
  void setGraph(Shared<GraphView> view, bool sameModel);
  bool settled() const { return settled_; }    // false while a layout is under way
  void setTimes(std::vector<NodeTime> times);  // empty: no heat
  // Two runs: boxes show how much longer the second takes, in place of heat; null: no longer.
  void setComparedRuns(Shared<RunsView> runs);
  // Values of a file, in place of heat and differences; null: none.
  void setOverlay(Shared<Overlay> overlay);
  // A person's notes: their boxes have a mark, and a search finds them; null: none.
  void setNotes(std::shared_ptr<const NoteIndex> notes);
  const std::shared_ptr<const NoteIndex>& notes() const { return notes_; }
  // Of a node; null: none.
  const OverlayEntry* overlayOfNode(int node) const;
  const OverlayOnGraph& overlayOnGraph() const { return shown_.overlay; }
  void setLogarithmicHeat(bool on);
  // While steps are compared, too: the heat fills a box, and a sign in its corner says whether it is new (+),
  // removed (-) or changed (~).
  void setHeatInComparison(bool on);
  // Times and scale of another canvas.
  void takeHeatOf(const GraphCanvas& other);
  // Places of operations that cannot be compiled: they are red.
  void setProblems(std::vector<std::string> places);
  void setShowConstants(bool show);
  // By the layered layout, or by Graphviz, frame by frame (ui/graph/dot_layout.h).
  enum class Layouter : uint8_t { layered, graphviz };
  void setLayouter(Layouter layouter);
  GraphLook look() const { return {options_.open, options_.showConstants}; }
  void setLook(const GraphLook& look);
  // Only these, and what joins them, are bright; none: all are.
  void setTraced(const std::vector<int>& nodes);
  bool isTracing() const { return !traced_.empty(); }
  // The step that the shown one is compared with: what is new, gone or other in it is green, red or amber;
  // null: none.
  void setCompared(Shared<GraphView> other);
  void setEmptyText(const QString& text) { emptyText_ = text; }
  // The whole graph as it is: .svg, .pdf, .png or .dot, and .ps as Graphviz draws it. "": well; else what
  // went wrong.
  QString exportTo(const QString& file) const;
  // A small picture of it, as in a window of that palette.
  QImage thumbnail(QSize size, const QPalette& palette) const;
  // The same for who goes on meanwhile: exported() tells how it ended. Graphviz works on a thread of its own.
  void exportLater(const QString& file);

  const Shared<GraphView>& graph() const { return shown_.view; }  // null: none
  const GraphScene& scene() const { return shown_.scene; }
  int selectedNode() const { return shown_.selected; }  // index; -1: none
  NodeId selectedId() const {
    return shown_.selected < 0 ? kNoNode : shown_.view->nodes[static_cast<size_t>(shown_.selected)].id;
  }
  // Of the kernels that have their place in it.
  int64_t timeOfBox(int box) const;
  // Of the kernels that compute the node, each as a whole, with what else they compute.
  int64_t timeOfNode(int node) const;
  // The other nodes that its kernels compute.
  std::vector<int> computedWith(int node) const;
  const std::vector<int>& matches() const { return shown_.matches; }
  int matchesCount() const { return static_cast<int>(shown_.matches.size()); }
  int matchShown() const { return shown_.match; }  // from 1; 0: none yet
  void toggle(int box);                            // opens or closes what the box stands for
  void setAllOpen(bool open);
  void select(int node);
  // Words, facts and patterns (app/session/graph/graph_query.h). "": well; else what is wrong with it.
  QString search(const QString& text);
  void nextMatch(int by = 1);  // -1: the one before
  // Opens the groups around the node, brings it to the middle and selects it; false: it is not in this graph.
  bool revealId(NodeId id);
  bool revealPlace(const QString& place);
  void fit(double mostScale = 4);  // the whole, at most that large
  bool isFitted() const { return fitted_; }
  double fitScale() const;  // of the whole
  double scale() const { return scale_; }
  void showAt(double scale, QPointF scenePoint);  // which comes to the middle
  QPointF middle() const;                         // of the part that no legend covers
  bool minimapShown() const;
  QPointF toScene(QPointF p) const { return (p - offset_) / scale_; }
  QPointF onScreen(QPointF scenePoint) const { return scenePoint * scale_ + offset_; }
  int changesCount(BoxChange change) const {
    return static_cast<int>(std::count(shown_.marks.changes.begin(), shown_.marks.changes.end(), change));
  }

 Q_SIGNALS:
  void sceneReady();
  void viewMoved();                            // panned, zoomed or fitted
  void menuWanted(const QPoint& globalPlace);  // at the chosen operation
  void lookChanged(const QString& what);       // by a person: "open groups"
  void nodeSelected(int node);
  void searched(int matches);
  void heatChanged();                                        // times, or how they are shown
  void exported(const QString& file, const QString& fault);  // fault "": well
  void remarked(const QString& text);                        // of a layout: what could not be done as wished

 protected:
  void changeEvent(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  // What is to happen when a layout is there.
  struct Arrangement {
    Shared<GraphView> view;
    int keepNode = -1;    // stays where it is on screen
    int centerNode = -1;  // comes to the middle
    bool fit = false, newModel = false;
    bool anew = false;  // takes no order from the picture before
  };
  void arrange(Arrangement wish);
  void adopt(const Arrangement& wish, GraphScene scene);
  void rebuild(int keepNode);
  void spreadTimes();
  void spreadOverlay();
  void findMatches();
  void compare();
  bool step(int key);  // from the chosen operation to the next; false: absent
  void recount();      // times and matches per box
  const SceneBox* boxOf(int node) const;
  int boxAt(QPointF scenePoint) const;
  QRectF inSight() const;
  void lookAt(QPointF scenePoint);
  int nodeOfPlace(const std::string& place) const;  // -1: none
  void reveal(int node);
  void center(int node);
  void zoom(double factor, QPointF at);
  void moved();  // by a person or to show something: it is no longer fitted
  void fitToLegend(int before);

  // A graph, and all that counts by its nodes and boxes: they come and go together, so that no index of one
  // graph is ever used in another.
  struct Shown {
    Shared<GraphView> view;
    GraphScene scene;
    std::vector<KernelNodes> kernels;  // one for each of times_
    std::vector<int> matches;
    int match = 0;  // shown, from 1
    int selected = -1;
    OverlayOnGraph overlay;
    BoxMarks marks;
  };
  Shown shown_;
  Shared<GraphView> wanted_;  // will be shown
  SceneOptions options_;
  std::atomic<uint64_t> generation_{0};  // the last layout that was wished for
  Layouter layouter_ = Layouter::layered;
  bool settled_ = true, logarithmicHeat_ = false, heatInComparison_ = false;
  std::vector<NodeTime> times_;
  Shared<RunsView> comparedRuns_;
  Shared<Overlay> overlay_;
  std::shared_ptr<const NoteIndex> notes_;
  std::vector<std::string> problems_;
  Minimap minimap_;
  GraphQuery query_;
  QString emptyText_ = "Open a model: Ctrl+O, or drop a .onnx, .dyn or .dynpkg file here";
  std::vector<NodeId> traced_;
  Shared<GraphView> compared_;
  double scale_ = 1;
  QPointF offset_, pressed_;
  bool dragging_ = false, inMinimap_ = false, fitted_ = true;
  Inbox inbox_;
  std::unique_ptr<Worker> layouts_;  // made for the first large graph; ends before the inbox
  std::unique_ptr<Worker> exports_;  // made for the first picture by Graphviz
};

}  // namespace dyn::ui
