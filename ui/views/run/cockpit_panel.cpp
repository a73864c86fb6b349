#include "ui/views/run/cockpit_panel.h"

#include <QCheckBox>
#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpression>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <QSplitter>
#include <QTextBrowser>
#include <QUrl>
#include <QVBoxLayout>
#include <algorithm>

#include "app/engine/model/model_info.h"
#include "app/engine/run/run_result.h"
#include "app/session/views/memory_views.h"
#include "app/session/views/predict_views.h"
#include "app/session/views/why_views.h"
#include "ui/graph/graph_scene.h"
#include "ui/support/short_name.h"
#include "ui/support/theme_text.h"
#include "ui/views/run/variant_words.h"
#include "ui/views/table.h"

namespace dyn::ui {

namespace {

constexpr int kMostCockpitDim = 1 << 24, kUsualEnd = 256, kLeastColumn = 250, kWidestName = 180,
              kLeastSlidersHeight = 80, kMostSlidersHeight = 220;

QString checkText(const CheckRow& check) {
  return QString("<li><b>%1 fails</b>, %2 against %3: %4 <a href='why:%1'>why?</a></li>")
      .arg(html(check.name))
      .arg(check.left.value_or(0))
      .arg(check.right.value_or(0))
      .arg(html(check.text));
}

// "would take 45574144 bytes" → "would take 43.5 MiB"
QString inUnits(QString text) {
  static const QRegularExpression bytes("(\\d+) bytes");
  const QRegularExpressionMatch match = bytes.match(text);
  return match.hasMatch() ? text.replace(match.captured(0), bytesText(match.captured(1).toLongLong())) : text;
}

// Launches of one kernel with one bound are one row: "85 %  gemm × 72, memory".
QString sharesOf(const KernelTable& kernels) {
  struct Group {
    QString text;
    double share = 0;
    int64_t count = 0;
  };
  std::vector<Group> groups;
  for (const KernelRow& row : kernels.rows) {
    QString text = html(row.description.empty() ? row.name : row.description).left(60);
    if (!row.bound.empty()) text += ", bound by " + html(row.bound);
    const auto known =
        std::find_if(groups.begin(), groups.end(), [&](const Group& group) { return group.text == text; });
    Group& group = known == groups.end() ? groups.emplace_back(Group{text}) : *known;
    group.share += row.share;
    group.count += row.launchesCount;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.share > b.share; });
  constexpr size_t kMost = 5;
  constexpr double kLeast = 0.005;
  QString text;
  for (size_t i = 0; i < std::min(kMost, groups.size()) && groups[i].share >= kLeast; ++i)
    text += htmlRow(QString::number(100 * groups[i].share, 'f', 0) + " %",
                    groups[i].text + QString::fromUtf8(" × %1").arg(groups[i].count));
  return text;
}

// What runs at other sizes say of the time, where there are enough of them.
QString byRunsRow(const PredictView& view) {
  if (!view.byRuns) return {};
  return htmlRow("by runs", timeText(view.byRuns->ns) + ", from " + timeText(view.byRuns->lowNs) + " to " +
                                timeText(view.byRuns->highNs) +
                                (view.byRuns->outside.empty() ? QString() : QString(" (a guess)")));
}

// A run of these sizes, and how far it is from what was expected.
QString measuredBeside(const SweepView* sweep, const PredictView& view) {
  QString text;
  for (size_t i = 0; sweep && i < sweep->measured.size(); ++i) {
    const MeasuredRun& run = sweep->measured[i];
    if (run.dims != view.dims || view.timeNs <= 0) continue;
    const double ratio = static_cast<double>(run.timeNs) / static_cast<double>(view.timeNs);
    text = htmlRow("measured", timeText(run.timeNs) +
                                   QString::fromUtf8(", × %1 of what is expected").arg(ratio, 0, 'f', 1));
  }
  return text;  // of the last one
}

}  // namespace

