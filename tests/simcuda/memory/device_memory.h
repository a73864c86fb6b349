// device_memory.h — the memory of all simulated devices: addresses that the host cannot touch, bytes that the
// interpreter reaches.
//
// Device addresses lie in a window of 64 GiB that is mapped without any right: a host that dereferences one
// dies at that line. The bytes are mapped elsewhere. Allocations have gaps between them, and an address is
// not given twice before the window is used up.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "tests/simcuda/memory/lazy_array.h"
#include "tests/simcuda/memory/race_cells.h"

namespace simcuda {

struct Allocation {
  uint64_t begin = 0, bytes = 0;
  uint8_t* data = nullptr;
  int device = 0;
  int number = 0;               // the how many-th it is: what reports call it
  bool constant = false;        // a .const variable, or a module's read-only one
  LazyArray<uint64_t> written;  // one bit a byte
  LazyArray<RaceCell> cells;    // one for `granule` bytes, made by the first launch that needs them
  unsigned granule = 0;
  uint32_t readIn = 0, writtenIn = 0;  // number of the last launch that did

  uint64_t end() const { return begin + bytes; }
  bool holds(uint64_t address, uint64_t size) const {
    return address >= begin && size <= bytes && address - begin <= bytes - size;
  }
  // Whether all `size` bytes from an offset on hold something; size is at most 64 and the range in one word
  // of 64.
  bool isWritten(uint64_t offset, unsigned size) const {
    uint64_t mask = (size == 64 ? ~0ull : (1ull << size) - 1) << (offset % 64);
    return (written[offset / 64] & mask) == mask;
  }
  void markWritten(uint64_t offset, unsigned size) {
    written[offset / 64] |= (size == 64 ? ~0ull : (1ull << size) - 1) << (offset % 64);
  }
  // The same for ranges of any size.
  void setWritten(uint64_t offset, uint64_t size, bool value);
  // The cells in grains of that many bytes; what other grains held is forgotten.
  void needCells(unsigned grain);
};

class DeviceMemory {
 public:
  explicit DeviceMemory(uint64_t capacity);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // The same addresses with bytes of their own: what is written there is not seen here. It allocates nothing.
  std::unique_ptr<DeviceMemory> copy() const;

  // nullptr when the devices' memory does not suffice. Fresh bytes are 0xcb and count as not written.
  Allocation* allocate(uint64_t bytes, int device);
  // False when there is no allocation that begins there.
  bool free(uint64_t begin);

  // The one that holds the address, or nullptr.
  Allocation* find(uint64_t address);
  // In words, for a report: "4 bytes past allocation #3 of 1024 bytes".
  std::string describe(uint64_t address) const;

  uint64_t capacity() const { return capacity_; }
  uint64_t used(int device) const;
  int count() const { return static_cast<int>(live_.size()); }

 private:
  DeviceMemory() = default;
  uint64_t place(uint64_t bytes);

  uint64_t capacity_ = 0, next_ = 0;
  uint8_t* window_ = nullptr;  // no rights
  uint8_t* bytes_ = nullptr;   // the same offsets, for us
  int file_ = -1;              // -1: a copy, whose window is another one's
  LazyArray<uint8_t> copied_;  // the bytes of a copy
  int number_ = 0;
  std::map<uint64_t, std::unique_ptr<Allocation>> live_;  // by their begin
  std::map<uint64_t, std::pair<uint64_t, int>> freed_;    // begin: bytes, number; for reports
};

}  // namespace simcuda
