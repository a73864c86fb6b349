#include "app/session/explain/placement_view.h"

#include <algorithm>
#include <sstream>

#include "app/engine/device/device_name.h"
#include "app/engine/model/loaded_model.h"
#include "compiler/passes/device/place_rules.h"
#include "compiler/passes/device/placement.h"
#include "compiler/support/suggestion.h"
#include "compiler/target/device_kind.h"

namespace dyn {

namespace {

// The rules that the pass was given, by options and by the pipeline's text.
Result<std::vector<std::string>> rulesOf(const LoadedModel& model) {
  DYN_TRY(const Pipeline pipeline, pipelineOf(model.compileOptions()));
  std::vector<std::string> rules;
  for (const PipelineItem& item : pipeline) {
    const auto given = item.options.find("place");
    if (item.pass->name != "devices" || given == item.options.end()) continue;
    std::istringstream lines(given->second);
    for (std::string line; std::getline(lines, line);)
      if (!line.empty()) rules.push_back(line);
  }
  return rules;
}

std::vector<std::string> placedOperatorsOf(const std::string& operation) {
  std::vector<std::string> names;
  std::istringstream words(operation);
  for (std::string name; std::getline(words, name, '+');) names.push_back(name);
  return names;
}

bool concerns(const std::string& what, const PlacedOperation& row) {
  const std::vector<std::string> operators = placedOperatorsOf(row.operation);
  return std::count(row.values.begin(), row.values.end(), what) > 0 || row.operation == what ||
         std::count(operators.begin(), operators.end(), what) > 0 ||
         std::any_of(row.nodes.begin(), row.nodes.end(),
                     [&](const std::string& node) { return isNode(what, node); });
}

Error nothingCalled(const std::string& what, const std::vector<PlacedOperation>& log) {
  std::vector<std::string> names;
  for (const PlacedOperation& row : log) {
    for (std::string& name : placedOperatorsOf(row.operation)) names.push_back(std::move(name));
    names.insert(names.end(), row.values.begin(), row.values.end());
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string near = suggestion(what, views);
  return makeError(DiagnosticId::usageError, "the program has no operator, node or value " + what)
      .note(near.empty() ? ":place lists all" : "did you mean " + near + "?");
}

}  // namespace

Status checkPlaces(const std::vector<std::string>& places) {
  for (const std::string& place : places) {
    DYN_TRY([[maybe_unused]] const std::vector<PlaceRule> rules, parsePlaces(place));
    if (rules.size() != 1)
      return makeError(DiagnosticId::usageError,
                       "--place " + place + " is not of the form " + namesOfSides("OPERATOR=", " or "));
  }
  return {};
}

Result<PlacementView> placementView(LoadedModel& model, const std::string& what) {
  DYN_CHECK(model.ensurePasses());
  const CompileOptions options = model.compileOptions();
  const TraceStep* step = model.trace().find("devices");
  if (!options.target || options.target->isHostOnly() || !step) return nothingBesideHost();
  PlacementView view;
  view.device = toString(options.target->device);
  DYN_TRY(view.rules, rulesOf(model));
  DYN_TRY(const std::vector<PlacedOperation> log,
          explainPlacement(step->before, *options.target, view.rules));
  const auto copies = step->counters.find("device_copies");
  if (copies != step->counters.end()) view.copiesCount = copies->second;
  std::string name = what;
  if (!name.empty() && name[0] == '%') name.erase(0, 1);
  view.isWhole = name.empty();
  for (const PlacedOperation& row : log) {
    if (!name.empty() && !concerns(name, row)) continue;
    view.rows.push_back({row.values, row.operation, row.place, row.onDevice, row.reason, row.rule});
  }
  if (view.rows.empty() && !name.empty()) return nothingCalled(name, log);
  return view;
}

}  // namespace dyn
