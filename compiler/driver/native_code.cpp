#include "compiler/driver/native_code.h"

#ifdef DYN_HAVE_LLVM
#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "compiler/codegen/built/built_objects.h"
#include "compiler/codegen/device/device_generator.h"
#include "compiler/codegen/emit/general_code.h"
#include "compiler/codegen/emit/loop_codegen.h"
#include "compiler/codegen/emit/micro_kernel.h"
#include "compiler/codegen/emit/noted_lines.h"
#include "compiler/codegen/flow/flow_code.h"
#include "compiler/codegen/llvm/machine_catalog.h"
#include "compiler/codegen/object/engine.h"
#include "compiler/driver/shared_code.h"
#include "compiler/loop/kernel_key.h"
#include "compiler/support/clock.h"

namespace dyn {

struct NativeCode {
  std::optional<KernelEngine> engine;
  std::optional<KernelSet> kernels;
  std::unordered_map<std::string, DynKernelFunction> functions;
  const DynGemmFamily* gemm = nullptr;  // in `kernels`
  // Of the kernels, in the order of the first that each is of, then of the matrix kernels. Those that a
  // cache has, too, are here until they are loaded.
  std::vector<ObjectCode> objects;
  SharedCode shared;
  int64_t compiledWhenReady = 0;  // by the engine, with matrix kernels and the host program
};

namespace {

// Tiles follow from the sizes alone, so that results do not change with the number of threads.
constexpr SummationOrder kFamilyOrder = SummationOrder::fastest;

// Kernels share the module's dims, which are one thread's at a time: emitting is serial, compiling is not.
KernelJob jobOfOne(const CompiledModel& compiled, size_t index, const MachineDescription& machine,
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

std::vector<KernelOfSizes> kernelsOf(const CompiledModel& compiled, const SharedCode& shared,
                                     const std::vector<size_t>& group) {
  std::vector<KernelOfSizes> kernels;
  for (size_t i : group) {
    const loop::GeneralKernel& one = *shared.generalOf(i);
    kernels.push_back({compiled.lowered.program.kernels[i].symbol, one.given, one.sizes});
  }
  return kernels;
}

KernelJob jobOfGeneral(const CompiledModel& compiled, const SharedCode& shared,
                       const std::vector<size_t>& group, const MachineDescription& machine) {
  const loop::GeneralKernel& general = *shared.generalOf(group[0]);
  const std::vector<KernelOfSizes> kernels = kernelsOf(compiled, shared, group);
  KernelJob job;
  job.name = general.kernel.name;
  job.key = "general\n" + keyOfSizes(kernels) + shared.keyOf(group[0]);
  job.build = [&general, &machine, kernels] { return emitGeneralKernel(general.kernel, kernels, machine); };
  return job;
}

// Of kernels that share their code, or of one that shares it with no other.
KernelJob jobFor(const CompiledModel& compiled, const SharedCode& shared, const std::vector<size_t>& group,
                 const MachineDescription& machine, std::mutex& emitting) {
  return shared.generalOf(group[0]) ? jobOfGeneral(compiled, shared, group, machine)
                                    : jobOfOne(compiled, group[0], machine, emitting);
}

// Of a general kernel whose code is an object of its own.
KernelJob jobOfBuilt(const SharedCode& shared, size_t index, const MachineDescription& machine) {
  const loop::GeneralKernel& general = *shared.generalOf(index);
  return generalCodeJob(general.kernel, general.sizes.size(), generalCodeOf(shared.keyOf(index), machine),
                        machine);
}

// All of these compile for the engine's machine, which is one of the target's.
Result<std::vector<ObjectCode>> compileKernels(const CompiledModel& compiled, const SharedCode& shared,
                                               KernelEngine& engine) {
  std::mutex emitting;
  std::vector<KernelJob> jobs;
  for (const std::vector<size_t>& group : shared.groups())
    jobs.push_back(shared.isBuilt(group[0]) ? jobOfBuilt(shared, group[0], engine.machine())
                                            : jobFor(compiled, shared, group, engine.machine(), emitting));
  return engine.compileAll(jobs);
}

// What calls the general kernels whose codes are objects of their own.
Status addCalls(const CompiledModel& compiled, const SharedCode& shared, KernelEngine& engine,
                std::vector<ObjectCode>& objects) {
  std::vector<GeneralCalls> calls;
  for (const std::vector<size_t>& group : shared.groups())
    if (shared.isBuilt(group[0]))
      calls.push_back({generalCodeOf(shared.keyOf(group[0]), engine.machine()).symbol,
                       kernelsOf(compiled, shared, group)});
  if (calls.empty()) return {};
  DYN_TRY(ObjectCode object, engine.compile(generalCallsJob(std::move(calls), engine.machine())));
  objects.push_back(std::move(object));
  return {};
}

Status addMatrixKernels(const CompiledModel& compiled, KernelEngine& engine,
                        std::vector<ObjectCode>& objects) {
  if (!compiled.lowered.usesGemmFamily) return {};
  DYN_TRY(std::vector<ObjectCode> family, engine.compileAll(gemmFamilyJobs(engine.machine(), kFamilyOrder)));
  std::move(family.begin(), family.end(), std::back_inserter(objects));
  return {};
}

}  // namespace

namespace {

DeviceKernelSource deviceSourceOf(const CompiledModel& compiled, size_t kernel) {
  return {kernel, &compiled.lowered.kernels[kernel], &compiled.lowered.program.kernels[kernel].symbol};
}

}  // namespace

Status emitDeviceCode(CompiledModel& compiled, const CompileOptions& options) {
  if (compiled.target.isHostOnly()) return {};
  std::vector<DeviceKernelSource> kernels;
  for (size_t i = 0; i < compiled.lowered.kernels.size(); ++i)
    if (compiled.lowered.kernelOnDevice[i]) kernels.push_back(deviceSourceOf(compiled, i));
  if (kernels.empty()) return {};
  const auto version = options.versions.find("matmul");
  const bool byLibrary =
      version != options.versions.end() && version->second == deviceRow(compiled.target.device).library;
  DYN_TRY(DeviceMetadata rows,
          generatorOf(compiled.target.device)
              .program(kernels, {options.math, byLibrary ? LibraryUse::take : LibraryUse::leaveOut}));
  auto& metadata = compiled.lowered.program.metadata;
  std::move(rows.begin(), rows.end(), std::back_inserter(metadata));
  std::sort(metadata.begin(), metadata.end());
  return {};
}

Status emitObjects(CompiledModel& compiled, const CompileOptions& options) {
  auto code = std::make_shared<NativeCode>();
  EngineSettings settings;
  settings.cache.directory = options.cacheDirectory;
  settings.built = builtObjects();
  settings.threadCount = compiled.threadCount;
  DYN_TRY(code->engine, KernelEngine::create(compiled.target.machine, settings));

  const int64_t start = steadyNs();
  const KernelEngine& engine = *code->engine;
  code->shared = SharedCode(compiled.lowered.kernels, [&](const std::string& key) {
    return engine.isBuilt(generalCodeOf(key, engine.machine()).key);
  });
  DYN_TRY(code->objects, compileKernels(compiled, code->shared, *code->engine));
  compiled.statistics.kernelsCompiledCount = code->engine->statistics().compiled;
  DYN_CHECK(addCalls(compiled, code->shared, *code->engine, code->objects));
  DYN_CHECK(addMatrixKernels(compiled, *code->engine, code->objects));
  code->compiledWhenReady = code->engine->statistics().compiled;
  compiled.statistics.compileNs = code->compiledWhenReady == 0 ? 0 : steadyNs() - start;
  compiled.code = std::move(code);
  return {};
}

Status loadCode(CompiledModel& compiled) {
  NativeCode& code = *compiled.code;
  if (code.objects.empty()) return {};
  std::vector<std::string> symbols;
  for (const vm::KernelRow& row : compiled.lowered.program.kernels) symbols.push_back(row.symbol);
  if (compiled.lowered.usesGemmFamily) symbols.push_back(gemmFamilySymbol(kFamilyOrder));
  DYN_TRY(code.kernels, code.engine->load(code.objects, symbols));
  if (code.engine->usesCache()) code.objects.clear();
  for (const vm::KernelRow& row : compiled.lowered.program.kernels) {
    DYN_TRY(DynKernelFunction function, code.kernels->function<DynKernelFunction>(row.symbol));
    code.functions[row.symbol] = function;
  }
  if (compiled.lowered.usesGemmFamily) {
    DYN_TRY(void* family, code.kernels->find(gemmFamilySymbol(kFamilyOrder)));
    code.gemm = static_cast<const DynGemmFamily*>(family);
  }
  return {};
}

DynKernelFunction findKernel(const NativeCode& code, const char* symbol) {
  auto it = code.functions.find(symbol);
  return it == code.functions.end() ? nullptr : it->second;
}

int64_t kernelsCompiledAfterLoad(const CompiledModel& compiled) {
  return compiled.code ? compiled.code->engine->statistics().compiled - compiled.code->compiledWhenReady : 0;
}

int32_t gemmPanelWidth(const Target& target) { return gemmTileFor(target.machine).panelWidth; }

const DynGemmFamily* gemmFamilyOf(const NativeCode& code) { return code.gemm; }

namespace {

std::vector<std::string> codeBytesOf(std::vector<ObjectCode> objects) {
  std::vector<std::string> bytes;
  for (ObjectCode& object : objects) bytes.push_back(std::move(object.bytes));
  return bytes;
}

Result<std::vector<ObjectCode>> kernelObjects(const CompiledModel& compiled, KernelEngine& engine) {
  const SharedCode& shared = compiled.code->shared;
  DYN_TRY(std::vector<ObjectCode> objects, compileKernels(compiled, shared, engine));
  DYN_CHECK(addCalls(compiled, shared, engine, objects));
  DYN_CHECK(addMatrixKernels(compiled, engine, objects));
  return objects;
}

}  // namespace

Result<std::vector<std::string>> packageObjects(const CompiledModel& compiled) {
  if (!compiled.code->objects.empty()) return codeBytesOf(compiled.code->objects);
  DYN_TRY(std::vector<ObjectCode> objects, kernelObjects(compiled, *compiled.code->engine));
  return codeBytesOf(std::move(objects));
}

struct FlowLoaded {
  KernelSet code;
  const DynFlowProgram* program;
};

namespace {

Result<std::vector<ObjectCode>> compileFlow(const CompiledModel& compiled, const vm::Program& program,
                                            KernelEngine& engine) {
  const int64_t before = engine.statistics().compiled;
  DYN_TRY(std::vector<ObjectCode> objects,
          engine.compileAll(flowJobs(program, engine.machine(), {FlowCalls::table, compiled.flowPiece})));
  compiled.code->compiledWhenReady += engine.statistics().compiled - before;  // they are no kernels
  return objects;
}

}  // namespace

Result<std::vector<MachineCode>> codeForMachines(const CompiledModel& compiled, const vm::Program* flow) {
  std::vector<MachineCode> codes;
  const auto add = [&](KernelEngine& engine, std::vector<std::string> objects) -> Status {
    codes.push_back({codeNeeds(engine.machine()), std::move(objects)});
    if (!flow) return {};
    DYN_TRY(std::vector<ObjectCode> functions, compileFlow(compiled, *flow, engine));
    for (std::string& bytes : codeBytesOf(std::move(functions)))
      codes.back().objects.push_back(std::move(bytes));
    return {};
  };
  DYN_TRY(std::vector<std::string> own, packageObjects(compiled));
  DYN_CHECK(add(*compiled.code->engine, std::move(own)));
  EngineSettings settings;
  settings.cache.directory = compiled.cacheDirectory;
  settings.built = builtObjects();
  settings.threadCount = compiled.threadCount;
  for (const std::string& level : compiled.target.levels) {
    DYN_TRY(const MachineDescription machine, machinePreset(level));
    DYN_TRY(KernelEngine engine, KernelEngine::create(machine, settings));
    DYN_TRY(std::vector<ObjectCode> objects, kernelObjects(compiled, engine));
    DYN_CHECK(add(engine, codeBytesOf(std::move(objects))));
  }
  return codes;
}

Result<std::shared_ptr<const FlowLoaded>> loadFlow(const CompiledModel& compiled,
                                                   const vm::Program& program) {
  DYN_TRY(std::vector<ObjectCode> objects, compileFlow(compiled, program, *compiled.code->engine));
  DYN_TRY(KernelSet code, compiled.code->engine->load(objects, {DYN_FLOW_PROGRAM_SYMBOL}));
  DYN_TRY(void* table, code.find(DYN_FLOW_PROGRAM_SYMBOL));
  return std::make_shared<const FlowLoaded>(
      FlowLoaded{std::move(code), static_cast<const DynFlowProgram*>(table)});
}

const DynFlowProgram* flowProgramOf(const FlowLoaded& flow) { return flow.program; }

Result<std::string> kernelText(const CompiledModel& compiled, size_t kernel, KernelText form) {
  if (kernel >= compiled.lowered.kernels.size())
    return makeError(DiagnosticId::textName, "there is no kernel " + std::to_string(kernel));
  if (form == KernelText::assembly && compiled.lowered.kernelOnDevice[kernel]) {
    return generatorOf(compiled.target.device)
        .text(deviceSourceOf(compiled, kernel), compiled.lowered.program.metadata);
  }
  const MachineDescription& machine = compiled.target.machine;
  std::mutex emitting;
  // Of a code that kernels share, what this one runs.
  const KernelJob job = jobFor(compiled, compiled.code->shared, {kernel}, machine, emitting);
  if (form == KernelText::llvm) {
    DYN_TRY(KernelModule module, job.build());
    return module.irText();
  }
  DYN_TRY(KernelEngine engine, KernelEngine::create(machine));
  return engine.assembly(job);
}

Result<KernelListing> kernelListing(const CompiledModel& compiled, size_t kernel, KernelText form) {
  KernelListing listing;
  DYN_TRY(listing.text, kernelText(compiled, kernel, form));
  if (form == KernelText::assembly && compiled.lowered.kernelOnDevice[kernel]) return listing;
  const MachineDescription& machine = compiled.target.machine;
  // A general kernel has the statements of those that it is, so their lines are its.
  const loop::GeneralKernel* general = compiled.code->shared.generalOf(kernel);
  const loop::Kernel& source = general ? general->kernel : compiled.lowered.kernels[kernel];
  const std::string& symbol = compiled.lowered.program.kernels[kernel].symbol;
  loop::StmtLines lines;
  loop::print(source, lines);
  KernelJob job;
  job.name = source.name;
  job.build = [&] {
    return general ? emitGeneralKernel(source, {{symbol, general->given, general->sizes}}, machine, &lines)
                   : emitLoopKernel(source, symbol, machine, lines);
  };
  if (form == KernelText::llvm) {
    DYN_TRY(KernelModule module, job.build());
    listing.loopLines = linesOfLlvm(listing.text, module.irText());
    return listing;
  }
  DYN_TRY(KernelEngine engine, KernelEngine::create(machine));
  DYN_TRY(const std::string noted, engine.assembly(job));
  listing.loopLines = linesOfAssembly(listing.text, noted);
  return listing;
}

}  // namespace dyn

#else
#include "compiler/target/panels.h"

namespace dyn {

struct NativeCode {};

Status emitObjects(CompiledModel& compiled, const CompileOptions&) {
  if (compiled.lowered.kernels.empty()) return {};
  return makeError(DiagnosticId::unsupportedFeature,
                   "unsupported: this build has no code generation (LLVM was not found when it was built)");
}
Status emitDeviceCode(CompiledModel&, const CompileOptions&) { return {}; }
Status loadCode(CompiledModel&) { return {}; }
DynKernelFunction findKernel(const NativeCode&, const char*) { return nullptr; }
int32_t gemmPanelWidth(const Target& target) { return panelsOf(target).gemm; }

const DynGemmFamily* gemmFamilyOf(const NativeCode&) { return nullptr; }
int64_t kernelsCompiledAfterLoad(const CompiledModel&) { return 0; }
// What had kernels was refused before.
Result<std::vector<std::string>> packageObjects(const CompiledModel&) { return std::vector<std::string>(); }
Result<std::vector<MachineCode>> codeForMachines(const CompiledModel&, const vm::Program*) {
  return std::vector<MachineCode>();
}
struct FlowLoaded {};
Result<std::shared_ptr<const FlowLoaded>> loadFlow(const CompiledModel&, const vm::Program&) {
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: this build has no code generation");
}
const DynFlowProgram* flowProgramOf(const FlowLoaded&) { return nullptr; }
Result<KernelListing> kernelListing(const CompiledModel&, size_t, KernelText) {
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: this build has no code generation");
}
Result<std::string> kernelText(const CompiledModel&, size_t, KernelText) {
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: this build has no code generation");
}

}  // namespace dyn
#endif