CockpitPanel::CockpitPanel(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(4, 4, 4, 4);
  auto* halves = new QSplitter(Qt::Horizontal);
  sliderArea_ = new QWidget;
  sliders_ = new QGridLayout(sliderArea_);
  sliders_->setColumnStretch(1, 1);
  sliderScroll_ = new QScrollArea;
  sliderScroll_->setWidget(sliderArea_);
  sliderScroll_->setWidgetResizable(true);
  sliderScroll_->setFrameShape(QFrame::NoFrame);
  auto* left = parts_ = new QSplitter(Qt::Vertical);
  left->addWidget(sliderScroll_);
  summary_ = new QTextBrowser;
  followTheme(summary_);
  summary_->setObjectName("forecast");
  summary_->setAccessibleName("Predicted cost of a run with these sizes");
  summary_->setOpenLinks(false);
  left->addWidget(summary_);
  left->setStretchFactor(1, 1);
  left->setChildrenCollapsible(false);
  left->setMinimumWidth(kLeastColumn);
  halves->addWidget(left);
  halves->setChildrenCollapsible(false);
  auto* right = new QWidget;
  auto* rows = new QVBoxLayout(right);
  rows->setContentsMargins(0, 0, 0, 0);
  auto* choice = new QHBoxLayout;
  over_ = new QComboBox;
  over_->setObjectName("sweepDim");
  last_ = new QSpinBox;
  last_->setObjectName("sweepEnd");
  last_->setRange(2, kMostCockpitDim);
  last_->setValue(kUsualEnd);
  last_->setKeyboardTracking(false);
  choice->addWidget(new QLabel("Plot over"));
  choice->addWidget(over_);
  choice->addWidget(new QLabel("up to"));
  choice->addWidget(last_);
  choice->addStretch(1);
  rows->addLayout(choice);
  rows->addLayout(makeLimit());
  plot_ = new SweepPlot;
  rows->addWidget(plot_, 1);
  halves->addWidget(right);
  halves->setSizes({320, 700});
  column->addWidget(halves);
  connect(summary_, &QTextBrowser::anchorClicked, this, [this](const QUrl& link) {
    if (link.scheme() == "why") Q_EMIT whyAsked(link.path());
  });
  connect(over_, &QComboBox::currentTextChanged, this, [this] {
    plot_->setSweep(nullptr);
    refresh();
  });
  connect(last_, &QSpinBox::valueChanged, this, [this] {
    swept_.clear();
    refresh();
  });
  connect(plot_, &SweepPlot::limitChosen, this, &CockpitPanel::askLimit);
  connect(plot_, &SweepPlot::sizeChosen, this, [this](qint64 size) {
    const auto row = rows_.find(symbol());
    if (row != rows_.end()) row->second.box->setValue(static_cast<int>(size));
  });
}

// "within 512 MB, with the weights"
QHBoxLayout* CockpitPanel::makeLimit() {
  auto* row = new QHBoxLayout;
  auto* label = new QLabel("Largest within");
  limit_ = new QLineEdit;
  limit_->setObjectName("limitField");
  limit_->setAccessibleName("Memory that a run may take");
  limit_->setPlaceholderText("512 MB");
  limit_->setToolTip("How much memory a run may take: 512 MB, 1.5 GiB. Enter: the largest size that fits");
  limit_->setMaximumWidth(110);
  label->setBuddy(limit_);
  withWeights_ = new QCheckBox("with the weights");
  withWeights_->setObjectName("limitWithWeights");
  withWeights_->setChecked(true);
  withWeights_->setToolTip("The weights have to fit as well, as on a machine that runs nothing else");
  row->addWidget(label);
  row->addWidget(limit_);
  row->addWidget(withWeights_);
  row->addStretch(1);
  connect(limit_, &QLineEdit::returnPressed, this, &CockpitPanel::askWithinField);
  connect(withWeights_, &QCheckBox::toggled, this, [this] {
    if (!limit_->text().isEmpty()) askWithinField();
  });
  return row;
}

