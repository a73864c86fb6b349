#include "compiler/support/folders.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace dyn {

bool isFolder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::vector<std::string> membersOf(const std::string& folder, const std::string& prefix) {
  std::vector<std::string> names;
  if (DIR* handle = ::opendir(folder.c_str())) {
    while (const dirent* entry = ::readdir(handle)) {
      const std::string name = entry->d_name;
      if (name.starts_with(prefix) && name != "." && name != "..") names.push_back(name);
    }
    ::closedir(handle);
  }
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return names;
}

Status makeFolders(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0777) != 0) {
      const int code = errno;  // of a folder that is there, too, on a file system that is only read
      if (!isFolder(part))
        return makeError(DiagnosticId::fileError,
                         "the folder " + part + " cannot be made: " +
                             (code == EEXIST ? "a file has this name" : std::strerror(code)),
                         {.file = part});
    }
    if (slash == std::string::npos) return {};
  }
}

std::string folderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string fileNameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace dyn
