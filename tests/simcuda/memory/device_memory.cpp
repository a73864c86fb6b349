#include "tests/simcuda/memory/device_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace simcuda {
namespace {

constexpr uint64_t kWindowBytes = 64ull << 30;
constexpr uint64_t kAlign = 256, kGap = 4096;
constexpr uint64_t kFillLimit =
    256ull << 20;  // of larger allocations only the beginning is filled: an arena may hardly be used

uint64_t roundUp(uint64_t v, uint64_t to) { return (v + to - 1) / to * to; }

}  // namespace

void Allocation::setWritten(uint64_t offset, uint64_t size, bool value) {
  while (size > 0) {
    uint64_t step = std::min(size, 64 - offset % 64);
    uint64_t mask = (step == 64 ? ~0ull : (1ull << step) - 1) << (offset % 64);
    if (value) {
      written[offset / 64] |= mask;
    } else {
      written[offset / 64] &= ~mask;
    }
    offset += step;
    size -= step;
  }
}

void Allocation::needCells(unsigned grain) {
  if (granule == grain) return;
  granule = grain;
  cells = LazyArray<RaceCell>((bytes + grain - 1) / grain);
}

DeviceMemory::DeviceMemory(uint64_t capacity) : capacity_(std::min(capacity, kWindowBytes)) {
  file_ = memfd_create("simcuda", 0);
  if (file_ < 0 || ftruncate(file_, kWindowBytes) != 0)
    throw std::runtime_error("no memory file for simulated devices");
  void* window = mmap(nullptr, kWindowBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void* bytes = mmap(nullptr, kWindowBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (window == MAP_FAILED || bytes == MAP_FAILED)
    throw std::runtime_error("no room for the memory of simulated devices");
  window_ = static_cast<uint8_t*>(window);
  bytes_ = static_cast<uint8_t*>(bytes);
}

DeviceMemory::~DeviceMemory() {
  if (file_ < 0) return;
  munmap(window_, kWindowBytes);
  munmap(bytes_, kWindowBytes);
  close(file_);
}

std::unique_ptr<DeviceMemory> DeviceMemory::copy() const {
  std::unique_ptr<DeviceMemory> made(new DeviceMemory);
  made->window_ = window_;
  made->number_ = number_;
  made->freed_ = freed_;
  uint64_t total = 0;
  for (auto& [begin, allocation] : live_) total += roundUp(allocation->bytes, kAlign);
  made->copied_ = LazyArray<uint8_t>(total);
  uint64_t at = 0;
  for (auto& [begin, from] : live_) {
    auto allocation = std::make_unique<Allocation>();
    allocation->begin = begin;
    allocation->bytes = from->bytes;
    allocation->data = &made->copied_[at];
    allocation->device = from->device;
    allocation->number = from->number;
    allocation->constant = from->constant;
    allocation->written = LazyArray<uint64_t>(from->bytes / 64 + 1);
    std::memcpy(allocation->data, from->data, from->bytes);
    std::memcpy(&allocation->written[0], &from->written[0], (from->bytes / 64 + 1) * sizeof(uint64_t));
    at += roundUp(from->bytes, kAlign);
    made->live_[begin] = std::move(allocation);
  }
  return made;
}

uint64_t DeviceMemory::used(int device) const {
  uint64_t sum = 0;
  for (auto& [begin, allocation] : live_)
    sum += allocation->device == device ? roundUp(allocation->bytes, kAlign) : 0;
  return sum;
}

uint64_t DeviceMemory::place(uint64_t bytes) {
  uint64_t need = roundUp(bytes, kAlign) + kGap;
  if (next_ + need <= kWindowBytes) {
    uint64_t at = next_;
    next_ += need;
    return at;
  }
  // The window is used up: the first hole between what lives.
  uint64_t at = 0;
  for (auto& [begin, allocation] : live_) {
    uint64_t offset = begin - reinterpret_cast<uint64_t>(window_);
    if (at + need <= offset) return at;
    at = roundUp(offset + allocation->bytes, kAlign) + kGap;
  }
  return at + need <= kWindowBytes ? at : kWindowBytes;
}

Allocation* DeviceMemory::allocate(uint64_t bytes, int device) {
  if (bytes > capacity_ || used(device) + roundUp(bytes, kAlign) > capacity_) return nullptr;
  uint64_t offset = place(bytes);
  if (offset >= kWindowBytes) return nullptr;
  auto allocation = std::make_unique<Allocation>();
  allocation->begin = reinterpret_cast<uint64_t>(window_) + offset;
  allocation->bytes = bytes;
  allocation->data = bytes_ + offset;
  allocation->device = device;
  allocation->number = ++number_;
  allocation->written = LazyArray<uint64_t>(bytes / 64 + 1);
  std::memset(allocation->data, 0xcb, std::min(bytes, kFillLimit));
  freed_.erase(allocation->begin);
  return (live_[allocation->begin] = std::move(allocation)).get();
}

bool DeviceMemory::free(uint64_t begin) {
  auto it = live_.find(begin);
  if (it == live_.end()) return false;
  const Allocation& gone = *it->second;
  // Whole pages go back to the system; those at the ends may hold a neighbour's bytes.
  uint64_t first = roundUp(gone.data - bytes_, 4096), last = (gone.data - bytes_ + gone.bytes) / 4096 * 4096;
  if (last > first) fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, first, last - first);
  freed_[begin] = {gone.bytes, gone.number};
  live_.erase(it);
  return true;
}

Allocation* DeviceMemory::find(uint64_t address) {
  auto it = live_.upper_bound(address);
  if (it == live_.begin()) return nullptr;
  Allocation* allocation = std::prev(it)->second.get();
  return address < allocation->end() ? allocation : nullptr;
}

std::string DeviceMemory::describe(uint64_t address) const {
  auto it = live_.upper_bound(address);
  auto freed = freed_.upper_bound(address);
  auto named = [](int number, uint64_t bytes) {
    return "allocation #" + std::to_string(number) + " of " + std::to_string(bytes) + " bytes";
  };
  if (freed != freed_.begin()) {
    auto& [begin, gone] = *std::prev(freed);
    if (address - begin < gone.first) {
      return "byte " + std::to_string(address - begin) + " of " + named(gone.second, gone.first) +
             ", which was freed";
    }
  }
  if (it != live_.begin()) {
    const Allocation& before = *std::prev(it)->second;
    uint64_t past = address - before.begin;
    if (past < before.bytes)
      return "byte " + std::to_string(past) + " of " + named(before.number, before.bytes);
    if (past - before.bytes < kGap) {
      return std::to_string(past - before.bytes) + " bytes past the end of " +
             named(before.number, before.bytes);
    }
  }
  if (it != live_.end() && it->first - address < kGap) {
    return std::to_string(it->first - address) + " bytes before " +
           named(it->second->number, it->second->bytes);
  }
  uint64_t window = reinterpret_cast<uint64_t>(window_);
  return address - window < kWindowBytes ? "in no allocation" : "no address of a device";
}

}  // namespace simcuda
