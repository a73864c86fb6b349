// warp.h — the state of 32 lanes: every virtual register is a row of 32 values, so an instruction is a loop
// over a row.
//
// A lane of a row is 4 bytes wide, for registers of 64 bits 8. Narrower values are kept sign- or
// zero-extended, a predicate is 0 or -1. Constants and special registers are rows, too, filled when the warp
// begins.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <type_traits>
#include <vector>

#include "tests/simcuda/ptx/small_floats.h"

namespace simcuda {

class Block;
struct Launch;
struct Op;

using Row = uint32_t;  // offset of its first byte in the warp's rows

constexpr int kLanes = 32;
constexpr uint32_t kAllLanes = ~0u;

// One cp.async of one lane: what the wait for it will do.
struct PendingCopy {
  uint64_t from;
  uint32_t to;
  uint8_t bytes, read;  // `read` bytes come from memory, the rest are zeros
  const Op* op;
};

// The copies of one lane: groups that were committed, oldest first, and what no commit has closed yet.
struct CopyQueue {
  std::deque<std::vector<PendingCopy>> groups;
  std::vector<PendingCopy> open;
};

struct Warp {
  char* rows = nullptr;
  uint32_t mask = 0;  // the lanes that the present instruction is for
  alignas(64) int32_t maskRow[kLanes] = {};

  Block* block = nullptr;
  unsigned index = 0;                          // in its block
  uint32_t exists = 0, ended = 0, parked = 0;  // lanes; parked: at a .sync operation, waiting for others
  std::array<uint32_t, kLanes> pc{};
  uint32_t epoch = 0;      // whole bar.warp.sync that it has passed
  bool atBarrier = false;  // all its lanes are parked at a barrier of the block
  std::vector<char> rowMemory;
  std::vector<uint8_t> local, localWritten;  // of all lanes, one after the other
  std::array<CopyQueue, kLanes> copies;

  void setMask(uint32_t lanes) {
    if (lanes == mask) return;
    mask = lanes;
    for (int l = 0; l < kLanes; l++) maskRow[l] = -static_cast<int32_t>(lanes >> l & 1);
  }
};

// What a value of type T is in a row.
template <class T>
struct InRow {
  using type =
      std::conditional_t<sizeof(T) == 8 || std::is_same_v<T, float>, T,
                         std::conditional_t<std::is_integral_v<T> && std::is_signed_v<T>, int32_t, uint32_t>>;
  static type store(T value) {
    if constexpr (kIsSmallFloat<T>) {
      return value.bits;
    } else {
      return static_cast<type>(value);
    }
  }
  static T load(type value) {
    if constexpr (kIsSmallFloat<T>) {
      return T{static_cast<uint16_t>(value)};
    } else {
      return static_cast<T>(value);
    }
  }
};
template <>
struct InRow<bool> {
  using type = int32_t;
  static int32_t store(bool value) { return -static_cast<int32_t>(value); }
  static bool load(int32_t value) { return value != 0; }
};

template <class T>
typename InRow<T>::type* slots(const Warp& w, Row row) {
  return reinterpret_cast<typename InRow<T>::type*>(w.rows + row);
}

// A row of values to read: rowOf<float>(w, op.a)[lane].
template <class T>
struct Values {
  const typename InRow<T>::type* slots;
  T operator[](int lane) const { return InRow<T>::load(slots[lane]); }
};
template <class T>
Values<T> rowOf(const Warp& w, Row row) {
  return {slots<T>(w, row)};
}

// row[l] = f(l) for the lanes of the mask.
template <class T, class F>
void put(Warp& w, Row row, F f) {
  auto* to = slots<T>(w, row);
  if (w.mask == kAllLanes) {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; l++) to[l] = InRow<T>::store(f(l));
  } else {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; l++) {
      auto value = InRow<T>::store(f(l));
      to[l] = w.maskRow[l] ? value : to[l];
    }
  }
}

}  // namespace simcuda
