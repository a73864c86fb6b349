// What it costs to choose the schedule of a matrix product, uncached and cached, and how much slower the
// chosen one is than the best of all: an exhaustive search over 200 random shapes. Times of products are
// thread CPU time, the least of several rounds.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#include "vm/base/thread_pool.h"
#include "vm/core/builtin/builtin_host.h"
#include "vm/core/builtin/gemm_schedule.h"
#include "vm/core/object/object.h"

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
  BuiltinHost host{&single, &cancel, {}};

  Ref<Object> matrix(int64_t rows, int64_t columns) {
    dyn_status why = DYN_OK;
    const int64_t shape[] = {rows, columns};
    Tensor* made = newTensor(pool, DataType::f32, 2, shape, why);
    if (!made) abort();
    std::fill_n(made->as<float>(), made->elementCount, 1.0f);
    return Ref<Object>(made);
  }
  double run(std::vector<Object*> arguments, Object*& result, int32_t number, const char* name, bool into) {
    BuiltinCall call(host);
    call.pool = pool;
    call.gemmFamily = defaultGemmFamily();
    call.arguments = arguments;
    call.results = {&result, 1};
    call.into = into;
    const int32_t numbers[] = {number};
    call.numbers = numbers;
    const double start = threadNs();
    if (!runBuiltin(*findBuiltin(name), call).ok()) abort();
    return threadNs() - start;
  }
};

// Rows of the table that do different work for this shape on one thread; each stands for those that do the
// same.
std::vector<size_t> distinctSchedules(const contraction::ProductShape& shape, int64_t maxRows) {
  std::vector<size_t> distinct;
  std::vector<std::pair<int64_t, int64_t>> works;
  for (size_t i = 0; i < kProductSchedules.size(); ++i) {
    const contraction::ProductSchedule& s = kProductSchedules[i];
    if (s.side == contraction::SplitSide::rows) continue;  // of several threads
    const std::pair<int64_t, int64_t> work{contraction::depthBlockOf(shape, maxRows, s),
                                           std::min(shape.rows, s.rowTiles * maxRows)};
    if (std::find(works.begin(), works.end(), work) != works.end()) continue;
    works.push_back(work);
    distinct.push_back(i);
  }
  return distinct;
}

