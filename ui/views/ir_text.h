// IrTextView: the text IR, highlighted; and the differences between two steps, coloured. A line that is
// clicked, or reached by the keyboard, is an operation: nodeChosen() says which.
#pragma once

#include <QPlainTextEdit>

#include "app/session/views.h"

namespace dyn::ui {

class IrTextView : public QPlainTextEdit {
  Q_OBJECT
 public:
  explicit IrTextView(QWidget* parent = nullptr);
  void showIr(const IrText& text);
  void showDiff(const DiffView& diff);
  void showNode(NodeId node);              // marks the line of that operation
  NodeId nodeAtLine(uint32_t line) const;  // 1-based; of the operation that the line is part of

 Q_SIGNALS:
  void nodeChosen(quint64 node);

 protected:
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void keyReleaseEvent(QKeyEvent* event) override;

 private:
  void chooseLine();
  void colorLines(const std::vector<QColor>& colors);  // by line; invalid: none
  std::vector<IrLine> lines_;                          // in the order of their lines
  int chosenLine_ = -1;
};

}  // namespace dyn::ui
