// What the machine can do, in the terms the other benchmarks are compared with: multiply-adds of the
// micro-kernel with everything in the L1 cache (FLOP/s), the rate at which one row times a matrix reads that
// matrix from each level of memory (bytes/s), and what a fork-join of the pool costs.
#include <benchmark/benchmark.h>

#include <vector>

#include "vm/base/thread_pool.h"
#include "vm/core/builtin/builtin.h"

namespace dyn::vm {
namespace {

std::vector<float> ones(int64_t count) { return std::vector<float>(static_cast<size_t>(count) + 64, 1.0f); }

void fmaPeak(benchmark::State& state) {
  const DynGemmFamily& family = *defaultGemmFamily();
  const int64_t rows = family.maxRows, width = family.panelWidth, depth = 64;
  const std::vector<float> a = ones(rows * depth), b = ones(depth * width);
  std::vector<float> c = ones(rows * width);
  for (auto _ : state) {
    family.microKernels[rows - 1](depth, a.data(), depth, b.data(), c.data(), width, width, 0);
    benchmark::ClobberMemory();
  }
  state.counters["FLOP/s"] = benchmark::Counter(static_cast<double>(2 * rows * width * depth),
                                                benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(fmaPeak);

// range(0): KiB of the matrix.
void readRate(benchmark::State& state) {
  const DynGemmFamily& family = *defaultGemmFamily();
  const int64_t width = family.panelWidth, depth = 256, panelElements = depth * width;
  const int64_t panels = std::max<int64_t>(1, state.range(0) * 1024 / 4 / panelElements);
  const std::vector<float> a = ones(depth), b = ones(panels * panelElements);
  std::vector<float> c = ones(width);
  for (auto _ : state) {
    for (int64_t panel = 0; panel < panels; ++panel)
      family.microKernels[0](depth, a.data(), depth, b.data() + panel * panelElements, c.data(), width, width,
                             0);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * panels * panelElements * 4);
}
BENCHMARK(readRate)->Arg(16)->Arg(384)->Arg(8 << 10)->Arg(256 << 10);

// range(0): threads.
void forkJoin(benchmark::State& state) {
  ThreadPool pool(static_cast<uint32_t>(state.range(0)));
  for (auto _ : state)
    pool.split(state.range(0), static_cast<uint32_t>(state.range(0)),
               [](int64_t begin, int64_t) { benchmark::DoNotOptimize(begin); });
}
BENCHMARK(forkJoin)->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace dyn::vm
