#include "compiler/support/trusted_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace dyn {

std::string whyNotTrusted(const std::string& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) return std::strerror(errno);
  if (!S_ISDIR(info.st_mode)) return "not a directory";
  if (info.st_uid != ::geteuid() && info.st_uid != 0) return "belongs to another user";
  if (info.st_mode & S_IWOTH) return "everybody may write to it";
  return "";
}

}  // namespace dyn
