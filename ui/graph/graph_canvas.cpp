#include "ui/graph/graph_canvas.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <unordered_set>

#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"
#include "app/session/views/run_views.h"
#include "app/session/views/view.h"
#include "ui/graph/dot_layout.h"
#include "ui/graph/graph_dot.h"
#include "ui/graph/graph_export.h"
#include "ui/graph/graph_legend.h"
#include "ui/graph/graph_painter.h"
#include "ui/graph/run_ratios.h"
#include "ui/graph/text_widths.h"
#include "ui/support/formula_text.h"

namespace dyn::ui {

namespace {

constexpr double kLeastScale = 0.02, kMostScale = 4, kMostFitScale = 1.3;
// Up to this many nodes the layout takes a few milliseconds: it is made at once.
constexpr size_t kMostNodesAtOnce = 1500;

}  // namespace

GraphCanvas::GraphCanvas(QWidget* parent) : QWidget(parent) {
  setObjectName("graph");
  setAccessibleName("Graph of the model");
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(false);
  setMinimumSize(200, 150);
  options_.titleWidth = TextWidths(titleFont());
  options_.subtitleWidth = TextWidths(subtitleFont());
}

GraphCanvas::~GraphCanvas() { ++generation_; }  // ends a layout by Graphviz

void GraphCanvas::setGraph(Shared<GraphView> view, bool sameModel) {
  if (!view) {
    ++generation_;
    wanted_ = nullptr;
    shown_ = {};
    traced_.clear();
    compared_ = nullptr;
    settled_ = true;
    update();
    Q_EMIT searched(0);
    Q_EMIT sceneReady();
    return;
  }
  if (!sameModel) options_.open = firstOpenGroups(*view);
  Arrangement wish;
  wish.fit = !sameModel || fitted_;
  wish.newModel = !sameModel;
  wanted_ = std::move(view);
  arrange(wish);
}

// Lays the wanted graph out: at once, or on another thread while the old picture stays. A later wish takes
// the place of an earlier one.
void GraphCanvas::arrange(Arrangement wish) {
  const uint64_t generation = ++generation_;
  wish.view = wanted_;
  SceneOptions options = options_;
  if (!wish.newModel && !wish.anew) options.before = shown_.scene.order;
  if (layouter_ == Layouter::graphviz)
    options.layout = [this, generation](const LayoutInput& input) {
      return dotLayout(input, [&] { return generation != generation_; });
    };
  if (!options.layout && wanted_->nodes.size() <= kMostNodesAtOnce) {
    adopt(wish, buildScene(*wish.view, options));
    return;
  }
  settled_ = false;
  update();
  if (!layouts_) layouts_ = std::make_unique<Worker>();
  layouts_->post([this, wish, options = std::move(options), generation] {
    if (generation != generation_) return;  // a later one waits
    auto scene = std::make_shared<GraphScene>(buildScene(*wish.view, options));
    inbox_.post([this, wish, scene, generation] {
      if (generation == generation_) adopt(wish, std::move(*scene));
    });
  });
}

void GraphCanvas::adopt(const Arrangement& wish, GraphScene scene) {
  const bool otherView = wish.view != shown_.view;
  std::optional<QPointF> before;
  // On the screen: the chosen operation stays there from step to step too.
  const int keep = !otherView ? wish.keepNode : wish.newModel || !shown_.view ? -1 : shown_.selected;
  if (const SceneBox* box = keep >= 0 ? boxOf(keep) : nullptr) before = box->rect.center() * scale_ + offset_;
  NodeId kept = kNoNode;
  if (otherView && shown_.view && !wish.newModel && shown_.selected >= 0)
    kept = shown_.view->nodes[static_cast<size_t>(shown_.selected)].id;
  if (otherView) {
    shown_ = {};
    shown_.view = wish.view;
  }
  shown_.scene = std::move(scene);
  settled_ = true;
  if (otherView) {
    for (size_t n = 0; n < shown_.view->nodes.size() && kept != kNoNode; ++n)
      if (shown_.view->nodes[n].id == kept) shown_.selected = static_cast<int>(n);
    spreadTimes();
    spreadOverlay();
    findMatches();
  }
  const int keeper = otherView ? shown_.selected : wish.keepNode;
  const SceneBox* stays = before ? boxOf(keeper) : nullptr;
  if (stays) offset_ = *before - stays->rect.center() * scale_;
  shown_.marks.selected =
      shown_.selected >= 0 ? shown_.scene.boxOfNode[static_cast<size_t>(shown_.selected)] : -1;
  recount();
  minimap_.setScene(shown_.scene, palette());
  if (wish.fit && !(otherView && stays)) fit();
  if (wish.centerNode >= 0) center(wish.centerNode);
  update();
  Q_EMIT viewMoved();
  if (otherView) Q_EMIT searched(matchesCount());
  Q_EMIT sceneReady();
  if (!shown_.scene.remarks.isEmpty()) Q_EMIT remarked(shown_.scene.remarks.join("; "));
}

const SceneBox* GraphCanvas::boxOf(int node) const {
  if (node < 0 || static_cast<size_t>(node) >= shown_.scene.boxOfNode.size()) return nullptr;
  const int box = shown_.scene.boxOfNode[static_cast<size_t>(node)];
  return box < 0 ? nullptr : &shown_.scene.boxes[static_cast<size_t>(box)];
}

// Of the picture that is shown; nothing while another model is about to take its place.
void GraphCanvas::rebuild(int keepNode) {
  if (!shown_.view || wanted_ != shown_.view) return;
  Arrangement wish;
  wish.keepNode = keepNode;
  arrange(wish);
}

// Nothing lies behind a legend that came.
void GraphCanvas::fitToLegend(int before) {
  if (fitted_ && legendHeight(shown_.marks, font()) != before) fit();
  update();
}

void GraphCanvas::setTimes(std::vector<NodeTime> times) {
  const int legend = legendHeight(shown_.marks, font());
  times_ = std::move(times);
  spreadTimes();
  recount();
  fitToLegend(legend);
  Q_EMIT heatChanged();
}

void GraphCanvas::takeHeatOf(const GraphCanvas& other) {
  logarithmicHeat_ = other.logarithmicHeat_;
  heatInComparison_ = other.heatInComparison_;
  setTimes(other.times_);
}

void GraphCanvas::setHeatInComparison(bool on) {
  const int legend = legendHeight(shown_.marks, font());
  shown_.marks.heatInComparison = heatInComparison_ = on;
  fitToLegend(legend);
  Q_EMIT heatChanged();
}

void GraphCanvas::setComparedRuns(Shared<RunsView> runs) {
  const int legend = legendHeight(shown_.marks, font());
  comparedRuns_ = std::move(runs);
  recount();
  fitToLegend(legend);
}

void GraphCanvas::setOverlay(Shared<Overlay> overlay) {
  const int legend = legendHeight(shown_.marks, font());
  overlay_ = std::move(overlay);
  spreadOverlay();
  recount();
  fitToLegend(legend);
}

void GraphCanvas::spreadOverlay() {
  shown_.overlay = overlay_ && shown_.view ? overlayOn(*overlay_, *shown_.view) : OverlayOnGraph();
}

const OverlayEntry* GraphCanvas::overlayOfNode(int node) const {
  const size_t at = static_cast<size_t>(node);
  if (!overlay_ || node < 0 || at >= shown_.overlay.entryOfNode.size()) return nullptr;
  const int entry = shown_.overlay.entryOfNode[at];
  return entry < 0 ? nullptr : &overlay_->entries[static_cast<size_t>(entry)];
}

void GraphCanvas::setLogarithmicHeat(bool on) {
  shown_.marks.logarithmicHeat = logarithmicHeat_ = on;
  update();
  Q_EMIT heatChanged();
}

void GraphCanvas::spreadTimes() {
  shown_.kernels.assign(times_.size(), {});
  if (!shown_.view || times_.empty()) return;
  const KernelsOfGraph kernels(*shown_.view);
  for (size_t i = 0; i < times_.size(); ++i)
    shown_.kernels[i] = kernels.of(times_[i].place, times_[i].members);
}

std::vector<int> GraphCanvas::computedWith(int node) const {
  std::set<int> others;
  for (const KernelNodes& kernel : shown_.kernels)
    if (std::binary_search(kernel.all.begin(), kernel.all.end(), node))
      others.insert(kernel.all.begin(), kernel.all.end());
  others.erase(node);
  return {others.begin(), others.end()};
}

int64_t GraphCanvas::timeOfNode(int node) const {
  int64_t sum = 0;
  for (size_t i = 0; i < shown_.kernels.size(); ++i)
    if (std::binary_search(shown_.kernels[i].all.begin(), shown_.kernels[i].all.end(), node))
      sum += times_[i].totalNs;
  return sum;
}

void GraphCanvas::recount() {
  shown_.marks.times.assign(shown_.scene.boxes.size(), 0);
  shown_.marks.matches.assign(shown_.scene.boxes.size(), 0);
  shown_.marks.problems.assign(shown_.scene.boxes.size(), 0);
  shown_.marks.mostNs = shown_.marks.sumNs = 0;
  shown_.marks.logarithmicHeat = logarithmicHeat_;
  shown_.marks.heatInComparison = heatInComparison_;
  shown_.marks.together.assign(shown_.scene.boxes.size(), 0);
  for (size_t i = 0; i < shown_.kernels.size(); ++i) {
    const KernelNodes& kernel = shown_.kernels[i];
    const int box = kernel.head < 0 ? -1 : shown_.scene.boxOfNode[static_cast<size_t>(kernel.head)];
    if (box < 0) continue;
    shown_.marks.times[static_cast<size_t>(box)] += times_[i].totalNs;
    shown_.marks.sumNs += times_[i].totalNs;
    for (const int node : kernel.all)
      if (const int other = shown_.scene.boxOfNode[static_cast<size_t>(node)]; other >= 0)
        shown_.marks.together[static_cast<size_t>(other)] = 1;
  }
  for (int64_t t : shown_.marks.times) shown_.marks.mostNs = std::max(shown_.marks.mostNs, t);
  shown_.marks.overlay =
      overlay_ && shown_.view ? overlayMarks(*overlay_, shown_.overlay, shown_.scene) : OverlayMarks();
  shown_.marks.ratios.clear();
  if (comparedRuns_ && shown_.view)
    shown_.marks.ratios = ratiosOf(*shown_.view, shown_.scene, comparedRuns_->rows);
  for (int node : shown_.matches) {
    const int box = shown_.scene.boxOfNode[static_cast<size_t>(node)];
    if (box >= 0) ++shown_.marks.matches[static_cast<size_t>(box)];
  }
  shown_.marks.notes.assign(notes_ && !notes_->isEmpty() ? shown_.scene.boxes.size() : 0, 0);
  for (size_t n = 0; n < shown_.scene.boxOfNode.size() && !shown_.marks.notes.empty(); ++n)
    if (const int box = shown_.scene.boxOfNode[n]; box >= 0 && notes_->of(shown_.view->nodes[n]))
      shown_.marks.notes[static_cast<size_t>(box)] = 1;
  std::unordered_set<NodeId> traced(traced_.begin(), traced_.end());
  shown_.marks.traced.assign(traced.empty() ? 0 : shown_.scene.boxes.size(), 0);
  for (size_t n = 0; n < shown_.scene.boxOfNode.size() && !traced.empty(); ++n)
    if (shown_.scene.boxOfNode[n] >= 0 && traced.count(shown_.view->nodes[n].id))
      shown_.marks.traced[static_cast<size_t>(shown_.scene.boxOfNode[n])] = 1;
  compare();
  shown_.marks.sides = shown_.view ? sidesOf(*shown_.view, shown_.scene) : std::vector<BoxSide>();
  for (const std::string& place : problems_) {
    const int node = nodeOfPlace(place),
              box = node < 0 ? -1 : shown_.scene.boxOfNode[static_cast<size_t>(node)];
    if (box >= 0) ++shown_.marks.problems[static_cast<size_t>(box)];
  }
}

void GraphCanvas::setProblems(std::vector<std::string> places) {
  problems_ = std::move(places);
  recount();
  update();
}

int64_t GraphCanvas::timeOfBox(int box) const { return shown_.marks.times[static_cast<size_t>(box)]; }

void GraphCanvas::setShowConstants(bool show) {
  if (show == options_.showConstants) return;
  options_.showConstants = show;
  if (shown_.view) rebuild(shown_.selected);
  Q_EMIT lookChanged(show ? "show constants" : "hide constants");
}

void GraphCanvas::setLayouter(Layouter layouter) {
  if (layouter == layouter_) return;
  layouter_ = layouter;
  if (!wanted_) return;
  Arrangement wish;
  wish.fit = wish.anew = true;
  wish.newModel = wanted_ != shown_.view;
  arrange(wish);
}

void GraphCanvas::setLook(const GraphLook& look) {
  options_.open = look.open;
  options_.showConstants = look.constants;
  if (shown_.view) rebuild(shown_.selected);
}

void GraphCanvas::toggle(int box) {
  const SceneBox target = shown_.scene.boxes[static_cast<size_t>(box)];
  int keep = target.node;
  const auto flip = [&](const std::string& path) {
    if (!options_.open.erase(path)) options_.open.insert(path);
  };
  if (target.group >= 0) {
    flip(shown_.view->groups[static_cast<size_t>(target.group)].path);
  } else {
    for (const GraphGroup& g : shown_.view->groups)
      if (g.kind == GroupKind::region && g.owner == shown_.view->nodes[static_cast<size_t>(target.node)].id)
        flip(g.path);
  }
  if (keep < 0)
    for (size_t n = 0; n < shown_.scene.boxOfNode.size() && keep < 0; ++n)
      if (shown_.scene.boxOfNode[n] == box) keep = static_cast<int>(n);
  rebuild(keep);
  Q_EMIT lookChanged(target.frame ? "close " + target.title : "open " + target.title);
}

void GraphCanvas::setAllOpen(bool open) {
  if (!shown_.view) return;
  options_.open.clear();
  if (open) {
    for (const GraphGroup& g : shown_.view->groups)
      if (g.kind != GroupKind::region) options_.open.insert(g.path);
  }
  Q_EMIT lookChanged(open ? "open groups" : "close groups");
  if (wanted_ != shown_.view) return;
  Arrangement wish;
  wish.fit = true;
  arrange(wish);
}

void GraphCanvas::select(int node) {
  shown_.selected = node;
  shown_.marks.selected = node >= 0 ? shown_.scene.boxOfNode[static_cast<size_t>(node)] : -1;
  update();
  Q_EMIT nodeSelected(node);
}

QString GraphCanvas::search(const QString& text) {
  Result<GraphQuery> query = GraphQuery::parse(plainFormula(text).toStdString());
  const QString fault = query.ok() ? QString() : QString::fromStdString(query.error().message);
  query_ = query.ok() ? *std::move(query) : GraphQuery();
  query_.setNotes(notes_);
  findMatches();
  recount();
  update();
  Q_EMIT searched(matchesCount());
  return fault;
}

void GraphCanvas::setNotes(std::shared_ptr<const NoteIndex> notes) {
  notes_ = std::move(notes);
  query_.setNotes(notes_);
  if (!query_.isEmpty()) findMatches();
  recount();
  update();
  if (!query_.isEmpty()) Q_EMIT searched(matchesCount());
}

void GraphCanvas::findMatches() {
  shown_.matches = shown_.view ? findNodes(*shown_.view, query_, options_.showConstants) : std::vector<int>();
  shown_.match = 0;
}

void GraphCanvas::setTraced(const std::vector<int>& nodes) {
  traced_.clear();
  for (int node : nodes) traced_.push_back(shown_.view->nodes[static_cast<size_t>(node)].id);
  recount();
  update();
}

void GraphCanvas::setCompared(Shared<GraphView> other) {
  const int legend = legendHeight(shown_.marks, font());
  compared_ = std::move(other);
  recount();
  fitToLegend(legend);
}

// Operations keep their ids from step to step.
void GraphCanvas::compare() {
  shown_.marks.changes.assign(compared_ ? shown_.scene.boxes.size() : 0, BoxChange::none);
  if (!compared_ || !shown_.view) return;
  std::unordered_map<NodeId, const GraphNode*> others;
  for (const GraphNode& node : compared_->nodes) others[node.id] = &node;
  const BoxChange absent = compared_->step < shown_.view->step ? BoxChange::added : BoxChange::removed;
  for (size_t n = 0; n < shown_.view->nodes.size(); ++n) {
    const int box = shown_.scene.boxOfNode[n];
    if (box < 0) continue;
    const auto other = others.find(shown_.view->nodes[n].id);
    const BoxChange change = other == others.end()                               ? absent
                             : other->second->text != shown_.view->nodes[n].text ? BoxChange::changed
                                                                                 : BoxChange::none;
    BoxChange& mark = shown_.marks.changes[static_cast<size_t>(box)];
    // A group of which some are new is changed.
    if (shown_.scene.boxes[static_cast<size_t>(box)].node >= 0)
      mark = change;
    else if (change != BoxChange::none)
      mark = BoxChange::changed;
  }
}

void GraphCanvas::center(int node) {
  const SceneBox* box = boxOf(node);
  if (!box) return;
  scale_ = std::max(scale_, 0.8);
  offset_ = middle() - box->rect.center() * scale_;
  moved();
}

void GraphCanvas::moved() {
  fitted_ = false;
  update();
  Q_EMIT viewMoved();
}

// Above the legend.
QPointF GraphCanvas::middle() const {
  return QPointF(width(), height() - legendHeight(shown_.marks, font())) / 2;
}

void GraphCanvas::showAt(double scale, QPointF scenePoint) {
  scale_ = std::clamp(scale, kLeastScale, kMostScale);
  offset_ = middle() - scenePoint * scale_;
  moved();
}

// Opens the groups around a node and brings it to the middle.
void GraphCanvas::reveal(int node) {
  if (wanted_ != shown_.view) return;
  bool opened = false;
  for (int g = shown_.view->nodes[static_cast<size_t>(node)].group; g >= 0;
       g = shown_.view->groups[static_cast<size_t>(g)].parent)
    opened |= options_.open.insert(shown_.view->groups[static_cast<size_t>(g)].path).second;
  if (!opened) return center(node);
  Arrangement wish;
  wish.keepNode = wish.centerNode = node;
  arrange(wish);
}

bool GraphCanvas::revealId(NodeId id) {
  for (size_t n = 0; shown_.view && n < shown_.view->nodes.size(); ++n) {
    if (shown_.view->nodes[n].id != id) continue;
    reveal(static_cast<int>(n));
    select(static_cast<int>(n));
    return true;
  }
  return false;
}

int GraphCanvas::nodeOfPlace(const std::string& place) const {
  for (size_t n = 0; shown_.view && n < shown_.view->nodes.size(); ++n)
    if (shown_.view->nodes[n].kind == NodeKind::operation && shown_.view->nodes[n].place == place)
      return static_cast<int>(n);
  return -1;
}

bool GraphCanvas::revealPlace(const QString& place) {
  if (const int node = nodeOfPlace(place.toStdString()); node >= 0)
    return revealId(shown_.view->nodes[static_cast<size_t>(node)].id);
  return false;
}

void GraphCanvas::nextMatch(int by) {
  if (shown_.matches.empty()) return;
  const int count = matchesCount();
  shown_.match = shown_.match == 0 ? (by > 0 ? 1 : count) : (shown_.match - 1 + by + count) % count + 1;
  const int node = shown_.matches[static_cast<size_t>(shown_.match - 1)];
  reveal(node);
  select(node);
  Q_EMIT searched(count);
}

void GraphCanvas::contextMenuEvent(QContextMenuEvent* event) {
  const int box = boxAt(toScene(event->pos()));
  if (box < 0 || shown_.scene.boxes[static_cast<size_t>(box)].node < 0) return;
  select(shown_.scene.boxes[static_cast<size_t>(box)].node);
  Q_EMIT menuWanted(event->globalPos());
}

// Down along the data, up against it, left and right in the row.
bool GraphCanvas::step(int key) {
  const int from = shown_.selected >= 0 ? shown_.scene.boxOfNode[static_cast<size_t>(shown_.selected)] : -1;
  if (from < 0) return false;
  const QRectF here = shown_.scene.boxes[static_cast<size_t>(from)].rect;
  int best = -1;
  double least = 0;
  const auto offer = [&](int box, double distance) {
    if (shown_.scene.boxes[static_cast<size_t>(box)].node < 0) return;
    if (best >= 0 && distance >= least) return;
    best = box;
    least = distance;
  };
  if (key == Qt::Key_Up || key == Qt::Key_Down) {
    for (const SceneEdge& edge : shown_.scene.edges) {
      if (edge.ownership) continue;
      const int near = key == Qt::Key_Down ? edge.from : edge.to,
                far = key == Qt::Key_Down ? edge.to : edge.from;
      if (near != from) continue;
      const QPointF way = shown_.scene.boxes[static_cast<size_t>(far)].rect.center() - here.center();
      offer(far, std::hypot(way.x(), way.y()));
    }
  } else {
    for (size_t box = 0; box < shown_.scene.boxes.size(); ++box) {
      const QRectF& other = shown_.scene.boxes[box].rect;
      const double way = (other.center().x() - here.center().x()) * (key == Qt::Key_Right ? 1 : -1);
      if (shown_.scene.boxes[box].frame || way <= 0 ||
          std::abs(other.center().y() - here.center().y()) > here.height())
        continue;
      offer(static_cast<int>(box), way);
    }
  }
  if (best < 0) return false;
  const int node = shown_.scene.boxes[static_cast<size_t>(best)].node;
  if (!inSight().contains(shown_.scene.boxes[static_cast<size_t>(best)].rect)) center(node);
  select(node);
  return true;
}

double GraphCanvas::fitScale() const {
  const QRectF b = shown_.scene.bounds;
  if (b.isEmpty()) return kMostFitScale;
  return std::clamp(std::min((width() - 40) / b.width(), (2 * middle().y() - 40) / b.height()), kLeastScale,
                    kMostFitScale);
}

void GraphCanvas::fit(double mostScale) {
  fitted_ = true;
  const QRectF b = shown_.scene.bounds;
  if (b.isEmpty()) return;
  scale_ = std::min(fitScale(), mostScale);
  offset_ = middle() - b.center() * scale_;
  update();
  Q_EMIT viewMoved();
}

void GraphCanvas::zoom(double factor, QPointF at) {
  const QPointF under = toScene(at);
  scale_ = std::clamp(scale_ * factor, kLeastScale, kMostScale);
  offset_ = at - under * scale_;
  moved();
}

int GraphCanvas::boxAt(QPointF p) const {
  for (size_t i = shown_.scene.boxes.size(); i-- > 0;)
    if (!shown_.scene.boxes[i].frame && shown_.scene.boxes[i].rect.contains(p)) return static_cast<int>(i);
  // Of frames the innermost: they come after those around them.
  for (size_t i = shown_.scene.boxes.size(); i-- > 0;)
    if (shown_.scene.boxes[i].frame && shown_.scene.boxes[i].rect.contains(p)) return static_cast<int>(i);
  return -1;
}

void GraphCanvas::wheelEvent(QWheelEvent* event) {
  zoom(std::pow(1.0015, event->angleDelta().y()), event->position());
}

void GraphCanvas::mousePressEvent(QMouseEvent* event) {
  pressed_ = event->position();
  dragging_ = inMinimap_ = false;
  if (!minimapShown() || !minimap_.place(size()).contains(pressed_)) return;
  inMinimap_ = true;
  lookAt(minimap_.toScene(pressed_, size()));
}

void GraphCanvas::lookAt(QPointF scenePoint) { showAt(scale_, scenePoint); }

QRectF GraphCanvas::inSight() const { return QRectF(toScene({0, 0}), toScene(QPointF(width(), height()))); }

bool GraphCanvas::minimapShown() const { return shown_.view && !inSight().contains(shown_.scene.bounds); }

void GraphCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (!(event->buttons() & (Qt::LeftButton | Qt::MiddleButton))) return;
  if (inMinimap_) return lookAt(minimap_.toScene(event->position(), size()));
  const QPointF way = event->position() - pressed_;
  if (!dragging_ && way.manhattanLength() < 4) return;
  dragging_ = true;
  setCursor(Qt::ClosedHandCursor);
  offset_ += way;
  pressed_ = event->position();
  moved();
}

