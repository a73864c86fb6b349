// Handlers: what the shell says of itself.
#include <algorithm>

#include "app/session/handlers/help_pages.h"
#include "app/session/handlers/named_value.h"
#include "app/session/option_table.h"
#include "app/session/session_state.h"
#include "app/session/views/shell_views.h"
#include "app/session/views/view.h"
#include "compiler/ir/op_def.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/support/suggestion.h"

namespace dyn {

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

std::string helpOfCommand(CommandId id) {
  const CommandSpec& spec = commandSpec(id);
  std::string text = spec.usage() + "\n  " + std::string(spec.help) +
                     "\n  example: " + (id == CommandId::eval ? "" : ":") + std::string(spec.example) + "\n";
  if (takes(spec, ArgumentKind::input))
    text +=
        "  SPEC: @file.npy, @file.pb, random[:SEED], zeros, ones, range, a literal [1, 2], or a bound "
        "value;\n"
        "    @picture.png (.jpg, .bmp, .ppm, .pgm) with ,resize[=HxW] ,scale=N ,mean=R/G/B ,std=R/G/B ,bgr "
        ",nchw ,nhwc;\n"
        "    @sound.wav with ,rate=N; text:tokenizer.json:WORDS (or vocab.txt, or vocab.json with "
        "merges.txt)\n";
  if (takesLengths(spec)) text += "  SPEC of lengths: @file with a number a line, or 3,1,2\n";
  if (takes(spec, ArgumentKind::dim))
    text +=
        "  N: a number; declared before compilation also 1..512, 1..512:8, @lengths.txt. Sizes need no "
        "--dim, "
        "and may stand together: batch=1,seq=7\n";
  return text;
}

// The value of a model that is not run: its type, and the operation that makes it.
std::optional<std::string> helpOfModelValue(SessionState& state, const std::string& name) {
  if (!state.now.model || !state.now.model->hasModule()) return std::nullopt;
  (void)state.now.model->ensurePasses();
  std::string type;
  for (const auto& [port, known] : state.ports())
    if (port == name && known) type = known.toString();
  const Module& module = state.now.model->typed();
  const ValueId value = state.now.model->ir().findValue(name);
  const auto definition = value == kNoValue ? Definition() : Uses(module).definition(value);
  if (type.empty() && definition.type) type = definition.type.toString();
  if (type.empty()) return std::nullopt;
  std::string text = name + ": " + type + "\n";
  if (definition.op)
    text += "  made by " + std::string(definition.op->def->name) +
            (definition.op->place.known() ? " at " + definition.op->place.toString() : "") + "\n";
  else
    text += "  an input of the model\n";
  return text + "  :tensor " + name + " computes and shows it; :trace " + name + " says what it depends on\n";
}

Result<View> helpOfValue(SessionState& state, const std::string& name, const BoundValue& bound,
                         Outcome& outcome) {
  if (bound.value.isTensor() && bound.value.tensor().dtype() != Dtype::string)
    return handle_tensor(state, Command::of(CommandId::tensor).add("value", name), outcome);
  return textView(name + ": " + bound.type + "\n");
}

// ?NAME: a value first, as it is asked for most at the prompt; then as :help NAME.
Result<View> helpOf(SessionState& state, std::string name, Outcome& outcome) {
  const bool valueFirst = name[0] == '?';
  if (valueFirst) name.erase(0, 1);
  const bool colon = !name.empty() && name[0] == ':';
  if (colon) name.erase(0, 1);
  if (!name.empty() && name[0] == '%') name.erase(0, 1);
  if (name.empty()) return View(makeView(TextView{helpOverview(), 2}));
  const std::optional<BoundValue> bound = namedValue(state, name);
  if (valueFirst && !colon && bound) return helpOfValue(state, name, *bound, outcome);
  for (const CommandSpec& spec : commandTable())
    if (spec.name == name) return makeView(TextView{helpOfCommand(spec.id), 4});
  if (const std::optional<std::string> page = helpPage(name)) return makeView(TextView{*page, 14});
  if (!colon) {
    if (findOp(name)) return handle_ops(state, Command::of(CommandId::ops).add("name", name), outcome);
    if (bound) return helpOfValue(state, name, *bound, outcome);
    if (const std::optional<BoundValue> function = namedValue(state, "@" + name); function)
      return textView("@" + name + ": " + function->type + ", a function of the prompt\n");
    if (const OptionRow* setting = findSetting(name))
      return makeView(TextView{":set " + name + " VALUE: " + std::string(setting->help) + "\n  it is " +
                                   settingValue(state.now, *setting) + "\n",
                               2});
    if (const std::optional<std::string> text = helpOfModelValue(state, name))
      return makeView(TextView{*text, 4});
    if (name.size() == 5 && name[0] == 'E')
      return handle_explain(state, Command::of(CommandId::explain).add("code", name), outcome);
  }
  Result<CommandId> id = findCommand(name);
  if (id.ok()) return makeView(TextView{helpOfCommand(*id), 4});
  if (colon) return id.takeError();
  std::vector<std::string> known = namesOfValues(state);
  for (const CommandSpec& spec : commandTable()) known.emplace_back(spec.name);
  for (const OpDef* op : opTable()) known.emplace_back(op->name);
  const std::string near = suggestion(name, std::vector<std::string_view>(known.begin(), known.end()));
  return makeError(DiagnosticId::textName, "there is no command, operator or value '" + name + "'")
      .note(near.empty() ? ":help shows the commands, :ops the operators, :vars the values"
                         : "did you mean " + near + "?");
}

}  // namespace

Result<View> handle_help(SessionState& state, const Command& command, Outcome& outcome) {
  if (!command.has("command")) return makeView(TextView{helpOverview(), 2});
  return helpOf(state, command.text("command"), outcome);
}

}  // namespace dyn
