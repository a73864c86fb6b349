// The rows of command_line.def: verbs of the batch tool, and options of it and of sessions.
//
//   for (const OptionRow& row : optionTable())
//     if (row.isTakenBy("export")) ...;            // --kind, -o, --json, ...
//   const OptionRow* math = findSetting("math");
//   DYN_CHECK(math->storage.set(options, "--math", "bf16"));   // checked and stored
//   math->storage.get(options)                                 // "bf16"
//
// Threads: the tables are made once and only read.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/session.h"

namespace dyn {

enum class VerbId : uint8_t {
#define DYN_VERB(id, name, start, help, example) id,
#include "app/session/command_line.def"
};

// Where a verb runs.
enum class VerbStart : uint8_t { session, processes, text };

struct VerbRow {
  VerbId id;
  std::string_view name;
  VerbStart start;
  std::string_view help, example;
};

// Kinds of values of the batch tool. The parser checks them; further rules are the setting's storage's.
struct OptionValue {
  enum class Kind : uint8_t {
    flag,       // a switch; of a setting: `off`
    text,       // one
    texts,      // may be repeated
    arguments,  // all that stand there without a name
    whole,      // from `least` to `most`
    positiveWhole,
    notNegativeWhole,
    natural,  // unsigned, of 64 bits
    number,   // finite
    positive,
    notNegative,
    bytes,     // "512MB", or 0
    oneOf,     // of `words`
    endingIn,  // words[0]
  };
  Kind kind = Kind::flag;
  bool required = false;
  int64_t least = 0, most = 0;
  std::vector<std::string> words;
  std::string joint;  // of texts that are one setting
};

// Sections of docs/reference/options.md.
enum class SettingSection : uint8_t { none, compilation, running, files, printing };
const char* toString(SettingSection section);

// What a change of a setting asks for: to compile the model anew, to prepare runs anew, or nothing.
enum class SettingEffect : uint8_t { compiles, runs, prints };

// How a setting is kept. Without `get` it is kept as the text that `set` has checked: `fallback` before that.
struct Storage {
  std::function<std::string(const SessionOptions&)> get;
  // `name` is the setting as the user wrote it ("math", "--math"), for errors.
  std::function<Status(SessionOptions&, const std::string& name, const std::string& value)> set;
  std::string fallback;
};

struct OptionRow {
  std::string_view setting;  // "": not of sessions
  SettingSection section = SettingSection::none;
  SettingEffect effect = SettingEffect::prints;
  Storage storage;
  std::string_view spelling;  // "-o,--output", "MODEL"; "": not of the batch tool
  std::vector<std::string> formerSpellings;
  OptionValue value;
  std::string_view verbs;
  std::string_view help, batchHelp;

  bool isOfEveryVerb() const { return verbs == "*"; }
  bool isTakenBy(const VerbRow& verb) const;
  // Names without dashes: "o" and "output"; of a positional its word in small letters, "model".
  std::vector<std::string> keys() const;
};

// In the order of command_line.def.
const std::vector<VerbRow>& verbTable();
const std::vector<OptionRow>& optionTable();
// Those that are settings.
const std::vector<const OptionRow*>& settingTable();
const OptionRow* findSetting(std::string_view name);  // also by a former name; null: there is none

}  // namespace dyn
