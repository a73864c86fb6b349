// The verbs that load a model, and cache: each is the command of the session of that name with the options
// that were given.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "app/batch/verbs.h"
#include "app/engine/model/dim_relation.h"
#include "app/engine/model/loaded_model.h"
#include "app/engine/model/model_info.h"
#include "app/engine/model/signature.h"
#include "app/session/case_file.h"
#include "app/session/views/change_views.h"
#include "app/session/views/file_views.h"
#include "app/session/views/generate_views.h"
#include "app/session/views/pass_views.h"
#include "app/session/views/problem_views.h"
#include "app/session/views/view_json.h"

namespace dyn {

using Json = nlohmann::ordered_json;

namespace {

// With the names that are given to axes, and relations of dims.
Command loadCommand(const BatchRequest& request) {
  Command load = Command::of(CommandId::load).add("model", request.text("model"));
  for (const std::string& dim : request.all("dim"))
    if (isSaidOfModel(dim)) load.add("dim", dim);
  return load;
}

Command withDims(Command load, const BatchRequest& request) {
  for (const std::string& dim : request.all("dim"))
    if (!isSaidOfModel(dim)) load.add("dim", dim);
  return load;
}

// Ranges, lists and relations are what loading declares.
bool declares(const std::string& dim) {
  return dim.find("..") != std::string::npos || dim.find('@') != std::string::npos || isDimRelation(dim);
}

std::vector<std::string> saidOfRuns(std::vector<std::string> dims) {
  std::erase_if(dims, isSaidOfModel);
  return dims;
}

// With those dims that have one value.
Command withValues(Command command, const BatchRequest& request) {
  for (const std::string& dim : request.all("dim"))
    if (!declares(dim)) command.add("dim", dim);
  return command;
}

Command withLengths(Command command, const BatchRequest& request) {
  command = withValues(std::move(command), request);
  for (const std::string& lengths : request.all("lengths")) command.add("lengths", lengths);
  return command;
}

Command withRuns(Command command, const BatchRequest& request) {
  command = withLengths(std::move(command), request);
  return request.has("runs") ? command.add("runs", request.text("runs")) : command;
}

// For a run or a measurement: what is to be static is made for the sizes given.
Command loadToRun(const BatchRequest& request) {
  Command load = loadCommand(request);
  return request.has("static") ? withValues(load.add("static"), request) : load;
}

void merge(Json& target, Json more) {
  for (auto& [key, value] : more.items()) target[key] = std::move(value);
}

int finish(const BatchContext& context, Json fields, const std::string& text) {
  if (!context.output.claim()) ::pause();
  return context.output.result(std::move(fields), text);
}

// Loads the model and prints what one command says of it. What fails may have something to show, too.
// Warnings of a run or of generalise are new; those of other commands were said of loading.
int answer(const BatchContext& context, Command load, Command command) {
  std::shared_ptr<const Outcome> loaded = context.execute(std::move(load));
  if (!loaded->ok()) return context.fail(*loaded);
  const bool quiet = context.request.has("quiet");
  if (!quiet) context.output.warnings(loaded->warnings);
  std::shared_ptr<const Outcome> outcome = context.execute(std::move(command));
  const bool isOfOutcome =
      outcome->command.id == CommandId::run || outcome->command.id == CommandId::generalise;
  if (!quiet && isOfOutcome) context.output.warnings(outcome->warnings);
  if (!outcome->ok() && outcome->view.isEmpty()) return context.fail(*outcome);
  Json fields = {{"model", context.request.text("model")}};
  merge(fields, toJson(outcome->view));
  // What came piece by piece was printed then.
  const bool isPrinted = outcome->as<GenerateResult>() != nullptr;
  const std::string text = isPrinted ? "" : toText(outcome->view, context.output.textOptions());
  if (outcome->ok()) return finish(context, std::move(fields), text);
  if (!context.output.claim()) ::pause();
  return context.output.failure(*outcome->error, std::move(fields), text);
}

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
std::optional<Diagnostic> runCase(const BatchContext& context, const Command& shared, Result<RunCase> read,
                                  CasesSummary& summary) {
  const std::string title = "case " + std::to_string(summary.count++) + "\n";
  std::optional<Diagnostic> error;
  std::shared_ptr<const Outcome> outcome;
  if (read.ok()) {
    read->addDefaults(saidOfRuns(context.request.all("dim")), context.request.all("input"));
    Command command = shared;
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
  if (!context.request.has("quiet")) writeStderr(toText(*error, context.output.textOptions()));
  return std::nullopt;
}

int runCases(const BatchContext& context) {
  if (context.request.has("output-dir") || context.request.has("profile"))
    return context.fail(
        makeError(DiagnosticId::usageError,
                  "--output-dir and --profile are of one run; with --cases each line may have "
                  "an \"output_dir\"")
            .diagnostic());
  Result<CaseFile> cases = CaseFile::open(context.request.text("cases"));
  if (!cases.ok()) return context.fail(cases.error());
  std::shared_ptr<const Outcome> loaded = context.execute(loadToRun(context.request));
  if (!loaded->ok()) return context.fail(*loaded);
  if (!context.request.has("quiet")) context.output.warnings(loaded->warnings);
  context.output.openList("cases", {{"model", context.request.text("model")}});
  Command shared = context.request.handedTo(CommandId::run);  // what the cases have in common
  shared.arguments.erase("dim");
  shared.arguments.erase("input");
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

}  // namespace

int verb_run(const BatchContext& context) {
  const BatchRequest& request = context.request;
  if (request.has("cases")) return runCases(context);
  return answer(context, loadToRun(request), request.handedTo(CommandId::run));
}

// With -v: for which operation each pass asked the solver most.
static void tellDearest(const PassList& passes) {
  for (const PassRow& row : passes.rows)
    if (row.dearestSteps > 0)
      writeStderr(row.name + ": " + std::to_string(row.dearestSteps) + " of " +
                  std::to_string(row.solverSteps) + " solver steps for " + row.dearestOp + "\n");
}

// The problems that a check found: the list on stdout, each with its notes on stderr.
static int tellProblems(const BatchContext& context, const Outcome& checked, Json fields) {
  merge(fields, toJson(checked.view));
  const std::string text = toText(checked.view, context.output.textOptions());
  if (checked.ok()) return finish(context, std::move(fields), text);
  if (!context.output.claim()) ::pause();
  for (const Diagnostic& problem : checked.more)
    if (problem.message != checked.error->message ||
        problem.place.toString() != checked.error->place.toString())
      writeStderr(toText(problem, context.output.textOptions()));
  return context.output.failure(*checked.error, std::move(fields), text);
}

int verb_inspect(const BatchContext& context) {
  const BatchRequest& request = context.request;
  Json fields = {{"model", request.text("model")}};
  const TextOptions& options = context.output.textOptions();
  if (request.has("check")) {
    std::shared_ptr<const Outcome> checked =
        context.execute(Command::of(CommandId::check).add("model", request.text("model")));
    if (!checked->as<ProblemList>()) return context.fail(*checked);
    return tellProblems(context, *checked, std::move(fields));
  }
  // What is asked of runs of a package takes their sizes; of a model they are said when it is loaded.
  const bool asksOfRuns =
      request.has("limit") || request.has("predict") || request.has("plan") || request.has("kernels");
  const bool sizesOfRuns = asksOfRuns && namesPackage(request.text("model"));
  const auto sized = [&](Command command) {
    return sizesOfRuns ? withDims(std::move(command), request) : std::move(command);
  };
  Command load = sizesOfRuns ? loadCommand(request) : withDims(loadCommand(request), request);
  if (request.has("static")) load.add("static");
  std::shared_ptr<const Outcome> loaded = context.execute(std::move(load));
  if (!loaded->ok()) return context.fail(*loaded);
  if (!request.has("quiet")) context.output.warnings(loaded->warnings);
  std::shared_ptr<const Outcome> info = context.execute(Command::of(CommandId::info));
  if (!info->ok()) return context.fail(*info);
  merge(fields, toJson(info->view));
  const bool package = info->as<ModelInfo>()->kind == ModelKind::package;

  // What was asked for, in text; JSON has all of it.
  std::string text;
  std::optional<Diagnostic> fault;
  auto add = [&](Command command, bool wanted) {
    if (!wanted && !context.output.json()) return;
    std::shared_ptr<const Outcome> outcome = context.execute(std::move(command));
    if (!outcome->view.isEmpty()) {
      merge(fields, toJson(outcome->view));
      if (wanted) text += toText(outcome->view, options);
      if (const PassList* passes = outcome->as<PassList>(); passes && wanted && request.has("verbose"))
        tellDearest(*passes);
    }
    const bool ended = outcome->error && (diagnosticRow(outcome->error->id).kind == FaultKind::cancelled ||
                                          diagnosticRow(outcome->error->id).kind == FaultKind::timeout);
    // What nobody asked for may fail: a model that cannot be compiled yet can be looked at.
    if (outcome->error && (wanted || ended) && !fault) fault = outcome->error;
  };
  const bool ir = request.has("ir") || request.has("pass");
  const bool anything = ir || request.has("dims") || request.has("plan") || request.has("kernels") ||
                        request.has("why") || request.has("limit") || request.has("predict");
  if (!anything) text += toText(info->view, options);
  if (ir) {
    Command command = Command::of(CommandId::ir);
    if (request.has("ir")) command.add("level", request.text("ir"));
    if (request.has("pass")) command.add("pass", request.text("pass"));
    add(std::move(command), true);
  }
  if (request.has("why")) {
    Command why = Command::of(CommandId::why);
    const std::string asked = request.text("why");
    const size_t equals = asked.find('=');
    why.add("a", asked.substr(0, equals));
    if (equals != std::string::npos) why.add("b", asked.substr(equals + 1));
    add(std::move(why), true);
  }
  add(Command::of(CommandId::dims), request.has("dims"));
  if (!package) add(Command::of(CommandId::passes), !anything);
  if (!package || request.has("plan")) {
    add(sized(withLengths(Command::of(CommandId::plan), request)), request.has("plan"));
  }
  if (request.has("limit"))
    add(sized(withRuns(Command::of(CommandId::limit).add("bytes", request.text("limit")), request)), true);
  if (request.has("predict")) add(sized(withRuns(Command::of(CommandId::predict), request)), true);
  if (!package || request.has("kernels"))
    add(sized(withValues(Command::of(CommandId::kernels), request)), request.has("kernels"));
  if (!fault) return finish(context, std::move(fields), text);
  if (!context.output.claim()) ::pause();
  return context.output.failure(*fault, std::move(fields), text);
}

int verb_check(const BatchContext& context) {
  Command check = context.request.handedTo(CommandId::check);
  if (!context.request.has("assert")) check.add("assert", "");
  std::shared_ptr<const Outcome> outcome = context.execute(std::move(check));
  if (!outcome->as<ProblemList>()) return context.fail(*outcome);
  return tellProblems(context, *outcome, {{"model", context.request.text("model")}});
}

int verb_why(const BatchContext& context) {
  const BatchRequest& request = context.request;
  Command why = request.handedTo(CommandId::why);
  const std::string asked = request.text("question");
  const size_t equals = asked.find('=');
  why.add("a", asked.substr(0, equals));
  if (equals != std::string::npos) why.add("b", asked.substr(equals + 1));
  return answer(context, loadCommand(request), std::move(why));
}

int verb_compile(const BatchContext& context) {
  const BatchRequest& request = context.request;
  const int code = answer(context, loadCommand(request), request.handedTo(CommandId::compile));
  if (code == 0 && !request.has("o") && !request.has("quiet"))
    writeStderr("nothing is written: -o FILE writes the package\n");
  return code;
}

int verb_exportModel(const BatchContext& context) {
  return answer(context, loadCommand(context.request), context.request.handedTo(CommandId::exportModel));
}

int verb_infer(const BatchContext& context) {
  const BatchRequest& request = context.request;
  return answer(context, withDims(loadCommand(request), request),
                Command::of(CommandId::infer).add("file", request.text("o")));
}

int verb_generalise(const BatchContext& context) {
  const BatchRequest& request = context.request;
  return answer(context, loadCommand(request),
                request.handedTo(CommandId::generalise).add("file", request.text("o")));
}

// Exit codes as those of diff(1): 1 says that the two are not the same, 2 that they could not be compared.
int verb_diff(const BatchContext& context) {
  const BatchRequest& request = context.request;
  const auto trouble = [](int code) { return code == 1 ? 2 : code; };
  std::shared_ptr<const Outcome> loaded = context.execute(withDims(loadCommand(request), request));
  if (!loaded->ok()) return trouble(context.fail(*loaded));
  if (!request.has("quiet")) context.output.warnings(loaded->warnings);
  std::shared_ptr<const Outcome> outcome = context.execute(request.handedTo(CommandId::diff));
  if (!outcome->as<ModelDifference>()) return trouble(context.fail(*outcome));
  const std::string text = toText(outcome->view, context.output.textOptions());
  if (outcome->ok()) return finish(context, toJson(outcome->view), text);
  if (!context.output.claim()) ::pause();
  const int code = context.output.failure(*outcome->error, toJson(outcome->view), text);
  return code == exitCode(DiagnosticId::resultsDiffer) ? 1 : code;
}

int verb_compare(const BatchContext& context) {
  Command compare = context.request.handedTo(CommandId::compare);
  if (!compare.has("values")) compare.add("values");
  return answer(context, loadCommand(context.request), std::move(compare));
}

int verb_extract(const BatchContext& context) {
  const BatchRequest& request = context.request;
  return answer(context, loadCommand(request),
                request.handedTo(CommandId::extract).add("file", request.text("o")));
}

int verb_quantise(const BatchContext& context) {
  const BatchRequest& request = context.request;
  return answer(context, loadCommand(request),
                request.handedTo(CommandId::quantise).add("file", request.text("o")));
}

int verb_report(const BatchContext& context) {
  const BatchRequest& request = context.request;
  Command load = loadCommand(request);
  // The page is of the model of any size: only what is said of several sizes is declared.
  for (const std::string& dim : request.all("dim"))
    if (declares(dim) && !isSaidOfModel(dim)) load.add("dim", dim);
  return answer(context, std::move(load), request.handedTo(CommandId::report));
}

int verb_generate(const BatchContext& context) {
  return answer(context, loadCommand(context.request), context.request.handedTo(CommandId::generate));
}

int verb_save(const BatchContext& context) {
  const BatchRequest& request = context.request;
  Command save = Command::of(CommandId::save).add("value", "model").add("file", request.text("o"));
  if (request.has("pass")) save.add("pass", request.text("pass"));
  if (request.has("external")) save.add("external");
  return answer(context, withDims(loadCommand(request), request), std::move(save));
}

int verb_bench(const BatchContext& context) {
  return answer(context, loadToRun(context.request), context.request.handedTo(CommandId::bench));
}

int verb_latency(const BatchContext& context) {
  return answer(context, loadToRun(context.request), context.request.handedTo(CommandId::latency));
}

int verb_serve(const BatchContext& context) {
  return answer(context, loadToRun(context.request), context.request.handedTo(CommandId::serve));
}

int verb_bisect(const BatchContext& context) {
  return answer(context, loadCommand(context.request), context.request.handedTo(CommandId::bisect));
}

int verb_tune(const BatchContext& context) {
  return answer(context, loadCommand(context.request), context.request.handedTo(CommandId::tune));
}

// Prints what a command without a model says, also when it failed.
static int answerAlone(const BatchContext& context, Command command) {
  std::shared_ptr<const Outcome> outcome = context.execute(std::move(command));
  if (outcome->view.isEmpty()) return context.fail(*outcome);
  const std::string text = toText(outcome->view, context.output.textOptions());
  if (outcome->ok()) return finish(context, toJson(outcome->view), text);
  if (!context.output.claim()) ::pause();
  return context.output.failure(*outcome->error, toJson(outcome->view), text);
}

int verb_cache(const BatchContext& context) {
  return answerAlone(context, Command::of(CommandId::cache).add("what", context.request.text("action")));
}

int verb_verifyPackage(const BatchContext& context) {
  return answerAlone(context,
                     Command::of(CommandId::verifyPackage).add("file", context.request.text("file")));
}

}  // namespace dyn
