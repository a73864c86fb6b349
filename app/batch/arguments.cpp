#include "app/batch/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "app/batch/command_line_text.h"
#include "app/engine/device/device_name.h"
#include "app/engine/model/dim_relation.h"
#include "app/engine/model/signature.h"
#include "app/session/explain/placement_view.h"
#include "compiler/support/suggestion.h"

namespace dyn {

namespace {

constexpr const char* kVersion = "dynrepl " DYN_VERSION;

CLI::Validator numberCheck(const char* what, bool (*isFine)(double)) {
  return CLI::Validator(
      [what, isFine](std::string& text) {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        const bool fine = !text.empty() && *end == '\0' && std::isfinite(value) && isFine(value);
        return fine ? std::string() : "'" + text + "' is not a " + what;
      },
      "NUMBER");
}
CLI::Validator positiveCheck() {
  return numberCheck("positive number", [](double value) { return value > 0; });
}
CLI::Validator notNegativeCheck() {
  return numberCheck("number of at least 0", [](double value) { return value >= 0; });
}
CLI::Validator finiteCheck() {
  return numberCheck("finite number", [](double) { return true; });
}

std::string bytesCheck(const std::string& text) {
  const Result<int64_t> count = text == "0" ? Result<int64_t>(0) : parseBytes(text);
  if (count.ok()) return "";
  return count.error().message + (count.error().notes.empty() ? "" : "; " + count.error().notes[0]);
}

// An option that CLI11 converts to T, to check it and to show its type; its text is taken after parsing.
template <typename T>
CLI::Option* addTyped(CLI::App& app, const std::string& names, const std::string& help) {
  return app.add_option_function<T>(
      names, [](const T&) {}, help);
}

CLI::Option* addOption(CLI::App& app, const std::string& names, const OptionValue& value,
                       const std::string& help) {
  switch (value.kind) {
    case OptionValue::Kind::flag:
      return app.add_flag(names, help);
    case OptionValue::Kind::text:
      return addTyped<std::string>(app, names, help);
    case OptionValue::Kind::texts:
      return addTyped<std::vector<std::string>>(app, names, help)
          ->take_all()
          ->expected(1)
          ->allow_extra_args(false);
    case OptionValue::Kind::arguments:
      return addTyped<std::vector<std::string>>(app, names, help);
    case OptionValue::Kind::whole:
      return addTyped<int64_t>(app, names, help)->check(CLI::Range(value.least, value.most));
    case OptionValue::Kind::positiveWhole:
      return addTyped<int64_t>(app, names, help)->check(positiveCheck());
    case OptionValue::Kind::notNegativeWhole:
      return addTyped<int64_t>(app, names, help)->check(notNegativeCheck());
    case OptionValue::Kind::natural:
      return addTyped<uint64_t>(app, names, help)->check(notNegativeCheck());
    case OptionValue::Kind::number:
      return addTyped<double>(app, names, help)->check(finiteCheck());
    case OptionValue::Kind::positive:
      return addTyped<double>(app, names, help)->check(positiveCheck());
    case OptionValue::Kind::notNegative:
      return addTyped<double>(app, names, help)->check(notNegativeCheck());
    case OptionValue::Kind::bytes:
      return addTyped<std::string>(app, names, help)->check(bytesCheck);
    case OptionValue::Kind::oneOf:
      return addTyped<std::string>(app, names, help)->check(CLI::IsMember(value.words));
    case OptionValue::Kind::endingIn:
      return addTyped<std::string>(app, names, help)
          ->check([ending = value.words[0]](const std::string& file) {
            const bool fine = file.size() > ending.size() && file.ends_with(ending);
            return fine ? std::string() : "'" + file + "' does not end with " + ending;
          });
  }
  return nullptr;
}

// The texts of an option that was given; numbers as the session's commands read them.
std::vector<std::string> textsOf(const CLI::Option& option, const OptionValue& value) {
  switch (value.kind) {
    case OptionValue::Kind::flag:
      return option.as<bool>() ? std::vector<std::string>{""} : std::vector<std::string>();
    case OptionValue::Kind::whole:
    case OptionValue::Kind::positiveWhole:
    case OptionValue::Kind::notNegativeWhole:
      return {std::to_string(option.as<int64_t>())};
    case OptionValue::Kind::natural:
      return {std::to_string(option.as<uint64_t>())};
    default:
      return option.results();
  }
}

// Of the program: what can be called, its commands, and then the options; of a command CLI11's order.
class HelpFormat : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    if (app->get_parent()) return Formatter::make_help(app, name, mode);
    return make_description(app) +
           "\n  dynrepl                    the shell"
           "\n  dynrepl MODEL.onnx         the shell with a model (.onnx, .dyn, .dynpkg)"
           "\n  dynrepl COMMAND MODEL ...  one command, such as: dynrepl run bert.onnx batch=1 seq=59"
           "\n  dynrepl help COMMAND       the options of a command\n" +
           make_subcommands(app, mode) + make_groups(app, mode);
  }
};

