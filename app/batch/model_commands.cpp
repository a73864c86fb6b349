// run, run --cases, inspect, compile, export, save, bench, serve-bench, bisect, tune.
#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "app/batch/commands.h"
#include "app/session/case_file.h"
#include "app/session/views/view_json.h"

namespace dyn {

using Json = nlohmann::ordered_json;

namespace {

Command loadCommand(const BatchRequest& request) {
  return Command::of(CommandId::load).add("model", request.model);
}

// For a run or a measurement: what is to be static is made for the sizes given.
Command loadToRun(const BatchRequest& request) {
  Command load = loadCommand(request);
  if (!request.requireStatic) return load;
  load.add("static");
  for (const std::string& dim : request.dims)
    if (dim.find("..") == std::string::npos && dim.find('@') == std::string::npos) load.add("dim", dim);
  return load;
}

Command runCommandOf(const BatchRequest& request) {
  Command command = Command::of(CommandId::run);
  for (const std::string& dim : request.dims) command.add("dim", dim);
  for (const std::string& input : request.inputs) command.add("input", input);
  for (const std::string& lengths : request.lengths) command.add("lengths", lengths);
  command.add("repeat", std::to_string(request.repeat));
  command.add("warmup", std::to_string(request.warmup));
  if (!request.outputDirectory.empty()) command.add("output-dir", request.outputDirectory);
  if (!request.profile.empty()) command.add("profile", request.profile);
  if (request.explain) command.add("explain");
  return command;
}

// With those dims that have one value; ranges and lists are what loading declares.
Command withValues(Command command, const std::vector<std::string>& dims) {
  for (const std::string& dim : dims)
    if (dim.find("..") == std::string::npos && dim.find('@') == std::string::npos) command.add("dim", dim);
  return command;
}
Command withLengths(Command command, const BatchRequest& request) {
  command = withValues(std::move(command), request.dims);
  for (const std::string& lengths : request.lengths) command.add("lengths", lengths);
  return command;
}

void merge(Json& target, Json more) {
  for (auto& [key, value] : more.items()) target[key] = std::move(value);
}

int finish(const BatchContext& context, Json fields, const std::string& text) {
  if (!context.output.claim()) ::pause();
  return context.output.result(std::move(fields), text);
}

}  // namespace

int runRun(const BatchContext& context) {
  std::shared_ptr<const Outcome> loaded = context.execute(loadToRun(context.request));
  if (!loaded->ok()) return context.fail(*loaded);
  if (!context.request.quiet) context.output.warnings(loaded->warnings);
  std::shared_ptr<const Outcome> outcome = context.execute(runCommandOf(context.request));
  if (!context.request.quiet) context.output.warnings(outcome->warnings);
  if (!outcome->ok()) return context.fail(*outcome);
  Json fields = {{"model", context.request.model}};
  merge(fields, toJson(outcome->view));
  return finish(context, std::move(fields), toText(outcome->view, context.output.textOptions()));
}

namespace {

// What the cases of a file have in common, and what is said of all when they are done.
struct CasesSummary {
  Json head = Json::object();  // of loading, from the first case that ran
  int64_t compiledAfterLoadCount = 0, failedCount = 0, count = 0;
  std::optional<Diagnostic> worst;

