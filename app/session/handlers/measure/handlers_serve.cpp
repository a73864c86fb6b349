// Handler: serve, how long requests wait that come at times of their own. It makes the load; what answers is
// the server of app/engine/serving.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <random>

#include "app/engine/inputs/batch_lengths.h"
#include "app/engine/inputs/padded_sequences.h"
#include "app/engine/run/run_times.h"
#include "app/engine/serving/joining_trial.h"
#include "app/engine/serving/poisson_arrivals.h"
#include "app/engine/serving/request_trace.h"
#include "app/engine/serving/server.h"
#include "app/session/handlers/measure/load_plot.h"
#include "app/session/records/latency_runs.h"
#include "app/session/session_state.h"
#include "app/session/views/bench_views.h"
#include "app/session/views/view.h"
#include "app/session/views/view_text.h"
#include "compiler/support/atomic_write.h"
#include "compiler/support/clock.h"

namespace dyn {

namespace {

constexpr size_t kMostCalls = 1024;            // drawn; requests take them in turn
constexpr int64_t kMostCallBytes = 256 << 20;  // of their inputs
constexpr int64_t kMostTracedBytes = int64_t{8} << 30;
constexpr size_t kMostPrograms = 8;  // fewer than a session keeps

// What is the same in all requests, and what is drawn for each.
struct Shapes {
  std::vector<std::string> dims;  // NAME=N
  std::vector<DimSpec> drawn;     // of these one value each
  size_t tracedCount = 0;         // of the first of these, lines of a trace say it
  std::optional<Port> lengths;    // says how long the sequences are; nothing does, or the user gives it
  std::string sequence;           // the dim of the longest
  int64_t batch = 1;
};

// The inputs that the user gives.
std::vector<std::string> givenInputs(const Command& command) {
  std::vector<std::string> names;
  for (const std::string& spec : command.all("input")) names.push_back(spec.substr(0, spec.find('=')));
  return names;
}

Result<Shapes> servedShapesOf(const Signature& signature, const Command& command,
                              const std::optional<RequestTrace>& trace) {
  Shapes shapes;
  for (const std::string& dim : trace ? trace->dims : std::vector<std::string>()) {
    shapes.drawn.emplace_back().name = dim;
    shapes.tracedCount++;
  }
  DYN_TRY(std::vector<DimSpec> specs, parseDimSpecs(command.all("dim")));
  std::vector<DimSpec> fixed;
  for (DimSpec& spec : specs) {
    if (spec.value) {
      shapes.dims.push_back(spec.text);
      fixed.push_back(std::move(spec));
    } else if (!spec.sequence.empty()) {
      shapes.drawn.push_back(std::move(spec));
    } else {
      return makeError(DiagnosticId::usageError,
                       "--dim " + spec.text + ": serve wants a value or @lengths.txt, not a range");
    }
  }
  std::optional<BatchLengths> lengths;
  if (command.all("lengths").size() > 1)
    return makeError(DiagnosticId::usageError, "serve takes lengths of one input");
  if (command.has("lengths")) {
    DYN_TRY(lengths, parseBatchLengths(command.text("lengths")));
    for (const Port& port : signature.inputs)
      if (port.info.name == lengths->name) shapes.lengths = port;
  } else {
    shapes.lengths = sequenceLengthsOf(signature, givenInputs(command)).port;
  }
  if (!lengths && !shapes.lengths) return shapes;
  // What lengths would make of one sequence names the dims.
  Result<LengthsOfCall> call =
      lengthsOfCall(signature, BatchLengths{lengths ? lengths->name : shapes.lengths->info.name, {1}}, fixed);
  if (!call.ok()) {
    if (lengths) return call.takeError();
    shapes.lengths.reset();
    return shapes;
  }
  const std::string batch = shapes.lengths ? shapes.lengths->info.shape[0] : "";
  for (const DimSpec& dim : call->dims)
    if (dim.name != batch) shapes.sequence = dim.name;
  for (const DimSpec& dim : fixed)
    if (dim.name == batch) shapes.batch = *dim.value;
  if (lengths) {
    DimSpec drawn;
    drawn.name = shapes.sequence.empty() ? lengths->name : shapes.sequence;
    drawn.sequence = std::move(lengths->lengths);
    shapes.drawn.push_back(std::move(drawn));
  }
  return shapes;
}

// The command of one request, as `run` takes it.
Command requestCommand(const Command& serve, const Shapes& shapes, const std::vector<int64_t>& values) {
  Command run = Command::of(CommandId::run);
  for (const std::string& dim : shapes.dims) run.add("dim", dim);
  for (const std::string& input : serve.all("input")) run.add("input", input);
  int64_t rows = shapes.batch;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string& name = shapes.drawn[i].name;
    if (shapes.lengths && name == shapes.lengths->info.shape[0]) rows = values[i];
    if (!shapes.lengths || name != shapes.sequence) run.add("dim", name + "=" + std::to_string(values[i]));
  }
  for (size_t i = 0; i < values.size(); ++i)
    if (shapes.lengths && shapes.drawn[i].name == shapes.sequence)
      run.add("lengths", toText({shapes.lengths->info.name,
                                 std::vector<int64_t>(static_cast<size_t>(rows), values[i])}));
  return run;
}

// The calls that requests make: request N makes call N of them, and again from the first.
struct Calls {
  std::vector<CallInputs> made;  // each but once
  std::vector<size_t> turns;
};

int64_t requestBytesOf(const CallInputs& inputs) {
  int64_t bytes = 0;
  for (const Value& value : inputs.values)
    if (value.isTensor()) bytes += value.tensor().sizeBytes();
  return bytes;
}

Result<Calls> drawCalls(SessionState& state, LoadedModel& model, const Command& command, const Shapes& shapes,
                        const std::optional<RequestTrace>& trace) {
  Calls calls;
  std::map<std::vector<int64_t>, size_t> known;
  std::mt19937_64 random(state.now.options.seed);
  int64_t bytes = 0;
  const size_t turns = shapes.tracedCount > 0 ? trace->lines.size() : shapes.drawn.empty() ? 1 : kMostCalls;
  while (calls.turns.size() < turns &&
         (calls.turns.empty() || shapes.tracedCount > 0 || bytes < kMostCallBytes)) {
    if (state.interruption.requested()) return makeError(DiagnosticId::cancelled, "interrupted");
    std::vector<int64_t> values;
    if (shapes.tracedCount > 0) values = trace->lines[calls.turns.size()].sizes;
    for (size_t i = shapes.tracedCount; i < shapes.drawn.size(); ++i)
      values.push_back(shapes.drawn[i].sequence[random() % shapes.drawn[i].sequence.size()]);
    const auto [place, fresh] = known.try_emplace(values, calls.made.size());
    if (fresh) {
      const Command run = requestCommand(command, shapes, values);
      DYN_TRY(CallInputs inputs,
              calls.made.empty() ? callInputs(state, model, run) : quietCallInputs(state, model, run));
      bytes += requestBytesOf(inputs);
      if (bytes > kMostTracedBytes)
        return makeError(DiagnosticId::memoryLimit, "the inputs of the trace's sizes take more than 8 GiB");
      calls.made.push_back(std::move(inputs));
    }
    calls.turns.push_back(place->second);
  }
  return calls;
}

// The programs that answer the calls: several where the model is compiled for an input's rank or axes.
struct ServedCalls {
  std::vector<std::shared_ptr<ServedProgram>> programs;
  std::vector<size_t> models;                // of each call, by the server's number
  std::vector<std::vector<VmValue>> values;  // of each call
};

Result<ServedCalls> serveCalls(SessionState& state, Server& server, const Calls& calls,
                               const SequenceLengths& lengths) {
  ServedCalls served;
  std::map<const LoadedModel*, size_t> known;
  for (const CallInputs& call : calls.made) {
    if (state.interruption.requested()) return makeError(DiagnosticId::cancelled, "interrupted");
    DYN_TRY(const PreparedRun prepared, state.prepare(call));
    const auto [place, fresh] = known.try_emplace(prepared.model, served.programs.size());
    if (fresh) {
      if (served.programs.size() == kMostPrograms)
        return makeError(DiagnosticId::unsupportedFeature,
                         "unsupported: requests for which the model is compiled more than 8 times");
      // The session keeps the program as long as the server lives.
      DYN_TRY(dyn_module * module, prepared.model->program());
      const std::shared_ptr<dyn_module> borrowed(module, [](dyn_module*) {});
      DYN_TRY(auto program,
              ServedProgram::of(*prepared.model, borrowed, state.now.options, server.policy(), lengths));
      giveLatency(state, *prepared.model, *program);
      DYN_TRY([[maybe_unused]] const size_t number, server.add(program));
      served.programs.push_back(std::move(program));
    }
    ServedProgram& program = *served.programs[place->second];
    const Module* types = prepared.model->hasModule() ? &prepared.model->imported() : nullptr;
    std::vector<VmValue>& values = served.values.emplace_back();
    for (size_t i = 0; i < prepared.inputs.values.size(); ++i) {
      DYN_TRY(VmValue value, program.withContext([&](dyn_context* context) {
        return toVm(context, prepared.inputs.values[i], program.signature().inputs[i].type, types);
      }));
      values.push_back(std::move(value));
    }
    served.models.push_back(place->second);
  }
  return served;
}

void waitUntil(int64_t ns, const Interruption& interruption) {
  constexpr int64_t kLongestNs = 20'000'000;
  for (int64_t now; (now = steadyNs()) < ns && !interruption.requested();) {
    const timespec time{0, std::min(ns - now, kLongestNs)};
    ::nanosleep(&time, nullptr);
  }
}

// While it lives, sleeps of this thread end at their time, not up to 50 us later.
class PunctualSleeps {
 public:
  PunctualSleeps() : slackNs_(::prctl(PR_GET_TIMERSLACK)) { ::prctl(PR_SET_TIMERSLACK, 1UL); }
  ~PunctualSleeps() { ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slackNs_ > 0 ? slackNs_ : 0)); }
  PunctualSleeps(const PunctualSleeps&) = delete;
  PunctualSleeps& operator=(const PunctualSleeps&) = delete;

 private:
  int slackNs_;
};

