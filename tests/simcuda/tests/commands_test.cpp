// Commands of libraries beside the driver (dyn_simcuda_command), and products of the simulated cuBLASLt among
// them: bounds, what nothing has written, the order of streams, graphs; what the library refuses.
#include "tests/simcuda/tests/api.h"

namespace {

// y[i] = x[i] + 1 for `count` words.
struct AddOne {
  DevicePointer x, y;
  uint32_t count;
  void* (*bytes)(uint64_t, uint64_t, int);
};
const char* addOne(void* state) {
  const auto& work = *static_cast<AddOne*>(state);
  const auto* from = static_cast<const uint32_t*>(work.bytes(work.x, work.count * 4, 0));
  auto* to = static_cast<uint32_t*>(from ? work.bytes(work.y, work.count * 4, 1) : nullptr);
  if (!to) return "its memory";
  for (uint32_t i = 0; i < work.count; ++i) to[i] = from[i] + 1;
  return nullptr;
}

class Commands : public DriverTest {
 protected:
  void* stream() {
    void* s = nullptr;
    EXPECT_EQ(api().call("cuStreamCreate", &s, 1u), 0);
    return s;
  }
  // The command says that it touches `said` words of both, and touches `count`.
  int issue(void* s, DevicePointer x, DevicePointer y, uint32_t count, uint32_t said) {
    auto* work = new AddOne{
        x, y, count, reinterpret_cast<void* (*)(uint64_t, uint64_t, int)>(api().symbol("dyn_simcuda_bytes"))};
    const dyn_simcuda_buffer touched[] = {{x, x + said * 4, DYN_SIMCUDA_INPUT},
                                          {y, y + said * 4, DYN_SIMCUDA_OUTPUT}};
    const dyn_simcuda_command_t command{
        "addOne", "add one", touched, 2, addOne, [](void* state) { delete static_cast<AddOne*>(state); },
        work};
    return api().call("dyn_simcuda_command", s, &command);
  }
  // What was copied is there before other streams look at it.
  DevicePointer placed(const std::vector<uint32_t>& values) {
    const DevicePointer p = upload(values);
    EXPECT_EQ(wait(), 0);
    return p;
  }
  int wait() { return api().call("cuCtxSynchronize"); }
};

TEST_F(Commands, runInTheOrderOfTheirStream) {
  const DevicePointer x = placed({1, 2, 3}), y = allocate(12), z = allocate(12);
  void* s = stream();
  ASSERT_EQ(issue(s, x, y, 3, 3), 0);
  ASSERT_EQ(issue(s, y, z, 3, 3), 0);
  ASSERT_EQ(wait(), 0) << api().fault();
  EXPECT_EQ(download<uint32_t>(z, 3), (std::vector<uint32_t>{3, 4, 5}));
}

TEST_F(Commands, whatTheyMayNotTouchIsAFault) {
  const DevicePointer x = placed({1, 2, 3}), y = allocate(12);
  ASSERT_EQ(issue(nullptr, x, y, 3, 2), 0);
  EXPECT_EQ(wait(), 700);
  EXPECT_NE(api().fault().find("beyond what it said"), std::string::npos) << api().fault();
  begin({});
  const DevicePointer fresh = allocate(12), to = allocate(12);
  ASSERT_EQ(issue(nullptr, fresh, to, 3, 3), 0);
  EXPECT_EQ(wait(), 700);
  EXPECT_NE(api().fault().find("nothing has written"), std::string::npos) << api().fault();
  begin({});
  const DevicePointer small = placed({1}), out = allocate(12);
  ASSERT_EQ(issue(nullptr, small, out, 1, 3), 0);
  EXPECT_EQ(wait(), 700) << "beyond its allocation";
}

TEST_F(Commands, keepToDeclaredBuffers) {
  const DevicePointer x = placed({1, 2, 3, 4}), y = allocate(16);
  for (const uint32_t declared : {4u, 3u}) {
    const dyn_simcuda_buffer buffers[] = {{x, x + 16, DYN_SIMCUDA_INPUT},
                                          {y, y + declared * 4, DYN_SIMCUDA_OUTPUT}};
    ASSERT_EQ(
        api().call("dyn_simcuda_next_buffers", static_cast<const dyn_simcuda_buffer*>(buffers), size_t{2}),
        0);
    ASSERT_EQ(issue(nullptr, x, y, 4, 4), 0);
    EXPECT_EQ(wait(), declared == 4 ? 0 : 700) << api().fault();
  }
}

TEST_F(Commands, raceWithOtherStreams) {
  for (const char* seed : {"0", "1", "2", "3"}) {
    begin({{"DYN_SIMCUDA_SEED", seed}});
    const DevicePointer x = placed({1, 2, 3}), y = allocate(12);
    ASSERT_EQ(issue(stream(), x, y, 3, 3), 0);
    ASSERT_EQ(api().call("cuMemsetD32Async", y, 7u, size_t{3}, stream()), 0);
    EXPECT_EQ(wait(), 719);
    EXPECT_NE(api().fault().find("stream race"), std::string::npos) << api().fault();
  }
}

TEST_F(Commands, areCapturedInGraphs) {
  const DevicePointer x = placed({1}), y = allocate(4);
  void *s = stream(), *graph = nullptr, *exec = nullptr;
  ASSERT_EQ(api().call("cuStreamBeginCapture_v2", s, 1), 0);
  ASSERT_EQ(issue(s, x, y, 1, 1), 0);
  ASSERT_EQ(api().call("cuStreamEndCapture", s, &graph), 0);
  ASSERT_EQ(api().call("cuGraphInstantiateWithFlags", &exec, graph, 0ull), 0);
  for (uint32_t value : {5u, 9u}) {
    ASSERT_EQ(api().call("cuMemsetD32Async", x, value, size_t{1}, s), 0);
    ASSERT_EQ(api().call("cuGraphLaunch", exec, s), 0);
    ASSERT_EQ(wait(), 0) << api().fault();
    EXPECT_EQ(download<uint32_t>(y, 1), std::vector<uint32_t>{value + 1});
  }
  EXPECT_EQ(api().call("cuGraphExecDestroy", exec), 0);
}

// --- the library of products

struct Choice {
  uint64_t algorithm[8];
  size_t workspaceBytes;
  int state;
  float waves;
  int reserved[4];
};

class Products : public Commands {
 protected:
  void SetUp() override {
    Commands::SetUp();
    (void)api();  // the driver is there first, as in a program
    library_ = dlopen(SIMCUBLASLT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(library_) << dlerror();
    ASSERT_EQ(lt("cublasLtCreate", &handle_), 0);
    ASSERT_EQ(lt("cublasLtMatmulDescCreate", &product_, 68, 0), 0);
    ASSERT_EQ(lt("cublasLtMatmulPreferenceCreate", &wishes_), 0);
  }
  template <class... A>
  int lt(const char* name, A... arguments) {
    auto* f = reinterpret_cast<int (*)(A...)>(dlsym(library_, name));
    return f ? f(arguments...) : -1;
  }
  void* layout(uint64_t rows, uint64_t columns, int64_t stride) {
    void* made = nullptr;
    EXPECT_EQ(lt("cublasLtMatrixLayoutCreate", &made, 0, rows, columns, stride), 0);
    return made;
  }
  int choose(void* a, void* b, void* d) {
    int count = 0;
    return lt("cublasLtMatmulAlgoGetHeuristic", handle_, product_, a, b, d, d, wishes_, 1, &choice_, &count);
  }
  int multiply(DevicePointer a, void* ofA, DevicePointer b, void* ofB, DevicePointer d, void* ofD,
               DevicePointer workspace, size_t workspaceBytes) {
    const float one = 1, zero = 0;
    return lt("cublasLtMatmul", handle_, product_, static_cast<const void*>(&one), a, ofA, b, ofB,
              static_cast<const void*>(&zero), d, ofD, d, ofD, static_cast<const void*>(choice_.algorithm),
              workspace, workspaceBytes, static_cast<void*>(nullptr));
  }
  void* library_ = nullptr;
  void *handle_ = nullptr, *product_ = nullptr, *wishes_ = nullptr;
  Choice choice_{};
};

// [1 3; 2 4] [5; 6], columns first.
TEST_F(Products, columnsFirst) {
  const DevicePointer a = upload<float>({1, 2, 3, 4}), b = upload<float>({5, 6}), d = allocate(8);
  void *ofA = layout(2, 2, 2), *ofB = layout(2, 1, 2), *ofD = layout(2, 1, 2);
  ASSERT_EQ(choose(ofA, ofB, ofD), 0);
  ASSERT_EQ(multiply(a, ofA, b, ofB, d, ofD, 0, 0), 0);
  ASSERT_EQ(wait(), 0) << api().fault();
  EXPECT_EQ(download<float>(d, 2), (std::vector<float>{23, 34}));
}

TEST_F(Products, whatDoesNotGoTogetherIsRefused) {
  EXPECT_EQ(choose(layout(2, 3, 2), layout(2, 1, 2), layout(2, 1, 2)), 7) << "sums of 3 and of 2";
  EXPECT_EQ(choose(layout(2, 2, 1), layout(2, 1, 2), layout(2, 1, 2)), 7) << "columns that overlap";
  // Told that addresses are multiples of 256 (the default), it is given one that is not.
  const DevicePointer a = upload<float>({1, 2, 3, 4, 5}), b = upload<float>({5, 6}), d = allocate(8);
  void *ofA = layout(2, 2, 2), *ofB = layout(2, 1, 2), *ofD = layout(2, 1, 2);
  ASSERT_EQ(choose(ofA, ofB, ofD), 0);
  EXPECT_EQ(multiply(a + 4, ofA, b, ofB, d, ofD, 0, 0), 7);
  // A long sum with less workspace than it was chosen for.
  void *longA = layout(1, 64, 1), *longB = layout(64, 1, 64), *single = layout(1, 1, 1);
  const uint64_t most = 1024;
  ASSERT_EQ(
      lt("cublasLtMatmulPreferenceSetAttribute", wishes_, 1, static_cast<const void*>(&most), sizeof most),
      0);
  ASSERT_EQ(choose(longA, longB, single), 0);
  EXPECT_EQ(choice_.workspaceBytes, 8u);
  const DevicePointer x = upload(std::vector<float>(64, 1.0f)), y = upload(std::vector<float>(64, 2.0f));
  EXPECT_EQ(multiply(x, longA, y, longB, d, single, 0, 0), 7);
  ASSERT_EQ(multiply(x, longA, y, longB, d, single, allocate(8), 8), 0);
  ASSERT_EQ(wait(), 0) << api().fault();
  EXPECT_EQ(download<float>(d, 1), std::vector<float>{128});
}

}  // namespace
