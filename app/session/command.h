// Command: what a session is asked to do, as data. One table (commands.def) lists all; shell lines, script
// lines, batch flags and window actions are spellings of the same struct.
//
//   Command run = Command::of(CommandId::run).add("dim", "seq=59");        // the window
//   DYN_TRY(Command same, parseCommand(":run --dim seq=59"));              // the shell
//   toLine(run)  → ":run --dim seq=59"  // the journal; parses back to the same
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/result.h"

namespace dyn {

enum class CommandId : uint8_t {
#define DYN_COMMAND(id, name, arguments, cancellable, undoable, concurrency, help, example) id,
#include "app/session/commands.def"
#undef DYN_COMMAND
};

enum class ArgumentKind : uint8_t {
  flag,  // a switch without value
  text,
  integer,
  number,
  bytes,     // "512MB"
  file,      // is read
  output,    // is written
  folder,    // files are written into it
  records,   // is read, and written anew with more in it
  pass,      // name or number of a step
  level,     // graph, placed, loop, ...: levelNames() of views/code_views.h
  value,     // a bound value
  valuedim,  // "y.1", a symbol, or a dim expression
  symbol,
  dim,         // "seq=59", "seq=1..512:8", "seq=@lengths.txt"
  input,       // "ids=@ids.npy"
  kernel,      // name or number
  placement,   // "softmax", "softmax=cpu"
  expression,  // the text IR
  setting,
  command,
  code,  // "E0203"
  op,
};

struct ArgumentSpec {
  std::string name;  // "dim"
  ArgumentKind kind = ArgumentKind::text;
  bool option = false;  // written --name VALUE (or -o FILE)
  bool required = false;
  bool repeated = false;
  bool rest = false;  // takes the rest of the line as it stands
};

enum class Cancellable : bool { no, yes };
enum class Undoable : bool { no, yes };
// Which commands of a session may run at the same time (commands.def).
enum class Concurrency : uint8_t { exclusive, runner, reader, graphReader };

struct CommandSpec {
  CommandId id;
  std::string_view name;
  std::vector<ArgumentSpec> arguments;
  std::string_view argumentText;  // as in the table
  Cancellable cancellable;
  Undoable undoable;
  Concurrency concurrency;
  std::string_view help;
  std::string_view example;

  const ArgumentSpec* find(std::string_view argument) const;
  std::string usage() const;  // ":run [--dim NAME=N]... [--repeat N]"
};

// In the order of commands.def.
const std::vector<CommandSpec>& commandTable();
const CommandSpec& commandSpec(CommandId id);

struct Command {
  CommandId id = CommandId::help;
  // By the argument's name, without dashes; a switch that is set has one empty string.
  std::map<std::string, std::vector<std::string>, std::less<>> arguments;
  SourceLocation place;  // of the script's line, when it came from one

  static Command of(CommandId id) { return Command{id, {}, {}}; }
  Command& add(std::string name, std::string value = "") {
    arguments[std::move(name)].push_back(std::move(value));
    return *this;
  }
  bool has(std::string_view name) const { return arguments.find(name) != arguments.end(); }
  std::string text(std::string_view name, std::string fallback = "") const;
  const std::vector<std::string>& all(std::string_view name) const;        // none: an empty list
  Result<int64_t> integer(std::string_view name, int64_t fallback) const;  // usageError when it is no number
  Result<double> number(std::string_view name, double fallback) const;
  bool operator==(const Command& other) const { return id == other.id && arguments == other.arguments; }
};

// The text in the quotes that open at line[at]; `at` is behind them then. In "..." a backslash takes the
// letter behind it as it is. Errors: usageError, where they are not closed.
Result<std::string> takeQuoted(std::string_view line, size_t& at);

// The command of that name or unique prefix. Errors: usageError, with the candidates or "did you mean".
Result<CommandId> findCommand(std::string_view nameOrPrefix);
// A line of the shell: ":name arguments", or an expression (command eval). Quotes "..." and '...' keep
// blanks.
Result<Command> parseCommand(std::string_view line);
// Wrong names, missing or surplus arguments, values that are no numbers: usageError with the usage as its
// note.
Status checkCommand(const Command& command);
std::string toLine(const Command& command);
// The text as a word of a line: in quotes where it has blanks or quotes, and where it must not be read as an
// option.
std::string quotedWord(const std::string& text, bool mayBeOption);

inline constexpr std::string_view kAskedFailure = "failure";  // `:why failure`: of the last run
// Does `:why` ask about a run? Other questions are about the program, and need none.
bool asksAboutRun(const Command& why);

// Does the text go on in the next line? (an open bracket, brace or quote)
bool isOpenEnded(std::string_view text);
// The same, asked after each line of a text that grows: a line costs its own length.
class OpenEnd {
 public:
  void add(std::string_view line);  // without its newline
  bool isOpen() const { return !closed_ && (quoted_ || !brackets_.empty()); }

 private:
  std::vector<char> brackets_;
  bool begun_ = false, quoted_ = false;
  bool closed_ = false;  // a command, or a bracket that nothing opened
};
// The commands of a script, each with its place; a command goes on while brackets are open. `#` begins a
// comment line, and a first line `#!` is one too. `;` between commands is for `-e`. Errors: textSyntax for a
// bracket that is never closed.
struct ScriptLine {
  std::string text;
  SourceLocation place;
};
Result<std::vector<ScriptLine>> splitScript(std::string_view text, const std::string& file);
// "512MB", "2GiB", "1000000"
Result<int64_t> parseBytes(std::string_view text);

}  // namespace dyn
