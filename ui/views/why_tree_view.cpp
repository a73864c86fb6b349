#include "ui/views/why_tree_view.h"

#include <QRegularExpression>

#include "app/session/views/node_id.h"
#include "app/session/views/why_views.h"
#include "ui/support/short_name.h"

namespace dyn::ui {

namespace {
constexpr int kNode = Qt::UserRole, kAsk = Qt::UserRole + 1;

// "A = B (rule of add at node N (Add, opset 17))": A, and add. B is what the next line is about.
QRegularExpressionMatch ruleOf(const QString& line) {
  static const QRegularExpression rule("^(\\S+) = \\S+ \\(rule of (\\S+) at ");
  return rule.match(line);
}

// "": another line.
QString valueOf(const QString& line) { return ruleOf(line).captured(1); }

// What the names of nodes begin with.
QString prefixOf(const std::vector<WhyStep>& tree) {
  QStringList names;
  const auto add = [&](const std::string& text) {
    if (const QString name = valueOf(QString::fromStdString(text)); name.startsWith('/')) names << name;
  };
  for (const WhyStep& step : tree) {
    add(step.text);
    for (const std::string& line : step.folded) add(line);
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

// Short enough to be told apart; the whole line is in the tooltip.
QTreeWidgetItem* itemOf(const std::string& text, const QString& prefix) {
  const QString line = QString::fromStdString(text);
  QString shown = valueOf(line);
  if (shown.startsWith(prefix)) shown = shown.mid(prefix.size());
  shown.remove("_output_0");  // what exporters add to the name of a node
  if (!shown.isEmpty()) shown = abbreviated(shown) + " (" + ruleOf(line).captured(2) + ")";
  auto* item = new QTreeWidgetItem({shown.isEmpty() ? line : shown});
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
    QTreeWidgetItem* item = itemOf(step.text, prefix);
    if (step.node != kNoNode) item->setData(0, kNode, static_cast<qulonglong>(step.node));
    item->setData(0, kAsk, QString::fromStdString(step.ask));
    for (const std::string& line : step.folded) item->addChild(itemOf(line, prefix));
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
