#include "app/engine/run/runner.h"

#include "compiler/support/clock.h"

#include <time.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/engine/device/device_name.h"
#include "app/engine/device/simulated_gpu.h"
#include "app/engine/inputs/ragged_port.h"
#include "app/engine/model/loaded_model.h"
#include "app/engine/run/json_fields.h"
#include "app/engine/run/live_run.h"
#include "app/engine/run/place_times.h"
#include "app/engine/run/trace_file.h"
#include "compiler/target/device_kind.h"
#include "vm/include/dyn_gpu.h"
#include "vm/include/dyn_ragged.h"
#include "vm/include/dynvm.h"

namespace dyn {

namespace {

// Dry runs that are timed, the median counts; long ones are not repeated.
constexpr size_t kTimedDryRuns = 9;
constexpr int64_t kLongDryRunNs = 20'000'000;

int64_t cpuNs() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::string concreteType(const Value& value, const ValueInfo& info) {
  if (!value.isTensor()) return info.type;
  std::string text = "Tensor[(";
  const std::vector<int64_t>& shape = value.tensor().shape();
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "), " + std::string(toString(value.tensor().dtype())) + "]";
}

}  // namespace

void Interruption::request() {
  cancelled_ = true;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (running_) dyn_context_cancel(running_);
}

void Interruption::setRunning(dyn_context* context) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    running_ = context;
  }
  if (listener_) listener_(context != nullptr);
}

dyn_status createContext(dyn_module* module, const EngineOptions& options, Purpose purpose,
                         dyn_thread_pool* threads, VmContext& context) {
  dyn_options settings{};
  settings.thread_count = threadsOf(options);
  settings.thread_pool = threads;
  settings.memory_limit_bytes = purpose == Purpose::running ? options.memoryLimitBytes : UINT64_MAX;
  settings.interpret = options.hostCode == "bytecode";
  settings.dry_run = purpose == Purpose::dryRun;
  const dyn_device_options onDevice{purpose == Purpose::running ? options.deviceLimitBytes : UINT64_MAX,
                                    options.deviceGraphs ? 0 : 1};
  dyn_context* made = nullptr;
  const dyn_status status = dyn_context_create_on(module, &settings, &onDevice, &made);
  if (status == DYN_OK) context.reset(made);
  return status;
}

Result<VmContext> makeContext(dyn_module* module, const EngineOptions& options, Purpose purpose,
                              dyn_thread_pool* threads) {
  VmContext context;
  const dyn_status status = createContext(module, options, purpose, threads, context);
  if (status != DYN_OK) return vmError(status);
  return context;
}

namespace {

// What the user has chosen is not given up silently.
Status hasChosenLibrary(dyn_module* module, const EngineOptions& options) {
  const auto products = options.policies.find("matmul");
  const char* notice = dyn_module_metadata(module, "device_notice");
  if (!notice || products == options.policies.end() || !findDeviceOfLibrary(products->second)) return {};
  const std::string why = notice;
  return makeError(DiagnosticId::unsupportedFeature,
                   "unavailable: version " + products->second + ": " + why.substr(0, why.find("; ")));
}

}  // namespace

Result<Runner> Runner::create(dyn_module* module, const Module* types, const Signature& signature,
                              const EngineOptions& options) {
  if (!isOnHost(options.device) && !isOnSimulator(options.device)) DYN_CHECK(SimulatedGpu::useAnother());
  DYN_CHECK(hasChosenLibrary(module, options));
  Runner runner;
  runner.module_ = module;
  runner.types_ = types;
  runner.signature_ = signature;
  runner.options_ = options;
  DYN_TRY(runner.context_, makeContext(module, options, Purpose::running));
  return runner;
}

Status Runner::setDryRun(const std::vector<std::vector<int64_t>>& shapes) {
  if (!dryRun_) {
    DYN_TRY(dryRun_, makeContext(module_, options_, Purpose::dryRun));
  }
  const dyn_status told = dyn_context_dry_run_valid_positions(dryRun_.get(), keptPositions_.value_or(-1));
  if (told != DYN_OK) return vmError(told);
  alignas(64) static const std::byte kUnread[64] = {};  // stands for elements nobody looks at
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Port& port = signature_.inputs[i];
    if (port.info.kind != "tensor" || dtypeClass(port.dtype) == DtypeClass::text)
      return makeError(DiagnosticId::unsupportedFeature,
                       "the memory depends on what input " + port.info.name + " holds");
    int64_t bytes = storageBytes(port.dtype);
    for (int64_t size : shapes[i])
      if (__builtin_mul_overflow(bytes, size, &bytes))
        return makeError(DiagnosticId::dimOverflow, "the size of input " + port.info.name + " overflows");
    dyn_value* raw = nullptr;
    const dyn_status borrowed = dyn_value_borrow(dryRun_.get(), static_cast<int32_t>(port.dtype),
                                                 static_cast<int32_t>(shapes[i].size()), shapes[i].data(),
                                                 kUnread, static_cast<size_t>(bytes), nullptr, nullptr, &raw);
    if (borrowed != DYN_OK) return vmError(borrowed);
    const VmValue value(raw);
    const dyn_status set = dyn_context_set_input(dryRun_.get(), static_cast<int32_t>(i), value.get());
    if (set != DYN_OK) return vmError(set);
  }
  dryRunShapes_ = shapes;
  return {};
}

