#include "ui/views/code/level_pane.h"

#include <QComboBox>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QResizeEvent>
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
  find_->setMinimumWidth(24);
  found_ = new QLabel;
  note_ = new QLabel;
  note_->setObjectName(name + "Note");
  note_->setForegroundRole(QPalette::PlaceholderText);
  note_->hide();
  wrap_ = new QToolButton;
  wrap_->setText("Wrap");
  wrap_->setToolTip("Wrap long lines");
  wrap_->setObjectName(name + "Wrap");
  wrap_->setCheckable(true);
  save_ = new QToolButton;
  save_->setText(QString::fromUtf8("Save…"));
  save_->setToolTip("Write this text to a file");
  save_->setObjectName(name + "Save");
  more_ = new QToolButton;
  more_->setText(QString::fromUtf8("⋯"));
  more_->setToolTip("Wrap, save");
  more_->setAccessibleName("More");
  more_->setObjectName(name + "More");
  more_->setPopupMode(QToolButton::InstantPopup);
  auto* menu = new QMenu(more_);
  QAction* wrapped = menu->addAction("Wrap long lines");
  wrapped->setCheckable(true);
  connect(wrapped, &QAction::toggled, wrap_, &QToolButton::setChecked);
  connect(wrap_, &QToolButton::toggled, wrapped, &QAction::setChecked);
  connect(menu->addAction(QString::fromUtf8("Save…")), &QAction::triggered, save_, &QToolButton::click);
  more_->setMenu(menu);
  more_->hide();
  row_->addWidget(levels_);
  row_->addWidget(find_, 1);
  row_->addWidget(found_);
  row_->addWidget(note_);
  row_->addWidget(wrap_);
  row_->addWidget(save_);
  row_->addWidget(more_);
  column->addLayout(row_);
  view_ = new CodeView;
  view_->setObjectName(name + "Text");
  view_->setShortNames(true);
  column->addWidget(view_, 1);
  setMinimumWidth(kLeastWidth);
  connect(levels_, &QComboBox::currentIndexChanged, this, [this] {
    setFault({});
    Q_EMIT levelChosen();
  });
  connect(wrap_, &QToolButton::toggled, view_, &CodeView::setWrapped);
  connect(save_, &QToolButton::clicked, this, [this] {
    const QString file = chooseSaveFile(this, "Write " + titleOf(level()), "level.txt", "Text (*.txt)");
    if (!file.isEmpty()) Q_EMIT saveWanted(file);
  });
  connect(view_, &CodeView::findAsked, this, [this] {
    find_->show();
    find_->setFocus();
    find_->selectAll();
  });
  connect(find_, &QLineEdit::textChanged, this, [this] { sayFound(); });
  connect(find_, &QLineEdit::returnPressed, this, [this] {
    const bool back = (QGuiApplication::keyboardModifiers() & Qt::ShiftModifier) != 0;
    find(back ? CodeView::Direction::backward : CodeView::Direction::forward);
  });
}

// Of three columns in a small window each has room for its level, the search and little more.
void LevelPane::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  constexpr int kRoomy = 330;
  const bool isRoomy = width() >= kRoomy + added_;
  wrap_->setVisible(isRoomy);
  save_->setVisible(isRoomy);
  find_->setVisible(isRoomy || added_ == 0 || !find_->text().isEmpty());  // else it comes by Ctrl+F
  more_->setVisible(!isRoomy);
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

void LevelPane::addButton(QToolButton* button) {
  constexpr int kButtonWidth = 24;
  button->setFixedWidth(kButtonWidth);
  added_ += kButtonWidth + row_->spacing();
  row_->addWidget(button);
}

void LevelPane::find(CodeView::Direction direction) { view_->find(find_->text(), direction); }

void LevelPane::sayFound() {
  view_->setSought(find_->text());
  const bool asked = text_ && !find_->text().isEmpty();
  found_->setText(asked ? QString::number(view_->findCount(find_->text())) : QString());
}

}  // namespace dyn::ui