void CockpitPanel::askWithin(const QString& limit) {
  limit_->setText(limit);
  askWithinField();
}

void CockpitPanel::askWithinField() {
  const Result<int64_t> bytes = parseBytes(limit_->text().remove(' ').toStdString());
  if (!bytes.ok()) return plot_->setAnswer(QString::fromStdString(bytes.error().message));
  const int64_t weights = withWeights_->isChecked() ? weightsBytes_ : 0;
  if (weights >= *bytes) return plot_->setAnswer("the weights alone take " + bytesText(weights));
  askLimit(*bytes - weights);
  withinBytes_ = *bytes;
}

void CockpitPanel::setModel(const ModelInfo* model) {
  for (const auto& [name, row] : rows_) {
    delete row.slider;
    delete row.box;
  }
  qDeleteAll(sliderArea_->findChildren<QLabel*>());
  rows_.clear();
  values_.clear();
  swept_.clear();
  predicting_ = sweeping_ = stale_ = false;
  weightsBytes_ = model ? model->weightsBytes : 0;
  withWeights_->setVisible(weightsBytes_ > 0);
  limit_->clear();
  canAsk_ = model && model->problemsCount == 0 && model->kind != ModelKind::package;
  summary_->clear();
  plot_->setSweep(nullptr);
  const QSignalBlocker block(over_);
  over_->clear();
  if (!model) return;
  int index = 0;
  for (const std::string& symbol : model->symbols) makeRow(symbol, index++);
  sliders_->setRowStretch(index, 1);
  // A length says more than a number of examples.
  for (int i = 0; i < over_->count(); ++i)
    if (!over_->itemText(i).contains("batch")) {
      over_->setCurrentIndex(i);
      break;
    }
  if (model->symbols.empty()) summary_->setPlainText("All shapes of this model are fixed.");
  plot_->setAbsence(model->symbols.empty() ? "All shapes of this model are fixed." : "");
  // The rows are not yet shown, so that the layout does not count them.
  const QMargins margins = sliders_->contentsMargins();
  int rowsHeight = margins.top() + margins.bottom();
  for (const auto& [name, row] : rows_)
    rowsHeight += row.box->sizeHint().height() + sliders_->verticalSpacing();
  sliderScroll_->setMaximumHeight(rowsHeight);
  sliderScroll_->setMinimumHeight(std::min(rowsHeight, kLeastSlidersHeight));
  parts_->setSizes({std::min(rowsHeight, kMostSlidersHeight), std::max(height(), kMostSlidersHeight)});
}

void CockpitPanel::takeKeys() {
  if (rows_.empty()) return;
  QSpinBox* first = rows_.begin()->second.box;
  first->setFocus();
  first->selectAll();
}

void CockpitPanel::makeRow(const std::string& symbol, int index) {
  Row row;
  const QString name = QString::fromStdString(symbol);
  row.slider = new QSlider(Qt::Horizontal);
  row.slider->setObjectName("slider_" + name);
  row.slider->setAccessibleName(name);
  row.slider->setRange(1, kUsualEnd);
  row.box = new QSpinBox;
  row.box->setObjectName("size_" + name);
  row.box->setRange(0, kMostCockpitDim);
  auto* label = new QLabel(name);
  label->setBuddy(row.box);
  sliders_->addWidget(label, index, 0);
  sliders_->addWidget(row.slider, index, 1);
  sliders_->addWidget(row.box, index, 2);
  connect(row.slider, &QSlider::valueChanged, row.box, [box = row.box, slider = row.slider](int value) {
    const int step = std::max(1, box->singleStep());
    box->setValue(slider->maximum() == value ? value : value / step * step);
  });
  connect(row.box, &QSpinBox::valueChanged, this, [this, symbol, name](int value) {
    setDim(symbol, value);
    Q_EMIT dimMoved(name, value);
  });
  rows_[symbol] = row;
  over_->addItem(name);
}

