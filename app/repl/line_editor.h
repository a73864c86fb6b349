// Line editing on a terminal (libedit): history in a file, Tab, several lines as one entry.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "app/session/session.h"

namespace dyn {

class SignalWatch;

// interrupted: Ctrl-C; terminated: the process is to end (SIGTERM, SIGHUP, SIGQUIT).
enum class LineEnd : uint8_t { line, interrupted, endOfFile, terminated };

class LineEditor {
 public:
  using Completer = std::function<Completion(const std::string& line, size_t cursor)>;
  // historyFile "": none is kept. Signals are taken from `signals` while a line is read; Ctrl-Z stops the
  // process with the terminal as it was before, and the line is drawn again when it goes on. `signals` must
  // outlive the editor.
  LineEditor(std::string historyFile, Completer completer, SignalWatch& signals);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // However it ends, the terminal is as it was before. When interrupted, `line` is what was typed so far.
  LineEnd read(const std::string& prompt, std::string& line);
  // Appends to the history and its file; doublets of the last entry are dropped.
  void remember(const std::string& entry);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dyn
