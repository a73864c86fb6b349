// Handler: latency, the time of a run as a formula of its dims.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "app/engine/latency/latency_sizes.h"
#include "app/engine/model/model_flops.h"
#include "app/engine/run/run_file.h"
#include "app/engine/run/run_result.h"
#include "app/engine/run/run_times.h"
#include "app/session/answers/limit_view.h"
#include "app/session/explain/machine_limits.h"
#include "app/session/records/latency_runs.h"
#include "app/session/records/run_records.h"
#include "app/session/session_state.h"
#include "app/session/views/predict_views.h"
#include "app/session/views/text_table.h"
#include "app/session/views/view.h"
#include "compiler/dims/size_multiples.h"

namespace dyn {

namespace {

std::string dimsText(const DimValues& dims) {
  RunRecord record;
  record.dims = dims;
  return sizesText(record);
}

constexpr size_t kMostSizes = 48;
constexpr size_t kEnoughSizes = 24;  // that the time is divided among

bool isAmong(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The error of a range for a dim that follows from others that are given.
Error followsFromOthers(LoadedModel& model, const std::string& dim) {
  Error error = makeError(DiagnosticId::usageError,
                          "--dim " + dim + ": it follows from the other dims that are given: leave it out");
  const DimSolver& facts = *factsOfDims(model);
  for (const Fact& fact : facts.factsAbout(facts.context().symbol(dim).symbol()))
    if (fact.kind == FactKind::equal) error.diagnostic().notes.push_back(fact.toString());
  return error;
}

// Of every dim that does not follow from others: the range that is given, else the one that the model states.
Result<std::vector<SizeRange>> rangesOf(LoadedModel& model, const std::vector<DimSpec>& specs) {
  CallDims dims(model.signature());
  for (const DimSpec& spec : specs) {
    if (!spec.value && !(spec.low && spec.high))
      return makeError(DiagnosticId::usageError,
                       "--dim " + spec.text + ": a value or a range, 1..512, is wanted here");
    DYN_CHECK(dims.bind(spec.name, spec.value.value_or(spec.low.value_or(1))));
  }
  std::vector<std::string> given;
  for (const DimSpec& spec : specs) given.push_back(spec.name);
  const std::vector<std::string> free = freeDims(model, given);
  for (const std::string& name : given)
    if (isAmong(dims.names(), name) && !isAmong(free, name)) return followsFromOthers(model, name);
  std::vector<SizeRange> ranges;
  const std::vector<LimitSymbol> symbols = limitSymbols(model);
  for (const std::string& name : free) {
    SizeRange range{name};
    const auto known = std::find_if(symbols.begin(), symbols.end(),
                                    [&](const LimitSymbol& one) { return one.name == name; });
    const auto spec =
        std::find_if(specs.begin(), specs.end(), [&](const DimSpec& one) { return one.name == name; });
    if (known != symbols.end()) range.multiple = std::max<int64_t>(1, known->multiple);
    if (spec != specs.end()) {
      range.low = spec->value ? *spec->value : *spec->low;
      range.high = spec->value ? *spec->value : *spec->high;
      if (!spec->value) range.multiple = commonMultiple(range.multiple, spec->multiple);
      if (spec->value) range.multiple = 1;
    } else if (known != symbols.end() && known->high) {
      range.low = std::max<int64_t>(1, known->low.value_or(1));
      range.high = *known->high;
    } else {
      return makeError(DiagnosticId::usageError, "the range of " + name + " is not known")
          .note("give it: --dim " + name + "=1..512, or one value: --dim " + name + "=8");
    }
    range.low = leastMultipleFrom(range.low, range.multiple);
    range.high = range.high / range.multiple * range.multiple;
    if (range.low > range.high)
      return makeError(DiagnosticId::usageError,
                       fmt::format("--dim {}: there is no multiple of {} in it", spec->text, range.multiple));
    ranges.push_back(range);
  }
  if (std::none_of(ranges.begin(), ranges.end(),
                   [](const SizeRange& range) { return range.low < range.high; }))
    return makeError(DiagnosticId::usageError, "every dim has one value")
        .note("bench measures a model at one size");
  return ranges;
}

// Sizes that the model does not take, or that do not fit the memory, are an answer.
bool isRefusal(DiagnosticId id) {
  return id == DiagnosticId::shapeCheckFailed || id == DiagnosticId::shapeMismatch ||
         id == DiagnosticId::dimDomain || id == DiagnosticId::dimOverflow ||
         id == DiagnosticId::memoryLimit || id == DiagnosticId::inputMismatch;
}

class Measurement {
 public:
  Measurement(SessionState& state, const Command& command, std::vector<SizeRange> ranges, double seconds,
              std::vector<std::string> quantities)
      : state_(state),
        command_(command),
        seconds_(seconds),
        sizes_(ranges),
        quantities_(std::move(quantities)) {}

  Status run() {
    std::optional<LatencyModel> fitted;
    while (samples_.size() < kMostSizes &&
           (elapsed() < seconds_ || samples_.size() < kLeastLatencySizes + 2)) {
      const std::optional<DimValues> next = sizes_.next(fitted ? &*fitted : nullptr);
      if (!next) break;
      state_.progress("measuring " + dimsText(*next), std::min(0.99, elapsed() / seconds_));
      DYN_CHECK(measure(*next));
      if (!refused_.empty() && refused_.back().dims == *next) DYN_CHECK(measureNear(*next));
      if (samples_.size() >= kLeastLatencySizes && samples_.size() % 4 == 0) {
        Result<LatencyModel> model = fitLatency(quantities_, samples_);
        if (model.ok()) fitted = std::move(*model);
      }
    }
    return again();
  }
  const std::vector<LatencySample>& samples() const { return samples_; }
  const std::vector<RefusedSize>& refused() const { return refused_; }
  std::vector<RunRecord>& records() { return records_; }

 private:
  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  // Something else may have run beside what took much longer than the formula says.
  Status again() {
    constexpr size_t kMostAgain = 4;
    constexpr double kMuchLonger = 1.1;
    const Result<LatencyModel> model = fitLatency(quantities_, samples_);
    if (!model.ok()) return {};
    std::vector<std::pair<double, DimValues>> longer;
    for (size_t i = 0; i < model->samples.size(); ++i) {
      const double ratio =
          static_cast<double>(model->samples[i].time.medianNs) / std::max(1.0, model->leftOut[i]);
      if (ratio > kMuchLonger) longer.emplace_back(ratio, model->samples[i].dims);
    }
    std::sort(longer.rbegin(), longer.rend());
    if (longer.size() > kMostAgain) longer.resize(kMostAgain);
    for (const auto& [ratio, dims] : longer) DYN_CHECK(measure(dims));
    return {};
  }

  Status measureNear(const DimValues& refused) {
    constexpr int kMostNear = 3;
    if (++measuredNear_ > kMostNear) return {};
    for (const LatencySizes::Coarser& trial : sizes_.coarser(refused)) {
      const size_t before = samples_.size(), refusals = refused_.size();
      DYN_CHECK(measure(trial.dims));
      refused_.resize(refusals);  // that one of them is refused is said once
      if (samples_.size() == before) continue;
      sizes_.take(trial);
      break;
    }
    return {};
  }

  Status measure(const DimValues& dims) {
    DYN_TRY(const LoadedModel* model, state_.model());
    Command command = Command::of(CommandId::run);
    const DimValues all = completeDims(model->signature(), dims);
    for (const std::string& name : model->info().symbols)
      if (all.count(name) == 0) {
        refused_.push_back({dims, "no size of " + name + " fits what is said of the dims"});
        return {};
      }
    for (const auto& [name, value] : dims) command.add("dim", name + "=" + std::to_string(value));
    for (const std::string& input : command_.all("input")) command.add("input", input);
    Result<RunResult> result = runOf(command);
    if (!result.ok() && isRefusal(result.error().id)) {
      refused_.push_back({dims, result.error().message});
      return {};
    }
    if (!result.ok()) return result.takeError();
    RunRecord record = recordOf(state_, command, timesOf(*result), result->randomInputs);
    record.command = std::string(commandSpec(CommandId::latency).name);
    record.dims = all;
    samples_.push_back({dims, record.time});
    records_.push_back(record);
    records_.back().number = keep(state_, std::move(record));
    return {};
  }

  Result<RunResult> runOf(const Command& command) {
    DYN_TRY(LoadedModel * model, state_.model());
    DYN_TRY(CallInputs given, quietCallInputs(state_, *model, command));
    DYN_TRY(PreparedRun prepared, state_.prepare(std::move(given)));
    RunRequest request;
    request.warmup = 1;
    request.repeat = 3;
    request.seconds = seconds_ / kEnoughSizes;
    request.mostSpreadPercent = 3;
    RunResult result;
    DYN_CHECK(prepared.runner->run(prepared.inputs, request, state_.interruption, result));
    return result;
  }

  SessionState& state_;
  const Command& command_;
  const double seconds_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  LatencySizes sizes_;
  const std::vector<std::string> quantities_;
  std::vector<LatencySample> samples_;
  std::vector<RunRecord> records_;
  std::vector<RefusedSize> refused_;
  int measuredNear_ = 0;
};

// Why the interval is wide.
std::vector<std::string> intervalNotes(const LatencyModel& latency, bool flopsKnown) {
  constexpr double kNarrow = 1.15, kNoisy = 0.05;
  std::vector<std::string> notes;
  std::vector<double> spreads;
  for (const LatencySample& sample : latency.samples)
    if (const std::optional<double> share = sample.time.spreadShare()) spreads.push_back(*share);
  std::sort(spreads.begin(), spreads.end());
  if (!spreads.empty() && spreads[spreads.size() / 2] > kNoisy)
    notes.push_back(fmt::format("runs of one size differ by {:.0f} % on this machine",
                                100 * spreads[spreads.size() / 2]));
  if (latency.spread <= kNarrow) return notes;
  if (!flopsKnown)
    notes.push_back(
        "the arithmetic is no formula of the dims: loops, or sizes that depend on values, take other times "
        "with other values");
  size_t worst = 0;
  double most = 0;
  for (size_t i = 0; i < latency.samples.size(); ++i) {
    const double off = std::abs(
        std::log(static_cast<double>(latency.samples[i].time.medianNs) / std::max(1.0, latency.leftOut[i])));
    if (off > most) {
      most = off;
      worst = i;
    }
  }
  notes.push_back(fmt::format("the formula is furthest off at {}", dimsText(latency.samples[worst].dims)));
  return notes;
}

}  // namespace

Result<View> handle_latency(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(LoadedModel * model, state.model());
  DYN_TRY(const double seconds, command.number("seconds", 20));
  if (!(seconds > 0 && seconds < 1e6))
    return makeError(DiagnosticId::usageError, "--seconds is not a positive time");
  LatencyView view;
  LatencyModel latency;
  if (command.has("runs")) {
    for (const char* other : {"dim", "input", "seconds", "o"})
      if (command.has(other))
        return makeError(DiagnosticId::usageError,
                         fmt::format("--runs measures nothing: --{} is one too many", other));
    DYN_TRY(latency, latencyOf(state, *model, command));
  } else {
    DYN_TRY(const std::vector<DimSpec> specs, parseDimSpecs(command.all("dim")));
    DYN_TRY(std::vector<SizeRange> ranges, rangesOf(*model, specs));
    std::vector<std::string> dims;
    for (const SizeRange& range : ranges) dims.push_back(range.dim);
    const std::vector<std::string> quantities = latencyQuantitiesOf(*model, dims);
    Measurement measurement(state, command, std::move(ranges), seconds, quantities);
    DYN_CHECK(measurement.run());
    view.refused = measurement.refused();
    Result<LatencyModel> fitted = fitLatency(quantities, measurement.samples());
    if (!fitted.ok()) {
      Error error = fitted.takeError();
      if (!view.refused.empty())
        error.diagnostic().notes.push_back(dimsText(view.refused[0].dims) + ": " + view.refused[0].why);
      return error;
    }
    latency = std::move(*fitted);
    if (command.has("o")) {
      for (RunRecord& record : measurement.records()) readDigest(record);
      view.file = command.text("o");
      DYN_CHECK(writeRunsFile(view.file, measurement.records()));
    }
  }
  view.formula = latency.formula();
  view.flops = latency.flops();
  view.spread = latency.spread;
  view.machine = processorName();
  view.device = state.now.options.device;
  view.threads = threadsOf(state.now.options);
  view.insideCount = latency.insideCount();
  for (size_t i = 0; i < latency.samples.size(); ++i)
    view.rows.push_back({latency.samples[i].dims, latency.samples[i].time.count,
                         latency.samples[i].time.medianNs, static_cast<int64_t>(latency.leftOut[i])});
  view.notes = intervalNotes(latency, model->hasModule() && flopsOf(model->typed()));
  return makeView(std::move(view));
}

}  // namespace dyn
