// What it costs to choose the schedule of a matrix product, uncached and cached, and how much slower the chosen one is than the best of all: an
// exhaustive search over 200 random shapes. Times of products are thread CPU time, the least of several turns.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "vm/core/builtin.h"
#include "vm/core/gemm_schedule.h"
#include "vm/core/object.h"
#include "vm/core/thread_pool.h"

namespace dyn::vm {
namespace {

using contraction::kProductSchedules;

std::vector<contraction::ProductShape> randomShapes(int count, double mostSteps) {
  std::mt19937 random(11);
  auto size = [&](double low, double high) {
    std::uniform_real_distribution<double> log(std::log(low), std::log(high));
    return static_cast<int64_t>(std::exp(log(random)));
  };
  std::vector<contraction::ProductShape> shapes;
  while (static_cast<int>(shapes.size()) < count) {
    const contraction::ProductShape shape{size(1, 1500), size(16, 4096), size(16, 4096), 1, false};
    if (static_cast<double>(shape.rows) * static_cast<double>(shape.columns) *
            static_cast<double>(shape.depth) <=
        mostSteps)
      shapes.push_back(shape);
  }
  return shapes;
}

// range(0): threads.
void uncached(benchmark::State& state) {
  const DynGemmFamily& family = *defaultGemmFamily();
  std::vector<contraction::ProductShape> shapes = randomShapes(200, 1e12);
  for (auto& shape : shapes) shape.tasks = state.range(0);
  const contraction::ProductMachine machine = kernels::productMachine(family.maxRows, family.panelWidth);
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(contraction::cheapestSchedule(shapes[next], machine));
    next = next + 1 < shapes.size() ? next + 1 : 0;
  }
}
BENCHMARK(uncached)->Arg(1)->Arg(2);

void cached(benchmark::State& state) {
  const DynGemmFamily& family = *defaultGemmFamily();
  const std::vector<contraction::ProductShape> shapes = randomShapes(8, 1e12);
  kernels::ScheduleCache cache;
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(cache.find(shapes[next], family.maxRows, family.panelWidth));
    next = (next + 1) % shapes.size();
  }
}
BENCHMARK(cached);

double threadNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

struct Products {
  MemoryPool* pool = MemoryPool::create({});
  ThreadPool single{1};
  std::atomic<uint32_t> cancel{0};

  Ref<Object> matrix(int64_t rows, int64_t columns) {
    dyn_status why = DYN_OK;
    const int64_t shape[] = {rows, columns};
    Tensor* made = newTensor(pool, DataType::f32, 2, shape, 0, why);
    if (!made) abort();
    std::fill_n(made->as<float>(), made->elementCount, 1.0f);
    return Ref<Object>(made);
  }
  double run(std::vector<Object*> arguments, Object*& result, int32_t number, const char* name, bool into) {
    BuiltinCall call;
    call.pool = pool;
    call.threads = &single;
    call.cancelFlag = &cancel;
    call.gemmFamily = defaultGemmFamily();
    call.arguments = arguments;
    call.results = {&result, 1};
    call.into = into;
    const int32_t numbers[] = {number};
    call.numbers = numbers;
    const double start = threadNs();
    if (!findBuiltin(name)->function(call).ok()) abort();
    return threadNs() - start;
  }
};

void distanceFromExhaustiveSearch(benchmark::State& state) {
  const DynGemmFamily& family = *defaultGemmFamily();
  const contraction::ProductMachine machine = kernels::productMachine(family.maxRows, family.panelWidth);
  Products products;
  double logSum = 0, worst = 1, logFirst = 0;
  int within = 0;
  const std::vector<contraction::ProductShape> shapes = randomShapes(200, 1 << 27);
  for (auto _ : state) {
    for (const contraction::ProductShape& shape : shapes) {
      Ref<Object> a = products.matrix(shape.rows, shape.depth),
                  b = products.matrix(shape.depth, shape.columns),
                  c = products.matrix(shape.rows, shape.columns);
      Object *packed = nullptr, *result = c.get();
      products.run({b.get()}, packed, 0, "gemmpack", false);
      Ref<Object> keep(packed);
      std::vector<double> best(kProductSchedules.size(), HUGE_VAL);
      for (int turn = 0; turn < 9; ++turn)
        for (size_t i = 0; i < kProductSchedules.size(); ++i) {
          if (kProductSchedules[i].side == contraction::SplitSide::rows) continue;  // of several threads
          best[i] = std::min(best[i], products.run({a.get(), packed}, result,
                                                   4 + 256 * static_cast<int32_t>(i + 1), "gemm", true));
        }
      // Within one block all larger ones are the same work: what differs between them is noise.
      contraction::ProductShape asked = shape;
      asked.copiesLeft = shape.depth % 1024 == 0 && shape.rows > 4;
      const size_t chosen = contraction::cheapestSchedule(asked, machine);
      const double ratio = best[chosen] / *std::min_element(best.begin(), best.end());
      logSum += std::log(ratio);
      logFirst += std::log(best[0] / *std::min_element(best.begin(), best.end()));
      worst = std::max(worst, ratio);
      within += ratio <= 1.05;
    }
  }
  const double count = static_cast<double>(shapes.size());
  state.counters["mean_ratio"] = std::exp(logSum / count);
  state.counters["mean_ratio_of_first"] = std::exp(logFirst / count);  // always the first row of the table
  state.counters["worst_ratio"] = worst;
  state.counters["within_5%"] = within / count;
}
BENCHMARK(distanceFromExhaustiveSearch)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace dyn::vm
