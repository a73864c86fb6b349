// LiveCounts: what a profiled run has done so far, launch by launch, for other threads to look at while it
// runs.
//
//   counts.prepare(program);                  // once, before other threads look
//   counts.begin(function, position);         // the running thread
//   counts.end(function, position, timeNs);
//   counts.read([](const LiveRow& row) { });  // any thread
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "vm/isa/program.h"

namespace dyn::vm {

struct LiveRow {
  uint32_t function, position;  // of the instruction
  uint64_t count, totalNs;
  bool isLatest;  // it runs, or was the last that ran
};

class LiveCounts {
 public:
  // Empties. The rows are made the first time.
  void prepare(const Program& program);
  void begin(uint32_t function, uint32_t position) {
    if (const int32_t at = slot(function, position); at != kNone) now_.store(at, std::memory_order_relaxed);
  }
  void end(uint32_t function, uint32_t position, uint64_t timeNs) {
    const int32_t at = slot(function, position);
    if (at == kNone) return;
    Row& row = rows_[static_cast<size_t>(at)];
    row.count.fetch_add(1, std::memory_order_relaxed);
    row.totalNs.fetch_add(timeNs, std::memory_order_relaxed);
  }
  size_t size() const { return places_.size(); }
  // In the order of the program; each row by itself is whole, together they are of about one moment.
  template <typename Take>
  void read(Take&& take) const {
    const int32_t now = now_.load(std::memory_order_relaxed);
    for (size_t i = 0; i < places_.size(); ++i)
      take(LiveRow{places_[i].function, places_[i].position, rows_[i].count.load(std::memory_order_relaxed),
                   rows_[i].totalNs.load(std::memory_order_relaxed), now == static_cast<int32_t>(i)});
  }

 private:
  static constexpr int32_t kNone = -1;
  struct Row {
    std::atomic<uint64_t> count{0}, totalNs{0};
  };
  struct Place {
    uint32_t function, position;
  };
  int32_t slot(uint32_t function, uint32_t position) const {
    return function < slots_.size() && position < slots_[function].size() ? slots_[function][position]
                                                                          : kNone;
  }
  std::vector<std::vector<int32_t>> slots_;  // by function and position
  std::vector<Place> places_;
  std::unique_ptr<Row[]> rows_;
  std::atomic<int32_t> now_{kNone};
};

}  // namespace dyn::vm
