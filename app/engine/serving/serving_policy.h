// How a server serves, as data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

struct dyn_thread_pool;

namespace dyn {

enum class Batching : uint8_t {
  whereItPays,  // by the times of earlier runs, joined and alone
  always,       // where the rows of a batch are independent
  never,
};

// Which requests are taken that could wait.
enum class Admission : uint8_t {
  all,
  byDeadline,  // none whose deadline is nearer than the time that its run takes at least
};

struct ServingPolicy {
  Batching batching = Batching::whereItPays;
  size_t maxBatch = 16;                  // requests in one run
  int64_t maxWaitNs = 0;                 // that a request waits for others to join it
  int64_t maxBatchTimeNs = 100'000'000;  // of a joined run, as far as earlier runs tell
  int64_t memoryLimitBytes = 0;          // of all runs together; 0: none
  size_t maxQueue = 1000;                // requests that wait; further ones are refused
  size_t workers = 1;                    // runs at the same time
  Admission admission = Admission::all;
  std::shared_ptr<dyn_thread_pool> threads;  // that runs share; null: each has its own
};

}  // namespace dyn