// What was answered, told by the server's threads.
class Tally {
 public:
  explicit Tally(int64_t deadlineNs) : deadlineNs_(deadlineNs) {}
  void add(const ServedAnswer& answer, int64_t arrivalNs, int64_t nowNs) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++answered_;
    if (answer.kind == AnswerKind::results) {
      latencies_.add(nowNs - arrivalNs);
      if (nowNs - arrivalNs > deadlineNs_) ++late_;
      lastNs_ = std::max(lastNs_, nowNs);
    } else if (answer.kind == AnswerKind::failed && !fault_) {
      fault_ = vmError(answer.status, answer.message);
    } else if (answer.kind == AnswerKind::memoryRefused && !fault_) {
      fault_ = makeError(DiagnosticId::memoryLimit, "a request needs more memory than all may take");
    }
  }
  int64_t answeredCount() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return answered_;
  }
  std::optional<Error> fault() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return fault_;
  }
  // Once all are answered.
  const RunTimes& latencies() const { return latencies_; }
  int64_t lateCount() const { return late_; }
  int64_t lastNs() const { return lastNs_; }

 private:
  const int64_t deadlineNs_;
  mutable std::mutex mutex_;
  int64_t answered_ = 0, late_ = 0, lastNs_ = 0;
  RunTimes latencies_;
  std::optional<Error> fault_;
};

