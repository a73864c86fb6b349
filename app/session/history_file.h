// HistoryFile: the entries of the shell's history, one a line, the newest last.
//
// Shells that run side by side append to one file. It is trimmed to the newest `limit` entries when it is
// read, and again whenever it has grown by a fifth: written whole under another name and renamed, so that a
// crash leaves the old file or the new one.
#pragma once

#include <string>
#include <vector>

namespace dyn {

class HistoryFile {
 public:
  // path "": nothing is kept.
  explicit HistoryFile(std::string path, size_t limit = 5000) : path_(std::move(path)), limit_(limit) {}

  std::vector<std::string> load();
  // An entry may have several lines. A history that cannot be written is no error.
  void append(const std::string& entry);

 private:
  int openLocked() const;
  void trim(const std::string& text) const;  // under the lock

  std::string path_;
  size_t limit_, linesCount_ = 0;
};

// $XDG_STATE_HOME/dyn/history, else ~/.local/state/dyn/history; its folder is made. "" when there is no home.
std::string historyPath();

}  // namespace dyn
