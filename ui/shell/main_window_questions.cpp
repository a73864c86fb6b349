// Questions about the last run, and how they are joined with the window.
#include <QMenu>
#include <QStatusBar>
#include <QTabWidget>
#include <QTextBrowser>
#include <QToolButton>
#include <QUrl>

#include "ui/shell/main_window.h"
#include "ui/shell/run_questions.h"

namespace dyn::ui {

void MainWindow::makeQuestions() {
  questions_ = new RunQuestions(this);
  bottom_->insertTab(bottom_->indexOf(tensor_) + 1, questions_->panel(), "Why");
  connect(questions_, &RunQuestions::panelWanted, this, [this] { bringPanel(questions_->panel()); });
  connect(questions_, &RunQuestions::changed, this, [this] {
    if (questions_->failed()) runSummary_->setHtml(questions_->failureHtml());
    tensor_->setWhyNot(questions_->whyNot());
  });
  connect(questions_->panel(), &CausesPanel::asked, this, &MainWindow::submitShown);
  connect(questions_->panel(), &CausesPanel::nodeChosen, this, &MainWindow::chooseNode);
  connect(questions_->panel(), &CausesPanel::runWanted, this, [this](const DimValues& dims) {
    for (const auto& [name, size] : dims) setDim(QString::fromStdString(name), static_cast<int>(size));
    run();
  });
  connect(tensor_, &TensorPanel::whyAsked, questions_, &RunQuestions::ask);
  runSummary_->setOpenLinks(false);
  connect(runSummary_, &QTextBrowser::anchorClicked, this,
          [this](const QUrl& link) { questions_->ask(link.path()); });
}

// Who can be asked is as whether there is a model that runs; a package has no values between its ports.
void MainWindow::updateQuestions(const QString& whyNoRun) {
  const bool isPackage = whyNoRun.isEmpty() && model_->kind == ModelKind::package;
  questions_->setModelState(isPackage ? "A package has no values but its inputs and outputs." : whyNoRun);
  tensor_->setWhyNot(questions_->whyNot());
}

}  // namespace dyn::ui
