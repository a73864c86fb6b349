// What is known here of the simulated GPU's structures is what it declares; and how counters are summed up.
#include "app/engine/device/simulated_gpu.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "app/engine/device/simulated_gpu_calls.h"
#include "app/engine/run/device_counts.h"
#include "tests/simcuda/simcuda.h"

namespace dyn {
namespace {

#define SAME_PLACE(ours, ourField, theirs, theirField)                     \
  static_assert(offsetof(ours, ourField) == offsetof(theirs, theirField)); \
  static_assert(sizeof(ours::ourField) == sizeof(theirs::theirField))

static_assert(sizeof(simulated::Counters) == sizeof(dyn_simcuda_counters_t));
SAME_PLACE(simulated::Counters, warpInstructions, dyn_simcuda_counters_t, warp_instructions);
SAME_PLACE(simulated::Counters, laneInstructions, dyn_simcuda_counters_t, lane_instructions);
SAME_PLACE(simulated::Counters, globalRequests, dyn_simcuda_counters_t, global_requests);
SAME_PLACE(simulated::Counters, globalSectors, dyn_simcuda_counters_t, global_sectors);
SAME_PLACE(simulated::Counters, sharedRequests, dyn_simcuda_counters_t, shared_requests);
SAME_PLACE(simulated::Counters, sharedWays, dyn_simcuda_counters_t, shared_ways);
SAME_PLACE(simulated::Counters, barriers, dyn_simcuda_counters_t, barriers);
SAME_PLACE(simulated::Counters, atomics, dyn_simcuda_counters_t, atomics);
SAME_PLACE(simulated::Counters, branches, dyn_simcuda_counters_t, branches);
SAME_PLACE(simulated::Counters, divergentBranches, dyn_simcuda_counters_t, divergent_branches);
static_assert(sizeof(simulated::Launch) == sizeof(dyn_simcuda_launch_t));
SAME_PLACE(simulated::Launch, kernel, dyn_simcuda_launch_t, kernel);
SAME_PLACE(simulated::Launch, grid, dyn_simcuda_launch_t, grid);
SAME_PLACE(simulated::Launch, threads, dyn_simcuda_launch_t, threads);
SAME_PLACE(simulated::Launch, sharedBytes, dyn_simcuda_launch_t, shared_bytes);
SAME_PLACE(simulated::Launch, done, dyn_simcuda_launch_t, done);
SAME_PLACE(simulated::Launch, counters, dyn_simcuda_launch_t, counters);
static_assert(sizeof(simulated::Stop) == sizeof(dyn_simcuda_stop_t));
SAME_PLACE(simulated::Stop, kernel, dyn_simcuda_stop_t, kernel);
SAME_PLACE(simulated::Stop, block, dyn_simcuda_stop_t, block);
SAME_PLACE(simulated::Stop, warps, dyn_simcuda_stop_t, warps);
SAME_PLACE(simulated::Stop, active, dyn_simcuda_stop_t, active);
SAME_PLACE(simulated::Stop, parked, dyn_simcuda_stop_t, parked);
SAME_PLACE(simulated::Stop, line, dyn_simcuda_stop_t, line);
SAME_PLACE(simulated::Stop, text, dyn_simcuda_stop_t, text);
SAME_PLACE(simulated::Stop, sourceLine, dyn_simcuda_stop_t, source_line);
SAME_PLACE(simulated::Stop, barriers, dyn_simcuda_stop_t, barriers);
SAME_PLACE(simulated::Stop, instructions, dyn_simcuda_stop_t, instructions);
SAME_PLACE(simulated::Stop, fault, dyn_simcuda_stop_t, fault);
SAME_PLACE(simulated::Stop, sharedBytes, dyn_simcuda_stop_t, shared_bytes);
SAME_PLACE(simulated::Stop, registers, dyn_simcuda_stop_t, registers);
static_assert(sizeof(simulated::Register) == sizeof(dyn_simcuda_register_t));
SAME_PLACE(simulated::Register, bits, dyn_simcuda_register_t, bits);
SAME_PLACE(simulated::Register, used, dyn_simcuda_register_t, used);
SAME_PLACE(simulated::Register, values, dyn_simcuda_register_t, values);
static_assert(static_cast<int>(SimulatedGpu::StepBy::line) == DYN_SIMCUDA_LINE);
static_assert(static_cast<int>(SimulatedGpu::StepBy::end) == DYN_SIMCUDA_END);

DeviceCounts launch(const std::string& function, int index, int64_t instructions) {
  DeviceCounts counts;
  counts.function = function;
  counts.index = index;
  counts.launchesCount = 1;
  counts.instructions = instructions;
  counts.laneInstructions = instructions * 16;
  counts.globalRequests = 2;
  counts.globalSectors = 7;
  return counts;
}

TEST(SimulatedGpu, kernelsAreKnownByTheirFunctions) {
  EXPECT_EQ(kernelOfFunction("dyn_kernel_3"), 3);
  EXPECT_EQ(kernelOfFunction("dyn_kernel_12_block"), 12);
  EXPECT_EQ(kernelOfFunction("another"), -1);
}

TEST(SimulatedGpu, launchesAreSummedByKernel) {
  const DeviceCountTable table = sumByKernel(
      {launch("dyn_kernel_1", 1, 10), launch("dyn_kernel_0", 0, 5), launch("dyn_kernel_1", 1, 30)});
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].function, "dyn_kernel_1");
  EXPECT_EQ(table.rows[0].launchesCount, 2);
  EXPECT_EQ(table.rows[0].instructions, 40);
  EXPECT_DOUBLE_EQ(table.rows[0].sectorsPerRequest(), 3.5);
  EXPECT_DOUBLE_EQ(table.rows[0].activeLanes(), 16);
  EXPECT_DOUBLE_EQ(table.rows[0].waysPerRequest(), 0);
}

TimelineEvent event(const char* kind, int index) {
  TimelineEvent event;
  event.kind = kind;
  event.index = index;
  return event;
}

TEST(SimulatedGpu, eachEventHasItsLaunch) {
  RunResult run;
  run.launches = {launch("dyn_kernel_1", 1, 10), launch("dyn_kernel_0_block", 0, 5),
                  launch("dyn_kernel_1", 1, 30)};
  run.timeline = {event("kernel", 1), event("builtin", 1), event("kernel", 0), event("kernel", 2),
                  event("kernel", 1)};
  countsOnTimeline(run);
  ASSERT_TRUE(run.timeline[0].counts && run.timeline[2].counts && run.timeline[4].counts);
  EXPECT_EQ(run.timeline[0].counts->instructions, 10);
  EXPECT_EQ(run.timeline[4].counts->instructions, 30);
  EXPECT_EQ(run.timeline[2].counts->function, "dyn_kernel_0_block");
  EXPECT_FALSE(run.timeline[1].counts) << "no kernel";
  EXPECT_FALSE(run.timeline[3].counts) << "it ran on the host";
}

// A timeline that is cut says nothing rather than something of another launch.
TEST(SimulatedGpu, aCutTimelineHasNone) {
  RunResult run;
  run.launches = {launch("dyn_kernel_1", 1, 10), launch("dyn_kernel_1", 1, 30)};
  run.timeline = {event("kernel", 1)};
  countsOnTimeline(run);
  EXPECT_FALSE(run.timeline[0].counts);
}

}  // namespace
}  // namespace dyn
