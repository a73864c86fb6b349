#include "app/session/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "app/engine/model/signature.h"
#include "app/session/case_file.h"

namespace dyn {
namespace {

using testing::HasSubstr;

TEST(CommandTable, EveryRowIsWhole) {
  std::set<std::string_view> names;
  for (const CommandSpec& spec : commandTable()) {
    SCOPED_TRACE(std::string(spec.name));
    EXPECT_TRUE(names.insert(spec.name).second) << "two commands have this name";
    EXPECT_FALSE(spec.help.empty());
    EXPECT_EQ(&commandSpec(spec.id), &spec);
    Result<CommandId> found = findCommand(spec.name);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(*found, spec.id) << "a name that is the beginning of another is still found by its own";
    bool optional = false;
    for (const ArgumentSpec& a : spec.arguments) {
      if (a.option) continue;
      EXPECT_FALSE(optional && a.required) << a.name << " is required behind an optional argument";
      optional = optional || !a.required;
    }
    // The example is a line of this command that parses, and prints to a line that parses to the same.
    const std::string line = (spec.id == CommandId::eval ? ":" : ":") + std::string(spec.example);
    Result<Command> command = parseCommand(line);
    ASSERT_TRUE(command.ok()) << line << ": " << command.error().message;
    EXPECT_EQ(command->id, spec.id);
    Result<Command> again = parseCommand(toLine(*command));
    ASSERT_TRUE(again.ok()) << toLine(*command) << ": " << again.error().message;
    EXPECT_EQ(*again, *command) << toLine(*command);
  }
}

TEST(Command, ACommandPrintsToALineThatIsTheSameCommand) {
  for (const char* line : {":eval :info", ":eval x\"?", ":eval dyn> 1", ":save \"a\n\" b", ":save \"-a\" b",
                           ":save \"a b\" 'c\"'", ":set passes -fuse", "?x", "x?", "?"}) {
    Result<Command> command = parseCommand(line);
    ASSERT_TRUE(command.ok()) << command.error().message;
    Result<Command> again = parseCommand(toLine(*command));
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(*again, *command) << toLine(*command);
  }
}

TEST(Command, SizesNeedNoOptionAndComeSeveralAtATime) {
  const std::vector<std::string> both = {"batch=1", "seq=7"};
  for (const char* line : {":run --dim batch=1 --dim seq=7", ":run --dim batch=1,seq=7", ":run batch=1 seq=7",
                           ":run batch=1,seq=7", ":run --dim=batch=1,seq=7"}) {
    Result<Command> command = parseCommand(line);
    ASSERT_TRUE(command.ok()) << line << ": " << command.error().message;
    EXPECT_EQ(command->all("dim"), both) << line;
  }
  Result<Command> load = parseCommand(":load net-lr=0.1.onnx n=1..8,m<=max(n,4)");
  ASSERT_FALSE(load.ok()) << "a relation needs --dim";
  load = parseCommand(":load net-lr=0.1.onnx n=1..8 --dim \"m<=max(n,4),k=@a,b.txt\"");
  ASSERT_TRUE(load.ok()) << load.error().message;
  EXPECT_EQ(load->text("model"), "net-lr=0.1.onnx");
  EXPECT_EQ(load->all("dim"), (std::vector<std::string>{"n=1..8", "m<=max(n,4)", "k=@a,b.txt"}));
  EXPECT_FALSE(parseCommand(":info batch=1").ok()) << "a command without dims";
  EXPECT_EQ(parseCommand(":time 100 seq=59")->text("count"), "100");
}

TEST(Cases, OneNestedWithoutEndIsRefused) {
  std::string line = R"({"inputs": {"x": )";
  line.append(1'000'000, '[').append(1'000'000, ']').append("}}");
  Result<CaseFile> cases = CaseFile::of(MappedFile::fromBytes(line, "deep.jsonl"));
  ASSERT_FALSE(cases.ok());
  EXPECT_EQ(cases.error().id, DiagnosticId::fileFormat);
}

TEST(Cases, ADimPast63BitsIsNotTakenForAnotherNumber) {
  Result<CaseFile> cases =
      CaseFile::of(MappedFile::fromBytes(R"({"dims": {"n": 18446744073709551615}})", "large.jsonl"));
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  const Result<std::optional<RunCase>> one = cases->next();
  ASSERT_TRUE(one.ok() && *one);
  EXPECT_EQ((*one)->dims.at(0), "n=18446744073709551615");
  EXPECT_FALSE(parseDimSpecs((*one)->dims).ok());
}

TEST(Cases, AreReadOneByOneAndAFaultAnywhereRefusesTheFile) {
  Result<CaseFile> cases = CaseFile::of(
      MappedFile::fromBytes("\n{\"dims\": {\"n\": 1}}\r\n  \n{\"output_dir\": \"out\"}", "two.jsonl"));
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  EXPECT_EQ(cases->count(), 2);
  Result<std::optional<RunCase>> one = cases->next();
  ASSERT_TRUE(one.ok() && *one);
  EXPECT_EQ((*one)->dims, std::vector<std::string>{"n=1"});
  EXPECT_EQ((*one)->place.line, 2u);
  one = cases->next();
  ASSERT_TRUE(one.ok() && *one);
  EXPECT_EQ((*one)->outputDirectory, "out");
  EXPECT_EQ((*one)->place.line, 4u);
  one = cases->next();
  ASSERT_TRUE(one.ok());
  EXPECT_FALSE(*one);

  const Result<CaseFile> broken = CaseFile::of(MappedFile::fromBytes("{}\n{}\n{\n", "broken.jsonl"));
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().place.line, 3u);
  EXPECT_FALSE(CaseFile::of(MappedFile::fromBytes("\n\n", "empty.jsonl")).ok());
}

TEST(Command, ParsesOptionsAndPositionals) {
  Result<Command> command =
      parseCommand(":run --dim seq=59 --dim=batch=2 --input \"ids=@my file.npy\" --repeat 3");
  ASSERT_TRUE(command.ok()) << command.error().message;
  EXPECT_EQ(command->all("dim"), (std::vector<std::string>{"seq=59", "batch=2"}));
  EXPECT_EQ(command->text("input"), "ids=@my file.npy");
  Result<int64_t> repeat = command->integer("repeat", 1);
  ASSERT_TRUE(repeat.ok());
  EXPECT_EQ(*repeat, 3);
}

TEST(Command, FormerNamesOfOptionsAreAccepted) {
  Result<Command> command = parseCommand(":serve --rate 1 --most 4 --line=7");
  ASSERT_TRUE(command.ok()) << command.error().toString();
  EXPECT_EQ(toLine(*command), ":serve --rate 1 --max-batch 4 --max-queue 7");
}

TEST(Command, UniquePrefixesAreEnough) {
  Result<Command> command = parseCommand(":kern");
  ASSERT_TRUE(command.ok());
  EXPECT_EQ(command->id, CommandId::kernels);
  Result<Command> several = parseCommand(":p");
  ASSERT_FALSE(several.ok());
  EXPECT_THAT(several.error().message, HasSubstr("several"));
  EXPECT_THAT(several.error().notes.at(0), HasSubstr(":passes"));
}

TEST(Command, OneLetterIsEnoughForSteps) {
  EXPECT_EQ(parseCommand(":n 3")->id, CommandId::next);
  EXPECT_EQ(parseCommand(":s")->id, CommandId::step);
  EXPECT_EQ(parseCommand(":c")->id, CommandId::continue_);
  EXPECT_EQ(parseCommand(":b h")->id, CommandId::break_);
  EXPECT_EQ(toLine(*parseCommand(":b h")), ":break h");
}

TEST(Command, AQuestionMarkAsksForHelp) {
  for (const char* line : {"?x", "x?", "? x"}) {
    const Result<Command> asked = parseCommand(line);
    ASSERT_TRUE(asked.ok()) << line;
    EXPECT_EQ(asked->id, CommandId::help) << line;
    EXPECT_EQ(asked->text("command"), "?x") << line;
    EXPECT_EQ(*parseCommand(toLine(*asked)), *asked);
  }
  EXPECT_EQ(parseCommand("?")->id, CommandId::help);
  EXPECT_EQ(parseCommand("x + y?")->id, CommandId::eval);
}

TEST(Command, WrongNamesGetAHint) {
  Result<Command> wrong = parseCommand(":pases");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(exitCode(wrong.error().id), 2);
  EXPECT_THAT(wrong.error().notes.at(0), HasSubstr(":passes"));
  Result<Command> option = parseCommand(":run --dmi n=1");
  ASSERT_FALSE(option.ok());
  EXPECT_THAT(option.error().message, HasSubstr("--dim"));
}

TEST(Command, RefusesWhatTheTableDoesNotAllow) {
  for (const char* line : {":load", ":load a b", ":time many", ":run --repeat", ":run --dim seq", ":vars now",
                           ":run --repeat 1 --repeat 2"}) {
    Result<Command> command = parseCommand(line);
    ASSERT_FALSE(command.ok()) << line;
    EXPECT_EQ(command.error().id, DiagnosticId::usageError) << line;
    EXPECT_FALSE(command.error().notes.empty()) << line << " has no usage note";
  }
}

TEST(Command, WithoutColonItIsAnExpression) {
  Result<Command> command = parseCommand("y = relu(x @ w) + 1.0");
  ASSERT_TRUE(command.ok());
  EXPECT_EQ(command->id, CommandId::eval);
  EXPECT_EQ(command->text("rest"), "y = relu(x @ w) + 1.0");
}

TEST(Command, OpenBracketsGoOn) {
  EXPECT_TRUE(isOpenEnded("y = relu("));
  EXPECT_TRUE(isOpenEnded("x = [[1, 2],"));
  EXPECT_TRUE(isOpenEnded("x = \"text"));
  EXPECT_FALSE(isOpenEnded("y = relu(x)"));
  EXPECT_FALSE(isOpenEnded("y = relu(x))"));
  EXPECT_FALSE(isOpenEnded(":load (odd"));
  EXPECT_FALSE(isOpenEnded("x # ("));
}

TEST(Script, LinesKeepTheirPlaces) {
  Result<std::vector<ScriptLine>> lines =
      splitScript("#!/usr/bin/env dynrepl\n\nx = [1,\n  2]\n# note\n:vars\n", "s.dyns");
  ASSERT_TRUE(lines.ok());
  ASSERT_EQ(lines->size(), 2u);
  EXPECT_EQ(lines->at(0).text, "x = [1,\n  2]");
  EXPECT_EQ(lines->at(0).place.line, 3u);
  EXPECT_EQ(lines->at(1).place.toString(), "s.dyns:6");
  EXPECT_FALSE(splitScript("x = [1,\n", "s.dyns").ok());
}

TEST(Bytes, HaveUnits) {
  EXPECT_EQ(parseBytes("512MB").value(), int64_t{512} << 20);
  EXPECT_EQ(parseBytes("2GiB").value(), int64_t{2} << 30);
  EXPECT_EQ(parseBytes("17").value(), 17);
  for (const char* wrong : {"", "MB", "-1", "1.5GB", "99999999999GB", "12 MB"})
    EXPECT_FALSE(parseBytes(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace dyn
