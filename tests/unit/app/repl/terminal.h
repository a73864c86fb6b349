// A pseudo terminal with the real program on it, for tests with real keys and signals.
#pragma once

#include <gtest/gtest.h>
#include <termios.h>

#include <map>
#include <string>

#include "tests/support/temporary_folder.h"

namespace dyn {

class Terminal {
 public:
  // Starts dynrepl in an empty folder that is also its home. With a job leader the program runs in a process
  // group of its own, as under an interactive shell: Ctrl-Z stops it, the leader prints "[stopped]", and the
  // next line typed lets it go on.
  enum class Leader : uint8_t { none, job };
  // files: in the folder, by their names. environment: beside a dumb terminal and that home.
  using Texts = std::map<std::string, std::string>;
  // argument: of the program; "": none.
  explicit Terminal(Leader leader = Leader::none, const Texts& files = {}, const Texts& environment = {},
                    const std::string& argument = "");
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  const std::string& folder() const { return folder_.path(); }
  void type(const std::string& keys);
  // Reads until `text` comes; what came before it is forgotten.
  bool expect(const std::string& text, int milliseconds = 60'000);
  const std::string& seen() const { return seen_; }
  void signal(int number);
  pid_t shell() const;  // the process that runs commands: a child of the one that was started
  void hangUp();        // closes the terminal
  // raw: keys are read one by one, without echo. The shell changes the mode between its prompt and its next
  // read, and the terminal itself echoes until then: so a mode is waited for, never looked at.
  enum class Mode : uint8_t { raw, lines };
  bool becomes(Mode mode) const;
  int wait();  // exit code, or -1; 128 + number when it died of a signal

 private:
  pid_t process_ = 0;
  int terminal_ = -1, other_ = -1;
  test::TemporaryFolder folder_;
  std::string seen_;
};

// The program under test; bin/dynrepl of the build.
std::string shellProgram();

}  // namespace dyn
