// Line editing on a terminal (libedit): history in a file, Tab, several lines as one entry.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "app/session/session.h"

namespace dyn {

enum class LineEnd : uint8_t { line, interrupted, endOfFile };

class LineEditor {
 public:
  using Completer = std::function<Completion(const std::string& line, size_t cursor)>;
  // historyFile "": none is kept. The terminal's SIGINT becomes LineEnd::interrupted while a line is read.
  LineEditor(std::string historyFile, Completer completer);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  LineEnd read(const std::string& prompt, std::string& line);
  // Appends to the history and its file; doublets of the last entry are dropped.
  void remember(const std::string& entry);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// $XDG_STATE_HOME/dyn/history, else ~/.local/state/dyn/history; its folder is made. "" when there is no home.
std::string historyPath();

}  // namespace dyn
