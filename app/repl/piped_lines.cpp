#include "app/repl/piped_lines.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace dyn {

LineEnd PipedLines::next(std::string& line) {
  for (;;) {
    const size_t end = buffer_.find('\n', searched_);
    searched_ = buffer_.size();
    if (end != std::string::npos || (ended_ && !buffer_.empty())) {
      line = buffer_.substr(0, end);
      buffer_.erase(0, end == std::string::npos ? end : end + 1);
      searched_ = 0;
      while (!line.empty() && line.back() == '\r') line.pop_back();
      return LineEnd::line;
    }
    if (ended_) return LineEnd::endOfFile;
    pollfd wait[2] = {{0, POLLIN, 0}, {signals_.descriptor(), POLLIN, 0}};
    if (::poll(wait, 2, -1) < 0 && errno != EINTR) return LineEnd::endOfFile;
    while (const int signal = signals_.take()) {
      if (signal == SIGINT) return LineEnd::interrupted;
      if (SignalWatch::ends(signal)) return LineEnd::terminated;
      if (signal == SIGTSTP) signals_.suspend();
    }
    if (!wait[0].revents) continue;
    char buffer[1 << 14];
    const ssize_t count = ::read(0, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      ended_ = true;
    else
      buffer_.append(buffer, static_cast<size_t>(count));
  }
}

}  // namespace dyn
