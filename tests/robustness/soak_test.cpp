// Run for a long time: memory stays where it was, and the same question gets the same bits, on whatever
// thread it is asked.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "tests/robustness/allocation_hook.h"
#include "tests/robustness/compiled_program.h"
#include "tests/robustness/shell.h"
#include "tests/robustness/worker.h"

namespace dyn::robustness {
namespace {

constexpr const char* kModel = R"(fn @main(%x: Tensor[(n, 16), f32], %w: Tensor[(16, 8), f32]) {
  %h = matmul(%x, %w)
  %r = relu(%h)
  %s = softmax(%r) {axis = 1}
  %t = transpose(%s) {perm = [1, 0]}
  %k = nonzero(%r)
  return %t, %s, %k
})";
constexpr int64_t kLargest = 40'000;

int64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

class Soak : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::shared_ptr<const CompiledModel>> compiled = compileText(kModel);
    if (!compiled.ok() && compiled.error().id == DiagnosticId::unsupportedFeature)
      GTEST_SKIP() << compiled.error().message;
    ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
    Result<dyn_module*> module = instantiate(*compiled);
    ASSERT_TRUE(module.ok()) << module.error().toString();
    module_.reset(*module);
  }
  // The bytes of all outputs for `rows` rows.
  static std::string run(dyn_context* context, int64_t rows) {
    const ValueHandle x = floatsOf(context, {rows, 16}, static_cast<uint32_t>(rows)),
                      w = floatsOf(context, {16, 8});
    (void)dyn_context_set_input(context, 0, x.get());
    (void)dyn_context_set_input(context, 1, w.get());
    if (dyn_context_run(context) != DYN_OK) return dyn_last_message();
    return outputBytes(context, 0) + outputBytes(context, 1) + outputBytes(context, 2);
  }
  static dyn_statistics statistics(dyn_context* context) {
    dyn_statistics result{};
    (void)dyn_context_statistics(context, &result);
    return result;
  }
  ModuleHandle module_;
};

TEST_F(Soak, MemoryStaysFlatOverRandomShapes) {
  const int runs = kMeasures ? 100'000 : 2'000;
  ContextHandle largest = makeContext(module_.get());
  run(largest.get(), kLargest);
  const uint64_t need = statistics(largest.get()).held_bytes;
  largest.reset();

  const ContextHandle context = makeContext(module_.get());
  std::mt19937 random(1);
  // Mostly small, so that it is quick; all up to the largest.
  auto rows = [&] {
    return static_cast<int64_t>(random() % 1024 == 0 ? random() % (kLargest + 1) : random() % 20);
  };
  run(context.get(), kLargest);
  for (int i = 0; i < runs / 10; ++i) run(context.get(), rows());
  const int64_t resident = residentBytes(), live = liveAllocations();
  uint64_t highest = 0;
  for (int i = 0; i < runs; ++i) {
    run(context.get(), rows());
    highest = std::max(highest, statistics(context.get()).held_bytes);
  }
  EXPECT_LE(static_cast<double>(highest), 1.25 * static_cast<double>(need)) << "bytes held by the pool";
  EXPECT_LE(liveAllocations() - live, 8) << "blocks of operator new";
  if (kMeasures) {
    EXPECT_LE(static_cast<double>(residentBytes()), 1.01 * static_cast<double>(resident) + 65536);
  }
}

TEST_F(Soak, ThreadsThatShareAModuleGetTheBitsOfOneThread) {
  const int runs = kMeasures ? 2'000 : 100;
  constexpr uint32_t kThreads = 8;
  auto work = [&](uint32_t seed) {
    const ContextHandle context = makeContext(module_.get());
    std::mt19937 random(seed);
    std::vector<size_t> hashes;
    for (int i = 0; i < runs; ++i)
      hashes.push_back(std::hash<std::string>()(run(context.get(), static_cast<int64_t>(random() % 50))));
    return hashes;
  };
  std::vector<std::vector<size_t>> serial, parallel(kThreads);
  for (uint32_t t = 0; t < kThreads; ++t) serial.push_back(work(t));
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) threads.emplace_back([&, t] { parallel[t] = work(t); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(serial, parallel);
}

TEST_F(Soak, TheSameBitsEveryTimeAndForEveryNumberOfThreads) {
  const int runs = kMeasures ? 1'000 : 50;
  std::string first;
  for (int threads : {1, 2, 3}) {
    dyn_options options{};
    options.thread_count = threads;
    const ContextHandle context = makeContext(module_.get(), options);
    for (int i = 0; i < (threads == 2 ? runs : 20); ++i) {
      const std::string bytes = run(context.get(), 700);
      if (first.empty()) first = bytes;
      ASSERT_EQ(bytes == first, true) << "run " << i << " with " << threads << " threads";
    }
  }
}

TEST(Determinism, TheSameModelGivesTheSamePackage) {
  const test::TemporaryFolder folder;
  folder.write("m.dyn", kModel);
  std::vector<std::string> packages;
  for (const char* name : {"first.dynpkg", "second.dynpkg"}) {
    Shell shell(0);
    ASSERT_EQ(said(*shell.line(":load " + (folder / "m.dyn"))), "");
    const std::string path = folder / name;
    const std::string text = said(*shell.line(":compile -o " + path));
    if (text.rfind("E0502", 0) == 0) GTEST_SKIP() << text;
    ASSERT_EQ(text, "");
    std::ifstream file(path, std::ios::binary);
    packages.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  EXPECT_GT(packages[0].size(), 1000u);
  EXPECT_TRUE(packages[0] == packages[1]) << packages[0].size() << " and " << packages[1].size() << " bytes";
}

}  // namespace
}  // namespace dyn::robustness
