#include "compiler/driver/compile.h"

#include <algorithm>
#include <iterator>

#include "compiler/driver/kernel_library.h"
#include "compiler/driver/native_code.h"
#include "compiler/driver/packed_weights.h"
#include "compiler/driver/target_choice.h"
#include "compiler/ir/op_def.h"
#include "compiler/ir/verifier.h"
#include "compiler/ir/walk.h"
#include "compiler/passes/device/place_rules.h"
#include "compiler/passes/pass_table.h"
#include "compiler/support/clock.h"
#include "vm/include/dyn_gpu.h"
#include "vm/isa/program_file.h"
#ifdef DYN_HAVE_LLVM
#include "compiler/codegen/object/weight_check.h"
#endif

namespace dyn {

namespace {

Result<Target> targetOf(const CompileOptions& options) {
  if (options.target) return *options.target;
  return hostTarget();
}

// Later rules come before earlier ones about the same.
Status addPlaces(const std::vector<std::string>& places, Pipeline& pipeline) {
  if (places.empty()) return {};
  for (PipelineItem& item : pipeline) {
    if (item.pass->name != "devices") continue;
    std::string& rules = item.options["place"];
    if (!rules.empty()) rules += "\n";
    rules += joinedPlaces(places);
    return {};
  }
  return makeError(DiagnosticId::usageError,
                   "--place " + places[0] +
                       " places operators on the host or on a GPU, but the pass devices does not run")
      .note("it goes with " + namesOfDevices("--device ", " or "));
}

}  // namespace

Result<Pipeline> pipelineOf(const CompileOptions& options) {
  Pipeline standard = standardPipeline();
  const auto add = [&](std::string_view pass) {
    addPass(standard, {findPass(passTable(), pass), {}}, passTable());
  };
  // What runs on a device, or may take no memory that values decide, keeps its padding unless it is asked.
  const bool plainHost = !options.memoryOfSizes && (!options.target || options.target->prefersBuiltins());
  if (options.paddedResults == "zero" || plainHost) add("pack_sequences");
  if (options.target && !options.target->isHostOnly()) add("devices");
  DYN_TRY(Pipeline pipeline, parsePipeline(options.passes, passTable(), standard));
  if (options.target && !options.target->prefersBuiltins())
    std::erase_if(pipeline, [&](const PipelineItem& item) {
      const bool ofDevice = !options.target->isHostOnly() && item.pass->name == "attention";
      return item.pass->makesBuiltins && !ofDevice;
    });
  for (PipelineItem& item : pipeline) {
    if (options.math == "bf16" && item.pass->name == "prepack") item.options["products"] = "bf16";
    if (options.math == "f16-relaxed" && item.pass->name == "widen") item.options["f16"] = "relaxed";
  }
  DYN_CHECK(addPlaces(options.places, pipeline));
  if (options.paddedResults == "zero")
    for (PipelineItem& item : pipeline)
      if (item.pass->name == "pack_sequences") item.options["results"] = "zero";
  for (PipelineItem& item : pipeline)
    if (item.pass->name == "prepack" || item.pass->name == "layout")
      std::copy_if(options.versions.begin(), options.versions.end(),
                   std::inserter(item.options, item.options.end()),
                   [](const auto& version) { return !findDeviceOfLibrary(version.second); });
  for (const PipelineItem& item : pipeline)
    for (const auto& [name, value] : item.options) DYN_CHECK(libraryReady(value));
  for (PipelineItem& item : pipeline) {
    if (item.pass->name != "variants") continue;
    if (!options.variants.empty()) item.options["sizes"] = options.variants;
    if (!options.buckets.empty()) item.options["buckets"] = options.buckets;
  }
  if (!options.smallFor) return pipeline;
  std::string dims;
  for (const auto& [name, value] : *options.smallFor)
    dims += (dims.empty() ? "" : " ") + name + ":" + std::to_string(value);
  for (PipelineItem& item : pipeline)
    if (item.pass->name == "rematerialise" || item.pass->name == "plan") item.options["dims"] = dims;
  return pipeline;
}

Status refuseFormsOfPasses(const Module& source) {
  const Op* first = nullptr;
  forEachOp(source, [&](const Function&, const Op& op) {
    if (!first && op.def->traits.onlyOfPasses) first = &op;
  });
  if (!first) return {};
  return makeError(DiagnosticId::unsupportedFeature,
                   "unsupported: `" + std::string(first->def->name) +
                       "` in a program: only passes make it, of the operations of a program",
                   first->place)
      .note("give the text from before the pass fuse: dynrepl inspect MODEL --pass infer");
}

Result<Module> runPasses(const Module& module, const CompileOptions& options, Trace& trace) {
  DYN_TRY(Pipeline pipeline, pipelineOf(options));
  PipelineRun run;
  DYN_TRY(run.target, targetOf(options));
  run.cancelled = options.cancelled;
  if (options.verifyEach) run.afterEach = [](const Module& after, const PassDef&) { return verified(after); };
  return runPipeline(module, pipeline, trace, run);
}

Result<CompiledModel> compilePlaced(const Module& placed, const CompileOptions& options) {
  CompiledModel compiled;
  compiled.cacheDirectory = options.cacheDirectory;
  compiled.threadCount = options.threadCount > 0 ? options.threadCount : dyn_usable_cores();
  compiled.hostCode = options.hostCode;
  compiled.flowPiece = options.flowPiece;
#ifdef DYN_HAVE_LLVM
  compiled.weightCheck = std::make_shared<WeightCheck>();
#endif
  const int64_t start = steadyNs();
  LowerOptions lower;
  lower.inputNames = options.inputNames;
  lower.outputNames = options.outputNames;
  lower.fixedDims = options.fixedDims;
  if (auto loop = options.versions.find("loop"); loop != options.versions.end()) {
    DYN_TRY(lower.versions, parseVersionPolicy(loop->second));
  }
  DYN_TRY(compiled.target, targetOf(options));
  // Rows come into lanes by squares that are masked at their edges, and take some kilobytes of stack.
  // Of levels of x86-64 the higher ones have masks.
  const bool higherLevels =
      !compiled.target.levels.empty() && compiled.target.machine.triple.starts_with("x86_64");
  if (!compiled.target.machine.maskedMemory && !higherLevels) lower.versions.rowsInLanes = false;
  DYN_TRY(compiled.lowered, lowerModule(placed, lower));
  compiled.statistics.lowerNs = steadyNs() - start;
  compiled.statistics.kernelsCount = static_cast<int64_t>(compiled.lowered.kernels.size());
  DYN_CHECK(emitObjects(compiled, options));
  DYN_CHECK(emitDeviceCode(compiled, options));
  if (runsHere(compiled.target)) DYN_CHECK(loadCode(compiled));
  return compiled;
}

Result<CompiledModel> compileModel(const Module& module, const CompileOptions& options, Trace* failedTrace) {
  Trace trace;
  const int64_t start = steadyNs();
  Result<Module> placed = runPasses(module, options, trace);
  const int64_t passesNs = steadyNs() - start;
  Result<CompiledModel> compiled =
      placed.ok() ? compilePlaced(*placed, options) : Result<CompiledModel>(placed.takeError());
  if (!compiled.ok()) {
    if (failedTrace) *failedTrace = std::move(trace);
    return compiled;
  }
  compiled->trace = std::move(trace);
  compiled->statistics.passesNs = passesNs;
  return compiled;
}

namespace {

// What the VM's module holds on to.
struct Host {
  std::shared_ptr<const CompiledModel> compiled;
  std::vector<HostTensor> constants;
  std::vector<bool> onlyPacked;            // as in LoweredModule
  std::shared_ptr<const FlowLoaded> flow;  // null: interpreted
};

const DynFlowProgram* resolveHostCode(void* user) {
  const Host& host = *static_cast<Host*>(user);
  return host.flow ? flowProgramOf(*host.flow) : nullptr;
}

DynKernelFunction resolveKernel(void* user, const char* symbol) {
  const CompiledModel& compiled = *static_cast<Host*>(user)->compiled;
  return compiled.code ? findKernel(*compiled.code, symbol) : nullptr;
}

const void* resolveConstant(void* user, int32_t index) {
  const Host& host = *static_cast<Host*>(user);
  const HostTensor& constant = host.constants[static_cast<size_t>(index)];
  return host.onlyPacked[static_cast<size_t>(index)] ? constant.bytes() : constant.data();
}

const DynGemmFamily* resolveGemmFamily(void* user) {
  const CompiledModel& compiled = *static_cast<Host*>(user)->compiled;
  return compiled.code ? gemmFamilyOf(*compiled.code) : nullptr;
}

void forgetConstant(void* user, int32_t index) {
  static_cast<Host*>(user)->constants[static_cast<size_t>(index)].forget();
}

void releaseHost(void* user) { delete static_cast<Host*>(user); }

}  // namespace

Result<dyn_module*> instantiate(std::shared_ptr<const CompiledModel> compiled, std::optional<HostCode> wanted,
                                const std::string& device) {
  if (!runsHere(compiled->target))
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: the program is compiled for " + compiled->target.machine.name + " (" +
                         compiled->target.machine.triple + "), which this machine cannot run")
        .note("inspect shows its code, and compile writes it as a package");
  DYN_TRY(LoadableProgram loadable, packedFromCache(*compiled));
  const std::vector<uint8_t> bytes = vm::serializeProgram(loadable.program);
  std::shared_ptr<const FlowLoaded> flow;
  if (wanted.value_or(compiled->hostCode) == HostCode::native) {
    DYN_TRY(flow, loadFlow(*compiled, loadable.program));
  }
  auto owner = std::make_unique<Host>(
      Host{compiled, std::move(loadable.constants), std::move(loadable.onlyPacked), std::move(flow)});
  dyn_host host{};
  host.user = owner.get();
  host.resolve_kernel = resolveKernel;
  host.resolve_constant = resolveConstant;
  host.resolve_gemm_family = resolveGemmFamily;
  host.resolve_builtin = libraryBuiltins();
  host.resolve_host_code = resolveHostCode;
  host.release = releaseHost;
  host.forget_constant = forgetConstant;
  dyn_module* module = nullptr;
  const dyn_status status = dyn_module_load_memory_on(bytes.data(), bytes.size(), &host,
                                                      device.empty() ? nullptr : device.c_str(), &module);
  owner.release();  // the VM calls release, also when loading fails
  if (status == DYN_OUT_OF_MEMORY || status == DYN_MEMORY_LIMIT)
    return makeError(DiagnosticId::memoryLimit, std::string("loading the program: ") + dyn_last_message());
  if (status == DYN_UNAVAILABLE || status == DYN_UNSUPPORTED)  // the message begins with the one or the other
    return makeError(DiagnosticId::unsupportedFeature, dyn_last_message());
  if (status == DYN_DEVICE_ERROR || status == DYN_KERNEL_FAULT)
    return makeError(DiagnosticId::runtimeError, std::string("loading the program: ") + dyn_last_message());
  if (status != DYN_OK)
    return makeError(DiagnosticId::internalError,
                     std::string("the VM refused the program: ") + dyn_last_message());
  return module;
}

}  // namespace dyn
