#include "app/session/handlers/named_value.h"

#include "app/engine/run/run_result.h"
#include "app/session/handlers/stop_text.h"
#include "app/session/session_state.h"

namespace dyn {

namespace {

std::shared_ptr<const RunResult> lastRun(const SessionState& state) {
  return state.now.model ? state.runs.last(state.now.model) : nullptr;
}

}  // namespace

std::optional<BoundValue> namedValue(const SessionState& state, const std::string& name) {
  if (std::optional<BoundValue> stopped = stoppedValue(state, name)) return stopped;
  if (const BoundValue* bound = state.values.find(name)) return *bound;
  const std::shared_ptr<const RunResult> run = lastRun(state);
  for (size_t i = 0; run && i < run->outputs.size(); ++i)
    if (run->outputs[i].name == name) return BoundValue{run->outputs[i].value, run->outputs[i].type};
  return std::nullopt;
}

std::vector<std::string> namesOfValues(const SessionState& state) {
  std::vector<std::string> names = stoppedNames(state);
  for (const auto& [name, bound] : state.values) names.push_back(name);
  const std::shared_ptr<const RunResult> run = lastRun(state);
  for (size_t i = 0; run && i < run->outputs.size(); ++i) names.push_back(run->outputs[i].name);
  return names;
}

}  // namespace dyn
