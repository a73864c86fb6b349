// What the interpreter costs: nanoseconds for an instruction on scalars, and for launching a kernel that does
// nothing (items_per_second counts instructions of the loop's body).
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

#include "vm/include/abi/dyn_kernel.h"
#include "vm/include/dynvm.h"
#include "vm/isa/assembler.h"
#include "vm/isa/program_file.h"

namespace dyn::vm {
namespace {

constexpr int64_t kTurns = 1 << 20;

int32_t nothing(void* const*, const int64_t*, int64_t, int64_t, void*) { return DYN_KERNEL_OK; }
DynKernelFunction resolve(void*, const char*) { return nothing; }

void orDie(bool ok) {
  if (ok) return;
  fprintf(stderr, "%s\n", dyn_last_message());
  abort();
}

// Runs `body` kTurns times in one call of main; `instructions` is the number in the body, with the three of
// the loop.
void runBody(benchmark::State& state, const std::string& body, int64_t instructions) {
  Program program;
  const Status status = parseProgramText(
      "kernel \"nothing\" symbol \"nothing\" buffers 0 outputs 0 scalars 0 scratch 0 \"loop\"\n"
      "function main\n const r0 " +
          std::to_string(kTurns) + "\n const r3 0\n const r4 7\nagain:\n" + body +
          " addi r0 r0 -1\n lt r1 r3 r0\n jumpif r1 again\n ret []\nmain main\n",
      program);
  if (!status.ok()) {
    state.SkipWithError(status.toString().c_str());
    return;
  }
  const std::vector<uint8_t> bytes = serializeProgram(program);
  dyn_host host = {};
  host.resolve_kernel = resolve;
  dyn_module* module = nullptr;
  dyn_context* context = nullptr;
  orDie(dyn_module_load_memory(bytes.data(), bytes.size(), &host, &module) == DYN_OK);
  orDie(dyn_context_create(module, nullptr, &context) == DYN_OK);
  for (auto _ : state) orDie(dyn_context_run(context) == DYN_OK);
  state.SetItemsProcessed(state.iterations() * kTurns * instructions);
  state.counters["ns/instruction"] =
      benchmark::Counter(static_cast<double>(kTurns * instructions) * 1e-9,
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  dyn_context_release(context);
  dyn_module_release(module);
}

void scalarInstructions(benchmark::State& state) {
  runBody(state, " add r2 r0 r4\n mul r2 r2 r4\n floordiv r2 r2 r4\n max r2 r2 r0\n", 7);
}
BENCHMARK(scalarInstructions)->Unit(benchmark::kMillisecond);

void kernelLaunches(benchmark::State& state) { runBody(state, " launch k0 r4 r4 [] []\n", 4); }
BENCHMARK(kernelLaunches)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dyn::vm
