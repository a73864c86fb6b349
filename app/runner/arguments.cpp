#include "app/runner/arguments.h"

#include <CLI/CLI.hpp>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/engine/device/device_name.h"
#include "app/engine/model/dim_relation.h"
#include "app/session/command.h"
#include "app/session/views/view_json.h"
#include "compiler/support/standard_streams.h"

namespace dyn {

namespace {

constexpr const char* kVersion = "dynrun " DYN_VERSION;

struct Texts {  // options that need a second look after CLI11
  std::string memoryLimit, deviceLimit, device;
  bool noGraphs = false;
};

// "cpu, cuda, cuda:1"
std::string sides() {
  std::string text;
  for (const DeviceRow& row : deviceTable())
    if (!row.isSimulated())
      text += (text.empty() ? "" : ", ") + std::string(row.name) +
              (row.isHost() ? "" : ", " + std::string(row.name) + ":1");
  return text;
}

// The rows of docs/man/dynrun.1.
void defineOptions(CLI::App& app, RunnerRequest& r, Texts& texts) {
  app.add_option("PACKAGE", r.package, "package to run, where this file holds no model");
  app.add_flag("--describe", r.describe, "print the inputs, outputs, dims and memory of the model");
  app.add_option("--dim", r.dims, "size of a dim: NAME=N, or several: NAME=N,OTHER=M; without --dim, too")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false);
  app.add_option("--input", r.inputs,
                 "value of an input: NAME=@file.npy, @file.pb, random[:SEED], zeros, ones, range or [1,2,3]; "
                 "default: random")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false);
  app.add_option("--ops", r.kernelLibraries, "shared library with custom kernels that the model calls");
  app.add_option("--output-dir", r.outputDirectory, "write each output as NAME.npy");
  app.add_option("--repeat", r.run.repeat, "number of timed runs")->check(CLI::Range(int64_t{1}, INT64_MAX));
  app.add_option("--warmup", r.run.warmup, "runs before the timed ones")
      ->check(CLI::Range(int64_t{0}, INT64_MAX));
  app.add_option("--threads", r.session.threadCount, "number of threads (default: physical cores)")
      ->check(CLI::Range(0, 4096));
  app.add_option("--profile", r.profile, "write a Chrome trace");
  app.add_option("--time-limit", r.timeLimitSeconds, "end after this many seconds with exit code 124")
      ->check(CLI::PositiveNumber);
  app.add_option("--mem-limit", texts.memoryLimit, "most memory of a run: bytes, or 512MB");
  app.add_option("--device", texts.device,
                 "device of a model that was compiled for a GPU: " + sides() +
                     " (default: the first GPU; without a GPU the cpu)");
  app.add_option("--device-mem-limit", texts.deviceLimit,
                 "most GPU memory of a run: bytes, or 512MB (default: as --mem-limit)");
  app.add_flag("--no-graphs", texts.noGraphs,
               "launch repeated GPU kernels one by one instead of as one graph");
  app.add_option("--seed", r.session.seed, "seed of random inputs")->check(CLI::NonNegativeNumber);
  app.add_flag("--quiet,-q", r.quiet, "print no notes");
  app.add_flag("--json", r.json, "one JSON document on standard output");
  app.set_version_flag("--version", kVersion);
}

// The words beside the options: sizes, and a package. The fault, or "".
std::string takeWords(const std::vector<std::string>& beside, RunnerRequest& r) {
  std::vector<std::string> words;
  if (!r.package.empty()) words.push_back(std::exchange(r.package, ""));
  words.insert(words.end(), beside.begin(), beside.end());
  for (std::string& word : words) {
    const bool isOption = word.empty() || word[0] == '-';
    if (!isOption && areSizes(word))
      r.dims.push_back(std::move(word));
    else if (!isOption && r.package.empty())
      r.package = std::move(word);
    else
      return isOption && !word.empty() ? "there is no option " + word
                                       : "the argument " + word + " is not expected; sizes are NAME=N";
  }
  return "";
}

int usageFault(const std::string& message, bool json) {
  const Diagnostic fault = makeError(DiagnosticId::usageError, message).diagnostic();
  if (json)
    (void)writeStandard(1, jsonText({{"schema", 1}, {"command", "run"}, {"error", toJson(fault)}}) + "\n");
  (void)writeStandard(2, message + " (--help)\n");
  return exitCode(DiagnosticId::usageError);
}

// The fault, or "".
std::string takeLimit(const std::string& option, const std::string& text, uint64_t& limit) {
  if (text.empty()) return {};
  const Result<int64_t> bytes = parseBytes(text);
  if (!bytes.ok()) return option + ": " + bytes.error().message;
  limit = static_cast<uint64_t>(*bytes);
  return {};
}

std::string takeTexts(const Texts& texts, EngineOptions& session) {
  if (std::string fault = takeLimit("--mem-limit", texts.memoryLimit, session.memoryLimitBytes);
      !fault.empty())
    return fault;
  if (std::string fault = takeLimit("--device-mem-limit", texts.deviceLimit, session.deviceLimitBytes);
      !fault.empty())
    return fault;
  session.deviceGraphs = !texts.noGraphs;
  session.deviceIsChosen = !texts.device.empty();
  if (!session.deviceIsChosen) return {};
  session.device = texts.device;
  const Result<DeviceName> device = parseDevice(texts.device);
  if (!device.ok()) return device.error().message;
  if (!device->isSimulated()) return {};
  return "there is " + sides() + "; " + std::string(deviceRow(device->kind).driver) + " names another driver";
}

}  // namespace

std::optional<int> parseArguments(int argc, char** argv, RunnerRequest& r) {
  bool json = false;  // even after an argument that is not an option
  for (int i = 1; i < argc; ++i) json = json || std::strcmp(argv[i], "--json") == 0;
  CLI::App app("Runs the model inside of this file, or a package.");
  Texts texts;
  defineOptions(app, r, texts);
  app.allow_extras();  // sizes need no --dim
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return writeStandard(1, app.help()).ok() ? 0 : exitCode(DiagnosticId::fileError);
  } catch (const CLI::CallForVersion&) {
    return writeStandard(1, std::string(kVersion) + "\n").ok() ? 0 : exitCode(DiagnosticId::fileError);
  } catch (const CLI::ParseError& error) {
    return usageFault(error.what(), json);
  }
  if (const std::string fault = takeWords(app.remaining(), r); !fault.empty())
    return usageFault(fault, r.json);
  if (const std::string fault = takeTexts(texts, r.session); !fault.empty()) return usageFault(fault, r.json);
  r.dims = splitDims(r.dims);
  if (!r.profile.empty()) r.run.profiling = Profiling::on;
  return std::nullopt;
}

}  // namespace dyn
