// dynrun: runs the package that stands behind it in its own file. It holds the runtime, what reads inputs and
// what writes results; no compiler. `dynrepl export --kind exe` makes a file of both.
#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/session/model/output_files.h"
#include "app/session/model/runner.h"
#include "app/session/model/vm_value.h"
#include "app/session/views/view_json.h"
#include "compiler/support/atomic_write.h"
#include "compiler/support/clock.h"
#include "compiler/support/standard_streams.h"

namespace dyn {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kVersion = "dynrun 0.1.0";
constexpr const char* kOwnFile = "/proc/self/exe";

struct Request {
  std::vector<std::string> dims, inputs;
  std::string outputDirectory, profile, memoryLimit;
  SessionOptions session;
  RunRequest run;
  bool json = false, describe = false, quiet = false;
};

// The exit code when nothing is to be run: --help and the like, or bad usage.
std::optional<int> parse(int argc, char** argv, Request& r) {
  CLI::App app("Runs the model that this file holds.");
  app.add_flag("--describe", r.describe, "what the model takes and gives");
  app.add_option("--dim", r.dims, "NAME=N")->take_all()->expected(1);
  app.add_option("--input", r.inputs,
                 "NAME=@file.npy, @file.pb, random[:SEED], zeros, ones, range or [1,2,3]; without: random")
      ->take_all()
      ->expected(1);
  app.add_option("--output-dir", r.outputDirectory, "writes each output as NAME.npy");
  app.add_option("--repeat", r.run.repeat, "runs that are timed")->check(CLI::Range(int64_t{1}, INT64_MAX));
  app.add_option("--warmup", r.run.warmup, "runs before them")->check(CLI::Range(int64_t{0}, INT64_MAX));
  app.add_option("--threads", r.session.threadCount, "threads (default: physical cores)")
      ->check(CLI::Range(0, 4096));
  app.add_option("--profile", r.profile, "writes a Chrome trace");
  app.add_option("--mem-limit", r.memoryLimit, "bytes, or 512MB");
  app.add_option("--seed", r.session.seed, "of random inputs");
  app.add_flag("--quiet,-q", r.quiet, "no notes");
  app.add_flag("--json", r.json, "one JSON document on standard output");
  app.set_version_flag("--version", kVersion);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0 && r.json) {
      const Diagnostic fault = makeError(DiagnosticId::usageError, error.what()).diagnostic;
      std::cout << jsonText({{"schema", 1}, {"command", "run"}, {"error", toJson(fault)}}) << "\n";
    }
    return app.exit(error) == 0 ? 0 : exitCode(DiagnosticId::usageError);
  }
  return std::nullopt;
}

std::string faultText(const Diagnostic& fault) {
  std::string text = "error: " + fault.message + "\n";
  for (const std::string& note : fault.notes) text += "  note: " + note + "\n";
  return text;
}

std::string textOf(const RunResult& result) {
  std::string text;
  for (const NamedValue& output : result.outputs)
    text += output.name + ": " + output.type + (output.file.empty() ? "" : "  " + output.file) + "\n";
  int64_t least = INT64_MAX;
  for (int64_t ns : result.runsNs) least = std::min(least, ns);
  return text + std::to_string(result.runsNs.size()) + " runs, the shortest " + std::to_string(least / 1000) +
         " us; peak " + std::to_string(result.peakBytes) + " bytes\n";
}

std::string described(const Signature& signature, const std::string& ramBound) {
  std::string text;
  for (const Port& port : signature.inputs)
    text += "input   " + port.info.name + "  " + port.info.type + "\n";
  for (const Port& port : signature.outputs)
    text += "output  " + port.info.name + "  " + port.info.type + "\n";
  const CallDims dims(signature);
  for (const std::string& name : dims.names()) text += "dim     " + name + "\n";
  return text + "RAM     " +
         (ramBound.empty() ? "no bound that is known"
                           : "at most " + ramBound + " bytes of tensors with one thread") +
         "\n";
}

