// dynrun: runs a package, or the one that stands behind it in its own file. It holds the runtime, what reads
// inputs and what writes results; no compiler. `dynrepl export --kind exe` makes a file of both.
#include <signal.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "app/engine/device/device_name.h"
#include "app/engine/model/vm_value.h"
#include "app/engine/run/output_files.h"
#include "app/engine/run/run_memory.h"
#include "app/engine/run/run_result.h"
#include "app/runner/arguments.h"
#include "app/runner/describe.h"
#include "app/session/views/view.h"
#include "app/session/views/view_json.h"
#include "app/session/watchdog.h"
#include "compiler/support/atomic_write.h"
#include "compiler/support/clock.h"
#include "compiler/support/excerpt.h"
#include "compiler/support/read_files.h"
#include "compiler/support/standard_streams.h"
#include "compiler/support/visible_text.h"
#include "vm/include/dyn_custom_kernels.h"
#include "vm/include/dyn_gpu.h"

namespace dyn {

namespace {

using Json = nlohmann::ordered_json;

// The file of this process: where no /proc is mounted, the path it was started by.
std::string ownFile() {
  constexpr const char* kByTheSystem = "/proc/self/exe";
  if (::access(kByTheSystem, R_OK) == 0) return kByTheSystem;
  const auto* started = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  return started ? started : kByTheSystem;
}

// The file whose package is to be run.
Result<std::string> fileOf(const RunnerRequest& request) {
  std::string own = ownFile();
  if (request.package.empty()) return own;
  if (dyn_package_check(own.c_str()) == DYN_OK)
    return makeError(DiagnosticId::usageError, "this file holds a model: it takes no package");
  return request.package;
}

std::string faultText(const Diagnostic& fault) {
  std::string text = "error: " + visibleLine(fault.message) + "\n";
  for (const std::string& note : fault.notes)
    text +=
        (isExcerpt(note) ? "  " + visibleText(note, ColorCodes::escaped) : "  note: " + visibleLine(note)) +
        "\n";
  return text;
}

std::string textOf(const RunResult& result) {
  std::string text;
  for (const NamedValue& output : result.outputs)
    text += visibleLine(output.name) + ": " + output.type + (output.file.empty() ? "" : "  " + output.file) +
            "\n";
  int64_t least = INT64_MAX;
  for (int64_t ns : result.runsNs) least = std::min(least, ns);
  return text + std::to_string(result.runsNs.size()) + " runs, the shortest " + std::to_string(least / 1000) +
         " us; peak " + std::to_string(result.peakBytes) + " bytes\n";
}

Result<Description> run(const RunnerRequest& request, dyn_module* module, const Signature& signature,
                        int64_t loadNs, Interruption& interruption) {
  DYN_TRY(std::vector<DimSpec> dims, parseDimSpecs(request.dims));
  DYN_TRY(CallInputs inputs, makeInputs(signature, dims, request.inputs, request.session.seed, {}));
  DYN_CHECK(mayWrite(request.profile));
  if (!request.quiet)
    for (const std::string& note : notesOf(inputs, request.session.seed))
      (void)writeStandard(2, visibleLine(note) + "\n");
  DYN_TRY(Runner runner, Runner::create(module, nullptr, signature, request.session));
  if (std::optional<LimitExcess> excess =
          beyondLimit(runner, inputs, MemoryLimits::of(request.session), interruption);
      excess && !excess->mayFit)
    return std::move(excess->refused);
  auto result = std::make_shared<RunResult>();
  DYN_CHECK(runner.run(inputs, request.run, interruption, *result));
  result->loadNs = loadNs;
  const bool repeated = request.run.repeat + request.run.warmup > 1;
  predictMemory(runner, inputs, repeated ? Runner::Warmth::repeated : Runner::Warmth::first, interruption,
                *result);
  if (!request.profile.empty()) {
    DYN_CHECK(writeFileAtomically(request.profile, {runner.traceText()}));
    result->profileFile = request.profile;
  }
  if (!request.outputDirectory.empty()) {
    DYN_TRY(const std::vector<std::string> notes, writeOutputs(*result, request.outputDirectory));
    if (!request.quiet)
      for (const std::string& note : notes) (void)writeStandard(2, visibleLine(note) + "\n");
  }
  const View view = std::shared_ptr<const RunResult>(result);
  return Description{toJson(view), textOf(*result)};
}

Result<Description> answer(const RunnerRequest& request, Interruption& interruption) {
  const int64_t start = steadyNs();
  ReadFiles files;
  const ReadFilesScope scope(files);
  DYN_TRY(const std::string file, fileOf(request));
  noteRead(file);
  // Who asks what this is wants to know whether it is whole.
  if (request.describe)
    if (const dyn_status whole = dyn_package_check(file.c_str()); whole != DYN_OK) return vmError(whole);
  for (const std::string& library : request.kernelLibraries)
    if (const dyn_status loaded = dyn_custom_kernels_load(library.c_str()); loaded != DYN_OK)
      return vmError(loaded);
  dyn_module* module = nullptr;
  DYN_TRY(const DeviceName device, parseDevice(request.session.device));
  const std::string name = device.ofRuntime();
  const dyn_status status = dyn_module_load_file_on(
      file.c_str(), nullptr, request.session.deviceIsChosen ? name.c_str() : nullptr, &module);
  if (status != DYN_OK) return vmError(status);
  const VmModule owned(module);
  if (request.session.deviceIsChosen) DYN_CHECK(hasCodeFor(device, module));
  const char* notice = dyn_module_metadata(module, "device_notice");
  if (notice && !request.quiet) (void)writeStandard(2, "note: " + visibleLine(notice) + "\n");
  const Signature signature = signatureOf(module);
  if (request.describe) return describe(module, signature, request.dims, request.session, interruption);
  return run(request, module, signature, steadyNs() - start, interruption);
}

// Prints the one result; returns the exit code.
int print(const RunnerRequest& request, Result<Description> result) {
  Json document = {{"schema", 1}, {"command", request.describe ? "describe" : "run"}};
  if (result.ok()) {
    for (auto& [key, value] : result->fields.items()) document[key] = std::move(value);
  } else {
    document["error"] = toJson(result.error());
    (void)writeStandard(2, faultText(result.error()));
  }
  const Status written = writeStandard(1, request.json  ? jsonText(document) + "\n"
                                          : result.ok() ? visibleText(result->text, ColorCodes::escaped)
                                                        : "");
  if (!result.ok()) return exitCode(result.error().id);
  if (written.ok()) return 0;
  (void)writeStandard(2, faultText(written.error()));
  return exitCode(written.error().id);
}

int runAll(int argc, char** argv) {
  RunnerRequest request;
  if (const std::optional<int> code = parseArguments(argc, argv, request)) return *code;
  blockSignals();
  Interruption interruption;
  std::atomic<bool> claimed{false};
  const auto claim = [&claimed] { return !claimed.exchange(true); };
  const Result<std::unique_ptr<Watchdog>> watchdog =
      Watchdog::start({request.timeLimitSeconds, request.session.memoryLimitBytes},
                      {[&interruption] { interruption.request(); }, claim,
                       [&request](const Diagnostic& fault) { return print(request, Error{fault}); }});
  if (!watchdog.ok()) return print(request, Error{watchdog.error()});
  Result<Description> result = answer(request, interruption);
  if (!claim()) ::pause();  // the watchdog is printing and ends the process
  const std::shared_ptr<const Diagnostic> reason = (*watchdog)->reason();
  if (!result.ok() && reason) return print(request, Error{*reason});
  return print(request, std::move(result));
}

}  // namespace
}  // namespace dyn

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may grow no further is an error of the write
  dyn::holdStandardStreams();
  return dyn::runAll(argc, argv);
}
