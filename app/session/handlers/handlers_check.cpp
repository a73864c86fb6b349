// Handlers: :check, the problems of a model, and whether it runs for all sizes.
#include <algorithm>

#include "app/engine/model/dim_relation.h"
#include "app/engine/model/model_info.h"
#include "app/session/answers/size_check.h"
#include "app/session/explain/node_source.h"
#include "app/session/handlers/read_again.h"
#include "app/session/session_state.h"
#include "app/session/views/problem_views.h"
#include "app/session/views/text/check_formats.h"
#include "app/session/views/view.h"

namespace dyn {

namespace {

constexpr std::string_view kForSizes[] = {"infer"};

bool wasInterrupted(const Diagnostic& fault) {
  const FaultKind kind = diagnosticRow(fault.id).kind;
  return kind == FaultKind::cancelled || kind == FaultKind::timeout;
}

// Does one of these bound the dim of that name from below?
bool isBoundedBelow(const std::vector<DimSpec>& specs, const std::string& name) {
  return std::any_of(specs.begin(), specs.end(), [&](const DimSpec& spec) {
    if (spec.name == name) return spec.value || spec.low;
    if (spec.axisName) return false;
    return std::any_of(spec.relations.begin(), spec.relations.end(), [&](const DimRelation& relation) {
      if (relation.kind == DimRelation::Kind::equal) return relation.left == name || relation.right == name;
      return relation.right == name && !relation.left.empty() &&
             relation.left.find_first_not_of("0123456789+ ") == std::string::npos;
    });
  });
}

// What is asserted, and that all other sizes are 1 or more.
Result<std::vector<DimSpec>> assumptions(const Command& command, const Module& module) {
  DYN_TRY(std::vector<DimSpec> specs, parseDimSpecs(command.all("dim")));
  for (const std::string& text : command.all("assert"))
    for (const std::string& part : splitRelations(text)) {
      Result<DimSpec> spec = parseDimSpec(part);
      if (!spec.ok())
        return makeError(DiagnosticId::usageError, "--assert " + part + ": " + spec.error().message)
            .note("write --assert \"batch>=1, seq<=512\"");
      spec->reason = "asserted: " + part;
      specs.push_back(*std::move(spec));
    }
  for (const NamedSize& size : sizesOfInputs(module)) {
    if (isBoundedBelow(specs, size.name)) continue;
    DimSpec least;
    least.name = size.name;
    least.low = 1;
    least.text = size.name + ">=1";
    least.reason = "taken for granted: " + least.text;
    specs.push_back(std::move(least));
  }
  return specs;
}

Result<std::unique_ptr<LoadedModel>> typedFor(SessionState& state, const std::string& path,
                                              std::vector<DimSpec> dims) {
  LoadRequest request;
  request.path = path;
  request.dims = std::move(dims);
  return readAgain(state, request, kForSizes);
}

// Shapes alone: type inference of the model at these sizes.
FailsAt failsAtSizes(SessionState& state, const std::string& path, std::vector<DimSpec> names) {
  return [&state, path, names](const DimValues& sizes) -> Result<std::optional<Diagnostic>> {
    std::vector<DimSpec> dims = names;
    for (const auto& [name, value] : sizes) {
      DimSpec spec;
      spec.name = name;
      spec.value = value;
      spec.text = name + "=" + std::to_string(value);
      dims.push_back(std::move(spec));
    }
    Result<std::unique_ptr<LoadedModel>> model = typedFor(state, path, std::move(dims));
    if (!model.ok()) return std::optional<Diagnostic>(model.error());
    const Status typed = (*model)->ensurePasses();
    if (typed.ok()) return std::optional<Diagnostic>();
    if (wasInterrupted(typed.error())) return Error(typed.error());
    return std::optional<Diagnostic>(typed.error());
  };
}

// Of a model without other problems.
Result<SizeCheck> sizeCheck(SessionState& state, const Command& command, LoadedModel& model) {
  const std::string path = model.request().path;
  if (path.empty() || path == "-")
    return makeError(DiagnosticId::usageError, "sizes are checked of a model in a file");
  DYN_TRY(const std::vector<DimSpec> specs, assumptions(command, model.imported()));
  SizeCheck result;
  DYN_TRY(const std::unique_ptr<LoadedModel> typed, typedFor(state, path, specs));
  const Status fits = typed->ensurePasses();
  if (fits.ok()) {
    DYN_TRY(result, checkSizes(typed->typed(), failsAtSizes(state, path, axisNamesIn(specs))));
  } else {
    if (wasInterrupted(fits.error())) return Error(fits.error());
    SizeFinding finding;
    finding.diagnostic = fits.error();
    finding.demand = finding.diagnostic.message;
    finding.diagnostic.message = "fails at all sizes: " + finding.demand;
    if (const auto least = leastSizes(typed->imported())) finding.sizes = *least;
    result.checksCount = 1;
    result.findings.push_back(std::move(finding));
  }
  for (const DimSpec& spec : specs) result.assumed.push_back(spec.text);
  return result;
}

}  // namespace

Result<View> handle_check(SessionState& state, const Command& command, Outcome& outcome) {
  ProblemList list;
  const std::string format = command.text("format", "text");
  if (format == "sarif") list.format = ProblemFormat::sarif;
  if (format == "github") list.format = ProblemFormat::github;
  if (list.format == ProblemFormat::text && format != "text" && format != "json")
    return makeError(DiagnosticId::usageError, "--format " + format + ": text, json, sarif or github");
  const bool ofSizes = command.has("assert");
  if (!ofSizes && command.has("dim")) return makeError(DiagnosticId::usageError, "--dim goes with --assert");
  std::unique_ptr<LoadedModel> fresh;
  LoadedModel* model = nullptr;
  if (command.has("model") || (state.now.model && state.now.model->kind() == ModelKind::onnx)) {
    LoadRequest request;
    request.path = command.has("model") ? command.text("model") : state.now.model->request().path;
    request.collectProblems = true;
    DYN_TRY(std::vector<DimSpec> dims, parseDimSpecs(command.all("dim")));
    request.dims = axisNamesIn(std::move(dims));
    list.model = request.path;
    Result<std::unique_ptr<LoadedModel>> loaded =
        LoadedModel::load(request, state.now.options, state.interruption.flag());
    if (!loaded.ok()) {
      list.problems.push_back(loaded.error());
    } else {
      fresh = std::move(loaded).value();
      list.problems = fresh->problems();
      model = fresh.get();
    }
  } else {
    DYN_TRY(model, state.model());
    list.model = model->request().path;
  }
  if (list.problems.empty() && ofSizes) {
    if (!model->hasModule())
      return makeError(DiagnosticId::unsupportedFeature,
                       "unsupported: a package has no shapes to check: check the model that it was made of");
    DYN_TRY(list.sizes, sizeCheck(state, command, *model));
  } else if (list.problems.empty() && model && model->hasModule()) {
    Status typed = model->ensurePasses();
    if (!typed.ok()) {
      if (typed.error().id == DiagnosticId::cancelled) return typed.takeError();
      list.problems.push_back(typed.error());
    } else {
      Status compiled = model->ensureCompiled();
      if (!compiled.ok()) {
        if (compiled.error().id == DiagnosticId::cancelled) return compiled.takeError();
        list.problems.push_back(compiled.error());
      }
    }
  }
  if (model) list.warnings = model->info().warnings;  // inference has warnings, too
  for (const Diagnostic& problem : list.problems)
    if (diagnosticRow(problem.id).kind == FaultKind::unsupported && !problem.op.empty())
      ++list.unsupportedOps[problem.op];
  outcome.warnings = list.warnings;
  std::vector<Diagnostic> faults = list.problems;
  if (list.sizes)
    for (const SizeFinding& finding : list.sizes->findings) faults.push_back(finding.diagnostic);
  if (model && model->kind() == ModelKind::onnx) list.sources = sourcesOf(list.model, faults);
  if (!faults.empty()) {
    // What is wrong weighs more than what is only not supported yet.
    auto worst =
        std::find_if(faults.begin(), faults.end(), [](const Diagnostic& d) { return exitCode(d.id) != 4; });
    outcome.error = worst == faults.end() ? faults.front() : *worst;
    outcome.more = faults;
  }
  return makeView(std::move(list));
}

}  // namespace dyn