Json portsJson(const std::vector<Port>& ports) {
  Json list = Json::array();
  for (const Port& port : ports) list.push_back({{"name", port.info.name}, {"type", port.info.type}});
  return list;
}

struct Answer {
  Json fields;
  std::string text;
};

Result<Answer> run(const Request& request, dyn_module* module, const Signature& signature, int64_t loadNs) {
  DYN_TRY(std::vector<DimSpec> dims, parseDimSpecs(request.dims));
  DYN_TRY(CallInputs inputs, makeInputs(signature, dims, request.inputs, request.session.seed, {}));
  if (!inputs.random.empty() && !request.quiet) {
    std::string list;
    for (const std::string& name : inputs.random) list += (list.empty() ? "" : ", ") + name;
    std::cerr << "random (seed " << request.session.seed << "): " << list << "\n";
  }
  DYN_TRY(Runner runner, Runner::create(module, nullptr, signature, request.session));
  auto result = std::make_shared<RunResult>();
  Interruption interruption;
  DYN_CHECK(runner.run(inputs, request.run, interruption, *result));
  result->loadNs = loadNs;
  std::vector<std::vector<int64_t>> shapes;
  for (const Value& value : inputs.values)
    if (value.isTensor()) shapes.push_back(value.tensor().shape());
  if (shapes.size() == inputs.values.size()) {
    const bool repeated = request.run.repeat + request.run.warmup > 1;
    Result<int64_t> peak =
        runner.predictPeak(shapes, repeated ? Runner::Warmth::repeated : Runner::Warmth::first, interruption);
    if (peak.ok()) result->predictedPeakBytes = *peak;
  }
  if (!request.profile.empty()) {
    DYN_CHECK(writeFileAtomically(request.profile, {runner.traceText()}));
    result->profileFile = request.profile;
  }
  if (!request.outputDirectory.empty()) DYN_CHECK(writeOutputs(*result, request.outputDirectory));
  const View view = std::shared_ptr<const RunResult>(result);
  return Answer{toJson(view), textOf(*result)};
}

Result<Answer> answer(Request& request) {
  if (!request.memoryLimit.empty()) {
    DYN_TRY(int64_t bytes, parseBytes(request.memoryLimit));
    request.session.memoryLimitBytes = static_cast<uint64_t>(bytes);
  }
  if (!request.profile.empty()) request.run.profiling = Profiling::on;
  const int64_t start = steadyNs();
  dyn_module* module = nullptr;
  const dyn_status status = dyn_module_load_file(kOwnFile, nullptr, &module);
  if (status != DYN_OK) return vmError(status);
  const VmModule owned(module);
  const Signature signature = signatureOf(module);
  const char* metadata = dyn_module_metadata(module, "ram_bound_bytes");
  const std::string ramBound = metadata ? metadata : "";
  if (request.describe)
    return Answer{{{"inputs", portsJson(signature.inputs)},
                   {"outputs", portsJson(signature.outputs)},
                   {"dims", CallDims(signature).names()},
                   {"ram_bound_bytes", ramBound.empty() ? Json() : Json(std::stoll(ramBound))}},
                  described(signature, ramBound)};
  return run(request, module, signature, steadyNs() - start);
}

int runAll(int argc, char** argv) {
  Request request;
  if (const std::optional<int> code = parse(argc, argv, request)) return *code;
  Result<Answer> result = answer(request);
  Json document = {{"schema", 1}, {"command", request.describe ? "describe" : "run"}};
  if (result.ok()) {
    for (auto& [key, value] : result->fields.items()) document[key] = std::move(value);
  } else {
    document["error"] = toJson(result.error());
    (void)writeStandard(2, faultText(result.error()));
  }
  const std::string text = request.json ? jsonText(document) + "\n" : result.ok() ? result->text : "";
  const Status written = writeStandard(1, text);
  if (!result.ok()) return exitCode(result.error().id);
  return written.ok() ? 0 : exitCode(written.error().id);
}

}  // namespace
}  // namespace dyn

int main(int argc, char** argv) {
  dyn::holdStandardStreams();
  return dyn::runAll(argc, argv);
}
