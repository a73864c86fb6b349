// Runner: runs a program of the VM on values of the session, and reads off times, memory and profile.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>

#include "app/engine/inputs/input_spec.h"
#include "app/engine/model/engine_options.h"
#include "app/engine/model/vm_value.h"
#include "app/engine/run/run_result.h"
#include "app/engine/run/run_statistics.h"
#include "app/engine/run/run_times.h"

namespace dyn {

// The switch by which other threads end what a session does. `cancelled` is looked at by passes and between
// runs; a program that runs is told directly.
class Interruption {
 public:
  const std::atomic<bool>* flag() const { return &cancelled_; }
  bool requested() const { return cancelled_.load(std::memory_order_relaxed); }
  void request();  // any thread; again and again until the command ends, as the VM forgets it between runs
  void reset() { cancelled_ = false; }
  // Told on the thread that runs: true before a program begins, false when it has ended.
  void setListener(std::function<void(bool)> listener) { listener_ = std::move(listener); }
  // Runs a program in the context, by `run`, so that a request ends it. Error cancelled where it does not
  // begin; how it ended is for the caller to see.
  template <typename Run>
  Status guard(dyn_context* context, const Run& run) {
    if (requested()) return makeError(DiagnosticId::cancelled, "interrupted");
    setRunning(context);
    run();
    setRunning(nullptr);
    return {};
  }

 private:
  void setRunning(dyn_context* context);
  std::atomic<bool> cancelled_{false};
  std::function<void(bool)> listener_;
  std::mutex mutex_;  // guards running_
  dyn_context* running_ = nullptr;
};

// `behind`: the runs that are timed are not profiled. Some more behind them are, for the times of operations
// over these, and up to ten last ones: the events of the shortest are those of the result. Where one run is
// enough, and the warm-up took longer than `seconds`, there is one run, profiled and timed.
enum class Profiling : uint8_t { off, on, behind };

struct RunRequest {
  int64_t repeat = 1, warmup = 0;
  Profiling profiling = Profiling::off;
  double seconds = 0;  // go on repeating until this time is over
  // Not 0: stop before, as soon as the spread of the times is at most this percentage of the median, or
  // kMostRepeats are done. For kLeastSeconds the machine gets used to the program: the first times may agree,
  // and later ones be much shorter.
  double mostSpreadPercent = 0;
  std::function<void(const LiveRun&)> live;  // of a profiled run, from a thread beside it; may be null
  RunTimes* times = nullptr;                 // where the times go instead of `runsNs`: they may be many

  static constexpr int64_t kMostRepeats = 10'000;
  static constexpr double kLeastSeconds = 0.1;
};

// A context for runs with these options, or for dry runs; threads: a pool that it shares, or null.
enum class Purpose : uint8_t { running, dryRun };
// `context` is left alone where the status is not DYN_OK.
dyn_status createContext(dyn_module* module, const EngineOptions& options, Purpose purpose,
                         dyn_thread_pool* threads, VmContext& context);
Result<VmContext> makeContext(dyn_module* module, const EngineOptions& options, Purpose purpose,
                              dyn_thread_pool* threads = nullptr);
// Whether a run that took these times, `seconds` in all, is repeated once more.
bool goesOn(const RunRequest& request, const RunTimes& times, double seconds);

class Runner {
 public:
  // The module and its data types must outlive the runner; `types` may be null.
  static Result<Runner> create(dyn_module* module, const Module* types, const Signature& signature,
                               const EngineOptions& options);
  // Asked once, before the results of the first run are given out: an error takes their place.
  void checkAfterFirstRun(std::function<Status()> check) { check_ = std::move(check); }
  // Fills outputs, runsNs, memory and profile. The warm context is kept from call to call.
  Status run(const CallInputs& inputs, const RunRequest& request, Interruption& interruption,
             RunResult& result);
  // What `peakBytes` of a run with inputs of these shapes will be, found by a dry run: the program's own
  // host code with its sizes, without kernels and without elements. `repeated`: after a run before it.
  // Errors: unsupportedFeature where the memory depends on elements, and what a run with these shapes would
  // end in.
  enum class Warmth : uint8_t { first, repeated };
  // Of a program that leaves out what masks hide: how many positions of the batch they keep. Nothing: all,
  // the most memory that a run can take.
  void setValidPositions(std::optional<int64_t> positions) { keptPositions_ = positions; }
  // What small inputs of whole numbers hold, by input: sizes that follow from them are known then, where a
  // dry run has inputs of these shapes. Null: unknown.
  void assumeElements(std::vector<std::optional<HostTensor>> elements) { elements_ = std::move(elements); }
  Result<int64_t> predictPeak(const std::vector<std::vector<int64_t>>& shapes, Warmth warmth,
                              Interruption& interruption);
  Result<int64_t> predictPeak(const DimValues& dims, Warmth warmth, Interruption& interruption);
  // What of the last of these is on devices.
  int64_t predictedDeviceBytes() const { return deviceBytes_; }
  // The launches of such a run, in order, with their sizes; their times mean nothing. All but the launches
  // takes the time it takes in a run.
  struct DryRun {
    int64_t peakBytes = 0, hostNs = 0;
    std::vector<TimelineEvent> events;
  };
  Result<DryRun> dryRunEvents(const DimValues& dims, Interruption& interruption);
  bool warm() const { return warm_; }  // it has run before
  // The Chrome trace of the last profiled run.
  const std::string& traceText() const { return trace_; }

 private:
  Status setDryRun(const std::vector<std::vector<int64_t>>& shapes);
  Status setKnownElements();
  Status runDry(Interruption& interruption);
  // lastNs: the time of the last warm-up run; unchanged without one.
  Status warmUp(const RunRequest& request, Interruption& interruption, int64_t& lastNs);
  Status runTimed(const RunRequest& request, Interruption& interruption, RunResult& result);
  Status runBehind(const RunRequest& request, Interruption& interruption, RunResult& result);
  Status runOnce(Interruption& interruption, int64_t& timeNs);
  void readProfile(RunResult& result);

  dyn_module* module_ = nullptr;
  const Module* types_ = nullptr;
  Signature signature_;
  EngineOptions options_;
  VmContext context_, dryRun_;  // dryRun_ is made when it is first asked for
  std::optional<int64_t> keptPositions_;
  std::vector<std::optional<HostTensor>> elements_;  // of inputs
  std::vector<std::vector<int64_t>> dryRunShapes_;   // of the inputs that are set
  int64_t deviceBytes_ = 0;
  bool warm_ = false;
  std::function<Status()> check_;
  std::string trace_;
};

}  // namespace dyn
