// PipedLines: the lines of standard input that is no terminal, watching for signals meanwhile.
#pragma once

#include <string>

#include "app/repl/line_editor.h"
#include "app/repl/signal_watch.h"

namespace dyn {

class PipedLines {
 public:
  explicit PipedLines(SignalWatch& signals) : signals_(signals) {}
  LineEnd next(std::string& line);  // without its end of line

 private:
  SignalWatch& signals_;
  std::string buffer_;
  size_t searched_ = 0;  // bytes of it that hold no end of line
  bool ended_ = false;
};

}  // namespace dyn
