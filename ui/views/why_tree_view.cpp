#include "ui/views/why_tree_view.h"

#include <QRegularExpression>

#include "ui/support/short_name.h"

namespace dyn::ui {

namespace {
constexpr int kNode = Qt::UserRole, kAsk = Qt::UserRole + 1;

// "A = B (rule of add at node N (Add, opset 17))": B is what the next line is about, so that A tells enough.
// What all names begin with is left out. The whole line is in the tooltip.
QString shownOf(const QString& line, qsizetype prefix) {
  static const QRegularExpression rule("^(\\S+) = \\S+ \\(rule of \\S+ at ");
  const QRegularExpressionMatch match = rule.match(line);
  return match.hasMatch() ? match.captured(1).mid(prefix) : line;
}

QStringList namesOf(const std::vector<WhyStep>& tree) {
  QStringList names;
  const auto add = [&](const std::string& text) {
    const QString line = QString::fromStdString(text), name = shownOf(line, 0);
    if (name != line) names << name;
  };
  for (const WhyStep& step : tree) {
    add(step.text);
    for (const std::string& line : step.folded) add(line);
  }
  return names;
}

QTreeWidgetItem* itemOf(const std::string& text, qsizetype prefix) {
  const QString line = QString::fromStdString(text);
  auto* item = new QTreeWidgetItem({shownOf(line, prefix)});
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
  const qsizetype prefix = sharedPrefix(namesOf(tree));
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