// Those of inputs whose shapes they have.
Status Runner::setKnownElements() {
  for (size_t i = 0; i < elements_.size() && i < dryRunShapes_.size(); ++i) {
    const std::optional<HostTensor>& known = elements_[i];
    if (!known || known->shape() != dryRunShapes_[i]) continue;
    const dyn_status told = dyn_context_dry_run_elements(
        dryRun_.get(), static_cast<int32_t>(i), known->data(), static_cast<size_t>(known->sizeBytes()));
    if (told != DYN_OK) return vmError(told);
  }
  return {};
}

Status Runner::runDry(Interruption& interruption) {
  DYN_CHECK(setKnownElements());
  dyn_status status = DYN_OK;
  DYN_CHECK(interruption.guard(dryRun_.get(), [&] { status = dyn_context_run(dryRun_.get()); }));
  return status == DYN_OK ? Status() : Status(vmError(status));
}

Result<int64_t> Runner::predictPeak(const std::vector<std::vector<int64_t>>& shapes, Warmth warmth,
                                    Interruption& interruption) {
  DYN_CHECK(setDryRun(shapes));
  DYN_CHECK(runDry(interruption));
  if (warmth == Warmth::repeated) DYN_CHECK(runDry(interruption));
  dyn_statistics statistics{};
  dyn_context_statistics(dryRun_.get(), &statistics);
  dyn_device_statistics onDevices{};
  dyn_context_device_statistics(dryRun_.get(), &onDevices);
  deviceBytes_ = static_cast<int64_t>(onDevices.peak_bytes);
  return static_cast<int64_t>(statistics.peak_bytes);
}

Result<int64_t> Runner::predictPeak(const DimValues& dims, Warmth warmth, Interruption& interruption) {
  DYN_TRY(std::vector<std::vector<int64_t>> shapes, shapesFor(signature_, dims));
  return predictPeak(shapes, warmth, interruption);
}

Result<Runner::DryRun> Runner::dryRunEvents(const DimValues& dims, Interruption& interruption) {
  DYN_TRY(std::vector<std::vector<int64_t>> shapes, shapesFor(signature_, dims));
  DryRun dryRun;
  DYN_TRY(dryRun.peakBytes, predictPeak(shapes, Warmth::first, interruption));  // it makes the context
  std::vector<int64_t> times;
  while (times.size() < kTimedDryRuns && (times.empty() || times.back() < kLongDryRunNs)) {
    const int64_t begin = steadyNs();
    DYN_CHECK(runDry(interruption));
    times.push_back(steadyNs() - begin);
  }
  std::sort(times.begin(), times.end());
  dryRun.hostNs = times[times.size() / 2];
  dyn_context_profile(dryRun_.get(), 1);
  Status status = runDry(interruption);
  const char* text = status.ok() ? dyn_context_profile_text(dryRun_.get(), "trace") : nullptr;
  Result<TraceEvents> trace = readTrace(text ? text : "");
  dyn_context_profile(dryRun_.get(), 0);
  if (!status.ok()) return status.takeError();
  if (!trace.ok()) return trace.takeError();
  if (trace->isCut)
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a prediction of more than a million launches");
  dryRun.events = std::move(trace->events);
  return dryRun;
}

Status Runner::runOnce(Interruption& interruption, int64_t& timeNs) {
  dyn_status status = DYN_OK;
  DYN_CHECK(interruption.guard(context_.get(), [&] {
    const int64_t start = steadyNs();
    status = dyn_context_run(context_.get());
    timeNs = steadyNs() - start;
  }));
  warm_ = true;
  if (status != DYN_OK) return vmError(status);
  return {};
}

