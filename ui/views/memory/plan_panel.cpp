#include "ui/views/memory/plan_panel.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSplitter>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "app/session/views/graph_views.h"
#include "app/session/views/memory_views.h"
#include "app/session/views/view.h"
#include "ui/graph/graph_scene.h"
#include "ui/support/formula_text.h"
#include "ui/support/theme_text.h"
#include "ui/views/table.h"

namespace dyn::ui {

namespace {

// The peak is more than what lives at once: the arena has gaps, and some memory is not part of it.
QString peakInParts(const PlanView& plan) {
  int64_t arenaBytes = 0;
  for (const PlanArena& arena : plan.arenas) {
    if (!arena.sizeBytes) return {};
    if (arena.function == "main") arenaBytes = *arena.sizeBytes;
  }
  const std::optional<int64_t>& peakBytes = plan.predictedPeakBytes;
  if (!peakBytes || arenaBytes == 0 || *peakBytes < arenaBytes) return {};
  return "<p>Peak of a run</p><table>" +
         htmlRow(bytesText(arenaBytes), "the arena: buffers share its bytes") +
         htmlRow(bytesText(*peakBytes - arenaBytes), "besides: results, and what kernels work with") +
         htmlRow(bytesText(*peakBytes), "<b>in all</b>") + "</table>";
}

}  // namespace

PlanPanel::PlanPanel(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(4, 4, 4, 4);
  auto* row = new QHBoxLayout;
  functions_ = new QComboBox;
  functions_->setObjectName("planFunction");
  functions_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  summary_ = new QLabel;
  summary_->setObjectName("planSummary");
  summary_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  row->addWidget(functions_);
  row->addWidget(summary_, 1);
  column->addLayout(row);
  keep_ = new QPushButton("Keep beside");
  keep_->setObjectName("planKeep");
  keep_->setCheckable(true);
  keep_->setToolTip("Keep this plan, to compare it with plans for other sizes and pipelines");
  row->addWidget(keep_);
  auto* parts = new QSplitter(Qt::Horizontal);
  const auto addSide = [&](PlanCanvas*& canvas, QLabel*& title) {
    auto* side = new QWidget;
    auto* under = new QVBoxLayout(side);
    under->setContentsMargins(0, 0, 0, 0);
    title = new QLabel;
    title->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    canvas = new PlanCanvas;
    under->addWidget(title);
    under->addWidget(canvas, 1);
    parts->addWidget(side);
    return side;
  };
  addSide(canvas_, nowTitle_);
  keptSide_ = addSide(kept_, keptTitle_);
  nowTitle_->setText("now");
  keptTitle_->setObjectName("planKept");
  kept_->setObjectName("keptPlan");
  peak_ = new QTextBrowser;
  followTheme(peak_);
  peak_->setObjectName("planPeak");
  peak_->setAccessibleName("Buffers of the peak");
  parts->addWidget(peak_);
  parts->setSizes({800, 800, 260});
  parts->setStretchFactor(0, 1);
  parts->setStretchFactor(1, 1);
  column->addWidget(parts, 1);
  keep(false);
  connect(keep_, &QPushButton::toggled, this, &PlanPanel::keep);
  connect(functions_, &QComboBox::currentTextChanged, this, [this](const QString& name) {
    canvas_->setPlan(plan_, name.mid(1));
    if (keptPlan_) kept_->setPlan(keptPlan_, name.mid(1));
    share();
  });
}

void PlanPanel::setPlan(Shared<PlanView> plan) {
  plan_ = std::move(plan);
  const QString before = functions_->currentText();
  QStringList names;
  if (plan_) {
    for (const PlanArena& arena : plan_->arenas) names << "@" + QString::fromStdString(arena.function);
    for (const PlanBuffer& b : plan_->buffers)
      if (const QString name = "@" + QString::fromStdString(b.function); !names.contains(name)) names << name;
  }
  {
    const QSignalBlocker block(functions_);
    functions_->clear();
    functions_->addItems(names);
    functions_->setCurrentText(names.contains(before)    ? before
                               : names.contains("@main") ? "@main"
                                                         : names.value(0));
  }
  functions_->setVisible(names.size() > 1);
  QString text;
  if (plan_) {
    QStringList dims;
    for (const auto& [name, value] : plan_->dims)
      dims << QString::fromStdString(name) + "=" + QString::number(value);
    if (!dims.isEmpty()) text += dims.join(", ") + ": ";
    if (!pipeline_.isEmpty()) text += "[" + pipeline_ + "] ";
    text += plan_->predictedPeakBytes ? "peak " + bytesText(*plan_->predictedPeakBytes)
                                      : QString("the peak depends on values");
    text += ", constants " + bytesText(plan_->constantsBytes);
    for (const PlanArena& arena : plan_->arenas)
      if ("@" + QString::fromStdString(arena.function) == functions_->currentText())
        text += QString::fromUtf8(" · arena ") + (arena.sizeBytes ? bytesText(*arena.sizeBytes) : "?") +
                QString(" in %1 slots").arg(arena.slotsCount);
  }
  summary_->setText(text);
  summary_->setToolTip(plan_ ? "at most " + formulaText(QString::fromStdString(plan_->peak)) + " bytes"
                             : QString());
  canvas_->setPlan(plan_, functions_->currentText().mid(1));
  showPeak();
  share();
}

void PlanPanel::setPipeline(const QString& edits) { pipeline_ = edits; }

// What is fused later keeps the class of the operation that it was.
void PlanPanel::setGraph(const GraphView& graph) {
  for (const GraphNode& node : graph.nodes)
    if (const Category category = categoryOfClass(QString::fromStdString(node.opClass));
        category != Category::other && category != Category::control)
      categories_->emplace(node.id, category);
  for (PlanCanvas* canvas : {canvas_, kept_}) canvas->setCategories(categories_);
}

void PlanPanel::clear() {
  categories_->clear();
  setPlan(nullptr);
  keep_->setChecked(false);
}

void PlanPanel::keep(bool on) {
  keptSide_->setVisible(on);
  nowTitle_->setVisible(on);
  keptPlan_ = on ? plan_ : nullptr;
  kept_->setPlan(keptPlan_, functions_->currentText().mid(1));
  keptTitle_->setText("kept: " + summary_->text());
  keptTitle_->setToolTip(keptTitle_->text());
  share();
}

// One scale for both, and what the difference is.
void PlanPanel::share() {
  const double top = keptPlan_ ? std::max(canvas_->mostBytes(), kept_->mostBytes()) : 0;
  canvas_->setLeastTop(top);
  kept_->setLeastTop(top);
  const bool both = plan_ && keptPlan_ && plan_->predictedPeakBytes && keptPlan_->predictedPeakBytes;
  if (!both) return keep_->setText("Keep beside");
  const int64_t more = *plan_->predictedPeakBytes - *keptPlan_->predictedPeakBytes;
  keep_->setText(more == 0 ? QString("Kept: the same peak")
                           : "Kept: peak now " + bytesText(std::abs(more)) + (more > 0 ? " more" : " less"));
}

void PlanPanel::showPeak() {
  if (!plan_ || plan_->peakBuffers.empty()) return peak_->clear();
  QString text = peakInParts(*plan_) + "<p><b>" + bytesText(plan_->peakStepBytes) +
                 "</b> live at operation " + QString::number(plan_->peakStep) + "</p><table>";
  constexpr size_t kMost = 40;
  for (size_t i = 0; i < std::min(kMost, plan_->peakBuffers.size()); ++i) {
    const PlanBuffer& b = plan_->buffers[plan_->peakBuffers[i]];
    text += htmlRow(bytesText(*b.sizeBytes),
                    html(b.name) + " = " + formulaText(QString::fromStdString(b.bytes)).toHtmlEscaped() +
                        (b.pooled ? ", from the pool" : ""));
  }
  text += "</table>";
  if (plan_->peakBuffers.size() > kMost)
    text += QString("<p>and %1 more</p>").arg(plan_->peakBuffers.size() - kMost);
  const QString most = formulaText(QString::fromStdString(plan_->peak));
  constexpr qsizetype kMostLetters = 160;
  text += most.size() <= kMostLetters
              ? "<p>At most, for all sizes: " + most.toHtmlEscaped() + " bytes</p>"
              : QString("<p>At most, for all sizes, a formula of %1 letters: above, under the pointer</p>")
                    .arg(most.size());
  peak_->setHtml(text);
}

QString PlanPanel::peakText() const { return peak_->toPlainText(); }

QString PlanPanel::summary() const { return summary_->text(); }

}  // namespace dyn::ui
