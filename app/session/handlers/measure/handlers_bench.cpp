// Handler: bench, latency and rates of a model at several shapes.
#include <algorithm>

#include "app/engine/inputs/batch_lengths.h"
#include "app/engine/model/model_flops.h"
#include "app/engine/model/model_info.h"
#include "app/engine/run/run_file.h"
#include "app/engine/run/run_record.h"
#include "app/engine/run/run_result.h"
#include "app/engine/run/run_times.h"
#include "app/engine/run/valid_positions.h"
#include "app/session/answers/runs_view.h"
#include "app/session/case_file.h"
#include "app/session/explain/explain.h"
#include "app/session/explain/machine_bound.h"
#include "app/session/graph/kernel_members.h"
#include "app/session/records/run_records.h"
#include "app/session/session_state.h"
#include "app/session/views/bench_views.h"
#include "app/session/views/view.h"

namespace dyn {

namespace {

// At these dims, or where they do not say it, at those that are equal to others.
std::optional<double> flopsAt(const Module& module, const DimValues& dims) {
  const Dim flops = flopsOf(module);
  if (!flops) return std::nullopt;
  DimBinding binding;
  DimContext& context = module.context->dims();
  for (SymbolId s = 0; s < context.symbolCount(); ++s) {
    auto it = dims.find(context.symbolName(s));
    if (it != dims.end()) binding.set(s, it->second);
  }
  Result<int64_t> value = evaluate(flops, binding);
  if (!value.ok()) value = evaluate(module.context->facts().canonical(flops), binding);
  return value.ok() ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

void fillTimes(const RunTimes& times, BenchRow& row) {
  row.runsCount = times.count();
  row.minNs = times.leastNs();
  row.p50Ns = times.percentileNs(0.5);
  row.p90Ns = times.percentileNs(0.9);
  row.p99Ns = times.percentileNs(0.99);
  row.meanNs = times.meanNs();
  row.spreadNs = statisticsOf(times).spreadNs;
}

// All ways to choose one value for each dim.
std::vector<RunCase> casesOf(const std::vector<DimSpec>& specs) {
  std::vector<RunCase> cases(1);
  for (const DimSpec& spec : specs) {
    std::vector<int64_t> values = spec.value ? std::vector<int64_t>{*spec.value} : spec.likely;
    std::sort(values.begin(), values.end());
    std::vector<RunCase> next;
    for (const RunCase& one : cases)
      for (int64_t value : values) {
        next.push_back(one);
        next.back().dims.push_back(spec.name + "=" + std::to_string(value));
      }
    cases = std::move(next);
  }
  return cases;
}

// A case for each batch of the sequences in the file, where a size of the batch is given; else one of all.
Result<std::vector<RunCase>> casesOfLengths(const LoadedModel& model, const Command& command,
                                            const std::vector<DimSpec>& specs) {
  if (command.all("lengths").size() != 1 || command.has("cases"))
    return makeError(DiagnosticId::usageError,
                     "bench takes lengths of one input, and no --cases beside them");
  DYN_TRY(const BatchLengths all, parseBatchLengths(command.text("lengths")));
  DYN_TRY(const std::optional<int64_t> batch, batchGiven(model.signature(), all, specs));
  const std::vector<BatchLengths> batches =
      batchesOf(all, batch.value_or(static_cast<int64_t>(all.lengths.size())));
  if (batches.empty())
    return makeError(DiagnosticId::usageError, "--lengths " + all.name + ": there are " +
                                                   std::to_string(all.lengths.size()) +
                                                   " lengths for a batch of " + std::to_string(*batch));
  std::vector<RunCase> cases;
  for (const BatchLengths& one : batches) {
    cases.emplace_back();
    cases.back().dims = command.all("dim");
    cases.back().lengths = {toText(one)};
  }
  return cases;
}

Result<std::vector<RunCase>> benchCases(const LoadedModel& model, const Command& command) {
  DYN_TRY(std::vector<DimSpec> specs, parseDimSpecs(command.all("dim")));
  std::vector<RunCase> cases;
  if (command.has("lengths")) {
    DYN_TRY(cases, casesOfLengths(model, command, specs));
    for (RunCase& one : cases) one.addDefaults({}, command.all("input"));
    return cases;
  }
  if (command.has("cases")) {
    if (!specs.empty())
      return makeError(DiagnosticId::usageError, "--cases has the dims, --dim is one too many");
    DYN_TRY(cases, readCases(command.text("cases")));
  } else {
    for (const DimSpec& spec : specs)
      if (!spec.value && spec.likely.empty())
        return makeError(DiagnosticId::usageError,
                         "--dim " + spec.text + ": bench wants a value or @lengths.txt, not a range");
    cases = casesOf(specs);
  }
  for (RunCase& one : cases) one.addDefaults({}, command.all("input"));
  return cases;
}

// Work of one case: what its rates are taken from.
struct Work {
  std::optional<double> flops, bytes;
  MachineBound bound;
};

void fillRates(const Work& work, double ns, BenchRow& row) {
  row.gflops = Rate::of(work.flops.value_or(0), ns, work.bound.gflops).perNs();
  row.gigabytesPerSecond = Rate::of(work.bytes.value_or(0), ns, work.bound.gigabytesPerSecond).perNs();
}

// What the launches of a run had to do: less than the model states where padding is left out. Nothing where
// the timeline does not have all of them.
std::optional<double> launchedOperations(const RunResult& run) {
  int64_t launches = 0;
  double operations = 0;
  for (const TimelineEvent& event : run.timeline)
    if (event.kind == "kernel" || event.kind == "builtin") {
      operations += event.operations;
      ++launches;
    }
  if (launches < run.launchesCount) return std::nullopt;
  return operations;
}

struct BenchPlan {
  double seconds = 1;  // for one case
  int64_t leastRuns = 5;
  double mostSpreadPercent = 0;  // 0: it does not end a case
};

struct BenchedCase {
  BenchRow row;
  RunRecord record;
};

Result<BenchedCase> benchCase(SessionState& state, const RunCase& one, const BenchPlan& plan, RunTimes& all,
                              Work& work, BenchResult& bench) {
  Command command = Command::of(CommandId::run);
  one.addTo(command);
  DYN_TRY(LoadedModel * loaded, state.model());
  DYN_TRY(CallInputs given, callInputs(state, *loaded, command));
  DYN_TRY(PreparedRun prepared, state.prepare(std::move(given)));
  LoadedModel& model = *prepared.model;
  Runner& runner = *prepared.runner;
  const CallInputs& inputs = prepared.inputs;
  if (const CompiledModel* compiled = model.compiled(); compiled && bench.rows.empty()) {
    bench.compileNs = compiled->statistics.compileNs;
    bench.kernelsCompiledCount = compiled->statistics.kernelsCompiledCount;
  }
  if (bench.rows.empty()) bench.loadNs = model.readyNs();
  RunRequest request;
  request.warmup = 2;
  request.repeat = plan.leastRuns;
  request.seconds = plan.seconds;
  request.mostSpreadPercent = plan.mostSpreadPercent;
  request.profiling = Profiling::behind;
  RunTimes times;
  request.times = &times;
  RunResult result;
  DYN_CHECK(runner.run(inputs, request, state.interruption, result));
  BenchedCase made;
  BenchRow& row = made.row;
  row.dims = result.dims;
  row.peakBytes = result.peakBytes;
  fillTimes(times, row);
  all.add(times);
  if (const CompiledModel* compiled = model.compiled()) countTouchedBytes(compiled->lowered, result);
  if (const Trace& passes = model.trace(); !passes.steps.empty())
    nameMembers(passes.steps.back().after, result);
  work.bound = checkRates(state.now.options, result);
  work.bytes = 0;
  for (const KernelRow& kernel : result.profile->rows) *work.bytes += static_cast<double>(kernel.bytes);
  if (model.hasModule()) work.flops = flopsAt(model.typed(), result.dims);
  const std::optional<double> done = launchedOperations(result);
  if (work.flops && done && setValidPositions(model, inputs, runner))
    work.flops = std::min(*work.flops, *done);  // what padding would take is not done
  fillRates(work, static_cast<double>(row.p50Ns), row);
  RunRecord record = timesOf(result);
  record.time = statisticsOf(times);
  made.record = recordOf(state, command, std::move(record), result.randomInputs);
  made.record.command = std::string(commandSpec(CommandId::bench).name);
  return made;
}

// Over all cases: percentiles of all runs, and the work of one run of each case over the sum of their
// medians.
void fillOverall(const RunTimes& all, const std::vector<Work>& works, BenchResult& bench) {
  fillTimes(all, bench.overall);
  double flops = 0, bytes = 0, ns = 0;
  bool flopsKnown = true;
  for (size_t i = 0; i < works.size(); ++i) {
    flopsKnown = flopsKnown && works[i].flops;
    if (works[i].flops) flops += *works[i].flops;
    bytes += *works[i].bytes;
    ns += static_cast<double>(bench.rows[i].p50Ns);
    bench.overall.peakBytes = std::max(bench.overall.peakBytes, bench.rows[i].peakBytes);
  }
  fillRates({flopsKnown ? std::optional(flops) : std::nullopt, bytes, works.back().bound}, ns, bench.overall);
}

}  // namespace

Result<View> handle_bench(SessionState& state, const Command& command, Outcome& outcome) {
  DYN_TRY(LoadedModel * model, state.model());
  BenchPlan plan;
  DYN_TRY(double seconds, command.number("seconds", 1.0));
  if (!(seconds > 0 && seconds < 1e6))
    return makeError(DiagnosticId::usageError, "--seconds is not a positive time");
  DYN_TRY(plan.leastRuns, command.integer("repeat", 5));
  if (plan.leastRuns < 1) return makeError(DiagnosticId::usageError, "--repeat: at least one run is needed");
  DYN_TRY(plan.mostSpreadPercent, mostSpreadOf(command));
  std::vector<RunRecord> baseline, made;
  if (command.has("baseline")) {
    DYN_TRY(baseline, comparableRuns(state, command, command.text("baseline")));
  }
  DYN_TRY(std::vector<RunCase> cases, benchCases(*model, command));
  plan.seconds = seconds / static_cast<double>(cases.size());
  BenchResult bench;
  RunTimes all;
  std::vector<Work> works;
  for (const RunCase& one : cases) {
    const size_t index = works.size();
    state.progress("shape " + std::to_string(index + 1) + " of " + std::to_string(cases.size()),
                   static_cast<double>(index) / static_cast<double>(cases.size()));
    works.emplace_back();
    Result<BenchedCase> benched = benchCase(state, one, plan, all, works.back(), bench);
    if (!benched.ok()) {
      Error error = benched.takeError();
      if (one.place.known() && !error.diagnostic().place.known()) error.diagnostic().place = one.place;
      return error;
    }
    bench.rows.push_back(std::move(benched->row));
    made.push_back(benched->record);
    made.back().number = keep(state, std::move(benched->record));
  }
  fillOverall(all, works, bench);
  if (command.has("o") || command.has("baseline"))
    for (RunRecord& record : made) readDigest(record);
  if (command.has("o")) {
    bench.file = command.text("o");
    DYN_CHECK(writeRunsFile(bench.file, made));
  }
  if (command.has("baseline")) {
    bench.baselineFile = command.text("baseline");
    compareWithBaseline(baseline, made, bench);
    outcome.error = baselineFault(bench);
  }
  return makeView(std::move(bench));
}

}  // namespace dyn
