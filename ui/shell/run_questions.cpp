#include "ui/shell/run_questions.h"

#include <QAction>
#include <QToolButton>

#include "app/engine/run/run_result.h"
#include "ui/support/icons.h"
#include "ui/support/why_grey.h"
#include "ui/views/table.h"

namespace dyn::ui {

namespace {

// Does the command call the model, so that it is the one that is asked about?
bool callsModel(CommandId id) {
  return id == CommandId::run || id == CommandId::time || id == CommandId::profile;
}

}  // namespace

RunQuestions::RunQuestions(QObject* parent) : QObject(parent) {
  panel_ = new CausesPanel;
  why_ = new QAction("Why, in this run…", this);
  why_->setObjectName("whyInRun");
  why_->setShortcut(QKeySequence("Ctrl+Shift+Y"));
  why_->setToolTip("Why a size, an element or a NaN of the last run is as it is (Ctrl+Shift+Y)");
  failure_ = new QAction("Why did the run fail?", this);
  failure_->setObjectName("whyFailed");
  failure_->setToolTip("Why the last run failed, and the smallest change with which it runs");
  button_ = new QToolButton;
  button_->setObjectName("whyFailedButton");
  button_->setText("Why did it fail?");
  button_->setIcon(icon("modes/problems"));
  button_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  button_->hide();
  connect(why_, &QAction::triggered, this, [this] {
    Q_EMIT panelWanted();
    panel_->takeKeys();
  });
  const auto askFailure = [this] { ask(QString::fromUtf8(kAskedFailure.data())); };
  connect(failure_, &QAction::triggered, this, askFailure);
  connect(button_, &QToolButton::clicked, this, askFailure);
  update();
}

QString RunQuestions::whyNot() const {
  return !noModel_.isEmpty() ? noModel_ : hasRun_ ? QString() : "Run the model first (Ctrl+R).";
}

void RunQuestions::forget() {
  fault_.clear();
  hasRun_ = false;
  panel_->clear();
  update();
}

void RunQuestions::setModelState(const QString& whyNot) {
  noModel_ = whyNot;
  update();
}

void RunQuestions::ask(const QString& question) {
  Q_EMIT panelWanted();
  panel_->ask(question);
}

bool RunQuestions::take(const Outcome& outcome) {
  if (callsModel(outcome.command.id)) {
    const bool isRun = outcome.error ? outcome.error->id != DiagnosticId::cancelled &&
                                           outcome.error->id != DiagnosticId::usageError
                                     : outcome.as<RunResult>() != nullptr;
    if (!isRun) return false;
    hasRun_ = true;
    fault_ = outcome.error ? QString::fromStdString(outcome.error->message) : QString();
    update();
    Q_EMIT changed();
    return false;
  }
  return panel_->take(outcome);
}

QString RunQuestions::failureHtml() const {
  return htmlLine("<b>The run failed.</b> " + fault_.toHtmlEscaped()) +
         htmlLine("<a href='why:failure'>Why did it fail?</a>");
}

void RunQuestions::update() {
  const QString notFailed = failed() ? QString() : "The last run did not fail.";
  const QString why = whyNot(), whyNoFailure = why.isEmpty() ? notFailed : why;
  enableUnless(why_, why);
  enableUnless(failure_, whyNoFailure);
  panel_->setState(why, whyNoFailure);
  button_->setVisible(failed() && why.isEmpty());
  button_->setToolTip(fault_ + "\nWhich inputs made it so, and the smallest change with which it runs");
}

}  // namespace dyn::ui
