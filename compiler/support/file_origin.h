// Names for bytes that lie in files this process has mapped read-only, from the system's list of mappings.
//
//   FileOrigins origins;                            // as things are mapped now
//   origins.of(weights, size);                      // "2049:1183:435583937:...:8192", or ""
//
// Equal names, equal bytes, in every process and at any time: a name holds the file's device, inode, size,
// times and the place in it. Every change of a file moves its time of change, which nobody can set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dyn {

class FileOrigins {
 public:
  FileOrigins();
  // "": memory, or a file that is gone, or that changed so short a time ago that a further change may bear
  // the same time.
  std::string of(const void* data, size_t size) const;

 private:
  struct Mapping {
    uintptr_t begin = 0, end = 0;
    uint64_t offset = 0;
    std::string file;  // its name in the sense above, without the place
  };
  std::vector<Mapping> mappings_;  // by address
};

}  // namespace dyn
