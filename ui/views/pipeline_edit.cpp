#include "ui/views/pipeline_edit.h"

#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QVBoxLayout>

#include "app/session/views/pass_views.h"
#include "ui/support/why_grey.h"
#include "ui/views/table.h"

namespace dyn::ui {

PipelineEdit::PipelineEdit(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(2);
  text_ = new QLineEdit;
  text_->setObjectName("pipeline");
  text_->setAccessibleName("Pipeline");
  text_->setPlaceholderText("standard; -fuse or +fuse{max=4}");
  text_->setClearButtonEnabled(true);
  fault_ = new QLabel;
  fault_->setObjectName("pipelineFault");
  fault_->setWordWrap(true);
  fault_->hide();
  column->addWidget(text_);
  column->addWidget(fault_);
  connect(text_, &QLineEdit::returnPressed, this, [this] { ask(text_->text()); });
}

void PipelineEdit::ask(const QString& edits) {
  fault_->hide();
  const QString text = edits.simplified();
  if (text == edits_) return;
  Q_EMIT asked(Command::of(CommandId::set)
                   .add("name", "passes")
                   .add("value", text.isEmpty() ? "standard" : text.toStdString()));
}

void PipelineEdit::showPasses(const PassList& list) {
  edits_ = QString::fromStdString(list.edits);
  if (!text_->hasFocus() || fault_->isHidden()) text_->setText(QString::fromStdString(list.edits));
  text_->setToolTip(
      "<p>The pipeline, as text: <code>-fuse</code> leaves a pass out, "
      "<code>+fuse{max=4}</code> sets an option, a list replaces it. Enter compiles again.</p><p>" +
      html(list.pipeline) + "</p>");
}

bool PipelineEdit::take(const Outcome& outcome) {
  if (outcome.command.id != CommandId::set || outcome.command.text("name") != "passes") return false;
  fault_->setVisible(outcome.error.has_value());
  if (!outcome.error) return false;
  QString text = QString::fromStdString(outcome.error->message);
  for (const std::string& note : outcome.error->notes) text += "\n" + QString::fromStdString(note);
  fault_->setText(text);
  return true;
}

void PipelineEdit::addActions(QMenu& menu, const PassRow& pass) {
  if (pass.kind != "pass") return;
  const QString name = QString::fromStdString(pass.name);
  QAction* leave = menu.addAction("Leave " + name + " out", this, [this, name] {
    append("-" + name, 0);
    ask(text_->text());
  });
  menu.setToolTipsVisible(true);
  enableUnless(leave, pass.required ? "What comes after it needs it." : "");
  for (const auto& [option, doc] : pass.options) {
    const QString key = QString::fromStdString(option);
    menu.addAction("Set " + key + QString::fromUtf8("… (") + QString::fromStdString(doc) + ")", this,
                   [this, name, key] { append("+" + name + "{" + key + "=}", 1); });
  }
  if (!text_->text().isEmpty())
    menu.addAction("Standard pipeline", this, [this] {
      text_->clear();
      ask({});
    });
}

// What is there is gone on with, if it is edits.
void PipelineEdit::append(const QString& edit, int cursorFromEnd) {
  const QString before = text_->text().trimmed();
  const bool isEdits = before.startsWith('-') || before.startsWith('+');
  text_->setText(isEdits ? before + "," + edit : edit);
  text_->setCursorPosition(static_cast<int>(text_->text().size()) - cursorFromEnd);
  text_->setFocus();
}

QString PipelineEdit::fault() const { return fault_->isHidden() ? QString() : fault_->text(); }

}  // namespace dyn::ui
