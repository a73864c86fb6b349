#include "app/session/history_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

namespace dyn {

namespace {

constexpr size_t kMostFileBytes = size_t{64} << 20;  // a file that is no history is left alone

std::string makeHistoryFolder(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    ::mkdir(path.substr(0, slash).c_str(), 0700);
  ::mkdir(path.c_str(), 0700);
  return path;
}

// One entry a line: newlines inside an entry are written as \n, backslashes doubled.
std::string escaped(const std::string& entry) {
  std::string text;
  for (char c : entry) text += c == '\\' ? "\\\\" : c == '\n' ? "\\n" : std::string(1, c);
  return text;
}

std::string unescaped(const std::string& line) {
  std::string text;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) {
      ++i;
      text += line[i] == 'n' ? '\n' : line[i];
    } else {
      text += line[i];
    }
  }
  return text;
}

bool readAll(int file, std::string& text) {
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = ::read(file, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 || text.size() > kMostFileBytes) return false;
    if (count == 0) return true;
    text.append(buffer, static_cast<size_t>(count));
  }
}

bool writeAll(int file, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(file, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

size_t historyLinesOf(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

std::string historyPath() {
  const char* xdg = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  std::string base = xdg && *xdg == '/' ? xdg : home && *home ? std::string(home) + "/.local/state" : "";
  if (base.empty()) return "";
  return makeHistoryFolder(base + "/dyn") + "/history";
}

// The file with an exclusive lock; -1 without one. Who waited for the lock may hold a file that was replaced
// meanwhile: it is opened anew.
int HistoryFile::openLocked() const {
  for (int attempt = 0; attempt < 10 && !path_.empty(); ++attempt) {
    const int file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0) return -1;
    struct stat held {
    }, named{};
    if (::flock(file, LOCK_EX) == 0 && ::fstat(file, &held) == 0 && ::stat(path_.c_str(), &named) == 0 &&
        held.st_ino == named.st_ino && held.st_dev == named.st_dev)
      return file;
    ::close(file);
  }
  return -1;
}

void HistoryFile::trim(const std::string& text) const {
  size_t surplus = historyLinesOf(text) - limit_, begin = 0;
  for (; surplus > 0; --surplus) begin = text.find('\n', begin) + 1;
  const std::string temporary = path_ + ".tmp-" + std::to_string(::getpid());
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return;
  const bool written = writeAll(file, text.substr(begin)) && ::fsync(file) == 0;
  ::close(file);
  if (!written || ::rename(temporary.c_str(), path_.c_str()) != 0) ::unlink(temporary.c_str());
}

std::vector<std::string> HistoryFile::load() {
  std::vector<std::string> entries;
  const int file = openLocked();
  if (file < 0) return entries;
  std::string text;
  const bool whole = readAll(file, text);
  if (whole && !text.empty() && text.back() != '\n') text += '\n';
  linesCount_ = historyLinesOf(text);
  if (whole && linesCount_ > limit_) {
    trim(text);
    linesCount_ = limit_;
  }
  ::close(file);  // frees the lock, after the rename
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) entries.push_back(unescaped(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  if (entries.size() > limit_) entries.erase(entries.begin(), entries.end() - static_cast<ptrdiff_t>(limit_));
  return entries;
}

void HistoryFile::append(const std::string& entry) {
  const int file = openLocked();
  if (file < 0) return;
  if (writeAll(file, escaped(entry) + "\n")) ++linesCount_;
  std::string text;
  if (linesCount_ > limit_ + limit_ / 5 && ::lseek(file, 0, SEEK_SET) == 0 && readAll(file, text)) {
    if (historyLinesOf(text) > limit_) trim(text);
    linesCount_ = std::min(historyLinesOf(text), limit_);
  }
  ::close(file);
}

}  // namespace dyn
