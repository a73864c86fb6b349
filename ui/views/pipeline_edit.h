// PipelineEdit: the pipeline as text: `-fuse` leaves a pass out, `+fuse{max=4}` sets an option, a list of
// names is all there is. Enter compiles the model anew with it.
#pragma once

#include <QWidget>

#include "app/session/session.h"
#include "app/session/views/pass_views.h"

class QLabel;
class QLineEdit;
class QMenu;

namespace dyn::ui {

class PipelineEdit : public QWidget {
  Q_OBJECT
 public:
  explicit PipelineEdit(QWidget* parent = nullptr);

  void showPasses(const PassList& list);
  // True when it answers this edit: what is wrong with the text is said below it.
  bool take(const Outcome& outcome);
  // What can be done with a pass: leave it out, set an option.
  void addActions(QMenu& menu, const PassRow& pass);
  QString fault() const;
  // Compiles anew with these edits; with those that the model has, nothing.
  void ask(const QString& edits);

 Q_SIGNALS:
  void asked(const Command& command);

 private:
  void append(const QString& edit, int cursorFromEnd);

  QLineEdit* text_ = nullptr;
  QLabel* fault_ = nullptr;
  QString edits_;  // that the model was compiled with
};

}  // namespace dyn::ui
