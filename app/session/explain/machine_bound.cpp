#include "app/session/explain/machine_bound.h"

#include <algorithm>
#include <atomic>

#include "app/engine/device/device_name.h"
#include "app/engine/model/loaded_model.h"
#include "app/engine/run/run_result.h"
#include "compiler/support/clock.h"
#include "vm/include/dynvm.h"
#include "vm/shared/dyn_tiles.h"

namespace dyn {

namespace {

// Bytes of the widest vector register; of processors that are not asked more than any has.
double vectorBytes() {
#if defined(__x86_64__) || defined(__i386__)
  if (__builtin_cpu_supports("avx512f")) return 64;
  return __builtin_cpu_supports("avx") ? 32 : 16;
#elif defined(__aarch64__)
  return 16;  // as kernels take them
#else
  return 64;
#endif
}

// Elements of half the size go into a register twice.
double timesAsMany(ProductsOf of) { return of == ProductsOf::bytes ? 4 : of == ProductsOf::pairs ? 2 : 1; }

// Multiply-adds that a tile instruction ends in a cycle: 16 x 16 sums of two bf16, or of four bytes.
double tileOperations(ProductsOf of) {
  if (of == ProductsOf::f32 || !(tileSupport().bf16 || tileSupport().bytes)) return 0;
  return of == ProductsOf::bytes ? 4096 : 2048;
}

ProductsOf narrowestOf(const RunResult& run) {
  ProductsOf narrowest = ProductsOf::f32;
  for (const TimelineEvent& event : run.timeline) {
    const auto holds = [&](const char* part) { return event.shapes.find(part) != std::string::npos; };
    if (holds("8[") || holds("bool[") || holds("i4[") || holds("u4[")) return ProductsOf::bytes;
    if (holds("16[")) narrowest = ProductsOf::pairs;
  }
  return narrowest;
}

}  // namespace

double clockGhz() {
  // Each addition waits for the one before, and takes a cycle.
  constexpr int64_t kAdditions = 4096;
  constexpr int kTrials = 24;
  int64_t least = INT64_MAX;
  uint64_t sum = 1, step = 3;
  for (int trial = 0; trial < kTrials; ++trial) {
    const int64_t begin = steadyNs();
    for (int64_t i = 0; i < kAdditions; i += 16) {
      for (int k = 0; k < 16; ++k) {
        sum += step;
        asm volatile("" : "+r"(sum), "+r"(step));
      }
    }
    least = std::min(least, std::max<int64_t>(1, steadyNs() - begin));
  }
  // A measurement that other work disturbed is too low: none is below an earlier one.
  static std::atomic<double> fastest = 0;
  const double now = static_cast<double>(kAdditions) / static_cast<double>(least);
  double before = fastest;
  while (before < now && !fastest.compare_exchange_weak(before, now)) {
  }
  return std::max(before, now);
}

MachineBound machineBound(int threads, ProductsOf narrowest) {
  // In a cycle two multiply-adds and two additions, and four vectors to and from memory. The clock of another
  // moment, or core, may be higher than the one measured.
  constexpr double kArithmetic = 2 * 2 + 2, kVectors = 4, kFasterClock = 1.25;
  const double cycles = clockGhz() * kFasterClock * std::max(1, threads), bytes = vectorBytes();
  MachineBound bound;
  bound.gflops =
      cycles * std::max(kArithmetic * bytes / 4 * timesAsMany(narrowest), tileOperations(narrowest));
  bound.gigabytesPerSecond = cycles * kVectors * bytes;
  return bound;
}

MachineBound checkRates(const EngineOptions& options, RunResult& run) {
  const int threads = threadsOf(options);
  const bool onHost = isOnHost(options.device);
  const MachineBound bound = onHost ? machineBound(threads, narrowestOf(run)) : MachineBound();
  const auto isBeyond = [](double amount, int64_t timeNs, double most) {
    return Rate::of(amount, static_cast<double>(timeNs), most).isBeyond();
  };
  for (TimelineEvent& event : run.timeline) {
    const double bytes = std::max(event.movedBytes, static_cast<double>(event.bytes));
    if (isBeyond(bytes, event.durationNs, bound.gigabytesPerSecond)) event.movedBytes = 0, event.bytes = 0;
    if (isBeyond(event.operations, event.durationNs, bound.gflops)) event.operations = 0;
  }
  if (!run.profile) return bound;
  KernelTable table = *run.profile;
  for (KernelRow& row : table.rows)
    if (isBeyond(static_cast<double>(row.bytes), row.totalNs, bound.gigabytesPerSecond)) row.bytes = 0;
  run.profile = std::make_shared<const KernelTable>(std::move(table));
  return bound;
}

}  // namespace dyn
