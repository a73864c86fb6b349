#include "frontends/onnx/read/external_data.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace dyn::onnx {
namespace {

Error refused(const SourceLocation& place, std::string message) {
  return makeError(DiagnosticId::onnxExternalData, std::move(message), place);
}

// "a/./b" -> {"a", "b"}; empty with the reason in `fault` when the location is not acceptable.
std::vector<std::string> splitLocation(std::string_view location, std::string& fault) {
  std::vector<std::string> components;
  if (location.empty()) fault = "is empty";
  if (location.size() > 4096) fault = "is too long";
  if (location.find('\0') != std::string_view::npos) fault = "holds a zero byte";
  if (location.starts_with('/')) fault = "is an absolute path";
  if (location.ends_with('/')) fault = "is a folder";
  while (fault.empty() && !location.empty()) {
    size_t slash = std::min(location.find('/'), location.size());
    std::string_view component = location.substr(0, slash);
    location.remove_prefix(std::min(slash + 1, location.size()));
    if (component == "..") fault = "has a '..' component";
    if (component.size() > 255) fault = "has a component that is too long";
    if (!component.empty() && component != ".") components.emplace_back(component);
  }
  if (fault.empty() && components.empty()) fault = "is a folder";
  if (!fault.empty()) components.clear();
  return components;
}

std::string joined(const std::vector<std::string>& components) {
  std::string path;
  for (const std::string& component : components) path += (path.empty() ? "" : "/") + component;
  return path;
}

// Decimal digits only: no sign, no space, no suffix.
bool parseNumber(std::string_view text, uint64_t& value) {
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() && value <= INT64_MAX;
}

std::string openFault(int code) {
  switch (code) {
    case ELOOP:
      return "passes a symbolic link";
    case EXDEV:
      return "leaves the model's folder";
    case ENOENT:
      return "does not exist";
    default:
      return std::string("cannot be opened: ") + std::strerror(code);
  }
}

}  // namespace

namespace {

Result<FileHandle> openFolder(const std::string& folder) {
  FileHandle handle(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!handle.valid())
    return makeError(DiagnosticId::fileError, folder + ": " + std::strerror(errno),
                     SourceLocation{.file = folder});
  return handle;
}

// Without links and dots; "" where there is no such file.
std::string realPath(const std::string& path) {
  char* const found = ::realpath(path.c_str(), nullptr);
  const std::string real = found ? found : "";
  std::free(found);
  return real;
}

}  // namespace

Result<ExternalData> ExternalData::atFolder(const std::string& folder, Resolver resolver) {
  if (folder.empty())
    return makeError(DiagnosticId::onnxExternalData, "external data need a model that comes from a file");
  DYN_TRY(FileHandle handle, openFolder(folder));
  return ExternalData({std::move(handle), folder}, resolver);
}

Status ExternalData::allowLinks(const std::string& root) {
  DYN_TRY(FileHandle handle, openFolder(root));
  root_ = Below{std::move(handle), realPath(root)};
  return {};
}

