#include "compiler/export/freestanding_program.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "compiler/driver/native_code.h"
#include "compiler/driver/packed_weights.h"
#include "compiler/driver/target_choice.h"
#include "compiler/export/file_places.h"
#include "vm/isa/call_sizes.h"
#include "vm/isa/package.h"

#ifdef DYN_HAVE_LLVM
#include "compiler/codegen/flow/flow_code.h"
#include "compiler/codegen/flow/freestanding_table.h"
#endif

namespace dyn {

Status checkFreestanding(const vm::Program& program) {
  const auto refuse = [](const std::string& what) {
    return makeError(DiagnosticId::unsupportedFeature, "unsupported: without a heap: " + what);
  };
  static constexpr std::string_view kKnown[] = {
#define DYN_FREESTANDING_BUILTIN_NAME(name) #name,
      DYN_FREESTANDING_BUILTINS(DYN_FREESTANDING_BUILTIN_NAME)
#undef DYN_FREESTANDING_BUILTIN_NAME
  };
  std::string names;
  for (const std::string& name : program.builtins)
    if (std::find(std::begin(kKnown), std::end(kKnown), name) == std::end(kKnown))
      names += (names.empty() ? "" : ", ") + name;
  if (!names.empty()) return refuse("the hand-written kernels " + names + " are not in its runtime");
  if (program.initFunction >= 0 || program.globalCount > 0)
    return refuse("it computes values when it is loaded");
  for (const auto* ports : {&program.inputs, &program.outputs})
    for (const vm::ContractValue& port : *ports)
      if (port.type.kind != vm::ContractKind::tensor) return refuse(port.name + " is not a tensor");
  for (const vm::ConstantRow& row : program.constants)
    if (row.dtype == static_cast<uint8_t>(Dtype::string)) return refuse("strings");
  return {};
}

std::vector<int64_t> freestandingSizesOf(const CompiledModel& compiled,
                                         const std::vector<std::vector<int64_t>>& shapes) {
  const vm::CallSizes call = vm::callSizes(compiled.lowered.program.inputs);
  std::vector<int64_t> sizes(call.sizes.size());
  for (size_t i = 0; i < shapes.size(); ++i)
    for (size_t axis = 0; axis < call.inputs[i].size(); ++axis)
      if (call.inputs[i][axis].value < 0) sizes[call.inputs[i][axis].size] = shapes[i][axis];
  return sizes;
}

#ifdef DYN_HAVE_LLVM

namespace {

// As it is lowered: nothing of it is packed for hand-written kernels.
Result<LoadableProgram> loadable(const CompiledModel& compiled) {
  const std::vector<std::optional<HostTensor>> none(compiled.lowered.packings.size());
  DYN_TRY(LoadableProgram program, withPacked(compiled.lowered, none, ""));
  DYN_CHECK(checkFreestanding(program.program));
  vm::layOutConstants(program.program);
  leaveOutFolders(program.program);
  return program;
}

std::vector<const void*> bytesOf(const LoadableProgram& program) {
  std::vector<const void*> bytes;
  for (const HostTensor& tensor : program.constants) bytes.push_back(tensor.bytes());
  return bytes;
}

}  // namespace

uint32_t freestandingAlignment(const Target& target) {
  return target.machine.triple.rfind("thumb", 0) == 0 ? 16 : 64;
}

Result<FreestandingObjects> freestandingObjects(const CompiledModel& compiled, uint64_t ramBoundBytes) {
  if (!compiled.target.levels.empty())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a program without heap cannot choose among code for several processors (" +
                         compiled.target.machine.name + ")");
  DYN_TRY(const LoadableProgram program, loadable(compiled));
  const std::vector<const void*> constants = bytesOf(program);
  const MachineDescription& machine = compiled.target.machine;
  DYN_TRY(KernelEngine engine, KernelEngine::create(machine));
  std::vector<KernelJob> jobs = flowJobs(program.program, machine, {FlowCalls::symbols, compiled.flowPiece});
  FreestandingTableSettings settings;
  settings.instructionsPerPiece = compiled.flowPiece;
  settings.alignment = freestandingAlignment(compiled.target);
  settings.ramBoundBytes = ramBoundBytes;
  jobs.push_back(freestandingTableJob(program.program, constants, machine, settings));
  DYN_TRY(std::vector<ObjectCode> made, engine.compileAll(jobs));
  FreestandingObjects objects;
  DYN_TRY(objects.objects, packageObjects(compiled));
  for (ObjectCode& object : made) objects.objects.push_back(std::move(object.bytes));
  for (const vm::ConstantRow& row : program.program.constants)
    objects.weightsBytes += static_cast<int64_t>(row.sizeBytes);
  return objects;
}

Result<std::string> freestandingImageObject(const FreestandingImageInputs& inputs, const Target& target) {
  DYN_TRY(KernelEngine engine, KernelEngine::create(target.machine));
  const FreestandingImageData data{inputs.sizes, inputs.elements, inputs.memoryBytes};
  DYN_TRY(ObjectCode object, engine.compile(freestandingImageJob(data, target.machine)));
  return std::move(object.bytes);
}

struct FreestandingLoaded {
  std::shared_ptr<const CompiledModel> compiled;
  LoadableProgram program;
  std::vector<const void*> constants;
  std::optional<KernelSet> code;
  const DynFreestandingProgram* table = nullptr;
};

Result<std::shared_ptr<const FreestandingLoaded>> loadFreestanding(
    std::shared_ptr<const CompiledModel> compiled) {
  auto loaded = std::make_shared<FreestandingLoaded>();
  loaded->compiled = compiled;
  DYN_TRY(loaded->program, loadable(*compiled));
  loaded->constants = bytesOf(loaded->program);
  DYN_TRY(const Target host, hostTarget());
  const bool here = runsHere(compiled->target);
  const MachineDescription& machine = here ? compiled->target.machine : host.machine;
  DYN_TRY(KernelEngine engine, KernelEngine::create(machine));
  std::vector<KernelJob> jobs =
      flowJobs(loaded->program.program, machine, {FlowCalls::table, compiled->flowPiece});
  FreestandingTableSettings settings;
  settings.instructionsPerPiece = compiled->flowPiece;
  settings.alignment = freestandingAlignment(compiled->target);
  settings.table = &dyn_freestanding_table;
  settings.builtins = dyn_freestanding_builtins;
  settings.kernels = here;
  jobs.push_back(freestandingTableJob(loaded->program.program, loaded->constants, machine, settings));
  DYN_TRY(std::vector<ObjectCode> objects, engine.compileAll(jobs));
  if (here) {
    DYN_TRY(std::vector<std::string> kernels, packageObjects(*compiled));
    for (std::string& kernel : kernels) objects.push_back({std::move(kernel)});
  }
  DYN_TRY(loaded->code, engine.load(objects, {kFreestandingProgramSymbol}));
  DYN_TRY(void* table, loaded->code->find(kFreestandingProgramSymbol));
  loaded->table = static_cast<const DynFreestandingProgram*>(table);
  return std::shared_ptr<const FreestandingLoaded>(std::move(loaded));
}

const DynFreestandingProgram* freestandingProgramOf(const FreestandingLoaded& loaded) { return loaded.table; }

#else

struct FreestandingLoaded {};
uint32_t freestandingAlignment(const Target&) { return 64; }
Result<FreestandingObjects> freestandingObjects(const CompiledModel&, uint64_t) {
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: this build has no code generation");
}
Result<std::string> freestandingImageObject(const FreestandingImageInputs&, const Target&) {
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: this build has no code generation");
}
Result<std::shared_ptr<const FreestandingLoaded>> loadFreestanding(std::shared_ptr<const CompiledModel>) {
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: this build has no code generation");
}
const DynFreestandingProgram* freestandingProgramOf(const FreestandingLoaded&) { return nullptr; }

#endif

}  // namespace dyn
