#include "compiler/driver/native_code.h"

#ifdef DYN_HAVE_LLVM
#include <mutex>
#include <optional>
#include <unordered_map>

#include "compiler/codegen/emit/loop_codegen.h"
#include "compiler/codegen/emit/micro_kernel.h"
#include "compiler/codegen/object/engine.h"
#include "compiler/loop/kernel_key.h"
#include "compiler/support/clock.h"

namespace dyn {

struct NativeCode {
  std::optional<KernelEngine> engine;
  std::optional<KernelSet> kernels;
  std::optional<GemmFamily> gemm;
  std::unordered_map<std::string, DynKernelFunction> functions;
  // Of the kernels, in their order. Those that a cache has, too, are here until they are loaded.
  std::vector<ObjectCode> objects;
  int64_t compiledWhenReady = 0;  // by the engine, micro-kernels included
};

namespace {

// Kernels share the module's dims, which are one thread's at a time: emitting is serial, compiling is not.
KernelJob jobFor(const CompiledModel& compiled, size_t index, const MachineDescription& machine,
                 std::mutex& emitting) {
  const loop::Kernel& kernel = compiled.lowered.kernels[index];
  const std::string& symbol = compiled.lowered.program.kernels[index].symbol;
  KernelJob job;
  job.name = kernel.name;
  // Without one the engine looks its code up by what is generated.
  if (const std::optional<std::string> key = loop::lastingKey(kernel)) job.key = symbol + "\n" + *key;
  job.build = [&kernel, &symbol, &machine, &emitting] {
    const std::lock_guard<std::mutex> lock(emitting);
    return emitLoopKernel(kernel, symbol, machine);
  };
  return job;
}

}  // namespace

Status emitObjects(CompiledModel& compiled, const CompileOptions& options) {
  const MachineDescription& machine = compiled.target.machine;
  auto code = std::make_shared<NativeCode>();
  EngineSettings settings;
  settings.cache.directory = options.cacheDirectory;
  settings.threadCount = options.threadCount;
  DYN_TRY(code->engine, KernelEngine::create(machine, settings));

  const int64_t start = steadyNs();
  std::mutex emitting;
  std::vector<KernelJob> jobs;
  for (size_t i = 0; i < compiled.lowered.kernels.size(); ++i)
    jobs.push_back(jobFor(compiled, i, machine, emitting));
  if (!jobs.empty()) {
    DYN_TRY(code->objects, code->engine->compileAll(jobs));
  }
  compiled.statistics.kernelsCompiledCount = code->engine->statistics().compiled;
  code->compiledWhenReady = code->engine->statistics().compiled;
  compiled.statistics.compileNs = code->compiledWhenReady == 0 ? 0 : steadyNs() - start;
  compiled.code = std::move(code);
  return {};
}

Status loadCode(CompiledModel& compiled) {
  NativeCode& code = *compiled.code;
  const int64_t start = steadyNs();
  std::vector<std::string> symbols;
  for (const vm::KernelRow& row : compiled.lowered.program.kernels) symbols.push_back(row.symbol);
  if (!symbols.empty()) {
    DYN_TRY(code.kernels, code.engine->load(code.objects, symbols));
    if (code.engine->usesCache()) code.objects.clear();
    for (const std::string& symbol : symbols) {
      DYN_TRY(DynKernelFunction function, code.kernels->function<DynKernelFunction>(symbol));
      code.functions[symbol] = function;
    }
  }
  if (compiled.lowered.usesGemmFamily) {
    // Heights of tiles may differ with the number of threads; results may not.
    DYN_TRY(code.gemm, loadGemmFamily(*code.engine, SummationOrder::fastest));
  }
  code.compiledWhenReady = code.engine->statistics().compiled;
  if (code.compiledWhenReady > 0) compiled.statistics.compileNs += steadyNs() - start;
  return {};
}

DynKernelFunction findKernel(const NativeCode& code, const char* symbol) {
  auto it = code.functions.find(symbol);
  return it == code.functions.end() ? nullptr : it->second;
}

int64_t kernelsCompiledAfterLoad(const CompiledModel& compiled) {
  return compiled.code ? compiled.code->engine->statistics().compiled - compiled.code->compiledWhenReady : 0;
}

const DynGemmFamily* gemmFamilyOf(const NativeCode& code) {
  return code.gemm ? &code.gemm->table() : nullptr;
}

Result<std::vector<std::string>> kernelObjects(const CompiledModel& compiled) {
  std::vector<ObjectCode> objects = compiled.code->objects;
  if (objects.empty()) {
    std::mutex emitting;
    std::vector<KernelJob> jobs;
    for (size_t i = 0; i < compiled.lowered.kernels.size(); ++i)
      jobs.push_back(jobFor(compiled, i, compiled.target.machine, emitting));
    DYN_TRY(objects, compiled.code->engine->compileAll(jobs));
  }
  std::vector<std::string> bytes;
  for (ObjectCode& object : objects) bytes.push_back(std::move(object.bytes));
  return bytes;
}

std::string packageTarget(const CompiledModel& compiled) {
  const MachineDescription& machine = compiled.target.machine;
  std::string target = machine.triple.substr(0, machine.triple.find('-'));
  std::string features;
  auto need = [&](bool needed, const char* name) {
    if (needed) features += (features.empty() ? ":" : "+") + std::string(name);
  };
  if (target == "x86_64") {
    need(machine.vectorBits >= 256, "avx2");
    need(machine.fma, "fma");
    for (const char* name : {"avx512f", "avx512bw", "avx512vl", "avx512dq"}) need(machine.avx512, name);
  }
  return target + features;
}

Result<std::string> kernelText(const CompiledModel& compiled, size_t kernel, KernelText form) {
  if (kernel >= compiled.lowered.kernels.size())
    return makeError(DiagnosticId::textName, "there is no kernel " + std::to_string(kernel));
  const MachineDescription& machine = compiled.target.machine;
  if (form == KernelText::llvm) {
    DYN_TRY(KernelModule module, emitLoopKernel(compiled.lowered.kernels[kernel],
                                                compiled.lowered.program.kernels[kernel].symbol, machine));
    return module.irText();
  }
  DYN_TRY(KernelEngine engine, KernelEngine::create(machine));
  std::mutex emitting;
  return engine.assembly(jobFor(compiled, kernel, machine, emitting));
}

}  // namespace dyn

#else

namespace dyn {

struct NativeCode {};

Status emitObjects(CompiledModel& compiled, const CompileOptions&) {
  if (compiled.lowered.kernels.empty()) return {};
  return makeError(DiagnosticId::unsupportedFeature,
                   "unsupported: this build has no code generation (LLVM was not found when it was built)");
}
Status loadCode(CompiledModel&) { return {}; }
DynKernelFunction findKernel(const NativeCode&, const char*) { return nullptr; }
const DynGemmFamily* gemmFamilyOf(const NativeCode&) { return nullptr; }
int64_t kernelsCompiledAfterLoad(const CompiledModel&) { return 0; }
Result<std::vector<std::string>> kernelObjects(const CompiledModel&) {
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: this build has no code generation");
}
std::string packageTarget(const CompiledModel&) { return "unknown"; }
Result<std::string> kernelText(const CompiledModel&, size_t, KernelText) {
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: this build has no code generation");
}

}  // namespace dyn
#endif
