// The C API over Module, MemoryPool and Interpreter. Nothing throws past it: std::bad_alloc becomes
// DYN_OUT_OF_MEMORY.
#include <algorithm>
#include <cstring>

#include "vm/base/checked.h"
#include "vm/base/clock.h"
#include "vm/base/machine_share.h"
#include "vm/core/api/c_api.h"
#include "vm/core/module/panels.h"
#include "vm/core/object/contract.h"
#include "vm/core/object/strided.h"
#include "vm/core/run/module_init.h"
#include "vm/include/dyn_gpu.h"
#include "vm/include/dyn_results.h"
#include "vm/isa/assembler.h"
#include "vm/isa/program_file.h"

using namespace dyn::vm;
using namespace dyn::vm::api;

namespace {

// The one piece of per-thread state of the runtime: the latest error message.
// Aligned as the data behind it: the linker mold 1.10 lets the memory that is made read-only begin here, and
// with another alignment that may be a page too early, which no program survives.
alignas(64) thread_local char lastMessage[1024];

}  // namespace

namespace dyn::vm::api {

dyn_status report(const Status& status) {
  if (status.ok()) return DYN_OK;
  const std::string text = status.toString();
  const size_t size = std::min(text.size(), sizeof lastMessage - 1);
  memcpy(lastMessage, text.data(), size);
  lastMessage[size] = 0;
  return status.code;
}

dyn_status reportText(dyn_status code, const char* text) {
  snprintf(lastMessage, sizeof lastMessage, "%s: %s", statusText(code), text);
  return code;
}

void clearMessage() { lastMessage[0] = 0; }

Status wrap(const std::shared_ptr<Module>& module, Object* object, dyn_value** value) {
  Ref<Object> owned(object);
  auto* made = new (std::nothrow) dyn_value;
  if (!made) return failure(DYN_OUT_OF_MEMORY, "no memory for a value");
  made->object = owned.take();
  made->module = module;
  *value = made;
  return okStatus();
}

Status copyObjects(dyn_value* const* items, int64_t count, std::vector<Object*>& objects) {
  if (count < 0 || (count > 0 && !items)) return invalid("items are missing");
  for (int64_t i = 0; i < count; ++i) objects.push_back(items[i] ? items[i]->object : nullptr);
  return okStatus();
}

}  // namespace dyn::vm::api

