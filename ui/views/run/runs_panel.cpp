#include "ui/views/run/runs_panel.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QTableWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "app/engine/run/run_record.h"
#include "app/session/views/run_views.h"
#include "app/session/views/view_text.h"
#include "ui/support/theme.h"
#include "ui/support/why_grey.h"
#include "ui/views/table.h"

namespace dyn::ui {

namespace {

constexpr const char* kNoRun = "Choose a run in the list first.";

enum RunsColumn {
  kRun,
  kMark,
  kMedian,
  kSpread,
  kPeak,
  kRunSizes,
  kPipeline,
  kModel,
  kCount,
  kThreads,
  kRunInputs,
  kFrom
};

QString fileNameOf(const std::string& path) {
  return QString::fromStdString(path.substr(path.rfind('/') + 1));
}

QString orElse(const std::string& text, const char* other) {
  return text.empty() ? QString(other) : QString::fromStdString(text);
}

}  // namespace

RunsPanel::RunsPanel(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(4, 4, 4, 4);
  auto* row = new QHBoxLayout;
  title_ = new QLabel("Runs are listed here, of all models and pipelines.");
  title_->setObjectName("runsTitle");
  row->addWidget(title_, 1);
  const auto button = [&](const QString& text, const char* name, const QString& tip) {
    auto* made = new QPushButton(text);
    made->setObjectName(name);
    made->setToolTip(tip);
    enableUnless(made, kNoRun);
    row->addWidget(made);
    return made;
  };
  pin_ = button("Pin as baseline", "pinRun", "Later runs are compared with the chosen one (:runs pin)");
  drop_ = button("Remove", "dropRun", "Remove the chosen run from the list (:runs drop)");
  compare_ = button("Compare", "compareChecked",
                    "The two checked runs; else the baseline and the last run; else the last two (:compare)");
  column->addLayout(row);
  table_ = makeTable("runs", {"Run", "", "Median", "Spread", "Peak", "Sizes", "Pipeline", "Model",
                              "Times run", "Threads", "Inputs", "From"});
  table_->setAccessibleName("Runs of this session");
  setEmptyText(table_, "No run yet. Each is kept here, and two of them can be compared.");
  column->addWidget(table_, 1);
  connect(table_, &QTableWidget::itemChanged, this, [this](const QTableWidgetItem* item) {
    if (item->column() != kRun) return;
    Q_EMIT asked(Command::of(CommandId::runs)
                     .add("action", item->checkState() == Qt::Checked ? "check" : "uncheck")
                     .add("number", std::to_string(item->data(Qt::UserRole).toLongLong())));
  });
  connect(table_, &QTableWidget::currentCellChanged, this, [this] { updateButtons(); });
  connect(pin_, &QPushButton::clicked, this, [this] {
    const int64_t number = currentNumber();
    Command command = Command::of(CommandId::runs).add("action", isBaseline(number) ? "unpin" : "pin");
    if (!isBaseline(number)) command.add("number", std::to_string(number));
    Q_EMIT asked(command);
  });
  connect(drop_, &QPushButton::clicked, this, [this] {
    Q_EMIT asked(
        Command::of(CommandId::runs).add("action", "drop").add("number", std::to_string(currentNumber())));
  });
  connect(compare_, &QPushButton::clicked, this, &RunsPanel::compareWanted);
}

int64_t RunsPanel::currentNumber() const {
  const QTableWidgetItem* item =
      table_->currentRow() < 0 ? nullptr : table_->item(table_->currentRow(), kRun);
  return item ? item->data(Qt::UserRole).toLongLong() : 0;
}

bool RunsPanel::isBaseline(int64_t number) const {
  return runs_ && std::any_of(runs_->rows.begin(), runs_->rows.end(),
                              [&](const RunRecord& run) { return run.isBaseline && run.number == number; });
}

void RunsPanel::updateButtons() {
  const int64_t number = currentNumber();
  enableUnless(pin_, number > 0 ? "" : kNoRun);
  pin_->setText(isBaseline(number) ? "Unpin the baseline" : "Pin as baseline");
  enableUnless(drop_, number > 0 ? "" : kNoRun);
  enableUnless(compare_, canCompare() ? "" : "Two runs are needed.");
}

QString RunsPanel::summary() const {
  QString text = QString::fromStdString(countText(static_cast<int64_t>(runs_->rows.size()), "run"));
  if (runs_->forgottenCount > 0)
    text += QString(", %1 older ones are no longer listed").arg(runs_->forgottenCount);
  if (checked_.size() == 1) return text + "; check another one to compare the two";
  if (checked_.size() == 2)
    return text + QString("; compared: run %1 and run %2").arg(checked_[0]).arg(checked_[1]);
  return text + (checked_.empty() ? "; check two to compare them" : "; two are compared, not more");
}

void RunsPanel::showRuns(Shared<RunList> runs) {
  const int64_t current = currentNumber();
  runs_ = std::move(runs);
  std::vector<int64_t> checked;
  const QSignalBlocker quiet(table_);
  table_->setRowCount(0);
  table_->setRowCount(static_cast<int>(runs_->rows.size()));
  for (int r = 0; r < table_->rowCount(); ++r) {
    const RunRecord& run = runs_->rows[runs_->rows.size() - 1 - static_cast<size_t>(r)];
    setCell(table_, r, kRun, QString::number(run.number));
    QTableWidgetItem* number = table_->item(r, kRun);
    number->setData(Qt::UserRole, static_cast<qlonglong>(run.number));
    number->setFlags(number->flags() | Qt::ItemIsUserCheckable);
    number->setCheckState(run.isChecked ? Qt::Checked : Qt::Unchecked);
    setCell(table_, r, kMark, run.isBaseline ? "baseline" : "");
    setCell(table_, r, kModel, fileNameOf(run.model));
    setCell(table_, r, kPipeline, orElse(run.pipeline, "standard"));
    setCell(table_, r, kRunSizes, QString::fromStdString(sizesText(run)));
    setCell(table_, r, kRunInputs, orElse(run.inputs, "not known"));
    setCell(table_, r, kThreads, run.threads > 0 ? QString::number(run.threads) : "", CellAlignment::right);
    setCell(table_, r, kCount, QString::number(run.time.count), CellAlignment::right);
    setCell(table_, r, kMedian, timeText(run.time.medianNs), CellAlignment::right);
    const std::optional<double> spread = run.time.spreadShare();
    setCell(table_, r, kSpread, spread ? QString::number(100 * *spread, 'f', 1) + " %" : "",
            CellAlignment::right);
    setCell(table_, r, kPeak, bytesText(run.peakBytes), CellAlignment::right);
    setCell(table_, r, kFrom, run.from.empty() ? "here" : fileNameOf(run.from));
    const QString tip =
        QString("%1\non %2, %3\nsettings: %4")
            .arg(QString::fromStdString(run.model), orElse(run.machine, "a machine not known"),
                 orElse(run.device, "a device not known"), orElse(run.settings, "default"));
    number->setToolTip(tip);
    table_->item(r, kModel)->setToolTip(tip);
    if (run.isChecked) checked.push_back(run.number);
    if (run.number == current) table_->setCurrentCell(r, kRun);
  }
  fitColumns(table_);
  std::reverse(checked.begin(), checked.end());
  const bool changed = checked != checked_;
  checked_ = std::move(checked);
  title_->setText(summary());
  updateButtons();
  if (changed) Q_EMIT pairChecked(checked_.size() == 2);
}

}  // namespace dyn::ui
