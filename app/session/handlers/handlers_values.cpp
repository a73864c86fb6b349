// Handlers: expressions, bound values, settings, scripts, help.
#include <algorithm>

#include "app/session/handlers/compile_anew.h"
#include "app/session/handlers/expression.h"
#include "app/session/option_table.h"
#include "app/session/script_reader.h"
#include "app/session/session_state.h"
#include "compiler/ir/op_def.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/support/mapped_file.h"
#include "compiler/support/suggestion.h"
#include "compiler/tune/policies.h"

namespace dyn {

namespace {

// "help" and "quit" are names that no value has: the commands were meant.
Error orTheCommand(Error error, const std::string& text) {
  const std::string word = text.substr(0, text.find_first_of(" \t"));
  for (const CommandSpec& spec : commandTable())
    if (error.diagnostic().id == DiagnosticId::textName &&
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
    if (result.bound) state.values.bind(name, {evaluated.values[i], evaluated.types[i]});
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

namespace {

std::string settingValue(const SessionSnapshot& now, const OptionRow& row) {
  if (row.storage.get) return row.storage.get(now.options);
  auto display = now.display.find(std::string(row.setting));
  return display != now.display.end() ? display->second : row.storage.fallback;
}

Status changeSetting(SessionState& state, const OptionRow& row, const std::string& value) {
  const std::string name(row.setting);
  DYN_CHECK(row.storage.set(state.now.options, name, value));
  if (!row.storage.get) state.now.display[name] = value;
  if (row.effect == SettingEffect::compiles) return compileAnew(state);
  if (row.effect == SettingEffect::prints) return {};
  state.now.runner = nullptr;
  state.now.specialisations = nullptr;
  state.now.small = nullptr;
  return {};
}

SettingTable settings(const SessionState& state) {
  SettingTable table;
  for (const OptionRow* row : settingTable()) {
    auto source = state.settingSources.find(std::string(row->setting));
    table.rows.push_back({std::string(row->setting), settingValue(state.now, *row), std::string(row->help),
                          source == state.settingSources.end() ? "default" : source->second,
                          toString(row->section), std::string(row->spelling)});
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
    DYN_CHECK(changeSetting(state, *findSetting("policy"), textOf(policies)));
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
  const OptionRow* row = findSetting(command.text("name"));
  if (!row) {
    std::vector<std::string_view> names;
    for (const OptionRow* known : settingTable()) names.push_back(known->setting);
    const std::string near = suggestion(command.text("name"), names);
    return makeError(DiagnosticId::usageError, "there is no setting '" + command.text("name") + "'")
        .note(near.empty() ? ":set lists all" : "did you mean " + near + "?");
  }
  if (command.has("value")) {
    DYN_CHECK(changeSetting(state, *row, command.text("value")));
    state.settingSources[std::string(row->setting)] = "set";
  }
  SettingTable all = settings(state), one;
  for (SettingTable::Row& shown : all.rows)
    if (shown.name == row->setting) one.rows.push_back(shown);
  return makeView(std::move(one));
}

Result<View> handle_undo(SessionState& state, const Command&, Outcome&) {
  if (state.undo.empty()) return makeError(DiagnosticId::usageError, "there is nothing to undo");
  UndoStep step = state.undo.pop();
  state.now = std::move(step.before);
  state.values.rollback(step.valuesMark);
  return View();
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
      made->error = parsed.takeError().at(line.place).diagnostic();
      outcome = made;
    }
    if (outcome->ok()) {
      if (state.emitOutcome) state.emitOutcome(outcome);
      continue;
    }
    Error error{*outcome->error};
    // The script's line is where to look; what the expression's own place says stays as a note.
    if (error.diagnostic().place.file == "<prompt>") {
      error.diagnostic().place.file = path;
      error.diagnostic().place.line += line.place.line - 1;
    } else if (error.diagnostic().place.file != path) {
      error = std::move(error).note("in " + line.place.toString());
    }
    if (!command.has("keep-going") || outcome->error->id == DiagnosticId::cancelled) {
      failed = error;
      break;
    }
    auto shown = std::make_shared<Outcome>(*outcome);
    shown->error = error.diagnostic();
    if (state.emitOutcome) state.emitOutcome(shown);
    if (failed.ok()) failed = std::move(error);
  }
  state.openScripts.pop_back();
  if (!failed.ok()) return failed.takeError();
  return View();
}

// --- help ---

Result<View> handle_explain(SessionState& state, const Command& command, Outcome&) {
  std::string code = command.text("code");
  std::string text;
  if (code.empty()) {
    if (!state.lastError)
      return makeError(DiagnosticId::usageError, "there was no error yet")
          .note(":explain E0203 explains a code");
    code = std::string(diagnosticRow(state.lastError->id).code);
    text = state.lastError->toString() + "\n\n";
  }
  for (const DiagnosticRow& row : diagnosticTable()) {
    if (row.code != code && row.name != code) continue;
    static constexpr std::string_view kFaults[] = {"a fault of the input or the model",
                                                   "not supported yet",
                                                   "a fault of the command",
                                                   "a limit",
                                                   "an interruption",
                                                   "a time limit",
                                                   "a defect of Dyn"};
    text += std::string(row.code) + " " + std::string(row.name) + ": " + std::string(row.summary) +
            "\n  kind: " + std::string(kFaults[static_cast<size_t>(row.kind)]) +
            "; exit code in batch: " + std::to_string(exitCode(row.id)) + "\n";
    return textView(std::move(text));
  }
  std::vector<std::string_view> codes;
  for (const DiagnosticRow& row : diagnosticTable()) codes.push_back(row.code);
  const std::string near = suggestion(code, codes);
  return makeError(DiagnosticId::usageError, "there is no code '" + code + "'")
      .note(near.empty() ? "codes are like E0203" : "did you mean " + near + "?");
}

Result<View> handle_ops(SessionState&, const Command& command, Outcome&) {
  std::string text;
  if (!command.has("name")) {
    for (const OpDef* op : opTable()) {
      std::string name(op->name);
      name.resize(std::max<size_t>(name.size() + 1, 24), ' ');
      text += name + std::string(op->summary) + "\n";
    }
    return textView(std::move(text));
  }
  const OpDef* op = findOp(command.text("name"));
  if (!op) {
    std::vector<std::string_view> names;
    for (const OpDef* row : opTable()) names.push_back(row->name);
    const std::string near = suggestion(command.text("name"), names);
    return makeError(DiagnosticId::textName, "there is no operator '" + command.text("name") + "'")
        .note(near.empty() ? ":ops lists all" : "did you mean " + near + "?");
  }
  text = std::string(op->name) + ": " + std::string(op->summary) + "\n";
  if (!op->doc.empty()) text += "  " + std::string(op->doc) + "\n";
  if (!op->builtin.empty())
    text += "  hand-written kernel: " + std::string(op->builtin.row) + " " + op->builtin.fields() + "\n";
  for (const AttributeSpec& a : op->attributes)
    text += "  " + std::string(a.name) + ": " + toString(a.kind) + (a.required ? ", required" : "") +
            (a.doc.empty() ? "" : "; " + std::string(a.doc)) +
            (a.allowed.toString().empty() ? "" : " (" + a.allowed.toString() + ")") + "\n";
  for (const OperandRule& rule : op->operandRules)
    if (rule.operand >= 0)
      text += "  elements of operand " + std::to_string(rule.operand) + ": " +
              std::string(rule.demands.empty() ? toString(rule.elements) : rule.demands) + "\n";
  if (!op->example.empty()) text += "  example: " + std::string(op->example) + "\n";
  if (!op->lowerNote.empty()) text += "  compiled: " + std::string(op->lowerNote) + "\n";
  return textView(std::move(text));
}

namespace {
bool takes(const CommandSpec& spec, ArgumentKind kind) {
  return std::any_of(spec.arguments.begin(), spec.arguments.end(), [kind](const ArgumentSpec& argument) {
    return argument.kind == kind && argument.name != "lengths";
  });
}
bool takesLengths(const CommandSpec& spec) {
  return std::any_of(spec.arguments.begin(), spec.arguments.end(),
                     [](const ArgumentSpec& argument) { return argument.name == "lengths"; });
}
}  // namespace

Result<View> handle_help(SessionState&, const Command& command, Outcome&) {
  std::string text;
  if (command.has("command")) {
    std::string name = command.text("command");
    if (!name.empty() && name[0] == ':') name = name.substr(1);
    DYN_TRY(CommandId id, findCommand(name));
    const CommandSpec& spec = commandSpec(id);
    text = spec.usage() + "\n  " + std::string(spec.help) +
           "\n  example: " + (id == CommandId::eval ? "" : ":") + std::string(spec.example) + "\n";
    if (takes(spec, ArgumentKind::input))
      text +=
          "  SPEC: @file.npy, @file.pb, random[:SEED], zeros, ones, range, a literal [1, 2], or a bound "
          "value;\n"
          "    @picture.png (.jpg, .bmp, .ppm, .pgm) with ,resize[=HxW] ,scale=N ,mean=R/G/B ,std=R/G/B ,bgr "
          ",nchw ,nhwc;\n"
          "    @sound.wav with ,rate=N; text:vocab.txt:WORDS (or vocab.json with merges.txt beside it)\n";
    if (takesLengths(spec)) text += "  SPEC of lengths: @file with a number a line, or 3,1,2\n";
    if (takes(spec, ArgumentKind::dim))
      text += "  N: a number; declared before compilation also 1..512, 1..512:8, @lengths.txt\n";
    return textView(std::move(text));
  }
  text = "expressions: x = random(f32, [2, 3])   y = relu(x @ w) + 1.0   (`;` at the end shows nothing)\n";
  for (const CommandSpec& spec : commandTable()) {
    std::string name = ":" + std::string(spec.name);
    name.resize(12, ' ');
    text += name + std::string(spec.help) + "\n";
  }
  text += ":help COMMAND shows its arguments and an example; unique beginnings of names are enough\n";
  return textView(std::move(text));
}

Result<View> handle_quit(SessionState&, const Command&, Outcome&) { return View(); }

}  // namespace dyn