  void addResult(const Json& item) {
    if (head.empty())
      for (const char* key : {"load_ns", "compile_ns", "kernels_count", "kernels_compiled_count"})
        head[key] = item[key];
    compiledAfterLoadCount = item["kernels_compiled_after_load_count"];  // it only grows
  }
  void addError(const Diagnostic& error) {
    ++failedCount;
    if (!worst || (exitCode(worst->id) == 4 && exitCode(error.id) != 4)) worst = error;
  }
  Json fields() const {
    Json fields = head;
    fields["kernels_compiled_after_load_count"] = compiledAfterLoadCount;
    fields["failed_count"] = failedCount;
    return fields;
  }
};

// Runs one case and writes what came of it. Nothing, or why no further case is to be run.
std::optional<Diagnostic> runCase(const BatchContext& context, const BatchRequest& shared,
                                  Result<RunCase> read, CasesSummary& summary) {
  const std::string title = "case " + std::to_string(summary.count++) + "\n";
  std::optional<Diagnostic> error;
  std::shared_ptr<const Outcome> outcome;
  if (read.ok()) {
    read->addDefaults(context.request.dims, context.request.inputs);
    Command command = runCommandOf(shared);
    read->addTo(command);
    command.place = read->place;
    if (!read->outputDirectory.empty()) command.add("output-dir", read->outputDirectory);
    outcome = context.execute(std::move(command));
    error = outcome->error;
    if (error && !error->place.known()) error->place = read->place;
  } else {
    error = read.error();
  }
  if (!error) {
    const Json item = toJson(outcome->view);
    summary.addResult(item);
    (void)context.output.add(item, title + toText(outcome->view, context.output.textOptions()));
    return std::nullopt;
  }
  const FaultKind kind = diagnosticRow(error->id).kind;
  if (kind == FaultKind::cancelled || kind == FaultKind::timeout) return error;
  summary.addError(*error);
  (void)context.output.add({{"error", toJson(*error)}}, "");
  if (!context.request.quiet) writeStderr(toText(*error, context.output.textOptions()));
  return std::nullopt;
}

}  // namespace

int runCases(const BatchContext& context) {
  if (!context.request.outputDirectory.empty() || !context.request.profile.empty())
    return context.fail(
        makeError(DiagnosticId::usageError,
                  "--output-dir and --profile are of one run; with --cases each line may have "
                  "an \"output_dir\"")
            .diagnostic());
  Result<CaseFile> cases = CaseFile::open(context.request.casesFile);
  if (!cases.ok()) return context.fail(cases.error());
  std::shared_ptr<const Outcome> loaded = context.execute(loadToRun(context.request));
  if (!loaded->ok()) return context.fail(*loaded);
  if (!context.request.quiet) context.output.warnings(loaded->warnings);
  context.output.openList("cases", {{"model", context.request.model}});
  BatchRequest shared = context.request;  // what the cases have in common
  shared.dims.clear();
  shared.inputs.clear();
  CasesSummary summary;
  while (context.output.writable()) {
    Result<std::optional<RunCase>> next = cases->next();
    if (next.ok() && !*next) break;
    Result<RunCase> one = next.ok() ? Result<RunCase>(**std::move(next)) : next.takeError();
    if (std::optional<Diagnostic> ended = runCase(context, shared, std::move(one), summary))
      return context.fail(*ended);
  }
  if (!context.output.claim()) ::pause();
  if (!summary.worst) return context.output.result(summary.fields(), "");
  summary.worst->message = std::to_string(summary.failedCount) + " of " + std::to_string(summary.count) +
                           " cases failed; the worst: " + summary.worst->message;
  return context.output.failure(*summary.worst, summary.fields(), "");
}

// With -v: for which operation each pass asked the solver most.
static void tellDearest(const PassList& passes) {
  for (const PassRow& row : passes.rows)
    if (row.dearestSteps > 0)
      writeStderr(row.name + ": " + std::to_string(row.dearestSteps) + " of " +
                  std::to_string(row.solverSteps) + " solver steps for " + row.dearestOp + "\n");
}

int runInspect(const BatchContext& context) {
  const BatchRequest& request = context.request;
  Json fields = {{"model", request.model}};
  const TextOptions& options = context.output.textOptions();
  if (request.check) {
    std::shared_ptr<const Outcome> checked =
        context.execute(Command::of(CommandId::check).add("model", request.model));
    if (!checked->as<ProblemList>()) return context.fail(*checked);
    merge(fields, toJson(checked->view));
    std::string text = toText(checked->view, options);
    if (checked->ok()) return finish(context, std::move(fields), text);
    if (!context.output.claim()) ::pause();
    for (size_t i = 0; i + 1 < checked->more.size() || i < checked->more.size(); ++i)
      if (!(checked->more[i].message == checked->error->message &&
            checked->more[i].place.toString() == checked->error->place.toString()))
        writeStderr(toText(checked->more[i], options));
    return context.output.failure(*checked->error, std::move(fields), text);
  }
  Command load = loadCommand(request);
  if (request.requireStatic) load.add("static");
  for (const std::string& dim : request.dims) load.add("dim", dim);
  std::shared_ptr<const Outcome> loaded = context.execute(load);
  if (!loaded->ok()) return context.fail(*loaded);
  if (!request.quiet) context.output.warnings(loaded->warnings);
  std::shared_ptr<const Outcome> info = context.execute(Command::of(CommandId::info));
  if (!info->ok()) return context.fail(*info);
  merge(fields, toJson(info->view));
  const bool package = info->as<ModelInfo>()->kind == ModelKind::package;

  // What was asked for, in text; JSON has all of it.
  std::string text;
  std::optional<Diagnostic> fault;
  auto add = [&](Command command, bool wanted) {
    if (!wanted && !request.json) return;
    std::shared_ptr<const Outcome> outcome = context.execute(std::move(command));
    if (!std::holds_alternative<std::monostate>(outcome->view)) {
      merge(fields, toJson(outcome->view));
      if (wanted) text += toText(outcome->view, options);
      if (const PassList* passes = outcome->as<PassList>(); passes && wanted && request.verbose)
        tellDearest(*passes);
    }
    const bool ended = outcome->error && (diagnosticRow(outcome->error->id).kind == FaultKind::cancelled ||
                                          diagnosticRow(outcome->error->id).kind == FaultKind::timeout);
    // What nobody asked for may fail: a model that cannot be compiled yet can be looked at.
    if (outcome->error && (wanted || ended) && !fault) fault = outcome->error;
  };
  const bool ir = !request.level.empty() || !request.pass.empty();
  const bool anything = ir || request.showDims || request.showPlan || request.showKernels ||
                        !request.why.empty() || !request.limit.empty() || request.predict;
  if (!anything) text += toText(info->view, options);
  if (ir) {
    Command command = Command::of(CommandId::ir);
    if (!request.level.empty()) command.add("level", request.level);
    if (!request.pass.empty()) command.add("pass", request.pass);
    add(std::move(command), true);
  }
  if (!request.why.empty()) {
    Command why = Command::of(CommandId::why);
    const size_t equals = request.why.find('=');
    why.add("a", request.why.substr(0, equals));
    if (equals != std::string::npos) why.add("b", request.why.substr(equals + 1));
    add(std::move(why), true);
  }
  if (!package || request.showDims) add(Command::of(CommandId::dims), request.showDims);
  if (!package) add(Command::of(CommandId::passes), !anything);
  if (!package || request.showPlan) {
    add(withLengths(Command::of(CommandId::plan), request), request.showPlan);
  }
  if (!request.limit.empty())
    add(withLengths(Command::of(CommandId::limit).add("bytes", request.limit), request), true);
  if (request.predict) add(withLengths(Command::of(CommandId::predict), request), true);
  if (!package || request.showKernels)
    add(withValues(Command::of(CommandId::kernels), request.dims), request.showKernels);
  if (!fault) return finish(context, std::move(fields), text);
  if (!context.output.claim()) ::pause();
  return context.output.failure(*fault, std::move(fields), text);
}

int runCompile(const BatchContext& context) {
  const BatchRequest& request = context.request;
  std::shared_ptr<const Outcome> loaded = context.execute(loadCommand(request));
  if (!loaded->ok()) return context.fail(*loaded);
  if (!request.quiet) context.output.warnings(loaded->warnings);
  Command compile = Command::of(CommandId::compile);
  for (const std::string& dim : request.dims) compile.add("dim", dim);
  for (const std::string& lengths : request.lengths) compile.add("lengths", lengths);
  if (request.requireStatic) compile.add("static");
  if (!request.output.empty()) compile.add("o", request.output);
  if (!request.signKey.empty()) compile.add("sign", request.signKey);
  std::shared_ptr<const Outcome> outcome = context.execute(compile);
  if (!outcome->ok()) return context.fail(*outcome);
  if (request.output.empty() && !request.quiet)
    writeStderr("nothing is written: -o FILE writes the package\n");
  Json fields = {{"model", request.model}};
  merge(fields, toJson(outcome->view));
  return finish(context, std::move(fields), toText(outcome->view, context.output.textOptions()));
}

int runExport(const BatchContext& context) {
  const BatchRequest& request = context.request;
  std::shared_ptr<const Outcome> loaded = context.execute(loadCommand(request));
  if (!loaded->ok()) return context.fail(*loaded);
  if (!request.quiet) context.output.warnings(loaded->warnings);
  Command write = Command::of(CommandId::exportModel).add("kind", request.kind).add("o", request.output);
  for (const std::string& dim : request.dims) write.add("dim", dim);
  for (const std::string& input : request.inputs) write.add("input", input);
  if (!request.board.empty()) write.add("board", request.board);
  if (!request.signKey.empty()) write.add("sign", request.signKey);
  const std::pair<bool, const char*> switches[] = {{request.requireStatic, "static"},
                                                   {request.interpret, "interpret"},
                                                   {request.staticLink, "static-link"},
                                                   {request.noHeap, "no-heap"}};
  for (const auto& [given, name] : switches)
    if (given) write.add(name);
  std::shared_ptr<const Outcome> outcome = context.execute(write);
  if (!outcome->ok()) return context.fail(*outcome);
  Json fields = {{"model", request.model}};
  merge(fields, toJson(outcome->view));
  return finish(context, std::move(fields), toText(outcome->view, context.output.textOptions()));
}

int runSave(const BatchContext& context) {
  const BatchRequest& request = context.request;
  Command load = loadCommand(request);
  for (const std::string& dim : request.dims) load.add("dim", dim);
  std::shared_ptr<const Outcome> loaded = context.execute(load);
  if (!loaded->ok()) return context.fail(*loaded);
  if (!request.quiet) context.output.warnings(loaded->warnings);
  Command save = Command::of(CommandId::save).add("value", "model").add("file", request.output);
  if (!request.pass.empty()) save.add("pass", request.pass);
  if (request.external) save.add("external");
  std::shared_ptr<const Outcome> outcome = context.execute(save);
  if (!outcome->ok()) return context.fail(*outcome);
  Json fields = {{"model", request.model}};
  merge(fields, toJson(outcome->view));
  return finish(context, std::move(fields), toText(outcome->view, context.output.textOptions()));
}

int runBench(const BatchContext& context) {
  const BatchRequest& request = context.request;
  std::shared_ptr<const Outcome> loaded = context.execute(loadToRun(request));
  if (!loaded->ok()) return context.fail(*loaded);
  Command bench = Command::of(CommandId::bench).add("seconds", std::to_string(request.seconds));
  for (const std::string& dim : request.dims) bench.add("dim", dim);
  for (const std::string& lengths : request.lengths) bench.add("lengths", lengths);
  for (const std::string& input : request.inputs) bench.add("input", input);
  if (!request.casesFile.empty()) bench.add("cases", request.casesFile);
  if (request.repeat > 1) bench.add("repeat", std::to_string(request.repeat));
  std::shared_ptr<const Outcome> outcome = context.execute(bench);
  if (!outcome->ok()) return context.fail(*outcome);
  Json fields = {{"model", request.model}};
  merge(fields, toJson(outcome->view));
  return finish(context, std::move(fields), toText(outcome->view, context.output.textOptions()));
}

int runServe(const BatchContext& context) {
  const BatchRequest& request = context.request;
  std::shared_ptr<const Outcome> loaded = context.execute(loadToRun(request));
  if (!loaded->ok()) return context.fail(*loaded);
  if (!request.quiet) context.output.warnings(loaded->warnings);
  Command serve = Command::of(CommandId::serve)
                      .add("rate", fmt::format("{}", request.perSecond))
                      .add("seconds", fmt::format("{}", request.seconds))
                      .add("batching", request.batching)
                      .add("max-batch", std::to_string(request.mostTogether))
                      .add("max-batch-time", fmt::format("{}", request.mostTime))
                      .add("max-queue", std::to_string(request.mostWaiting));
  for (const std::string& dim : request.dims) serve.add("dim", dim);
  for (const std::string& lengths : request.lengths) serve.add("lengths", lengths);
  for (const std::string& input : request.inputs) serve.add("input", input);
  std::shared_ptr<const Outcome> outcome = context.execute(serve);
  if (!outcome->ok()) return context.fail(*outcome);
  Json fields = {{"model", request.model}};
  merge(fields, toJson(outcome->view));
  return finish(context, std::move(fields), toText(outcome->view, context.output.textOptions()));
}

int runTune(const BatchContext& context) {
  const BatchRequest& request = context.request;
  std::shared_ptr<const Outcome> loaded = context.execute(loadCommand(request));
  if (!loaded->ok()) return context.fail(*loaded);
  Command tune = Command::of(CommandId::tune)
                     .add("seconds", std::to_string(request.tuneSeconds))
                     .add("versions", std::to_string(request.versions));
  for (const std::string& dim : request.dims) tune.add("dim", dim);
  if (request.trials > 0) tune.add("trials", std::to_string(request.trials));
  if (!request.output.empty()) tune.add("o", request.output);
  std::shared_ptr<const Outcome> outcome = context.execute(tune);
  if (!outcome->ok()) return context.fail(*outcome);
  Json fields = {{"model", request.model}};
  merge(fields, toJson(outcome->view));
  return finish(context, std::move(fields), toText(outcome->view, context.output.textOptions()));
}

int runCache(const BatchContext& context) {
  std::shared_ptr<const Outcome> outcome =
      context.execute(Command::of(CommandId::cache).add("what", context.request.cacheAction));
  if (!outcome->as<CacheView>()) return context.fail(*outcome);
  const std::string text = toText(outcome->view, context.output.textOptions());
  if (outcome->ok()) return finish(context, toJson(outcome->view), text);
  if (!context.output.claim()) ::pause();
  return context.output.failure(*outcome->error, toJson(outcome->view), text);
}

int runBisect(const BatchContext& context) {
  const BatchRequest& request = context.request;
  std::shared_ptr<const Outcome> loaded = context.execute(loadCommand(request));
  if (!loaded->ok()) return context.fail(*loaded);
  if (!request.quiet) context.output.warnings(loaded->warnings);
  Command bisect = Command::of(CommandId::bisect);
  for (const std::string& dim : request.dims) bisect.add("dim", dim);
  for (const std::string& input : request.inputs) bisect.add("input", input);
  bisect.add("rtol", fmt::format("{}", request.relativeTolerance));
  bisect.add("atol", fmt::format("{}", request.absoluteTolerance));
  if (!request.output.empty()) bisect.add("o", request.output);
  std::shared_ptr<const Outcome> outcome = context.execute(bisect);
  if (!outcome->as<BisectView>()) return context.fail(*outcome);
  Json fields = {{"model", request.model}};
  merge(fields, toJson(outcome->view));
  const std::string text = toText(outcome->view, context.output.textOptions());
  if (outcome->ok()) return finish(context, std::move(fields), text);
  if (!context.output.claim()) ::pause();
  return context.output.failure(*outcome->error, std::move(fields), text);
}

}  // namespace dyn
