#include "app/batch/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "app/session/export_kinds.h"

namespace dyn {
namespace {

using testing::HasSubstr;
using testing::Not;

ParsedArguments parse(std::vector<std::string> words) {
  words.insert(words.begin(), "dynrepl");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return parseArguments(static_cast<int>(argv.size()), argv.data());
}

TEST(Arguments, Run) {
  ParsedArguments parsed = parse({"run", "m.onnx", "--dim", "seq=59", "--dim=batch=2", "--input",
                                  "ids=@a.npy", "--json", "--repeat", "3", "--mem-limit", "512MB"});
  ASSERT_TRUE(parsed.request.has_value()) << parsed.toStderr;
  EXPECT_EQ(parsed.request->verb->id, VerbId::run);
  EXPECT_EQ(parsed.request->text("model"), "m.onnx");
  EXPECT_EQ(parsed.request->all("dim"), (std::vector<std::string>{"seq=59", "batch=2"}));
  EXPECT_EQ(parsed.request->whole("repeat", 1), 3);
  EXPECT_TRUE(parsed.request->has("json"));
  EXPECT_EQ(parsed.request->session.memoryLimitBytes, uint64_t{512} << 20);
}

TEST(Arguments, OptionsMayStandBeforeTheModel) {
  ParsedArguments parsed = parse({"run", "--dim", "n=3", "m.dyn"});
  ASSERT_TRUE(parsed.request.has_value()) << parsed.toStderr;
  EXPECT_EQ(parsed.request->text("model"), "m.dyn");
  EXPECT_EQ(parsed.request->all("dim"), std::vector<std::string>{"n=3"});
}

TEST(Arguments, WrongOnesEndInTwoWithOneLine) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"run"},
                                             {"run", "m.onnx", "--dmi", "n=3"},
                                             {"rnu", "m.onnx"},
                                             {"verify"},
                                             {"run", "m.onnx", "--repeat", "0"},
                                             {"run", "m.onnx", "--mem-limit", "x"},
                                             {"run", "m.onnx", "--color", "pink"},
                                             {"--json"},
                                             {"run", "m.onnx", "--time-limit", "-1"}}) {
    ParsedArguments parsed = parse(words);
    EXPECT_FALSE(parsed.request.has_value()) << words[0];
    EXPECT_EQ(parsed.exitCode, 2) << words[0];
    EXPECT_FALSE(parsed.toStderr.empty());
    EXPECT_EQ(parsed.toStderr.find('\n'), std::string::npos) << parsed.toStderr;
    EXPECT_TRUE(parsed.toStdout.empty());
  }
  EXPECT_THAT(parse({"run", "m.onnx", "--dmi", "n=3"}).toStderr, HasSubstr("--dim"));
  EXPECT_THAT(parse({"inspec", "m.onnx"}).toStderr, HasSubstr("inspect"));
}

// Former names are accepted and shown nowhere.
TEST(Arguments, FormerNames) {
  ParsedArguments parsed =
      parse({"serve-bench", "m.onnx", "--rate", "1", "--most", "4", "--most-time", "2", "--line", "7"});
  ASSERT_TRUE(parsed.request.has_value()) << parsed.toStderr;
  EXPECT_EQ(parsed.request->whole("max-batch", 0), 4);
  EXPECT_EQ(parsed.request->real("max-batch-time", 0), 2);
  EXPECT_EQ(parsed.request->whole("max-queue", 0), 7);
  parsed = parse({"run", "m.onnx", "--flow", "interpret"});
  ASSERT_TRUE(parsed.request.has_value()) << parsed.toStderr;
  EXPECT_EQ(parsed.request->session.hostCode, "bytecode");
  EXPECT_THAT(parse({"run", "--help"}).toStdout, Not(HasSubstr("--flow")));
  EXPECT_THAT(parse({"serve-bench", "--help"}).toStdout, Not(HasSubstr("--line")));
  EXPECT_THAT(manualText(), Not(HasSubstr("\\-\\-flow")));
  EXPECT_THAT(completionText("bash"), Not(HasSubstr("--most-time")));
}

TEST(Arguments, SettingsAreThoseOfSessions) {
  ParsedArguments parsed =
      parse({"--quiet", "run", "m.onnx", "--policy", "conv=direct", "--policy", "loop=generic", "--variant",
             "n=3", "--variant", "n=4", "--no-native", "--device-mem-limit", "0", "--tuning", "cache"});
  ASSERT_TRUE(parsed.request.has_value()) << parsed.toStderr;
  EXPECT_FALSE(parsed.request->settingFault.has_value());
  EXPECT_TRUE(parsed.request->has("quiet"));  // options of the program go with every verb
  const SessionOptions& session = parsed.request->session;
  EXPECT_EQ(session.policies, (std::map<std::string, std::string>{{"conv", "direct"}, {"loop", "generic"}}));
  EXPECT_EQ(session.variants, "n=3;n=4");
  EXPECT_FALSE(session.nativeCode);
  EXPECT_TRUE(session.deviceGraphs);
  EXPECT_EQ(session.tuningFile, "");
  parsed = parse({"run", "m.onnx", "--math", "fp12"});
  ASSERT_TRUE(parsed.request.has_value() && parsed.request->settingFault.has_value());
  EXPECT_THAT(parsed.request->settingFault->message, HasSubstr("--math: 'fp12'"));
}

