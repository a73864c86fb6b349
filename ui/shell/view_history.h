// ViewHistory: undo and redo of what a person changed of the view: groups opened and closed, constants shown,
// sizes of dims, the pipeline. Values, settings and models of the session have :undo.
#pragma once

#include <QUndoStack>
#include <map>
#include <string>

#include "ui/graph/graph_canvas.h"

namespace dyn::ui {

struct ViewState {
  GraphLook look;
  std::map<std::string, int> dims;
  QString pipeline;  // its edits, as text
  bool operator==(const ViewState&) const = default;
};

class ViewHistory : public QObject {
  Q_OBJECT
 public:
  explicit ViewHistory(QObject* parent);

  void begin(ViewState state);  // of another model: nothing can be taken back
  // What is so now; `what` names the change. Changes of one dim that follow each other are one.
  void note(ViewState now, const QString& what);
  // What is so now that a pipeline was read again. One that came by undo is no change of a person.
  void readAgain(ViewState now);
  QUndoStack* stack() { return &stack_; }  // its actions are those of the menu

 Q_SIGNALS:
  void restored(const ViewState& state);  // is to be shown

 private:
  class Change;
  QUndoStack stack_;
  ViewState now_;
  bool restoring_ = false;
};

}  // namespace dyn::ui
