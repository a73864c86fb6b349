// Handlers: what runs on the GPU and what beside it.
#include <algorithm>

#include "app/engine/device/device_name.h"
#include "app/session/explain/placement_view.h"
#include "app/session/handlers/compile_anew.h"
#include "app/session/session_state.h"
#include "app/session/views/device_views.h"
#include "app/session/views/view.h"

namespace dyn {

namespace {

// A later wish about the same takes the place of an earlier one.
Status wish(SessionState& state, const std::string& rule) {
  std::vector<std::string>& places = state.now.options.places;
  DYN_CHECK(checkPlaces({rule}));
  const std::string what = rule.substr(0, rule.rfind('=') + 1);
  std::erase_if(places,
                [&](const std::string& place) { return place.substr(0, place.rfind('=') + 1) == what; });
  places.push_back(rule);
  return compileAnew(state);
}

}  // namespace

Result<View> handle_place(SessionState& state, const Command& command, Outcome&) {
  std::string what = command.text("what");
  DYN_TRY([[maybe_unused]] const LoadedModel* loaded, state.model());
  if (command.has("clear")) {
    if (!what.empty()) return makeError(DiagnosticId::usageError, "place --clear: of all wishes, not of one");
    state.now.options.places.clear();
    DYN_CHECK(compileAnew(state));
  } else if (what.find('=') != std::string::npos) {
    if (isOnHost(state.now.options.device)) return nothingBesideHost();
    DYN_CHECK(wish(state, what));
    what.resize(what.rfind('='));
  }
  DYN_TRY(LoadedModel * model, state.model());
  DYN_TRY(PlacementView view, placementView(*model, what));
  return makeView(std::move(view));
}

}  // namespace dyn
