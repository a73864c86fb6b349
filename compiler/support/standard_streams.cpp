#include "compiler/support/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace dyn {

void holdStandardStreams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    // The lowest free number is the one that is missing; 1 and 2 open for reading only refuse what is
    // written.
    if (::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) (void)::open("/dev/null", O_RDONLY);
  }
}

Status writeStandard(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) return {};
    if (written <= 0) {
      return makeError(DiagnosticId::fileError,
                       std::string(descriptor == 1 ? "standard output" : "standard error") +
                           " cannot be written: " + std::strerror(written < 0 ? errno : EIO));
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

}  // namespace dyn
