// Journal: the lines of the commands so far, numbered from 1. It keeps the last ones only, as a session may
// live long.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace dyn {

// Any thread.
class Journal {
 public:
  static constexpr size_t kMostLines = 10'000;
  static constexpr size_t kMostBytes = size_t{4} << 20;  // of text; the last line is kept whatever its length

  void add(std::string line);

  struct Part {
    uint64_t firstNumber = 1;  // of the first line
    std::vector<std::string> lines;
  };
  // The last `count` of those that are kept; 0: all of them.
  Part last(size_t count) const;

 private:
  mutable std::mutex mutex_;  // guards all below
  std::deque<std::string> lines_;
  size_t bytes_ = 0;
  uint64_t addedCount_ = 0;
};

}  // namespace dyn
