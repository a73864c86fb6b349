// IrPair: the text of a step, and beside it the text of the step that it is compared with, the earlier one at
// the left. Lines of one operation are at one height; both scroll together and have one choice.
#pragma once

#include <QWidget>
#include <optional>

#include "ui/views/code/ir_text.h"

class QLabel;
class QSplitter;

namespace dyn::ui {

class IrPair : public QWidget {
  Q_OBJECT
 public:
  explicit IrPair(QWidget* parent = nullptr);

  void setText(const IrText& text);   // of the step that is shown
  void setOther(const IrText& text);  // of the one beside it
  void dropOther();                   // alone again
  void clear();
  void showNode(NodeId node);
  IrTextView* view() const { return shown_; }
  IrTextView* other() const { return other_; }
  int otherStep() const { return otherText_ ? otherText_->step : -1; }
  bool isSideBySide() const { return isPair_; }

 Q_SIGNALS:
  void nodeChosen(quint64 node);

 private:
  void refresh();
  QWidget* titled(IrTextView* view, QLabel*& title);

  IrTextView *shown_ = nullptr, *other_ = nullptr;
  QLabel *shownTitle_ = nullptr, *otherTitle_ = nullptr;
  QSplitter* parts_ = nullptr;
  QWidget* otherPart_ = nullptr;
  std::optional<IrText> text_, otherText_;
  NodeId node_;
  bool isPair_ = false, isScrolling_ = false;
};

}  // namespace dyn::ui
