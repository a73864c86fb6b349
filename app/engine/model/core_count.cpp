// physicalCoreCount of loaded_model.h, apart: exported executables need it, and no compiler.
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "app/engine/model/loaded_model.h"

namespace dyn {

int physicalCoreCount() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return 1;
  std::set<std::pair<int, int>> cores;
  int unknown = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mask)) continue;
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    std::ifstream core(folder + "core_id"), package(folder + "physical_package_id");
    int coreId = 0, packageId = 0;
    if (core >> coreId && package >> packageId) {
      cores.insert({packageId, coreId});
    } else {
      ++unknown;
    }
  }
  return std::max(1, static_cast<int>(cores.size()) + unknown);
}

}  // namespace dyn
