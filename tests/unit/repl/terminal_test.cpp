// The shell on a terminal: a pseudo terminal, the real program, real keys.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>

namespace dyn {
namespace {

const std::string kProgram = std::string(DYN_BINARY_DIR) + "/bin/dynrepl";

class Terminal {
 public:
  Terminal() {
    char pattern[] = "/tmp/dyn-repl-test-XXXXXX";
    folder_ = ::mkdtemp(pattern);
    process_ = ::forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (process_ == 0) {
      ::setenv("TERM", "dumb", 1);
      ::setenv("HOME", folder_.c_str(), 1);
      ::unsetenv("XDG_STATE_HOME");
      ::unsetenv("XDG_CACHE_HOME");
      if (::chdir(folder_.c_str()) != 0) ::_exit(126);
      ::execl(kProgram.c_str(), "dynrepl", nullptr);
      ::_exit(127);
    }
  }
  ~Terminal() {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
    }
    ::close(terminal_);
    if (std::system(("rm -rf " + folder_).c_str()) != 0) ADD_FAILURE() << folder_;
  }
  const std::string& folder() const { return folder_; }

  void type(const std::string& keys) {
    ASSERT_EQ(::write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }

  // Reads until `text` comes; what came before it is forgotten.
  bool expect(const std::string& text) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < limit) {
      const size_t at = seen_.find(text);
      if (at != std::string::npos) {
        seen_.erase(0, at + text.size());
        return true;
      }
      pollfd wait{terminal_, POLLIN, 0};
      if (::poll(&wait, 1, 100) <= 0) continue;
      char buffer[4096];
      const ssize_t count = ::read(terminal_, buffer, sizeof buffer);
      if (count <= 0) break;
      seen_.append(buffer, static_cast<size_t>(count));
    }
    return seen_.find(text) != std::string::npos;
  }
  const std::string& seen() const { return seen_; }
  // Exit code, or -1.
  int wait() {
    int status = 0;
    for (int i = 0; i < 600; ++i) {
      if (::waitpid(process_, &status, WNOHANG) == process_) {
        process_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      }
      ::usleep(100'000);
    }
    return -1;
  }

 private:
  pid_t process_ = 0;
  int terminal_ = -1;
  std::string folder_, seen_;
};

class TerminalTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::access(kProgram.c_str(), X_OK) != 0) GTEST_SKIP() << kProgram << " is not built";
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
  std::ofstream(shell.folder() + "/loop.dyn")
      << R"(fn @main(%n: Tensor[(), i64], %x: Tensor[(k), f32]) -> (Tensor[(k), f32]) {
  %t = constant() {value = bool[] true}
  %y = loop(%n, %t, %x) {carried = 1} body (%i: Tensor[(), i64], %a: Tensor[(k), f32]) -> (Tensor[(), bool], Tensor[(k), f32]) {
    %c = constant() {value = bool[] true}
    %b = sin(%a)
    return %c, %b
  }
  return %y
}
)";
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

}  // namespace
}  // namespace dyn
