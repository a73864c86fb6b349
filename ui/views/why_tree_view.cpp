#include "ui/views/why_tree_view.h"

namespace dyn::ui {

namespace {
constexpr int kNode = Qt::UserRole, kAsk = Qt::UserRole + 1;
}

WhyTreeView::WhyTreeView(QWidget* parent) : QTreeWidget(parent) {
  setObjectName("whyTree");
  setAccessibleName("Where the dim comes from, step by step");
  setHeaderHidden(true);
  setColumnCount(1);
  setWordWrap(true);
  setTextElideMode(Qt::ElideMiddle);
  connect(this, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* item) {
    if (item && item->data(0, kNode).isValid()) Q_EMIT nodeChosen(item->data(0, kNode).toULongLong());
  });
  connect(this, &QTreeWidget::itemActivated, this, [this](QTreeWidgetItem* item) {
    const QString question = item->data(0, kAsk).toString();
    if (!question.isEmpty()) Q_EMIT asked(question);
  });
}

void WhyTreeView::showTree(const std::vector<WhyStep>& tree) {
  clear();
  setVisible(!tree.empty());
  std::vector<QTreeWidgetItem*> open;  // the last item of each depth
  for (const WhyStep& step : tree) {
    const size_t depth = std::min(static_cast<size_t>(step.depth), open.size());
    auto* item = new QTreeWidgetItem({QString::fromStdString(step.text)});
    item->setToolTip(0, QString::fromStdString(step.text));
    if (step.node != kNoNode) item->setData(0, kNode, static_cast<qulonglong>(step.node));
    item->setData(0, kAsk, QString::fromStdString(step.ask));
    for (const std::string& line : step.folded)
      item->addChild(new QTreeWidgetItem({QString::fromStdString(line)}));
    if (depth == 0)
      addTopLevelItem(item);
    else
      open[depth - 1]->addChild(item);
    open.resize(depth);
    open.push_back(item);
    item->setExpanded(step.folded.empty());
    if (depth > 0) open[depth - 1]->setExpanded(true);
  }
}

}  // namespace dyn::ui
