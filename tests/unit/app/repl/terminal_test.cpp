// The shell on a terminal: a pseudo terminal, the real program, real keys.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/sample_modules.h"
#include "tests/unit/app/repl/terminal.h"

namespace dyn {
namespace {

class TerminalTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::access(shellProgram().c_str(), X_OK) != 0) GTEST_SKIP() << shellProgram() << " is not built";
  }
};

TEST_F(TerminalTest, LinesBracketsAndTheWayOut) {
  Terminal shell;
  ASSERT_TRUE(shell.expect("dyn> ")) << shell.seen();
  shell.type("x = [1.0,\r");
  ASSERT_TRUE(shell.expect("...  ")) << shell.seen();
  shell.type("2.0]\r");
  ASSERT_TRUE(shell.expect("f32[2] [1., 2.]")) << shell.seen();
  shell.type(":vasr\r");
  ASSERT_TRUE(shell.expect("did you mean :vars?")) << shell.seen();
  shell.type(":expl\t");
  ASSERT_TRUE(shell.expect("ain ")) << shell.seen();
  shell.type("E0203\r");
  ASSERT_TRUE(shell.expect("shapeMismatch")) << shell.seen();
  ASSERT_TRUE(shell.expect("dyn> ")) << shell.seen();
  shell.type("\x04");
  EXPECT_EQ(shell.wait(), 0);
}

