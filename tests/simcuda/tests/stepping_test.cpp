// What launches count one by one, and one warp that is stepped through.
#include <gtest/gtest.h>

#include "tests/simcuda/tests/api.h"

namespace {

// Each thread writes its number to shared memory and, past the barrier, reads that of the thread 32 further
// on; the first five threads take another way.
const char* const kNeighbours = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry neighbours(.param .u64 p)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  .shared .align 4 .b8 s[256];
  .loc 1 3 0
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 2;
  mov.u32 %r3, s;
  add.s32 %r4, %r3, %r2;
  .loc 1 4 0
  st.shared.u32 [%r4], %r1;
  bar.sync 0;
  xor.b32 %r2, %r2, 128;
  add.s32 %r4, %r3, %r2;
  ld.shared.u32 %r5, [%r4];
  setp.lt.u32 %p1, %r1, 5;
  @%p1 bra L;
  add.s32 %r5, %r5, 1000;
L:
  ld.param.u64 %rd1, [p];
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  .loc 1 6 0
  st.global.u32 [%rd3], %r5;
  ret;
}
.file 1 "loop.ir"
)";

class Stepping : public DriverTest {
 protected:
  template <class R, class... A>
  R ask(const char* name, A... arguments) {
    return reinterpret_cast<R (*)(A...)>(api().symbol(name))(arguments...);
  }
  int open(uint32_t block, uint32_t warp) { return ask<int>("dyn_simcuda_step_open", block, warp); }
  int step(uint64_t count, int by = DYN_SIMCUDA_INSTRUCTION) {
    return ask<int>("dyn_simcuda_step", count, by);
  }
  void keep(uint64_t n) { ask<void>("dyn_simcuda_keep_launch", n); }
  dyn_simcuda_stop_t stop() {
    dyn_simcuda_stop_t stop{};
    EXPECT_EQ(ask<int>("dyn_simcuda_step_stop", &stop), 0);
    return stop;
  }
  dyn_simcuda_register_t reg(const std::string& name) {
    dyn_simcuda_register_t value{};
    for (uint32_t i = 0; ask<int>("dyn_simcuda_step_register", i, &value) == 0; i++)
      if (name == value.name) return value;
    ADD_FAILURE() << "no register " << name;
    return value;
  }
  // One launch of two warps over fresh memory.
  DevicePointer launchNeighbours() {
    DevicePointer to = allocate(64 * 4);
    EXPECT_EQ(run(load(kNeighbours, "neighbours"), {1, 64}, to), 0) << api().fault();
    return to;
  }
};

TEST_F(Stepping, each_launch_has_its_own_counters) {
  void* f = load(kNeighbours, "neighbours");
  DevicePointer to = allocate(256);
  ASSERT_EQ(run(f, {1, 64}, to), 0);
  ASSERT_EQ(launch(f, {1, 32}, nullptr, to), 0);  // it waits
  EXPECT_EQ(ask<uint64_t>("dyn_simcuda_launch_count"), 2u);
  dyn_simcuda_launch_t info{};
  ASSERT_EQ(ask<int>("dyn_simcuda_launch_info", uint64_t{1}, &info), 0);
  EXPECT_STREQ(info.kernel, "neighbours");
  EXPECT_EQ(info.threads[0], 64u);
  EXPECT_EQ(info.done, 1u);
  EXPECT_EQ(info.counters.launches, 1u);
  EXPECT_EQ(info.counters.barriers, 1u);
  EXPECT_EQ(info.counters.branches, 2u);  // one of each warp
  EXPECT_EQ(info.counters.divergent_branches, 1u);
  EXPECT_EQ(info.counters.global_requests, 2u);
  EXPECT_EQ(info.counters.global_sectors, 8u);
  EXPECT_EQ(info.counters.shared_requests, 4u);
  EXPECT_EQ(info.counters.shared_ways, 4u);
  ASSERT_EQ(ask<int>("dyn_simcuda_launch_info", uint64_t{2}, &info), 0);
  EXPECT_EQ(info.done, 0u);
  EXPECT_EQ(ask<int>("dyn_simcuda_launch_info", uint64_t{3}, &info), 1);
}

TEST_F(Stepping, a_warp_stands_before_its_first_instruction_and_goes_on_one_by_one) {
  keep(1);
  launchNeighbours();
  ASSERT_EQ(open(0, 1), 0) << api().fault();
  EXPECT_EQ(stop().line, 11u);
  EXPECT_STREQ(stop().text, "mov.u32 %r1, %tid.x;");
  EXPECT_STREQ(stop().file, "loop.ir");
  EXPECT_EQ(stop().source_line, 3u);
  EXPECT_EQ(stop().active, ~0u);
  EXPECT_EQ(stop().warps, 2u);
  EXPECT_EQ(reg("%r1").used, 1u);
  EXPECT_EQ(reg("%r5").used, 0u);
  ASSERT_EQ(step(1), 0);
  for (uint32_t lane = 0; lane < 32; lane++) EXPECT_EQ(reg("%r1").values[lane], 32 + lane);
  ASSERT_EQ(step(1, DYN_SIMCUDA_LINE), 0);
  EXPECT_EQ(stop().source_line, 4u);
  EXPECT_EQ(stop().instructions, 4u);
}

