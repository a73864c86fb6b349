#include "compiler/support/file_origin.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <fstream>

namespace dyn {
namespace {

std::string nameOf(const struct stat& info) {
  std::string text;
  for (const uint64_t part :
       {static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino),
        static_cast<uint64_t>(info.st_size), static_cast<uint64_t>(info.st_mtim.tv_sec),
        static_cast<uint64_t>(info.st_mtim.tv_nsec), static_cast<uint64_t>(info.st_ctim.tv_sec),
        static_cast<uint64_t>(info.st_ctim.tv_nsec)})
    text += std::to_string(part) + ":";
  return text;
}

// The clock of file systems goes by steps of some milliseconds.
bool isSettled(const struct stat& info) {
  constexpr time_t kSeconds = 2;
  return ::time(nullptr) - info.st_ctim.tv_sec > kSeconds;
}

}  // namespace

FileOrigins::FileOrigins() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    Mapping mapping;
    char rights[5] = {};
    unsigned major = 0, minor = 0;
    uint64_t inode = 0;
    int path = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
                    &mapping.begin, &mapping.end, rights, &mapping.offset, &major, &minor, &inode,
                    &path) < 7 ||
        path == 0 || rights[0] != 'r' || rights[1] != '-' || inode == 0)
      continue;
    struct stat info;
    if (::stat(line.c_str() + path, &info) != 0 || info.st_ino != inode ||
        major != gnu_dev_major(info.st_dev) || minor != gnu_dev_minor(info.st_dev) ||
        !S_ISREG(info.st_mode) || !isSettled(info))
      continue;
    mapping.file = nameOf(info);
    mappings_.push_back(std::move(mapping));
  }
}

std::string FileOrigins::of(const void* data, size_t size) const {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  auto after = std::upper_bound(mappings_.begin(), mappings_.end(), begin,
                                [](uintptr_t address, const Mapping& m) { return address < m.begin; });
  if (after == mappings_.begin()) return "";
  const Mapping& mapping = *(after - 1);
  if (begin >= mapping.end || size > mapping.end - begin) return "";
  return mapping.file + std::to_string(mapping.offset + (begin - mapping.begin));
}

}  // namespace dyn
