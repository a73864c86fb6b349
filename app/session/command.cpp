#include "app/session/command.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "app/engine/model/dim_relation.h"
#include "app/session/script_reader.h"
#include "app/session/views/code_views.h"
#include "compiler/support/suggestion.h"
#include "compiler/target/device_kind.h"

namespace dyn {

namespace {

struct KindName {
  std::string_view name;
  ArgumentKind kind;
};
constexpr KindName kKinds[] = {
    {"text", ArgumentKind::text},
    {"integer", ArgumentKind::integer},
    {"number", ArgumentKind::number},
    {"bytes", ArgumentKind::bytes},
    {"file", ArgumentKind::file},
    {"output", ArgumentKind::output},
    {"folder", ArgumentKind::folder},
    {"records", ArgumentKind::records},
    {"pass", ArgumentKind::pass},
    {"level", ArgumentKind::level},
    {"value", ArgumentKind::value},
    {"valuedim", ArgumentKind::valuedim},
    {"symbol", ArgumentKind::symbol},
    {"dim", ArgumentKind::dim},
    {"input", ArgumentKind::input},
    {"kernel", ArgumentKind::kernel},
    {"expression", ArgumentKind::expression},
    {"setting", ArgumentKind::setting},
    {"command", ArgumentKind::command},
    {"code", ArgumentKind::code},
    {"op", ArgumentKind::op},
    {"placement", ArgumentKind::placement},
};

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    const size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    const size_t end = std::min(text.find(' ', begin), text.size());
    found.push_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
  return found;
}

ArgumentSpec parseSpec(std::string_view text) {
  ArgumentSpec spec;
  spec.required = true;
  if (text.back() == '?' || text.back() == '*') {
    spec.required = false;
    spec.repeated = text.back() == '*';
    text.remove_suffix(1);
  }
  if (text[0] == '-') {
    spec.option = true;
    spec.required = false;
    text.remove_prefix(text.substr(0, 2) == "--" ? 2 : 1);
  }
  const size_t colon = text.find(':');
  spec.name = std::string(text.substr(0, colon));
  if (colon == std::string_view::npos) {
    spec.kind = ArgumentKind::flag;
  } else {
    for (const KindName& k : kKinds)
      if (k.name == text.substr(colon + 1)) spec.kind = k.kind;
  }
  spec.rest = spec.name == "rest";
  return spec;
}

CommandSpec makeSpec(CommandId id, std::string_view name, std::string_view arguments, Cancellable cancellable,
                     Undoable undoable, Concurrency concurrency, std::string_view help,
                     std::string_view example) {
  CommandSpec spec{id, name, {}, arguments, cancellable, undoable, concurrency, help, example};
  for (std::string_view word : words(arguments)) spec.arguments.push_back(parseSpec(word));
  return spec;
}

// The levels follow from the devices.
std::string_view irHelp() {
  static const std::string kHelp =
      "Print the model after a pass (name or number), or at a lower level: " + listOfLevels() +
      "; -o writes it to a file; --linked, for --json, adds the origin of each line";
  return kHelp;
}

const char* placeholder(ArgumentKind kind) {
  switch (kind) {
    case ArgumentKind::flag:
      return "";
    case ArgumentKind::text:
      return "TEXT";
    case ArgumentKind::integer:
      return "N";
    case ArgumentKind::number:
      return "X";
    case ArgumentKind::bytes:
      return "BYTES";
    case ArgumentKind::file:
    case ArgumentKind::output:
    case ArgumentKind::records:
      return "FILE";
    case ArgumentKind::folder:
      return "DIR";
    case ArgumentKind::pass:
      return "PASS|N";
    case ArgumentKind::level:
      return "LEVEL";
    case ArgumentKind::value:
      return "NAME";
    case ArgumentKind::valuedim:
      return "VALUE.DIM";
    case ArgumentKind::symbol:
      return "SYMBOL";
    case ArgumentKind::dim:
      return "NAME=N";
    case ArgumentKind::input:
      return "NAME=SPEC";
    case ArgumentKind::kernel:
      return "KERNEL|N";
    case ArgumentKind::placement: {
      static const std::string kPlacement = "OPERATOR[=" + namesOfSides("", "|") + "]";
      return kPlacement.c_str();
    }
    case ArgumentKind::expression:
      return "EXPRESSION";
    case ArgumentKind::setting:
      return "SETTING";
    case ArgumentKind::command:
      return "COMMAND";
    case ArgumentKind::code:
      return "CODE";
    case ArgumentKind::op:
      return "OPERATOR";
  }
  return "";
}

std::string dashed(const ArgumentSpec& spec) { return (spec.name.size() == 1 ? "-" : "--") + spec.name; }

Error usage(const CommandSpec& spec, std::string message) {
  return makeError(DiagnosticId::usageError, std::move(message)).note("usage: " + spec.usage());
}

// A word of a line, quotes taken away.
struct Token {
  std::string text;
  size_t begin = 0;
  bool quoted = false;
};

Result<std::vector<Token>> tokenize(std::string_view line) {
  std::vector<Token> tokens;
  size_t at = 0;
  while (true) {
    at = line.find_first_not_of(" \t", at);
    if (at == std::string_view::npos) return tokens;
    Token token;
    token.begin = at;
    while (at < line.size() && line[at] != ' ' && line[at] != '\t') {
      const char c = line[at];
      if (c != '"' && c != '\'') {
        token.text += c;
        ++at;
        continue;
      }
      token.quoted = true;
      DYN_TRY(const std::string quoted, takeQuoted(line, at));
      token.text += quoted;
    }
    tokens.push_back(std::move(token));
  }
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

bool isIntegerText(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool isNumberText(const std::string& text) {
  if (text.empty()) return false;
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return *end == '\0';
}

// Former names of options, accepted for one version and shown nowhere.
struct FormerOption {
  CommandId command;
  std::string_view former, now;
};
constexpr FormerOption kFormerOptions[] = {
    {CommandId::serve, "most", "max-batch"},
    {CommandId::serve, "most-time", "max-batch-time"},
    {CommandId::serve, "line", "max-queue"},
};

// One letter for what is typed most where a run is stopped.
struct ShortName {
  std::string_view name;
  CommandId command;
};
constexpr ShortName kShortNames[] = {
    {"n", CommandId::next}, {"s", CommandId::step}, {"c", CommandId::continue_}, {"b", CommandId::break_}};

std::string currentOption(CommandId command, std::string_view name) {
  for (const FormerOption& row : kFormerOptions)
    if (row.command == command && row.former == name) return std::string(row.now);
  return std::string(name);
}

}  // namespace

const ArgumentSpec* CommandSpec::find(std::string_view argument) const {
  for (const ArgumentSpec& spec : arguments)
    if (spec.name == argument) return &spec;
  return nullptr;
}

std::string CommandSpec::usage() const {
  std::string text = ":" + std::string(name);
  for (const ArgumentSpec& spec : arguments) {
    std::string item = spec.option ? dashed(spec)
                       : spec.rest ? std::string(placeholder(spec.kind))
                                   : std::string(spec.name);
    if (!spec.option)
      std::transform(item.begin(), item.end(), item.begin(),
                     [](char c) { return c >= 'a' && c <= 'z' ? char(c - 32) : c; });
    if (spec.option && spec.kind != ArgumentKind::flag) item += std::string(" ") + placeholder(spec.kind);
    text += spec.required ? " " + item : " [" + item + "]";
    if (spec.repeated) text += "...";
  }
  return text;
}

const std::vector<CommandSpec>& commandTable() {
  static const std::vector<CommandSpec> table = {
#define DYN_COMMAND(id, name, arguments, cancellable, undoable, concurrency, help, example) \
  makeSpec(CommandId::id, name, arguments, Cancellable::cancellable, Undoable::undoable,    \
           Concurrency::concurrency, help, example),
#include "app/session/commands.def"
#undef DYN_COMMAND
  };
  return table;
}

const CommandSpec& commandSpec(CommandId id) { return commandTable()[static_cast<size_t>(id)]; }

std::string Command::text(std::string_view name, std::string fallback) const {
  auto it = arguments.find(name);
  return it == arguments.end() || it->second.empty() ? fallback : it->second.back();
}

const std::vector<std::string>& Command::all(std::string_view name) const {
  static const std::vector<std::string> none;
  auto it = arguments.find(name);
  return it == arguments.end() ? none : it->second;
}

Result<int64_t> Command::integer(std::string_view name, int64_t fallback) const {
  if (!has(name)) return fallback;
  const std::string value = text(name);
  if (!isIntegerText(value))
    return makeError(DiagnosticId::usageError, std::string(name) + ": '" + value + "' is not a whole number");
  return std::strtoll(value.c_str(), nullptr, 10);
}

Result<double> Command::number(std::string_view name, double fallback) const {
  if (!has(name)) return fallback;
  const std::string value = text(name);
  if (!isNumberText(value))
    return makeError(DiagnosticId::usageError, std::string(name) + ": '" + value + "' is not a number");
  return std::strtod(value.c_str(), nullptr);
}

Result<CommandId> findCommand(std::string_view nameOrPrefix) {
  for (const ShortName& row : kShortNames)
    if (row.name == nameOrPrefix) return row.command;
  std::vector<const CommandSpec*> found;
  std::vector<std::string_view> names;
  for (const CommandSpec& spec : commandTable()) {
    names.push_back(spec.name);
    if (spec.name == nameOrPrefix) return spec.id;
    if (!nameOrPrefix.empty() && spec.name.substr(0, nameOrPrefix.size()) == nameOrPrefix)
      found.push_back(&spec);
  }
  if (found.size() == 1) return found[0]->id;
  Error error = makeError(DiagnosticId::usageError, "there is no command :" + std::string(nameOrPrefix));
  if (found.size() > 1) {
    error = makeError(DiagnosticId::usageError,
                      ":" + std::string(nameOrPrefix) + " may stand for several commands");
    std::string list;
    for (const CommandSpec* spec : found) list += (list.empty() ? ":" : ", :") + std::string(spec->name);
    return std::move(error).note(list);
  }
  const std::string near = suggestion(nameOrPrefix, names);
  return std::move(error).note(near.empty() ? ":help lists all commands" : "did you mean :" + near + "?");
}

namespace {

// A line copied from a terminal or a document begins with the shell's prompt.
std::string_view withoutPrompt(std::string_view line) {
  constexpr std::string_view kPrompt = "dyn>";
  while (line.substr(0, kPrompt.size()) == kPrompt) line = trimmed(line.substr(kPrompt.size()));
  return line;
}

// "?x" and "x?" ask what x is, "?" alone for help.
std::optional<std::string> askedFor(std::string_view line) {
  const bool before = line.front() == '?';
  if (!before && line.back() != '?') return std::nullopt;
  line = before ? trimmed(line.substr(1)) : line.substr(0, line.size() - 1);
  if (line.find_first_of(" \t\n") != std::string_view::npos ||
      (!before && line.find('(') != std::string_view::npos))
    return std::nullopt;
  return "?" + std::string(line);
}

}  // namespace

Result<std::string> takeQuoted(std::string_view line, size_t& at) {
  const char quote = line[at++];
  std::string text;
  while (at < line.size() && line[at] != quote) {
    if (quote == '"' && line[at] == '\\' && at + 1 < line.size()) ++at;
    text += line[at++];
  }
  if (at == line.size())
    return makeError(DiagnosticId::usageError, std::string("the quote ") + quote + " is not closed");
  ++at;
  return text;
}

Result<Command> parseCommand(std::string_view line) {
  line = withoutPrompt(trimmed(line));
  if (line.empty()) return makeError(DiagnosticId::usageError, "the line is empty");
  if (const std::optional<std::string> asked = askedFor(line))
    return Command::of(CommandId::help).add("command", *asked);
  if (line[0] != ':') return Command::of(CommandId::eval).add("rest", std::string(line));
  line.remove_prefix(1);
  const size_t nameEnd = std::min(line.find_first_of(" \t\n"), line.size());
  if (line == "?" || line == "h") return Command::of(CommandId::help);
  DYN_TRY(CommandId id, findCommand(line.substr(0, nameEnd)));
  const CommandSpec& spec = commandSpec(id);
  Command command = Command::of(id);
  const std::string_view arguments = line.substr(nameEnd);
  if (!spec.arguments.empty() && spec.arguments[0].rest) {
    const std::string_view rest = trimmed(arguments);
    if (!rest.empty()) command.add("rest", std::string(rest));
    DYN_CHECK(checkCommand(command));
    return command;
  }
  DYN_TRY(std::vector<Token> tokens, tokenize(arguments));
  std::vector<const ArgumentSpec*> positional;
  for (const ArgumentSpec& a : spec.arguments)
    if (!a.option) positional.push_back(&a);
  const auto give = [&](const ArgumentSpec& argument, const std::string& text) {
    if (argument.kind != ArgumentKind::dim) return void(command.add(argument.name, text));
    for (std::string& one : splitDims(text)) command.add(argument.name, std::move(one));
  };
  const ArgumentSpec* dims = spec.find("dim");
  size_t next = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string& word = tokens[i].text;
    const bool number = isNumberText(word);
    if (word.size() > 1 && word[0] == '-' && !number && !tokens[i].quoted) {
      const std::string_view body = std::string_view(word).substr(word[1] == '-' ? 2 : 1);
      const size_t equals = body.find('=');
      const std::string name = currentOption(id, body.substr(0, equals));
      const ArgumentSpec* option = spec.find(name);
      const bool takesOptions = std::any_of(spec.arguments.begin(), spec.arguments.end(),
                                            [](const ArgumentSpec& a) { return a.option; });
      if (!takesOptions && next < positional.size()) {  // `:set passes -fuse`
        command.add(positional[next++]->name, word);
        continue;
      }
      if (!option || !option->option) {
        std::vector<std::string_view> known;
        for (const ArgumentSpec& a : spec.arguments)
          if (a.option) known.push_back(a.name);
        const std::string near = suggestion(name, known);
        return usage(spec,
                     "there is no option " + word + (near.empty() ? "" : "; did you mean --" + near + "?"));
      }
      if (option->kind == ArgumentKind::flag) {
        command.add(name);
      } else if (equals != std::string_view::npos) {
        give(*option, std::string(body.substr(equals + 1)));
      } else {
        if (++i == tokens.size()) return usage(spec, "the option " + word + " needs a value");
        give(*option, tokens[i].text);
      }
      continue;
    }
    if (dims && areSizes(word)) {  // `:run batch=1 seq=7`
      give(*dims, word);
      continue;
    }
    if (next == positional.size()) return usage(spec, "'" + word + "' is one argument too many");
    command.add(positional[next]->name, word);
    if (!positional[next]->repeated) ++next;
  }
  DYN_CHECK(checkCommand(command));
  return command;
}

Status checkCommand(const Command& command) {
  const CommandSpec& spec = commandSpec(command.id);
  for (const auto& [name, values] : command.arguments) {
    const ArgumentSpec* argument = spec.find(name);
    if (!argument) return usage(spec, ":" + std::string(spec.name) + " has no argument '" + name + "'");
    if (values.size() > 1 && !argument->repeated && argument->kind != ArgumentKind::flag)
      return usage(spec, dashed(*argument) + " is given " + std::to_string(values.size()) + " times");
    for (const std::string& value : values) {
      if (argument->kind == ArgumentKind::integer && !isIntegerText(value))
        return usage(spec, name + ": '" + value + "' is not a whole number");
      if (argument->kind == ArgumentKind::number && !isNumberText(value))
        return usage(spec, name + ": '" + value + "' is not a number");
      if ((argument->kind == ArgumentKind::dim || argument->kind == ArgumentKind::input) &&
          (value.find('=') == std::string::npos || value[0] == '='))
        return usage(spec,
                     "--" + name + " '" + value + "' is not of the form " + placeholder(argument->kind));
    }
  }
  for (const ArgumentSpec& argument : spec.arguments)
    if (argument.required && !command.has(argument.name))
      return usage(spec,
                   ":" + std::string(spec.name) + " needs " +
                       (argument.rest ? std::string("an expression") : "the argument " + argument.name));
  return {};
}

std::string quotedWord(const std::string& text, bool mayBeOption) {
  const bool plain = !text.empty() && text.find_first_of(" \t\r\n\"'") == std::string::npos;
  if (plain && !(mayBeOption && text[0] == '-')) return text;
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string toLine(const Command& command) {
  const CommandSpec& spec = commandSpec(command.id);
  if (command.id == CommandId::eval) {
    const std::string expression = command.text("rest");
    // Where the expression alone would be a command, or a question.
    const Result<Command> alone = parseCommand(expression);
    return alone.ok() && *alone == command ? expression : ":eval " + expression;
  }
  std::string line = ":" + std::string(spec.name);
  const bool takesOptions = std::any_of(spec.arguments.begin(), spec.arguments.end(),
                                        [](const ArgumentSpec& argument) { return argument.option; });
  for (const ArgumentSpec& argument : spec.arguments) {
    for (const std::string& value : command.all(argument.name)) {
      if (argument.rest) {
        line += " " + value;
      } else if (argument.kind == ArgumentKind::flag) {
        line += " " + dashed(argument);
      } else {
        line += (argument.option ? " " + dashed(argument) : "") + " " +
                quotedWord(value, takesOptions && !argument.option);
      }
    }
  }
  return line;
}

void OpenEnd::add(std::string_view line) {
  if (!begun_ && !trimmed(line).empty()) {
    begun_ = true;
    closed_ = trimmed(line)[0] == ':';
  }
  for (size_t i = 0; i < line.size() && !closed_; ++i) {
    const char c = line[i];
    if (quoted_) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted_ = false;
    } else if (c == '"') {
      quoted_ = true;
    } else if (c == '#') {
      return;  // a comment
    } else if (c == '(' || c == '[' || c == '{') {
      brackets_.push_back(c);
    } else if (c == ')' || c == ']' || c == '}') {
      closed_ = brackets_.empty();  // an error the parser names
      if (!closed_) brackets_.pop_back();
    }
  }
}

bool isOpenEnded(std::string_view text) {
  OpenEnd end;
  while (!text.empty()) {
    const size_t length = std::min(text.find('\n'), text.size());
    end.add(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return end.isOpen();
}

std::optional<ScriptLine> ScriptReader::next() {
  OpenEnd end;
  current_ = {};
  while (!rest_.empty()) {
    const size_t length = std::min(rest_.find('\n'), rest_.size());
    const std::string_view line = rest_.substr(0, length);
    rest_.remove_prefix(std::min(length + 1, rest_.size()));
    ++number_;
    if (current_.text.empty()) {
      const std::string_view content = trimmed(line);
      if (content.empty() || content[0] == '#') continue;
      current_.place.file = file_;
      current_.place.line = number_;
      current_.text = std::string(line);
    } else {
      current_.text.append("\n").append(line);
    }
    end.add(line);
    if (!end.isOpen()) return std::exchange(current_, {});
  }
  return std::nullopt;
}

Status ScriptReader::check() const {
  ScriptReader ahead = *this;
  while (ahead.next()) {
  }
  if (!ahead.isOpen()) return {};
  return makeError(DiagnosticId::textSyntax, "a bracket or quote is not closed", ahead.current_.place);
}

Result<std::vector<ScriptLine>> splitScript(std::string_view text, const std::string& file) {
  ScriptReader reader(text, file);
  DYN_CHECK(reader.check());
  std::vector<ScriptLine> lines;
  while (std::optional<ScriptLine> line = reader.next()) lines.push_back(*std::move(line));
  return lines;
}

Result<int64_t> parseBytes(std::string_view text) {
  struct Unit {
    std::string_view suffix;
    int64_t bytes;
  };
  static constexpr Unit kUnits[] = {{"KiB", int64_t{1} << 10},
                                    {"MiB", int64_t{1} << 20},
                                    {"GiB", int64_t{1} << 30},
                                    {"KB", int64_t{1} << 10},
                                    {"MB", int64_t{1} << 20},
                                    {"GB", int64_t{1} << 30},
                                    {"K", int64_t{1} << 10},
                                    {"M", int64_t{1} << 20},
                                    {"G", int64_t{1} << 30},
                                    {"B", 1},
                                    {"", 1}};
  for (const Unit& unit : kUnits) {
    if (text.size() < unit.suffix.size() || text.substr(text.size() - unit.suffix.size()) != unit.suffix)
      continue;
    const std::string_view digits = text.substr(0, text.size() - unit.suffix.size());
    int64_t value = 0, bytes = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc() && end == digits.data() + digits.size() && value > 0 &&
        !__builtin_mul_overflow(value, unit.bytes, &bytes))
      return bytes;
    break;
  }
  return makeError(DiagnosticId::usageError, "'" + std::string(text) + "' is not a number of bytes")
      .note("write it as 1000000, 512MB or 2GB");
}

bool asksAboutRun(const Command& why) {
  for (const char* option : {"run", "dim", "input", "lengths", "want"})
    if (why.has(option)) return true;
  const std::string asked = why.text("a");
  return asked == kAskedFailure || asked.find('[') != std::string::npos;
}

}  // namespace dyn