void GraphCanvas::mouseReleaseEvent(QMouseEvent* event) {
  unsetCursor();
  if (dragging_ || inMinimap_ || !shown_.view) return;
  const int box = boxAt(toScene(event->position()));
  select(box >= 0 ? shown_.scene.boxes[static_cast<size_t>(box)].node : -1);
}

void GraphCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  const int box = boxAt(toScene(event->position()));
  dragging_ = true;  // the release that follows selects nothing
  if (box >= 0 && shown_.scene.boxes[static_cast<size_t>(box)].expandable) toggle(box);
}

void GraphCanvas::keyPressEvent(QKeyEvent* event) {
  const QPointF middle(width() / 2.0, height() / 2.0);
  // With Shift, and where no operation is chosen, arrows move the picture.
  const bool arrow = event->key() >= Qt::Key_Left && event->key() <= Qt::Key_Down;
  if (arrow && !(event->modifiers() & Qt::ShiftModifier) && shown_.selected >= 0) {
    step(event->key());
    return;
  }
  switch (event->key()) {
    case Qt::Key_Space:
      return fit();
    case Qt::Key_Plus:
      return zoom(1.25, middle);
    case Qt::Key_Minus:
      return zoom(0.8, middle);
    case Qt::Key_1:
      return zoom(1 / scale_, middle);
    case Qt::Key_Return:
      return nextMatch();
    case Qt::Key_Left:
      offset_.rx() += 60;
      break;
    case Qt::Key_Right:
      offset_.rx() -= 60;
      break;
    case Qt::Key_Up:
      offset_.ry() += 60;
      break;
    case Qt::Key_Down:
      offset_.ry() -= 60;
      break;
    default:
      return QWidget::keyPressEvent(event);
  }
  moved();
}

