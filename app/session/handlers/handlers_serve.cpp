// Handler: serve, how long requests wait that come at times of their own.
#include <time.h>

#include <algorithm>
#include <map>
#include <random>

#include "app/engine/inputs/batch_lengths.h"
#include "app/engine/inputs/padded_sequences.h"
#include "app/engine/run/run_times.h"
#include "app/engine/serving/joined_calls.h"
#include "app/engine/serving/waiting_line.h"
#include "app/session/handlers/joining_server.h"
#include "app/session/handlers/poisson_arrivals.h"
#include "app/session/session_state.h"
#include "compiler/support/clock.h"

namespace dyn {

namespace {

constexpr size_t kMostCalls = 1024;            // drawn; requests take them in turn
constexpr int64_t kMostCallBytes = 256 << 20;  // of their inputs

// What is the same in all requests, and what is drawn for each.
struct Shapes {
  std::vector<std::string> dims;  // NAME=N
  std::vector<DimSpec> drawn;     // of these one value each
  std::optional<Port> lengths;    // says how long the sequences are; nothing does, or the user gives it
  std::string sequence;           // the dim of the longest
  int64_t batch = 1;
};

// The input that says how long sequences are, by its name and shape; null: absent, or several.
const Port* servedLengthsPort(const Signature& signature, const std::vector<std::string>& given) {
  const Port* found = nullptr;
  for (const Port& port : signature.inputs) {
    const std::string prefix = port.info.name + "=";
    const bool isGiven = std::any_of(given.begin(), given.end(), [&](const std::string& spec) {
      return spec.compare(0, prefix.size(), prefix) == 0;
    });
    const bool says = std::any_of(signature.inputs.begin(), signature.inputs.end(), [&](const Port& input) {
      return sequencesBy(input, port, LengthsKnown::nothing).has_value();
    });
    if (isGiven || !says) continue;
    if (found) return nullptr;
    found = &port;
  }
  return found;
}

Result<Shapes> servedShapesOf(const Signature& signature, const Command& command) {
  Shapes shapes;
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
  } else if (const Port* port = servedLengthsPort(signature, command.all("input"))) {
    shapes.lengths = *port;
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
  bool batchDrawn = false;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string& name = shapes.drawn[i].name;
    batchDrawn = batchDrawn || (shapes.lengths && name == shapes.lengths->info.shape[0]);
    if (!shapes.lengths || name != shapes.sequence) run.add("dim", name + "=" + std::to_string(values[i]));
  }
  for (size_t i = 0; i < values.size() && !batchDrawn; ++i)
    if (shapes.lengths && shapes.drawn[i].name == shapes.sequence)
      run.add("lengths", toText({shapes.lengths->info.name,
                                 std::vector<int64_t>(static_cast<size_t>(shapes.batch), values[i])}));
  return run;
}

// The calls that requests make: request N makes call N of them, and again from the first.
struct Calls {
  std::vector<CallInputs> made;  // each but once
  std::vector<size_t> turns;
  size_t indexOf(const Request& request) const {
    return turns[static_cast<size_t>(request.number) % turns.size()];
  }
  const CallInputs& of(const Request& request) const { return made[indexOf(request)]; }
};

int64_t requestBytesOf(const CallInputs& inputs) {
  int64_t bytes = 0;
  for (const Value& value : inputs.values)
    if (value.isTensor()) bytes += value.tensor().sizeBytes();
  return bytes;
}

Result<Calls> drawCalls(SessionState& state, LoadedModel& model, const Command& command,
                        const Shapes& shapes) {
  Calls calls;
  std::map<std::vector<int64_t>, size_t> known;
  std::mt19937_64 random(state.now.options.seed);
  int64_t bytes = 0;
  const size_t turns = shapes.drawn.empty() ? 1 : kMostCalls;
  while (calls.turns.size() < turns && (calls.turns.empty() || bytes < kMostCallBytes)) {
    if (state.interruption.requested()) return makeError(DiagnosticId::cancelled, "interrupted");
    std::vector<int64_t> values;
    for (const DimSpec& spec : shapes.drawn) values.push_back(spec.sequence[random() % spec.sequence.size()]);
    const auto [place, fresh] = known.try_emplace(values, calls.made.size());
    if (fresh) {
      const Command run = requestCommand(command, shapes, values);
      DYN_TRY(CallInputs inputs,
              calls.made.empty() ? callInputs(state, model, run) : quietCallInputs(state, model, run));
      bytes += requestBytesOf(inputs);
      calls.made.push_back(std::move(inputs));
    }
    calls.turns.push_back(place->second);
  }
  return calls;
}

void waitUntil(int64_t ns, const Interruption& interruption) {
  constexpr int64_t kLongestNs = 20'000'000, kSpinNs = 100'000;
  for (int64_t now; (now = steadyNs()) < ns && !interruption.requested();) {
    const int64_t left = std::min(ns - now - kSpinNs, kLongestNs);
    if (left <= 0) continue;  // a sleep ends late by more than that
    const timespec time{0, left};
    ::nanosleep(&time, nullptr);
  }
}

// Lets the requests come and answers them. Fills in all that is measured.
Status serveAll(SessionState& state, JoiningServer& server, const Calls& calls, size_t most,
                PoissonArrivals arrivals, WaitingLine line, ServeResult& result) {
  RunTimes latencies, runs;
  const CallJoint none;
  const int64_t begin = steadyNs();
  int64_t busyNs = 0, toldNs = 0, lastNs = 0;
  for (;;) {
    if (state.interruption.requested()) return makeError(DiagnosticId::cancelled, "interrupted");
    const int64_t now = steadyNs() - begin;
    for (; arrivals.next() && *arrivals.next() <= now; arrivals.advance()) line.arrive(*arrivals.next());
    if (line.empty()) {
      const std::optional<int64_t> next = arrivals.next();
      if (!next) break;
      waitUntil(begin + *next, state.interruption);
      continue;
    }
    JoinedGroup together(server.joint() ? *server.joint() : none);
    const std::vector<Request> group =
        line.take(most, [&](const std::vector<Request>& taken, const Request& r) {
          for (size_t i = together.calls().size(); i < taken.size(); ++i) together.add(calls.of(taken[i]));
          return server.joint() && server.mayFollow(together, calls.of(r));
        });
    std::vector<const CallInputs*> inputs;
    for (const Request& request : group) inputs.push_back(&calls.of(request));
    DYN_TRY(const auto answers, server.run(inputs));
    if (answers.size() != group.size())
      return makeError(DiagnosticId::internalError, "not each request has its answer");
    lastNs = steadyNs() - begin;
    for (const Request& request : group) latencies.add(lastNs - request.arrivalNs);
    runs.add(lastNs - now);
    busyNs += lastNs - now;
    if (lastNs - toldNs > 200'000'000) {
      toldNs = lastNs;
      state.progress("answered " + std::to_string(latencies.count()),
                     std::min(1.0, static_cast<double>(lastNs) / (result.seconds * 1e9)));
    }
  }
  result.requestsCount = line.arrivedCount();
  result.rejectedCount = line.rejectedCount();
  result.longestLineCount = line.longestCount();
  result.completedCount = latencies.count();
  result.runsCount = runs.count();
  result.p50Ns = latencies.percentileNs(0.5);
  result.p90Ns = latencies.percentileNs(0.9);
  result.p99Ns = latencies.percentileNs(0.99);
  result.meanNs = latencies.meanNs();
  result.runP50Ns = runs.percentileNs(0.5);
  if (lastNs > 0) {
    const double span = std::max(static_cast<double>(lastNs), result.seconds * 1e9);
    result.throughputPerSecond = static_cast<double>(result.completedCount) / span * 1e9;
    result.busyShare = static_cast<double>(busyNs) / span;
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

struct ServePlan {
  size_t most = 16, line = 1000;
  double mostSeconds = 0.1;  // of a joined run
};

Result<ServePlan> planOf(const Command& command, ServeResult& result) {
  DYN_TRY(result.perSecond, command.number("rate", 0));
  DYN_TRY(result.seconds, command.number("seconds", 1));
  if (!(result.perSecond > 0 && result.perSecond <= 1e7))
    return makeError(DiagnosticId::usageError,
                     "--rate is not a number of requests a second, up to 10,000,000");
  if (!(result.seconds > 0 && result.seconds < 1e6))
    return makeError(DiagnosticId::usageError, "--seconds is not a positive time");
  const std::string batching = command.text("batching", "off");
  if (batching != "on" && batching != "off")
    return makeError(DiagnosticId::usageError, "--batching " + batching + ": it is on or off");
  result.batching = batching == "on";
  DYN_TRY(const int64_t most, command.integer("max-batch", 16));
  DYN_TRY(const int64_t line, command.integer("max-queue", 1000));
  if (most < 1 || line < 1)
    return makeError(DiagnosticId::usageError,
                     std::string(most < 1 ? "--max-batch" : "--max-queue") + " is less than one");
  DYN_TRY(const double mostSeconds, command.number("max-batch-time", ServePlan().mostSeconds));
  if (!(mostSeconds > 0))
    return makeError(DiagnosticId::usageError, "--max-batch-time is not a positive time");
  return ServePlan{result.batching ? static_cast<size_t>(most) : 1, static_cast<size_t>(line), mostSeconds};
}

}  // namespace

Result<View> handle_serve(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(LoadedModel * model, state.model());
  ServeResult result;
  DYN_TRY(const ServePlan plan, planOf(command, result));
  DYN_TRY(Shapes shapes, servedShapesOf(model->signature(), command));
  DYN_TRY(std::optional<CallJoint> joint, jointOf(*model, shapes, result.batching));
  if (joint && !namesBatch(command, shapes, joint->batch)) shapes.dims.push_back(joint->batch + "=1");
  if (!result.batching) joint.reset();
  if (joint) result.batch = joint->batch;
  DYN_TRY(const Calls calls, drawCalls(state, *model, command, shapes));
  JoiningServer server(state, std::move(joint));
  DYN_CHECK(server.warmUp(calls.made[0]));
  result.loadNs = model->readyNs();
  if (const CompiledModel* compiled = model->compiled()) {
    result.compileNs = compiled->statistics.compileNs;
    result.kernelsCompiledCount = compiled->statistics.kernelsCompiledCount;
  }
  if (result.batching) {
    DYN_TRY(result.comparedText, server.compareOnce(calls.made));
    std::vector<const CallInputs*> asTheyCome;
    for (size_t turn : calls.turns) asTheyCome.push_back(&calls.made[turn]);
    DYN_TRY(const JoiningTimes times,
            server.timeJoining(asTheyCome, plan.most, static_cast<int64_t>(plan.mostSeconds * 1e9)));
    result.comparedText += "; " + joiningText(times, state.now.options);
    result.sequence = server.joint()->sequence;
    if (!result.sequence.empty()) result.lengths = shapes.lengths->info.name;
  }
  const PoissonArrivals arrivals(result.perSecond, result.seconds, state.now.options.seed);
  DYN_CHECK(serveAll(state, server, calls, plan.most, arrivals, WaitingLine(plan.line), result));
  return makeView(std::move(result));
}

}  // namespace dyn