Status Runner::run(const CallInputs& inputs, const RunRequest& request, Interruption& interruption,
                   RunResult& result) {
  result.dims = inputs.dims;
  result.randomInputs = inputs.random;
  for (size_t i = 0; i < inputs.values.size(); ++i) {
    const Value& value = inputs.values[i];
    DYN_TRY(VmValue handle, toVm(context_.get(), value, signature_.inputs[i].type, types_));
    const dyn_status status = dyn_context_set_input(context_.get(), static_cast<int32_t>(i), handle.get());
    if (status != DYN_OK) return vmError(status);
    const ValueInfo& info = signature_.inputs[i].info;
    result.inputs.push_back({info.name, concreteType(value, info), value, ""});
  }
  int64_t warmupNs = 0;
  DYN_CHECK(warmUp(request, interruption, warmupNs));
  result.warmupCount = request.warmup;
  const bool isLong = request.repeat == 1 && static_cast<double>(warmupNs) > request.seconds * 1e9;
  if (request.profiling == Profiling::behind && !isLong)
    DYN_CHECK(runBehind(request, interruption, result));
  else
    DYN_CHECK(runTimed(request, interruption, result));
  if (check_) DYN_CHECK(check_());
  check_ = nullptr;

  const int32_t count = dyn_context_result_count(context_.get());
  for (int32_t i = 0; i < count; ++i) {
    dyn_value* raw = nullptr;
    const dyn_status status = dyn_context_get_output(context_.get(), i, &raw);
    if (status != DYN_OK) return vmError(status);
    VmValue handle(raw);
    const bool known = static_cast<size_t>(i) < signature_.outputs.size();
    const Port port = known ? signature_.outputs[static_cast<size_t>(i)] : Port{};
    DYN_TRY(Value value, fromVm(handle.get(), port.type, types_));
    result.outputs.push_back(
        {known ? port.info.name : std::to_string(i), concreteType(value, port.info), std::move(value), ""});
  }
  for (const Port& port : signature_.outputs) {
    if (port.length.empty()) continue;
    DYN_TRY(HostTensor lengths, lengthsOfOutput(port, signature_, inputs));
    const std::string type = "Tensor[(" + std::to_string(lengths.elementCount()) + "), i64]";
    result.outputs.push_back({port.info.name + ".lengths", type, Value(std::move(lengths)), ""});
  }
  return {};
}

bool goesOn(const RunRequest& request, const RunTimes& times, double seconds) {
  const int64_t count = times.count();
  if (count < request.repeat) return true;
  if (seconds >= request.seconds) return false;
  if (request.mostSpreadPercent <= 0 || seconds < RunRequest::kLeastSeconds) return true;
  if (count >= RunRequest::kMostRepeats) return false;
  // The more there are, the less often they are sorted.
  const auto between = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(count)) / 8);
  const bool looks = between == 0 || count % between == 0;
  return !looks || !isStable(statisticsOf(times), request.mostSpreadPercent);
}

// Profiled ones unless profiling is off.
Status Runner::runTimed(const RunRequest& request, Interruption& interruption, RunResult& result) {
  const bool isProfiled = request.profiling != Profiling::off;
  const bool isUntilStable = request.mostSpreadPercent > 0;
  if (isProfiled) dyn_context_profile(context_.get(), 1);
  std::optional<LiveWatch> watch;
  if (isProfiled && request.live)
    watch.emplace(context_.get(), isUntilStable ? 0 : request.repeat, request.live);
  const SimulatedGpu* simulated = SimulatedGpu::used();
  int64_t launchesBefore = 0;  // the last run
  RunTimes times;
  const int64_t cpuStart = cpuNs(), start = steadyNs();
  int64_t toldNs = start;
  while (goesOn(request, times, static_cast<double>(steadyNs() - start) / 1e9)) {
    if (simulated) launchesBefore = simulated->launchCount();
    int64_t timeNs = 0;
    Status status = runOnce(interruption, timeNs);
    if (!status.ok()) {
      watch.reset();
      if (isProfiled) dyn_context_profile(context_.get(), 0);
      return status;
    }
    if (watch) watch->runDone();
    times.add(timeNs);
    if (!request.times) result.runsNs.push_back(timeNs);
    constexpr int64_t kBetweenNs = 100'000'000;
    if (isUntilStable && !watch && request.live && steadyNs() - toldNs >= kBetweenNs) {
      toldNs = steadyNs();
      LiveRun live;
      live.runsDone = times.count();
      live.runsCount = 0;
      live.spreadShare = statisticsOf(times).spreadShare();
      request.live(live);
    }
  }
  if (request.times) request.times->add(times);
  result.cpuNs = cpuNs() - cpuStart;
  result.isTimeProfiled = isProfiled;
  watch.reset();
  dyn_statistics statistics{};
  dyn_context_statistics(context_.get(), &statistics);
  result.peakBytes = static_cast<int64_t>(statistics.peak_bytes);
  result.allocationsCount = static_cast<int64_t>(statistics.allocations_count);
  result.launchesCount = static_cast<int64_t>(statistics.launches_count);
  if (simulated) result.launches = simulated->launchesAfter(launchesBefore);
  if (isProfiled) readProfile(result);
  return {};
}

