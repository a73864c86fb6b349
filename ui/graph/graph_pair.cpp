#include "ui/graph/graph_pair.h"

#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "ui/graph/graph_scene.h"
#include "ui/support/theme.h"

namespace dyn::ui {

namespace {

// "after fuse: 649 operations, 87 of them new"
QString pairTitle(const GraphView& view, const GraphView& other) {
  std::unordered_map<NodeId, const GraphNode*> others;
  for (const GraphNode& node : other.nodes) others[node.id] = &node;
  int64_t count = 0, absent = 0;
  for (const GraphNode& node : view.nodes) {
    if (node.kind != NodeKind::operation) continue;
    ++count;
    absent += others.count(node.id) == 0;
  }
  QString text = QString("after %1: %2 %3")
                     .arg(QString::fromStdString(view.stepName), groupedText(count),
                          count == 1 ? "operation" : "operations");
  if (absent > 0)
    text +=
        QString(", %1 of them %2").arg(groupedText(absent), view.step < other.step ? "removed later" : "new");
  return text;
}

}  // namespace

GraphPair::GraphPair(GraphCanvas* shown, QWidget* parent) : QWidget(parent), shown_(shown) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  parts_ = new QSplitter(Qt::Horizontal);
  parts_->setObjectName("graphPair");
  parts_->setChildrenCollapsible(false);
  parts_->addWidget(titled(shown_, shownTitle_));
  column->addWidget(parts_);
  connect(shown_, &GraphCanvas::sceneReady, this, &GraphPair::refresh);
}

QWidget* GraphPair::titled(GraphCanvas* canvas, QLabel*& title) {
  auto* part = new QWidget;
  auto* column = new QVBoxLayout(part);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  title = new QLabel;
  title->setFont(fontOf(TextStep::section));
  title->setMargin(6);
  // A narrow half cuts the words, and does not widen the window.
  title->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  title->hide();
  column->addWidget(title);
  column->addWidget(canvas, 1);
  return part;
}

bool GraphPair::isOtherShown() const { return otherPart_ && !otherPart_->isHidden(); }

void GraphPair::setOther(Shared<GraphView> other) {
  compared_ = std::move(other);
  refresh();
}

void GraphPair::takeNotes() {
  if (other_) other_->setNotes(shown_->notes());
}

void GraphPair::setSideBySide(bool on) {
  isWanted_ = on;
  refresh();
}

void GraphPair::refresh() {
  const bool both = isWanted_ && compared_ && shown_->graph() && shown_->graph()->step != compared_->step;
  if (both && !other_) {
    other_ = new GraphCanvas;
    other_->setObjectName("otherGraph");
    other_->setAccessibleName("The graph of the step that is compared");
    otherPart_ = titled(other_, otherTitle_);
    otherPart_->hide();
    otherTitle_->setObjectName("otherGraphTitle");
    shownTitle_->setObjectName("shownGraphTitle");
    parts_->addWidget(otherPart_);
    connect(shown_, &GraphCanvas::nodeSelected, this, [this] { follow(*shown_, *other_); });
    connect(other_, &GraphCanvas::sceneReady, this, [this] {
      findCommon();
      follow(*shown_, *other_);
      Q_EMIT otherReady();
    });
    connect(other_, &GraphCanvas::nodeSelected, this, [this] { follow(*other_, *shown_); });
    for (GraphCanvas* canvas : {shown_, other_}) {
      GraphCanvas* with = canvas == shown_ ? other_ : shown_;
      connect(canvas, &GraphCanvas::viewMoved, this, [this, canvas, with] { moveAlong(*canvas, *with); });
    }
    connect(shown_, &GraphCanvas::lookChanged, this, [this] { other_->setLook(shown_->look()); });
    connect(shown_, &GraphCanvas::heatChanged, this, [this] { other_->takeHeatOf(*shown_); });
  }
  if (!other_) return;
  shownTitle_->setVisible(both);
  otherTitle_->setVisible(both);
  const bool came = both && otherPart_->isHidden();
  otherPart_->setVisible(both);
  if (!both) {
    const bool went = other_->graph() != nullptr;
    other_->setCompared(nullptr);
    other_->setGraph(nullptr, false);
    common_.clear();
    if (went && shown_->isFitted()) shown_->fit();
    return;
  }
  const GraphView& shown = *shown_->graph();
  shownTitle_->setText(pairTitle(shown, *compared_));
  otherTitle_->setText(pairTitle(*compared_, shown));
  for (QLabel* title : {shownTitle_, otherTitle_}) title->setToolTip(title->text());
  const bool isOtherFirst = compared_->step < shown.step;
  if ((parts_->indexOf(otherPart_) == 0) != isOtherFirst)
    parts_->insertWidget(isOtherFirst ? 0 : 1, otherPart_);
  if (came) parts_->setSizes({1000, 1000});
  if (other_->graph() != compared_) {
    other_->setLook(shown_->look());
    other_->setGraph(compared_, other_->graph() != nullptr);
  }
  other_->takeHeatOf(*shown_);
  other_->setNotes(shown_->notes());
  other_->setCompared(shown_->graph());
  findCommon();
  follow(*shown_, *other_);
}