void GraphCanvas::resizeEvent(QResizeEvent*) {
  if (fitted_) fit();
}

// The map is a picture that is kept.
void GraphCanvas::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && shown_.view) minimap_.setScene(shown_.scene, palette());
}

void GraphCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  if (!shown_.view) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(rect(), Qt::AlignCenter, settled_ ? emptyText_ : QString("Laying the graph out ..."));
    return;
  }
  painter.setRenderHint(QPainter::Antialiasing);
  painter.translate(offset_);
  painter.scale(scale_, scale_);
  GraphPainter(*shown_.view, shown_.scene, shown_.marks, palette()).paint(painter, inSight(), scale_);
  painter.resetTransform();
  if (minimapShown()) minimap_.paint(painter, size(), inSight());
  painter.setFont(font());
  paintLegend(painter, size(), shown_.marks, palette());
  if (!settled_) {
    painter.setPen(palette().color(QPalette::Text));
    painter.drawText(rect().adjusted(12, 8, -12, -8), Qt::AlignLeft | Qt::AlignTop,
                     "Laying the graph out ...");
  }
}

void GraphCanvas::exportLater(const QString& file) {
  if (!shown_.view || !file.endsWith(".ps", Qt::CaseInsensitive)) {
    Q_EMIT exported(file, exportTo(file));
    return;
  }
  if (!exports_) exports_ = std::make_unique<Worker>();
  exports_->post([this, file, dot = graphDot(shown_.scene, *shown_.view), boxes = shown_.scene.boxes.size()] {
    const QString fault = exportPostScript(dot, boxes, file);
    inbox_.post([this, file, fault] { Q_EMIT exported(file, fault); });
  });
}

QImage GraphCanvas::thumbnail(QSize size, const QPalette& palette) const {
  const size_t boxes = shown_.scene.boxes.size();
  BoxMarks plain;
  plain.times.resize(boxes);
  plain.together.resize(boxes);
  plain.matches.resize(boxes);
  plain.problems.resize(boxes);
  return shown_.view ? graphThumbnail({*shown_.view, shown_.scene, plain, palette}, size) : QImage();
}

QString GraphCanvas::exportTo(const QString& file) const {
  return shown_.view ? exportGraph({*shown_.view, shown_.scene, shown_.marks, palette()}, file)
                     : "there is no graph";
}

}  // namespace dyn::ui
