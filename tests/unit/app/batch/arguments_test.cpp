#include "app/batch/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  EXPECT_EQ(parsed.request->command, BatchCommand::run);
  EXPECT_EQ(parsed.request->model, "m.onnx");
  EXPECT_EQ(parsed.request->dims, (std::vector<std::string>{"seq=59", "batch=2"}));
  EXPECT_EQ(parsed.request->repeat, 3);
  EXPECT_TRUE(parsed.request->json);
  EXPECT_EQ(parsed.request->memoryLimitBytes, uint64_t{512} << 20);
}

TEST(Arguments, OptionsMayStandBeforeTheModel) {
  ParsedArguments parsed = parse({"run", "--dim", "n=3", "m.dyn"});
  ASSERT_TRUE(parsed.request.has_value()) << parsed.toStderr;
  EXPECT_EQ(parsed.request->model, "m.dyn");
  EXPECT_EQ(parsed.request->dims, std::vector<std::string>{"n=3"});
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
  EXPECT_EQ(parsed.request->mostTogether, 4);
  EXPECT_EQ(parsed.request->mostTime, 2);
  EXPECT_EQ(parsed.request->mostWaiting, 7);
  parsed = parse({"run", "m.onnx", "--flow", "interpret"});
  ASSERT_TRUE(parsed.request.has_value()) << parsed.toStderr;
  EXPECT_EQ(parsed.request->session.hostCode, "bytecode");
  EXPECT_THAT(parse({"run", "--help"}).toStdout, Not(HasSubstr("--flow")));
  EXPECT_THAT(parse({"serve-bench", "--help"}).toStdout, Not(HasSubstr("--line")));
  EXPECT_THAT(parse({"manual"}).toStdout, Not(HasSubstr("\\-\\-flow")));
  EXPECT_THAT(parse({"completion", "bash"}).toStdout, Not(HasSubstr("--most-time")));
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