// The same operation there; one that is not in it leaves the other graph without a choice.
void GraphPair::follow(GraphCanvas& from, GraphCanvas& to) {
  if (isFollowing_ || !isOtherShown()) return;
  isFollowing_ = true;
  const NodeId id = from.selectedId();
  const bool isThere = id != kNoNode && (to.selectedId() == id || to.revealId(id));
  if (!isThere && to.selectedId() != kNoNode) to.select(-1);
  isFollowing_ = false;
  moveAlong(from, to);
  const GraphScene& scene = to.scene();
  const int box = isThere && to.settled() ? scene.boxOfNode[static_cast<size_t>(to.selectedNode())] : -1;
  if (box < 0) return;
  // At the edge of the one it may be beyond the edge of the other.
  const QRectF place = scene.boxes[static_cast<size_t>(box)].rect;
  if (to.rect().contains(to.onScreen(place.center()).toPoint())) return;
  isMoving_ = true;
  to.showAt(from.scale(), place.center());
  isMoving_ = false;
}

// Boxes of operations and closed groups that both have. Of a group one point: its box.
void GraphPair::findCommon() {
  common_.clear();
  if (!isOtherShown() || !other_->graph() || !shown_->graph()) return;
  const auto boxOf = [](const GraphCanvas& canvas, size_t node) -> const SceneBox* {
    if (node >= canvas.scene().boxOfNode.size()) return nullptr;
    const int box = canvas.scene().boxOfNode[node];
    return box < 0 ? nullptr : &canvas.scene().boxes[static_cast<size_t>(box)];
  };
  std::unordered_map<NodeId, size_t> others;
  for (size_t n = 0; n < other_->graph()->nodes.size(); ++n) others[other_->graph()->nodes[n].id] = n;
  std::unordered_set<const SceneBox*> taken;
  for (size_t n = 0; n < shown_->graph()->nodes.size(); ++n) {
    const auto other = others.find(shown_->graph()->nodes[n].id);
    if (other == others.end()) continue;
    const SceneBox *here = boxOf(*shown_, n), *there = boxOf(*other_, other->second);
    if (here && there && taken.insert(here).second)
      common_.push_back({static_cast<int>(n), here->rect.center(), there->rect.center()});
  }
}

// Where the point is in the other scene: moved as the operations around it are, the nearest most; the chosen
// one leads while it is well in sight, so that it stands at one height in both.
QPointF GraphPair::counterpart(const GraphCanvas& from, QPointF scenePoint) const {
  const bool isShown = &from == shown_;
  constexpr double kNear = 400;  // square of some pixels: no weight is endless
  QPointF sum, chosen;
  double weights = 0, lead = 0;
  for (const Common& common : common_) {
    const QPointF here = isShown ? common.shown : common.other,
                  way = (isShown ? common.other : common.shown) - here, away = here - scenePoint;
    const double near = QPointF::dotProduct(away, away) + kNear, weight = 1 / (near * near);
    sum += way * weight;
    weights += weight;
    if (common.shownNode != shown_->selectedNode()) continue;
    const QPointF at = from.onScreen(here) - from.middle();
    const double part = std::max(std::abs(at.x()) / std::max(1, from.width()),
                                 std::abs(at.y()) / std::max(1, from.height()));  // 0.5: at the edge
    lead = std::clamp(4 * (0.5 - part), 0.0, 1.0);
    chosen = way;
  }
  if (weights == 0) return scenePoint;
  return scenePoint + chosen * lead + sum / weights * (1 - lead);
}

void GraphPair::moveAlong(GraphCanvas& from, GraphCanvas& to) {
  if (isMoving_ || isFollowing_ || !isOtherShown() || !from.graph() || !to.graph()) return;
  isMoving_ = true;
  if (from.isFitted()) {
    const double both = std::min(from.fitScale(), to.fitScale());
    from.fit(both);
    to.fit(both);
  } else {
    to.showAt(from.scale(), counterpart(from, from.toScene(from.middle())));
  }
  isMoving_ = false;
}

}  // namespace dyn::ui
