#include "app/batch/arguments.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include "app/batch/command_line_text.h"
#include "app/session/explain/placement_view.h"
#include "compiler/support/suggestion.h"

namespace dyn {

namespace {

constexpr const char* kVersion = "dynrepl " DYN_VERSION;

struct Texts {  // options that are checked again after CLI11
  std::string memoryLimit, deviceLimit, cacheDirectory = "", color = "auto", math = "fp32", hostCode = "auto",
                                        device, shell;
  bool noGraphs = false, noNative = false;
};

CLI::Validator numberCheck(const char* what, bool zeroToo) {
  return CLI::Validator(
      [what, zeroToo](std::string& text) {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        const bool fine =
            !text.empty() && *end == '\0' && std::isfinite(value) && (zeroToo ? value >= 0 : value > 0);
        return fine ? std::string() : "'" + text + "' is not a " + what;
      },
      "NUMBER");
}
CLI::Validator positive() { return numberCheck("positive number", false); }
CLI::Validator notNegative() { return numberCheck("number of at least 0", true); }

// A former name of an option, accepted for one version and shown nowhere.
template <typename T>
CLI::Option* addFormer(CLI::App* app, const char* name, T& value) {
  return app->add_option(name, value)->group("");
}

void addCommon(CLI::App* app, BatchRequest& r, Texts& texts) {
  app->add_flag("--json", r.json, "one JSON document on standard output");
  app->add_option("--threads", r.session.threadCount, "number of threads (default: physical cores)")
      ->check(CLI::Range(0, 4096));
  app->add_option("--device", texts.device,
                  "cpu; cuda: run kernels on the first GPU where possible, cuda:1: on the second; simcuda: "
                  "the simulated GPU of the tests, in builds that have it");
  app->add_option(
      "--target", r.session.target,
      "machine that the program runs on: host, a processor such as znver4 or cortex-a72, or a file");
  app->add_option("--math", texts.math, "fp32, bf16 or f16-relaxed; on cuda fp32, bf16 or tf32");
  app->add_option("--padded-results", r.session.paddedResults,
                  "positions that an attention mask excludes are skipped; exact: where no output depends on "
                  "them; zero: always, and outputs are 0 there");
  app->add_option("--cache-dir", texts.cacheDirectory, "folder of compiled objects, or none");
  app->add_option("--data-root", r.session.dataRoot,
                  "follow symbolic links to an ONNX model's external data within this folder");
  app->add_option(
      "--passes", r.session.passes,
      "a list of passes, or edits of the standard pipeline: -fuse leaves a pass out, +NAME adds one");
  app->add_option(
         "--place", r.session.places,
         "device of an operator, an ONNX node or a value under --device cuda: OPERATOR=cpu or OPERATOR=cuda")
      ->take_all()
      ->expected(1);
  app->add_option("--host-code", texts.hostCode,
                  "form of the host code: native, bytecode, or auto (the form that a package has)");
  addFormer(app, "--flow", texts.hostCode);
  app->add_option("--policy", r.policies,
                  "fix the kernel variant of an operator: conv=auto|rows|staged|direct|winograd, "
                  "matmul=auto|SCHEDULE, loop=auto|generic|residuesN")
      ->take_all()
      ->expected(1);
  app->add_option("--variant", r.variants,
                  "add a program specialised for these sizes beside the general one: seq=128,batch=1")
      ->take_all()
      ->expected(1);
  app->add_option("--bucket", r.buckets, "pad smaller batches to the next of these sizes: batch=4,8,16")
      ->take_all()
      ->expected(1);
  app->add_option("--tuning", r.session.tuningFile,
                  "file of tuning records, or none (default: beside the object cache)");
  app->add_option("--seed", r.session.seed, "seed of random inputs")->check(notNegative());
  app->add_option("--color", texts.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app->add_flag("--quiet,-q", r.quiet, "print no progress and no notes");
  app->add_flag("--verbose,-v", r.verbose, "print more on standard error");
  app->add_flag("--progress", r.progress, "print progress even when standard error is not a terminal");
  app->add_option("--time-limit", r.timeLimitSeconds, "end after this many seconds with exit code 124")
      ->check(positive());
  app->add_option("--mem-limit", texts.memoryLimit, "most memory of a run: bytes, or 512MB");
}

// Of commands that may be given a package.
void addTrust(CLI::App* app, BatchRequest& r, Texts& texts) {
  app->add_flag("--no-native", texts.noNative,
                "load only the bytecode and weights of a package, not its machine code; refuse a package "
                "whose kernels exist as machine code only");
  app->add_option("--verify-key", r.session.verifyKey,
                  "refuse packages that this Ed25519 public key (PEM) did not sign");
}

// Of commands that run programs on it.
void addDevice(CLI::App* app, Texts& texts) {
  app->add_option("--device-mem-limit", texts.deviceLimit,
                  "most GPU memory of a run: bytes, or 512MB (default: as --mem-limit)");
  app->add_flag("--no-graphs", texts.noGraphs,
                "launch repeated GPU kernels one by one instead of as a CUDA graph");
}

// What `dynrepl COMMAND --help` begins with.
std::string commandHelp(const CLI::App& command) {
  static const std::map<std::string, const char*> examples = {
      {"run", "run bert.onnx --dim batch=1 --dim seq=59 --input input_ids=@ids.npy"},
      {"verify", "verify samples/models/bert"},
      {"inspect", "inspect bert.onnx --why last_hidden_state.1"},
      {"compile", "compile bert.onnx --dim seq=1..512 -o bert.dynpkg"},
      {"export", "export bert.onnx --kind exe -o bert"},
      {"save", "save bert.onnx -o simplified.onnx"},
      {"bench", "bench bert.onnx --dim batch=1 --dim seq=@lengths.txt"},
      {"serve-bench", "serve-bench bert.onnx --rate 50 --seconds 10 --dim seq=@lengths.txt --batching on"},
      {"bisect", "bisect bert.onnx --dim batch=1 --dim seq=7 -o fault.dyn"},
      {"tune", "tune bert.onnx --dim batch=1 --dim seq=@lengths.txt --seconds 30"},
      {"cache", "cache list"},
      {"script", "script samples/04_bert/lesson.dyns"},
      {"completion", "completion bash > ~/.local/share/bash-completion/completions/dynrepl"},
      {"manual", "manual | man -l -"},
  };
  std::string text = command.help();
  const std::string usage = "Usage: " + command.get_name();
  const size_t begin = text.find(usage);
  const size_t end = text.find('\n', begin);
  const auto example = examples.find(command.get_name());
  if (begin == std::string::npos || end == std::string::npos || example == examples.end()) return text;
  text.insert(end, std::string("\nExample: dynrepl ") + example->second);
  return text.insert(begin + usage.size() - command.get_name().size(), "dynrepl ");
}

// The unknown option or command, with a suggestion; "" when all are known.
std::string unknownWord(const CLI::App& app, int argc, char** argv) {
  const CLI::App* command = &app;
  std::string wrong;
  for (int i = 1; i < argc && wrong.empty(); ++i) {
    const std::string word = argv[i];
    if (i == 1 && word[0] != '-') {
      for (const CLI::App* sub : app.get_subcommands({}))
        if (sub->get_name() == word) command = sub;
      if (command == &app) wrong = word;
      continue;
    }
    if (word.size() < 2 || word[0] != '-') continue;
    const std::string name = word.substr(0, word.find('='));
    if (!command->get_option_no_throw(name)) wrong = name;
  }
  if (wrong.empty()) return "";
  std::vector<std::string> names;
  if (wrong[0] != '-')
    for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
  else
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames())
        if (!option->get_group().empty()) names.push_back("--" + name);
  std::vector<std::string_view> views(names.begin(), names.end());
  const std::string near = suggestion(wrong, views);
  return std::string(wrong[0] == '-' ? "there is no option " : "there is no command ") + wrong +
         (near.empty() ? "" : "; did you mean " + near + "?");
}

// The commands, to find the one that was parsed.
struct Subcommands {
  std::map<const CLI::App*, BatchCommand> runs;
  const CLI::App *completion = nullptr, *manual = nullptr;  // print what follows from the command line itself
};

// The whole command line; what is parsed goes to `r` and `texts`.
Subcommands defineCommands(CLI::App& app, BatchRequest& r, Texts& texts) {
  app.set_version_flag("--version", kVersion);
  app.set_help_all_flag("--help-all", "help of all commands");
  app.require_subcommand(0, 1);
  app.add_option("-e", r.lines, "run shell commands: 'CMD; CMD'; may be repeated")->take_all()->expected(1);
  // Batch commands read no such file anyway.
  app.add_flag_callback(
      "--no-init", [] {}, "start the shell without the commands of ~/.config/dyn/init.dyns");
  app.add_flag("--keep-going", r.keepGoing, "continue scripts after an error");
  addCommon(&app, r, texts);
  addDevice(&app, texts);
  addTrust(&app, r, texts);

  CLI::App* run = app.add_subcommand("run", "run a model");
  CLI::App* verify = app.add_subcommand("verify", "run ONNX test cases and compare");
  CLI::App* inspect = app.add_subcommand("inspect", "show the parts of a model");
  CLI::App* compile = app.add_subcommand(
      "compile",
      "compile a model to a package; a package contains machine code: run only packages that you trust");
  CLI::App* exported = app.add_subcommand(
      "export", "write a model as a self-contained executable or library, or as a package");
  CLI::App* save = app.add_subcommand("save", "write the graph after a pass as an ONNX model");
  CLI::App* bench = app.add_subcommand("bench", "measure a model");
  CLI::App* serve = app.add_subcommand(
      "serve-bench", "simulate requests that arrive at random times, and measure their latency");
  CLI::App* bisect =
      app.add_subcommand("bisect", "find the first pass that changes a result; exit 3 when one does");
  CLI::App* tune =
      app.add_subcommand("tune", "measure kernel variants of convolutions and products for likely shapes");
  CLI::App* cache =
      app.add_subcommand("cache", "list, verify or clear the cache of compiled objects and packed weights");
  CLI::App* script = app.add_subcommand("script", "run shell commands of a file");
  // A command's own options come first.
  for (CLI::App* sub :
       {run, verify, inspect, compile, exported, save, bench, serve, bisect, tune, cache, script}) {
    sub->option_defaults()->group("Options of every command");
    addCommon(sub, r, texts);
    sub->option_defaults()->group("Options");
  }
  for (CLI::App* sub : {run, verify, bench, serve, bisect, script}) addDevice(sub, texts);
  for (CLI::App* sub : {run, verify, inspect, bench, serve, script}) addTrust(sub, r, texts);
  for (CLI::App* sub : {compile, exported})
    sub->add_option("--sign", r.signKey,
                    "sign the package with this secret key (openssl genpkey -algorithm ed25519 -out KEY)");
  for (CLI::App* sub : {run, inspect, compile, exported, save, bench, serve, bisect, tune})
    sub->add_option("MODEL", r.model, ".onnx, .dyn or .dynpkg; - reads a text module from standard input")
        ->required();
  for (CLI::App* sub : {run, inspect, compile, exported, save, bench, serve, bisect, tune})
    sub->add_option("--dim", r.dims,
                    "size of a dim: NAME=N; compile, inspect, save and tune also take NAME=1..512:8, "
                    "NAME=@lengths.txt")
        ->take_all()
        ->expected(1);
  for (CLI::App* sub : {run, bench, serve, bisect, exported})
    sub->add_option("--input", r.inputs,
                    "value of an input: NAME=@file.npy, @file.pb, @picture.png, @sound.wav, "
                    "text:vocab.txt:WORDS, random[:SEED], zeros, ones, range or [1,2,3]")
        ->take_all()
        ->expected(1);
  for (CLI::App* sub : {run, inspect, compile, bench, serve})
    sub->add_option("--lengths", r.lengths,
                    "lengths of the sequences of a padded batch, one per line: NAME=@file; NAME is the input "
                    "of lengths or of the mask")
        ->take_all()
        ->expected(1);
  for (CLI::App* sub : {run, bench}) {
    sub->add_option("--cases", r.casesFile,
                    "one run per line of JSON: {\"dims\": {}, \"inputs\": {}, \"output_dir\": \"\"}");
  }
  run->add_option("--output-dir", r.outputDirectory, "write each output as NAME.npy");
  run->add_option("--repeat", r.repeat, "number of timed runs")->check(positive());
  run->add_option("--warmup", r.warmup, "runs before the timed ones")->check(notNegative());
  run->add_option("--profile", r.profile, "write a Chrome trace");
  run->add_flag("--explain", r.explain, "show what bounds each kernel: memory, compute or overhead");
  verify->add_option("DIR", r.directories, "test cases, or folders of test cases")->required();
  verify->add_option("--model", r.model,
                     "run the cases with this form of the model instead of their model.onnx");
  for (CLI::App* sub : {verify, bisect}) {
    sub->add_option("--rtol", r.relativeTolerance, "relative tolerance")->check(notNegative());
    sub->add_option("--atol", r.absoluteTolerance, "absolute tolerance")->check(notNegative());
  }
  bisect->add_option("-o,--output", r.output,
                     "file of the reduced module (.dyn); its inputs are written beside it");
  verify->add_option("--jobs", r.jobs, "cases run in parallel (default: cores)")->check(CLI::Range(1, 1024));
  verify
      ->add_option("--case-time-limit", r.caseTimeLimitSeconds,
                   "time limit of one case in seconds (default 60)")
      ->check(positive());
  inspect->add_option("--ir", r.level,
                      "level to print: graph, placed, loop, llvm, asm, ptx, bytecode or target");
  inspect->add_option("--pass", r.pass, "print the graph after this pass (name or number)");
  inspect->add_option("--why", r.why, "explain a dim: VALUE.DIM; or why two are equal: A.0=B.1");
  inspect->add_flag("--dims", r.showDims, "show the symbols and their constraints");
  inspect->add_flag("--plan", r.showPlan, "show the memory plan");
  inspect->add_option("--limit", r.limit,
                      "largest value of each dim for which a run fits this much memory: 512MB");
  inspect->add_flag("--predict", r.predict, "predict the time and memory of a run with these dims");
  inspect->add_flag("--kernels", r.showKernels, "show the kernels");
  inspect->add_flag("--check", r.check,
                    "report all problems of a file; limits for untrusted files: 120 seconds and half of the "
                    "memory, unless --time-limit or --mem-limit is given");
  compile->add_option("-o,--output", r.output, "file of the package");
  exported->add_option("--kind", r.kind, "kind of file: exe, static, shared, image or package")->required();
  exported
      ->add_option("-o,--output", r.output,
                   "file to write; for libraries folder/NAME, which gives libNAME and NAME.h")
      ->required();
  exported->add_option("--board", r.board, "board of an image: mps2-an386, mps3-an547");
  exported->add_flag("--interpret", r.interpret, "keep the host code as bytecode");
  exported->add_flag("--static-link", r.staticLink, "link statically, without shared libraries");
  exported->add_flag("--no-heap", r.noHeap, "library that uses only memory of its caller");
  save->add_option("-o,--output", r.output, ".onnx file to write")
      ->required()
      ->check([](const std::string& file) {
        const bool isOnnx = file.size() > 5 && file.compare(file.size() - 5, 5, ".onnx") == 0;
        return isOnnx ? std::string() : "'" + file + "' does not end with .onnx";
      });
  save->add_option("--pass", r.pass,
                   "write the graph after this pass (name or number); default: the simplified graph before "
                   "machine-specific passes");
  save->add_flag("--external", r.external, "write weights to OUT.onnx.data; the default above 1 GB");
  for (CLI::App* sub : {run, inspect, compile, exported, bench, serve})
    sub->add_flag("--static", r.requireStatic, "refuse a model with a size that is unknown before it runs");
  serve->add_option("--rate", r.perSecond, "mean number of requests per second; they arrive at random times")
      ->required()
      ->check(positive());
  serve->add_option("--seconds", r.seconds, "time during which requests arrive (default 1)")
      ->check(positive());
  serve
      ->add_option("--batching", r.batching,
                   "on: requests in the queue run as one batch, where the rows of a batch are independent")
      ->check(CLI::IsMember({"off", "on"}));
  serve->add_option("--max-batch", r.mostTogether, "most requests in one batch (default 16)")
      ->check(CLI::Range(1, 1 << 20));
  serve->add_option("--max-batch-time", r.mostTime, "most seconds for one batch (default 0.1)")
      ->check(positive());
  serve
      ->add_option("--max-queue", r.mostWaiting,
                   "length of the queue; further requests are rejected (default 1000)")
      ->check(CLI::Range(1, 1 << 30));
  addFormer(serve, "--most", r.mostTogether)->check(CLI::Range(1, 1 << 20));
  addFormer(serve, "--most-time", r.mostTime)->check(positive());
  addFormer(serve, "--line", r.mostWaiting)->check(CLI::Range(1, 1 << 30));
  bench->add_option("--seconds", r.seconds, "time for all shapes together (default 1)")->check(positive());
  bench->add_option("--repeat", r.repeat, "least number of runs per shape (default 5)")->check(positive());
  tune->add_option("--seconds", r.tuneSeconds, "time for new measurements (default 30)")->check(positive());
  tune->add_option("--versions", r.versions,
                   "most kernel variants of one product, chosen by the number of rows (default 2)")
      ->check(CLI::Range(1, 8));
  tune->add_option("--trials", r.trials,
                   "most measurements of one operation; others are estimated from these (default: all)")
      ->check(CLI::Range(1, 100000));
  tune->add_option("-o,--output", r.output,
                   "file of tuning records; present ones are kept (default: beside the object cache)");
  cache
      ->add_option("ACTION", r.cacheAction,
                   "list: show the entries; verify: read all and remove damaged ones; clear: remove all but "
                   "tuning records")
      ->required()
      ->check(CLI::IsMember({"list", "verify", "clear"}));
  script->add_option("FILE", r.scriptFile, "the script; - reads standard input")->required();
  script->add_flag("--keep-going", r.keepGoing, "continue after an error");

  CLI::App* completion = app.add_subcommand("completion", "print the completion script for a shell");
  completion->add_option("SHELL", texts.shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember(completionShells()));
  CLI::App* manual = app.add_subcommand("manual", "print the manual page, for man(1)");
  return {{{run, BatchCommand::run},
           {verify, BatchCommand::verify},
           {inspect, BatchCommand::inspect},
           {compile, BatchCommand::compile},
           {exported, BatchCommand::exportModel},
           {save, BatchCommand::save},
           {bench, BatchCommand::bench},
           {serve, BatchCommand::serve},
           {bisect, BatchCommand::bisect},
           {tune, BatchCommand::tune},
           {cache, BatchCommand::cache},
           {script, BatchCommand::script}},
          completion,
          manual};
}

// The fault of --place, or "". Scripts may choose the device later.
std::string faultOfPlaces(const BatchRequest& r) {
  if (const Status places = checkPlaces(r.session.places); !places.ok()) return places.error().message;
  const bool script = r.command == BatchCommand::script || r.command == BatchCommand::lines;
  return r.session.places.empty() || script || r.session.device != "cpu"
             ? ""
             : "--place assigns operators to a GPU or its host: it needs --device cuda";
}

// The fault, or "".
std::string takeLimit(const std::string& option, const std::string& text, uint64_t& limit) {
  if (text.empty()) return {};
  const Result<int64_t> bytes = parseBytes(text);
  if (!bytes.ok())
    return option + ": " + bytes.error().message +
           (bytes.error().notes.empty() ? "" : "; " + bytes.error().notes[0]);
  limit = static_cast<uint64_t>(*bytes);
  return {};
}

}  // namespace

const char* toString(BatchCommand command) {
  switch (command) {
    case BatchCommand::run:
      return "run";
    case BatchCommand::verify:
      return "verify";
    case BatchCommand::inspect:
      return "inspect";
    case BatchCommand::compile:
      return "compile";
    case BatchCommand::exportModel:
      return "export";
    case BatchCommand::save:
      return "save";
    case BatchCommand::bench:
      return "bench";
    case BatchCommand::serve:
      return "serve-bench";
    case BatchCommand::bisect:
      return "bisect";
    case BatchCommand::tune:
      return "tune";
    case BatchCommand::cache:
      return "cache";
    case BatchCommand::script:
      return "script";
    case BatchCommand::lines:
      return "-e";
  }
  return "?";
}

ParsedArguments parseArguments(int argc, char** argv) {
  ParsedArguments parsed;
  for (int i = 1; i < argc; ++i) parsed.json = parsed.json || std::strcmp(argv[i], "--json") == 0;
  BatchRequest r;
  Texts texts;
  CLI::App app{
      "dynrepl: compile, run and inspect neural networks with dynamic shapes. Without a command: the shell."};
  const Subcommands commands = defineCommands(app, r, texts);

  auto usageFault = [&](const std::string& message, const std::string& hint = "") {
    parsed.exitCode = 2;
    parsed.toStderr = message + (hint.empty() ? "" : "; " + hint);
    if (parsed.toStderr.find("--help") == std::string::npos) parsed.toStderr += " (dynrepl --help)";
    return parsed;
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    parsed.toStdout = chosen.empty() ? app.help() : commandHelp(*chosen[0]);
    return parsed;
  } catch (const CLI::CallForAllHelp&) {
    parsed.toStdout = app.help("", CLI::AppFormatMode::All);
    return parsed;
  } catch (const CLI::CallForVersion&) {
    parsed.toStdout = std::string(kVersion) + "\n";
    return parsed;
  } catch (const CLI::Error& e) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    if (!chosen.empty()) parsed.command = chosen[0]->get_name();
    std::string message = e.what();
    for (char& c : message)
      if (c == '\n') c = ' ';
    const std::string unknown = unknownWord(app, argc, argv);
    return usageFault(unknown.empty() ? message : unknown);
  }
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const CLI::App* sub = chosen.empty() ? nullptr : chosen[0];
  if (!sub && r.lines.empty()) return usageFault("a command is missing");
  if (sub && !r.lines.empty()) return usageFault("-e cannot be combined with the command " + sub->get_name());
  if (sub == commands.completion || sub == commands.manual) {
    parsed.toStdout = sub == commands.manual ? manualPage(app, "dynrepl", kVersion)
                                             : completionScript(app, "dynrepl", texts.shell);
    return parsed;
  }
  r.command = sub ? commands.runs.at(sub) : BatchCommand::lines;
  parsed.command = sub ? sub->get_name() : toString(r.command);
  if (const std::string fault = takeLimit("--mem-limit", texts.memoryLimit, r.memoryLimitBytes);
      !fault.empty())
    return usageFault(fault);
  r.session.memoryLimitBytes = r.memoryLimitBytes;
  if (const std::string fault =
          takeLimit("--device-mem-limit", texts.deviceLimit, r.session.deviceLimitBytes);
      !fault.empty())
    return usageFault(fault);
  for (const std::string& policy : r.policies) {
    const size_t equals = policy.find('=');
    if (equals == std::string::npos)
      return usageFault("--policy " + policy + " is not of the form OPERATOR=VERSION");
    r.session.policies[policy.substr(0, equals)] = policy.substr(equals + 1);
  }
  for (const std::string& variant : r.variants)
    r.session.variants += (r.session.variants.empty() ? "" : ";") + variant;
  for (const std::string& bucket : r.buckets)
    r.session.buckets += (r.session.buckets.empty() ? "" : ";") + bucket;
  r.session.math = texts.math;
  r.session.hostCode = texts.hostCode == "interpret" ? "bytecode" : texts.hostCode;  // its former name
  r.session.device = texts.device.empty() ? "cpu" : texts.device;
  r.session.deviceIsChosen = !texts.device.empty();
  r.session.deviceGraphs = !texts.noGraphs;
  r.session.nativeCode = !texts.noNative;
  if (const std::string fault = faultOfPlaces(r); !fault.empty()) return usageFault(fault);
  // PTX is the code of no other device.
  if (r.command == BatchCommand::inspect && r.level == "ptx" && r.session.device == "cpu")
    r.session.device = "cuda";
  const char* fromEnvironment = std::getenv("DYN_CACHE_DIR");
  r.session.cacheDirectory = !texts.cacheDirectory.empty()         ? texts.cacheDirectory
                             : fromEnvironment && *fromEnvironment ? fromEnvironment
                                                                   : defaultCacheDirectory();
  r.color = texts.color == "always"  ? ColorChoice::always
            : texts.color == "never" ? ColorChoice::never
                                     : ColorChoice::automatic;
  parsed.json = r.json;
  parsed.request = std::move(r);
  return parsed;
}

}  // namespace dyn
