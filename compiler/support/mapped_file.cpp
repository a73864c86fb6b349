#include "compiler/support/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "compiler/support/memory_file.h"
#include "compiler/support/read_files.h"

namespace dyn {
namespace {

Error fileFault(const std::string& name, const std::string& what) {
  return makeError(DiagnosticId::fileError, name + ": " + what, SourceLocation{.file = name});
}

const char* kindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  if (S_ISLNK(mode)) return "a symbolic link";
  return "no regular file";
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path, SymlinkPolicy policy) {
  if (path.find('\0') != std::string::npos)
    return makeError(DiagnosticId::fileError, "the path holds a zero byte");
  // O_NONBLOCK: opening a pipe nobody writes to must not wait.
  int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  if (policy == SymlinkPolicy::refuse) flags |= O_NOFOLLOW;
  FileHandle handle(::open(path.c_str(), flags));
  if (!handle.valid()) {
    if (errno == ELOOP && policy == SymlinkPolicy::refuse) return fileFault(path, "is a symbolic link");
    return fileFault(path, std::strerror(errno));
  }
  return fromHandle(std::move(handle), shownPath(path));
}

Result<MappedFile> MappedFile::fromHandle(FileHandle handle, std::string name) {
  struct stat info;
  if (::fstat(handle.get(), &info) != 0) return fileFault(name, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return fileFault(name, std::string("is ") + kindOf(info.st_mode));
  noteRead(info.st_dev, info.st_ino, name);
  MappedFile file;
  file.name_ = std::move(name);
  file.size_ = static_cast<size_t>(info.st_size);
  if (file.size_ != 0) {
    void* mapping = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, handle.get(), 0);
    if (mapping == MAP_FAILED) {
      file.size_ = 0;
      return fileFault(file.name_, std::string("cannot be mapped: ") + std::strerror(errno));
    }
    file.mapping_ = mapping;
    file.data_ = static_cast<const char*>(mapping);
  }
  return file;
}

MappedFile MappedFile::fromBytes(std::string bytes, std::string name) {
  MappedFile file;
  file.name_ = std::move(name);
  if (bytes.empty()) return file;
  // An own block of exactly this size, so that a sanitizer sees a read beyond the end.
  file.memory_ = new char[bytes.size()];
  std::memcpy(file.memory_, bytes.data(), bytes.size());
  file.data_ = file.memory_;
  file.size_ = bytes.size();
  return file;
}

Result<MappedFile> MappedFile::fromStream(int descriptor, std::string name, uint64_t limitBytes) {
  std::string bytes;
  char buffer[64 << 10];
  for (;;) {
    ssize_t got = ::read(descriptor, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fileFault(name, std::strerror(errno));
    if (got == 0) return fromBytes(std::move(bytes), std::move(name));
    if (static_cast<size_t>(got) > limitBytes - bytes.size())
      return makeError(DiagnosticId::memoryLimit,
                       name + " is longer than the limit of " + std::to_string(limitBytes) + " bytes");
    bytes.append(buffer, static_cast<size_t>(got));
  }
}

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this == &other) return *this;
  release();
  name_ = std::move(other.name_);
  data_ = std::exchange(other.data_, "");
  size_ = std::exchange(other.size_, 0);
  mapping_ = std::exchange(other.mapping_, nullptr);
  memory_ = std::exchange(other.memory_, nullptr);
  return *this;
}

MappedFile::~MappedFile() { release(); }

void MappedFile::forget(std::string_view part) const {
  if (mapping_ == nullptr || part.empty()) return;
  // Whole pages only: the edges belong to others too.
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto from = static_cast<size_t>(part.data() - data_), to = from + part.size();
  const size_t first = (from + page - 1) / page * page, last = to / page * page;
  if (last > first) ::madvise(static_cast<char*>(mapping_) + first, last - first, MADV_DONTNEED);
}

void MappedFile::release() {
  if (mapping_ != nullptr) ::munmap(mapping_, size_);
  delete[] memory_;
  mapping_ = nullptr;
  memory_ = nullptr;
}

}  // namespace dyn
