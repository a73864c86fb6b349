// Handlers: expressions, bound values, settings, scripts, help.
#include <algorithm>

#include "app/engine/device/device_name.h"
#include "app/engine/model/signing_key.h"
#include "app/session/handlers/compile_anew.h"
#include "app/session/handlers/expression.h"
#include "app/session/handlers/named_value.h"
#include "app/session/script_reader.h"
#include "app/session/session_state.h"
#include "compiler/driver/target_choice.h"
#include "compiler/ir/op_def.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/pass_table.h"
#include "compiler/passes/variants/variant_spec.h"
#include "compiler/support/mapped_file.h"
#include "compiler/support/suggestion.h"
#include "compiler/tune/policies.h"

namespace dyn {

namespace {

// "help" and "quit" are names that no value has: the commands were meant.
Error orTheCommand(Error error, const std::string& text) {
  const std::string word = text.substr(0, text.find_first_of(" \t"));
  for (const CommandSpec& spec : commandTable())
    if (error.diagnostic.id == DiagnosticId::textName &&
        (spec.name == word || (word == "exit" && spec.name == "quit")))
      return std::move(error).note("commands begin with a colon: :" + std::string(spec.name));
  return error;
}

}  // namespace

Result<View> handle_eval(SessionState& state, const Command& command, Outcome&) {
  if (const std::optional<FunctionText> function = functionText(command.text("rest"))) {
    DYN_CHECK(defineFunction(state, *function));
    return textView("@" + function->name + " is a function: " + function->name + "(...) calls it\n");
  }
  DYN_TRY(PreparedExpression expression, prepareExpression(command.text("rest"), state.now.options.seed));
  Result<EvaluatedExpression> attempt = evaluateExpression(state, expression, EvaluationGoal::values);
  if (!attempt.ok()) return orTheCommand(Error{attempt.error()}, command.text("rest"));
  EvaluatedExpression evaluated = std::move(*attempt);
  EvalResult result;
  result.quiet = expression.quiet;
  result.bound = !expression.targets.empty();
  if (result.bound && expression.targets.size() != evaluated.values.size())
    return makeError(DiagnosticId::textSyntax, std::to_string(expression.targets.size()) + " names for " +
                                                   std::to_string(evaluated.values.size()) + " values");
  for (size_t i = 0; i < evaluated.values.size(); ++i) {
    const std::string name = result.bound ? expression.targets[i] : "";
    result.values.push_back({name, evaluated.types[i], evaluated.values[i], ""});
    state.values.bind(result.bound ? name : kLastValue, {evaluated.values[i], evaluated.types[i]});
  }
  return makeView(std::move(result));
}

Result<View> handle_type(SessionState& state, const Command& command, Outcome&) {
  const std::string text = command.text("rest");
  if (!state.values.find(text) && state.now.model && state.now.model->hasModule()) {
    (void)state.now.model->ensurePasses();
    const std::string name = !text.empty() && text[0] == '%' ? text.substr(1) : text;
    for (const auto& [port, type] : state.ports())
      if (port == name && type) return makeView(TypeView{text, type.toString()});
    const ValueId value = state.now.model->ir().findValue(name);
    if (value != kNoValue)
      if (Type type = Uses(state.now.model->typed()).definition(value).type)
        return makeView(TypeView{text, type.toString()});
  }
  DYN_TRY(PreparedExpression expression, prepareExpression(text, state.now.options.seed));
  DYN_TRY(EvaluatedExpression evaluated, evaluateExpression(state, expression, EvaluationGoal::types));
  std::string types;
  for (const std::string& type : evaluated.types) types += (types.empty() ? "" : ", ") + type;
  return makeView(TypeView{text, types});
}

Result<View> handle_vars(SessionState& state, const Command&, Outcome&) {
  VariableTable table;
  for (const auto& [name, bound] : state.values) {
    if (name == kLastValue) continue;
    const bool tensor = bound.value.isTensor() && !isFunctionName(name);
    table.rows.push_back(
        {name, tensor ? typeText(bound.value) : bound.type, tensor ? bound.value.tensor().sizeBytes() : 0});
  }
  return makeView(std::move(table));
}

Result<View> handle_drop(SessionState& state, const Command& command, Outcome&) {
  if (!state.values.drop(command.text("value")))
    return makeError(DiagnosticId::textName, "there is no value '" + command.text("value") + "'")
        .note(":vars lists the bound values");
  return View();
}

// --- settings ---

const std::vector<SettingSpec>& settingTable() {
  static const std::vector<SettingSpec> table = {
      {"threads", "threads of kernels and of compilation; 0: one per core"},
      {"seed", "seed of random inputs"},
      {"passes", "the pipeline: a list (infer,fold,...), or edits of the standard one (-fuse)"},
      {"math",
       "fp32; bf16: round both operands of products with constant matrices, on cuda of all products; tf32: "
       "likewise, on cuda; f16-relaxed: keep f16 values in f32 between operations, not on cuda"},
      {"padded-results",
       "positions that an attention mask excludes are skipped; exact: where no output depends on them; zero: "
       "always, and outputs are 0 there"},
      {"policy", "kernel variants of operators: conv=direct,matmul=auto; compiled models only"},
      {"variants", "programs for given sizes beside the general one: seq=128;seq=256,batch=1; none: off"},
      {"buckets", "pad smaller batches to the next of these sizes: batch=4,8,16; none: off"},
      {"tuning", "file of tuning records; cache: beside the object cache; none: off"},
      {"host-code", "form of the host code: native, bytecode; auto: the form that a package has"},
      {"data-root",
       "follow symbolic links to an ONNX model's external data within this folder; none: follow no links"},
      {"native-code", "off: load only the bytecode and weights of packages"},
      {"verify-key", "file of the public key that must have signed packages; none: load any package"},
      {"device",
       "cpu; cuda: run kernels on the first GPU where possible, cuda:1: on the second; simcuda: the "
       "simulated GPU of the tests"},
      {"graphs", "on: launch repeated GPU kernels as one CUDA graph; off: one by one"},
      {"target", "machine that programs run on: host, a processor such as znver4 or cortex-a72, or a file"},
      {"cache-dir", "folder of compiled objects; none: off"},
      {"mem-limit", "most memory of a run in bytes; values are recomputed to fit; 0: no limit"},
      {"device-mem-limit", "most memory of a run on each device in bytes; 0: as mem-limit"},
      {"precision", "digits of printed reals"},
      {"edge-items", "elements shown at each edge of a long axis"},
      {"full", "on: print whole tensors"},
  };
  return table;
}

std::string settingValue(const SessionSnapshot& now, std::string_view name) {
  const SessionOptions& o = now.options;
  if (name == "threads") return std::to_string(o.threadCount);
  if (name == "seed") return std::to_string(o.seed);
  if (name == "passes") return o.passes.empty() ? "standard" : o.passes;
  if (name == "math") return o.math;
  if (name == "padded-results") return o.paddedResults;
  if (name == "tuning") return o.tuningFile.empty() ? "cache" : o.tuningFile;
  if (name == "policy") return textOf(o.policies);
  if (name == "variants") return o.variants.empty() ? "none" : o.variants;
  if (name == "buckets") return o.buckets.empty() ? "none" : o.buckets;
  if (name == "host-code") return o.hostCode;
  if (name == "data-root") return o.dataRoot.empty() ? "none" : o.dataRoot;
  if (name == "native-code") return o.nativeCode ? "on" : "off";
  if (name == "verify-key") return o.verifyKey.empty() ? "none" : o.verifyKey;
  if (name == "device") return o.device;
  if (name == "graphs") return o.deviceGraphs ? "on" : "off";
  if (name == "target") return o.target.empty() ? "host" : o.target;
  if (name == "cache-dir") return o.cacheDirectory.empty() ? "none" : o.cacheDirectory;
  if (name == "mem-limit") return std::to_string(o.memoryLimitBytes);
  if (name == "device-mem-limit") return std::to_string(o.deviceLimitBytes);
  auto display = now.display.find(std::string(name));
  if (display != now.display.end()) return display->second;
  return name == "precision" ? "6" : name == "edge-items" ? "3" : "off";
}

namespace {

Result<int64_t> natural(const std::string& name, const std::string& text) {
  if (!text.empty() && text.size() < 16 && text.find_first_not_of("0123456789") == std::string::npos)
    return std::stoll(text);
  return makeError(DiagnosticId::usageError, name + ": '" + text + "' is not a whole number of at least 0");
}

// "0": none.
Result<uint64_t> limitOf(const std::string& value) {
  if (value == "0") return uint64_t{0};
  DYN_TRY(const int64_t bytes, parseBytes(value));
  return static_cast<uint64_t>(bytes);
}

constexpr int64_t kMostThreads = 4096;

Status changeSetting(SessionState& state, const std::string& name, const std::string& value) {
  SessionOptions& o = state.now.options;
  bool compilation = true;  // the model must be compiled anew
  if (name == "threads") {
    DYN_TRY(int64_t count, natural(name, value));
    if (count > kMostThreads)
      return makeError(DiagnosticId::usageError,
                       "threads: at most " + std::to_string(kMostThreads) + ", not " + value);
    o.threadCount = static_cast<int>(count);
  } else if (name == "seed") {
    DYN_TRY(int64_t seed, natural(name, value));
    o.seed = static_cast<uint64_t>(seed);
    compilation = false;
  } else if (name == "passes") {
    const std::string passes = value == "standard" ? "" : value;
    DYN_TRY(Pipeline checked, parsePipeline(passes, passTable(), standardPipeline()));
    (void)checked;
    o.passes = passes;
  } else if (name == "math") {
    const bool own = value == (isGpu(o.device) ? "tf32" : "f16-relaxed");
    if (value != "fp32" && value != "bf16" && !own)
      return makeError(DiagnosticId::unsupportedFeature, "unsupported: arithmetic " + value)
          .note("fp32 and bf16 are there, f16-relaxed but for cuda, and tf32 on cuda");
    o.math = value;
  } else if (name == "padded-results") {
    if (value != "exact" && value != "zero")
      return makeError(DiagnosticId::usageError, "padded-results is exact or zero")
          .note(":set passes -pack_sequences computes all padding");
    o.paddedResults = value;
  } else if (name == "tuning") {
    o.tuningFile = value == "cache" ? "" : value;
  } else if (name == "policy") {
    DYN_TRY(o.policies, parsePolicies(value));
  } else if (name == "variants") {
    const std::string text = value == "none" ? "" : value;
    DYN_TRY([[maybe_unused]] auto checked, passes::parseVariants(text));
    o.variants = text;
  } else if (name == "buckets") {
    const std::string text = value == "none" ? "" : value;
    DYN_TRY([[maybe_unused]] auto checked, passes::parseBuckets(text));
    o.buckets = text;
  } else if (name == "host-code") {
    const std::string form = value == "interpret" ? "bytecode" : value;  // its former name
    if (form != "native" && form != "bytecode" && form != "auto")
      return makeError(DiagnosticId::usageError, "host-code is native, bytecode or auto");
    o.hostCode = form;
  } else if (name == "data-root") {
    o.dataRoot = value == "none" ? "" : value;
  } else if (name == "native-code") {
    if (value != "on" && value != "off")
      return makeError(DiagnosticId::usageError, "native-code is on or off");
    o.nativeCode = value == "on";
  } else if (name == "verify-key") {
    if (value != "none") {
      DYN_TRY([[maybe_unused]] const VerifyKey checked, readVerifyKey(value));
    }
    o.verifyKey = value == "none" ? "" : value;
  } else if (name == "device") {
    DYN_TRY([[maybe_unused]] const DeviceName checked, parseDevice(value));
    o.device = value;
    o.deviceIsChosen = true;
  } else if (name == "target") {
    DYN_TRY([[maybe_unused]] Target checked, chooseTarget(value));
    o.target = value == "host" ? "" : value;
  } else if (name == "cache-dir") {
    o.cacheDirectory = value;
  } else if (name == "mem-limit") {
    DYN_TRY(o.memoryLimitBytes, limitOf(value));
  } else if (name == "device-mem-limit") {
    DYN_TRY(o.deviceLimitBytes, limitOf(value));
    compilation = false;
  } else if (name == "graphs") {
    if (value != "on" && value != "off") return makeError(DiagnosticId::usageError, "graphs is on or off");
    o.deviceGraphs = value == "on";
    compilation = false;
  } else if (name == "full") {
    if (value != "on" && value != "off") return makeError(DiagnosticId::usageError, "full is on or off");
    state.now.display[name] = value;
    return {};
  } else {
    DYN_TRY(int64_t number, natural(name, value));
    if (number > 1000 || (name == "precision" && number > 17))
      return makeError(DiagnosticId::usageError, name + ": " + value + " is too large");
    state.now.display[name] = value;
    return {};
  }
  if (compilation) return compileAnew(state);
  state.now.runner = nullptr;
  state.now.specialisations = nullptr;
  state.now.small = nullptr;
  return {};
}

SettingTable settings(const SessionState& state) {
  SettingTable table;
  for (const SettingSpec& spec : settingTable()) {
    auto source = state.settingSources.find(std::string(spec.name));
    table.rows.push_back({std::string(spec.name), settingValue(state.now, spec.name), std::string(spec.help),
                          source == state.settingSources.end() ? "default" : source->second});
  }
  return table;
}

}  // namespace

Result<View> handle_policy(SessionState& state, const Command& command, Outcome&) {
  if (command.has("operator")) {
    Policies policies = state.now.options.policies;
    const std::string kind = command.text("operator");
    if (!command.has("version"))
      return makeError(DiagnosticId::usageError, "policy " + kind + ": which version?");
    policies[kind] = command.text("version");
    DYN_CHECK(checkPolicies(policies));
    DYN_CHECK(changeSetting(state, "policy", textOf(policies)));
    state.settingSources["policy"] = "policy";
  }
  std::string text;
  for (const auto& [kind, otherwise] : {std::pair<const char*, const char*>{"conv", "by rule and records"},
                                        {"matmul", "by cost and records"},
                                        {"loop", "without broadcast where the shapes allow it"}}) {
    auto policy = state.now.options.policies.find(kind);
    text += std::string(kind) + ": " +
            (policy == state.now.options.policies.end() ? otherwise : policy->second) + "\n";
  }
  return textView(text);
}

Result<View> handle_set(SessionState& state, const Command& command, Outcome&) {
  if (!command.has("name")) return makeView(settings(state));
  std::string name = command.text("name");
  if (name == "flow") name = "host-code";  // its former name
  std::vector<std::string_view> names;
  for (const SettingSpec& spec : settingTable()) names.push_back(spec.name);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    const std::string near = suggestion(name, names);
    return makeError(DiagnosticId::usageError, "there is no setting '" + name + "'")
        .note(near.empty() ? ":set lists all" : "did you mean " + near + "?");
  }
  if (command.has("value")) {
    DYN_CHECK(changeSetting(state, name, command.text("value")));
    state.settingSources[name] = "set";
  }
  SettingTable all = settings(state), one;
  for (SettingTable::Row& row : all.rows)
    if (row.name == name) one.rows.push_back(row);
  return makeView(std::move(one));
}