void CockpitPanel::setDims(const DimsTable& dims) {
  for (const DimRow& row : dims.rows) {
    const auto found = rows_.find(row.symbol);
    if (found == rows_.end()) continue;
    const QSignalBlocker block(found->second.slider);
    const int low = static_cast<int>(std::clamp<int64_t>(row.low.value_or(1), 0, kMostCockpitDim));
    const int high = static_cast<int>(
        std::clamp<int64_t>(row.high.value_or(std::max(kUsualEnd, 4 * low)), low, kMostCockpitDim));
    found->second.slider->setRange(low, high);
    found->second.slider->setToolTip(QString::fromStdString(row.origin));
    found->second.box->setToolTip(QString::fromStdString(row.origin));
    if (row.multiple > 1) {
      found->second.slider->setSingleStep(static_cast<int>(row.multiple));
      found->second.box->setSingleStep(static_cast<int>(row.multiple));
    }
    if (row.symbol == symbol() && row.high) {
      const QSignalBlocker quiet(last_);
      last_->setValue(high);
    }
  }
}

void CockpitPanel::setDim(const std::string& symbol, int value) {
  const auto row = rows_.find(symbol);
  if (row == rows_.end()) return;
  values_[symbol] = value;
  const QSignalBlocker box(row->second.box), slider(row->second.slider);
  row->second.box->setValue(value);
  if (value > row->second.slider->maximum()) row->second.slider->setMaximum(value);
  row->second.slider->setValue(value);
  if (symbol == this->symbol()) plot_->setSize(value);
}

std::string CockpitPanel::symbol() const { return over_->currentText().toStdString(); }

Command CockpitPanel::withDims(CommandId id, const std::string& without) const {
  Command command = Command::of(id);
  for (const auto& [name, value] : values_)
    if (name != without) command.add("dim", name + "=" + std::to_string(value));
  return command;
}

void CockpitPanel::refresh() {
  if (!canAsk_ || !isVisible()) return;
  if (predicting_) {
    stale_ = true;
    return;
  }
  predicting_ = true;
  stale_ = false;
  Q_EMIT asked(withDims(CommandId::predict, ""));
  askSweep();
  askAgain();
}

// An answer is of the sizes that it was asked for: with others it is asked for again, or gone.
void CockpitPanel::askAgain() {
  if (plot_->answer().isEmpty() || othersOf(symbol()) == limitedFor_) return;
  limit_->text().isEmpty() ? plot_->setAnswer({}) : askWithinField();
}

DimValues CockpitPanel::othersOf(const std::string& symbol) const {
  DimValues others(values_.begin(), values_.end());
  others.erase(symbol);
  return others;
}

void CockpitPanel::askSweep() {
  if (sweeping_ || symbol().empty()) return;
  const DimValues others = othersOf(symbol());
  if (swept_ == symbol() && others == sweptOthers_) return;
  swept_ = symbol();
  sweptOthers_ = others;
  sweeping_ = true;
  const auto row = rows_.find(swept_);
  const int first = std::min(std::max(1, row->second.box->minimum()), last_->value());
  Q_EMIT asked(withDims(CommandId::sweep, swept_)
                   .add("symbol", swept_)
                   .add("range", std::to_string(first) + ".." + std::to_string(last_->value())));
}

void CockpitPanel::askLimit(qint64 bytes) {
  if (!canAsk_) return;
  withinBytes_ = std::nullopt;
  limitedFor_ = othersOf(symbol());
  plot_->setAnswer("...");
  Q_EMIT asked(withDims(CommandId::limit, symbol()).add("bytes", std::to_string(bytes)));
}