// CLI11's form of the tables.
struct CommandLine {
  struct Bound {
    const CLI::App* owner;
    const CLI::Option* option;
    const OptionRow* row;
  };
  CLI::App app{"dynrepl: compile, run and inspect neural networks with dynamic shapes."};
  std::map<const CLI::App*, const VerbRow*> verbs;
  std::vector<Bound> bound;

  // `only`: the name of the command whose options are wanted beside those of the program; "": all commands'.
  // All together take a fifth of the time of a short command.
  explicit CommandLine(std::string_view only = "");
  void addOptionsOf(CLI::App& owner, const VerbRow& verb);
  // Texts of the options of the program and of the verb that was parsed; the verb's own replace the
  // program's.
  void take(const CLI::App& chosen, BatchRequest& request) const;
  std::string takeSizes(const CLI::App& chosen, BatchRequest& request) const;
};

CommandLine::CommandLine(std::string_view only) {
  app.set_version_flag("--version", kVersion);
  app.set_help_all_flag("--help-all", "help of all commands");
  app.require_subcommand(0, 1);
  app.formatter(std::make_shared<HelpFormat>());
  for (const VerbRow& verb : verbTable()) {
    CLI::App* owner =
        verb.id == VerbId::lines ? &app : app.add_subcommand(std::string(verb.name), std::string(verb.help));
    verbs[owner] = &verb;
    if (only.empty() || owner == &app || verb.name == only) addOptionsOf(*owner, verb);
    owner->group("Commands");
    if (owner->get_option_no_throw("--dim")) owner->allow_extras();  // sizes need no --dim
  }
}

void CommandLine::addOptionsOf(CLI::App& owner, const VerbRow& verb) {
  for (const OptionRow& row : optionTable()) {
    if (row.spelling.empty() || !row.isTakenBy(verb)) continue;
    CLI::Option* option = addOption(owner, std::string(row.spelling), row.value, std::string(row.batchHelp));
    if (row.value.required) option->required();
    if (row.isOfEveryVerb() && &owner != &app) option->group("Options of every command");
    bound.push_back({&owner, option, &row});
    for (const std::string& former : row.formerSpellings)
      bound.push_back({&owner, addOption(owner, former, row.value, "")->group(""), &row});
  }
}

void CommandLine::take(const CLI::App& chosen, BatchRequest& request) const {
  for (const CLI::App* owner : {&app, &chosen})
    for (const Bound& one : bound) {
      if (one.owner != owner || one.option->count() == 0) continue;
      const std::vector<std::string> texts = textsOf(*one.option, one.row->value);
      for (const std::string& key : one.row->keys())
        if (!texts.empty()) request.given[key] = key == "dim" ? splitDims(texts) : texts;
    }
}

// Takes sizes from among the words beside the options, wherever they stand (`run batch=1 bert.onnx seq=7`).
// Of the others CLI11 has given the first ones away, in their order. A fault, or "".
std::string CommandLine::takeSizes(const CLI::App& chosen, BatchRequest& request) const {
  if (!chosen.get_option_no_throw("--dim")) return "";
  std::vector<const Bound*> places;
  std::vector<std::string> words;
  for (const Bound& one : bound) {
    if (one.owner != &chosen || !one.option->get_positional()) continue;
    places.push_back(&one);
    for (const std::string& word : one.option->results()) words.push_back(word);
    for (const std::string& key : one.row->keys()) request.given.erase(key);
  }
  for (const std::string& word : chosen.remaining()) words.push_back(word);
  size_t next = 0;
  for (const std::string& word : words) {
    const bool isOption = word.empty() || word[0] == '-';
    if (!isOption && areSizes(word)) {
      for (std::string& size : splitDims(std::string_view(word)))
        request.given["dim"].push_back(std::move(size));
      continue;
    }
    if (isOption || next == places.size())
      return "the argument " + word + " is not expected; sizes are NAME=N";
    for (const std::string& key : places[next]->row->keys()) request.given[key] = {word};
    ++next;
  }
  for (; next < places.size(); ++next)
    if (places[next]->row->value.required) return std::string(places[next]->row->spelling) + " is required";
  return "";
}

