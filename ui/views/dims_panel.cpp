#include "ui/views/dims_panel.h"

#include <QHeaderView>
#include <QLineEdit>
#include <QSplitter>
#include <QTableWidget>
#include <QTextBrowser>
#include <QTreeWidgetItemIterator>
#include <QVBoxLayout>

#include "app/session/views/why_views.h"
#include "ui/support/theme_text.h"
#include "ui/views/table.h"
#include "ui/views/why_tree_view.h"

namespace dyn::ui {

namespace {

QString rangeText(const DimRow& row) {
  if (row.low.value_or(0) <= 1 && !row.high && row.multiple <= 1) return "any";
  QString text = row.low ? QString::number(*row.low) : QString();
  text += "..";
  if (row.high) text += QString::number(*row.high);
  if (row.multiple > 1) text += QString::fromUtf8(", multiple of ") + QString::number(row.multiple);
  return text;
}

// Most dims are named by the model: what they are a dim of tells more.
QString shortOrigin(const DimRow& row) {
  const QString named = "the model's name for ", text = QString::fromStdString(row.origin);
  return text.startsWith(named) ? text.mid(named.size()) : text;
}

}  // namespace

DimsPanel::DimsPanel(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(4, 4, 4, 4);
  auto* halves = new QSplitter(Qt::Vertical);
  table_ = makeTable("dims", {"Dim", "Range", "Uses", "Origin"});
  table_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  keepRoomFor(table_, 3, {2});
  halves->addWidget(table_);
  auto* lower = new QWidget;
  auto* rows = new QVBoxLayout(lower);
  rows->setContentsMargins(0, 0, 0, 0);
  question_ = new QLineEdit;
  question_->setObjectName("whyQuestion");
  question_->setPlaceholderText("Why? seq, y.1, or y.1 = x.0");
  question_->setClearButtonEnabled(true);
  answer_ = new QTextBrowser;
  followTheme(answer_);
  answer_->setObjectName("whyAnswer");
  answer_->setPlaceholderText("A dim: its origin and constraints, and why two dims are equal.");
  rows->addWidget(question_);
  rows->addWidget(answer_, 1);
  tree_ = new WhyTreeView;
  tree_->hide();
  rows->addWidget(tree_, 2);
  connect(tree_, &WhyTreeView::nodeChosen, this, &DimsPanel::nodeChosen);
  connect(tree_, &WhyTreeView::asked, this, &DimsPanel::ask);
  halves->addWidget(lower);
  halves->setStretchFactor(0, 2);
  halves->setStretchFactor(1, 3);
  column->addWidget(halves);
  connect(table_, &QTableWidget::cellClicked, this,
          [this](int row, int) { ask(table_->item(row, 0)->data(Qt::UserRole).toString()); });
  connect(question_, &QLineEdit::returnPressed, this, [this] { ask(question_->text()); });
}

void DimsPanel::clear() {
  table_->setRowCount(0);
  question_->clear();
  answer_->clear();
  tree_->showTree({});
}

void DimsPanel::ask(const QString& question) {
  question_->setText(question);
  const QString a = question.section('=', 0, 0).trimmed(), b = question.section('=', 1).trimmed();
  if (!a.isEmpty()) Q_EMIT asked(a, b);
}

void DimsPanel::showDims(const DimsTable& dims) {
  table_->setRowCount(0);
  table_->setRowCount(static_cast<int>(dims.rows.size()));
  for (int r = 0; r < table_->rowCount(); ++r) {
    const DimRow& row = dims.rows[static_cast<size_t>(r)];
    const QString symbol = QString::fromStdString(row.symbol);
    setCell(table_, r, 0, row.title.empty() ? symbol : symbol + " " + QString::fromStdString(row.title));
    table_->item(r, 0)->setData(Qt::UserRole, symbol);
    setCell(table_, r, 1, rangeText(row));
    setCell(table_, r, 2, QString::number(row.usesCount), CellAlignment::right);
    setCell(table_, r, 3, shortOrigin(row));
    table_->item(r, 3)->setToolTip(QString::fromStdString(row.origin));
  }
  fitColumns(table_);
  table_->setColumnWidth(0, std::min(table_->columnWidth(0), 130));
  if (dims.rows.empty()) answer_->setPlainText("All shapes are fixed.");
}

void DimsPanel::showWhy(const WhyView& why) {
  QString text = "<p>" + html(why.question) + " <b>" + html(why.answer) + "</b></p>";
  const auto list = [&](const char* title, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    if (*title) text += QString("<p><b>%1</b></p>").arg(title);
    text += "<ul style='margin:0; -qt-list-indent:0'>";
    for (const std::string& line : lines) text += "<li style='margin-left:14px'>" + html(line) + "</li>";
    text += "</ul>";
  };
  list("", why.lines);
  tree_->showTree(why.tree);
  list("Because", why.facts);
  list("Known besides", why.known);
  if (!why.counterexample.empty()) {
    std::string example;
    for (const auto& [name, value] : why.counterexample)
      example += (example.empty() ? "" : ", ") + name + " = " + std::to_string(value);
    for (size_t i = 0; i < why.shapes.size(); ++i) example += (i ? ", " : ": inputs ") + why.shapes[i];
    text += "<p><b>Not for</b> " + html(example) + "</p>";
  }
  if (!why.guard.empty()) text += "<p><b>Guard that would make them equal</b> " + html(why.guard) + "</p>";
  list("Checked at run time", why.checks);
  answer_->setHtml(text);
}

void DimsPanel::showFault(const QString& message) {
  answer_->setPlainText(message);
  tree_->showTree({});
}

QString DimsPanel::answer() const {
  QString text = answer_->toPlainText();
  for (QTreeWidgetItemIterator at(tree_); *at; ++at)
    if (!(*at)->parent() || (*at)->parent()->isExpanded()) text += "\n" + (*at)->toolTip(0);
  return text;
}

}  // namespace dyn::ui