// Every schedule is measured in turn; the best ones and the chosen one then measured anew, so that what
// merely had a lucky round does not count as best.
void distanceFromExhaustiveSearch(benchmark::State& state) {
  constexpr int kRounds = 5, kFreshRounds = 25;
  constexpr size_t kContenders = 3;
  const DynGemmFamily& family = *defaultGemmFamily();
  const contraction::ProductMachine machine = kernels::productMachine(family.maxRows, family.panelWidth);
  Products products;
  std::vector<double> ratios, ofFirst;
  const std::vector<contraction::ProductShape> shapes = randomShapes(200, 1 << 27);
  for (auto _ : state) {
    for (const contraction::ProductShape& shape : shapes) {
      Ref<Object> a = products.matrix(shape.rows, shape.depth),
                  b = products.matrix(shape.depth, shape.columns),
                  c = products.matrix(shape.rows, shape.columns);
      Object *packed = nullptr, *result = c.get();
      products.run({b.get()}, packed, 0, "gemmpack", false);
      Ref<Object> keep(packed);
      contraction::ProductShape asked = shape;
      asked.copiesLeft = shape.depth % 1024 == 0 && shape.rows > 4;
      const std::vector<size_t> distinct = distinctSchedules(shape, family.maxRows);
      const auto measured = [&](const std::vector<size_t>& schedules, int rounds) {
        std::vector<double> best(schedules.size(), HUGE_VAL);
        for (int round = 0; round < rounds; ++round)
          for (size_t i = 0; i < schedules.size(); ++i) {
            const size_t at = round % 2 ? schedules.size() - 1 - i : i;
            const auto number = 4 + 256 * static_cast<int32_t>(schedules[at] + 1);
            best[at] = std::min(best[at], products.run({a.get(), packed}, result, number, "gemm", true));
          }
        return best;
      };
      const auto standIn = [&](size_t schedule) {
        for (size_t i : distinct)
          if (contraction::depthBlockOf(shape, family.maxRows, kProductSchedules[i]) ==
                  contraction::depthBlockOf(shape, family.maxRows, kProductSchedules[schedule]) &&
              std::min(shape.rows, kProductSchedules[i].rowTiles * family.maxRows) ==
                  std::min(shape.rows, kProductSchedules[schedule].rowTiles * family.maxRows))
            return i;
        return schedule;
      };
      const size_t chosen = standIn(contraction::cheapestSchedule(asked, machine));
      const std::vector<double> all = measured(distinct, kRounds);
      std::vector<size_t> order(distinct.size());
      std::iota(order.begin(), order.end(), size_t{0});
      std::sort(order.begin(), order.end(), [&](size_t l, size_t r) { return all[l] < all[r]; });
      std::vector<size_t> again{chosen};
      if (chosen != 0) again.push_back(0);
      for (size_t i = 0; i < order.size() && i < kContenders; ++i)
        if (std::find(again.begin(), again.end(), distinct[order[i]]) == again.end())
          again.push_back(distinct[order[i]]);
      const std::vector<double> fresh = measured(again, kFreshRounds);
      const auto least = std::min_element(fresh.begin(), fresh.end());
      ratios.push_back(fresh[0] / *least);
      ofFirst.push_back(fresh[chosen != 0 ? 1 : 0] / *least);
      if (ratios.back() > 1.05)
        fprintf(stderr, "%lld x %lld x %lld: %s %.0f us, %s %.0f us\n", static_cast<long long>(shape.rows),
                static_cast<long long>(shape.columns), static_cast<long long>(shape.depth),
                contraction::scheduleName(chosen).c_str(), fresh[0] * 1e-3,
                contraction::scheduleName(again[static_cast<size_t>(least - fresh.begin())]).c_str(),
                *least * 1e-3);
    }
  }
  const auto report = [&](const char* name, std::vector<double> of) {
    std::sort(of.begin(), of.end());
    const auto at = [&](double part) {
      return of[static_cast<size_t>(part * static_cast<double>(of.size() - 1))];
    };
    const std::string prefix = name;
    state.counters[prefix + "within_5%"] =
        static_cast<double>(std::upper_bound(of.begin(), of.end(), 1.05) - of.begin()) /
        static_cast<double>(of.size());
    state.counters[prefix + "mean"] =
        std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
    state.counters[prefix + "p95"] = at(0.95);
    state.counters[prefix + "worst"] = of.back();
  };
  report("", ratios);
  report("of_first_", ofFirst);  // always the first row of the table
}
BENCHMARK(distanceFromExhaustiveSearch)->Iterations(1)->Unit(benchmark::kSecond);

double rankCorrelation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto ranks = [](const std::vector<double>& values) {
    std::vector<size_t> order(values.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t l, size_t r) { return values[l] < values[r]; });
    std::vector<double> rank(values.size());
    for (size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<double>(i);
    return rank;
  };
  const std::vector<double> x = ranks(a), y = ranks(b);
  double squares = 0;
  for (size_t i = 0; i < x.size(); ++i) squares += (x[i] - y[i]) * (x[i] - y[i]);
  const auto n = static_cast<double>(x.size());
  return 1 - 6 * squares / (n * (n * n - 1));
}

