// What lies in a folder that object cache and weight cache share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dyn {

enum class CachedKind : uint8_t {
  object,
  weights,
  unfinished
};  // unfinished: a process ended while it wrote

struct CachedFile {
  std::string path;
  CachedKind kind = CachedKind::object;
  int64_t bytes = 0;
};

// Sorted by path; files of other kinds (tuning records, limits of the machine) are not of a cache.
std::vector<CachedFile> cachedFiles(const std::string& directory);
// Reads all of it and compares it with the sum that it holds.
bool isWhole(const CachedFile& file);

}  // namespace dyn
