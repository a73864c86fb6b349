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

#include "ui/graph/dot_layout.h"
#include "ui/graph/graph_dot.h"
#include "ui/graph/graph_export.h"
#include "ui/graph/graph_legend.h"
#include "ui/graph/graph_painter.h"
#include "ui/graph/run_ratios.h"
#include "ui/graph/text_widths.h"

namespace dyn::ui {

namespace {

constexpr double kLeastScale = 0.02, kMostScale = 4;
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
    wanted_ = view_ = nullptr;
    scene_ = {};
    marks_ = {.logarithmicHeat = logarithmicHeat_};
    selected_ = -1;
    update();
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
  if (!wish.newModel && !wish.anew) options.before = scene_.order;
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
  const bool otherView = wish.view != view_;
  std::optional<QPointF> before;
  // On the screen: the chosen operation stays there from step to step too.
  const int keep = !otherView ? wish.keepNode : wish.newModel || !view_ ? -1 : selected_;
  if (const SceneBox* box = keep >= 0 ? boxOf(keep) : nullptr) before = box->rect.center() * scale_ + offset_;
  NodeId kept = kNoNode;
  if (otherView && view_ && !wish.newModel && selected_ >= 0)
    kept = view_->nodes[static_cast<size_t>(selected_)].id;
  view_ = wish.view;
  scene_ = std::move(scene);
  settled_ = true;
  if (otherView) {
    selected_ = -1;
    for (size_t n = 0; n < view_->nodes.size() && kept != kNoNode; ++n)
      if (view_->nodes[n].id == kept) selected_ = static_cast<int>(n);
    spreadTimes();
    findMatches();
  }
  const int keeper = otherView ? selected_ : wish.keepNode;
  const SceneBox* stays = before ? boxOf(keeper) : nullptr;
  if (stays) offset_ = *before - stays->rect.center() * scale_;
  marks_.selected = selected_ >= 0 ? scene_.boxOfNode[static_cast<size_t>(selected_)] : -1;
  recount();
  minimap_.setScene(scene_, palette());
  if (wish.fit && !(otherView && stays)) fit();
  if (wish.centerNode >= 0) center(wish.centerNode);
  update();
  if (otherView) Q_EMIT searched(matchesCount());
  Q_EMIT sceneReady();
  if (!scene_.remarks.isEmpty()) Q_EMIT remarked(scene_.remarks.join("; "));
}

const SceneBox* GraphCanvas::boxOf(int node) const {
  if (node < 0 || static_cast<size_t>(node) >= scene_.boxOfNode.size()) return nullptr;
  const int box = scene_.boxOfNode[static_cast<size_t>(node)];
  return box < 0 ? nullptr : &scene_.boxes[static_cast<size_t>(box)];
}

// Of the picture that is shown; nothing while another model is about to take its place.
void GraphCanvas::rebuild(int keepNode) {
  if (!view_ || wanted_ != view_) return;
  Arrangement wish;
  wish.keepNode = keepNode;
  arrange(wish);
}

void GraphCanvas::setTimes(std::vector<NodeTime> times) {
  const int legend = legendHeight(marks_, font());
  times_ = std::move(times);
  spreadTimes();
  recount();
  if (fitted_ && legendHeight(marks_, font()) != legend) fit();
  update();
}

void GraphCanvas::setComparedRuns(Shared<RunsView> runs) {
  const int legend = legendHeight(marks_, font());
  comparedRuns_ = std::move(runs);
  recount();
  if (fitted_ && legendHeight(marks_, font()) != legend) fit();
  update();
}

void GraphCanvas::setLogarithmicHeat(bool on) {
  marks_.logarithmicHeat = logarithmicHeat_ = on;
  update();
}

void GraphCanvas::spreadTimes() {
  nodesOfTime_.assign(times_.size(), {});
  if (!view_) return;
  std::unordered_map<std::string, std::vector<int>> byPlace;
  for (size_t n = 0; n < view_->nodes.size(); ++n)
    if (view_->nodes[n].kind == NodeKind::operation)
      byPlace[view_->nodes[n].place].push_back(static_cast<int>(n));
  for (size_t i = 0; i < times_.size(); ++i) {
    std::set<int> nodes;
    const auto add = [&](const std::string& place) {
      if (auto found = byPlace.find(place); found != byPlace.end())
        nodes.insert(found->second.begin(), found->second.end());
    };
    add(times_[i].place);
    for (const std::string& place : times_[i].members) add(place);
    nodesOfTime_[i].assign(nodes.begin(), nodes.end());
  }
}

std::vector<int> GraphCanvas::computedWith(int node) const {
  std::set<int> others;
  for (const std::vector<int>& nodes : nodesOfTime_)
    if (std::binary_search(nodes.begin(), nodes.end(), node)) others.insert(nodes.begin(), nodes.end());
  others.erase(node);
  return {others.begin(), others.end()};
}

void GraphCanvas::recount() {
  marks_.times.assign(scene_.boxes.size(), 0);
  marks_.matches.assign(scene_.boxes.size(), 0);
  marks_.problems.assign(scene_.boxes.size(), 0);
  marks_.mostNs = marks_.sumNs = 0;
  for (size_t i = 0; i < nodesOfTime_.size(); ++i) {
    std::set<int> boxes;
    for (int node : nodesOfTime_[i])
      if (const int box = scene_.boxOfNode[static_cast<size_t>(node)]; box >= 0) boxes.insert(box);
    for (int box : boxes) marks_.times[static_cast<size_t>(box)] += times_[i].totalNs;
    if (!boxes.empty()) marks_.sumNs += times_[i].totalNs;
  }
  for (int64_t t : marks_.times) marks_.mostNs = std::max(marks_.mostNs, t);
  marks_.ratios.clear();
  if (comparedRuns_ && view_) marks_.ratios = ratiosOf(*view_, scene_, comparedRuns_->rows);
  for (int node : matches_) {
    const int box = scene_.boxOfNode[static_cast<size_t>(node)];
    if (box >= 0) ++marks_.matches[static_cast<size_t>(box)];
  }
  std::unordered_set<NodeId> traced(traced_.begin(), traced_.end());
  marks_.traced.assign(traced.empty() ? 0 : scene_.boxes.size(), 0);
  for (size_t n = 0; n < scene_.boxOfNode.size() && !traced.empty(); ++n)
    if (scene_.boxOfNode[n] >= 0 && traced.count(view_->nodes[n].id))
      marks_.traced[static_cast<size_t>(scene_.boxOfNode[n])] = 1;
  compare();
  marks_.sides = view_ ? sidesOf(*view_, scene_) : std::vector<BoxSide>();
  for (const std::string& place : problems_) {
    const int node = nodeOfPlace(place), box = node < 0 ? -1 : scene_.boxOfNode[static_cast<size_t>(node)];
    if (box >= 0) ++marks_.problems[static_cast<size_t>(box)];
  }
}

void GraphCanvas::setProblems(std::vector<std::string> places) {
  problems_ = std::move(places);
  recount();
  update();
}

int64_t GraphCanvas::timeOfBox(int box) const { return marks_.times[static_cast<size_t>(box)]; }

void GraphCanvas::setShowConstants(bool show) {
  if (show == options_.showConstants) return;
  options_.showConstants = show;
  if (view_) rebuild(selected_);
  Q_EMIT lookChanged(show ? "show constants" : "hide constants");
}

void GraphCanvas::setLayouter(Layouter layouter) {
  if (layouter == layouter_) return;
  layouter_ = layouter;
  if (!wanted_) return;
  Arrangement wish;
  wish.fit = wish.anew = true;
  wish.newModel = wanted_ != view_;
  arrange(wish);
}

void GraphCanvas::setLook(const GraphLook& look) {
  options_.open = look.open;
  options_.showConstants = look.constants;
  if (view_) rebuild(selected_);
}

void GraphCanvas::toggle(int box) {
  const SceneBox target = scene_.boxes[static_cast<size_t>(box)];
  int keep = target.node;
  const auto flip = [&](const std::string& path) {
    if (!options_.open.erase(path)) options_.open.insert(path);
  };
  if (target.group >= 0) {
    flip(view_->groups[static_cast<size_t>(target.group)].path);
  } else {
    for (const GraphGroup& g : view_->groups)
      if (g.kind == GroupKind::region && g.owner == view_->nodes[static_cast<size_t>(target.node)].id)
        flip(g.path);
  }
  if (keep < 0)
    for (size_t n = 0; n < scene_.boxOfNode.size() && keep < 0; ++n)
      if (scene_.boxOfNode[n] == box) keep = static_cast<int>(n);
  rebuild(keep);
  Q_EMIT lookChanged(target.frame ? "close " + target.title : "open " + target.title);
}

void GraphCanvas::setAllOpen(bool open) {
  if (!view_) return;
  options_.open.clear();
  if (open) {
    for (const GraphGroup& g : view_->groups)
      if (g.kind != GroupKind::region) options_.open.insert(g.path);
  }
  Q_EMIT lookChanged(open ? "open groups" : "close groups");
  if (wanted_ != view_) return;
  Arrangement wish;
  wish.fit = true;
  arrange(wish);
}

void GraphCanvas::select(int node) {
  selected_ = node;
  marks_.selected = node >= 0 ? scene_.boxOfNode[static_cast<size_t>(node)] : -1;
  update();
  Q_EMIT nodeSelected(node);
}

QString GraphCanvas::search(const QString& text) {
  Result<GraphQuery> query = GraphQuery::parse(text.toStdString());
  const QString fault = query.ok() ? QString() : QString::fromStdString(query.error().message);
  query_ = query.ok() ? *std::move(query) : GraphQuery();
  findMatches();
  recount();
  update();
  Q_EMIT searched(matchesCount());
  return fault;
}

void GraphCanvas::findMatches() {
  matches_ = view_ ? findNodes(*view_, query_, options_.showConstants) : std::vector<int>();
  match_ = 0;
}

void GraphCanvas::setTraced(const std::vector<int>& nodes) {
  traced_.clear();
  for (int node : nodes) traced_.push_back(view_->nodes[static_cast<size_t>(node)].id);
  recount();
  update();
}

void GraphCanvas::setCompared(Shared<GraphView> other) {
  compared_ = std::move(other);
  recount();
  update();
}

// Operations keep their ids from step to step.
void GraphCanvas::compare() {
  marks_.changes.assign(compared_ ? scene_.boxes.size() : 0, BoxChange::none);
  if (!compared_ || !view_) return;
  std::unordered_map<NodeId, const GraphNode*> others;
  for (const GraphNode& node : compared_->nodes) others[node.id] = &node;
  const BoxChange absent = compared_->step < view_->step ? BoxChange::added : BoxChange::removed;
  for (size_t n = 0; n < view_->nodes.size(); ++n) {
    const int box = scene_.boxOfNode[n];
    if (box < 0) continue;
    const auto other = others.find(view_->nodes[n].id);
    const BoxChange change = other == others.end()                         ? absent
                             : other->second->text != view_->nodes[n].text ? BoxChange::changed
                                                                           : BoxChange::none;
    BoxChange& mark = marks_.changes[static_cast<size_t>(box)];
    // A group of which some are new is changed.
    if (scene_.boxes[static_cast<size_t>(box)].node >= 0)
      mark = change;
    else if (change != BoxChange::none)
      mark = BoxChange::changed;
  }
}

void GraphCanvas::center(int node) {
  const SceneBox* box = boxOf(node);
  if (!box) return;
  scale_ = std::max(scale_, 0.8);
  offset_ = QPointF(width(), height()) / 2 - box->rect.center() * scale_;
  fitted_ = false;
}

// Opens the groups around a node and brings it to the middle.
void GraphCanvas::reveal(int node) {
  if (wanted_ != view_) return;
  bool opened = false;
  for (int g = view_->nodes[static_cast<size_t>(node)].group; g >= 0;
       g = view_->groups[static_cast<size_t>(g)].parent)
    opened |= options_.open.insert(view_->groups[static_cast<size_t>(g)].path).second;
  if (!opened) return center(node);
  Arrangement wish;
  wish.keepNode = wish.centerNode = node;
  arrange(wish);
}

bool GraphCanvas::revealId(NodeId id) {
  for (size_t n = 0; view_ && n < view_->nodes.size(); ++n) {
    if (view_->nodes[n].id != id) continue;
    reveal(static_cast<int>(n));
    select(static_cast<int>(n));
    return true;
  }
  return false;
}

int GraphCanvas::nodeOfPlace(const std::string& place) const {
  for (size_t n = 0; view_ && n < view_->nodes.size(); ++n)
    if (view_->nodes[n].kind == NodeKind::operation && view_->nodes[n].place == place)
      return static_cast<int>(n);
  return -1;
}

bool GraphCanvas::revealPlace(const QString& place) {
  if (const int node = nodeOfPlace(place.toStdString()); node >= 0)
    return revealId(view_->nodes[static_cast<size_t>(node)].id);
  return false;
}

void GraphCanvas::nextMatch(int by) {
  if (matches_.empty()) return;
  const int count = matchesCount();
  match_ = match_ == 0 ? (by > 0 ? 1 : count) : (match_ - 1 + by + count) % count + 1;
  const int node = matches_[static_cast<size_t>(match_ - 1)];
  reveal(node);
  select(node);
  Q_EMIT searched(count);
}

void GraphCanvas::contextMenuEvent(QContextMenuEvent* event) {
  const int box = boxAt(toScene(event->pos()));
  if (box < 0 || scene_.boxes[static_cast<size_t>(box)].node < 0) return;
  select(scene_.boxes[static_cast<size_t>(box)].node);
  Q_EMIT menuWanted(event->globalPos());
}

// Down along the data, up against it, left and right in the row.
bool GraphCanvas::step(int key) {
  const int from = selected_ >= 0 ? scene_.boxOfNode[static_cast<size_t>(selected_)] : -1;
  if (from < 0) return false;
  const QRectF here = scene_.boxes[static_cast<size_t>(from)].rect;
  int best = -1;
  double least = 0;
  const auto offer = [&](int box, double distance) {
    if (scene_.boxes[static_cast<size_t>(box)].node < 0) return;
    if (best >= 0 && distance >= least) return;
    best = box;
    least = distance;
  };
  if (key == Qt::Key_Up || key == Qt::Key_Down) {
    for (const SceneEdge& edge : scene_.edges) {
      if (edge.ownership) continue;
      const int near = key == Qt::Key_Down ? edge.from : edge.to,
                far = key == Qt::Key_Down ? edge.to : edge.from;
      if (near != from) continue;
      const QPointF way = scene_.boxes[static_cast<size_t>(far)].rect.center() - here.center();
      offer(far, std::hypot(way.x(), way.y()));
    }
  } else {
    for (size_t box = 0; box < scene_.boxes.size(); ++box) {
      const QRectF& other = scene_.boxes[box].rect;
      const double way = (other.center().x() - here.center().x()) * (key == Qt::Key_Right ? 1 : -1);
      if (scene_.boxes[box].frame || way <= 0 ||
          std::abs(other.center().y() - here.center().y()) > here.height())
        continue;
      offer(static_cast<int>(box), way);
    }
  }
  if (best < 0) return false;
  const int node = scene_.boxes[static_cast<size_t>(best)].node;
  if (!inSight().contains(scene_.boxes[static_cast<size_t>(best)].rect)) center(node);
  select(node);
  return true;
}

void GraphCanvas::fit() {
  fitted_ = true;
  const QRectF b = scene_.bounds;
  if (b.isEmpty()) return;
  const double tall = height() - legendHeight(marks_, font());  // nothing lies behind the legend
  scale_ = std::clamp(std::min((width() - 40) / b.width(), (tall - 40) / b.height()), kLeastScale, 1.3);
  offset_ = QPointF(width(), tall) / 2 - b.center() * scale_;
  update();
}

void GraphCanvas::zoom(double factor, QPointF at) {
  const QPointF under = toScene(at);
  scale_ = std::clamp(scale_ * factor, kLeastScale, kMostScale);
  offset_ = at - under * scale_;
  fitted_ = false;
  update();
}

int GraphCanvas::boxAt(QPointF p) const {
  for (size_t i = scene_.boxes.size(); i-- > 0;)
    if (!scene_.boxes[i].frame && scene_.boxes[i].rect.contains(p)) return static_cast<int>(i);
  // Of frames the innermost: they come after those around them.
  for (size_t i = scene_.boxes.size(); i-- > 0;)
    if (scene_.boxes[i].frame && scene_.boxes[i].rect.contains(p)) return static_cast<int>(i);
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

void GraphCanvas::lookAt(QPointF scenePoint) {
  offset_ = QPointF(width(), height()) / 2 - scenePoint * scale_;
  fitted_ = false;
  update();
}

QRectF GraphCanvas::inSight() const { return QRectF(toScene({0, 0}), toScene(QPointF(width(), height()))); }

bool GraphCanvas::minimapShown() const { return view_ && !inSight().contains(scene_.bounds); }

void GraphCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (!(event->buttons() & (Qt::LeftButton | Qt::MiddleButton))) return;
  if (inMinimap_) return lookAt(minimap_.toScene(event->position(), size()));
  const QPointF moved = event->position() - pressed_;
  if (!dragging_ && moved.manhattanLength() < 4) return;
  dragging_ = true;
  fitted_ = false;
  setCursor(Qt::ClosedHandCursor);
  offset_ += moved;
  pressed_ = event->position();
  update();
}

void GraphCanvas::mouseReleaseEvent(QMouseEvent* event) {
  unsetCursor();
  if (dragging_ || inMinimap_ || !view_) return;
  const int box = boxAt(toScene(event->position()));
  select(box >= 0 ? scene_.boxes[static_cast<size_t>(box)].node : -1);
}

void GraphCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  const int box = boxAt(toScene(event->position()));
  dragging_ = true;  // the release that follows selects nothing
  if (box >= 0 && scene_.boxes[static_cast<size_t>(box)].expandable) toggle(box);
}

