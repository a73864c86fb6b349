// IrTextView: the text IR, coloured; and the differences between two steps. A line that is clicked, or
// reached by the keyboard, is an operation: nodeChosen() says which.
#pragma once

#include "app/session/views/code_views.h"
#include "app/session/views/node_id.h"
#include "app/session/views/pass_views.h"
#include "ui/views/code/code_view.h"

namespace dyn::ui {

class IrTextView : public CodeView {
  Q_OBJECT
 public:
  explicit IrTextView(QWidget* parent = nullptr);
  void showIr(const IrText& text);
  void showDiff(const DiffView& diff);
  // A text made elsewhere, with the lines of its operations in ascending order.
  void showAligned(std::shared_ptr<const CodeText> code, std::vector<IrLine> lines);
  void showNode(NodeId node);  // marks the line of that operation; none has one: no line is marked
  NodeId nodeAtLine(uint32_t line) const;  // 1-based; of the operation that the line is part of

 Q_SIGNALS:
  void nodeChosen(quint64 node);

 private:
  std::vector<IrLine> lines_;  // in the order of their lines
};

}  // namespace dyn::ui
