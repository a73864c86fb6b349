#include "app/session/answers/why_stages.h"

#include <map>
#include <vector>

#include "app/session/answers/step_counter.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"

namespace dyn {

namespace {

struct StageRow {
  int64_t branches = 0;
  std::map<int64_t, std::vector<std::string>> made;  // by branch: what its operations write, in order
};

// In the order of a run. Stages of different functions may have the same number.
std::vector<StageRow> stagesOf(const Module& module) {
  std::vector<StageRow> rows;
  for (const FunctionVisit& visit : functionsOf(module)) {
    int64_t open = -1;
    for (const Op* op : visit.function->ops) {
      const int64_t stage = op->attributes.integer("stage", -1);
      if (op->def != &ops::intoOp || stage < 0) continue;
      if (stage != open) rows.push_back({op->attributes.integer("branches"), {}});
      open = stage;
      const size_t outputs = static_cast<size_t>(op->attributes.integer("outputs"));
      rows.back().made[op->attributes.integer("branch")].push_back(
          "%" + module.context->valueName(op->operands[op->operands.size() - outputs]));
    }
  }
  return rows;
}

std::string joined(const std::vector<std::string>& names) {
  constexpr size_t kShown = 6;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kShown; ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

}  // namespace

Result<WhyView> whyStages(const Trace& trace) {
  const TraceStep* step = trace.find("stages");
  if (!step)
    return makeError(DiagnosticId::usageError, "this program runs one operation after the other")
        .note("--passes +stages, or :set passes +stages before :load, lets branches run at the same time");
  WhyView view;
  view.question = "which operations run at the same time?";
  const std::vector<StageRow> rows = stagesOf(step->after);
  if (rows.empty()) {
    view.answer = "none";
    view.lines.push_back("No sequence of stages was found that gains 2 % at sample sizes.");
    view.lines.insert(view.lines.end(), step->remarks.begin(), step->remarks.end());
    return view;
  }
  view.answer = std::to_string(counterOf(*step, "operations_in_stages")) + " operations, in " +
                std::to_string(rows.size()) + (rows.size() == 1 ? " stage" : " stages");
  view.lines.push_back("By the costs of operations at sample sizes a run is " +
                       std::to_string(counterOf(*step, "expected_gain_percent")) +
                       " % faster. Runs of new sizes try both ways, and later ones take the faster.");
  for (size_t i = 0; i < rows.size(); ++i) {
    view.lines.push_back("stage " + std::to_string(i + 1) + ": " + std::to_string(rows[i].branches) +
                         " branches");
    for (const auto& [branch, names] : rows[i].made) view.lines.push_back("  " + joined(names));
  }
  return view;
}

}  // namespace dyn
