#include "app/session/option_table.h"

#include <algorithm>
#include <charconv>

#include "app/engine/device/device_name.h"
#include "app/engine/model/operator_check.h"
#include "app/engine/model/signing_key.h"
#include "app/session/export_kinds.h"
#include "app/session/views/code_views.h"
#include "compiler/driver/target_choice.h"
#include "compiler/passes/pass_table.h"
#include "compiler/passes/variants/variant_spec.h"
#include "compiler/tune/policies.h"

namespace dyn {

namespace {

constexpr int64_t kMostThreads = 1024;  // of the runtime: dyn_options.thread_count

// --- values ---

OptionValue valueOf(OptionValue::Kind kind) {
  OptionValue value;
  value.kind = kind;
  return value;
}
OptionValue flag() { return valueOf(OptionValue::Kind::flag); }
OptionValue text() { return valueOf(OptionValue::Kind::text); }
OptionValue arguments() { return valueOf(OptionValue::Kind::arguments); }
OptionValue positiveWhole() { return valueOf(OptionValue::Kind::positiveWhole); }
OptionValue notNegativeWhole() { return valueOf(OptionValue::Kind::notNegativeWhole); }
OptionValue natural() { return valueOf(OptionValue::Kind::natural); }
OptionValue number() { return valueOf(OptionValue::Kind::number); }
OptionValue positive() { return valueOf(OptionValue::Kind::positive); }
OptionValue notNegative() { return valueOf(OptionValue::Kind::notNegative); }
OptionValue bytes() { return valueOf(OptionValue::Kind::bytes); }
OptionValue texts(std::string joint = "") {
  OptionValue value = valueOf(OptionValue::Kind::texts);
  value.joint = std::move(joint);
  return value;
}
OptionValue whole(int64_t least, int64_t most) {
  OptionValue value = valueOf(OptionValue::Kind::whole);
  value.least = least;
  value.most = most;
  return value;
}
OptionValue oneOf(std::vector<std::string> words) {
  OptionValue value = valueOf(OptionValue::Kind::oneOf);
  value.words = std::move(words);
  return value;
}
OptionValue endingIn(std::string ending) {
  OptionValue value = valueOf(OptionValue::Kind::endingIn);
  value.words = {std::move(ending)};
  return value;
}
OptionValue required(OptionValue value) {
  value.required = true;
  return value;
}

// --- storage ---

Result<int64_t> naturalNumber(const std::string& name, const std::string& text) {
  if (!text.empty() && text.size() < 16 && text.find_first_not_of("0123456789") == std::string::npos)
    return std::stoll(text);
  return makeError(DiagnosticId::usageError, name + ": '" + text + "' is not a whole number of at least 0");
}

// `later` lists names that are known but unsupported; others are a fault of the user.
Status checkWord(const std::string& name, const std::string& value, const std::vector<std::string>& here,
                 const std::vector<std::string>& later = {}) {
  std::string list;
  for (const std::string& word : here) {
    if (value == word) return {};
    list += (list.empty() ? "" : ", ") + word;
  }
  for (const std::string& word : later)
    if (value == word)
      return makeError(DiagnosticId::unsupportedFeature, "unsupported: " + name + " " + value)
          .note("there is " + list);
  return makeError(DiagnosticId::usageError, name + ": '" + value + "' is not one of " + list);
}

using Check = Status (*)(const std::string& value);
Status anything(const std::string&) { return {}; }

// A text, "" of which is written as a word.
Storage worded(std::string SessionOptions::*field, const char* word, Check check = anything) {
  const std::string absent = word;
  return {[=](const SessionOptions& o) { return (o.*field).empty() ? absent : o.*field; },
          [=](SessionOptions& o, const std::string&, const std::string& value) -> Status {
            const std::string text = value == absent ? "" : value;
            DYN_CHECK(check(text));
            o.*field = text;
            return {};
          },
          ""};
}

// `note` is added where the value is none of the words.
Storage chosen(std::string SessionOptions::*field, const std::vector<std::string>& words,
               const std::string& note) {
  return {[=](const SessionOptions& o) { return o.*field; },
          [=](SessionOptions& o, const std::string& name, const std::string& value) -> Status {
            Status known = checkWord(name, value, words);
            if (!known.ok()) return known.takeError().note(note);
            o.*field = value;
            return {};
          },
          ""};
}

Status checkSwitch(const std::string& name, const std::string& value) {
  if (value == "on" || value == "off") return {};
  return makeError(DiagnosticId::usageError, name + " is on or off");
}

Storage switched(bool SessionOptions::*field) {
  return {[=](const SessionOptions& o) { return std::string(o.*field ? "on" : "off"); },
          [=](SessionOptions& o, const std::string& name, const std::string& value) -> Status {
            DYN_CHECK(checkSwitch(name, value));
            o.*field = value == "on";
            return {};
          },
          ""};
}

Storage sized(uint64_t SessionOptions::*field) {
  return {[=](const SessionOptions& o) { return std::to_string(o.*field); },
          [=](SessionOptions& o, const std::string&, const std::string& value) -> Status {
            int64_t count = 0;
            if (value != "0") {
              DYN_TRY(count, parseBytes(value));
            }
            o.*field = static_cast<uint64_t>(count);
            return {};
          },
          ""};
}

Storage printed(const char* fallback, int64_t most) {
  return {nullptr,
          [=](SessionOptions&, const std::string& name, const std::string& value) -> Status {
            DYN_TRY(const int64_t number, naturalNumber(name, value));
            if (number <= most) return {};
            return makeError(DiagnosticId::usageError, name + ": " + value + " is too large");
          },
          fallback};
}

Storage printedWord(const char* fallback, const std::vector<std::string>& words) {
  return {nullptr,
          [=](SessionOptions&, const std::string& name, const std::string& value) {
            return checkWord(name, value, words);
          },
          fallback};
}

Storage printedSwitch(const char* fallback) {
  return {nullptr,
          [](SessionOptions&, const std::string& name, const std::string& value) {
            return checkSwitch(name, value);
          },
          fallback};
}

Status checkTarget(const std::string& value) {
  DYN_TRY([[maybe_unused]] const Target checked, chooseTarget(value.empty() ? "host" : value));
  return {};
}
Status checkPasses(const std::string& value) {
  DYN_TRY([[maybe_unused]] const Pipeline checked, parsePipeline(value, passTable(), standardPipeline()));
  return {};
}
Status checkVariants(const std::string& value) {
  DYN_TRY([[maybe_unused]] const auto checked, passes::parseVariants(value));
  return {};
}
Status checkBuckets(const std::string& value) {
  DYN_TRY([[maybe_unused]] const auto checked, passes::parseBuckets(value));
  return {};
}
Status checkVerifyKey(const std::string& value) {
  if (value.empty()) return {};
  DYN_TRY([[maybe_unused]] const VerifyKey checked, readVerifyKey(value));
  return {};
}

std::string deviceText(const SessionOptions& o) { return o.device; }
Status setDevice(SessionOptions& o, const std::string&, const std::string& value) {
  DYN_TRY([[maybe_unused]] const DeviceName checked, parseDevice(value));
  o.device = value;
  o.deviceIsChosen = true;
  return {};
}

std::string_view placeHelp() {
  static const std::string kHelp = "device of an operator, an ONNX node or a value under " +
                                   namesOfDevices("--device ", " or ") + ": " +
                                   namesOfSides("OPERATOR=", " or ");
  return kHelp;
}
std::string_view levelHelp() {
  static const std::string kHelp = "level to print: " + listOfLevels(" or ");
  return kHelp;
}

std::string cacheText(const SessionOptions& o) {
  return o.cacheDirectory.empty() ? "none" : o.cacheDirectory;
}
Status setCache(SessionOptions& o, const std::string&, const std::string& value) {
  o.cacheDirectory = value;
  return {};
}

std::string mathText(const SessionOptions& o) { return o.math; }
Status setMath(SessionOptions& o, const std::string& name, const std::string& value) {
  const std::string here = isOnHost(o.device) ? "f16-relaxed" : "tf32";
  const std::string there = isOnHost(o.device) ? "tf32" : "f16-relaxed";
  DYN_CHECK(checkWord(name, value, {"fp32", "bf16", here}, {"fp16", there, "int8"}));
  o.math = value;
  return {};
}

std::string policiesText(const SessionOptions& o) { return textOf(o.policies); }
Status setPolicies(SessionOptions& o, const std::string&, const std::string& value) {
  DYN_TRY(o.policies, parsePolicies(value));
  return {};
}

std::string hostCodeText(const SessionOptions& o) { return o.hostCode; }
Status setHostCode(SessionOptions& o, const std::string& name, const std::string& value) {
  const std::string form = value == "interpret" ? "bytecode" : value;  // its former name
  DYN_CHECK(checkWord(name, form, {"native", "bytecode", "auto"}));
  o.hostCode = form;
  return {};
}

std::string threadsText(const SessionOptions& o) { return std::to_string(o.threadCount); }
Status setThreads(SessionOptions& o, const std::string& name, const std::string& value) {
  DYN_TRY(const int64_t count, naturalNumber(name, value));
  if (count > kMostThreads)
    return makeError(DiagnosticId::usageError,
                     name + ": at most " + std::to_string(kMostThreads) + ", not " + value);
  o.threadCount = static_cast<int>(count);
  return {};
}

std::string seedText(const SessionOptions& o) { return std::to_string(o.seed); }
Status setSeed(SessionOptions& o, const std::string& name, const std::string& value) {
  uint64_t seed = 0;
  const char* end = value.data() + value.size();
  const auto [stopped, error] = std::from_chars(value.data(), end, seed);
  if (error != std::errc() || stopped != end)
    return makeError(DiagnosticId::usageError,
                     name + ": '" + value + "' is not a whole number of at least 0");
  o.seed = seed;
  return {};
}

std::string_view kindHelp() {
  static const std::string help = [] {
    std::string text = "kind of file";
    for (const ExportKind& kind : exportKinds())
      text += "; " + std::string(kind.name) + ": " + std::string(kind.help);
    return text;
  }();
  return help;
}

// "--host-code | --flow" → "--host-code", {"--flow"}
void splitFormer(std::string_view written, OptionRow& row) {
  const size_t bar = written.find(" | ");
  row.spelling = written.substr(0, bar);
  if (bar != std::string_view::npos) row.formerSpellings.emplace_back(written.substr(bar + 3));
}

OptionRow optionRow(std::string_view spelling, OptionValue value, std::string_view verbs,
                    std::string_view help) {
  OptionRow row;
  splitFormer(spelling, row);
  row.value = std::move(value);
  row.verbs = verbs;
  row.help = row.batchHelp = help;
  return row;
}

std::string_view withoutDashes(std::string_view name) {
  return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

}  // namespace

bool OptionRow::isTakenBy(const VerbRow& verb) const {
  if (isOfEveryVerb()) return verb.start != VerbStart::text;
  const std::string all = " " + std::string(verbs) + " ";
  return all.find(" " + std::string(verb.name) + " ") != std::string::npos;
}

std::vector<std::string> OptionRow::keys() const {
  std::vector<std::string> keys;
  for (size_t begin = 0; begin < spelling.size();) {
    const size_t end = std::min(spelling.find(',', begin), spelling.size());
    std::string key(withoutDashes(spelling.substr(begin, end - begin)));
    if (spelling[0] != '-')
      std::transform(key.begin(), key.end(), key.begin(),
                     [](char c) { return static_cast<char>(c - 'A' + 'a'); });
    keys.push_back(std::move(key));
    begin = end + 1;
  }
  return keys;
}

const char* toString(SettingSection section) {
  switch (section) {
    case SettingSection::none:
      return "none";
    case SettingSection::compilation:
      return "compilation";
    case SettingSection::running:
      return "running";
    case SettingSection::files:
      return "files";
    case SettingSection::printing:
      return "printing";
  }
  return "?";
}

const std::vector<VerbRow>& verbTable() {
  static const std::vector<VerbRow> table = {
#define DYN_VERB(id, name, start, help, example) {VerbId::id, name, VerbStart::start, help, example},
#include "app/session/command_line.def"
  };
  return table;
}

const std::vector<OptionRow>& optionTable() {
  static const std::vector<OptionRow> table = [] {
    std::vector<OptionRow> rows;
#define DYN_OPTION(spelling, value, verbs, help) rows.push_back(optionRow(spelling, value, verbs, help));
#define DYN_SETTING(name, part, change, kept, spelling, value, verbs, help, inBatch) \
  rows.push_back(optionRow(spelling, value, verbs, help));                           \
  rows.back().setting = name;                                                        \
  rows.back().section = SettingSection::part;                                        \
  rows.back().effect = SettingEffect::change;                                        \
  rows.back().storage = kept;                                                        \
  if (*inBatch) rows.back().batchHelp = inBatch;
#include "app/session/command_line.def"
    return rows;
  }();
  return table;
}

const std::vector<const OptionRow*>& settingTable() {
  static const std::vector<const OptionRow*> table = [] {
    std::vector<const OptionRow*> rows;
    for (const OptionRow& row : optionTable())
      if (!row.setting.empty()) rows.push_back(&row);
    return rows;
  }();
  return table;
}

const OptionRow* findSetting(std::string_view name) {
  for (const OptionRow* row : settingTable()) {
    if (row->setting == name) return row;
    for (const std::string& former : row->formerSpellings)
      if (withoutDashes(former) == name) return row;
  }
  return nullptr;
}

}  // namespace dyn
