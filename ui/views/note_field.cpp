#include "ui/views/note_field.h"

#include <QEvent>
#include <QKeyEvent>
#include <QLabel>
#include <QPlainTextEdit>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include "ui/support/theme.h"

namespace dyn::ui {

namespace {
constexpr int kNoteLines = 3;
}  // namespace

NoteField::NoteField(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kSpaceSmall, kSpaceTiny, kSpaceSmall, kSpaceSmall);
  column->setSpacing(kSpaceTiny);
  title_ = new QLabel("Note");
  title_->setFont(fontOf(TextStep::section));
  edit_ = new QPlainTextEdit;
  edit_->setObjectName("note");
  edit_->setAccessibleName("Note");
  edit_->setPlaceholderText("Your own words on this operation");
  edit_->setToolTip("Saved beside the model when you leave the field (Ctrl+Enter); an empty note is removed");
  edit_->setTabChangesFocus(true);
  edit_->setFixedHeight(edit_->fontMetrics().lineSpacing() * kNoteLines + 14);
  edit_->installEventFilter(this);
  title_->setBuddy(edit_);
  fault_ = new QLabel;
  fault_->setObjectName("noteFault");
  fault_->setWordWrap(true);
  fault_->setForegroundRole(QPalette::BrightText);
  fault_->hide();
  column->addWidget(title_);
  column->addWidget(edit_);
  column->addWidget(fault_);
  connect(edit_, &QPlainTextEdit::textChanged, this, [this] { edited_ = true; });
  hide();
}

QString NoteField::kept(const QString& name) const {
  const auto found = kept_.find(name);
  return found == kept_.end() ? QString() : found->second;
}

void NoteField::fill() {
  const auto draft = drafts_.find(name_);
  const QString text = draft == drafts_.end() ? kept(name_) : draft->second;
  if (edit_->toPlainText() != text) {
    const QSignalBlocker quiet(edit_);
    edit_->setPlainText(text);
  }
  edited_ = false;
  const bool isFaulty = draft != drafts_.end() && !lastFault_.isEmpty();
  fault_->setText(isFaulty ? "Not saved: " + lastFault_ : QString());
  fault_->setVisible(isFaulty);
}

void NoteField::setNode(const QString& name, const QString& what) {
  if (name == name_) {
    if (!edited_) fill();
  } else {
    commit();
    name_ = name;
    fill();
  }
  title_->setToolTip(what);
  setVisible(!name_.isEmpty());
}

void NoteField::setNotes(Shared<NoteList> notes) {
  kept_.clear();
  if (!notes) {
    drafts_.clear();
    lastFault_.clear();
    edited_ = false;
  }
  for (size_t i = 0; notes && i < notes->rows.size(); ++i)
    kept_[QString::fromStdString(notes->rows[i].node)] = QString::fromStdString(notes->rows[i].text);
  std::erase_if(drafts_, [&](const auto& draft) { return draft.second == kept(draft.first); });
  if (drafts_.empty()) lastFault_.clear();
  if (!edited_) fill();
}

void NoteField::showFault(const QString& fault) {
  lastFault_ = fault;
  if (!edited_) fill();
}

void NoteField::commit() {
  if (!edited_ || name_.isEmpty()) return;
  edited_ = false;
  const QString text = edit_->toPlainText().trimmed();
  if (text == kept(name_)) {
    drafts_.erase(name_);
    return;
  }
  drafts_[name_] = text;
  Q_EMIT written(name_, text);
}

void NoteField::takeKeys() {
  edit_->setFocus();
  edit_->moveCursor(QTextCursor::End);
}

std::map<QString, QString> NoteField::unsaved() const {
  std::map<QString, QString> all = drafts_;
  const QString text = edit_->toPlainText().trimmed();
  if (edited_ && !name_.isEmpty() && text != kept(name_)) all[name_] = text;
  return all;
}

bool NoteField::eventFilter(QObject* watched, QEvent* event) {
  if (watched == edit_ && event->type() == QEvent::FocusOut) commit();
  if (watched == edit_ && event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    const bool isEnter = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
    if (key->key() == Qt::Key_Escape || (isEnter && key->modifiers().testFlag(Qt::ControlModifier))) {
      commit();
      Q_EMIT left();
      return true;
    }
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace dyn::ui
