// RunsPanel: the runs of the session, of all models and pipelines, the newest first: each can be checked, one
// of them pinned as the baseline, and two compared.
#pragma once

#include <QWidget>

#include "app/session/session.h"
#include "app/session/views/run_views.h"

class QLabel;
class QPushButton;
class QTableWidget;

namespace dyn::ui {

class RunsPanel : public QWidget {
  Q_OBJECT
 public:
  explicit RunsPanel(QWidget* parent = nullptr);

  void showRuns(Shared<RunList> runs);
  const RunList* runs() const { return runs_.get(); }  // null: none were listed
  QTableWidget* table() const { return table_; }
  bool canCompare() const { return runs_ && runs_->rows.size() >= 2; }

 Q_SIGNALS:
  void asked(const Command& command);
  void compareWanted();           // of the two that are checked, or of the baseline and the last one
  void pairChecked(bool isPair);  // whether exactly two are checked now; told when the marks changed

 private:
  int64_t currentNumber() const;  // 0: none is chosen
  bool isBaseline(int64_t number) const;
  void updateButtons();
  QString summary() const;

  Shared<RunList> runs_;
  std::vector<int64_t> checked_;
  QLabel* title_ = nullptr;
  QTableWidget* table_ = nullptr;
  QPushButton *pin_ = nullptr, *drop_ = nullptr, *compare_ = nullptr;
};

}  // namespace dyn::ui
