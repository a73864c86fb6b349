#include "compiler/support/atomic_write.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

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

// Temporary files that are there now. They are made and renamed by any thread, and removed by the one that
// ends the process.
struct HalfFiles {
  std::mutex mutex;
  std::set<std::string> paths;
  bool ended = false;
};
HalfFiles& halfFiles() {
  static HalfFiles* const all = new HalfFiles;  // it outlives all that is static
  return *all;
}

Error endedError() { return makeError(DiagnosticId::cancelled, "interrupted"); }

// A file of a name that is free, opened to be written.
class TemporaryFile {
 public:
  static Result<TemporaryFile> make(const std::string& path, FileMode mode) {
    HalfFiles& half = halfFiles();
    const std::lock_guard<std::mutex> lock(half.mutex);
    if (half.ended) return endedError();
    for (int attempt = 0; attempt < 100; ++attempt) {
      std::string name = path + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(attempt);
      FileHandle handle(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                               mode == FileMode::executable ? 0777 : 0666));
      if (handle.valid()) {
        half.paths.insert(name);
        return TemporaryFile(std::move(name), std::move(handle));
      }
      if (errno != EEXIST) return writeFault(path, "cannot be created", errno);
    }
    return writeFault(path, "no temporary name is free", EEXIST);
  }
  TemporaryFile(TemporaryFile&& from) noexcept
      : name_(std::exchange(from.name_, {})), handle_(std::move(from.handle_)) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile() {
    if (name_.empty()) return;
    const std::lock_guard<std::mutex> lock(halfFiles().mutex);
    ::unlink(name_.c_str());
    halfFiles().paths.erase(name_);
  }

  // 0, or the errno of the failing step.
  int write(const std::vector<std::string_view>& pieces) {
    int code = writeAll(handle_.get(), pieces);
    if (code == 0 && ::fsync(handle_.get()) != 0 && errno != EINVAL) code = errno;
    handle_.reset();
    return code;
  }
  int replace(const std::string& path) {
    const std::lock_guard<std::mutex> lock(halfFiles().mutex);
    if (::rename(name_.c_str(), path.c_str()) != 0) return errno;
    halfFiles().paths.erase(std::exchange(name_, {}));
    return 0;
  }

 private:
  TemporaryFile(std::string name, FileHandle handle) : name_(std::move(name)), handle_(std::move(handle)) {}

  std::string name_;  // empty: moved from, or renamed
  FileHandle handle_;
};

Status makeMissingFolders(const std::string& folder) {
  const std::lock_guard<std::mutex> lock(halfFiles().mutex);
  if (halfFiles().ended) return endedError();
  struct stat info {};
  if (::stat(folder.c_str(), &info) == 0 || errno != ENOENT) return {};
  return makeFolders(folder);
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
  if (!path.empty()) DYN_CHECK(makeMissingFolders(folderOf(path)));
  return updateFileAtomically(path, pieces, mode);
}

Status updateFileAtomically(const std::string& path, const std::vector<std::string_view>& pieces,
                            FileMode mode) {
  if (path.empty() || path.find('\0') != std::string::npos)
    return makeError(DiagnosticId::fileError, "the path is empty or holds a zero byte");
  if (isSpecial(path)) return writeSpecial(path, pieces);
  DYN_TRY(TemporaryFile file, TemporaryFile::make(path, mode));
  if (const int code = file.write(pieces); code != 0) return writeFault(path, "cannot be written", code);
  if (const int code = file.replace(path); code != 0) return writeFault(path, "cannot be replaced", code);
  return {};
}

void endWrites() {
  HalfFiles& half = halfFiles();
  const std::lock_guard<std::mutex> lock(half.mutex);
  half.ended = true;
  for (const std::string& path : half.paths) ::unlink(path.c_str());
}

}  // namespace dyn
