// Handlers: expressions, bound values, settings, scripts, help.
#include <algorithm>

#include "app/session/handlers/compile_anew.h"
#include "app/session/handlers/expression.h"
#include "app/session/handlers/named_value.h"
#include "app/session/option_table.h"
#include "app/session/script_reader.h"
#include "app/session/session_state.h"
#include "app/session/views/shell_views.h"
#include "app/session/views/value_views.h"
#include "app/session/views/view.h"
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

std::string settingValue(const SessionSnapshot& now, const OptionRow& row) {
  if (row.storage.get) return row.storage.get(now.options);
  auto display = now.display.find(std::string(row.setting));
  return display != now.display.end() ? display->second : row.storage.fallback;
}

namespace {

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

Result<View> handle_quit(SessionState&, const Command&, Outcome&) { return View(); }

}  // namespace dyn
