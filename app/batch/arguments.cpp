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

struct Texts {  // options that need a second look after CLI11
  std::string memoryLimit, deviceLimit, cacheDirectory = "", color = "auto", math = "fp32", flow = "auto",
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
        return fine ? std::string() : "'" + text + "' is no " + what;
      },
      "NUMBER");
}
CLI::Validator positive() { return numberCheck("positive number", false); }
CLI::Validator notNegative() { return numberCheck("number of at least 0", true); }

void addCommon(CLI::App* app, BatchRequest& r, Texts& texts) {
  app->add_flag("--json", r.json, "one JSON document on standard output");
  app->add_option("--threads", r.session.threadCount, "threads (default: physical cores)")
      ->check(CLI::Range(0, 4096));
  app->add_option("--device", texts.device,
                  "cpu; cuda: kernels run on a GPU by the CUDA driver where they can, cuda:1: on the "
                  "second; simcuda: on the simulated GPU of the tests, where it was built");
  app->add_option("--target", r.session.target,
                  "where the program runs: host, a processor such as znver4 or cortex-a72, or a file");
  app->add_option("--math", texts.math, "fp32, bf16 or f16-relaxed; on cuda fp32, bf16 or tf32");
  app->add_option("--padded-results", r.session.paddedResults,
                  "exact: what an attention mask hides is not computed where nobody sees it; zero: nor where "
                  "results are seen, which are 0 there");
  app->add_option("--cache-dir", texts.cacheDirectory, "folder of compiled objects, or none");
  app->add_option(
      "--data-root", r.session.dataRoot,
      "folder: an ONNX model's external data may be reached by symbolic links that do not leave it");
  app->add_option("--passes", r.session.passes, "pipeline; -fuse leaves a pass out");
  app->add_option(
         "--place", r.session.places,
         "OPERATOR=cpu or =cuda, also an ONNX node or a value: where it is computed with --device cuda")
      ->take_all()
      ->expected(1);
  app->add_option(
      "--flow", texts.flow,
      "the host program as machine code or as bytecode: native, interpret, or auto (as a package has it)");
  app->add_option("--policy", r.policies,
                  "the version to be taken: conv=auto|rows|staged|direct|winograd, matmul=auto|SCHEDULE, "
                  "loop=auto|generic|residuesN")
      ->take_all()
      ->expected(1);
  app->add_option("--variant", r.variants,
                  "a program for these sizes beside the one for all: seq=128,batch=1")
      ->take_all()
      ->expected(1);
  app->add_option("--bucket", r.buckets, "fewer rows are padded to the next of these sizes: batch=4,8,16")
      ->take_all()
      ->expected(1);
  app->add_option("--tuning", r.session.tuningFile,
                  "file of tuning records, or none (default: beside the object cache)");
  app->add_option("--seed", r.session.seed, "of random inputs")->check(notNegative());
  app->add_option("--color", texts.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app->add_flag("--quiet,-q", r.quiet, "no progress and no notes");
  app->add_flag("--verbose,-v", r.verbose, "more on standard error");
  app->add_flag("--progress", r.progress, "progress also when standard error is no terminal");
  app->add_option("--time-limit", r.timeLimitSeconds, "seconds; then exit 124")->check(positive());
  app->add_option("--mem-limit", texts.memoryLimit, "bytes, or 512MB");
}

// Of commands that may be given a package.
void addTrust(CLI::App* app, BatchRequest& r, Texts& texts) {
  app->add_flag(
      "--no-native", texts.noNative,
      "of a package bytecode and weights alone: its machine code is left out, and a package that has "
      "kernels as machine code alone is refused");
  app->add_option("--verify-key", r.session.verifyKey,
                  "a public key of Ed25519 in PEM: a package that it did not sign is refused");
}

// Of commands that run programs on it.
void addDevice(CLI::App* app, Texts& texts) {
  app->add_option("--device-mem-limit", texts.deviceLimit,
                  "the most a run may take on the GPU: bytes, or 512MB (default: as --mem-limit)");
  app->add_flag("--no-graphs", texts.noGraphs,
                "launches that come again on the GPU are put there one by one, not as a graph");
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

// The option or command nobody knows, with what to try instead; "" when that is not the fault.
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
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  std::vector<std::string_view> views(names.begin(), names.end());
  const std::string near = suggestion(wrong, views);
  return std::string(wrong[0] == '-' ? "there is no option " : "there is no command ") + wrong +
         (near.empty() ? "" : "; did you mean " + near + "?");
}

// The commands that are asked for by name when they were parsed.
struct Subcommands {
  std::map<const CLI::App*, BatchCommand> runs;
  const CLI::App *completion = nullptr, *manual = nullptr;  // print what follows from the command line itself
};

// The whole command line; what is parsed goes to `r` and `texts`.
Subcommands defineCommands(CLI::App& app, BatchRequest& r, Texts& texts) {
  app.set_version_flag("--version", kVersion);
  app.set_help_all_flag("--help-all", "help of all commands");
  app.require_subcommand(0, 1);
  app.add_option("-e", r.lines, "shell commands: 'CMD; CMD'; may be given several times")
      ->take_all()
      ->expected(1);
  // Batch commands read no such file anyway.
  app.add_flag_callback(
      "--no-init", [] {}, "alone: the shell, without the commands of ~/.config/dyn/init.dyns");
  app.add_flag("--keep-going", r.keepGoing, "scripts go on after an error");
  addCommon(&app, r, texts);
  addDevice(&app, texts);
  addTrust(&app, r, texts);

  CLI::App* run = app.add_subcommand("run", "run a model");
  CLI::App* verify = app.add_subcommand("verify", "run ONNX test cases and compare");
  CLI::App* inspect = app.add_subcommand("inspect", "look into a model");
  CLI::App* compile = app.add_subcommand(
      "compile", "compile a model to a package, which is machine code: who runs it trusts you");
  CLI::App* exported = app.add_subcommand(
      "export", "write a model as an executable or a library that needs nothing else, or as a package");
  CLI::App* save = app.add_subcommand("save", "write the graph after a pass as an ONNX model");
  CLI::App* bench = app.add_subcommand("bench", "measure a model");
  CLI::App* serve = app.add_subcommand(
      "serve-bench", "let requests come at random times, and measure how long each waits for its answer");
  CLI::App* bisect =
      app.add_subcommand("bisect", "find the first pass that changes a result; exit 3 when one does");
  CLI::App* tune =
      app.add_subcommand("tune", "measure versions of convolutions and products for likely shapes");
  CLI::App* cache =
      app.add_subcommand("cache", "list, verify or clear the cache of compiled objects and packed weights");
  CLI::App* script = app.add_subcommand("script", "run shell commands of a file");
  // The options of its own come first.
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
                    "sign the package by this secret key (openssl genpkey -algorithm ed25519 -out KEY)");
  for (CLI::App* sub : {run, inspect, compile, exported, save, bench, serve, bisect, tune})
    sub->add_option("MODEL", r.model, ".onnx, .dyn or .dynpkg; - reads a text module")->required();
  for (CLI::App* sub : {run, inspect, compile, exported, save, bench, serve, bisect, tune})
    sub->add_option("--dim", r.dims,
                    "NAME=N; for compile, inspect, save and tune also NAME=1..512:8, NAME=@lengths.txt")
        ->take_all()
        ->expected(1);
  for (CLI::App* sub : {run, bench, serve, bisect, exported})
    sub->add_option(
           "--input", r.inputs,
           "NAME=@file.npy, @file.pb, @picture.png, @sound.wav, text:vocab.txt:WORDS, random[:SEED], "
           "zeros, ones, range or [1,2,3]")
        ->take_all()
        ->expected(1);
  for (CLI::App* sub : {run, inspect, compile, bench, serve})
    sub->add_option("--lengths", r.lengths,
                    "NAME=@file: lengths of a padded batch, one a line; NAME is the input of the lengths, or "
                    "the mask that they make")
        ->take_all()
        ->expected(1);
  for (CLI::App* sub : {run, bench}) {
    sub->add_option("--cases", r.casesFile,
                    "JSON lines: {\"dims\": {}, \"inputs\": {}, \"output_dir\": \"\"}");
  }
  run->add_option("--output-dir", r.outputDirectory, "writes each output as NAME.npy");
  run->add_option("--repeat", r.repeat, "timed runs")->check(positive());
  run->add_option("--warmup", r.warmup, "runs before them")->check(notNegative());
  run->add_option("--profile", r.profile, "writes a Chrome trace");
  run->add_flag("--explain", r.explain, "what bounds each kernel: memory, compute or overhead");
  verify->add_option("DIR", r.directories, "test cases, or folders of such")->required();
  verify->add_option("--model", r.model, "run the cases with this form of the model, not their model.onnx");
  for (CLI::App* sub : {verify, bisect}) {
    sub->add_option("--rtol", r.relativeTolerance, "relative tolerance")->check(notNegative());
    sub->add_option("--atol", r.absoluteTolerance, "absolute tolerance")->check(notNegative());
  }
  bisect->add_option("-o,--output", r.output, "the reduced module (.dyn); its inputs are written beside it");
  verify->add_option("--jobs", r.jobs, "cases at a time (default: cores)")->check(CLI::Range(1, 1024));
  verify->add_option("--case-time-limit", r.caseTimeLimitSeconds, "seconds for one case (default 60)")
      ->check(positive());
  inspect->add_option("--ir", r.level, "graph, placed, loop, llvm, asm, ptx, bytecode or target");
  inspect->add_option("--pass", r.pass, "the graph after this pass (name or number)");
  inspect->add_option("--why", r.why, "VALUE.DIM, or two of them with = between");
  inspect->add_flag("--dims", r.showDims, "the symbols and what is known of them");
  inspect->add_flag("--plan", r.showPlan, "the memory plan");
  inspect->add_option("--limit", r.limit, "the largest value of each dim within so many bytes, as 512MB");
  inspect->add_flag("--predict", r.predict, "the time and the memory a run with these dims would take");
  inspect->add_flag("--kernels", r.showKernels, "the kernels");
  inspect->add_flag(
      "--check", r.check,
      "all problems at once; of a file that nobody knows: it ends after 120 seconds, or at half of "
      "the machine's memory, where --time-limit and --mem-limit say nothing else");
  compile->add_option("-o,--output", r.output, "the package to write");
  exported->add_option("--kind", r.kind, "exe, static, shared, image or package")->required();
  exported
      ->add_option("-o,--output", r.output,
                   "the file to write; of libraries folder/NAME: libNAME, NAME.h and the like")
      ->required();
  exported->add_option("--board", r.board, "of an image: mps2-an386, mps3-an547");
  exported->add_flag("--interpret", r.interpret, "the host program is interpreted");
  exported->add_flag("--static-link", r.staticLink, "one file without shared libraries");
  exported->add_flag("--no-heap", r.noHeap, "a library that lives in memory of its caller");
  save->add_option("-o,--output", r.output, "the .onnx file to write")
      ->required()
      ->check([](const std::string& file) {
        const bool isOnnx = file.size() > 5 && file.compare(file.size() - 5, 5, ".onnx") == 0;
        return isOnnx ? std::string() : "'" + file + "' does not end with .onnx";
      });
  save->add_option(
      "--pass", r.pass,
      "the graph after this pass (name or number); default: simplified, without what is done for the "
      "machine");
  save->add_flag("--external", r.external, "weights in OUT.onnx.data, as they are above 1 GB");
  for (CLI::App* sub : {run, inspect, compile, exported, bench, serve})
    sub->add_flag("--static", r.requireStatic,
                  "refuse a program with any size that is not known before it runs");
  serve->add_option("--rate", r.perSecond, "requests a second, at random times")
      ->required()
      ->check(positive());
  serve->add_option("--seconds", r.seconds, "for how long they come (default 1)")->check(positive());
  serve
      ->add_option("--batching", r.batching,
                   "on: requests that wait together run together, where rows stay apart")
      ->check(CLI::IsMember({"off", "on"}));
  serve->add_option("--most", r.mostTogether, "most requests in one run (default 16)")
      ->check(CLI::Range(1, 1 << 20));
  serve->add_option("--most-time", r.mostTime, "seconds that a run of joined requests may take (default 0.1)")
      ->check(positive());
  serve->add_option("--line", r.mostWaiting, "who finds so many waiting is rejected (default 1000)")
      ->check(CLI::Range(1, 1 << 30));
  bench->add_option("--seconds", r.seconds, "time for all shapes (default 1)")->check(positive());
  bench->add_option("--repeat", r.repeat, "least number of runs at each shape (default 5)")
      ->check(positive());
  tune->add_option("--seconds", r.tuneSeconds, "time for what is not measured yet (default 30)")
      ->check(positive());
  tune->add_option("--versions", r.versions,
                   "most versions of one product, by the number of rows (default 2)")
      ->check(CLI::Range(1, 8));
  tune->add_option(
          "--trials", r.trials,
          "most measurements of one operation: what is not measured is expected from what is (default: all)")
      ->check(CLI::Range(1, 100000));
  tune->add_option("-o,--output", r.output,
                   "the records; those in it are kept (default: beside the object cache)");
  cache
      ->add_option(
          "ACTION", r.cacheAction,
          "list: what lies in it; verify: read all, and remove what is damaged; clear: remove all but "
          "tuning records")
      ->required()
      ->check(CLI::IsMember({"list", "verify", "clear"}));
  script->add_option("FILE", r.scriptFile, "the script; - reads standard input")->required();
  script->add_flag("--keep-going", r.keepGoing, "go on after an error");

  CLI::App* completion =
      app.add_subcommand("completion", "print what completes commands and options in a shell");
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

// What is wrong with --place; "" is nothing. Scripts may choose the device later.
std::string faultOfPlaces(const BatchRequest& r) {
  if (const Status places = checkPlaces(r.session.places); !places.ok()) return places.error().message;
  const bool script = r.command == BatchCommand::script || r.command == BatchCommand::lines;
  return r.session.places.empty() || script || r.session.device != "cpu"
             ? ""
             : "--place says which side of a GPU computes: it goes with --device cuda";
}

// "" or what is wrong with it.
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
  CLI::App app{"dynrepl: compile, run and look into dynamic neural networks. Without a command: the shell."};
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
  if (sub && !r.lines.empty()) return usageFault("-e stands alone, without the command " + sub->get_name());
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
  r.session.flow = texts.flow;
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
