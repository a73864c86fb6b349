// Supervisor: a shell, or a window, runs in a process of its own, so that a command that crashes (a kernel
// that reads where it must not, say) costs that command, not the session.
//
// The process that waits holds no model and runs no thread. When the other dies of a fault of the program, it
// puts the terminal in order, says which command did it, and starts another one, which is told what was open:
// the model, the settings and the bound values come from the commands that made them, done again.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace dyn {

struct Command;

// Shared by who runs commands and who waits for it; kept when the first dies. One thread at a time.
class CommandRecord {
 public:
  CommandRecord();  // anonymous, of a fixed size
  ~CommandRecord();
  CommandRecord(const CommandRecord&) = delete;
  CommandRecord& operator=(const CommandRecord&) = delete;

  void begin(const std::string& line);  // what runs now
  // It ended; `kept`: it is done again. What does not fit is not kept.
  void end(bool kept);
  void forget();  // all that was kept: a model was opened, say

  std::string running() const;  // "" between commands
  std::vector<std::string> kept() const;

 private:
  struct Page;
  Page* page_ = nullptr;
};

// Does it leave something behind that a session is to have again after a crash?
bool changesSession(const Command& command);

// What a process that takes the place of one that crashed is told; nothing at the first start.
struct Restart {
  std::vector<std::string> commands;  // to be done again
  std::string crash;                  // "Segmentation fault in: :run --dim k=4"; "": the first start
  std::string running;                // the command that crashed; "": between commands
};

// Runs `work` in a process until it ends by itself; its exit code. `what` it is, for who reads of the crash:
// "shell".
int supervise(const std::string& what, const std::function<int(CommandRecord&, const Restart&)>& work);

}  // namespace dyn
