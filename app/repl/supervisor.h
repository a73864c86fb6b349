// Supervisor: the shell runs in a process of its own, so that a command that crashes (a kernel that reads
// where it must not, say) costs that command, not the session.
//
// The process that waits holds no model and runs no thread. When the shell dies of a fault of the program, it
// puts the terminal in order, says which command did it, and starts another shell, which is told what was
// open: the model, the settings and the bound values come from the commands that made them, done again.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace dyn {

// Shared by the shell and who waits for it; kept when the shell dies.
class ShellRecord {
 public:
  ShellRecord();  // anonymous, of a fixed size
  ~ShellRecord();
  ShellRecord(const ShellRecord&) = delete;
  ShellRecord& operator=(const ShellRecord&) = delete;

  void begin(const std::string& line);  // what runs now
  // It ended; `kept`: another shell does it again. What does not fit is not kept.
  void end(bool kept);
  void forget();  // all that was kept: a model was opened, say

  std::string running() const;  // "" between commands
  std::vector<std::string> kept() const;

 private:
  struct Page;
  Page* page_ = nullptr;
};

// Runs `shell` in a process until it ends by itself; its exit code. `restored`: the commands that it is to do
// again, none at the first start.
int superviseShell(const std::function<int(ShellRecord&, const std::vector<std::string>& restored)>& shell);

}  // namespace dyn
