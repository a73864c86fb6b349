// Outline: the graph as a tree of groups and operations, for the keyboard and for screen readers; and the
// operations that a search found, as a list.
#pragma once

#include <QAbstractItemModel>
#include <QTreeView>
#include <unordered_map>
#include <vector>

#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"
#include "app/session/views/view.h"

namespace dyn::ui {

class OutlineModel : public QAbstractItemModel {
  Q_OBJECT
 public:
  explicit OutlineModel(QObject* parent) : QAbstractItemModel(parent) {}
  // The view is kept. `only`: a flat list of these; null: the tree of all but constants.
  void show(Shared<GraphView> view, const std::vector<int>* only = nullptr);

  NodeId idOf(const QModelIndex& index) const;  // kNoNode: a group
  QModelIndex indexOf(NodeId node) const;       // invalid: not there

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& index) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex&) const override { return 3; }
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  struct Item {
    int node = -1, group = -1, parent = 0, row = 0;
    std::vector<int> children;
  };
  int add(Item item);
  const Item& itemOf(const QModelIndex& index) const {
    return items_[index.isValid() ? index.internalId() : 0];
  }

  Shared<GraphView> view_;
  std::vector<Item> items_ = std::vector<Item>(1);  // the first is the root
  std::unordered_map<NodeId, int> itemOfNode_;
};

class Outline : public QTreeView {
  Q_OBJECT
 public:
  Outline(const QString& name, const QString& accessibleName);
  void show(Shared<GraphView> view, const std::vector<int>* only = nullptr);
  void choose(NodeId node);  // without telling

 Q_SIGNALS:
  // By id: the graph of this list may be another than the one that is on the canvas by now.
  void nodeChosen(quint64 node);

 private:
  OutlineModel* model_;
  bool choosing_ = false;
};

}  // namespace dyn::ui
