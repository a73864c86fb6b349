// Views that another thread frees: to free a graph of 20,000 operations takes longer than an event may.
#pragma once

#include <memory>

#include "app/session/session.h"
#include "ui/support/inbox.h"

namespace dyn::ui {

// The same view; who lets go of it last hands its memory to the worker and does not wait.
template <typename T>
Shared<T> freedBeside(Shared<T> view, std::shared_ptr<Worker> worker) {
  const T* shown = view.get();
  return Shared<T>(shown, [view = std::move(view), worker = std::move(worker)](const T*) mutable {
    worker->post([view = std::move(view)] {});
  });
}

// The event with an outcome whose view is freed beside.
inline Event freedBeside(Event event, const std::shared_ptr<Worker>& worker) {
  if (!event.outcome) return event;
  auto outcome = std::make_shared<Outcome>(*event.outcome);
  outcome->view.replaceOwner([&](Shared<void> view) { return freedBeside(std::move(view), worker); });
  event.outcome = std::move(outcome);
  return event;
}

}  // namespace dyn::ui
