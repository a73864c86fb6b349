#include "ui/views/plan_panel.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSplitter>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "ui/graph/graph_scene.h"
#include "ui/views/table.h"

namespace dyn::ui {

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
  keep_->setToolTip("This plan stays to be compared with those of other sizes");
  row->addWidget(keep_);
  auto* parts = new QSplitter(Qt::Horizontal);
  auto* left = new QWidget;
  auto* pictures = new QVBoxLayout(left);
  pictures->setContentsMargins(0, 0, 0, 0);
  canvas_ = new PlanCanvas;
  pictures->addWidget(canvas_, 1);
  keptTitle_ = new QLabel;
  keptTitle_->setObjectName("planKept");
  kept_ = new PlanCanvas;
  kept_->setObjectName("keptPlan");
  pictures->addWidget(keptTitle_);
  pictures->addWidget(kept_, 1);
  parts->addWidget(left);
  peak_ = new QTextBrowser;
  peak_->setObjectName("planPeak");
  peak_->setAccessibleName("What the peak consists of");
  parts->addWidget(peak_);
  parts->setSizes({800, 260});
  parts->setStretchFactor(0, 1);
  column->addWidget(parts, 1);
  keep(false);
  connect(keep_, &QPushButton::toggled, this, &PlanPanel::keep);
  connect(functions_, &QComboBox::currentTextChanged, this,
          [this](const QString& name) { canvas_->setPlan(plan_, name.mid(1)); });
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
    text += plan_->predictedPeakBytes ? "peak " + bytesText(*plan_->predictedPeakBytes)
                                      : QString("the peak depends on values");
    text += ", constants " + bytesText(plan_->constantsBytes);
    for (const PlanArena& arena : plan_->arenas)
      if ("@" + QString::fromStdString(arena.function) == functions_->currentText())
        text += QString::fromUtf8(" · arena ") + (arena.sizeBytes ? bytesText(*arena.sizeBytes) : "?") +
                QString(" in %1 slots").arg(arena.slotsCount);
  }
  summary_->setText(text);
  summary_->setToolTip(plan_ ? "at most " + QString::fromStdString(plan_->peak) + " bytes" : QString());
  canvas_->setPlan(plan_, functions_->currentText().mid(1));
  showPeak();
  if (!plan_) keep_->setChecked(false);
}

void PlanPanel::keep(bool on) {
  kept_->setVisible(on);
  keptTitle_->setVisible(on);
  if (!on) return;
  kept_->setPlan(plan_, functions_->currentText().mid(1));
  keptTitle_->setText("kept: " + summary_->text());
}

void PlanPanel::showPeak() {
  if (!plan_ || plan_->peakBuffers.empty()) return peak_->clear();
  QString text = "<p><b>" + bytesText(plan_->peakStepBytes) + "</b> live at operation " +
                 QString::number(plan_->peakStep) + "</p><table>";
  constexpr size_t kMost = 40;
  for (size_t i = 0; i < std::min(kMost, plan_->peakBuffers.size()); ++i) {
    const PlanBuffer& b = plan_->buffers[plan_->peakBuffers[i]];
    text += htmlRow(bytesText(*b.sizeBytes),
                    html(b.name) + " = " + html(b.bytes) + (b.pooled ? ", from the pool" : ""));
  }
  text += "</table>";
  if (plan_->peakBuffers.size() > kMost)
    text += QString("<p>and %1 more</p>").arg(plan_->peakBuffers.size() - kMost);
  peak_->setHtml(text + "<p>at most, for all sizes: " + html(plan_->peak) + " bytes</p>");
}

QString PlanPanel::peakText() const { return peak_->toPlainText(); }

QString PlanPanel::summary() const { return summary_->text(); }

}  // namespace dyn::ui