Result<View> handle_undo(SessionState& state, const Command&, Outcome&) {
  if (state.undo.empty()) return makeError(DiagnosticId::usageError, "there is nothing to undo");
  UndoStep step = state.undo.pop();
  state.now = std::move(step.before);
  state.values.rollback(step.valuesMark);
  return textView("undone: " + visibleLine(step.line) + "\n");
}

Result<View> handle_history(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(int64_t count, command.integer("count", 50));
  std::string text;
  const Journal::Part part = state.journal.last(count > 0 ? static_cast<size_t>(count) : 0);
  for (size_t i = 0; i < part.lines.size(); ++i)
    text += std::to_string(part.firstNumber + i) + "  " + part.lines[i] + "\n";
  return textView(std::move(text));
}

// --- scripts ---

// A copy: who changes the file while it runs does not change what runs.
static Result<std::string> scriptText(const std::string& path) {
  DYN_TRY(MappedFile file, MappedFile::open(path));
  return std::string(file.bytes());
}

Result<View> handle_source(SessionState& state, const Command& command, Outcome&) {
  constexpr size_t kMaxSourceDepth = 16;
  const std::string path = command.text("file");
  if (state.openScripts.size() >= kMaxSourceDepth)
    return makeError(DiagnosticId::usageError,
                     "scripts call each other more than " + std::to_string(kMaxSourceDepth) + " deep");
  DYN_TRY(const std::string text, scriptText(path));
  ScriptReader reader(text, path);
  DYN_CHECK(reader.check());
  state.openScripts.push_back(path);
  Status failed;
  while (const std::optional<ScriptLine> next = reader.next()) {
    const ScriptLine& line = *next;
    if (state.interruption.requested()) {
      failed = makeError(DiagnosticId::cancelled, "interrupted", line.place);
      break;
    }
    Result<Command> parsed = parseCommand(line.text);
    if (parsed.ok() && parsed->id == CommandId::quit) break;
    std::shared_ptr<const Outcome> outcome;
    if (parsed.ok()) {
      parsed->place = line.place;
      outcome = runCommand(state, *parsed, 0);
    } else {
      auto made = std::make_shared<Outcome>();
      made->command = Command::of(CommandId::eval).add("rest", line.text);
      made->error = parsed.takeError().at(line.place).diagnostic;
      outcome = made;
    }
    if (outcome->ok()) {
      if (state.emitOutcome) state.emitOutcome(outcome);
      continue;
    }
    Error error{*outcome->error};
    // The script's line is where to look; what the expression's own place says stays as a note.
    if (error.diagnostic.place.file == "<prompt>") {
      error.diagnostic.place.file = path;
      error.diagnostic.place.line += line.place.line - 1;
    } else if (error.diagnostic.place.file != path) {
      error = std::move(error).note("in " + line.place.toString());
    }
    if (!command.has("keep-going") || outcome->error->id == DiagnosticId::cancelled) {
      failed = error;
      break;
    }
    auto shown = std::make_shared<Outcome>(*outcome);
    shown->error = error.diagnostic;
    if (state.emitOutcome) state.emitOutcome(shown);
    if (failed.ok()) failed = std::move(error);
  }
  state.openScripts.pop_back();
  if (!failed.ok()) return failed.takeError();
  return View();
}

Result<View> handle_quit(SessionState&, const Command&, Outcome&) { return View(); }

}  // namespace dyn
