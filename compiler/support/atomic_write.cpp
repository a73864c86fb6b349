#include "compiler/support/atomic_write.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "compiler/support/file_handle.h"
#include "compiler/support/folders.h"
#include "compiler/support/read_files.h"

namespace dyn {
namespace {

Error writeFault(const std::string& path, const char* step, int code) {
  return makeError(DiagnosticId::fileError, path + ": " + step + ": " + std::strerror(code),
                   SourceLocation{.file = path});
}

// 0, or the errno of the failing write.
int writeAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

int writeAll(int descriptor, const std::vector<std::string_view>& pieces) {
  int code = 0;
  for (std::string_view piece : pieces)
    if (code == 0) code = writeAll(descriptor, piece);
  return code;
}

// What a file cannot take the place of: /dev/null, a pipe, a terminal.
bool isSpecial(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

Status writeSpecial(const std::string& path, const std::vector<std::string_view>& pieces) {
  const FileHandle handle(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!handle.valid()) return writeFault(path, "cannot be opened", errno);
  if (const int code = writeAll(handle.get(), pieces); code != 0)
    return writeFault(path, "cannot be written", code);
  return {};
}

}  // namespace

Status writeFileAtomically(const std::string& path, const std::vector<std::string_view>& pieces,
                           FileMode mode) {
  DYN_CHECK(mayWrite(path));
  struct stat info {};
  if (!path.empty() && ::stat(folderOf(path).c_str(), &info) != 0 && errno == ENOENT)
    DYN_CHECK(makeFolders(folderOf(path)));
  return updateFileAtomically(path, pieces, mode);
}

Status updateFileAtomically(const std::string& path, const std::vector<std::string_view>& pieces,
                            FileMode mode) {
  if (path.empty() || path.find('\0') != std::string::npos)
    return makeError(DiagnosticId::fileError, "the path is empty or holds a zero byte");
  if (isSpecial(path)) return writeSpecial(path, pieces);
  std::string temporary;
  FileHandle handle;
  for (int attempt = 0; attempt < 100 && !handle.valid(); ++attempt) {
    temporary = path + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(attempt);
    handle = FileHandle(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                               mode == FileMode::executable ? 0777 : 0666));
    if (!handle.valid() && errno != EEXIST) return writeFault(path, "cannot be created", errno);
  }
  if (!handle.valid()) return writeFault(path, "no temporary name is free", EEXIST);
  int code = writeAll(handle.get(), pieces);
  if (code == 0 && ::fsync(handle.get()) != 0 && errno != EINVAL) code = errno;
  handle.reset();
  if (code != 0) {
    ::unlink(temporary.c_str());
    return writeFault(path, "cannot be written", code);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    code = errno;
    ::unlink(temporary.c_str());
    return writeFault(path, "cannot be replaced", code);
  }
  return {};
}

}  // namespace dyn