namespace {

Status contractRow(const dyn_module* module, bool input, int32_t index, const ContractValue*& row) {
  if (!module) return invalid("the module is null");
  const auto& rows = input ? module->module->program().inputs : module->module->program().outputs;
  if (index < 0 || static_cast<size_t>(index) >= rows.size())
    return invalid(input ? "no such input" : "no such output");
  row = &rows[static_cast<size_t>(index)];
  return okStatus();
}

dyn_status describeContract(const dyn_module* module, bool input, int32_t index, const char** name,
                            const char** kind, int32_t* dtype, int32_t* rank) {
  return guarded([&]() -> Status {
    const ContractValue* row = nullptr;
    if (Status status = contractRow(module, input, index, row); !status.ok()) return status;
    const bool tensor = row->type.kind == ContractKind::tensor;
    if (name) *name = row->name.c_str();
    if (kind) *kind = contractKindText(row->type.kind);
    if (dtype) *dtype = tensor ? row->type.dtype : -1;
    if (rank) *rank = tensor ? static_cast<int32_t>(row->type.dims.size()) : -1;
    return okStatus();
  });
}

dyn_status describeDim(const dyn_module* module, bool input, int32_t index, int32_t axis,
                       dyn_contract_dim* dim) {
  return guarded([&]() -> Status {
    const ContractValue* row = nullptr;
    if (!dim) return invalid("dim is null");
    if (Status status = contractRow(module, input, index, row); !status.ok()) return status;
    if (axis < 0 || static_cast<size_t>(axis) >= row->type.dims.size()) return invalid("no such axis");
    const ContractDim& from = row->type.dims[static_cast<size_t>(axis)];
    *dim = {from.value, from.text.c_str(), from.low, from.high, from.multiple};
    return okStatus();
  });
}

Status createContext(dyn_module* module, const dyn_options& options, const dyn_device_options& onDevice,
                     std::unique_ptr<dyn_context>& context) {
  if (options.thread_count < 0 || options.thread_count > 1024)
    return invalid("thread_count must be 0 to 1024");
  if (options.depth_limit < 0) return invalid("depth_limit is negative");
  if (reinterpret_cast<uintptr_t>(options.memory) % 64 != 0)
    return invalid("memory is not at a multiple of 64");
  if (options.memory && options.allocate) return invalid("memory and allocate are both given");
  if (options.lay_out && !options.dry_run) return invalid("lay_out needs dry_run");
  const int32_t poolThreads = options.thread_pool ? dyn_thread_pool_thread_count(options.thread_pool) : 1;
  const int32_t threadCount = options.thread_count ? options.thread_count : poolThreads;
  if ((options.memory || options.lay_out) && threadCount > 1)
    return failure(DYN_UNSUPPORTED, "memory of the caller with more than one thread");
  context = std::make_unique<dyn_context>();
  context->module = module->module;
  MemoryPoolOptions memory;
  memory.hooks = {options.allocator_user, options.allocate, options.deallocate};
  memory.limitBytes = options.memory_limit_bytes ? options.memory_limit_bytes : usableMemoryBytes();
  if (options.pool_cap_bytes) memory.capBytes = options.pool_cap_bytes;
  memory.dryRun = options.dry_run != 0;
  memory.layOut = options.lay_out != 0;
  memory.arena = options.memory;
  memory.arenaBytes = options.memory_bytes / 64 * 64;
  context->pool = MemoryPool::create(memory);
  if (!context->pool) return failure(DYN_OUT_OF_MEMORY, "no memory for a context");
  if (threadCount > 1 && options.thread_pool)
    context->threads =
        std::make_unique<ThreadPool>(static_cast<uint32_t>(threadCount), options.thread_pool->workers);
  else if (threadCount > 1)
    context->threads = std::make_unique<ThreadPool>(static_cast<uint32_t>(threadCount));
  InterpreterOptions interpreter;
  interpreter.pool = context->pool;
  interpreter.threads = context->threads.get();
  interpreter.dryRun = options.dry_run != 0;
  interpreter.hostCode = options.interpret ? HostCodeForm::bytecode : HostCodeForm::native;
  interpreter.deviceLimitBytes =
      onDevice.memory_limit_bytes ? onDevice.memory_limit_bytes : memory.limitBytes;
  interpreter.graphs = onDevice.no_graphs == 0;
  if (options.depth_limit) interpreter.depthLimit = static_cast<uint32_t>(options.depth_limit);
  context->interpreter = std::make_unique<Interpreter>(*context->module, interpreter);
  context->inputs.assign(context->module->program().inputs.size(), nullptr);
  return okStatus();
}

Status setInput(dyn_context* context, size_t index, dyn_value* value) {
  const Program& program = context->module->program();
  if (value)
    if (Status status = checkContractValue(program.inputs[index], "input", value->object); !status.ok())
      return status;
  if (value) retain(value->object);
  release(context->inputs[index]);
  context->inputs[index] = value ? value->object : nullptr;
  if (index < context->raggedLengths.size()) {
    release(context->raggedLengths[index]);
    context->raggedLengths[index] = nullptr;
  }
  if (index < context->padded.size()) context->padded[index].reset();
  return okStatus();
}

Status runFunction(dyn_context* context, uint32_t function, std::span<Object* const> arguments) {
  struct PoolRun {  // ends also where something is thrown
    MemoryPool* pool;
    explicit PoolRun(MemoryPool* of) : pool(of) { pool->beginRun(); }
    ~PoolRun() { pool->endRun(); }
  };
  context->interpreter->clear();  // what the last run left is not this one's
  const PoolRun run(context->pool);
  context->interpreter->beginDevices();
  const uint64_t begin = context->interpreter->clockNs();
  Status status = context->interpreter->run(function, arguments);
  context->runNs = context->interpreter->clockNs() - begin;
  return status;
}

// Leaves every bound output in the caller's memory, and learns where it was made.
Status placeBoundOutputs(dyn_context* context) {
  std::vector<BoundOutput>& bound = context->interpreter->boundOutputs();
  const std::vector<Object*>& results = context->interpreter->results();
  bool tensorsOnly = true;
  for (const Object* result : results)
    tensorsOnly = tensorsOnly && result && result->kind == ObjectKind::tensor;
  // A result that came to lie in memory bound for another one moves out first.
  for (size_t j = 0; j < results.size(); ++j) {
    if (!results[j] || results[j]->kind != ObjectKind::tensor) continue;
    auto* tensor = static_cast<Tensor*>(results[j]);
    for (size_t i = 0; i < bound.size(); ++i) {
      if (!bound[i].memory || !tensor->storage || tensor->storage->data != bound[i].memory || i == j)
        continue;
      dyn_status why = DYN_OK;
      Tensor* copy = newTensor(context->pool, tensor->dtype, tensor->rank, tensor->shape(), why);
      if (!copy) return failure(why, "no memory to move output " + std::to_string(j));
      copyDense(tensor, copy->data);
      context->interpreter->replaceResult(j, copy);
      break;
    }
  }
  for (size_t i = 0; i < std::min(bound.size(), results.size()); ++i) {
    if (!bound[i].memory) continue;
    if (!results[i] || results[i]->kind != ObjectKind::tensor)
      return failure(DYN_BAD_INPUT,
                     "output " + std::to_string(i) + " is bound, but is " + describe(results[i]));
    auto* tensor = static_cast<Tensor*>(results[i]);
    if (tensor->dtype == DataType::string) return failure(DYN_UNSUPPORTED, "bound outputs of strings");
    if (tensor->storage && tensor->storage->device != kHostDevice)
      return failure(DYN_BAD_INPUT, "output " + std::to_string(i) + " is bound, but is not on the cpu");
    if (tensor->sizeBytes() > bound[i].sizeBytes)
      return failure(DYN_BAD_INPUT, "output " + std::to_string(i) + " is " + describe(tensor) +
                                        " and needs " + std::to_string(tensor->sizeBytes()) + " bytes, " +
                                        std::to_string(bound[i].sizeBytes) + " are bound");
    const Storage* storage = tensor->storage;
    if (tensorsOnly && storage && storage->room == 0 && tensor->data == storage->data) {
      bound[i].originFunction = storage->originFunction;
      bound[i].originPosition = storage->originPosition;
    }
    if (tensor->data == bound[i].memory || tensor->elementCount == 0) continue;
    copyDense(tensor, static_cast<std::byte*>(bound[i].memory));
    dyn_status why = DYN_OK;
    Ref<Storage> home(
        borrowStorage(context->pool, bound[i].memory, bound[i].sizeBytes, nullptr, nullptr, why));
    Tensor* view = home ? newView(context->pool, tensor->dtype, tensor->rank, tensor->shape(),
                                  tensor->elementCount, home.get(), bound[i].memory, why)
                        : nullptr;
    if (!view) return failure(why, "no memory for output " + std::to_string(i));
    context->interpreter->replaceResult(i, view);
  }
  return okStatus();
}

}  // namespace

