#include "ui/views/run/causes_panel.h"

#include <QHBoxLayout>
#include <QIntValidator>
#include <QLineEdit>
#include <QPushButton>
#include <QSplitter>
#include <QTextBrowser>
#include <QTreeWidgetItemIterator>
#include <QUrl>
#include <QVBoxLayout>

#include "app/session/views/why_views.h"
#include "ui/support/theme_text.h"
#include "ui/support/why_grey.h"
#include "ui/views/table.h"
#include "ui/views/why_tree_view.h"

namespace dyn::ui {

namespace {

// A size has an axis, "y.1"; only of one another can be wished for.
bool isOfSize(const QString& question) {
  const qsizetype dot = question.lastIndexOf('.');
  bool isAxis = false;
  question.mid(dot + 1).toInt(&isAxis);
  return dot > 0 && isAxis && !question.contains('[');
}

QString linkTo(NodeId node, const std::string& text) {
  const QString shown = html(text);
  return node == kNoNode ? shown : QString("<a href='node:%1'>%2</a>").arg(node).arg(shown);
}

// Of an input, as the culprits tell it.
NodeId nodeOfInput(const RunCauses& causes, const std::string& name) {
  for (const auto& culprit : causes.culprits)
    if (culprit.name == name) return culprit.node;
  return kNoNode;
}

NodeId nodeOfChange(const RunCauses& causes, const RunCauses::Change& change) {
  if (!change.elements.empty()) return nodeOfInput(causes, change.elements.front().input);
  return change.axes.empty() ? kNoNode : nodeOfInput(causes, change.axes.front().input);
}

QString changeLine(const RunCauses& causes, size_t index) {
  const RunCauses::Change& change = causes.changes[index];
  QString line = linkTo(nodeOfChange(causes, change), change.text);
  line += change.verified.empty() ? " (not verified)" : " (verified " + html(change.verified) + ")";
  if (!change.dims.empty()) line += QString(": <a href='run:%1'>run with it</a>").arg(index);
  return line;
}

QString listOf(const QString& title, const QStringList& lines) {
  if (lines.isEmpty()) return {};
  QString text = htmlSection(title);
  for (const QString& line : lines) text += htmlLine(line);
  return text;
}

std::vector<WhyStep> treeOf(const RunCauses& causes) {
  std::vector<WhyStep> tree;
  for (const auto& step : causes.steps) tree.push_back({step.text, step.depth, step.node, "", ""});
  if (causes.leftOutCount > 0)
    tree.push_back({"... and " + std::to_string(causes.leftOutCount) + " more steps", 0, kNoNode, "", ""});
  return tree;
}

}  // namespace

CausesPanel::CausesPanel(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(4, 4, 4, 4);
  auto* row = new QHBoxLayout;
  question_ = new QLineEdit;
  question_->setObjectName("causeQuestion");
  question_->setAccessibleName("A question about the last run");
  question_->setPlaceholderText("Of the last run: y.1 (a size), y[2,5] (an element), y[nan], failure");
  question_->setClearButtonEnabled(true);
  wanted_ = new QLineEdit;
  wanted_->setObjectName("causeWanted");
  wanted_->setPlaceholderText("should be");
  wanted_->setToolTip("Of a size: find the smallest change of the inputs that makes it this one");
  wanted_->setValidator(new QIntValidator(0, 1 << 30, wanted_));
  wanted_->setFixedWidth(90);
  ask_ = new QPushButton("Why?");
  ask_->setObjectName("causeAsk");
  failure_ = new QPushButton("Why did it fail?");
  failure_->setObjectName("causeFailure");
  failure_->setToolTip("Why the last run failed, and the smallest change with which it runs");
  row->addWidget(question_, 1);
  row->addWidget(wanted_);
  row->addWidget(ask_);
  row->addWidget(failure_);
  column->addLayout(row);
  auto* halves = new QSplitter(Qt::Horizontal);
  answer_ = new QTextBrowser;
  followTheme(answer_);
  answer_->setObjectName("causeAnswer");
  answer_->setOpenLinks(false);
  answer_->setPlaceholderText(
      "Which axes and elements of the inputs made a size, an element, a NaN or a failure of the last run, "
      "and the smallest change that makes it otherwise. Choose an axis or an element in Tensor, or ask "
      "above.");
  steps_ = new WhyTreeView;
  steps_->setObjectName("causeSteps");
  steps_->setAccessibleName("How it came, step by step");
  steps_->hide();
  halves->addWidget(answer_);
  halves->addWidget(steps_);
  halves->setStretchFactor(0, 1);
  halves->setStretchFactor(1, 1);
  halves->setSizes({400, 400});
  column->addWidget(halves, 1);
  connect(question_, &QLineEdit::returnPressed, this, &CausesPanel::askWhatIsWritten);
  connect(wanted_, &QLineEdit::returnPressed, this, &CausesPanel::askWhatIsWritten);
  connect(ask_, &QPushButton::clicked, this, &CausesPanel::askWhatIsWritten);
  connect(failure_, &QPushButton::clicked, this, [this] { ask(QString::fromUtf8(kAskedFailure.data())); });
  connect(question_, &QLineEdit::textChanged, this, [this](const QString& text) {
    enableUnless(wanted_, isOfSize(text.trimmed()) ? "" : "Only a size, such as y.1, can be wished for.");
  });
  connect(answer_, &QTextBrowser::anchorClicked, this,
          [this](const QUrl& link) { followLink(link.toString()); });
  connect(steps_, &WhyTreeView::nodeChosen, this, &CausesPanel::nodeChosen);
  enableUnless(wanted_, "Only a size, such as y.1, can be wished for.");
}

void CausesPanel::clear() {
  question_->clear();
  wanted_->clear();
  show(nullptr);
}

void CausesPanel::setState(const QString& whyNot, const QString& whyNotFailed) {
  enableUnless(ask_, whyNot);
  enableUnless(question_, whyNot);
  enableUnless(failure_, whyNotFailed);
}

void CausesPanel::ask(const QString& question) {
  question_->setText(question);
  wanted_->clear();
  askWhatIsWritten();
}

void CausesPanel::askWhatIsWritten() {
  const QString question = question_->text().trimmed();
  if (question.isEmpty()) return;
  Command command = Command::of(CommandId::why).add("a", question.toStdString());
  if (!asksAboutRun(command)) command.add("run");
  if (wanted_->isEnabled() && !wanted_->text().isEmpty()) command.add("want", wanted_->text().toStdString());
  show(nullptr);
  answer_->setPlainText("The run is made once more, by the reference, which keeps what it computes…");
  Q_EMIT asked(command);
}

void CausesPanel::takeKeys() {
  question_->setFocus();
  question_->selectAll();
}

bool CausesPanel::take(const Outcome& outcome) {
  if (outcome.command.id != CommandId::why || !asksAboutRun(outcome.command)) return false;
  question_->setText(QString::fromStdString(outcome.command.text("a")));
  if (outcome.error) {
    show(nullptr);
    QString text = htmlLine(html(outcome.error->message));
    for (const std::string& note : outcome.error->notes) text += htmlLine(html(note));
    answer_->setHtml(text);
  }
  if (auto causes = outcome.share<RunCauses>()) show(causes);
  return true;
}

void CausesPanel::show(Shared<RunCauses> causes) {
  causes_ = std::move(causes);
  answer_->clear();
  steps_->showTree({});
  if (!causes_) return;
  const RunCauses& c = *causes_;
  QStringList culprits, changes, notes;
  for (const auto& culprit : c.culprits) culprits << linkTo(culprit.node, culprit.text);
  for (size_t i = 0; i < c.changes.size(); ++i) changes << changeLine(c, i);
  for (const std::string& note : c.notes) notes << html(note);
  answer_->setHtml(htmlLine(html(c.question) + " <b>" + html(c.answer) + "</b>") +
                   listOf("Because", culprits) + listOf("The smallest change", changes) +
                   listOf("Not known", notes));
  steps_->showTree(treeOf(c));
}

void CausesPanel::followLink(const QString& link) {
  const QString what = link.section(':', 0, 0), which = link.section(':', 1);
  if (what == "node") Q_EMIT nodeChosen(which.toULongLong());
  if (what == "run" && causes_ && which.toULongLong() < causes_->changes.size())
    Q_EMIT runWanted(causes_->changes[which.toULongLong()].dims);
}

QString CausesPanel::answer() const {
  QString text = answer_->toPlainText();
  for (QTreeWidgetItemIterator at(steps_); *at; ++at) text += "\n" + (*at)->toolTip(0);
  return text;
}

}  // namespace dyn::ui
