// RowsPanel: the trees of a run (tree_canvas.h), their levels, the sequences of a run, and the caches of a
// decoder over its runs (rows_canvas.h); which of them, a list chooses.
#pragma once

#include <QWidget>

#include "app/engine/run/level_loops.h"
#include "app/session/session.h"
#include "ui/views/run/rows_canvas.h"
#include "ui/views/run/tree_canvas.h"

class QComboBox;
class QLabel;

namespace dyn::ui {

class RowsPanel : public QWidget {
  Q_OBJECT
 public:
  explicit RowsPanel(QWidget* parent = nullptr);

  void clear();
  void say(const QString& why);               // there is nothing to show
  void setLevels(Shared<LevelsView> levels);  // null: the run has none
  void setTrees(std::vector<NodeTrees> trees);
  void setCaches(std::vector<GrownCaches> caches);
  bool isEmpty() const { return !levels_ && caches_.empty() && trees_.empty(); }
  TreeCanvas* tree() const { return tree_; }
  RowsCanvas* canvas() const { return canvas_; }
  QComboBox* choice() const { return choice_; }
  QString summary() const;

 Q_SIGNALS:
  void placeChosen(const QString& place);

 private:
  void fill();
  void show(int index);
  void showTree(int index);

  Shared<LevelsView> levels_;
  std::vector<GrownCaches> caches_;
  std::vector<NodeTrees> trees_;
  QString why_;  // there is nothing to show
  QComboBox* choice_ = nullptr;
  QLabel* summary_ = nullptr;
  TreeCanvas* tree_ = nullptr;
  RowsCanvas* canvas_ = nullptr;
};

}  // namespace dyn::ui