extern "C" {

int32_t dyn_abi_version(void) { return DYN_ABI_VERSION; }
const char* dyn_status_text(dyn_status status) { return statusText(status); }
const char* dyn_last_message(void) { return lastMessage; }
int32_t dyn_usable_cores(void) { return usableCores(); }
uint64_t dyn_usable_memory(void) { return usableMemoryBytes(); }
const char* dyn_usable_limits(void) {
  static const std::string text = usableLimits();
  return text.c_str();
}

const char* dyn_dtype_text(int32_t dtype) {
  return dtype < 0 || static_cast<uint32_t>(dtype) >= kDataTypeCount ? nullptr
                                                                     : kDataTypes[dtype].text.data();
}
size_t dyn_dtype_size_bytes(int32_t dtype) {
  return dtype < 0 || static_cast<uint32_t>(dtype) >= kDataTypeCount ? 0 : kDataTypes[dtype].sizeBytes;
}
const char* dyn_packed_weights_layout(void) {
  static const std::string kText = toString(machinePanels());
  return kText.c_str();
}
// The former name, for programs that were built with it.
DYN_API const char* dyn_panels(void);
const char* dyn_panels(void) { return dyn_packed_weights_layout(); }

// --- modules

dyn_status dyn_module_load_memory(const void* bytes, size_t size_bytes, const dyn_host* host,
                                  dyn_module** module) {
  return dyn_module_load_memory_on(bytes, size_bytes, host, nullptr, module);
}

dyn_status dyn_module_load_memory_on(const void* bytes, size_t size_bytes, const dyn_host* host,
                                     const char* device, dyn_module** module) {
  return guarded([&]() -> Status {
    if (!bytes || !module) return invalid("bytes or module is null");
    *module = nullptr;
    Module::Options options;
    options.device = device;
    if (host) options.host = *host;
    HostOwner owner(options.host);
    auto made = std::make_unique<dyn_module>();
    Program program;
    if (Status parsed = parseProgram(bytes, size_bytes, program); !parsed.ok()) return parsed;
    owner.taken();
    Status status = loadModule(std::move(program), std::move(options), made->module);
    if (status.ok()) *module = made.release();
    return status;
  });
}

void dyn_module_release(dyn_module* module) { delete module; }

int32_t dyn_module_input_count(const dyn_module* module) {
  return module ? static_cast<int32_t>(module->module->program().inputs.size()) : 0;
}
int32_t dyn_module_output_count(const dyn_module* module) {
  return module ? static_cast<int32_t>(module->module->program().outputs.size()) : 0;
}

dyn_status dyn_module_input(const dyn_module* module, int32_t index, const char** name, const char** kind,
                            int32_t* dtype, int32_t* rank) {
  return describeContract(module, true, index, name, kind, dtype, rank);
}
dyn_status dyn_module_output(const dyn_module* module, int32_t index, const char** name, const char** kind,
                             int32_t* dtype, int32_t* rank) {
  return describeContract(module, false, index, name, kind, dtype, rank);
}
dyn_status dyn_module_input_dim(const dyn_module* module, int32_t index, int32_t axis,
                                dyn_contract_dim* dim) {
  return describeDim(module, true, index, axis, dim);
}
dyn_status dyn_module_output_dim(const dyn_module* module, int32_t index, int32_t axis,
                                 dyn_contract_dim* dim) {
  return describeDim(module, false, index, axis, dim);
}

const char* dyn_module_metadata(const dyn_module* module, const char* key) {
  if (!module || !key) return nullptr;
  for (const auto& [name, value] : module->module->program().metadata)
    if (name == key) return value.c_str();
  return nullptr;
}

const char* dyn_module_disassembly(dyn_module* module) {
  if (!module) return "";
  const dyn_status status = guarded([&] {
    std::lock_guard lock(module->mutex);
    if (module->disassembly.empty()) module->disassembly = printProgram(module->module->program());
    return okStatus();
  });
  return status == DYN_OK ? module->disassembly.c_str() : "";
}

// --- contexts

dyn_status dyn_context_create(dyn_module* module, const dyn_options* options, dyn_context** context) {
  return dyn_context_create_on(module, options, nullptr, context);
}

dyn_status dyn_context_create_on(dyn_module* module, const dyn_options* options,
                                 const dyn_device_options* device_options, dyn_context** context) {
  return guarded([&]() -> Status {
    if (!module || !context) return invalid("module or context is null");
    *context = nullptr;
    std::unique_ptr<dyn_context> made;
    const dyn_device_options onDevice = device_options ? *device_options : dyn_device_options{};
    if (Status status = createContext(module, options ? *options : dyn_options{}, onDevice, made);
        !status.ok())
      return status;
    *context = made.release();
    return okStatus();
  });
}

void dyn_context_release(dyn_context* context) { delete context; }

dyn_status dyn_context_set_input(dyn_context* context, int32_t index, dyn_value* value) {
  return guarded([&]() -> Status {
    if (!context) return invalid("the context is null");
    if (index < 0 || static_cast<size_t>(index) >= context->inputs.size())
      return failure(DYN_INVALID_ARGUMENT, "there is no input " + std::to_string(index) +
                                               ", the module has " + std::to_string(context->inputs.size()));
    return setInput(context, static_cast<size_t>(index), value);
  });
}

dyn_status dyn_context_set_input_name(dyn_context* context, const char* name, dyn_value* value) {
  return guarded([&]() -> Status {
    if (!context || !name) return invalid("context or name is null");
    const auto& inputs = context->module->program().inputs;
    std::string known;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].name == name) return setInput(context, i, value);
      known += (i ? ", " : "") + inputs[i].name;
    }
    return failure(DYN_INVALID_ARGUMENT, "there is no input \"" + std::string(name) + "\"; inputs: " + known);
  });
}

