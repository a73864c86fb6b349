// How a kernel shares its work among threads, and the scratch memory each of them has.
#pragma once

#include <algorithm>
#include <atomic>
#include <span>

#include "vm/base/flat_call.h"
#include "vm/shared/dyn_contraction.h"

namespace dyn::vm::kernels {

using contraction::kStepsPerTask;

// How many tasks `steps` are worth: at least one, at most one a thread.
inline int64_t worthwhileTasks(const CallInputs& call, double steps) {
  const double most = call.threadCount();
  return std::max<int64_t>(1, static_cast<int64_t>(std::min(most, steps / kStepsPerTask)));
}

// The stride between rows that are copied apart: an odd number of 64-byte lines, so that they lie in
// different sets of the L1 cache.
inline int64_t oddLineStride(int64_t elements) { return ((elements + 15) / 16 | 1) * 16; }

// Elements of four bytes, filled up to whole 64-byte lines.
inline int64_t wholeLines(int64_t elements) { return (elements + 15) / 16 * 16; }

// Into how many parts each of `whole` pieces of work is cut so that there are two units for each task: one
// where there are enough pieces, and at most `most`.
inline int64_t partsFor(int64_t tasks, int64_t whole, int64_t most) {
  return whole >= 2 * tasks ? 1 : std::min(most, (2 * tasks + whole - 1) / whole);
}

// Units [begin, end) of pieces of `parts` units each, piece by piece: work(piece, partBegin, partEnd). So
// what belongs to a piece is made once by each task that has a share of it.
template <typename Work>
inline void forEachWhole(int64_t begin, int64_t end, int64_t parts, const Work& work) {
  while (begin < end) {
    const int64_t piece = begin / parts, last = std::min(end, (piece + 1) * parts);
    work(piece, begin - piece * parts, last - piece * parts);
    begin = last;
  }
}

// Units of two kinds: `heavy` ones, each as long as `weight` of the `light` ones, which are behind them.
// A split of total() shares the time, where one of the units would share their number:
//
//   call.split(units.total(), tasks, [&](int64_t begin, int64_t end) {
//     for (int64_t unit = units.from(begin); unit < units.from(end); ++unit) ...
struct UnequalUnits {
  int64_t heavy, weight, light;

  int64_t total() const { return heavy * weight + light; }
  // The first unit that begins there or behind.
  int64_t from(int64_t at) const {
    return at < heavy * weight ? (at + weight - 1) / weight : heavy + (at - heavy * weight);
  }
};

// Cuts `rows` rows into tiles of nearly equal height, at most maxRows: tile(first, height).
template <typename Tile>
inline void forEachRowTile(int64_t maxRows, int64_t rows, const Tile& tile) {
  const int64_t tiles = (rows + maxRows - 1) / maxRows, height = rows / tiles, more = rows % tiles;
  int64_t first = 0;
  for (int64_t i = 0; i < tiles; ++i) {
    const int64_t now = height + (i < more ? 1 : 0);
    tile(first, now);
    first += now;
  }
}

// Elements of four bytes that a Scratch takes.
inline int64_t scratchElements(int64_t shared, int64_t tasks, int64_t own) {
  return wholeLines(shared + tasks * own);
}

// Elements of four bytes that a Table of so many takes.
template <typename T>
int64_t tableElements(int64_t most) {
  return wholeLines((most * static_cast<int64_t>(sizeof(T)) + 3) / 4);
}

// A list of at most so many, in scratch memory.
template <typename T>
class Table {
 public:
  Table() = default;
  explicit Table(float* memory) : data_(reinterpret_cast<T*>(memory)) {}

  void add(const T& value) { data_[count_++] = value; }
  void clear() { count_ = 0; }
  int64_t size() const { return count_; }
  const T* data() const { return data_; }
  std::span<T> values() { return {data_, static_cast<size_t>(count_)}; }

 private:
  T* data_ = nullptr;
  int64_t count_ = 0;
};

// A part of the call's scratch memory: `shared` elements of four bytes for all, then `own` for each of the
// tasks. Those of a call go in the opposite order.
class Scratch {
 public:
  Scratch(FlatCall& call, int64_t shared, int64_t tasks, int64_t own)
      : call_(call),
        shared_(shared),
        own_(own),
        bytes_(static_cast<uint64_t>(scratchElements(shared, tasks, own)) * sizeof(float)),
        data_(static_cast<float*>(call.takeScratch(bytes_))) {}
  ~Scratch() {
    if (data_) call_.giveScratchBack(bytes_);
  }
  Scratch(const Scratch&) = delete;
  explicit operator bool() const { return data_ != nullptr || bytes_ == 0; }
  Status status() const {
    return *this ? okStatus() : failure(DYN_INTERNAL, "the call has too little scratch memory");
  }
  float* shared() const { return data_; }
  // The next task's own part. Thread-safe.
  float* next() { return data_ + shared_ + taken_.fetch_add(1, std::memory_order_relaxed) * own_; }
  // Another round of tasks begins with the first part. No task runs.
  void rewind() { taken_ = 0; }

 private:
  FlatCall& call_;
  int64_t shared_, own_;
  uint64_t bytes_;
  float* data_;
  std::atomic<int64_t> taken_{0};
};

}  // namespace dyn::vm::kernels
