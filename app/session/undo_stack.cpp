#include "app/session/undo_stack.h"

#include <set>

namespace dyn {

void UndoStack::push(UndoStep step, BoundValues& values) {
  steps_.push_back(std::move(step));
  trim(values);
}

UndoStep UndoStack::pop() {
  UndoStep step = std::move(steps_.back());
  steps_.pop_back();
  return step;
}

void UndoStack::trim(BoundValues& values) {
  // Counted from the newest step: those before the one that is too much go.
  std::set<const void*> models, runners;
  size_t kept = 0;
  for (auto step = steps_.rbegin(); step != steps_.rend() && kept < kMostSteps; ++step, ++kept) {
    models.insert(step->before.model.get());
    runners.insert(step->before.runner.get());
    models.erase(nullptr);
    runners.erase(nullptr);
    if (models.size() > kMostPrograms || runners.size() > kMostPrograms) break;
  }
  while (steps_.size() > kept) steps_.pop_front();
  if (!steps_.empty()) values.forgetBefore(steps_.front().valuesMark);
  while (!steps_.empty() && values.rememberedBytes() > kMostValueBytes) {
    steps_.pop_front();
    values.forgetBefore(steps_.empty() ? values.mark() : steps_.front().valuesMark);
  }
}

}  // namespace dyn
