// IrTextView: the text IR, highlighted; and the differences between two steps, coloured.
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
  void showNode(NodeId node);  // marks the line of that operation

 private:
  void colorLines(const std::vector<QColor>& colors);  // by line; invalid: none
  std::vector<IrLine> lines_;
};

}  // namespace dyn::ui