dyn_status dyn_context_bind_output(dyn_context* context, int32_t index, void* memory, size_t size_bytes) {
  return guarded([&]() -> Status {
    if (!context) return invalid("the context is null");
    if (index < 0 || static_cast<size_t>(index) >= context->module->program().outputs.size())
      return invalid("no such output");
    std::vector<BoundOutput>& bound = context->interpreter->boundOutputs();
    if (bound.size() <= static_cast<size_t>(index)) bound.resize(static_cast<size_t>(index) + 1);
    BoundOutput& row = bound[static_cast<size_t>(index)];
    // What was learned about the output's origin stays true for other memory. 64-byte alignment is what
    // kernels may assume.
    row.memory = memory;
    row.sizeBytes = size_bytes;
    if (reinterpret_cast<uintptr_t>(memory) % 64 != 0) row.originFunction = -1;
    return okStatus();
  });
}

dyn_status dyn_context_run(dyn_context* context) {
  return guarded([&]() -> Status {
    if (!context) return invalid("the context is null");
    const Program& program = context->module->program();
    if (program.mainFunction < 0) return invalid("the module has no main function");
    if (Status status = checkContractInputs(program.inputs, context->module->sharedDims(), context->inputs);
        !status.ok())
      return status;
    if (Status status = checkRaggedInputs(*context); !status.ok()) return status;
    if (Status status = checkPaddedInputs(*context); !status.ok()) return status;
    if (Status status = runFunction(context, static_cast<uint32_t>(program.mainFunction), context->inputs);
        !status.ok())
      return status;
    if (context->interpreter->boundOutputs().empty()) return okStatus();
    return placeBoundOutputs(context);
  });
}

