#include "ui/views/code/ir_pair.h"

#include <QLabel>
#include <QScrollBar>
#include <QSplitter>
#include <QVBoxLayout>

#include "app/session/views/node_id.h"
#include "ui/support/theme.h"
#include "ui/views/code/aligned_texts.h"

namespace dyn::ui {

namespace {

// "after fuse: 12 lines added, 3 changed"
QString sideTitle(const IrText& text, int otherCount, const char* what, int changedCount) {
  QStringList parts;
  if (otherCount > 0)
    parts << QString("%1 %2 %3").arg(otherCount).arg(otherCount == 1 ? "line" : "lines", what);
  if (changedCount > 0) parts << QString("%1 changed").arg(changedCount);
  return QString::fromStdString(text.title) + ": " + (parts.isEmpty() ? "the same" : parts.join(", "));
}

}  // namespace

IrPair::IrPair(QWidget* parent) : QWidget(parent), node_(kNoNode) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  parts_ = new QSplitter(Qt::Horizontal);
  parts_->setObjectName("irPair");
  parts_->setChildrenCollapsible(false);
  column->addWidget(parts_);
  shown_ = new IrTextView;
  other_ = new IrTextView;
  shown_->setObjectName("irText");
  other_->setObjectName("otherIrText");
  other_->setAccessibleName("The text of the step that is compared");
  parts_->addWidget(titled(shown_, shownTitle_));
  otherPart_ = titled(other_, otherTitle_);
  parts_->addWidget(otherPart_);
  otherPart_->hide();
  shownTitle_->setObjectName("irTextTitle");
  otherTitle_->setObjectName("otherIrTextTitle");
  for (IrTextView* view : {shown_, other_}) {
    IrTextView* with = view == shown_ ? other_ : shown_;
    connect(view, &IrTextView::nodeChosen, this, &IrPair::nodeChosen);
    for (QScrollBar* (QAbstractScrollArea::*bar)() const :
         {&QAbstractScrollArea::verticalScrollBar, &QAbstractScrollArea::horizontalScrollBar})
      connect((view->*bar)(), &QScrollBar::valueChanged, this, [this, with, bar](int value) {
        // One that is narrower stops earlier, and does not draw the other back.
        if (!isPair_ || isScrolling_) return;
        isScrolling_ = true;
        (with->*bar)()->setValue(value);
        isScrolling_ = false;
      });
  }
}

QWidget* IrPair::titled(IrTextView* view, QLabel*& title) {
  auto* part = new QWidget;
  auto* column = new QVBoxLayout(part);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  title = new QLabel;
  title->setMargin(4);
  title->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  title->hide();
  column->addWidget(title);
  column->addWidget(view, 1);
  return part;
}

void IrPair::setText(const IrText& text) {
  text_ = text;
  refresh();
}

void IrPair::setOther(const IrText& text) {
  otherText_ = text;
  refresh();
}

void IrPair::dropOther() {
  if (!otherText_) return;
  otherText_.reset();
  refresh();
}

void IrPair::clear() {
  text_.reset();
  otherText_.reset();
  node_ = kNoNode;
  refresh();
  shown_->clear();
  other_->clear();
}

void IrPair::refresh() {
  isPair_ = text_ && otherText_ && text_->step != otherText_->step;
  shownTitle_->setVisible(isPair_);
  otherTitle_->setVisible(isPair_);
  const bool came = isPair_ && otherPart_->isHidden();
  otherPart_->setVisible(isPair_);
  if (!isPair_) {
    if (text_) shown_->showIr(*text_);
    return showNode(node_);
  }
  const bool isOtherFirst = otherText_->step < text_->step;
  if ((parts_->indexOf(otherPart_) == 0) != isOtherFirst)
    parts_->insertWidget(isOtherFirst ? 0 : 1, otherPart_);
  if (came) parts_->setSizes({1000, 1000});
  IrTextView *left = isOtherFirst ? other_ : shown_, *right = isOtherFirst ? shown_ : other_;
  QLabel *leftTitle = isOtherFirst ? otherTitle_ : shownTitle_,
         *rightTitle = isOtherFirst ? shownTitle_ : otherTitle_;
  const IrText &before = isOtherFirst ? *otherText_ : *text_, &after = isOtherFirst ? *text_ : *otherText_;
  AlignedTexts texts = alignTexts(before, after);
  leftTitle->setText(sideTitle(before, texts.removedCount, "removed", texts.changedCount));
  rightTitle->setText(sideTitle(after, texts.addedCount, "added", texts.changedCount));
  // Rows stand at one height only where no line takes two.
  for (IrTextView* view : {left, right}) view->setWrapped(false);
  left->showAligned(texts.before, std::move(texts.beforeLines));
  right->showAligned(texts.after, std::move(texts.afterLines));
  if (node_ != kNoNode) return showNode(node_);
  // To the first difference.
  for (size_t line = 0; line < texts.after->marks.size(); ++line)
    if (texts.after->marks[line] != LineMark::none)
      return shown_->showLine(static_cast<int>(line), CodeView::Reveal::ifHidden);
}

void IrPair::showNode(NodeId node) {
  node_ = node;
  shown_->showNode(node);
  if (isPair_) other_->showNode(node);
}

}  // namespace dyn::ui
