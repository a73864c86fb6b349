#include "ui/views/code/level_pane.h"

#include <QComboBox>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/session/views/code_views.h"
#include "ui/support/save_dialog.h"

namespace dyn::ui {

QString titleOf(IrLevel level) {
  switch (level) {
    case IrLevel::source:
      return "Source";
    case IrLevel::graph:
      return "Graph IR";
    case IrLevel::placed:
      return "Placed IR";
    case IrLevel::loop:
      return "Loop IR";
    case IrLevel::llvm:
      return "LLVM IR";
    case IrLevel::assembly:
      return "Assembly";
    case IrLevel::deviceCode:
      return "Device code";
    case IrLevel::bytecode:
      return "Bytecode";
    case IrLevel::target:
      return "Target";
  }
  return {};
}

LevelPane::LevelPane(const QString& name, QWidget* parent) : QWidget(parent) {
  setObjectName(name);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(2);
  row_ = new QHBoxLayout;
  row_->setSpacing(4);
  levels_ = new QComboBox;
  levels_->setObjectName(name + "Level");
  levels_->setAccessibleName("Level");
  levels_->setSizePolicy(QSizePolicy::Minimum, QSizePolicy::Fixed);  // its words are never cut
  for (const IrLevel level : kShownLevels) levels_->addItem(titleOf(level), static_cast<int>(level));
  levels_->setCurrentIndex(levels_->findData(static_cast<int>(IrLevel::graph)));
  levels_->setToolTip("Source: the file that the model was read from; below it what it became");
  find_ = new QLineEdit;
  find_->setObjectName(name + "Find");
  find_->setPlaceholderText("Find");
  find_->setToolTip("Enter: the next match; Shift+Enter: the previous match");
  find_->setClearButtonEnabled(true);
  find_->setMinimumWidth(50);
  found_ = new QLabel;
  note_ = new QLabel;
  note_->setObjectName(name + "Note");
  note_->setForegroundRole(QPalette::PlaceholderText);
  note_->hide();
  auto* wrap = new QToolButton;
  wrap->setText("Wrap");
  wrap->setToolTip("Wrap long lines");
  wrap->setObjectName(name + "Wrap");
  wrap->setCheckable(true);
  auto* save = new QToolButton;
  save->setText(QString::fromUtf8("Save…"));
  save->setToolTip("Write this text to a file");
  save->setObjectName(name + "Save");
  row_->addWidget(levels_);
  row_->addWidget(find_, 1);
  row_->addWidget(found_);
  row_->addWidget(note_);
  row_->addWidget(wrap);
  row_->addWidget(save);
  column->addLayout(row_);
  view_ = new CodeView;
  view_->setObjectName(name + "Text");
  view_->setShortNames(true);
  column->addWidget(view_, 1);
  connect(levels_, &QComboBox::currentIndexChanged, this, [this] {
    setFault({});
    Q_EMIT levelChosen();
  });
  connect(wrap, &QToolButton::toggled, view_, &CodeView::setWrapped);
  connect(save, &QToolButton::clicked, this, [this] {
    const QString file = chooseSaveFile(this, "Write " + titleOf(level()), "level.txt", "Text (*.txt)");
    if (!file.isEmpty()) Q_EMIT saveWanted(file);
  });
  connect(view_, &CodeView::findAsked, this, [this] {
    find_->setFocus();
    find_->selectAll();
  });
  connect(find_, &QLineEdit::textChanged, this, [this] { sayFound(); });
  connect(find_, &QLineEdit::returnPressed, this, [this] {
    const bool back = (QGuiApplication::keyboardModifiers() & Qt::ShiftModifier) != 0;
    find(back ? CodeView::Direction::backward : CodeView::Direction::forward);
  });
}

IrLevel LevelPane::level() const { return static_cast<IrLevel>(levels_->currentData().toInt()); }

void LevelPane::setLevel(IrLevel level) {
  if (level == this->level()) return;
  const QSignalBlocker block(levels_);
  levels_->setCurrentIndex(levels_->findData(static_cast<int>(level)));
  setFault({});
}

void LevelPane::setText(Shared<IrText> text, std::shared_ptr<const CodeText> code) {
  text_ = std::move(text);
  view_->setTakesMarks(text_->level == IrLevel::bytecode);
  code_ = std::move(code);
  covered_ = false;
  view_->setCode(code_);
  sayFound();
}

void LevelPane::setFault(const QString& instead) {
  text_ = nullptr;
  code_ = nullptr;
  covered_ = false;
  view_->setTakesMarks(false);
  view_->setPlainText(instead);
  found_->clear();
}

void LevelPane::setNote(const QString& note) {
  note_->setText(note);
  note_->setVisible(!note.isEmpty());
}

bool LevelPane::cover(const QString& message) {
  if (!code_ || (message.isEmpty() && !covered_)) return false;
  covered_ = !message.isEmpty();
  covered_ ? view_->setPlainText(message) : view_->setCode(code_);
  return true;
}

void LevelPane::addButton(QToolButton* button) { row_->addWidget(button); }

void LevelPane::find(CodeView::Direction direction) { view_->find(find_->text(), direction); }

void LevelPane::sayFound() {
  view_->setSought(find_->text());
  const bool asked = text_ && !find_->text().isEmpty();
  found_->setText(asked ? QString::number(view_->findCount(find_->text())) : QString());
}

}  // namespace dyn::ui
