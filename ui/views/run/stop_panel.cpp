#include "ui/views/run/stop_panel.h"

#include <QAction>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QSplitter>
#include <QTableWidget>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <map>

#include "app/engine/run/run_result.h"
#include "app/session/views/stop_views.h"
#include "ui/graph/graph_scene.h"
#include "ui/support/short_name.h"
#include "ui/support/theme.h"
#include "ui/views/table.h"

namespace dyn::ui {

namespace {

constexpr const char* kNoStop = "No run is stopped: F5 starts one.";

// Tensors, then dims of the inputs, then what else is counted.
std::vector<const StopView::Register*> inOrder(const std::vector<StopView::Register>& registers) {
  std::vector<const StopView::Register*> rows;
  for (const StopView::Register& held : registers) rows.push_back(&held);
  const auto rank = [](const StopView::Register* held) {
    return !held->type.empty() ? 0 : !held->dims.empty() ? 1 : 2;
  };
  std::stable_sort(rows.begin(), rows.end(), [&](auto* a, auto* b) { return rank(a) < rank(b); });
  return rows;
}

// "f32[2, 3] [[0.5, ...": the type has a column of its own.
QString elementsOf(const StopView::Register& held) {
  const QString text = QString::fromStdString(held.value);
  const qsizetype end = held.type.empty() ? -1 : text.indexOf("] ");
  return end < 0 ? text : text.mid(end + 2).simplified();
}

void setRow(QTableWidget* table, int row, const QStringList& cells) {
  for (int column = 0; column < cells.size(); ++column) setCell(table, row, column, cells[column]);
}

}  // namespace

StopPanel::StopPanel(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(4, 4, 4, 4);
  buttons_ = new QHBoxLayout;
  buttons_->setSpacing(2);
  buttons_->addStretch(1);
  column->addLayout(buttons_);
  title_ = new QLabel(kNoStop);
  title_->setObjectName("stopTitle");
  title_->setWordWrap(true);
  title_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  column->addWidget(title_);
  auto* parts = new QSplitter(Qt::Vertical);
  registers_ = makeTable("registers", {"Register", "Value", "Type"});
  registers_->setAccessibleName("Registers of the stopped run");
  setEmptyText(registers_, "Of a run that is stopped: sizes, and tensors with their first elements.");
  points_ = makeTable("breakpoints", {"No.", "Hits", "Stops at", "Where"});
  points_->setAccessibleName("Breakpoints");
  points_->setToolTip("A double click deletes a breakpoint");
  setEmptyText(points_, "F9 sets a breakpoint at the selected operation.");
  for (QTableWidget* table : {registers_, points_}) {
    table->setMinimumHeight(50);
    table->horizontalHeader()->setStretchLastSection(true);
    fitColumns(table);
    parts->addWidget(table);
  }
  parts->setSizes({400, 110});
  parts->setStretchFactor(0, 1);
  column->addWidget(parts, 1);
  connect(registers_, &QTableWidget::cellActivated, this, [this](int row, int) {
    const QString name = registers_->item(row, 0)->text();
    if (name.startsWith('v')) Q_EMIT tensorWanted("$" + name);
  });
  connect(registers_, &QTableWidget::cellDoubleClicked, registers_, &QTableWidget::cellActivated);
  connect(points_, &QTableWidget::cellDoubleClicked, this, [this](int row, int) {
    if (static_cast<size_t>(row) < breakpoints_.size())
      Q_EMIT breakpointDropped(breakpoints_[static_cast<size_t>(row)].number);
  });
  registers_->setContextMenuPolicy(Qt::CustomContextMenu);
  connect(registers_, &QTableWidget::customContextMenuRequested, this, &StopPanel::showMenu);
}

// Of a register: what can be looked at, what can be waited for.
void StopPanel::showMenu(const QPoint& at) {
  const int row = registers_->rowAt(at.y());
  if (row < 0 || !stop_) return;
  const QString name = registers_->item(row, 0)->text();
  QMenu menu;
  if (name.startsWith('v'))
    menu.addAction("Look at the tensor", this, [this, name] { Q_EMIT tensorWanted("$" + name); });
  else
    menu.addAction("Stop when it changes", this, [this, name] { Q_EMIT watchWanted(name); });
  menu.addSeparator();
  menu.addActions(registers_->actions());
  menu.exec(registers_->viewport()->mapToGlobal(at));
}

void StopPanel::addActions(const QList<QAction*>& actions) {
  for (QAction* action : actions) {
    auto* button = new QToolButton;
    button->setDefaultAction(action);
    button->setAutoRaise(true);
    buttons_->insertWidget(buttons_->count() - 1, button);
  }
}

void StopPanel::clear() {
  stop_ = nullptr;
  title_->setText(kNoStop);
  registers_->setRowCount(0);
}

void StopPanel::clearBreakpoints() {
  breakpoints_.clear();
  points_->setRowCount(0);
}

int StopPanel::breakpointAt(int line) const {
  for (const BreakpointTable::Row& row : breakpoints_)
    for (const uint32_t at : row.lines)
      if (static_cast<int>(at) == line) return row.number;
  return 0;
}

void StopPanel::take(const Outcome& outcome) {
  if (auto stop = outcome.share<StopView>()) {
    stop_ = stop->ended ? nullptr : stop;
    stop->ended ? showResult(*stop) : showStop(*stop);
    showBreakpoints(stop->breakpoints);
  }
  if (outcome.command.id == CommandId::kill && !outcome.error) clear();
  if (const auto* table = outcome.as<BreakpointTable>()) showBreakpoints(*table);
}

void StopPanel::showBreakpoints(const BreakpointTable& table) {
  breakpoints_ = table.rows;
  points_->setRowCount(0);
  points_->setRowCount(static_cast<int>(breakpoints_.size() + table.watched.size()));
  for (int r = 0; r < static_cast<int>(breakpoints_.size()); ++r) {
    const BreakpointTable::Row& row = breakpoints_[static_cast<size_t>(r)];
    setRow(points_, r,
           {QString::number(row.number), QString::number(row.hits), QString::fromStdString(row.what),
            nodeOfPlace(row.where)});
  }
  for (size_t i = 0; i < table.watched.size(); ++i)
    setRow(points_, static_cast<int>(breakpoints_.size() + i),
           {"", "", "a change of " + QString::fromStdString(table.watched[i]), ""});
  fitColumns(points_);
}

void StopPanel::showStop(const StopView& stop) {
  title_->setText("<b>" + html(stop.why) + "</b>, in " + html(stop.function) + " at " +
                  QString::number(stop.position) + "<br><code>" + html(stop.instruction) + "</code><br>" +
                  nodeOfPlace(stop.place).toHtmlEscaped());
  // What is new since the stop before is bold.
  std::map<QString, QString> before;
  for (int r = 0; r < registers_->rowCount(); ++r)
    before[registers_->item(r, 0)->text()] = registers_->item(r, 1)->text();
  registers_->setRowCount(0);
  registers_->setRowCount(static_cast<int>(stop.registers.size()));
  const std::vector<const StopView::Register*> rows = inOrder(stop.registers);
  for (int r = 0; r < registers_->rowCount(); ++r) {
    const StopView::Register& held = *rows[static_cast<size_t>(r)];
    const QString name = QString::fromStdString(held.name), value = elementsOf(held);
    const QString type = held.type.empty() ? QString::fromStdString(held.dims) : shortType(held.type);
    setRow(registers_, r, {name, value, type});
    const auto was = before.find(name);
    if (before.empty() || (was != before.end() && was->second == value)) continue;
    QFont font = registers_->font();
    font.setBold(true);
    registers_->item(r, 1)->setFont(font);
  }
  fitColumns(registers_);
  constexpr int kWidest = 190;
  registers_->setColumnWidth(1, std::min(registers_->columnWidth(1), kWidest));
}

void StopPanel::showResult(const StopView& stop) {
  title_->setText("<b>" + html(stop.why) + "</b>");
  registers_->setRowCount(0);
  if (!stop.result) return;
  const std::vector<NamedValue>& outputs = stop.result->outputs;
  registers_->setRowCount(static_cast<int>(outputs.size()));
  for (int r = 0; r < registers_->rowCount(); ++r) {
    const NamedValue& output = outputs[static_cast<size_t>(r)];
    setRow(registers_, r, {QString::fromStdString(output.name), "", shortType(output.type)});
  }
  fitColumns(registers_);
}

}  // namespace dyn::ui
