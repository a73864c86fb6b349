// WhyTreeView: the chain behind a dim as a tree that opens and closes. Steps that keep the dim are one row
// until it is opened. A row that is chosen shows its operation; a double click asks why of that step alone.
#pragma once

#include <QTreeWidget>

#include "app/session/views/why_views.h"

namespace dyn::ui {

class WhyTreeView : public QTreeWidget {
  Q_OBJECT
 public:
  explicit WhyTreeView(QWidget* parent = nullptr);
  void showTree(const std::vector<WhyStep>& tree);

 Q_SIGNALS:
  void nodeChosen(quint64 node);
  void asked(const QString& question);
};

}  // namespace dyn::ui