// Each schedule measured once, at the one length it fits best; foretold from that at lengths that nobody
// listed, and measured there.
void rankOfUnlistedLengths(benchmark::State& state) {
  constexpr int64_t kDepth = 1600, kColumns = 512;
  constexpr int kRounds = 7;
  const DynGemmFamily& family = *defaultGemmFamily();
  const contraction::ProductMachine machine = kernels::productMachine(family.maxRows, family.panelWidth);
  const int64_t fits = 10 * family.maxRows;
  Products products;
  std::vector<double> predicted, measured;
  for (auto _ : state) {
    Ref<Object> b = products.matrix(kDepth, kColumns);
    Object* packed = nullptr;
    products.run({b.get()}, packed, 0, "gemmpack", false);
    Ref<Object> keep(packed);
    const auto time = [&](int64_t rows, size_t schedule) {
      Ref<Object> a = products.matrix(rows, kDepth), c = products.matrix(rows, kColumns);
      Object* result = c.get();
      double best = HUGE_VAL;
      for (int round = 0; round < kRounds; ++round)
        best = std::min(best, products.run({a.get(), packed}, result,
                                           4 + 256 * static_cast<int32_t>(schedule + 1), "gemm", true));
      return best;
    };
    const auto cost = [&](int64_t rows, size_t schedule) {
      return contraction::productCycles({rows, kColumns, kDepth, 1, false}, machine,
                                        kProductSchedules[schedule]);
    };
    for (size_t schedule : distinctSchedules({fits, kColumns, kDepth, 1, false}, family.maxRows)) {
      const double scale = time(fits, schedule) / cost(fits, schedule);
      for (int64_t rows = 1; rows <= 128; rows += 3) {
        predicted.push_back(scale * cost(rows, schedule));
        measured.push_back(time(rows, schedule));
      }
    }
    double off = 0;
    for (size_t i = 0; i < predicted.size(); ++i) off += std::fabs(predicted[i] / measured[i] - 1);
    state.counters["rank_correlation"] = rankCorrelation(predicted, measured);
    state.counters["mean_error"] = off / static_cast<double>(predicted.size());
  }
}
BENCHMARK(rankOfUnlistedLengths)->Iterations(1)->Unit(benchmark::kMillisecond);

// range(0) rows covered by tiles of two heights, beside the best single height, which computes rows that
// nobody wants.
void tilesOfTwoHeights(benchmark::State& state) {
  constexpr int64_t kDepth = 512, kPanels = 8;
  constexpr int kRounds = 200;
  const DynGemmFamily& family = *defaultGemmFamily();
  const int64_t rows = state.range(0), room = 2 * rows + family.maxRows;
  std::vector<float> a(static_cast<size_t>(room * kDepth), 1.0f),
      b(static_cast<size_t>(kPanels * kDepth * family.panelWidth), 1.0f),
      c(static_cast<size_t>(room * family.panelWidth));
  const auto tile = [&](int64_t first, int64_t height, int64_t panel) {
    family.microKernels[height - 1](
        kDepth, a.data() + first * kDepth, kDepth, b.data() + panel * kDepth * family.panelWidth,
        c.data() + first * family.panelWidth, family.panelWidth, family.panelWidth, 0);
  };
  const contraction::RowTiles tiles(rows, family.maxRows);
  for (auto _ : state) {
    std::vector<double> best(static_cast<size_t>(family.maxRows) + 1, HUGE_VAL);  // 0: of two heights
    for (int round = 0; round < kRounds; ++round)
      for (int64_t height = 0; height <= family.maxRows; ++height) {
        const double start = threadNs();
        for (int64_t panel = 0; panel < kPanels; ++panel) {
          if (height == 0)
            for (int64_t t = 0; t < tiles.count; ++t) tile(tiles.begin(t), tiles.height(t), panel);
          else
            for (int64_t first = 0; first < rows; first += height) tile(first, height, panel);
        }
        double& least = best[static_cast<size_t>(height)];
        least = std::min(least, threadNs() - start);
      }
    state.counters["two_heights_us"] = best[0] * 1e-3;
    state.counters["best_single_us"] = *std::min_element(best.begin() + 1, best.end()) * 1e-3;
  }
}
BENCHMARK(tilesOfTwoHeights)
    ->Arg(13)
    ->Arg(17)
    ->Arg(25)
    ->Arg(37)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dyn::vm
