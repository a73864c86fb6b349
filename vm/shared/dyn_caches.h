/* Sizes of the data caches that one core reads through. For compiler and runtime alike (C++20, header only).
 * */
#ifndef DYN_CACHES_H
#define DYN_CACHES_H

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace dyn {

/* Bytes of the cache at `level` (1 to 3); 0: absent, or the system does not tell. Linux names each
 * cache by itself; sysconf tells the sum over all groups of cores that share one, which is no core's. */
inline int64_t cacheBytes(int level) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    int found = 0;
    std::string type;
    if (!(std::ifstream(folder + "level") >> found)) break;
    if (found != level || !(std::ifstream(folder + "type") >> type) || type == "Instruction") continue;
    int64_t count = 0;
    char unit = 'B';
    std::ifstream size(folder + "size");
    if (!(size >> count) || count <= 0) continue;
    size >> unit;
    return count * (unit == 'K' ? 1024 : unit == 'M' ? 1024 * 1024 : 1);
  }
  long bytes = 0;
#ifdef _SC_LEVEL1_DCACHE_SIZE
  constexpr int kNames[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
  if (level >= 1 && level <= 3) bytes = ::sysconf(kNames[level - 1]);
#endif
  return bytes > 0 ? bytes : 0;
}

}  // namespace dyn

#endif