dyn_status dyn_context_run_function(dyn_context* context, const char* name, dyn_value* const* arguments,
                                    int32_t argument_count) {
  return guarded([&]() -> Status {
    if (!context || !name) return invalid("context or name is null");
    const int32_t function = context->module->findFunction(name);
    if (function < 0)
      return failure(DYN_INVALID_ARGUMENT, "there is no function \"" + std::string(name) + "\"");
    const Function& row = context->module->program().functions[static_cast<size_t>(function)];
    if (argument_count < 0 || static_cast<uint32_t>(argument_count) != row.parameterCount)
      return failure(DYN_INVALID_ARGUMENT, row.name + " takes " + std::to_string(row.parameterCount) +
                                               " arguments, got " + std::to_string(argument_count));
    std::vector<Object*> objects;
    if (Status status = copyObjects(arguments, argument_count, objects); !status.ok()) return status;
    return runFunction(context, static_cast<uint32_t>(function), objects);
  });
}

int32_t dyn_context_result_count(const dyn_context* context) {
  return context ? static_cast<int32_t>(context->interpreter->results().size()) : 0;
}

namespace {

Status getOutput(dyn_context* context, int32_t index, dyn_value** value) {
  if (!context || !value) return invalid("context or value is null");
  *value = nullptr;
  const std::vector<Object*>& results = context->interpreter->results();
  if (index < 0 || static_cast<size_t>(index) >= results.size())
    return failure(DYN_INVALID_ARGUMENT, "there is no output " + std::to_string(index) +
                                             ", the last run left " + std::to_string(results.size()));
  Object* object = results[static_cast<size_t>(index)];
  if (!object) return okStatus();  // an absent optional
  retain(object);
  return wrap(context->module, object, value);
}

}  // namespace

dyn_status dyn_context_get_output(dyn_context* context, int32_t index, dyn_value** value) {
  return guarded([&] { return getOutput(context, index, value); });
}

dyn_status dyn_context_take_output(dyn_context* context, int32_t index, dyn_value** value) {
  return guarded([&]() -> Status {
    if (Status status = getOutput(context, index, value); !status.ok()) return status;
    context->interpreter->replaceResult(static_cast<size_t>(index), nullptr);
    return okStatus();
  });
}

void dyn_context_cancel(dyn_context* context) {
  if (context) context->interpreter->requestCancel();
}

dyn_status dyn_context_set_trap(dyn_context* context, dyn_trap_callback callback, void* user,
                                int32_t stepping) {
  return guarded([&]() -> Status {
    if (!context) return invalid("the context is null");
    context->interpreter->setTrap(callback, user, stepping != 0);
    return okStatus();
  });
}

dyn_status dyn_context_scalar_register(dyn_context* context, int32_t index, int64_t* value) {
  return guarded([&]() -> Status {
    if (!context || !value) return invalid("the context or the value is null");
    const std::span<const int64_t> scalars = context->interpreter->scalarRegisters();
    if (index < 0 || static_cast<size_t>(index) >= scalars.size())
      return invalid("there is no such register");
    *value = scalars[static_cast<size_t>(index)];
    return okStatus();
  });
}

