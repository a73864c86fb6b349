#include "vm/core/module/module.h"

#include <algorithm>
#include <sstream>

#include "vm/base/machine_share.h"
#include "vm/core/module/panels.h"
#include "vm/core/module/processor.h"
#include "vm/isa/instruction_reader.h"
#include "vm/isa/verifier.h"
#include "vm/shared/dyn_device_code.h"

namespace dyn::vm {

Status Module::create(Program program, Options options, std::shared_ptr<Module>& result) {
  HostOwner owner(options.host);
  std::shared_ptr<Module> module(new Module());
  module->program_ = std::move(program);
  module->options_ = std::move(options);
  owner.taken();  // by the module
  if (Status status = verifyProgram(module->program_); !status.ok()) return status;
  module->sharedDims_ = vm::sharedDims(module->program_.inputs);
  MemoryPoolOptions memory;
  memory.limitBytes =
      module->options_.memoryLimitBytes ? module->options_.memoryLimitBytes : usableMemoryBytes();
  module->pool_ = MemoryPool::create(memory);
  if (!module->pool_) return failure(DYN_OUT_OF_MEMORY, "no memory for the module");
  if (Status status = module->chooseDevice(); !status.ok()) return status;
  if (Status status = module->resolve(); !status.ok()) return status;
  if (Status status = module->loadConstants(); !status.ok()) return status;
  module->globals_.assign(module->program_.globalCount, nullptr);
  result = std::move(module);
  return okStatus();
}

Module::~Module() {
  freeImmortals(immortals_);
  if (pool_) pool_->releaseOwner();
  if (options_.host.release) options_.host.release(options_.host.user);
}

// Who asks the module where it runs finds the answer among its metadata.
Status Module::chooseDevice() {
  if (Status status = vm::chooseDevice(program_, options_.device, options_.fallback, device_); !status.ok())
    return status;
  if (!device_.name.empty()) program_.metadata.emplace_back(kDeviceKey, device_.name);
  if (!device_.notice.empty()) program_.metadata.emplace_back(kDeviceNoticeKey, device_.notice);
  std::sort(program_.metadata.begin(), program_.metadata.end());
  return okStatus();
}

Status Module::resolve() {
  const dyn_host& host = options_.host;
  for (const KernelRow& kernel : program_.kernels) {
    DynKernelFunction function =
        host.resolve_kernel ? host.resolve_kernel(host.user, kernel.symbol.c_str()) : nullptr;
    if (!function)
      return failure(DYN_BAD_PROGRAM, "kernel " + kernel.name + ": symbol " + kernel.symbol +
                                          " is not in the object code and the host does not know it");
    kernels_.push_back(function);
    kernelEntries_.push_back({kernel.name.c_str(), function, kernel.bufferCount, kernel.outputCount,
                              kernel.scalarCount, kernel.scratchBytes});
  }
  for (const std::string& name : program_.builtins) {
    const BuiltinRow* builtin = findBuiltin(name);
    if (!builtin && host.resolve_builtin)
      builtin = reinterpret_cast<const BuiltinRow*>(host.resolve_builtin(host.user, name.c_str()));
    if (!builtin)
      return failure(DYN_BAD_PROGRAM,
                     "builtin " + name + " is unknown to this runtime and to the libraries of its host");
    builtins_.push_back(builtin);
  }
  if (Status status = checkBuiltinCalls(); !status.ok()) return status;
  const DynFlowProgram* flow = options_.flow;
  if (!flow && host.resolve_host_code) flow = host.resolve_host_code(host.user);
  if (flow)
    if (Status status = FlowCode::create(*flow, program_, flow_); !status.ok()) return status;
  gemmFamily_ = options_.gemmFamily;
  if (!gemmFamily_ && host.resolve_gemm_family) gemmFamily_ = host.resolve_gemm_family(host.user);
  if (!gemmFamily_) gemmFamily_ = defaultGemmFamily();
  for (const BuiltinRow* row : builtins_)
    if (!gemmFamily_ && row->is(calls::GEMM))
      return failure(DYN_BAD_PROGRAM, "builtin " + std::string(row->name) + " has no GEMM family");
  if (gemmFamily_ && (gemmFamily_->maxRows < 1 || gemmFamily_->panelWidth < 8 ||
                      gemmFamily_->panelWidth % 8 != 0 || !gemmFamily_->microKernels))
    return failure(DYN_BAD_PROGRAM, "the GEMM family has no rows, or its panel width is not a multiple of 8");
  return checkMachine();
}

// Packed weights are read by the kernels they were packed for, or not at all; linked code runs on the
// processor it was made for.
Status Module::checkMachine() {
  PanelLayout read = machinePanels();
  if (gemmFamily_) read.gemm = gemmFamily_->panelWidth;
  for (const auto& [key, value] : program_.metadata) {
    if (key == kPacksKey && !(packs_ = parsePanelLayout(value)))
      return failure(DYN_BAD_PROGRAM, "it packs weights as nothing reads them: " + value);
    if (key == kPanelsKey && value != toString(read))
      return failure(DYN_UNSUPPORTED, "its weights are packed for another machine (" + value +
                                          "), this one reads " + toString(read) +
                                          ": compile the model for this machine");
    if (key == kCodeKey && codeFitness(value) < 0)
      return failure(DYN_UNSUPPORTED, "it was built for another machine (" + value +
                                          "): this processor lacks " + lackingFor(value));
  }
  return okStatus();
}

Status Module::checkBuiltinCalls() const {
  for (uint32_t f = 0; f < program_.functions.size(); ++f) {
    InstructionReader reader(program_.functions[f].code);
    while (!reader.atEnd()) {
      const uint32_t position = reader.position();
      if (!reader.next())
        return failure(DYN_INTERNAL, "verified code cannot be read", positionText(f, position));
      if (reader.opcode() != Opcode::callBuiltin && reader.opcode() != Opcode::callBuiltinInto) continue;
      const BuiltinRow& row = *builtins_[static_cast<size_t>(reader.operand(0).words[0])];
      const bool into = reader.opcode() == Opcode::callBuiltinInto;
      if ((into && row.traits.onlyMakes()) || (!into && row.isFlat()))
        return failure(
            DYN_BAD_PROGRAM,
            "builtin " + std::string(row.name) + (into ? " makes its results" : " writes into given tensors"),
            positionText(f, position));
      const struct {
        const char* what;
        uint32_t operand;
        calls::Count count;
      } limits[] = {{"results", 1, {row.minResults, row.maxResults}},
                    {"arguments", 2, row.counts.arguments},
                    {"scalars", 3, row.counts.scalars},
                    {"numbers", 4, row.counts.numbers}};
      for (const auto& limit : limits) {
        const uint32_t count = reader.operand(limit.operand).count;
        if (count >= limit.count.least &&
            (count <= limit.count.most || limit.count.most == calls::Count::kAny))
          continue;
        return failure(DYN_BAD_PROGRAM,
                       "builtin " + std::string(row.name) + " has " + std::to_string(count) + " " +
                           limit.what + ", takes " + std::to_string(limit.count.least) + " to " +
                           std::to_string(limit.count.most),
                       positionText(f, position));
      }
    }
  }
  return okStatus();
}

Status Module::loadConstants() {
  for (size_t i = 0; i < program_.constants.size(); ++i) {
    const ConstantRow& row = program_.constants[i];
    const void* data = nullptr;
    if (row.sizeBytes == 0) {
      data = emptyData();
    } else if (options_.constantSection) {
      if (row.offset > options_.constantSectionBytes ||
          row.sizeBytes > options_.constantSectionBytes - row.offset)
        return failure(DYN_BAD_PROGRAM, "constant " + std::to_string(i) + " (" + row.name +
                                            ") lies outside the constant section");
      data = static_cast<const std::byte*>(options_.constantSection) + row.offset;
    } else if (options_.host.resolve_constant) {
      data = options_.host.resolve_constant(options_.host.user, static_cast<int32_t>(i));
    }
    if (!data)
      return failure(DYN_BAD_PROGRAM, "constant " + std::to_string(i) + " (" + row.name + ") has no data");
    if (row.dtype == static_cast<uint8_t>(DataType::string) && options_.constantSection)
      return failure(DYN_UNSUPPORTED, "string constants in a package (constant " + std::to_string(i) + ")");
    dyn_status why = DYN_OK;
    Ref<Storage> storage(borrowStorage(pool_, data, row.sizeBytes, nullptr, nullptr, why));
    const auto dtype = static_cast<DataType>(row.dtype);
    Tensor* tensor = !storage
                         ? nullptr
                         : newView(pool_, dtype, static_cast<uint32_t>(row.shape.size()), row.shape.data(),
                                   static_cast<int64_t>(row.sizeBytes / sizeBytes(dtype)), storage.get(),
                                   const_cast<void*>(data), why);
    if (!tensor) return failure(why, "no memory for the table of constants");
    makeImmortal(tensor, immortals_);
    (void)storage.take();  // its count no longer matters
    constants_.push_back(tensor);
  }
  return okStatus();
}

void Module::keepGlobals() {
  for (Object* global : globals_) makeImmortal(global, immortals_);
  pool_->trim();
}

int32_t Module::findFunction(std::string_view name) const {
  for (size_t i = 0; i < program_.functions.size(); ++i)
    if (program_.functions[i].name == name) return static_cast<int32_t>(i);
  return -1;
}

const PlaceRow* Module::placeRow(uint32_t function, uint32_t position) const {
  const std::vector<PlaceRow>& places = program_.functions[function].places;
  auto after =
      std::upper_bound(places.begin(), places.end(), position,
                       [](uint32_t value, const PlaceRow& place) { return value < place.codePosition; });
  return after == places.begin() ? nullptr : &*(after - 1);
}

const std::string& Module::placeOf(uint32_t function, uint32_t position) const {
  static const std::string kNone;
  const PlaceRow* row = placeRow(function, position);
  return row ? program_.strings[row->string] : kNone;
}

std::optional<Module::Check> Module::checkOf(uint32_t function, uint32_t position, int32_t number) const {
  const PlaceRow* row = placeRow(function, position);
  if (!row || row->checks < 0 || number < 1) return std::nullopt;
  std::istringstream lines(program_.strings[static_cast<size_t>(row->checks)]);
  std::string line;
  for (int32_t i = 0; i < number; ++i)
    if (!std::getline(lines, line)) return std::nullopt;
  std::istringstream fields(line);
  Check check;
  std::getline(fields, check.place, '\t');
  std::getline(fields, check.noun, '\t');
  std::getline(fields, check.bound);
  return check;
}

bool Module::hasChecks(uint32_t function, uint32_t position) const {
  const PlaceRow* row = placeRow(function, position);
  return row && row->checks >= 0;
}

std::string Module::positionText(uint32_t function, uint32_t position) const {
  return program_.functions[function].name + "@" + std::to_string(position);
}

}  // namespace dyn::vm
