// Handlers: running, timing, profiling, verifying.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "app/engine/inputs/batch_lengths.h"
#include "app/engine/inputs/input_spec.h"
#include "app/engine/inputs/media_input.h"
#include "app/engine/inputs/test_value.h"
#include "app/engine/inputs/tree_input.h"
#include "app/engine/model/compare.h"
#include "app/engine/model/model_info.h"
#include "app/engine/run/device_counts.h"
#include "app/engine/run/output_files.h"
#include "app/engine/run/run_levels.h"
#include "app/engine/run/run_memory.h"
#include "app/engine/run/run_result.h"
#include "app/engine/run/specialisation.h"
#include "app/engine/run/trace_file.h"
#include "app/engine/run/valid_positions.h"
#include "app/session/answers/dim_views.h"
#include "app/session/data_sets.h"
#include "app/session/explain/explain.h"
#include "app/session/explain/failed_instances.h"
#include "app/session/explain/machine_bound.h"
#include "app/session/graph/kernel_members.h"
#include "app/session/handlers/memory_limit.h"
#include "app/session/handlers/named_value.h"
#include "app/session/handlers/token_text.h"
#include "app/session/records/run_records.h"
#include "app/session/records/time_limit.h"
#include "app/session/session_state.h"
#include "app/session/views/problem_views.h"
#include "app/session/views/view.h"
#include "compiler/support/atomic_write.h"
#include "compiler/support/folders.h"