TEST_F(TerminalTest, InterruptClearsALineAndEndsARun) {
  Terminal shell;
  std::ofstream(shell.folder() + "/loop.dyn") << test::kSineLoop;
  ASSERT_TRUE(shell.expect("dyn> ")) << shell.seen();
  shell.type("half a line");
  ASSERT_TRUE(shell.expect("half a line")) << shell.seen();
  shell.type("\x03");
  ASSERT_TRUE(shell.expect("dyn> ")) << shell.seen();
  shell.type(":load loop.dyn\r");
  ASSERT_TRUE(shell.expect("dyn> ")) << shell.seen();
  shell.type(":run --dim k=4 --input n=1000000000000\r");
  ASSERT_TRUE(shell.expect("random")) << shell.seen();
  ::usleep(300'000);
  shell.type("\x03");
  ASSERT_TRUE(shell.expect("error[E0002]") || shell.seen().find("E0502") != std::string::npos)
      << shell.seen();
  ASSERT_TRUE(shell.expect("dyn> ")) << shell.seen();
  shell.type("x = [7]\r");
  ASSERT_TRUE(shell.expect("i64[1] [7]")) << "the session goes on: " << shell.seen();
  shell.type(":quit\r");
  EXPECT_EQ(shell.wait(), 0);
}

TEST_F(TerminalTest, HistoryIsKept) {
  Terminal shell;
  ASSERT_TRUE(shell.expect("dyn> "));
  shell.type("x = [41]\r");
  ASSERT_TRUE(shell.expect("i64[1]"));
  shell.type(":quit\r");
  EXPECT_EQ(shell.wait(), 0);
  std::ifstream history(shell.folder() + "/.local/state/dyn/history");
  std::string line;
  ASSERT_TRUE(std::getline(history, line));
  EXPECT_EQ(line, "x = [41]");
}

TEST_F(TerminalTest, InterruptIsSeenWithoutAnotherKey) {
  // A signal between the check for one and a read that blocks would wait for the next key: many tries, each
  // answered at once.
  Terminal shell;
  ASSERT_TRUE(shell.expect("dyn> ")) << shell.seen();
  for (int i = 0; i < 50; ++i) {
    shell.type("x");  // apart: a terminal that sends the signal drops what was not read yet
    ASSERT_TRUE(shell.expect("x")) << "try " << i << ": " << shell.seen();
    shell.type("\x03");
    ASSERT_TRUE(shell.expect("^C")) << "try " << i << ": " << shell.seen();
    ASSERT_TRUE(shell.expect("dyn> ")) << "try " << i << ": " << shell.seen();
  }
  shell.type("\x04");
  EXPECT_EQ(shell.wait(), 0);
}

TEST_F(TerminalTest, InterruptOnAnEmptyLineSaysHowToLeaveAndASecondLeaves) {
  Terminal shell;
  ASSERT_TRUE(shell.expect("dyn> "));
  shell.type("\x03");
  ASSERT_TRUE(shell.expect("Ctrl-D or :quit leaves")) << shell.seen();
  ASSERT_TRUE(shell.expect("dyn> "));
  shell.type("x = [1]\r");  // in between: the count begins anew
  ASSERT_TRUE(shell.expect("i64[1]"));
  ASSERT_TRUE(shell.expect("dyn> "));
  shell.type("\x03");
  ASSERT_TRUE(shell.expect("Ctrl-D or :quit leaves")) << shell.seen();
  ASSERT_TRUE(shell.expect("dyn> "));
  shell.type("\x03");
  EXPECT_EQ(shell.wait(), 130);
  EXPECT_TRUE(shell.becomes(Terminal::Mode::lines));
}

TEST_F(TerminalTest, SignalsToEndRestoreTheTerminal) {
  for (int number : {SIGTERM, SIGHUP, SIGQUIT}) {
    Terminal shell;
    ASSERT_TRUE(shell.expect("dyn> "));
    shell.type("half");
    ASSERT_TRUE(shell.expect("half"));
    EXPECT_TRUE(shell.becomes(Terminal::Mode::raw)) << "the test looks at the wrong terminal";
    shell.signal(number);
    EXPECT_EQ(shell.wait(), 130) << "signal " << number;
    EXPECT_TRUE(shell.becomes(Terminal::Mode::lines)) << "signal " << number;
  }
}

TEST_F(TerminalTest, SignalsToEndReachARun) {
  Terminal shell;
  std::ofstream(shell.folder() + "/loop.dyn") << test::kSineLoop;
  ASSERT_TRUE(shell.expect("dyn> "));
  shell.type(":load loop.dyn\r");
  ASSERT_TRUE(shell.expect("dyn> "));
  shell.type(":run --dim k=4 --input n=1000000000000\r");
  ASSERT_TRUE(shell.expect("random"));
  ::usleep(300'000);
  shell.signal(SIGTERM);
  EXPECT_EQ(shell.wait(), 130);
  EXPECT_TRUE(shell.becomes(Terminal::Mode::lines));
}

TEST_F(TerminalTest, TheShellEndsWithItsTerminal) {
  Terminal shell;
  ASSERT_TRUE(shell.expect("dyn> "));
  shell.hangUp();
  EXPECT_NE(shell.wait(), -1) << "the shell lives on without a terminal";
}

TEST_F(TerminalTest, StoppedAndContinuedWithTheTerminalInOrder) {
  Terminal shell(Terminal::Leader::job);
  ASSERT_TRUE(shell.expect("dyn> ")) << shell.seen();
  shell.type("y = [5");
  ASSERT_TRUE(shell.expect("y = [5")) << shell.seen();
  EXPECT_TRUE(shell.becomes(Terminal::Mode::raw));
  shell.type("\x1a");
  ASSERT_TRUE(shell.expect("[stopped]")) << shell.seen();
  EXPECT_TRUE(shell.becomes(Terminal::Mode::lines)) << "stopped with the terminal in raw mode";
  shell.type("go on\n");
  ASSERT_TRUE(shell.expect("y = [5")) << "the line is not drawn again: " << shell.seen();
  EXPECT_TRUE(shell.becomes(Terminal::Mode::raw));
  shell.type("3]\r");
  ASSERT_TRUE(shell.expect("i64[1] [53]")) << shell.seen();
  ASSERT_TRUE(shell.expect("dyn> "));
  shell.type("\x04");
  EXPECT_EQ(shell.wait(), 0);
  EXPECT_TRUE(shell.becomes(Terminal::Mode::lines));
}

TEST_F(TerminalTest, ALongHistoryIsTrimmed) {
  std::string entries;
  for (int i = 0; i < 6000; ++i) entries += "x = [" + std::to_string(i) + "]\n";
  Terminal shell(Terminal::Leader::none, {{".local/state/dyn/history", entries}});
  ASSERT_TRUE(shell.expect("dyn> "));
  shell.type("y = [7]\r");
  ASSERT_TRUE(shell.expect("i64[1] [7]"));
  shell.type(":quit\r");
  EXPECT_EQ(shell.wait(), 0);
  std::ifstream history(shell.folder() + "/.local/state/dyn/history");
  std::vector<std::string> lines;
  for (std::string line; std::getline(history, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 5002u);
  EXPECT_EQ(lines[0], "x = [1000]");
  EXPECT_EQ(lines[5000], "y = [7]");
}

// Piped input: exit code after SIGINT, sent when `ready` was printed.
int interruptPiped(const std::string& input, const std::string& ready, int number) {
  int in[2], out[2];
  EXPECT_EQ(::pipe(in), 0);
  EXPECT_EQ(::pipe(out), 0);
  const pid_t process = ::fork();
  if (process == 0) {
    ::dup2(in[0], 0);
    ::dup2(out[1], 1);
    ::dup2(out[1], 2);
    for (int end : {in[0], in[1], out[0], out[1]}) ::close(end);
    ::execl(shellProgram().c_str(), "dynrepl", nullptr);
    ::_exit(127);
  }
  ::close(in[0]);
  ::close(out[1]);
  EXPECT_EQ(::write(in[1], input.data(), input.size()), static_cast<ssize_t>(input.size()));
  std::string seen;
  char buffer[4096];
  ssize_t count = 0;
  while (seen.find(ready) == std::string::npos && (count = ::read(out[0], buffer, sizeof buffer)) > 0)
    seen.append(buffer, static_cast<size_t>(count));
  EXPECT_NE(seen.find(ready), std::string::npos) << seen;
  ::usleep(100'000);
  ::kill(process, number);
  int status = 0;
  ::waitpid(process, &status, 0);
  ::close(in[1]);
  ::close(out[0]);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// A command that crashes costs itself: what was open before is there again.
TEST_F(TerminalTest, ACrashLeavesTheSession) {
  Terminal shell;
  std::ofstream(shell.folder() + "/loop.dyn") << test::kSineLoop;
  ASSERT_TRUE(shell.expect("dyn> "));
  const pid_t first = shell.shell();
  ASSERT_GT(first, 0);
  shell.type("x = [41]\r");
  ASSERT_TRUE(shell.expect("i64[1]"));
  shell.type(":load loop.dyn\r");
  ASSERT_TRUE(shell.expect("text module")) << shell.seen();
  shell.type(":run --dim k=4 --input n=1000000000000\r");
  ASSERT_TRUE(shell.expect("random")) << shell.seen();
  ASSERT_EQ(::kill(first, SIGSEGV), 0);
  ASSERT_TRUE(shell.expect("crashed (Segmentation fault) in: :run --dim k=4")) << shell.seen();
  ASSERT_TRUE(shell.expect("2 of 2 commands were done again")) << shell.seen();
  ASSERT_TRUE(shell.expect("dyn> "));
  EXPECT_NE(shell.shell(), first);
  shell.type("x + [1]\r");
  ASSERT_TRUE(shell.expect("[42]")) << shell.seen();
  shell.type(":info\r");
  ASSERT_TRUE(shell.expect("loop.dyn")) << shell.seen();
  // Whatever the shell does at once is not done for ever.
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(shell.expect("dyn> ")) << shell.seen();
    ASSERT_EQ(::kill(shell.shell(), SIGABRT), 0);
    ASSERT_TRUE(shell.expect("crashed")) << shell.seen();
  }
  EXPECT_EQ(shell.wait(), 70);
  EXPECT_TRUE(shell.becomes(Terminal::Mode::lines));
}

// What the shell does by itself at its start, and crashes of, is done once: the next shell does without.
TEST_F(TerminalTest, AModelWhoseLoadCrashesIsLoadedOnce) {
  std::string model = "fn @main(%x: Tensor[(n, 8), f32]) {\n  %v0 = x\n";
  constexpr int kLayers = 500000;  // seconds of reading
  for (int i = 0; i < kLayers; ++i)
    model += "  %v" + std::to_string(i + 1) + " = softmax(%v" + std::to_string(i) + ", axis = 0)\n";
  model += "  return %v" + std::to_string(kLayers) + "\n}\n";
  Terminal shell(Terminal::Leader::none, {{"long.dyn", model}}, {}, "long.dyn");
  ASSERT_TRUE(shell.expect("leaves")) << shell.seen();
  ::usleep(150'000);
  const pid_t first = shell.shell();
  ASSERT_EQ(::kill(first, SIGSEGV), 0);
  ASSERT_TRUE(shell.expect("crashed (Segmentation fault) in: :load long.dyn")) << shell.seen();
  ASSERT_TRUE(shell.expect("not done again by itself: :load long.dyn")) << shell.seen();
  ASSERT_TRUE(shell.expect("dyn> ", 2000)) << shell.seen();
  EXPECT_NE(shell.shell(), first);
  shell.type("[7] + [1]\r");
  ASSERT_TRUE(shell.expect("[8]")) << shell.seen();
  shell.type(":quit\r");
  EXPECT_EQ(shell.wait(), 0);
}

TEST_F(TerminalTest, AnInitFileThatCrashesRunsOnce) {
  Terminal shell(Terminal::Leader::none,
                 {{".config/dyn/init.dyns", ":load loop.dyn\n:run --dim k=4 --input n=1000000000000\n"},
                  {"loop.dyn", std::string(test::kSineLoop)}});
  ASSERT_TRUE(shell.expect("random")) << shell.seen();
  ASSERT_EQ(::kill(shell.shell(), SIGSEGV), 0);
  ASSERT_TRUE(shell.expect("not done again by itself: :source")) << shell.seen();
  ASSERT_TRUE(shell.expect("dyn> ", 2000)) << shell.seen();
  shell.type(":quit\r");
  EXPECT_EQ(shell.wait(), 0);
}

TEST_F(TerminalTest, TheInitFileComesFirst) {
  Terminal shell(Terminal::Leader::none, {{".config/dyn/init.dyns", "# of my own\ny = [6] + [1]\n"}});
  ASSERT_TRUE(shell.expect("dyn> "));
  shell.type("y\r");
  ASSERT_TRUE(shell.expect("i64[1] [7]")) << shell.seen();
  shell.type(":quit\r");
  EXPECT_EQ(shell.wait(), 0);
  // A wrong one is said, and the shell is there.
  Terminal wrong(Terminal::Leader::none, {{".config/dyn/init.dyns", "x = [1]\n:nonsense\n"}});
  ASSERT_TRUE(wrong.expect("init.dyns:2")) << wrong.seen();
  ASSERT_TRUE(wrong.expect("dyn> ")) << wrong.seen();
  wrong.type("x\r");
  ASSERT_TRUE(wrong.expect("i64[1] [1]")) << wrong.seen();
}

// Bracketed paste: a text with line breaks is one input, which Enter runs, and its :quit ends nothing.
TEST_F(TerminalTest, APastedScriptIsOneInput) {
  Terminal shell(Terminal::Leader::none, {}, {{"TERM", "xterm"}, {"NO_COLOR", "1"}});
  ASSERT_TRUE(shell.expect("dyn> ")) << shell.seen();
  shell.type("\033[200~x = [1.0,\r2.0]\r:quit\rx * 2.0\r\033[201~");
  ::usleep(100'000);
  EXPECT_EQ(shell.seen().find("f32[2]"), std::string::npos) << "nothing runs before Enter";
  shell.type("\r");
  ASSERT_TRUE(shell.expect("x = f32[2] [1., 2.]")) << shell.seen();
  ASSERT_TRUE(shell.expect("a pasted :quit is passed over")) << shell.seen();
  ASSERT_TRUE(shell.expect("f32[2] [2., 4.]")) << shell.seen();
  ASSERT_TRUE(shell.expect("dyn> ")) << shell.seen();
  shell.type("\033[200~x + 1.0\rnone\rx + 2.0\r\033[201~\r");
  ASSERT_TRUE(shell.expect("unknown value 'none'")) << shell.seen();
  ASSERT_TRUE(shell.expect("1 command behind it was not done")) << shell.seen();
  shell.type(":quit\r");
  EXPECT_EQ(shell.wait(), 0);
}

TEST_F(TerminalTest, EnterRepeatsTheStepsOfARun) {
  Terminal shell(
      Terminal::Leader::none,
      {{"two.dyn", "fn @main(x: Tensor[(n, n), f32]) {\n  a = x @ x\n  b = softmax(a)\n  return b\n}\n"}});
  ASSERT_TRUE(shell.expect("dyn> ")) << shell.seen();
  shell.type(":load two.dyn\r");
  ASSERT_TRUE(shell.expect("dyn> ")) << shell.seen();
  shell.type(":start --dim n=2 --input x=ones\r");
  ASSERT_TRUE(shell.expect("before its first operation")) << shell.seen();
  shell.type(":n\r");
  ASSERT_TRUE(shell.expect(">    2    a = x @ x")) << shell.seen();
  shell.type("\r");
  ASSERT_TRUE(shell.expect(">    3    b = softmax(a)")) << shell.seen();
  ASSERT_TRUE(shell.expect("a = f32[2, 2] [[2., 2.], [2., 2.]]")) << shell.seen();
  shell.type("\r");
  ASSERT_TRUE(shell.expect("the run has ended")) << shell.seen();
  shell.type("\r:quit\r");
  EXPECT_EQ(shell.wait(), 0);
}

TEST_F(TerminalTest, LongAnswersGoThroughThePager) {
  // The terminal has no size of its own here: 24 lines.
  const Terminal::Texts environment = {
      {"TERM", "xterm"}, {"DYN_PAGER", "sed 's/^/page: /'"}, {"NO_COLOR", "1"}};
  Terminal shell(Terminal::Leader::none, {}, environment);
  ASSERT_TRUE(shell.expect("dyn> "));
  shell.type("x = [1]\r");
  ASSERT_TRUE(shell.expect("i64[1] [1]")) << shell.seen();
  EXPECT_EQ(shell.seen().find("page: "), std::string::npos);
  shell.type(":ops\r");
  ASSERT_TRUE(shell.expect("page: ")) << shell.seen();
  ASSERT_TRUE(shell.expect("dyn> ")) << shell.seen();
  Terminal absent(Terminal::Leader::none, {}, {{"TERM", "xterm"}, {"DYN_PAGER", "no-such-pager"}});
  ASSERT_TRUE(absent.expect("dyn> "));
  absent.type(":ops\r");
  ASSERT_TRUE(absent.expect("could not be started")) << absent.seen();
  ASSERT_TRUE(absent.expect("softmax")) << "it is shown without: " << absent.seen();
}

TEST_F(TerminalTest, PipedInputEndsWith130WhenInterrupted) {
  EXPECT_EQ(interruptPiped("x = [1]\n", "i64[1] [1]", SIGINT), 130) << "while it waits for a line";
  EXPECT_EQ(interruptPiped("x = [1]\n", "i64[1] [1]", SIGTERM), 130);
  const test::TemporaryFolder folder;
  const std::string model = folder.write("endless.dyn", test::kSineLoop);
  EXPECT_EQ(interruptPiped(":load " + model + "\n:run --dim k=4 --input n=1000000000000\n", "random", SIGINT),
            130)
      << "while a model runs";
}

}  // namespace
}  // namespace dyn
