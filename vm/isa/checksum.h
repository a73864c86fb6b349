// Checksum: checksumBytes (program_file.h) of bytes that lie in several pieces.
//
//   Checksum sum(first.size() + second.size());
//   sum.add(first.data(), first.size());
//   sum.add(second.data(), second.size());
//   sum.value();
#pragma once

#include <cstddef>
#include <cstdint>

namespace dyn::vm {

class Checksum {
 public:
  // All bytes that will be added.
  explicit Checksum(uint64_t sizeBytes);
  void add(const void* bytes, size_t sizeBytes);
  // Once, last.
  uint64_t value();

 private:
  void addWord(uint64_t word);

  uint64_t state_;
  uint8_t pending_[8] = {};  // the begin of a word
  size_t pendingCount_ = 0;
};

}  // namespace dyn::vm
