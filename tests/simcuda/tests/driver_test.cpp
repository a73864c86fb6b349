// What the driver does with memory, streams, events, graphs and errors.
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/simcuda/tests/api.h"

namespace {

void* const kNoStream = nullptr;

class Driver : public DriverTest {
 protected:
  void* pinned(size_t bytes) {
    void* p = nullptr;
    EXPECT_EQ(api().call("cuMemHostAlloc", &p, bytes, 0u), 0);
    return p;
  }
  void* stream(unsigned flags = 1) {
    void* s = nullptr;
    EXPECT_EQ(api().call("cuStreamCreate", &s, flags), 0);
    return s;
  }
  void* event() {
    void* e = nullptr;
    EXPECT_EQ(api().call("cuEventCreate", &e, 0u), 0);
    return e;
  }
  int copyIn(DevicePointer to, const void* from, size_t bytes, void* s) {
    return api().call("cuMemcpyHtoDAsync_v2", to, from, bytes, s);
  }
  int copyOut(void* to, DevicePointer from, size_t bytes, void* s) {
    return api().call("cuMemcpyDtoHAsync_v2", to, from, bytes, s);
  }
  int fill(DevicePointer to, unsigned value, size_t count, void* s) {
    return api().call("cuMemsetD32Async", to, value, count, s);
  }
  int synchronize(void* s) { return api().call("cuStreamSynchronize", s); }
  int synchronizeAll() { return api().call("cuCtxSynchronize"); }
};

TEST_F(Driver, who_does_not_wait_reads_poison) {
  auto* host = static_cast<uint32_t*>(pinned(64));
  DevicePointer p = allocate(64);
  void* s = stream();
  ASSERT_EQ(fill(p, 7, 16, s), 0);
  ASSERT_EQ(copyOut(host, p, 64, s), 0);
  EXPECT_EQ(host[0], 0xfefefefeu);
  ASSERT_EQ(synchronize(s), 0);
  EXPECT_EQ(host[0], 7u);
}

TEST_F(Driver, pinned_memory_is_read_late_and_other_memory_at_the_call) {
  auto* late = static_cast<uint32_t*>(pinned(4));
  uint32_t staged = 1;
  *late = 1;
  DevicePointer p = allocate(8);
  void* s = stream();
  ASSERT_EQ(copyIn(p, late, 4, s), 0);
  ASSERT_EQ(copyIn(p + 4, &staged, 4, s), 0);
  *late = staged = 2;
  ASSERT_EQ(synchronize(s), 0);
  EXPECT_EQ(download<uint32_t>(p, 2), (std::vector<uint32_t>{2, 1}));
}

TEST_F(Driver, streams_without_order_are_a_race_and_an_event_orders_them) {
  for (bool ordered : {false, true}) {
    for (const char* seed : {"0", "1", "2", "3"}) {
      begin({{"DYN_SIMCUDA_SEED", seed}});
      DevicePointer p = allocate(64);
      void *first = stream(), *second = stream(), *e = event();
      ASSERT_EQ(fill(p, 7, 16, first), 0);
      if (ordered) {
        ASSERT_EQ(api().call("cuEventRecord", e, first), 0);
        ASSERT_EQ(api().call("cuStreamWaitEvent", second, e, 0u), 0);
      }
      auto* host = static_cast<uint32_t*>(pinned(64));
      ASSERT_EQ(copyOut(host, p, 64, second), 0);
      int status = synchronizeAll();
      EXPECT_EQ(status, ordered ? 0 : 719) << api().fault();
      if (ordered) {
        EXPECT_EQ(host[15], 7u);
      } else {
        EXPECT_NE(api().fault().find("stream race: "), std::string::npos) << api().fault();
      }
    }
  }
}

TEST_F(Driver, a_wait_of_the_host_orders_too) {
  DevicePointer p = allocate(64);
  void *first = stream(), *second = stream();
  ASSERT_EQ(fill(p, 7, 16, first), 0);
  ASSERT_EQ(synchronize(first), 0);
  ASSERT_EQ(fill(p, 8, 16, second), 0);
  EXPECT_EQ(synchronizeAll(), 0) << api().fault();
}

TEST_F(Driver, the_stream_0_takes_turns_with_blocking_ones_only) {
  DevicePointer p = allocate(64);
  void* blocking = stream(0);
  ASSERT_EQ(fill(p, 7, 16, kNoStream), 0);
  ASSERT_EQ(fill(p, 8, 16, blocking), 0);
  ASSERT_EQ(fill(p, 9, 16, kNoStream), 0);
  ASSERT_EQ(synchronizeAll(), 0) << api().fault();
  EXPECT_EQ(download<uint32_t>(p, 1)[0], 9u);
  void* other = stream(1);
  ASSERT_EQ(fill(p, 7, 16, kNoStream), 0);
  ASSERT_EQ(fill(p, 8, 16, other), 0);
  EXPECT_EQ(synchronizeAll(), 719);
}

TEST_F(Driver, memory_that_was_freed) {
  void* f = load(kernelText("faults"), "tail_guard");
  DevicePointer p = allocate(256);
  ASSERT_EQ(api().call("cuMemFree_v2", p), 0);
  EXPECT_EQ(run(f, {1, 64}, p, 9), 700);
  EXPECT_NE(api().fault().find("which was freed"), std::string::npos) << api().fault();
  // It stays: what comes after says the same, until the context is gone.
  EXPECT_EQ(synchronizeAll(), 700);
  DevicePointer q = 0;
  EXPECT_EQ(api().call("cuMemAlloc_v2", &q, size_t{16}), 700);
  EXPECT_EQ(api().call("cuDevicePrimaryCtxRelease_v2", 0), 0);
  begin({});
  EXPECT_EQ(synchronizeAll(), 0);
}

TEST_F(Driver, freed_in_a_stream_before_its_use_there) {
  DevicePointer p = 0;
  void* s = stream();
  ASSERT_EQ(api().call("cuMemAllocAsync", &p, size_t{64}, s), 0);
  ASSERT_EQ(fill(p, 7, 16, s), 0);
  ASSERT_EQ(api().call("cuMemFreeAsync", p, s), 0);
  ASSERT_EQ(fill(p, 8, 16, s), 0);
  EXPECT_EQ(synchronize(s), 700);
}

TEST_F(Driver, memory_ends_at_its_cap) {
  begin({{"DYN_SIMCUDA_MEMORY", "1048576"}});
  size_t free = 0, total = 0;
  DevicePointer p = allocate(1000000), q = 0;
  EXPECT_EQ(api().call("cuMemAlloc_v2", &q, size_t{100000}), 2);
  ASSERT_EQ(api().call("cuMemGetInfo_v2", &free, &total), 0);
  EXPECT_EQ(total, 1048576u);
  EXPECT_LT(free, 50000u);
  ASSERT_EQ(api().call("cuMemFree_v2", p), 0);
  EXPECT_EQ(api().call("cuMemAlloc_v2", &q, size_t{100000}), 0);
}

TEST_F(Driver, the_call_that_shall_fail_fails) {
  // cuInit, cuDevicePrimaryCtxRetain, cuCtxSetCurrent, and then the fourth.
  begin({{"DYN_SIMCUDA_FAIL", "4"}});
  DevicePointer p = 0;
  EXPECT_EQ(api().call("cuMemAlloc_v2", &p, size_t{16}), 2);
  EXPECT_EQ(api().call("cuMemAlloc_v2", &p, size_t{16}), 0);
  begin({{"DYN_SIMCUDA_FAIL", "5:719"}});
  EXPECT_EQ(api().call("cuMemAlloc_v2", &p, size_t{16}), 0);
  EXPECT_EQ(synchronizeAll(), 719);
  EXPECT_EQ(synchronizeAll(), 0);
}

TEST_F(Driver, the_call_that_shall_fail_may_be_named) {
  begin({{"DYN_SIMCUDA_FAIL", "cuMemAlloc_v2:2:214"}});
  DevicePointer p = 0;
  EXPECT_EQ(api().call("cuMemAlloc_v2", &p, size_t{16}), 0);
  EXPECT_EQ(synchronizeAll(), 0);
  EXPECT_EQ(api().call("cuMemAlloc_v2", &p, size_t{16}), 214);
  EXPECT_EQ(api().call("cuMemAlloc_v2", &p, size_t{16}), 0);
}

TEST_F(Driver, the_host_cannot_touch_device_memory) {
  DevicePointer p = allocate(64);
  EXPECT_DEATH(*reinterpret_cast<volatile int*>(p) = 1, "");
}

TEST_F(Driver, a_graph_does_again_what_was_captured) {
  auto* host = static_cast<uint32_t*>(pinned(4));
  auto* back = static_cast<uint32_t*>(pinned(8));
  DevicePointer p = allocate(8);
  void *s = stream(), *side = stream(), *fork = event(), *joined = event(), *graph = nullptr, *exec = nullptr;
  ASSERT_EQ(api().call("cuStreamBeginCapture_v2", s, 0), 0);
  ASSERT_EQ(copyIn(p, host, 4, s), 0);
  ASSERT_EQ(api().call("cuEventRecord", fork, s), 0);
  ASSERT_EQ(api().call("cuStreamWaitEvent", side, fork, 0u), 0);
  ASSERT_EQ(api().call("cuMemcpyDtoDAsync_v2", p + 4, p, size_t{4}, side), 0);
  ASSERT_EQ(api().call("cuEventRecord", joined, side), 0);
  ASSERT_EQ(api().call("cuStreamWaitEvent", s, joined, 0u), 0);
  ASSERT_EQ(copyOut(back, p, 8, s), 0);
  EXPECT_EQ(synchronize(s), 900);
  ASSERT_EQ(api().call("cuStreamEndCapture", s, &graph), 0) << api().fault();
  ASSERT_EQ(api().call("cuGraphInstantiateWithFlags", &exec, graph, 0ull), 0);
  ASSERT_EQ(api().call("cuGraphDestroy", graph), 0);
  for (uint32_t value : {3u, 4u}) {
    *host = value;
    ASSERT_EQ(api().call("cuGraphLaunch", exec, s), 0);
    ASSERT_EQ(synchronize(s), 0) << api().fault();
    EXPECT_EQ(back[0], value);
    EXPECT_EQ(back[1], value);
  }
  EXPECT_EQ(api().call("cuGraphExecDestroy", exec), 0);
}

TEST_F(Driver, a_capture_without_its_join_is_refused) {
  DevicePointer p = allocate(8);
  void *s = stream(), *side = stream(), *fork = event(), *graph = nullptr;
  ASSERT_EQ(api().call("cuStreamBeginCapture_v2", s, 0), 0);
  ASSERT_EQ(api().call("cuEventRecord", fork, s), 0);
  ASSERT_EQ(api().call("cuStreamWaitEvent", side, fork, 0u), 0);
  ASSERT_EQ(fill(p, 1, 2, side), 0);
  EXPECT_EQ(api().call("cuStreamEndCapture", s, &graph), 904);
}

TEST_F(Driver, launches_beyond_the_limits) {
  void* f = load(kernelText("faults"), "tail_guard");
  DevicePointer p = allocate(256);
  EXPECT_EQ(run(f, {0, 64}, p, 9), 1);
  EXPECT_EQ(run(f, {1, 2048}, p, 9), 1);
  EXPECT_EQ(run(f, {1, 64, 1, 1, 60000}, p, 9), 1);
  EXPECT_EQ(api().call("cuFuncSetAttribute", f, 8, 60000), 0);
  EXPECT_EQ(run(f, {1, 64, 1, 1, 60000}, p, 9), 0);
  EXPECT_EQ(api().call("cuFuncSetAttribute", f, 8, 200000), 1);
}

TEST_F(Driver, queries_come_to_an_end) {
  DevicePointer p = allocate(64);
  void *s = stream(), *e = event();
  for (int i = 0; i < 5; i++) ASSERT_EQ(fill(p, 7, 16, s), 0);
  ASSERT_EQ(api().call("cuEventRecord", e, s), 0);
  EXPECT_EQ(api().call("cuEventQuery", e), 600);
  int asked = 0;
  while (api().call("cuStreamQuery", s) == 600) ASSERT_LT(++asked, 100);
  EXPECT_EQ(api().call("cuEventQuery", e), 0);
}

TEST_F(Driver, what_was_called_is_traced) {
  std::string file = testing::TempDir() + "simcuda_trace_" + std::to_string(getpid());
  begin({{"DYN_SIMCUDA_TRACE", file}});
  void* f = load(kernelText("faults"), "tail_guard");
  DevicePointer p = allocate(256);
  ASSERT_EQ(run(f, {1, 64}, p, 9), 0);
  download<float>(p, 10);
  EXPECT_EQ(readText(file),
            "load module, 18 kernels\n"
            "allocate #1 256 bytes\n"
            "launch tail_guard grid (1,1,1) block (64,1,1) shared 0 stream 0\n"
            "synchronize context\n"
            "copy device to host 40 bytes pageable stream 0\n");
  unlink(file.c_str());
}

TEST_F(Driver, sectors_and_conflicts_are_counted) {
  void* f = load(kernelText("faults"), "tail_guard");
  DevicePointer p = allocate(256);
  ASSERT_EQ(run(f, {1, 64}, p, 64), 0);
  auto counters = api().counters();
  EXPECT_EQ(counters.launches, 1u);
  EXPECT_EQ(counters.global_requests, 2u);
  EXPECT_EQ(counters.global_sectors, 8u);
  // Lanes that store columns of 32 words: all in one bank.
  std::string text =
      ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u32 stride) {\n.reg .b32 "
      "%r<5>;\n"
      ".shared .align 4 .b8 tile[8192];\nmov.u32 %r1, %tid.x; ld.param.u32 %r2, [stride];\nmul.lo.u32 %r3, "
      "%r1, %r2; shl.b32 %r3, %r3, 2;\n"
      "mov.u32 %r4, tile; add.u32 %r3, %r3, %r4; st.shared.u32 [%r3], %r1;\nret;\n}\n";
  void* k = load(text, "k");
  for (auto [stride, ways] : {std::pair{1, 1}, {2, 2}, {32, 32}, {33, 1}}) {
    auto before = api().counters();
    ASSERT_EQ(run(k, {1, 32}, stride), 0) << api().fault();
    EXPECT_EQ(api().counters().shared_ways - before.shared_ways, static_cast<uint64_t>(ways)) << stride;
  }
}

TEST_F(Driver, names_of_errors) {
  const char* name = nullptr;
  EXPECT_EQ(api().call("cuGetErrorName", 716, &name), 0);
  EXPECT_STREQ(name, "CUDA_ERROR_MISALIGNED_ADDRESS");
}

}  // namespace
