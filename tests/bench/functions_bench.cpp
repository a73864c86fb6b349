// Element-wise functions of generated code: the largest error over all 2^32 floats (each function takes a
// minute or two), and what an element costs.
//
//   ./dev bench functions                     all
//   build/release/bin/functions_bench --benchmark_filter=cost     costs only
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "compiler/codegen/emit/math_kernel.h"
#include "compiler/codegen/llvm/machine_catalog.h"
#include "compiler/codegen/object/engine.h"
#include "tests/support/math_reference.h"
#include "vm/include/abi/dyn_kernel.h"

namespace dyn {
namespace {

struct Kernel {
  KernelEngine engine;
  KernelSet set;
  DynKernelFunction call;
};

Result<Kernel> kernelOf(MathFunction function, FloatType type) {
  DYN_TRY(MachineDescription machine, detectHost());
  DYN_TRY(KernelEngine engine, KernelEngine::create(machine));
  DYN_TRY(ObjectCode object,
          engine.compile({.name = "math", .build = [&] { return emitMathKernel(function, type, machine); }}));
  const std::string symbol = mathKernelSymbol(function, type);
  DYN_TRY(KernelSet set, engine.load({object}, {symbol}));
  DYN_TRY(auto call, set.function<DynKernelFunction>(symbol));
  return Kernel{std::move(engine), std::move(set), call};
}

void everyFloat(benchmark::State& state, MathFunction function) {
  auto kernel = kernelOf(function, FloatType::float32);
  if (!kernel.ok()) return state.SkipWithError(kernel.error().toString().c_str());
  const auto exact = test::exactOf<double>(function);
  constexpr uint64_t kChunk = 1 << 16;
  std::vector<float> x(kChunk), y(kChunk);
  double worst = 0, where = 0;
  for (auto _ : state) {
    for (uint64_t begin = 0; begin < uint64_t{1} << 32; begin += kChunk) {
      for (uint64_t i = 0; i < kChunk; ++i) {
        const auto bits = static_cast<uint32_t>(begin + i);
        std::memcpy(&x[i], &bits, sizeof bits);
      }
      void* buffers[] = {x.data(), y.data()};
      kernel->call(buffers, nullptr, 0, kChunk, nullptr);
      for (uint64_t i = 0; i < kChunk; ++i) {
        const double error = test::ulpError(y[i], exact(x[i]));
        if (error > worst) worst = error, where = x[i];
      }
    }
  }
  state.counters["largest_ulp"] = worst;
  state.counters["stated_ulp"] = mathFunctionRow(function).floatUlp;
  state.SetLabel("at " + std::to_string(where));
}

template <typename Number>
void cost(benchmark::State& state, MathFunction function, FloatType type) {
  auto kernel = kernelOf(function, type);
  if (!kernel.ok()) return state.SkipWithError(kernel.error().toString().c_str());
  constexpr int64_t kCount = 4096;
  std::vector<Number> x(kCount), second(kCount, static_cast<Number>(1.7)), y(kCount);
  for (int64_t i = 0; i < kCount; ++i)
    x[static_cast<size_t>(i)] = static_cast<Number>(0.01) + static_cast<Number>(i) / kCount;
  std::vector<void*> buffers = {x.data()};
  if (mathFunctionRow(function).arity == 2) buffers.push_back(second.data());
  buffers.push_back(y.data());
  for (auto _ : state) kernel->call(buffers.data(), nullptr, 0, kCount, nullptr);
  state.SetItemsProcessed(state.iterations() * kCount);
}

const bool kRegistered = [] {
  for (const MathFunctionRow& row : mathFunctionTable()) {
    const std::string name(row.name);
    const MathFunction function = row.function;
    benchmark::RegisterBenchmark(("cost_f32/" + name).c_str(), [function](benchmark::State& state) {
      cost<float>(state, function, FloatType::float32);
    });
    benchmark::RegisterBenchmark(("cost_f64/" + name).c_str(), [function](benchmark::State& state) {
      cost<double>(state, function, FloatType::float64);
    });
    if (row.arity == 1)
      benchmark::RegisterBenchmark(("every_float/" + name).c_str(),
                                   [function](benchmark::State& state) { everyFloat(state, function); })
          ->Iterations(1)
          ->Unit(benchmark::kSecond);
  }
  return true;
}();

}  // namespace
}  // namespace dyn
