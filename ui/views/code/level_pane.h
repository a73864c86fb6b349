// LevelPane: the text of one level of the model, with a choice of level, find, wrapped or scrolled long
// lines, and a file to write it to.
#pragma once

#include <QWidget>
#include <array>

#include "app/session/views/code_views.h"
#include "app/session/views/view.h"
#include "ui/views/code/code_view.h"

class QComboBox;
class QHBoxLayout;
class QLabel;
class QLineEdit;
class QToolButton;

namespace dyn::ui {

constexpr std::array<IrLevel, 6> kShownLevels = {IrLevel::source, IrLevel::graph,    IrLevel::loop,
                                                 IrLevel::llvm,   IrLevel::assembly, IrLevel::bytecode};
QString titleOf(IrLevel level);  // "Loop IR"

class LevelPane : public QWidget {
  Q_OBJECT
 public:
  explicit LevelPane(const QString& name, QWidget* parent = nullptr);

  IrLevel level() const;
  void setLevel(IrLevel level);  // no signal; the text of another level goes
  // Null: none yet, and `instead` is shown.
  void setText(Shared<IrText> text, std::shared_ptr<const CodeText> code);
  void setFault(const QString& instead);
  void setNote(const QString& note);  // beside the search; "": none
  // In front of the text, which stays: what is chosen elsewhere has nothing here. "": the text again.
  bool cover(const QString& message);  // true: another text is shown now
  bool isCovered() const { return covered_; }
  const Shared<IrText>& text() const { return text_; }
  CodeView* view() const { return view_; }
  static constexpr int kLeastWidth = 150;
  void addButton(QToolButton* button);  // narrow  // at the right of its row
  void find(CodeView::Direction direction = CodeView::Direction::forward);

 Q_SIGNALS:
  void levelChosen();
  void saveWanted(const QString& file);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void sayFound();

  Shared<IrText> text_;
  std::shared_ptr<const CodeText> code_;  // of text_
  bool covered_ = false;
  int added_ = 0;  // width of the buttons that were added
  QComboBox* levels_ = nullptr;
  QLineEdit* find_ = nullptr;
  QLabel* found_ = nullptr;
  QLabel* note_ = nullptr;
  QToolButton *wrap_ = nullptr, *save_ = nullptr;
  QToolButton* more_ = nullptr;  // both, where there is no room for them
  QHBoxLayout* row_ = nullptr;
  CodeView* view_ = nullptr;
};

}  // namespace dyn::ui