int ExternalData::openBeneath(const Below& folder, const std::vector<std::string>& components, int flags) {
  flags |= O_CLOEXEC | O_NOFOLLOW;
  if (resolver_ == Resolver::kernel) {
    struct open_how how = {};
    how.flags = static_cast<uint64_t>(flags);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    const std::string path = joined(components);
    for (int attempt = 0; attempt != 8; ++attempt) {
      long descriptor = ::syscall(SYS_openat2, folder.handle.get(), path.c_str(), &how, sizeof how);
      if (descriptor >= 0) {
        // O_PATH with O_NOFOLLOW opens a final link itself; RESOLVE_NO_SYMLINKS refuses it before.
        return static_cast<int>(descriptor);
      }
      if (errno != EAGAIN && errno != EINTR) break;  // EAGAIN: a rename raced with the walk
    }
    // A kernel before 5.6 or a sandbox's filter does not know the call: walk by hand from now on.
    if (errno != ENOSYS && errno != EPERM && errno != E2BIG && errno != EINVAL) return -1;
    resolver_ = Resolver::componentwise;
  }
  FileHandle parent;
  int at = folder.handle.get();
  for (size_t i = 0; i + 1 < components.size(); ++i) {
    FileHandle next(::openat(at, components[i].c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!next.valid()) return -1;
    struct stat info;
    if (::fstat(next.get(), &info) != 0) return -1;
    if (!S_ISDIR(info.st_mode)) {
      errno = S_ISLNK(info.st_mode) ? ELOOP : ENOTDIR;
      return -1;
    }
    parent = std::move(next);
    at = parent.get();
  }
  return ::openat(at, components.back().c_str(), flags);
}

std::vector<std::string> ExternalData::linkedBelowRoot(const std::vector<std::string>& components) const {
  const std::string real = realPath(folder_.path + "/" + joined(components));
  const std::string begin = root_->path == "/" ? "/" : root_->path + "/";
  if (real.compare(0, begin.size(), begin) != 0) return {};
  std::string fault;
  return splitLocation(std::string_view(real).substr(begin.size()), fault);
}

Result<MappedFile> ExternalData::mapBelow(const Below& folder, const std::vector<std::string>& components,
                                          const std::string& shown, const SourceLocation& place) {
  // First only a name for the file, which has no effect on pipes and devices; then, if it is a regular one,
  // its content.
  FileHandle name(openBeneath(folder, components, O_PATH));
  if (!name.valid()) return refused(place, shown + openFault(errno));
  struct stat named;
  if (::fstat(name.get(), &named) != 0) return refused(place, shown + openFault(errno));
  if (S_ISLNK(named.st_mode)) return refused(place, shown + "passes a symbolic link");
  if (!S_ISREG(named.st_mode)) return refused(place, shown + "is not a regular file");
  if (named.st_nlink > 1)
    return refused(place, shown + "has a second hard link, so it may be a file of another folder")
        .note("copy the file: cp FILE FILE.copy && mv FILE.copy FILE");
  FileHandle content(openBeneath(folder, components, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  if (!content.valid()) return refused(place, shown + openFault(errno));
  struct stat opened;
  if (::fstat(content.get(), &opened) != 0) return refused(place, shown + openFault(errno));
  if (opened.st_dev != named.st_dev || opened.st_ino != named.st_ino || !S_ISREG(opened.st_mode) ||
      opened.st_nlink > 1)
    return refused(place, shown + "was replaced while it was opened");
  return MappedFile::fromHandle(std::move(content), joined(components));
}

bool ExternalData::passesLink(const std::vector<std::string>& components) {
  const FileHandle plain(openBeneath(folder_, components, O_PATH));
  if (!plain.valid()) return errno == ELOOP;
  struct stat info;
  return ::fstat(plain.get(), &info) == 0 && S_ISLNK(info.st_mode);
}

Result<std::shared_ptr<const MappedFile>> ExternalData::mapFile(std::string_view location,
                                                                const SourceLocation& place) {
  const std::string shown = "external data file " + quotedText(location) + " ";
  std::string fault;
  std::vector<std::string> components = splitLocation(location, fault);
  if (components.empty()) return refused(place, shown + fault);
  const std::string path = joined(components);
  if (auto known = files_.find(path); known != files_.end()) return known->second;

  const bool linked = passesLink(components);
  if (linked && !root_)
    return refused(place, shown + "passes a symbolic link")
        .note(
            "--data-root DIR takes links that do not leave DIR; of a model in the cache of Hugging Face: the "
            "folder models--NAME");
  const std::vector<std::string> target = linked ? linkedBelowRoot(components) : components;
  if (target.empty())
    return refused(place, shown + "passes a symbolic link that leaves the data root " + root_->path);
  DYN_TRY(MappedFile file, mapBelow(linked ? *root_ : folder_, target, shown, place));
  auto shared = std::make_shared<const MappedFile>(std::move(file));
  files_.emplace(path, shared);
  return std::shared_ptr<const MappedFile>(shared);
}

Result<ExternalSlice> ExternalData::resolve(std::span<const StringPair> entries, uint64_t expectedBytes,
                                            const SourceLocation& place) {
  std::string_view location;
  bool hasLocation = false, hasOffset = false, hasLength = false;
  uint64_t offset = 0, length = expectedBytes;
  for (const StringPair& entry : entries) {
    bool* seen = entry.key == "location" ? &hasLocation
                 : entry.key == "offset" ? &hasOffset
                 : entry.key == "length" ? &hasLength
                                         : nullptr;
    if (seen == nullptr) continue;
    if (*seen) return refused(place, "external data name " + quotedText(entry.key) + " twice");
    *seen = true;
    if (seen == &hasLocation) {
      location = entry.value;
    } else if (!parseNumber(entry.value, seen == &hasOffset ? offset : length)) {
      return refused(place, "external data " + std::string(entry.key) + " " + quotedText(entry.value) +
                                " is not a number from 0 to 2^63-1");
    }
  }
  if (!hasLocation) return refused(place, "external data have no location");
  if (length != expectedBytes)
    return refused(place, "external data are " + std::to_string(length) +
                              " bytes long, dims and element type need " + std::to_string(expectedBytes));
  DYN_TRY(std::shared_ptr<const MappedFile> file, mapFile(location, place));
  if (offset > file->size() || length > file->size() - offset)
    return refused(place, "external data leave their file: offset " + std::to_string(offset) + " + " +
                              std::to_string(length) + " bytes, " + quotedText(location) + " has " +
                              std::to_string(file->size()));
  std::string_view bytes = file->bytes().substr(static_cast<size_t>(offset), static_cast<size_t>(length));
  return ExternalSlice{std::move(file), bytes};
}

}  // namespace dyn::onnx