// What is given as an option goes to the session's command as its argument of that name.
TEST(Arguments, AreHandedToTheCommand) {
  ParsedArguments parsed =
      parse({"export", "m.onnx", "--kind", "exe", "-o", "out", "--static", "--dim", "n=3"});
  ASSERT_TRUE(parsed.request.has_value()) << parsed.toStderr;
  EXPECT_EQ(toLine(parsed.request->handedTo(CommandId::exportModel)),
            toLine(Command::of(CommandId::exportModel)
                       .add("kind", "exe")
                       .add("o", "out")
                       .add("static")
                       .add("dim", "n=3")));
}

// An option is a row of the table: every face that shows options has it, at each verb that takes it.
TEST(Arguments, EveryOptionHasAllItsFaces) {
  const std::string manual = manualText();
  std::map<std::string, std::string> completions;
  for (const char* shell : {"bash", "zsh", "fish"}) completions[shell] = completionText(shell);
  for (const VerbRow& verb : verbTable()) {
    const bool whole = verb.id == VerbId::lines;
    const std::string help =
        whole ? parse({"--help"}).toStdout : parse({std::string(verb.name), "--help"}).toStdout;
    EXPECT_THAT(help, HasSubstr(std::string(verb.help)));
    for (const OptionRow& row : optionTable()) {
      if (row.spelling.empty() || !row.isTakenBy(verb)) continue;
      SCOPED_TRACE(std::string(verb.name) + " " + std::string(row.spelling));
      EXPECT_THAT(help, HasSubstr("  " + std::string(row.spelling)));
      EXPECT_THAT(help, HasSubstr(std::string(row.batchHelp)));
      if (row.spelling[0] != '-') continue;  // a positional argument has no name to complete
      const std::string name = row.keys().back();
      for (const auto& [shell, script] : completions) EXPECT_THAT(script, HasSubstr(name)) << shell;
      std::string shown = name;
      for (size_t at = 0; (at = shown.find('-', at)) != std::string::npos; at += 2) shown.insert(at, "\\");
      EXPECT_THAT(manual, HasSubstr(shown));
      for (const std::string& former : row.formerSpellings) EXPECT_THAT(help, Not(HasSubstr(former + " ")));
    }
  }
}

// No verb has two rows of one name, no row a verb that is not there.
TEST(Arguments, RowsAreDistinct) {
  std::string known = " * ";
  for (const VerbRow& verb : verbTable()) {
    known += std::string(verb.name) + " ";
    std::map<std::string, int> rows;
    for (const OptionRow& row : optionTable()) {
      if (!row.isTakenBy(verb)) continue;
      for (const std::string& key : row.keys()) EXPECT_EQ(++rows[key], 1) << verb.name << " " << key;
    }
  }
  for (const OptionRow& row : optionTable()) {
    std::istringstream words{std::string(row.verbs)};
    for (std::string word; words >> word;) EXPECT_THAT(known, HasSubstr(" " + word + " ")) << row.spelling;
    EXPECT_TRUE(!row.verbs.empty() || !row.setting.empty()) << row.spelling;
  }
}

// A kind of export is a row: --kind and :export show it, and what it takes is an argument of :export.
TEST(Arguments, EveryExportKindIsShown) {
  const std::string help = parse({"export", "--help"}).toStdout;
  const CommandSpec& command = commandSpec(CommandId::exportModel);
  for (const ExportKind& kind : exportKinds()) {
    EXPECT_THAT(help, HasSubstr("; " + std::string(kind.name) + ": " + std::string(kind.help)));
    EXPECT_THAT(std::string(command.help), HasSubstr(std::string(kind.name)));
    Command write = Command::of(CommandId::exportModel).add("kind", std::string(kind.name)).add("o", "x");
    EXPECT_TRUE(exportKindOf(write).ok());
    std::istringstream options{std::string(kind.options)};
    for (std::string option; options >> option;) {
      EXPECT_NE(command.find(option), nullptr) << kind.name << " " << option;
      EXPECT_TRUE(exportKindOf(Command(write).add(option)).ok()) << kind.name << " " << option;
    }
  }
  const Command package = Command::of(CommandId::exportModel).add("kind", "package");
  const Result<const ExportKind*> refused = exportKindOf(Command(package).add("no-heap"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            "unsupported: --no-heap with --kind package: it is of --kind static, shared and image");
}

// What a session shows of a setting, it takes: so its default can be set again.
TEST(Arguments, SettingsRoundTrip) {
  for (const OptionRow* row : settingTable()) {
    SessionOptions options;
    const std::string name(row->setting);
    const std::string shown = row->storage.get ? row->storage.get(options) : row->storage.fallback;
    const Status taken = row->storage.set(options, name, shown);
    ASSERT_TRUE(taken.ok()) << name << ": " << taken.error().message;
    EXPECT_EQ(row->storage.get ? row->storage.get(options) : shown, shown) << name;
    EXPECT_NE(row->section, SettingSection::none) << name;
    EXPECT_EQ(findSetting(name), row);
  }
  EXPECT_EQ(findSetting("flow"), findSetting("host-code"));
  EXPECT_EQ(findSetting("flows"), nullptr);
}

TEST(Arguments, HelpIsNoError) {
  ParsedArguments parsed = parse({"--help"});
  EXPECT_EQ(parsed.exitCode, 0);
  EXPECT_THAT(parsed.toStdout, HasSubstr("verify"));
  parsed = parse({"run", "--help"});
  EXPECT_EQ(parsed.exitCode, 0);
  EXPECT_THAT(parsed.toStdout, HasSubstr("--output-dir"));
  EXPECT_THAT(parse({"--version"}).toStdout, HasSubstr("dynrepl"));
}

}  // namespace
}  // namespace dyn
