#include "compiler/support/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

namespace dyn {

namespace {

constexpr std::string_view kDescriptors = "/proc/self/fd/";
// What the kernel calls such a file.
constexpr std::string_view kBefore = "/memfd:", kBehind = " (deleted)";

Error cannotMake(const std::string& name) {
  return makeError(DiagnosticId::fileError,
                   name + ": no file in memory can be made: " + std::strerror(errno));
}

}  // namespace

Result<MemoryFile> MemoryFile::make(const std::string& name, std::string_view bytes) {
  FileHandle handle(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!handle.valid()) return cannotMake(name);
  while (!bytes.empty()) {
    const ssize_t written = ::write(handle.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannotMake(name);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  if (::fcntl(handle.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    return cannotMake(name);
  MemoryFile file(std::move(handle));
  if (::access(file.path().c_str(), R_OK) != 0) return cannotMake(name);
  return file;
}

std::string MemoryFile::path() const { return std::string(kDescriptors) + std::to_string(handle_.get()); }

std::string shownPath(const std::string& path) {
  if (!path.starts_with(kDescriptors)) return path;
  char target[PATH_MAX];
  const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
  const std::string_view text(target, length < 0 ? 0 : static_cast<size_t>(length));
  if (!text.starts_with(kBefore) || !text.ends_with(kBehind)) return path;
  return std::string(text.substr(kBefore.size(), text.size() - kBefore.size() - kBehind.size()));
}

}  // namespace dyn
