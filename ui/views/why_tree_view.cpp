#include "ui/views/why_tree_view.h"

#include <QRegularExpression>

#include "app/session/views/node_id.h"
#include "app/session/views/why_views.h"
#include "ui/support/short_name.h"

namespace dyn::ui {

namespace {
constexpr int kNode = Qt::UserRole, kAsk = Qt::UserRole + 1;

// What the names of nodes begin with, of the steps that show a name alone.
QString prefixOf(const std::vector<WhyStep>& tree) {
  QStringList names;
  const auto add = [&](const WhyStep& step) {
    if (!step.keptBy.empty() && step.ask.starts_with('/')) names << QString::fromStdString(step.ask);
  };
  for (const WhyStep& step : tree) {
    add(step);
    for (const WhyStep& one : step.folded) add(one);
  }
  return names.isEmpty() ? QString() : names.first().left(sharedPrefix(names));
}

// "encoder/layer.1/attention/output/Add" → "e/layer.1/a/o/Add": of parts without a number the first letter.
QString abbreviated(const QString& name) {
  static const QRegularExpression number("\\d");
  QStringList parts = name.split('/');
  for (qsizetype i = 0; i + 1 < parts.size(); ++i)
    if (!parts[i].contains(number)) parts[i] = parts[i].left(1);
  return parts.join('/');
}

// Short enough to be told apart; the whole line is in the tooltip. Of a step that hands the dim on, the name
// of the value is enough: the next line says what it hands on.
QTreeWidgetItem* itemOf(const WhyStep& step, const QString& prefix) {
  const QString line = QString::fromStdString(step.text);
  QString shown = line;
  if (!step.keptBy.empty()) {
    QString name = QString::fromStdString(step.ask);
    if (name.startsWith(prefix)) name = name.mid(prefix.size());
    name.remove("_output_0");  // what exporters add to the name of a node
    shown = abbreviated(name) + " (" + QString::fromStdString(step.keptBy) + ")";
  }
  auto* item = new QTreeWidgetItem({shown});
  item->setToolTip(0, line);
  return item;
}

}  // namespace

WhyTreeView::WhyTreeView(QWidget* parent) : QTreeWidget(parent) {
  setObjectName("whyTree");
  setAccessibleName("Where the dim comes from, step by step");
  setHeaderHidden(true);
  setColumnCount(1);
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
  const QString prefix = prefixOf(tree);
  std::vector<QTreeWidgetItem*> open;  // the last item of each depth
  for (const WhyStep& step : tree) {
    const size_t depth = std::min(static_cast<size_t>(step.depth), open.size());
    QTreeWidgetItem* item = itemOf(step, prefix);
    if (step.node != kNoNode) item->setData(0, kNode, static_cast<qulonglong>(step.node));
    item->setData(0, kAsk, QString::fromStdString(step.ask));
    for (const WhyStep& one : step.folded) item->addChild(itemOf(one, prefix));
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
