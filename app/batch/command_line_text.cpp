#include "app/batch/command_line_text.h"

#include <functional>

namespace dyn {

namespace {

// Commands and options by name; "" is the program without a command.
struct CommandWords {
  std::string name, summary;
  std::vector<const CLI::Option*> options;
};

// Those with a name; former names (no group) are left out.
std::vector<const CLI::Option*> named(const CLI::App& app) {
  std::vector<const CLI::Option*> options;
  for (const CLI::Option* option : app.get_options())
    if (!option->get_group().empty() && (!option->get_lnames().empty() || !option->get_snames().empty()))
      options.push_back(option);
  return options;
}

std::vector<CommandWords> commandsOf(const CLI::App& app) {
  std::vector<CommandWords> commands{{"", app.get_description(), named(app)}};
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back({sub->get_name(), sub->get_description(), named(*sub)});
  return commands;
}

// "--json -q", every spelling of every option.
std::string spellings(const std::vector<const CLI::Option*>& options) {
  std::string text;
  for (const CLI::Option* option : options) {
    for (const std::string& name : option->get_lnames()) text += (text.empty() ? "--" : " --") + name;
    for (const std::string& name : option->get_snames()) text += (text.empty() ? "-" : " -") + name;
  }
  return text;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

std::string bashScript(const std::vector<CommandWords>& commands, const std::string& program) {
  std::string names;
  for (size_t i = 1; i < commands.size(); ++i) names += (i > 1 ? " " : "") + commands[i].name;
  std::string text = "# bash completion of " + program + "\n_" + program +
                     "() {\n"
                     "  local word=\"${COMP_WORDS[COMP_CWORD]}\" command=\"\" i words\n"
                     "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
                     "    case \"${COMP_WORDS[i]}\" in\n      " +
                     replaced(names, " ", " | ") +
                     ") command=\"${COMP_WORDS[i]}\"; break ;;\n    esac\n  done\n"
                     "  case \"$command\" in\n";
  for (size_t i = 1; i < commands.size(); ++i)
    text += "    " + commands[i].name + ") words=\"" + spellings(commands[i].options) + "\" ;;\n";
  text += "    *) words=\"" + names + " " + spellings(commands[0].options) +
          "\" ;;\n  esac\n"
          "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
          "  if [[ $word != -* ]]; then mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -f -- "
          "\"$word\"); fi\n}\n"
          "complete -o filenames -F _" +
          program + " " + program + "\n";
  return text;
}

// A word in single quotes for zsh and fish.
std::string quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

// "--json[one JSON document]" as _arguments wants it.
std::string zshOption(const CLI::Option& option, const std::string& name) {
  std::string meaning = replaced(replaced(option.get_description(), "[", "("), "]", ")");
  meaning = replaced(std::move(meaning), ":", "\\:");
  const bool takesValue = option.get_items_expected_max() > 0;
  return quoted((option.get_items_expected_max() > 1 ? "*" : "") + name + (takesValue ? "=" : "") + "[" +
                meaning + "]" + (takesValue ? ":value:_files" : ""));
}

std::string zshScript(const std::vector<CommandWords>& commands, const std::string& program) {
  const auto arguments = [](const CommandWords& command) {
    std::string text = "_arguments -s";
    for (const CLI::Option* option : command.options) {
      for (const std::string& name : option->get_lnames())
        text += " \\\n        " + zshOption(*option, "--" + name);
      for (const std::string& name : option->get_snames())
        text += " \\\n        " + zshOption(*option, "-" + name);
    }
    return text + " \\\n        '*:file:_files'\n";
  };
  std::string text = "#compdef " + program + "\n_" + program + "() {\n  local -a commands=(\n";
  std::string names;
  for (size_t i = 1; i < commands.size(); ++i) {
    names += (i > 1 ? "|" : "") + commands[i].name;
    text += "    " + quoted(commands[i].name + ":" + commands[i].summary) + "\n";
  }
  text += "  )\n  local word chosen=\n  for word in ${words[2,CURRENT-1]}; do\n    case $word in\n      (" +
          names + ") chosen=$word; break ;;\n    esac\n  done\n  case $chosen in\n";
  for (size_t i = 1; i < commands.size(); ++i)
    text += "    (" + commands[i].name + ")\n      " + arguments(commands[i]) + "      ;;\n";
  text += "    (*)\n      _describe command commands\n      " + arguments(commands[0]) +
          "      ;;\n  esac\n}\n_" + program + " \"$@\"\n";
  return text;
}

std::string fishScript(const std::vector<CommandWords>& commands, const std::string& program) {
  std::string text = "# fish completion of " + program + "\n";
  for (const CommandWords& command : commands) {
    const std::string where =
        command.name.empty() ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + command.name;
    if (!command.name.empty())
      text += "complete -c " + program + " -n __fish_use_subcommand -a " + command.name + " -d " +
              quoted(command.summary) + "\n";
    for (const CLI::Option* option : command.options) {
      text += "complete -c " + program + " -n " + quoted(where);
      for (const std::string& name : option->get_lnames()) text += " -l " + name;
      for (const std::string& name : option->get_snames()) text += " -s " + name;
      if (option->get_items_expected_max() > 0) text += " -r";
      text += " -d " + quoted(option->get_description()) + "\n";
    }
  }
  return text;
}

// A line of running text: no dot at its beginning, no escapes by chance.
std::string roff(std::string text) {
  text = replaced(replaced(std::move(text), "\\", "\\e"), "-", "\\-");
  if (!text.empty() && (text[0] == '.' || text[0] == '\'')) text.insert(0, "\\&");
  return text;
}

std::string manualOptions(const std::vector<const CLI::Option*>& options,
                          const std::function<bool(const CLI::Option&)>& shown) {
  std::string text;
  for (const CLI::Option* option : options) {
    if (!shown(*option)) continue;
    std::string names;
    for (const std::string& name : option->get_snames()) names += (names.empty() ? "-" : ", -") + name;
    for (const std::string& name : option->get_lnames()) names += (names.empty() ? "--" : ", --") + name;
    text += ".TP\n.B " + roff(names) + "\n" + roff(option->get_description()) + "\n";
  }
  return text;
}

}  // namespace

std::string completionScript(const CLI::App& app, std::string_view program, std::string_view shell) {
  const std::vector<CommandWords> commands = commandsOf(app);
  const std::string name(program);
  if (shell == "bash") return bashScript(commands, name);
  return shell == "zsh" ? zshScript(commands, name) : fishScript(commands, name);
}

std::string manualPage(const CLI::App& app, std::string_view program, std::string_view version) {
  const std::vector<CommandWords> commands = commandsOf(app);
  const std::string name(program);
  std::string text = ".TH " + name + " 1 \"\" \"" + std::string(version) + "\"\n.SH NAME\n" + name + " \\- " +
                     roff("compile, run and look into dynamic neural networks") + "\n.SH SYNOPSIS\n.B " +
                     name + "\n[OPTIONS] [COMMAND [ARGUMENTS]]\n.br\n.B " + name +
                     "\nMODEL [NAME=SIZE]...\n.SH DESCRIPTION\n" + roff(commands[0].summary) +
                     " Without a command it is a shell, with the model in it that is named.\n.SH "
                     "OPTIONS\nThey go with every command.\n";
  text += manualOptions(commands[0].options, [](const CLI::Option&) { return true; });
  text += ".SH COMMANDS\n";
  const auto isOwn = [&](const CLI::Option& option) {
    for (const CLI::Option* common : commands[0].options)
      if (common->get_lnames() == option.get_lnames() && common->get_snames() == option.get_snames())
        return false;
    return true;
  };
  for (size_t i = 1; i < commands.size(); ++i)
    text += ".SS " + commands[i].name + "\n" + roff(commands[i].summary) + "\n" +
            manualOptions(commands[i].options, isOwn);
  return text +
         ".SH EXIT STATUS\n.TP\n.B 0\nSuccess.\n.TP\n.B 1\nAn error of the model, a file or a run.\n"
         ".TP\n.B 2\nThe command line is wrong.\n.TP\n.B 3\nA result differs (verify, bisect).\n.TP\n.B 4\n"
         "The model needs what is not there yet.\n.TP\n.B 70\nAn internal error: a fault of the program.\n"
         ".TP\n.B 124\nThe time limit was reached.\n";
}

}  // namespace dyn