bool CockpitPanel::take(const Outcome& outcome) {
  const CommandId id = outcome.command.id;
  if (id != CommandId::predict && id != CommandId::sweep && id != CommandId::limit) return false;
  if (id == CommandId::predict) predicting_ = false;
  if (id == CommandId::sweep) sweeping_ = false;
  if (outcome.error) {
    const QString message = QString::fromStdString(outcome.error->message);
    if (id == CommandId::predict) summary_->setPlainText(message);
    if (id == CommandId::sweep) {
      swept_.clear();
      plot_->setSweep(nullptr);
      plot_->setAbsence("There is nothing to plot. " + message);
    }
    if (id == CommandId::limit) plot_->setAnswer(message);
    if (outcome.error->id == DiagnosticId::cancelled) return true;
  }
  if (const auto* view = outcome.as<PredictView>()) showPrediction(*view);
  if (auto view = outcome.share<SweepView>(); view && view->symbol == symbol()) {
    plot_->setSweep(view);
    const auto value = values_.find(view->symbol);
    if (value != values_.end()) plot_->setSize(value->second);
  }
  if (const auto* view = outcome.as<LimitView>()) showLimit(*view);
  if (stale_) refresh();
  return true;
}

void CockpitPanel::showLimit(const LimitView& view) {
  for (const LimitRow& row : view.rows) {
    if (row.symbol != symbol()) continue;
    const QString name = QString::fromStdString(row.symbol);
    QString limit = bytesText(withinBytes_.value_or(view.limitBytes));
    if (withinBytes_ && *withinBytes_ != view.limitBytes)
      limit += " with " + bytesText(*withinBytes_ - view.limitBytes) + " of weights";
    plot_->setAnswer(row.largest ? QString("largest %1 within %2: %3 (%4)")
                                       .arg(name, limit)
                                       .arg(*row.largest)
                                       .arg(inUnits(QString::fromStdString(row.end)))
                                 : QString("no %1 stays within %2").arg(name, limit));
  }
}

void CockpitPanel::showPrediction(const PredictView& view) {
  QString text;
  if (view.refused.empty()) {
    text += "<table>" + htmlRow("expected time", timeText(view.timeNs)) +
            measuredBeside(plot_->sweep().get(), view) + byRunsRow(view) +
            htmlRow("peak", view.whyNoPeak.empty() ? bytesText(view.peakBytes) : html(view.whyNoPeak));
    text += sharesOf(view.kernels) + "</table>";
  } else {
    text += "<p><b>No run with these sizes.</b> " + html(view.refused) + "</p>";
  }
  QString faults;
  for (const RangeFault& fault : view.outside)
    faults += QString("<li>%1 <a href='why:%2'>why?</a></li>").arg(html(fault.text), html(fault.symbol));
  int held = 0;
  for (const CheckRow& check : view.checks) {
    held += !check.fails;
    if (check.fails) faults += checkText(check);
  }
  if (!faults.isEmpty()) text += "<ul style='margin:0'>" + faults + "</ul>";
  if (held > 0)
    text += QString("<p>%1 run-time %2 would hold.</p>").arg(held).arg(held == 1 ? "check" : "checks");
  if (!view.kernels.contractions.empty()) {
    text += "<p><b>Kernel variants</b></p>";
    for (const ContractionRow& row : view.kernels.contractions) {
      QString values;
      if (!row.values.empty())
        values = elidedName(QString::fromStdString(row.values.front()), 0, fontMetrics(), kWidestName)
                     .toHtmlEscaped();
      if (row.values.size() > 1) values += QString(" and %1 more").arg(row.values.size() - 1);
      const QString chosen = QString::fromStdString(contraction::textOf(row.chosen));
      text += "<p style='margin-top:0'>" + values + "<br><span title='" + html(chosen.toStdString()) + "'>" +
              variantWords(chosen).toHtmlEscaped() + "</span> (by " + html(row.by) + ")</p>";
    }
  }
  summary_->setHtml(text);
}

QString CockpitPanel::summary() const { return summary_->toPlainText(); }

}  // namespace dyn::ui