namespace dyn {

namespace {

void fillCounters(LoadedModel& model, RunResult& result) {
  result.loadNs = model.readyNs();
  if (const CompiledModel* compiled = model.compiled()) {
    result.compileNs = compiled->statistics.compileNs;
    result.kernelsCount = compiled->statistics.kernelsCount;
    result.kernelsCompiledCount = compiled->statistics.kernelsCompiledCount;
    result.kernelsCompiledAfterLoadCount = kernelsCompiledAfterLoad(*compiled);
  }
}

// What bounds each kernel of the profiled run of that program; null: a package's.
Status explain(SessionState& state, const CompiledModel* program, RunResult& result) {
  if (!program)
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a package does not contain the definitions of its kernels");
  DYN_TRY(MachineLimits limits, machineLimits(state.now.options, state.interruption,
                                              [&](const std::string& text) { state.log(text); }));
  const LoweredModule& lowered = program->lowered;
  const auto explained = [&] {
    KernelTable table = *result.profile;
    explainKernels(result.timeline, lowered, limits, footprintOf(lowered, result.peakBytes), table);
    return table;
  };
  KernelTable table = explained();
  if (isBeyondLimits(table) && !std::exchange(state.hasRemeasuredLimits, true)) {
    state.log("this run was faster than what was measured of the machine: measuring it again");
    DYN_TRY(limits, remeasuredLimits(limits, state.now.options, state.interruption));
    table = explained();
  }
  result.profile = std::make_shared<const KernelTable>(std::move(table));
  return {};
}

// A run, and the program that ran.
struct ProgramRun {
  RunResult result;
  std::weak_ptr<const CompiledModel> program;
};

// `trace`, when given, receives the Chrome trace of a profiled run.
Result<ProgramRun> runModel(SessionState& state, const Command& command, RunRequest request,
                            std::string* trace = nullptr) {
  if (request.repeat < 1)
    return makeError(DiagnosticId::usageError,
                     "at least one run is needed, not " + std::to_string(request.repeat));
  if (request.warmup < 0)
    return makeError(DiagnosticId::usageError, "the number of warm-up runs is negative");
  DYN_TRY(LoadedModel * model, state.model());
  // What is wrong with the inputs is said before anything is compiled.
  state.lastCall = SessionState::LastCall{state.now.model, command, std::nullopt};
  DYN_TRY(CallInputs inputs, callInputs(state, *model, command));
  state.lastCall->inputs = inputs;
  state.runs.forgetValues();
  DYN_TRY(PreparedRun prepared, state.prepare(std::move(inputs)));
  (void)setValidPositions(*prepared.model, prepared.inputs, *prepared.runner);
  DYN_CHECK(keepWithinLimit(state, prepared));
  DYN_TRY(std::optional<RunTimeLimit> timeLimit, timeLimitOf(state, command, prepared));
  if (timeLimit && !timeLimit->whyNotPredicted.empty())
    state.log("the time is compared after the run alone: " + timeLimit->whyNotPredicted);
  state.progress("running");
  request.live = state.emitLive;
  RunResult result;
  const bool repeated =
      prepared.runner->warm() || request.repeat + request.warmup > 1 || request.mostSpreadPercent > 0;
  Status ran = prepared.runner->run(prepared.inputs, request, state.interruption, result);
  const std::vector<bool>& ofInstances = prepared.model->instanceInputs();
  if (!ran.ok() && !ofInstances.empty() && !state.interruption.requested())
    return withFailedInstances(ran.takeError(), *prepared.runner, prepared.inputs, ofInstances,
                               state.interruption);
  if (!ran.ok() && ran.error().id == DiagnosticId::inputMismatch && prepared.model->hasModule()) {
    Error wrong = ran.takeError();
    for (RangeFault& fault : rangeFaults(prepared.model->typed(), prepared.inputs.dims, RangesOf::all))
      wrong.diagnostic().notes.push_back(std::move(fault.text));
    return wrong;
  }
  DYN_CHECK(std::move(ran));
  result.timeLimit = std::move(timeLimit);
  compareTimes(result);
  fillCounters(*prepared.model, result);
  if (const CompiledModel* compiled = prepared.model->compiled(); compiled && result.profile)
    countTouchedBytes(compiled->lowered, result);
  if (const Trace& passes = prepared.model->trace(); result.profile && !passes.steps.empty())
    nameMembers(passes.steps.back().after, result);
  if (!result.launches.empty()) {
    if (const CompiledModel* compiled = prepared.model->compiled()) {
      std::vector<std::string> names;
      for (const vm::KernelRow& kernel : compiled->lowered.program.kernels) names.push_back(kernel.name);
      nameLaunches(names, result);
    }
    countsOnTimeline(result);
  }
  model->observe(result.dims);
  result.kernelsCompiledAfterLoadCount += prepared.kernelsCompiledCount;
  result.keptPositions = setValidPositions(*prepared.model, prepared.inputs, *prepared.runner);
  std::vector<BatchLengths> given;
  for (const std::string& text : command.all("lengths")) {
    DYN_TRY(BatchLengths lengths, parseBatchLengths(text));
    given.push_back(std::move(lengths));
  }
  result.levels =
      withSequences(result.levels.get(), sequencesOf(prepared.model->signature(), given, result), result);
  if (const CompiledModel* compiled = prepared.model->compiled(); compiled && result.levels)
    result.levels = withCaches(*result.levels, compiled->target.machine);
  predictMemory(*prepared.runner, prepared.inputs,
                repeated ? Runner::Warmth::repeated : Runner::Warmth::first, state.interruption, result);
  if (trace) *trace = signTrace(withCounts(prepared.runner->traceText(), result), result);
  if (command.has("explain")) DYN_CHECK(explain(state, prepared.model->compiled(), result));
  if (result.profile) (void)checkRates(state.now.options, result);
  return ProgramRun{std::move(result), prepared.model->sharedCompiled()};
}

// A run that ended well is kept, to be looked at and compared.
View remembered(SessionState& state, const Command& command, ProgramRun made) {
  auto run = std::make_shared<const RunResult>(std::move(made.result));
  keep(state, recordOf(state, command, timesOf(*run), run->randomInputs), run, std::move(made.program));
  return Shared<RunResult>(std::move(run));
}

// --max-spread and --seconds: until when it is repeated.
Status setRepeats(const Command& command, RunRequest& request) {
  constexpr double kSeconds = 2;
  if (!command.has("max-spread")) {
    if (command.has("seconds"))
      return makeError(DiagnosticId::usageError, "--seconds goes with --max-spread");
    return {};
  }
  DYN_TRY(request.mostSpreadPercent, mostSpreadOf(command));
  DYN_TRY(request.seconds, command.number("seconds", kSeconds));
  if (!(request.seconds > 0 && request.seconds < 1e6))
    return makeError(DiagnosticId::usageError, "--seconds is not a positive time");
  request.warmup = std::max<int64_t>(request.warmup, 1);
  if (request.profiling == Profiling::on) request.profiling = Profiling::behind;
  return {};
}

}  // namespace

namespace {

// `trees=@FILE` of a model over arrays of nodes, which has no such input: inputs of names of their own, and
// dims.
Result<std::map<std::string, Value>> takeTrees(const Signature& signature, std::vector<std::string>& specs,
                                               std::vector<DimSpec>& dims, std::vector<std::string>& notes) {
  std::map<std::string, Value> values;
  for (const Port& port : signature.inputs)
    if (port.info.name == "trees") return values;
  std::vector<std::string> all;
  for (const std::string& spec : specs) {
    std::optional<TreeArrays> arrays;
    if (spec.rfind("trees=", 0) == 0) {
      DYN_TRY(arrays, readTreeArrays(signature, spec.substr(6)));
    }
    if (!arrays) {
      all.push_back(spec);
      continue;
    }
    for (auto& [name, tensor] : arrays->inputs) {
      all.push_back(name + "=trees: " + name);  // no name of a bound value has a space
      values.emplace("trees: " + name, Value(std::move(tensor)));
    }
    for (const auto& [name, value] : arrays->dims) {
      const std::vector<std::string> known = CallDims(signature).names();
      if (std::find(known.begin(), known.end(), name) == known.end()) continue;
      DYN_TRY(DimSpec dim, parseDimSpec(name + "=" + std::to_string(value)));
      dims.push_back(std::move(dim));
    }
    notes.push_back("trees: " + arrays->note);
  }
  specs = std::move(all);
  return values;
}

}  // namespace

Result<CallInputs> quietCallInputs(SessionState& state, LoadedModel& model, const Command& command) {
  DYN_TRY(std::vector<DimSpec> dims, parseDimSpecs(command.all("dim")));
  std::vector<std::string> specs = command.all("input"), notes;
  DYN_TRY(const auto trees, takeTrees(model.signature(), specs, dims, notes));
  InputSources sources;
  std::map<std::string, BoundValue> used;
  sources.bound = [&](const std::string& name) -> const Value* {
    if (const auto tree = trees.find(name); tree != trees.end()) return &tree->second;
    std::optional<BoundValue> found = namedValue(state, name);
    return found ? &used.insert_or_assign(name, *std::move(found)).first->second.value : nullptr;
  };
  sources.media = [&](const Port& port, const std::string& spec, const DimValues& known,
                      std::string* note) -> Result<std::optional<Value>> {
    if (model.hasModule()) {
      DYN_TRY(std::optional<Value> value, readTreeInput(port, model.imported(), spec, note));
      if (value) return value;
    }
    return readMedia(port, spec, known, note, tokenReader());
  };
  for (const std::string& text : command.all("lengths")) {
    DYN_TRY(const BatchLengths lengths, parseBatchLengths(text));
    DYN_TRY(LengthsOfCall call, lengthsOfCall(model.signature(), lengths, dims));
    if (!call.note.empty()) notes.push_back(call.note);
    dims.insert(dims.end(), call.dims.begin(), call.dims.end());
    sources.given[call.name] = Value(std::move(call.value));
  }
  DYN_TRY(CallInputs inputs, makeInputs(model.signature(), dims, specs, state.now.options.seed, sources));
  inputs.notes.insert(inputs.notes.begin(), notes.begin(), notes.end());
  return inputs;
}

Result<CallInputs> callInputs(SessionState& state, LoadedModel& model, const Command& command) {
  Result<CallInputs> made = quietCallInputs(state, model, command);
  if (!made.ok() && made.error().id == DiagnosticId::inputMissing && model.hasModule()) {
    // Sizes of a model that cannot be compiled need not be looked for; of one that can the code is kept.
    const Status compiled = model.ensureCompiled();
    if (!compiled.ok() && exitCode(compiled.error().id) == exitCode(DiagnosticId::unsupportedFeature) &&
        !canSpecialise(model, compiled.error()))
      return Error{compiled.error()};
  }
  if (!made.ok()) return made.takeError();
  CallInputs inputs = *std::move(made);
  for (const std::string& note : notesOf(inputs, state.now.options.seed)) state.log(visibleLine(note));
  return inputs;
}

namespace {

// The recorded inputs of a folder, as if they were given one by one; what is given besides wins.
Result<Command> withInputsOfCase(const LoadedModel& model, const Command& command) {
  Command all = command;
  if (!command.has("case")) return all;
  const std::string directory = command.text("case");
  DYN_TRY(std::vector<std::string> recorded, inputsOfDataSet(model.signature(), directory));
  const std::vector<std::string> given = command.all("input");
  for (std::string& text : recorded) {
    const std::string name = text.substr(0, text.find("=@") + 1);
    const bool isGiven = std::any_of(given.begin(), given.end(),
                                     [&](const std::string& one) { return one.starts_with(name); });
    if (!isGiven) all.add("input", std::move(text));
  }
  return all;
}

// What is recorded of the outputs against what came out.
Status compareWithCase(const LoadedModel& model, const std::string& directory, RunResult& result) {
  const Signature& signature = model.signature();
  for (size_t i = 0; i < result.outputs.size() && i < signature.outputs.size(); ++i) {
    const std::string file = directory + "/output_" + std::to_string(i) + ".pb";
    if (::access(file.c_str(), F_OK) != 0) continue;
    DYN_TRY(const Value wanted, readTestValue(file, signature.outputs[i]));
    result.differences.emplace_back(result.outputs[i].name,
                                    compareValues(result.outputs[i].value, wanted, Tolerance()));
  }
  return {};
}

}  // namespace

Result<View> handle_run(SessionState& state, const Command& command, Outcome& outcome) {
  RunRequest request;
  DYN_TRY(request.repeat, command.integer("repeat", 1));
  DYN_TRY(request.warmup, command.integer("warmup", 0));
  if (command.has("profile") || command.has("explain")) request.profiling = Profiling::on;
  DYN_CHECK(setRepeats(command, request));
  std::string trace;
  DYN_TRY(LoadedModel * model, state.model());
  const size_t known = model->info().warnings.size();
  DYN_TRY(const Command withCase, withInputsOfCase(*model, command));
  DYN_TRY(ProgramRun made, runModel(state, withCase, request, &trace));
  RunResult& result = made.result;
  if (command.has("case")) DYN_CHECK(compareWithCase(*model, command.text("case"), result));
  // Those that compiling has found; the others were told on loading.
  const std::vector<Diagnostic>& warnings = model->info().warnings;
  outcome.warnings.assign(warnings.begin() + static_cast<std::ptrdiff_t>(known), warnings.end());
  if (command.has("profile") && !command.text("profile").empty()) {
    result.profileFile = command.text("profile");
    DYN_CHECK(writeFileAtomically(result.profileFile, {trace}));
  }
  if (command.has("output-dir")) {
    DYN_TRY(const std::vector<std::string> notes, writeOutputs(result, command.text("output-dir")));
    for (const std::string& note : notes) state.log(visibleLine(note));
  }
  if (command.has("bind"))
    for (const NamedValue& output : result.outputs)
      state.values.bind(output.name, {output.value, output.type});
  return remembered(state, command, std::move(made));
}

Result<View> handle_time(SessionState& state, const Command& command, Outcome&) {
  RunRequest request;
  DYN_TRY(request.repeat, command.integer("count", command.has("max-spread") ? 1 : 20));
  DYN_TRY(request.warmup, command.integer("warmup", 2));
  DYN_CHECK(setRepeats(command, request));
  DYN_TRY(ProgramRun made, runModel(state, command, request));
  made.result.bench = true;
  return remembered(state, command, std::move(made));
}

Result<View> handle_profile(SessionState& state, const Command& command, Outcome&) {
  RunRequest request;
  DYN_TRY(request.repeat, command.integer("repeat", 1));
  request.warmup = 1;
  request.profiling = Profiling::on;
  DYN_CHECK(setRepeats(command, request));
  std::string trace;
  DYN_TRY(ProgramRun made, runModel(state, command, request, &trace));
  RunResult& result = made.result;
  result.bench = true;
  if (command.has("file")) {
    result.profileFile = command.text("file");
    DYN_CHECK(writeFileAtomically(result.profileFile, {trace}));
  }
  return remembered(state, command, std::move(made));
}

// The events of a run say all that its bounds follow from.
Result<View> handle_bounds(SessionState& state, const Command&, Outcome&) {
  DYN_TRY(LoadedModel * model, state.model());
  const std::vector<RunHistory::Entry> runs = state.runs.profiled(state.now.model);
  const auto last = std::find_if(runs.rbegin(), runs.rend(),
                                 [](const auto& entry) { return entry.run->recalledFrom.empty(); });
  if (last == runs.rend())
    return makeError(DiagnosticId::usageError, "no run of this model was profiled")
        .note("run it by :profile");
  const std::shared_ptr<const CompiledModel> program = last->program.lock();
  if (!program && model->hasModule())
    return makeError(DiagnosticId::usageError, "the program of the last run is no longer there")
        .note(":profile --explain runs it again");
  RunResult result = *last->run;
  DYN_CHECK(explain(state, program.get(), result));
  auto run = std::make_shared<const RunResult>(std::move(result));
  state.runs.replace(last->record.number, run);
  return View(Shared<RunResult>(std::move(run)));
}

namespace {

CaseStatus statusOf(const Diagnostic& diagnostic) {
  switch (diagnosticRow(diagnostic.id).kind) {
    case FaultKind::unsupported:
      return CaseStatus::unsupported;
    case FaultKind::timeout:
      return CaseStatus::timeout;
    default:
      return CaseStatus::failed;
  }
}

Status runDataSet(SessionState& state, LoadedModel& model, const std::string& directory,
                  const Tolerance& tolerance, VerifyResult& result) {
  const Signature signature = model.signature();
  CallInputs inputs;
  inputs.values.resize(signature.inputs.size());
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const std::string path = directory + "/input_" + std::to_string(i) + ".pb";
    Result<Value> value = readTestValue(path, signature.inputs[i]);
    if (!value.ok() && signature.inputs[i].info.kind == "optional" && ::access(path.c_str(), F_OK) != 0) {
      inputs.values[i] = Value::nothing();
      continue;
    }
    if (!value.ok()) return value.takeError();
    inputs.values[i] = *std::move(value);
    (void)takeAsScalar(signature.inputs[i], &inputs.values[i]);
  }
  DYN_TRY(PreparedRun prepared, state.prepare(std::move(inputs)));
  RunResult run;
  DYN_CHECK(prepared.runner->run(prepared.inputs, RunRequest{}, state.interruption, run));
  const std::vector<std::string> expected = membersOf(directory, "output_");
  if (expected.size() > run.outputs.size())
    return makeError(DiagnosticId::resultsDiffer, std::to_string(expected.size()) +
                                                      " outputs are expected, the model has " +
                                                      std::to_string(run.outputs.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    DYN_TRY(Value wanted, readTestValue(directory + "/output_" + std::to_string(i) + ".pb",
                                        prepared.model->signature().outputs[i]));
    const std::string difference = compareValues(run.outputs[i].value, wanted, tolerance);
    if (difference.empty()) continue;
    if (const std::vector<SourceLocation>& random = prepared.model->randomNodes(); !random.empty())
      return makeError(
          DiagnosticId::unsupportedFeature,
          "unsupported: nothing to compare with: random numbers are drawn at " + random.front().toString());
    result.status = CaseStatus::wrong;
    return makeError(DiagnosticId::resultsDiffer, run.outputs[i].name + ": " + difference);
  }
  return {};
}

}  // namespace

Result<View> handle_verify(SessionState& state, const Command& command, Outcome& outcome) {
  Tolerance tolerance;
  DYN_TRY(tolerance.relative, command.number("rtol", tolerance.relative));
  DYN_TRY(tolerance.absolute, command.number("atol", tolerance.absolute));
  VerifyResult result;
  result.directory = command.text("directory");
  while (result.directory.size() > 1 && result.directory.back() == '/') result.directory.pop_back();
  result.name = result.directory.substr(result.directory.rfind('/') + 1);
  auto fail = [&](const Diagnostic& diagnostic) {
    result.status = result.status == CaseStatus::wrong ? result.status : statusOf(diagnostic);
    result.reason =
        diagnostic.message + (diagnostic.place.known() ? " at " + diagnostic.place.toString() : "");
    result.op = diagnostic.op;
    result.code = std::string(diagnosticRow(diagnostic.id).code);
    outcome.error = diagnostic;
    return makeView(result);
  };
  LoadRequest request;
  request.path = command.text("model", result.directory + "/model.onnx");
  Result<std::unique_ptr<LoadedModel>> loaded =
      LoadedModel::load(request, state.now.options, state.interruption.flag());
  if (!loaded.ok()) return fail(loaded.error());
  // The session's own model stays.
  std::shared_ptr<LoadedModel> model = std::move(loaded).value();
  std::shared_ptr<LoadedModel> keptModel = state.now.model;
  std::shared_ptr<Runner> keptRunner = state.now.runner;
  state.now.model = model;
  state.now.runner = nullptr;
  std::shared_ptr<Specialisations> keptSpecialisations = std::move(state.now.specialisations);
  state.now.specialisations = nullptr;
  std::shared_ptr<SmallProgram> keptSmall = std::move(state.now.small);
  state.now.small = nullptr;
  Status status;
  const std::vector<std::string> sets = membersOf(result.directory, "test_data_set_");
  if (sets.empty()) status = makeError(DiagnosticId::fileError, result.directory + " has no test_data_set_0");
  for (size_t i = 0; i < sets.size() && status.ok(); ++i) {
    status = runDataSet(state, *model, result.directory + "/" + sets[i], tolerance, result);
    ++result.dataSetsCount;
    if (!status.ok() && sets.size() > 1) status = Status(status.takeError().note("in " + sets[i]));
  }
  state.now.runner = keptRunner;
  state.now.specialisations = keptSpecialisations;
  state.now.small = keptSmall;
  state.now.model = keptModel;
  if (!status.ok()) {
    if (status.error().id == DiagnosticId::cancelled) return status.takeError();
    return fail(status.error());
  }
  result.status = CaseStatus::passed;
  return makeView(result);
}

}  // namespace dyn
