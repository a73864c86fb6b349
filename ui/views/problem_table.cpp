#include "ui/views/problem_table.h"

#include <QHeaderView>

#include "app/session/views/problem_views.h"
#include "ui/views/table.h"

namespace dyn::ui {

ProblemTable::ProblemTable() {
  prepareTable(this, "problems", {"Problem", "What to do", "Operator", "Place"});
  setEmptyText(this, "Nothing keeps this model from running.");
  connect(this, &QTableWidget::cellActivated, this, [this](int row, int) {
    const QString place = item(row, 0)->data(Qt::UserRole).toString();
    if (!place.isEmpty()) Q_EMIT placeChosen(place);
  });
}

void ProblemTable::showProblems(const ProblemList& list) {
  setRowCount(0);
  setRowCount(static_cast<int>(list.problems.size()));
  for (int r = 0; r < rowCount(); ++r) {
    const Diagnostic& problem = list.problems[static_cast<size_t>(r)];
    std::string notes;
    for (const std::string& note : problem.notes) notes += (notes.empty() ? "" : "; ") + note;
    setCell(this, r, 0, QString::fromStdString(problem.message));
    setCell(this, r, 1, QString::fromStdString(notes));
    setCell(this, r, 2, QString::fromStdString(problem.op));
    const std::string& node = problem.place.node;
    setCell(this, r, 3, QString::fromStdString(node.empty() ? problem.place.toString() : node));
    item(r, 0)->setData(Qt::UserRole, QString::fromStdString(problem.place.toString()));
    for (int column = 0; column < columnCount(); ++column)
      item(r, column)->setToolTip(QString::fromStdString(problem.toString()));
  }
  resizeColumnsToContents();
  constexpr int kWidest = 420;
  for (int column = 0; column < columnCount(); ++column)
    setColumnWidth(column, std::min(columnWidth(column), kWidest));
  horizontalHeader()->setStretchLastSection(true);
}

}  // namespace dyn::ui
