#include "ui/graph/graph_pair.h"

#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>
#include <unordered_map>

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
      follow(*shown_, *other_);
      Q_EMIT otherReady();
    });
    connect(other_, &GraphCanvas::nodeSelected, this, [this] { follow(*other_, *shown_); });
    connect(shown_, &GraphCanvas::lookChanged, this, [this] { other_->setLook(shown_->look()); });
    connect(shown_, &GraphCanvas::heatChanged, this, [this] { other_->takeHeatOf(*shown_); });
  }
  if (!other_) return;
  shownTitle_->setVisible(both);
  otherTitle_->setVisible(both);
  const bool came = both && otherPart_->isHidden();
  otherPart_->setVisible(both);
  if (!both) {
    other_->setCompared(nullptr);
    other_->setGraph(nullptr, false);
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
  other_->setCompared(shown_->graph());
  follow(*shown_, *other_);
}

// The same operation there; one that is not in it leaves the other graph as it is, without a choice.
void GraphPair::follow(GraphCanvas& from, GraphCanvas& to) {
  if (isFollowing_ || !isOtherShown()) return;
  isFollowing_ = true;
  if (from.selectedId() == kNoNode || !to.revealId(from.selectedId())) to.select(-1);
  isFollowing_ = false;
}

}  // namespace dyn::ui
