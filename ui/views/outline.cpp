#include "ui/views/outline.h"

#include <QHeaderView>
#include <QScopedValueRollback>

#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"
#include "ui/graph/graph_scene.h"
#include "ui/support/icons.h"

namespace dyn::ui {

namespace {

QString classOf(const GraphNode& node) {
  return node.kind == NodeKind::input    ? "input"
         : node.kind == NodeKind::output ? "output"
                                         : QString::fromStdString(node.opClass);
}

}  // namespace

int OutlineModel::add(Item item) {
  const int number = static_cast<int>(items_.size());
  Item& parent = items_[static_cast<size_t>(item.parent)];
  item.row = static_cast<int>(parent.children.size());
  parent.children.push_back(number);
  items_.push_back(std::move(item));
  return number;
}

// Groups stand where their first operation does.
void OutlineModel::show(Shared<GraphView> view, const std::vector<int>* only) {
  beginResetModel();
  view_ = std::move(view);
  items_.assign(1, {});
  itemOfNode_.clear();
  std::vector<int> itemOfGroup(view_ ? view_->groups.size() : 0, -1);
  const auto groupItem = [&](int group, auto&& self) -> int {
    if (group < 0) return 0;
    int& item = itemOfGroup[static_cast<size_t>(group)];
    if (item < 0) {
      const int parent = self(view_->groups[static_cast<size_t>(group)].parent, self);
      item = add({.group = group, .parent = parent});
    }
    return item;
  };
  const auto addNode = [&](int node, int parent) {
    itemOfNode_[view_->nodes[static_cast<size_t>(node)].id] = add({.node = node, .parent = parent});
  };
  if (only && view_) {
    for (int node : *only) addNode(node, 0);
  } else if (view_) {
    for (size_t n = 0; n < view_->nodes.size(); ++n)
      if (view_->nodes[n].kind != NodeKind::constant)
        addNode(static_cast<int>(n), groupItem(view_->nodes[n].group, groupItem));
  }
  endResetModel();
}

NodeId OutlineModel::idOf(const QModelIndex& index) const {
  const int node = index.isValid() ? itemOf(index).node : -1;
  return node < 0 ? kNoNode : view_->nodes[static_cast<size_t>(node)].id;
}

QModelIndex OutlineModel::indexOf(NodeId node) const {
  const auto item = itemOfNode_.find(node);
  return item == itemOfNode_.end() ? QModelIndex()
                                   : createIndex(items_[static_cast<size_t>(item->second)].row, 0,
                                                 static_cast<quintptr>(item->second));
}

QModelIndex OutlineModel::index(int row, int column, const QModelIndex& parent) const {
  const std::vector<int>& children = itemOf(parent).children;
  if (row < 0 || static_cast<size_t>(row) >= children.size() || column < 0 || column >= 3) return {};
  return createIndex(row, column, static_cast<quintptr>(children[static_cast<size_t>(row)]));
}

QModelIndex OutlineModel::parent(const QModelIndex& index) const {
  const int parent = itemOf(index).parent;
  if (!index.isValid() || parent == 0) return {};
  return createIndex(items_[static_cast<size_t>(parent)].row, 0, static_cast<quintptr>(parent));
}

int OutlineModel::rowCount(const QModelIndex& parent) const {
  return parent.column() > 0 ? 0 : static_cast<int>(itemOf(parent).children.size());
}

QVariant OutlineModel::data(const QModelIndex& index, int role) const {
  const bool isIcon = role == Qt::DecorationRole && index.column() == 0;
  if (!index.isValid() || (role != Qt::DisplayRole && role != Qt::ToolTipRole && !isIcon)) return {};
  const Item& item = itemOf(index);
  if (isIcon) {
    const QString opClass =
        item.group >= 0 ? QString("group") : classOf(view_->nodes[static_cast<size_t>(item.node)]);
    return icon(iconOfClass(opClass), categoryOfClass(opClass));
  }
  if (item.group >= 0) {
    const GraphGroup& group = view_->groups[static_cast<size_t>(item.group)];
    return index.column() == 0 ? QVariant(QString::fromStdString(group.label)) : QVariant();
  }
  const GraphNode& node = view_->nodes[static_cast<size_t>(item.node)];
  if (role == Qt::ToolTipRole) return QString::fromStdString(node.text);
  if (index.column() == 0) return QString::fromStdString(node.label.empty() ? node.op : node.label);
  if (index.column() == 1) return QString::fromStdString(node.name);
  const std::vector<GraphPort>& ports = node.outputs.empty() ? node.inputs : node.outputs;
  return ports.empty() ? QVariant() : QVariant(shortType(ports[0].type));
}

QVariant OutlineModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  return section == 0 ? "Operation" : section == 1 ? "Value" : "Type";
}

Outline::Outline(const QString& name, const QString& accessibleName) : model_(new OutlineModel(this)) {
  setObjectName(name);
  setAccessibleName(accessibleName);
  setModel(model_);
  setUniformRowHeights(true);
  setSelectionBehavior(QAbstractItemView::SelectRows);
  setAlternatingRowColors(true);
  setFrameStyle(QFrame::NoFrame);
  setTextElideMode(Qt::ElideMiddle);  // what tells names apart stands at their end
  header()->setStretchLastSection(true);
  header()->resizeSection(0, 150);
  connect(selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& index) {
    const NodeId node = model_->idOf(index);
    if (node != kNoNode && !choosing_) Q_EMIT nodeChosen(node);
  });
}

void Outline::show(Shared<GraphView> view, const std::vector<int>* only) {
  const QScopedValueRollback<bool> quiet(choosing_, true);
  model_->show(std::move(view), only);
  setRootIsDecorated(!only);
}

void Outline::choose(NodeId node) {
  const QScopedValueRollback<bool> quiet(choosing_, true);
  const QModelIndex index = model_->indexOf(node);
  if (index.isValid() && index == currentIndex()) return;
  setCurrentIndex(index);
  if (index.isValid()) scrollTo(index);
}

}  // namespace dyn::ui
