#include "ui/views/run/rows_panel.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>

#include "app/engine/run/level_loops.h"
#include "ui/graph/graph_scene.h"
#include "ui/support/short_name.h"

namespace dyn::ui {

namespace {

QString counted(int64_t count, const char* one, const char* many) {
  return groupedText(count) + " " + (count == 1 ? one : many);
}

// Of a place of the model the node alone, where it has one.
QString shortPlace(const std::string& place) {
  const QString text = QString::fromStdString(place), node = nodeOfPlace(text);
  return node == text ? text.section('/', -1) : node;
}

QString summaryOf(const LevelLoop& loop) {
  const auto levels = static_cast<int64_t>(loop.nodes.size());
  QString text = counted(loop.nodesCount(), "node", "nodes") + " in " + counted(levels, "level", "levels");
  if (!loop.timesNs.empty()) text += ", " + timeText(loop.timeNs());
  text += ", the widest " + groupedText(loop.widest());
  if (!loop.takenBytes.empty()) text += "; a level takes up to " + bytesText(loop.mostBytes());
  if (!loop.oneByOne.empty()) text += "; one by one: " + QString::fromStdString(loop.oneByOne);
  return text;
}

QString summaryOf(const NodeTrees& trees) {
  return counted(trees.allNodes, "node", "nodes") + " of " + QString::fromStdString(trees.input) + ", " +
         counted(trees.levelsCount(), "level", "levels") + " above the leaves";
}

QString summaryOf(const SequenceRows& rows) {
  const auto sequences = static_cast<int64_t>(rows.lengths.size());
  return counted(sequences, "sequence", "sequences") + ", " + counted(rows.sum(), "row", "rows") +
         ", the longest " + groupedText(rows.longest()) +
         QString(rows.isComputedPadded ? "; padding is %1 % of what is computed"
                                       : "; %1 % of a padded batch is left out")
             .arg(100 * rows.paddingShare(), 0, 'f', 1);
}

QString summaryOf(const GrownCaches& caches) {
  const GrownCaches::Run& last = caches.runs.back();
  return QString::fromUtf8("%1, %2 → %3; run %4: %5 → %6")
      .arg(counted(caches.count, "cache", "caches"), QString::fromStdString(caches.from),
           QString::fromStdString(caches.to), groupedText(last.number), bytesText(last.bytesBefore),
           bytesText(last.bytesAfter));
}

}  // namespace

RowsPanel::RowsPanel(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(4, 4, 4, 4);
  auto* row = new QHBoxLayout;
  choice_ = new QComboBox;
  choice_->setObjectName("rowsChoice");
  choice_->setAccessibleName("Show a loop over levels, or a value with sequences");
  choice_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  summary_ = new QLabel;
  summary_->setObjectName("rowsSummary");
  summary_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  row->addWidget(choice_);
  row->addWidget(summary_, 1);
  column->addLayout(row);
  auto* sides = new QSplitter(Qt::Horizontal);
  sides->setChildrenCollapsible(false);
  tree_ = new TreeCanvas;
  tree_->hide();
  canvas_ = new RowsCanvas;
  sides->addWidget(tree_);
  sides->addWidget(canvas_);
  sides->setStretchFactor(0, 3);
  sides->setStretchFactor(1, 2);
  column->addWidget(sides, 1);
  // Rows of the levels begin above the leaves.
  connect(tree_, &TreeCanvas::levelChosen, this, [this](int level) {
    canvas_->mark(level > 0 ? std::optional(static_cast<size_t>(level) - 1) : std::nullopt);
  });
  connect(choice_, &QComboBox::currentIndexChanged, this, &RowsPanel::show);
  connect(canvas_, &RowsCanvas::rowChosen, this, [this](qint64 row) {
    const auto at = static_cast<size_t>(choice_->currentIndex());
    if (tree_->isVisible()) tree_->chooseLevel(static_cast<uint32_t>(row) + 1);
    if (levels_ && at < levels_->loops.size())
      Q_EMIT placeChosen(QString::fromStdString(levels_->loops[at].place));
  });
  clear();
}

QString RowsPanel::summary() const { return summary_->text(); }

void RowsPanel::clear() {
  caches_.clear();
  trees_.clear();
  setLevels(nullptr);
}

void RowsPanel::say(const QString& why) {
  why_ = why;
  if (isEmpty()) canvas_->clear(why);
}

void RowsPanel::setLevels(Shared<LevelsView> levels) {
  levels_ = std::move(levels);
  why_.clear();
  fill();
}

void RowsPanel::setTrees(std::vector<NodeTrees> trees) {
  trees_ = std::move(trees);
  fill();
}

void RowsPanel::setCaches(std::vector<GrownCaches> caches) {
  caches_ = std::move(caches);
  fill();
}

void RowsPanel::fill() {
  const QString before = choice_->currentText();
  {
    const QSignalBlocker quiet(choice_);
    choice_->clear();
    if (levels_) {
      for (const LevelLoop& loop : levels_->loops)
        choice_->addItem("@" + QString::fromStdString(loop.function) + ", " + shortPlace(loop.place));
      for (const SequenceRows& rows : levels_->sequences)
        choice_->addItem(QString::fromStdString(rows.value));
    }
    for (const GrownCaches& caches : caches_) choice_->addItem(caches.name);
    // Trees stand beside the loop over their levels; without one they are a choice of their own.
    if (!levels_ || levels_->loops.empty())
      for (const NodeTrees& trees : trees_) choice_->addItem(QString::fromStdString(trees.input));
    choice_->setVisible(choice_->count() > 0);
    if (const int same = choice_->findText(before); same >= 0) choice_->setCurrentIndex(same);
  }
  show(choice_->currentIndex());
}

// A loop over levels has the trees that have as many nodes at each level; others would be told wrongly.
void RowsPanel::showTree(int index) {
  const auto at = static_cast<size_t>(std::max(index, 0));
  const NodeTrees* shown = nullptr;
  if (levels_ && at < levels_->loops.size()) {
    const std::vector<int64_t>& nodes = levels_->loops[at].nodes;
    for (const NodeTrees& trees : trees_) {
      bool isSame = trees.levelsCount() == nodes.size();
      const bool isWhole = trees.allNodes == static_cast<int64_t>(trees.nodes.size());
      for (size_t level = 0; isSame && isWhole && level < nodes.size(); ++level)
        isSame = trees.nodesOfLevel(static_cast<uint32_t>(level) + 1) == nodes[level];
      if (isSame) shown = &trees;
    }
  } else if (const size_t before = (levels_ ? levels_->sequences.size() : 0) + caches_.size();
             (!levels_ || levels_->loops.empty()) && index >= 0 && at >= before &&
             at - before < trees_.size()) {
    shown = &trees_[at - before];
  }
  tree_->setVisible(shown != nullptr);
  if (shown) tree_->setTrees(*shown);
}

void RowsPanel::show(int index) {
  showTree(isEmpty() ? -1 : index);
  if (isEmpty() || index < 0) {
    summary_->clear();
    return why_.isEmpty() ? canvas_->clear() : canvas_->clear(why_);
  }
  const auto at = static_cast<size_t>(index);
  const size_t ofRun = levels_ ? levels_->loops.size() + levels_->sequences.size() : 0;
  if (at >= ofRun + caches_.size()) {
    summary_->setText(summaryOf(trees_[at - ofRun - caches_.size()]));
    return canvas_->clear(why_.isEmpty() ? QString("The run had no loop over the levels of these trees.")
                                         : why_);
  }
  if (at >= ofRun) {
    summary_->setText(summaryOf(caches_[at - ofRun]));
    return canvas_->setCaches(caches_[at - ofRun]);
  }
  if (at < levels_->loops.size()) {
    summary_->setText(summaryOf(levels_->loops[at]));
    return canvas_->setLoop(levels_->loops[at]);
  }
  const SequenceRows& rows = levels_->sequences[at - levels_->loops.size()];
  summary_->setText(summaryOf(rows));
  canvas_->setSequences(rows);
}

}  // namespace dyn::ui
