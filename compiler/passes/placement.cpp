#include "compiler/passes/placement.h"

#include <sstream>

namespace dyn {

Result<std::vector<PlaceRule>> parsePlaces(const std::string& lines) {
  std::vector<PlaceRule> rules;
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) {
    if (line.empty()) continue;
    const size_t equals = line.rfind('=');
    const std::string side = equals == std::string::npos ? "" : line.substr(equals + 1);
    if (equals == 0 || (side != "cpu" && side != "cuda") || line.find_first_of(",{}") != std::string::npos)
      return makeError(DiagnosticId::usageError,
                       "--place " + line + " is not of the form OPERATOR=cpu or OPERATOR=cuda")
          .note("it may be a node of the model or a value, too");
    PlaceRule rule{line.substr(0, equals), side == "cuda"};
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

}  // namespace dyn