// What `dynrepl COMMAND --help` begins with.
std::string commandHelp(const CLI::App& command, const VerbRow& verb) {
  std::string text = command.help();
  const std::string usage = "Usage: " + command.get_name();
  const size_t begin = text.find(usage);
  const size_t end = text.find('\n', begin);
  if (begin == std::string::npos || end == std::string::npos) return text;
  text.insert(end, "\nExample: dynrepl " + std::string(verb.example));
  return text.insert(begin + usage.size() - command.get_name().size(), "dynrepl ");
}

// The unknown option or command, with a suggestion; "" when all are known.
std::string unknownWord(const CLI::App& app, const std::vector<char*>& words) {
  const CLI::App* command = &app;
  std::string wrong;
  for (size_t i = 1; i < words.size() && wrong.empty(); ++i) {
    const std::string word = words[i];
    if (command == &app && word[0] != '-') {
      for (const CLI::App* sub : app.get_subcommands({}))
        if (sub->get_name() == word) command = sub;
      if (command == &app) wrong = word;
      continue;
    }
    if (word.size() < 2 || word[0] != '-') continue;
    const std::string name = word.substr(0, word.find('='));
    const CLI::Option* option = command->get_option_no_throw(name);
    if (!option) wrong = name;
    // Before the command: its value is no command.
    if (option && command == &app && name == word && option->get_items_expected_max() > 0) ++i;
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

// The fault of --place, or "". Scripts may choose the device later.
std::string faultOfPlaces(const BatchRequest& r) {
  if (const Status places = checkPlaces(r.session.places); !places.ok()) return places.error().message;
  const bool script = r.verb->id == VerbId::script || r.verb->id == VerbId::lines;
  return r.session.places.empty() || script || !isOnHost(r.session.device)
             ? ""
             : "--place assigns operators to a GPU or its host: it needs " +
                   namesOfDevices("--device ", " or ");
}

// Options that are settings, checked and stored as :set does.
Status applySettings(BatchRequest& r) {
  for (const OptionRow* row : settingTable()) {
    const std::vector<std::string> keys = row->keys();
    if (keys.empty() || !r.has(keys.back())) continue;
    std::string value = row->value.kind != OptionValue::Kind::flag ? ""
                        : keys.back().starts_with("no-")           ? "off"
                                                                   : "on";
    for (const std::string& text : r.all(keys.back()))
      value += (value.empty() || text.empty() ? "" : row->value.joint) + text;
    DYN_CHECK(row->storage.set(r.session, std::string(row->spelling), value));
  }
  return {};
}

std::string cacheFolder() {
  const char* fromEnvironment = std::getenv("DYN_CACHE_DIR");
  return fromEnvironment && *fromEnvironment ? fromEnvironment : defaultCacheDirectory();
}

}  // namespace

std::string BatchRequest::text(std::string_view name) const {
  const std::vector<std::string>& texts = all(name);
  return texts.empty() ? "" : texts.back();
}

const std::vector<std::string>& BatchRequest::all(std::string_view name) const {
  static const std::vector<std::string> none;
  const auto found = given.find(name);
  return found == given.end() ? none : found->second;
}

int64_t BatchRequest::whole(std::string_view name, int64_t fallback) const {
  return has(name) ? std::strtoll(text(name).c_str(), nullptr, 10) : fallback;
}

double BatchRequest::real(std::string_view name, double fallback) const {
  return has(name) ? std::strtod(text(name).c_str(), nullptr) : fallback;
}

bool isSaidOfModel(const std::string& dim) { return axisNameOf(dim).has_value() || isDimRelation(dim); }

Command BatchRequest::handedTo(CommandId id) const {
  // What is said of the model is said where it is loaded; these commands load it.
  const bool loads = id == CommandId::load || id == CommandId::compile || id == CommandId::exportModel ||
                     id == CommandId::check;
  Command command = Command::of(id);
  for (const ArgumentSpec& argument : commandSpec(id).arguments)
    for (const std::string& value : all(argument.name))
      if (loads || argument.name != std::string_view("dim") || !isSaidOfModel(value))
        command.add(argument.name, value);
  return command;
}

std::string completionText(const std::string& shell) {
  return completionScript(CommandLine().app, "dynrepl", shell);
}

std::string manualText() { return manualPage(CommandLine().app, "dynrepl", kVersion); }

ParsedArguments parseArguments(int argc, char** argv) {
  ParsedArguments parsed;
  std::vector<char*> words(argv, argv + argc);
  std::string help = "--help";
  if (argc > 1 && std::strcmp(argv[1], "help") == 0) {  // `help run` is `run --help`
    words.erase(words.begin() + 1);
    words.push_back(help.data());
  }
  for (int i = 1; i < argc; ++i) parsed.json = parsed.json || std::strcmp(argv[i], "--json") == 0;
  const bool asksOfAll =
      std::ranges::any_of(words, [](const char* word) { return std::string_view(word) == "--help-all"; });
  const std::string_view first = words.size() > 1 && !asksOfAll ? words[1] : "";
  const bool isVerb =
      std::ranges::any_of(verbTable(), [&](const VerbRow& verb) { return verb.name == first; });
  CommandLine line(isVerb ? first : "");
  bool isOfVerb = false;
  auto usageFault = [&](const std::string& message) {
    parsed.exitCode = 2;
    parsed.toStderr = message;
    if (parsed.toStderr.find("--help") == std::string::npos)
      parsed.toStderr += " (dynrepl " + (isOfVerb ? parsed.command + " " : "") + "--help)";
    return parsed;
  };
  try {
    line.app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::CallForHelp&) {
    const std::vector<CLI::App*> chosen = line.app.get_subcommands();
    const std::string unknown = chosen.empty() ? unknownWord(line.app, words) : "";
    if (!unknown.empty()) return usageFault(unknown);
    parsed.toStdout = chosen.empty() ? line.app.help() : commandHelp(*chosen[0], *line.verbs.at(chosen[0]));
    return parsed;
  } catch (const CLI::CallForAllHelp&) {
    parsed.toStdout = line.app.help("", CLI::AppFormatMode::All);
    return parsed;
  } catch (const CLI::CallForVersion&) {
    parsed.toStdout = std::string(kVersion) + "\n";
    return parsed;
  } catch (const CLI::Error& e) {
    const std::vector<CLI::App*> chosen = line.app.get_subcommands();
    isOfVerb = !chosen.empty();
    if (isOfVerb) parsed.command = chosen[0]->get_name();
    std::string message = e.what();
    for (char& c : message)
      if (c == '\n') c = ' ';
    const std::string unknown = unknownWord(line.app, words);
    return usageFault(unknown.empty() ? message : unknown);
  }
  const std::vector<CLI::App*> chosen = line.app.get_subcommands();
  const CLI::App& sub = chosen.empty() ? line.app : *chosen[0];
  BatchRequest r;
  r.verb = line.verbs.at(&sub);
  line.take(sub, r);
  parsed.command = r.verb->name;
  isOfVerb = !chosen.empty();
  if (const std::string fault = line.takeSizes(sub, r); !fault.empty()) {
    const std::string unknown = unknownWord(line.app, words);
    return usageFault(unknown.empty() ? fault : unknown);
  }
  if (r.verb->id == VerbId::lines && !r.has("e")) return usageFault("a command is missing");
  if (r.verb->id != VerbId::lines && r.has("e"))
    return usageFault("-e cannot be combined with the command " + std::string(r.verb->name));
  parsed.json = r.has("json");
  r.session.cacheDirectory = cacheFolder();
  r.session.places = r.all("place");
  if (Status settings = applySettings(r); !settings.ok()) r.settingFault = settings.error();
  if (const std::string fault = faultOfPlaces(r); !fault.empty()) return usageFault(fault);
  // PTX is the code of no other device.
  const DeviceRow* device = r.verb->id == VerbId::inspect ? findDeviceOfLevel(r.text("ir")) : nullptr;
  if (device && isOnHost(r.session.device)) r.session.device = device->name;
  parsed.request = std::move(r);
  return parsed;
}

}  // namespace dyn
