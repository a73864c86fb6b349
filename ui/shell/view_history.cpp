#include "ui/shell/view_history.h"

namespace dyn::ui {

class ViewHistory::Change : public QUndoCommand {
 public:
  Change(ViewHistory& history, ViewState before, ViewState after, const QString& what)
      : QUndoCommand(what), history_(history), before_(std::move(before)), after_(std::move(after)) {}

  void undo() override { show(before_); }
  // A stack does what is pushed to it: this was done already.
  void redo() override {
    if (done_) show(after_);
    done_ = true;
  }
  int id() const override { return before_.dims != after_.dims ? 1 : -1; }
  bool mergeWith(const QUndoCommand* other) override {
    if (other->text() != text()) return false;
    after_ = static_cast<const Change*>(other)->after_;
    return true;
  }

 private:
  void show(const ViewState& state) {
    history_.now_ = state;
    history_.restoring_ = true;  // what this changes is no change of a person
    Q_EMIT history_.restored(state);
    history_.restoring_ = false;
  }

  ViewHistory& history_;
  ViewState before_, after_;
  bool done_ = false;
};

ViewHistory::ViewHistory(QObject* parent) : QObject(parent) {
  constexpr int kMostKept = 200;
  stack_.setUndoLimit(kMostKept);
}

void ViewHistory::begin(ViewState state) {
  stack_.clear();
  now_ = std::move(state);
}

void ViewHistory::readAgain(ViewState now) {
  if (now.pipeline != now_.pipeline) return note(std::move(now), "pipeline");
  now_ = std::move(now);
}

void ViewHistory::note(ViewState now, const QString& what) {
  if (restoring_ || now == now_) return;
  const ViewState before = std::exchange(now_, now);
  stack_.push(new Change(*this, before, std::move(now), what));
}

}  // namespace dyn::ui