// Nanoseconds from the start; nothing: no request comes any more.
using NextArrival = std::function<std::optional<int64_t>()>;

// Lets the requests come, and waits for their answers. A latency counts from the time at which a request was
// to arrive.
Status sendAll(SessionState& state, Server& server, const ServedCalls& served,
               const std::vector<size_t>& turns, const NextArrival& next, const ServeResult& asked,
               Tally& tally, int64_t begin) {
  int64_t taken = 0, toldNs = 0;
  const PunctualSleeps punctual;
  const auto ended = [&]() -> Status {
    if (state.interruption.requested()) return makeError(DiagnosticId::cancelled, "interrupted");
    if (const std::optional<Error> fault = tally.fault()) return *fault;
    const int64_t now = steadyNs() - begin;
    if (now - toldNs < 200'000'000) return {};
    toldNs = now;
    state.progress("answered " + std::to_string(tally.answeredCount()),
                   std::min(1.0, static_cast<double>(now) / (asked.seconds * 1e9)));
    return {};
  };
  for (size_t turn = 0; const std::optional<int64_t> arrival = next(); ++turn) {
    waitUntil(begin + *arrival, state.interruption);
    DYN_CHECK(ended());
    const size_t call = turns[turn % turns.size()];
    auto request = std::make_shared<ServedRequest>();
    request->model = served.models[call];
    request->call = server.call(request->model, shared(served.values[call]));
    if (asked.deadlineNs > 0) request->deadlineNs = begin + *arrival + asked.deadlineNs;
    request->answered = [&tally, begin, arrivalNs = *arrival](const ServedRequest& answered) {
      tally.add(answered.call->answer, arrivalNs, steadyNs() - begin);
    };
    if (server.submit(request) == Submission::taken) ++taken;
  }
  while (tally.answeredCount() < taken) {
    DYN_CHECK(ended());
    waitUntil(steadyNs() + 200'000, state.interruption);
  }
  return ended();
}

// Fills in all that is measured.
Status measure(SessionState& state, Server& server, const ServedCalls& served,
               const std::vector<size_t>& turns, const NextArrival& next, ServeResult& result) {
  Tally tally(result.deadlineNs > 0 ? result.deadlineNs : INT64_MAX);
  const ServingCounts before = server.counts();
  const Status sent = sendAll(state, server, served, turns, next, result, tally, steadyNs());
  server.shutDown(Shutdown::cancel);  // nothing runs any more where all went well
  DYN_CHECK(sent);
  const ServingCounts counts = server.counts();
  result.requestsCount = counts.submitted - before.submitted;
  result.rejectedCount = counts.count(AnswerKind::queueFull);
  result.longestLineCount = counts.longestQueue;
  result.completedCount = tally.latencies().count();
  result.lateCount = tally.lateCount();
  result.expiredCount = counts.count(AnswerKind::expired);
  result.infeasibleCount = counts.count(AnswerKind::infeasible);
  result.runsCount = counts.runs;
  result.p50Ns = tally.latencies().percentileNs(0.5);
  result.p90Ns = tally.latencies().percentileNs(0.9);
  result.p99Ns = tally.latencies().percentileNs(0.99);
  result.meanNs = tally.latencies().meanNs();
  result.runP50Ns = counts.runTimes.percentileNs(0.5);
  if (const int64_t last = tally.lastNs(); last > 0) {
    const double span = std::max(static_cast<double>(last), result.seconds * 1e9);
    result.throughputPerSecond = static_cast<double>(result.completedCount) / span * 1e9;
    result.busyShare = static_cast<double>(counts.busyNs) / span;
  }
  return {};
}

// "joining costs 1.42x here: 92.4 us a request joined, 65.1 us alone; leave out --batching".
std::string joiningText(const JoiningTimes& times, bool computesPadding, Batching batching,
                        const SessionOptions& options) {
  if (times.joinedNs <= 0) return "no two of them were to be joined";
  const auto alone = static_cast<double>(times.aloneNs), joined = static_cast<double>(times.joinedNs);
  const std::string both =
      durationText(times.joinedNs) + " a request joined, " + durationText(times.aloneNs) + " alone";
  if (joined <= alone) return fmt::format("joining pays {:.2f}x: {}", alone / joined, both);
  const std::string costs = fmt::format("joining costs {:.2f}x here: {}", joined / alone, both);
  const bool mayLeaveOut = computesPadding && options.paddedResults == "exact";
  const std::string leaveOut = "add --padded-results zero if padded positions are not needed";
  if (batching == Batching::whereItPays)
    return costs + ", so they run one by one while that is so" + (mayLeaveOut ? "; " + leaveOut : "");
  return costs + "; " + (mayLeaveOut ? leaveOut + ", or " : "") + "leave out --batching";
}

// Fills the caches of each program.
Status warmUp(Server& server, const ServedCalls& served) {
  std::vector<bool> warm(served.programs.size(), false);
  for (size_t call = 0; call < served.values.size(); ++call) {
    const size_t model = served.models[call];
    if (warm[model]) continue;
    warm[model] = true;
    const std::unique_ptr<ServedCall> made = server.call(model, shared(served.values[call]));
    served.programs[model]->run(0, *served.programs[model]->gather(*made, {}));
    if (made->answer.kind != AnswerKind::results) return vmError(made->answer.status, made->answer.message);
  }
  return {};
}

// Runs some requests both ways; with Batching::always their answers must agree.
Status tryBatching(const Server& server, const ServedCalls& served, const std::vector<size_t>& turns,
                   const SessionOptions& options, ServeResult& result) {
  for (size_t p = 0; p < served.programs.size(); ++p) {
    ServedProgram& program = *served.programs[p];
    std::vector<const std::vector<VmValue>*> asTheyCome;
    for (const size_t turn : turns)
      if (served.models[turn] == p) asTheyCome.push_back(&served.values[turn]);
    if (asTheyCome.empty()) continue;
    if (served.values.size() == 1) asTheyCome.resize(1);
    DYN_TRY(const JoiningTimes times, tryJoining(program, asTheyCome, server.policy().maxBatch));
    const std::shared_ptr<const CallJoint> joint = program.joint();
    if (!joint) {
      result.comparedText = program.joiningText();
      if (server.policy().batching != Batching::always) continue;
      return makeError(DiagnosticId::unsupportedFeature, program.whyNotJoined());
    }
    const std::string compared = program.comparedText();
    result.comparedText = compared + (compared.empty() ? "" : "; ") +
                          joiningText(times, program.computesPadding(), server.policy().batching, options);
    result.batch = joint->batch;
    result.sequence = joint->sequence;
  }
  return {};
}

// How requests are joined; where none are to be, it tells at least which dim is the batch, if there is one.
Result<std::optional<CallJoint>> jointOf(LoadedModel& model, const Shapes& shapes, bool needed) {
  Result<CallJoint> joint =
      callJoint(model, shapes.lengths ? shapes.lengths->info.name : "", shapes.sequence);
  if (joint.ok()) return std::optional<CallJoint>(*std::move(joint));
  if (needed) return joint.takeError();
  return std::optional<CallJoint>();
}

// Does anything given say how many rows of the batch a request has? It is one where nothing does.
bool namesBatch(const Command& command, const Shapes& shapes, const std::string& batch) {
  if (shapes.lengths && !shapes.sequence.empty() && shapes.lengths->info.shape[0] == batch) return true;
  const std::vector<std::string>& dims = command.all("dim");
  return std::any_of(dims.begin(), dims.end(), [&](const std::string& dim) {
    return dim.compare(0, batch.size() + 1, batch + "=") == 0;
  });
}

Status readDeadline(const Command& command, ServingPolicy& policy, ServeResult& result) {
  DYN_TRY(const double seconds, command.number("deadline", 0));
  if (command.has("deadline") && !(seconds > 0 && seconds < 1e6))
    return makeError(DiagnosticId::usageError, "--deadline is not a positive time");
  const std::string admission = command.text("admission", "all");
  if (admission != "all" && admission != "deadline")
    return makeError(DiagnosticId::usageError, "--admission " + admission + ": it is all or deadline");
  if (admission == "deadline" && !command.has("deadline"))
    return makeError(DiagnosticId::usageError, "--admission deadline wants --deadline, seconds");
  if (admission == "deadline") policy.admission = Admission::byDeadline;
  result.deadlineNs = static_cast<int64_t>(seconds * 1e9);
  return {};
}

Result<ServingPolicy> policyOf(const Command& command, ServeResult& result) {
  ServingPolicy policy;
  const std::string batching = command.text("batching", "off");
  if (batching != "on" && batching != "off" && batching != "auto")
    return makeError(DiagnosticId::usageError, "--batching " + batching + ": it is on, off or auto");
  policy.batching = batching == "on"    ? Batching::always
                    : batching == "off" ? Batching::never
                                        : Batching::whereItPays;
  result.batching = batching != "off";
  const auto atLeastOne = [&](const char* name, size_t fallback) -> Result<size_t> {
    DYN_TRY(const int64_t value, command.integer(name, static_cast<int64_t>(fallback)));
    if (value < 1) return makeError(DiagnosticId::usageError, "--" + std::string(name) + " is less than one");
    return static_cast<size_t>(value);
  };
  DYN_TRY(policy.maxBatch, atLeastOne("max-batch", policy.maxBatch));
  DYN_TRY(policy.maxQueue, atLeastOne("max-queue", policy.maxQueue));
  DYN_TRY(policy.workers, atLeastOne("workers", 1));
  DYN_TRY(const double mostSeconds,
          command.number("max-batch-time", static_cast<double>(policy.maxBatchTimeNs) / 1e9));
  DYN_TRY(const double waitSeconds, command.number("max-wait", 0));
  if (!(mostSeconds > 0 && mostSeconds < 1e6))
    return makeError(DiagnosticId::usageError, "--max-batch-time is not a positive time");
  if (!(waitSeconds >= 0 && waitSeconds < 1e6))
    return makeError(DiagnosticId::usageError, "--max-wait is not a time");
  DYN_CHECK(readDeadline(command, policy, result));
  policy.maxBatchTimeNs = static_cast<int64_t>(mostSeconds * 1e9);
  policy.maxWaitNs = static_cast<int64_t>(waitSeconds * 1e9);
  return policy;
}

// When requests arrive: by the trace, or at random times, at `part` of `parts` of the rate.
Result<NextArrival> arrivalsOf(const Command& command, const std::optional<RequestTrace>& trace,
                               uint64_t seed, ServeResult& result, int part = 1, int parts = 1) {
  if (trace) {
    for (const char* other : {"rate", "seconds", "burst", "plot"})
      if (command.has(other))
        return makeError(DiagnosticId::usageError,
                         "--" + std::string(other) + " and --trace: the trace says when requests arrive");
    const int64_t lastNs = trace->lines.back().arrivalNs;
    result.seconds = std::max(static_cast<double>(lastNs) / 1e9, 1e-9);
    result.perSecond = static_cast<double>(trace->lines.size()) / result.seconds;
    return NextArrival([&lines = trace->lines, at = size_t{0}]() mutable -> std::optional<int64_t> {
      if (at == lines.size()) return std::nullopt;
      return lines[at++].arrivalNs;
    });
  }
  if (!command.has("rate"))
    return makeError(DiagnosticId::usageError, "serve wants --rate, requests a second, or --trace, a file");
  DYN_TRY(result.perSecond, command.number("rate", 0));
  DYN_TRY(result.seconds, command.number("seconds", 1));
  DYN_TRY(const int64_t burst, command.integer("burst", 1));
  if (!(result.perSecond > 0 && result.perSecond <= 1e7))
    return makeError(DiagnosticId::usageError,
                     "--rate is not a number of requests a second, up to 10,000,000");
  if (!(result.seconds > 0 && result.seconds < 1e6))
    return makeError(DiagnosticId::usageError, "--seconds is not a positive time");
  if (burst < 1 || burst > 1'000'000)
    return makeError(DiagnosticId::usageError, "--burst is not a number of requests");
  result.perSecond = result.perSecond * part / parts;
  return NextArrival([arrivals = PoissonArrivals(result.perSecond, result.seconds, burst, seed)]() mutable {
    const std::optional<int64_t> next = arrivals.next();
    if (next) arrivals.advance();
    return next;
  });
}

// What comes, and what answers it: the same for each load that is measured.
struct Requests {
  LoadedModel& model;
  const Shapes& shapes;
  const Calls& calls;
};

Status serveLoad(SessionState& state, const Requests& requests, const ServingPolicy& policy,
                 const NextArrival& next, ServeResult& result) {
  const Shapes& shapes = requests.shapes;
  DYN_TRY(const std::unique_ptr<Server> server, Server::start(policy));
  DYN_TRY(const ServedCalls served,
          serveCalls(state, *server, requests.calls, SequenceLengths{shapes.lengths, shapes.sequence}));
  DYN_CHECK(warmUp(*server, served));
  result.loadNs = requests.model.readyNs();
  if (const CompiledModel* compiled = requests.model.compiled()) {
    result.compileNs = compiled->statistics.compileNs;
    result.kernelsCompiledCount = compiled->statistics.kernelsCompiledCount;
  }
  if (policy.batching != Batching::never) {
    DYN_CHECK(tryBatching(*server, served, requests.calls.turns, state.now.options, result));
    if (!result.sequence.empty() && shapes.lengths) result.lengths = shapes.lengths->info.name;
  }
  if (policy.admission == Admission::byDeadline) result.admissionText = served.programs[0]->admissionText();
  return measure(state, *server, served, requests.calls.turns, next, result);
}

LoadPoint pointOf(const ServeResult& result) {
  return {result.perSecond, result.throughputPerSecond, result.p50Ns, result.p99Ns, result.rejectedCount};
}

// Smaller loads than the one of `result`, and all of them one by one where requests are joined.
Status plotLoads(SessionState& state, const Requests& requests, const ServingPolicy& policy,
                 const Command& command, ServeResult& result) {
  constexpr int kLoads = 8;
  ServingPolicy alone = policy;
  alone.batching = Batching::never;
  for (int i = 1; i <= kLoads; ++i) {
    const auto measured = [&](const ServingPolicy& by) -> Result<LoadPoint> {
      ServeResult one;
      one.deadlineNs = result.deadlineNs;
      DYN_TRY(const NextArrival next, arrivalsOf(command, {}, state.now.options.seed, one, i, kLoads));
      DYN_CHECK(serveLoad(state, requests, by, next, one));
      return pointOf(one);
    };
    if (i == kLoads) {
      result.loads.push_back(pointOf(result));
    } else {
      DYN_TRY(LoadPoint point, measured(policy));
      result.loads.push_back(point);
    }
    if (policy.batching == Batching::never) continue;
    DYN_TRY(LoadPoint point, measured(alone));
    result.alone.push_back(point);
  }
  std::vector<LoadCurve> curves = {{result.alone.empty() ? "one by one" : "joined", "#1d4ed8", result.loads}};
  if (!result.alone.empty()) curves.push_back({"one by one", "#c2410c", result.alone});
  result.plotFile = command.text("plot");
  const std::string plot = loadPlot(curves, "Latency over load");
  return writeFileAtomically(result.plotFile, {plot});
}

}  // namespace

Result<View> handle_serve(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(LoadedModel * model, state.model());
  ServeResult result;
  std::optional<RequestTrace> trace;
  if (command.has("trace")) {
    DYN_TRY(trace, readRequestTrace(command.text("trace")));
  }
  DYN_TRY(const ServingPolicy policy, policyOf(command, result));
  DYN_TRY(const NextArrival next, arrivalsOf(command, trace, state.now.options.seed, result));
  DYN_TRY(Shapes shapes, servedShapesOf(model->signature(), command, trace));
  DYN_TRY(const std::optional<CallJoint> joint, jointOf(*model, shapes, policy.batching == Batching::always));
  if (joint && !namesBatch(command, shapes, joint->batch)) shapes.dims.push_back(joint->batch + "=1");
  DYN_TRY(const Calls calls, drawCalls(state, *model, command, shapes, trace));
  const Requests requests{*model, shapes, calls};
  DYN_CHECK(serveLoad(state, requests, policy, next, result));
  if (command.has("plot")) DYN_CHECK(plotLoads(state, requests, policy, command, result));
  return makeView(std::move(result));
}

}  // namespace dyn
