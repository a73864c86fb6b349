#include "app/session/graph/trace_views.h"

#include "app/session/graph/node_ids.h"
#include "app/session/views/code_views.h"
#include "app/session/views/pass_views.h"
#include "compiler/ir/diff.h"
#include "compiler/ir/op_def.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/walk.h"
#include "compiler/support/suggestion.h"

namespace dyn {

namespace {

void fillDiff(const Module& before, const Module& after, DiffView& view) {
  const ModuleDiff diff = diffModules(before, after);
  const NodeIds idsBefore(before), idsAfter(after);
  std::unordered_map<const Op*, const Function*> owner;
  for (const Module* module : {&before, &after})
    if (module->context) forEachOp(*module, [&](const Function& f, const Op& op) { owner[&op] = &f; });
  auto functionOf = [&](const Op* op) { return owner.count(op) ? owner[op]->name : std::string(); };
  const IrContext& ir = *after.context;
  for (const Op* op : diff.removed)
    view.lines.push_back({DiffKind::removed, idsBefore.of(*op), print(ir, *op), "", {}, functionOf(op)});
  for (const ChangedOp& change : diff.changed) {
    DiffLine line{DiffKind::changed,
                  idsAfter.of(*change.after),
                  print(ir, *change.before),
                  print(ir, *change.after),
                  {},
                  functionOf(change.after)};
    if (change.operatorChanged) line.what.push_back("operator");
    if (change.operandsChanged) line.what.push_back("operands");
    if (change.attributesChanged) line.what.push_back("attributes");
    if (change.typesChanged) line.what.push_back("types");
    if (change.regionsChanged) line.what.push_back("regions");
    view.lines.push_back(std::move(line));
  }
  for (const Op* op : diff.added)
    view.lines.push_back({DiffKind::added, idsAfter.of(*op), "", print(ir, *op), {}, functionOf(op)});
  view.addedCount = static_cast<int64_t>(diff.added.size());
  view.removedCount = static_cast<int64_t>(diff.removed.size());
  view.changedCount = static_cast<int64_t>(diff.changed.size());
  view.unchangedCount = static_cast<int64_t>(diff.unchangedCount);
}

}  // namespace

std::string stepTitle(const TraceStep& step) {
  return step.kind == StepKind::import ? "as imported" : "after " + step.name;
}

Result<const TraceStep*> findStep(const Trace& trace, const std::string& nameOrIndex) {
  if (nameOrIndex.empty() || nameOrIndex == "placed") {
    for (auto step = trace.steps.rbegin(); step != trace.steps.rend(); ++step)
      if (step->diagnostics.empty()) return &*step;
  }
  if (const TraceStep* step = trace.find(nameOrIndex)) return step;
  std::vector<std::string_view> names;
  std::string list;
  for (const TraceStep& step : trace.steps) {
    names.push_back(step.name);
    list += (list.empty() ? "" : ", ") + step.name;
  }
  const std::string near = suggestion(nameOrIndex, names);
  return makeError(DiagnosticId::textName, "there is no step '" + nameOrIndex + "'")
      .note(near.empty() ? "the steps: " + list : "did you mean " + near + "?");
}

IrText irText(const TraceStep& step, Places places) {
  IrText text;
  text.step = step.index;
  text.title = stepTitle(step);
  PrintOptions options;
  if (places == Places::show) options.places = PrintOptions::Places::print;
  std::vector<PrintedLine> lines;
  text.text = print(step.after, options, &lines);
  const NodeIds ids(step.after);
  for (const PrintedLine& line : lines) text.lines.push_back({line.line, ids.of(*line.op)});
  return text;
}

PassList passList(const Trace& trace, int current) {
  PassList list;
  list.current = current;
  for (const TraceStep& step : trace.steps) {
    PassRow row;
    row.index = step.index;
    row.name = step.name;
    row.kind = toString(step.kind);
    row.timeNs = step.timeNs;
    row.changed = step.changed;
    row.failed = !step.diagnostics.empty();
    row.opsBefore = step.opsBefore;
    row.opsAfter = step.opsAfter;
    row.solverSteps = step.solverSteps;
    row.dearestOp = step.dearestOp;
    row.dearestSteps = step.dearestSteps;
    row.counters = step.counters;
    row.remarks = step.remarks;
    row.diagnostics = step.diagnostics;
    list.rows.push_back(std::move(row));
  }
  return list;
}

DiffView diffView(const TraceStep& from, const TraceStep& to) {
  DiffView view;
  view.fromStep = from.index;
  view.toStep = to.index;
  view.fromName = from.name;
  view.toName = to.name;
  fillDiff(from.after, to.after, view);
  return view;
}

DiffView diffView(const TraceStep& step) {
  DiffView view;
  view.fromStep = step.index - 1;
  view.toStep = step.index;
  view.fromName = "before " + step.name;
  view.toName = step.name;
  if (step.kind != StepKind::import) fillDiff(step.before, step.after, view);
  return view;
}

}  // namespace dyn