Status Runner::runBehind(const RunRequest& request, Interruption& interruption, RunResult& result) {
  RunRequest timed = request;
  timed.profiling = Profiling::off;
  DYN_CHECK(runTimed(timed, interruption, result));
  RunRequest profiled;
  profiled.profiling = Profiling::on;
  profiled.live = request.live;
  constexpr int64_t kMostNs = 500'000'000, kMostRuns = 10, kFewestShown = 3;
  constexpr double kNearLeast = 1.15;
  const int64_t leastNs = request.times ? request.times->leastNs()
                                        : *std::min_element(result.runsNs.begin(), result.runsNs.end());
  profiled.repeat = std::clamp<int64_t>(kMostNs / std::max<int64_t>(1, leastNs), 1, kMostRuns);
  RunResult shown;
  DYN_CHECK(runTimed(profiled, interruption, shown));
  result.placeTimes = std::move(shown.placeTimes);
  // Whatever else the machine does makes a run longer: of several the shortest is shown, and there are more
  // of them until it takes about what runs without a profile do.
  if (const int64_t tries = profiled.repeat; tries > 1) {
    profiled.repeat = 1;
    const double near = kNearLeast * static_cast<double>(leastNs);
    const auto isEnough = [&](int64_t done) {
      return done >= std::min(tries, kFewestShown) && static_cast<double>(shown.runsNs.front()) <= near;
    };
    for (int64_t i = 0; i < tries && !isEnough(i); ++i) {
      RunResult one;
      DYN_CHECK(runTimed(profiled, interruption, one));
      if (i == 0 || one.runsNs.front() < shown.runsNs.front()) shown = std::move(one);
    }
  }
  result.profile = std::move(shown.profile);
  result.launches = std::move(shown.launches);
  result.nodeTimes = std::move(shown.nodeTimes);
  result.timeline = std::move(shown.timeline);
  result.lanes = std::move(shown.lanes);
  result.levels = std::move(shown.levels);
  return {};
}

// What is shown of a run while it goes on is shown of these, too.
Status Runner::warmUp(const RunRequest& request, Interruption& interruption, int64_t& lastNs) {
  const bool isShown = request.profiling != Profiling::off || request.mostSpreadPercent > 0;
  const bool isLive = isShown && request.live && request.warmup > 0;
  if (isLive) dyn_context_profile(context_.get(), 1);
  std::optional<LiveWatch> watch;
  if (isLive)
    watch.emplace(context_.get(), request.warmup, [&](LiveRun run) {
      run.isWarmup = true;
      request.live(run);
    });
  Status status;
  for (int64_t i = 0; i < request.warmup && status.ok(); ++i) {
    status = runOnce(interruption, lastNs);
    if (watch) watch->runDone();
  }
  watch.reset();
  if (isLive) dyn_context_profile(context_.get(), 0);
  return status;
}

void Runner::readProfile(RunResult& result) {
  const char* trace = dyn_context_profile_text(context_.get(), "trace");
  trace_ = trace ? trace : "";
  const char* table = dyn_context_profile_text(context_.get(), "json");
  const nlohmann::json rows = nlohmann::json::parse(table ? table : "", nullptr, false);
  dyn_context_profile(context_.get(), 0);
  auto profile = std::make_shared<KernelTable>();
  profile->profiled = true;
  int64_t total = 0;
  if (rows.is_object() && rows.contains("rows")) {
    for (const nlohmann::json& row : rows["rows"]) {
      KernelRow kernel;
      kernel.kind = textOf(row, "kind");
      if (kernel.kind == "function") continue;  // the time of all others once more
      kernel.name = textOf(row, "name");
      kernel.place = textOf(row, "place");
      kernel.launchesCount = numberOf(row, "count");
      kernel.totalNs = numberOf(row, "total_ns");
      kernel.minNs = numberOf(row, "min_ns");
      kernel.maxNs = numberOf(row, "max_ns");
      kernel.bytes = numberOf(row, "bytes");
      total += kernel.totalNs;
      profile->rows.push_back(std::move(kernel));
    }
  }
  for (KernelRow& row : profile->rows)
    row.share = total ? static_cast<double>(row.totalNs) / static_cast<double>(total) : 0;
  if (const Result<TraceEvents> events = readTrace(trace_); events.ok()) {
    result.lanes = events->lanes;
    result.placeTimes = placeTimes(*events);
    setTimeline(events->events, result);
    splitBySite(events->events, *profile);
    if (!events->levels.empty()) {
      auto levels = std::make_shared<LevelsView>();
      levels->loops = events->levels;
      result.levels = std::move(levels);
    }
  }
  for (KernelRow& row : profile->rows)
    for (const TimelineEvent& event : result.timeline)
      if (row.description.empty() && event.name == row.name) row.description = event.kernel;
  result.profile = std::move(profile);
}

}  // namespace dyn