TEST_F(Stepping, at_a_barrier_the_other_warps_come) {
  keep(1);
  launchNeighbours();
  ASSERT_EQ(open(0, 0), 0);
  uint8_t bytes[4], written[4];
  ASSERT_EQ(ask<uint32_t>("dyn_simcuda_step_shared", 132u, 4u, bytes, written), 4u);
  EXPECT_EQ(written[0], 0);  // that is of warp 1, which has not run
  ASSERT_EQ(step(6), 0);
  EXPECT_EQ(stop().barriers, 1u);
  ASSERT_EQ(ask<uint32_t>("dyn_simcuda_step_shared", 132u, 4u, bytes, written), 4u);
  EXPECT_EQ(written[0], 1);
  EXPECT_EQ(bytes[0], 33);
  ASSERT_EQ(step(3), 0);
  EXPECT_EQ(reg("%r5").values[7], 39u);
}

TEST_F(Stepping, lanes_that_part_go_one_after_the_other) {
  keep(1);
  launchNeighbours();
  ASSERT_EQ(open(0, 0), 0);
  ASSERT_EQ(step(10), 0);
  EXPECT_EQ(reg("%p1").values[4], 1u);
  EXPECT_EQ(reg("%p1").values[5], 0u);
  EXPECT_EQ(reg("%p1").bits, 1u);
  ASSERT_EQ(step(1), 0);  // the branch
  EXPECT_EQ(stop().active, ~0x1fu);
  ASSERT_EQ(step(1), 0);
  EXPECT_EQ(stop().active, ~0u);  // they met again
  EXPECT_EQ(step(1, DYN_SIMCUDA_END), 1);
  EXPECT_EQ(stop().line, 0u);
  EXPECT_EQ(stop().ended, ~0u);
  EXPECT_STREQ(stop().fault, "");
}

// The run is over and its memory is gone; what is stepped through is a copy, as often as one likes.
TEST_F(Stepping, the_programs_memory_stays_as_it_is) {
  keep(2);
  DevicePointer to = launchNeighbours();
  std::vector<uint32_t> first = download<uint32_t>(to, 64);
  ASSERT_EQ(run(load(kNeighbours, "neighbours"), {1, 64}, to), 0);
  for (int again = 0; again < 2; again++) {
    ASSERT_EQ(open(0, 0), 0);
    EXPECT_EQ(step(1, DYN_SIMCUDA_END), 1);
    EXPECT_STREQ(stop().fault, "");
  }
  EXPECT_EQ(download<uint32_t>(to, 64), first);
  ASSERT_EQ(api().call("cuMemFree_v2", to), 0);
  ASSERT_EQ(open(0, 1), 0);
  EXPECT_EQ(step(1, DYN_SIMCUDA_END), 1);
  EXPECT_STREQ(stop().fault, "");
}

TEST_F(Stepping, a_fault_ends_the_warp_and_says_so) {
  keep(1);
  std::string wrong = kNeighbours;
  size_t at = wrong.find("mul.wide.u32 %rd2, %r1, 4");
  wrong.replace(at, 25, "mul.wide.u32 %rd2, %r1, 8");
  DevicePointer to = allocate(256);
  EXPECT_NE(run(load(wrong, "neighbours"), {1, 64}, to), 0);
  ASSERT_EQ(open(0, 1), 0);
  EXPECT_EQ(step(1, DYN_SIMCUDA_END), 1);
  EXPECT_NE(std::string(stop().fault).find("st.global.u32"), std::string::npos) << stop().fault;
  EXPECT_EQ(step(1), 1);
}

TEST_F(Stepping, what_is_not_there_is_refused) {
  EXPECT_EQ(open(0, 0), 1);
  EXPECT_EQ(api().fault(), "no launch was kept");
  keep(1);
  launchNeighbours();
  EXPECT_EQ(open(1, 0), 1);
  EXPECT_EQ(api().fault(), "there is no block 1 of 1");
  EXPECT_EQ(open(0, 2), 1);
  EXPECT_EQ(api().fault(), "there is no warp 2 of 2");
  EXPECT_EQ(step(1), 1);
}

// A graph asks for a launch again and again: each time is one of its own.
TEST_F(Stepping, launches_of_a_graph_count_each_time) {
  void *stream = nullptr, *graph = nullptr, *executable = nullptr;
  void* f = load(kNeighbours, "neighbours");
  DevicePointer to = allocate(256);
  ASSERT_EQ(api().call("cuStreamCreate", &stream, 1u), 0);
  ASSERT_EQ(api().call("cuStreamBeginCapture_v2", stream, 0), 0);
  ASSERT_EQ(launch(f, {1, 64}, stream, to), 0);
  ASSERT_EQ(api().call("cuStreamEndCapture", stream, &graph), 0);
  EXPECT_EQ(ask<uint64_t>("dyn_simcuda_launch_count"), 0u);
  ASSERT_EQ(api().call("cuGraphInstantiateWithFlags", &executable, graph, 0ull), 0);
  for (int i = 0; i < 2; i++) ASSERT_EQ(api().call("cuGraphLaunch", executable, stream), 0);
  ASSERT_EQ(api().call("cuStreamSynchronize", stream), 0);
  EXPECT_EQ(ask<uint64_t>("dyn_simcuda_launch_count"), 2u);
  dyn_simcuda_launch_t info{};
  ASSERT_EQ(ask<int>("dyn_simcuda_launch_info", uint64_t{2}, &info), 0);
  EXPECT_EQ(info.done, 1u);
}

}  // namespace
