#include "ui/views/plan_panel.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include "ui/graph/graph_scene.h"

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
  canvas_ = new PlanCanvas;
  column->addWidget(canvas_, 1);
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
}

QString PlanPanel::summary() const { return summary_->text(); }

}  // namespace dyn::ui
