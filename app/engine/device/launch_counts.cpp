#include "app/engine/device/launch_counts.h"

#include <algorithm>

namespace dyn {

namespace {

double ratio(int64_t a, int64_t b) { return b > 0 ? static_cast<double>(a) / static_cast<double>(b) : 0; }

}  // namespace

void DeviceCounts::add(const DeviceCounts& other) {
  launchesCount += other.launchesCount;
  instructions += other.instructions;
  laneInstructions += other.laneInstructions;
  globalRequests += other.globalRequests;
  globalSectors += other.globalSectors;
  sharedRequests += other.sharedRequests;
  sharedWays += other.sharedWays;
  branches += other.branches;
  divergentBranches += other.divergentBranches;
  barriers += other.barriers;
  atomics += other.atomics;
}

double DeviceCounts::sectorsPerRequest() const { return ratio(globalSectors, globalRequests); }
double DeviceCounts::waysPerRequest() const { return ratio(sharedWays, sharedRequests); }
double DeviceCounts::activeLanes() const { return ratio(laneInstructions, instructions); }

DeviceCountTable sumByKernel(const std::vector<DeviceCounts>& launches) {
  DeviceCountTable table;
  for (const DeviceCounts& launch : launches) {
    auto row = std::find_if(table.rows.begin(), table.rows.end(),
                            [&](const DeviceCounts& known) { return known.function == launch.function; });
    if (row == table.rows.end()) {
      DeviceCounts first;
      first.function = launch.function;
      first.name = launch.name;
      first.index = launch.index;
      table.rows.push_back(std::move(first));
      row = std::prev(table.rows.end());
    }
    row->add(launch);
  }
  return table;
}

}  // namespace dyn
