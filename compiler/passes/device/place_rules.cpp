#include "compiler/passes/device/place_rules.h"

#include <algorithm>
#include <sstream>

#include "compiler/ops/op_table.h"
#include "compiler/support/suggestion.h"

namespace dyn {

Result<std::vector<PlaceRule>> parsePlaces(const std::string& lines) {
  std::vector<PlaceRule> rules;
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) {
    if (line.empty()) continue;
    const size_t equals = line.rfind('=');
    const DeviceRow* side = equals == std::string::npos ? nullptr : findDevice(line.substr(equals + 1));
    if (equals == 0 || !side || side->isSimulated() || line.find_first_of(",{}") != std::string::npos)
      return makeError(DiagnosticId::usageError,
                       "--place " + line + " is not of the form " + namesOfSides("OPERATOR=", " or "))
          .note("it may be a node of the model or a value, too");
    PlaceRule rule{line.substr(0, equals), side->kind};
    if (rule.what[0] == '%') rule.what.erase(0, 1);
    std::erase_if(rules, [&](const PlaceRule& earlier) { return earlier.what == rule.what; });
    rules.push_back(std::move(rule));
  }
  return rules;
}

std::string joinedPlaces(const std::vector<std::string>& places) {
  std::string lines;
  for (const std::string& place : places) lines += place + "\n";
  return lines;
}

bool isNode(const std::string& what, const std::string& node) {
  return !node.empty() && node.compare(0, what.size(), what) == 0 &&
         (node.size() == what.size() || node.compare(what.size(), 2, " (") == 0);
}

const PlaceRule* PlaceRules::ruleOf(const Op& op) {
  const PlaceRule* last = nullptr;
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (!concerns(rules_[i].what, op)) continue;
    met_[i] = true;
    last = &rules_[i];
  }
  return last;
}

bool PlaceRules::concerns(const std::string& what, const Op& op) const {
  if (what == op.def->name || isNode(what, op.place.node)) return true;
  for (const ValueDef& result : op.results)
    if (ir_.valueName(result.id) == what) return true;
  if (op.def != &ops::fusedOp) return false;
  return std::any_of(op.regions[0]->ops.begin(), op.regions[0]->ops.end(),
                     [&](const Op* inner) { return concerns(what, *inner); });
}

Status PlaceRules::allMet(std::span<const PlacedOperation> placed) const {
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (met_[i]) continue;
    std::vector<std::string_view> names;
    for (const PlacedOperation& row : placed) {
      names.push_back(row.operation);
      names.insert(names.end(), row.values.begin(), row.values.end());
    }
    const std::string near = suggestion(rules_[i].what, names);
    return makeError(DiagnosticId::usageError, "--place " + rules_[i].text() +
                                                   ": the program has no operator, node or value " +
                                                   rules_[i].what)
        .note(near.empty() ? "inspect --pass devices without --place lists the operators"
                           : "did you mean " + near + "?");
  }
  return {};
}

}  // namespace dyn
