// ProblemTable: all that keeps a model from being compiled, one row each. A double click, or Enter, leads to
// the operation.
#pragma once

#include <QTableWidget>

#include "app/session/views/problem_views.h"

namespace dyn::ui {

class ProblemTable : public QTableWidget {
  Q_OBJECT
 public:
  ProblemTable();
  void showProblems(const ProblemList& list);
  void clear() { setRowCount(0); }

 Q_SIGNALS:
  void placeChosen(const QString& place);
};

}  // namespace dyn::ui