dyn_status dyn_context_object_register(dyn_context* context, int32_t index, dyn_value** value) {
  return guarded([&]() -> Status {
    if (!context || !value) return invalid("the context or the value is null");
    *value = nullptr;
    const std::span<Object* const> objects = context->interpreter->objectRegisters();
    if (index < 0 || static_cast<size_t>(index) >= objects.size())
      return invalid("there is no such register");
    Object* object = objects[static_cast<size_t>(index)];
    if (!object) return okStatus();
    retain(object);
    return wrap(context->module, object, value);
  });
}

dyn_status dyn_context_breakpoint(dyn_context* context, int32_t function_index, uint32_t position,
                                  int32_t enabled) {
  return guarded([&]() -> Status {
    if (!context) return invalid("the context is null");
    if (function_index < 0) {
      context->interpreter->clearBreakpoints();
      return okStatus();
    }
    if (context->interpreter->setBreakpoint(static_cast<uint32_t>(function_index), position, enabled != 0))
      return okStatus();
    return failure(DYN_INVALID_ARGUMENT, "no instruction begins at position " + std::to_string(position) +
                                             " of function " + std::to_string(function_index));
  });
}

dyn_status dyn_context_profile(dyn_context* context, int32_t enabled) {
  return guarded([&]() -> Status {
    if (!context) return invalid("the context is null");
    context->interpreter->setProfiling(enabled != 0);
    return okStatus();
  });
}

const char* dyn_context_profile_text(dyn_context* context, const char* format) {
  if (!context || !format) return "";
  const dyn_status status = guarded([&]() -> Status {
    const Profile& profile = context->interpreter->profile();
    const std::string wanted = format;
    if (wanted == "trace")
      context->text = profile.traceJson(*context->module, context->interpreter->workerSpans());
    else if (wanted == "json")
      context->text = profile.tableJson(*context->module);
    else if (wanted == "csv")
      context->text = profile.tableCsv(*context->module);
    else
      return failure(DYN_INVALID_ARGUMENT, "format must be trace, json or csv, not " + wanted);
    return okStatus();
  });
  return status == DYN_OK ? context->text.c_str() : "";
}

int32_t dyn_context_progress(const dyn_context* context, dyn_progress* rows, int32_t capacity) {
  if (!context || (!rows && capacity > 0)) return 0;
  int32_t count = 0;
  context->interpreter->liveCounts().read([&](const LiveRow& row) {
    if (count < capacity)
      rows[count] = {context->module->placeOf(row.function, row.position).c_str(), row.count, row.totalNs,
                     row.isLatest};
    ++count;
  });
  return count;
}

dyn_status dyn_context_dry_run_valid_positions(dyn_context* context, int64_t positions) {
  return guarded([&]() -> Status {
    if (!context) return invalid("the context is null");
    if (positions < -1) return invalid("positions is less than -1");
    context->interpreter->setValidPositions(positions);
    return okStatus();
  });
}
// The former name, for programs that were built with it.
DYN_API dyn_status dyn_context_rehearse_kept(dyn_context* context, int64_t positions);
dyn_status dyn_context_rehearse_kept(dyn_context* context, int64_t positions) {
  return dyn_context_dry_run_valid_positions(context, positions);
}

dyn_status dyn_context_statistics(const dyn_context* context, dyn_statistics* statistics) {
  return guarded([&]() -> Status {
    if (!context || !statistics) return invalid("context or statistics is null");
    const MemoryStatistics memory = context->pool->statistics(),
                           devices = context->interpreter->deviceStatistics();
    *statistics = {memory.peakBytes + devices.peakBytes,
                   memory.heldBytes + devices.heldBytes,
                   memory.inUseBytes + devices.inUseBytes,
                   memory.systemAllocations,
                   context->interpreter->launchCount(),
                   context->interpreter->instructionCount(),
                   context->runNs};
    return okStatus();
  });
}

dyn_status dyn_context_device_statistics(const dyn_context* context, dyn_device_statistics* statistics) {
  return guarded([&]() -> Status {
    if (!context || !statistics) return invalid("context or statistics is null");
    *statistics = {context->interpreter->deviceStatistics().peakBytes, context->interpreter->graphLaunches()};
    return okStatus();
  });
}

void dyn_context_trim(dyn_context* context) {
  if (!context) return;
  context->pool->trim();
}

}  // extern "C"