void GraphCanvas::keyPressEvent(QKeyEvent* event) {
  const QPointF middle(width() / 2.0, height() / 2.0);
  // With Shift, and where no operation is chosen, arrows move the picture.
  const bool arrow = event->key() >= Qt::Key_Left && event->key() <= Qt::Key_Down;
  if (arrow && !(event->modifiers() & Qt::ShiftModifier) && selected_ >= 0) {
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
  fitted_ = false;
  update();
}

void GraphCanvas::resizeEvent(QResizeEvent*) {
  if (fitted_) fit();
}

void GraphCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  if (!view_) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(rect(), Qt::AlignCenter, settled_ ? emptyText_ : QString("Laying the graph out ..."));
    return;
  }
  painter.setRenderHint(QPainter::Antialiasing);
  painter.translate(offset_);
  painter.scale(scale_, scale_);
  GraphPainter(*view_, scene_, marks_, palette()).paint(painter, inSight(), scale_);
  painter.resetTransform();
  if (minimapShown()) minimap_.paint(painter, size(), inSight());
  painter.setFont(font());
  paintLegend(painter, size(), marks_, palette());
  if (!settled_) {
    painter.setPen(palette().color(QPalette::Text));
    painter.drawText(rect().adjusted(12, 8, -12, -8), Qt::AlignLeft | Qt::AlignTop,
                     "Laying the graph out ...");
  }
}

void GraphCanvas::exportLater(const QString& file) {
  if (!view_ || !file.endsWith(".ps", Qt::CaseInsensitive)) {
    Q_EMIT exported(file, exportTo(file));
    return;
  }
  if (!exports_) exports_ = std::make_unique<Worker>();
  exports_->post([this, file, dot = graphDot(scene_, *view_), boxes = scene_.boxes.size()] {
    const QString fault = exportPostScript(dot, boxes, file);
    inbox_.post([this, file, fault] { Q_EMIT exported(file, fault); });
  });
}

QString GraphCanvas::exportTo(const QString& file) const {
  return view_ ? exportGraph({*view_, scene_, marks_, palette()}, file) : "there is no graph";
}

}  // namespace dyn::ui
