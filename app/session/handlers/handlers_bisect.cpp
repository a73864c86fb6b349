// Handler: bisect, the first pass that changes a result.
#include "app/session/explain/bisect.h"
#include "app/session/session_state.h"
#include "app/session/views/pass_views.h"
#include "app/session/views/view.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/walk.h"
#include "compiler/support/atomic_write.h"
#include "compiler/support/file_names.h"
#include "compiler/support/read_files.h"

namespace dyn {

namespace {

// The module, and each of its inputs beside it.
Status writeReduced(const Sample& sample, const std::string& file, BisectView& view) {
  PrintOptions whole;
  whole.maxInlineElements = -1;
  view.reducedFile = file;
  view.again = "dynrepl bisect " + file;
  const Function& main = *sample.module.main();
  const std::string stem = file.substr(0, file.rfind(".dyn"));
  FileNames names;
  std::vector<const HostTensor*> tensors;
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    if (!sample.inputs[i].isTensor()) continue;
    const std::string name = sample.module.context->valueName(main.parameters[i].id);
    const std::string path = stem + "." + names.file(name, ".npy");
    DYN_CHECK(mayWrite(path));
    tensors.push_back(&sample.inputs[i].tensor());
    view.reducedInputs.emplace_back(name, path);
  }
  DYN_CHECK(writeFileAtomically(file, {print(sample.module, whole)}));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto& [name, path] = view.reducedInputs[i];
    DYN_CHECK(writeNpyTensor(path, *tensors[i]));
    view.again += " --input '" + name + "=@" + path + "'";
  }
  return {};
}

BisectRow bisectRowOf(const BisectStep& step) {
  return {step.step, step.name, toString(step.by), toString(step.verdict), step.difference};
}

}  // namespace

Result<View> handle_bisect(SessionState& state, const Command& command, Outcome& outcome) {
  DYN_TRY(LoadedModel * model, state.model());
  if (!model->hasModule())
    return makeError(DiagnosticId::unsupportedFeature, "unsupported: a package holds no passes to look at")
        .note("bisect the model it was compiled from");
  Tolerance tolerance{.ofTensor = true};
  DYN_TRY(tolerance.relative, command.number("rtol", tolerance.relative));
  DYN_TRY(tolerance.absolute, command.number("atol", tolerance.absolute));
  DYN_TRY(CallInputs inputs, callInputs(state, *model, command));
  // Where ranks depend on inputs, the model that was made for these is looked at.
  const Status passes = model->ensurePasses();
  if (!passes.ok() || !inputs.overrides.empty()) {
    if (!passes.ok() && !canSpecialise(*model, passes.error())) return Error{passes.error()};
    DYN_TRY(PreparedRun prepared, state.prepare(std::move(inputs)));
    model = prepared.model;
    inputs = std::move(prepared.inputs);
  }
  const CompileOptions compile = model->compileOptions();
  DYN_TRY(Pipeline pipeline, pipelineOf(compile));
  BisectRequest request{model->trace(), std::move(pipeline), std::move(inputs.values), tolerance, {}, {}, {}};
  request.reduce.cancelled = state.interruption.flag();
  request.runProgram = [&](const Module& placed, const std::vector<Value>& values) {
    return runPlaced(placed, values, compile, state.now.options, state.interruption);
  };
  request.progress = [&](const std::string& text, double part) { state.progress(text, part); };
  DYN_TRY(BisectAnswer answer, bisect(request));
  BisectView view;
  for (const BisectStep& step : answer.steps) view.rows.push_back(bisectRowOf(step));
  if (!answer.finding) return makeView(std::move(view));
  const BisectFinding& finding = *answer.finding;
  view.first = bisectRowOf(finding.at);
  view.inCompilation = finding.inCompilation;
  view.opsCount = static_cast<int64_t>(countOps(model->typed()));
  if (finding.reduced) {
    view.reducedOpsCount = static_cast<int64_t>(countOps(finding.reduced->module));
    view.reduced = print(finding.reduced->module);
    if (command.has("o")) DYN_CHECK(writeReduced(*finding.reduced, command.text("o"), view));
  }
  outcome.error = makeError(DiagnosticId::resultsDiffer,
                            (finding.inCompilation ? "lowering or code generation changes a result: "
                                                   : "pass " + finding.at.name + " changes a result: ") +
                                finding.at.difference)
                      .diagnostic();
  return makeView(std::move(view));
}

}  // namespace dyn
