#include "tests/simcuda/ptx/traffic.h"

#include <algorithm>
#include <bit>

namespace simcuda {

void countSectors(const Addresses& addresses, uint32_t lanes, dyn_simcuda_counters_t& counters) {
  counters.global_requests++;
  uint64_t sectors[kLanes];
  int count = 0;
  bool ascending = true;
  for (; lanes; lanes &= lanes - 1) {
    uint64_t sector = addresses[std::countr_zero(lanes)] / 32;  // an access is aligned, so it lies in one
    if (count && sectors[count - 1] == sector) continue;
    ascending = ascending && (count == 0 || sectors[count - 1] < sector);
    sectors[count++] = sector;
  }
  if (!ascending) {
    std::sort(sectors, sectors + count);
    count = static_cast<int>(std::unique(sectors, sectors + count) - sectors);
  }
  counters.global_sectors += count;
}

void countWays(const Addresses& offsets, uint32_t lanes, unsigned bytes, dyn_simcuda_counters_t& counters) {
  counters.shared_requests++;
  // Mostly: all that the lanes touch lies within as many words as there are banks, each in a bank of its own.
  uint64_t least = ~0ull, most = 0;
  for (uint32_t left = lanes; left; left &= left - 1) {
    uint64_t offset = offsets[std::countr_zero(left)];
    least = std::min(least, offset / 4);
    most = std::max(most, (offset + bytes - 1) / 4);
  }
  if (most - least < 32) {
    counters.shared_ways++;
    return;
  }
  unsigned words = std::max(1u, bytes / 4), lanesAtOnce = kLanes / words;
  uint64_t ways = 0;
  for (unsigned first = 0; first < kLanes; first += lanesAtOnce) {
    uint64_t seen[kLanes];
    int count = 0;
    uint8_t ofBank[32] = {};
    int worst = 0;
    for (unsigned l = first; l < first + lanesAtOnce; l++) {
      if ((lanes >> l & 1) == 0) continue;
      for (unsigned k = 0; k < words; k++) {
        uint64_t word = offsets[l] / 4 + k;
        if (std::find(seen, seen + count, word) != seen + count) continue;
        seen[count++] = word;
        worst = std::max<int>(worst, ++ofBank[word % 32]);
      }
    }
    ways += worst;
  }
  // Several passes that the width of the access makes are no conflict.
  counters.shared_ways += std::max<uint64_t>(1, ways / words);
}

}  // namespace simcuda
