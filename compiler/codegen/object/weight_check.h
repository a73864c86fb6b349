// Compares cached weights with the sums that were kept of them, on a thread beside: loading does not wait for
// it, and who delivers results of the first run does.
//
//   WeightCheck check;
//   check.add(path, sum);                  // each file that was mapped from the cache
//   ... the program is loaded, and runs ...
//   DYN_CHECK(check.wait());
//
// The files are read past their mappings, so that weights of which a run reads a few rows take no memory.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "compiler/support/file_handle.h"
#include "compiler/support/result.h"

namespace dyn {

// A sum of bytes in several pieces; as fast as memory, and no secret: it finds damage.
class WeightSum {
 public:
  // All but the last piece hold a multiple of kBlockBytes.
  static constexpr size_t kBlockBytes = 64;
  void add(std::string_view piece);
  uint64_t value() const;

 private:
  uint64_t lanes_[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  uint64_t bytes_ = 0;
};

class WeightCheck {
 public:
  WeightCheck() = default;
  ~WeightCheck();  // ends what is under way
  WeightCheck(const WeightCheck&) = delete;
  WeightCheck& operator=(const WeightCheck&) = delete;

  // The bytes of the file from `offset` on.
  void add(const std::string& path, uint64_t offset, uint64_t sum);
  // Until all are compared. Error fileFormat: one was damaged; it is removed from the cache, and the error
  // comes each time.
  Status wait();

 private:
  struct Work {
    std::string path;
    FileHandle file;
    uint64_t offset, sum;
  };
  void compareAll();

  std::atomic<bool> stop_{false};
  std::mutex mutex_;  // guards what follows, but the thread
  std::condition_variable done_;
  std::deque<Work> waiting_;
  bool working_ = false;
  std::string damaged_;
  std::thread thread_;
};

// The sum of a file's bytes from `offset` on; nothing where they cannot be read, or `stop` becomes true.
std::optional<uint64_t> sumOfFile(const FileHandle& file, uint64_t offset,
                                  const std::atomic<bool>* stop = nullptr);

}  // namespace dyn
