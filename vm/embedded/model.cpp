// The entry points of exported libraries, over the package and the kernels that are linked with them.
#include "vm/embedded/model.h"

#include <atomic>
#include <cstdio>
#include <cstring>

#include "vm/core/api/c_api.h"
#include "vm/core/module/processor.h"
#include "vm/core/object/strided.h"
#include "vm/core/run/module_init.h"
#include "vm/embedded/model_data.h"
#include "vm/embedded/sequence_lists.h"
#include "vm/isa/call_sizes.h"
#include "vm/isa/package.h"
#include "vm/isa/program_file.h"

using namespace dyn::vm;
using namespace dyn::vm::api;

struct dyn_model {
  dyn_model_options options = {};
  CallSizes call;
  dyn_module* module = nullptr;
  dyn_context* context = nullptr;
  std::mutex mutex;  // guards `context` from who cancels
  ~dyn_model() {
    dyn_context_release(context);
    dyn_module_release(module);
  }
};

namespace {

DynKernelFunction findKernel(void* user, const char* symbol) {
  const auto* code = static_cast<const DynModelCode*>(user);
  for (uint64_t i = 0; i < code->kernel_count; ++i)
    if (std::strcmp(code->kernels[i].symbol, symbol) == 0) return code->kernels[i].function;
  return nullptr;
}

// Null: absent, or, with an error, none for this processor.
Status chooseCode(const DynModelCode*& best) {
  best = nullptr;
  int32_t fitness = -1;
  std::string names;
  for (uint64_t i = 0; i < dyn_model_data.code_count; ++i) {
    const DynModelCode* code = dyn_model_data.codes[i];
    names += (i > 0 ? ", " : "") + std::string(code->needs);
    if (const int32_t fits = codeFitness(code->needs); fits > fitness) {
      best = code;
      fitness = fits;
    }
  }
  if (best || dyn_model_data.code_count == 0) return okStatus();
  return failure(DYN_UNSUPPORTED, "it was built for another machine (" + names + "): this processor lacks " +
                                      lackingFor(dyn_model_data.codes[0]->needs));
}

// The linker brought what is here, so sums over the constants are not compared.
Status loadEmbedded(std::unique_ptr<dyn_module>& made) {
  const auto* bytes = static_cast<const char*>(dyn_model_data.package);
  std::vector<PackageSection> sections;
  if (Status status = readPackageTable(bytes, dyn_model_data.package_bytes, sections); !status.ok())
    return status;
  const DynModelCode* code = nullptr;
  if (Status status = chooseCode(code); !status.ok()) return status;
  Program program;
  Module::Options options;
  options.fallback = Fallback::host;
  if (code) {
    options.host.user = const_cast<DynModelCode*>(code);
    options.host.resolve_kernel = findKernel;
    options.gemmFamily = code->gemm_family;
    options.flow = code->flow;
  }
  for (const PackageSection& section : sections) {
    if (section.kind == SectionKind::program) {
      if (Status status = parseProgram(bytes + section.offset, section.sizeBytes, program); !status.ok())
        return status;
    } else if (section.kind == SectionKind::constants) {
      options.constantSection = bytes + section.offset;
      options.constantSectionBytes = section.sizeBytes;
    }
  }
  made = std::make_unique<dyn_module>();
  return loadModule(std::move(program), std::move(options), made->module);
}

// Once for a process: whoever made the model for a GPU wants to know that it is not taken.
void tellNotice(const DeviceChoice& device) {
  static std::atomic<bool> told{false};
  if (device.notice.empty() || told.exchange(true)) return;
  std::fprintf(stderr, "note: %s\n", device.notice.c_str());
}

// What a call of the C interface has said.
Status lastStatus(dyn_status code) {
  if (code == DYN_OK) return okStatus();
  const std::string text = dyn_last_message(), kind = std::string(statusText(code)) + ": ";
  return failure(code, text.compare(0, kind.size(), kind) == 0 ? text.substr(kind.size()) : text);
}

const Program& programOf(const dyn_model* model) { return model->module->module->program(); }

// In the caller's memory each run begins with a new context, for a run's blocks to lie where the dry run
// laid them.
Status readyContext(dyn_model* model) {
  if (model->context && !model->options.memory) return okStatus();
  dyn_options options = {};
  options.thread_count = model->options.threads;
  if (model->options.memory) {
    options.memory = model->options.memory;
    options.memory_bytes = model->options.memory_bytes;
  } else {
    options.memory_limit_bytes = model->options.memory_bytes;
  }
  std::lock_guard lock(model->mutex);
  dyn_context_release(model->context);
  model->context = nullptr;
  return lastStatus(dyn_context_create(model->module, &options, &model->context));
}

struct DryRun {
  dyn_context* context = nullptr;
  ~DryRun() { dyn_context_release(context); }
};

// "x has a size of -1": what the contract of the program would say of a value is said of a size.
Status checkSizes(const dyn_model* model, const int64_t* sizes) {
  if (!sizes && !model->call.sizes.empty()) return invalid("the dims are null");
  for (size_t i = 0; i < model->call.sizes.size(); ++i) {
    const CallSize& size = model->call.sizes[i];
    if (sizes[i] < 0 || sizes[i] < size.low || sizes[i] > size.high)
      return failure(DYN_BAD_INPUT, "dim " + size.name + " is " + std::to_string(sizes[i]) + ", allowed is " +
                                        std::to_string(size.low) + " to " + std::to_string(size.high));
  }
  return okStatus();
}

// `inputs` null: of a dry run, which reads no elements.
Status setInputs(dyn_model* model, dyn_context* context, const int64_t* sizes, const void* const* inputs) {
  alignas(64) static const std::byte kUnread[64] = {};
  const Program& program = programOf(model);
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const ContractType& type = program.inputs[i].type;
    std::vector<int64_t> shape;
    int64_t bytes = static_cast<int64_t>(dyn_dtype_size_bytes(type.dtype));
    for (const CallAxis& axis : model->call.inputs[i]) {
      shape.push_back(axis.value >= 0 ? axis.value : sizes[axis.size]);
      if (__builtin_mul_overflow(bytes, shape.back(), &bytes))
        return failure(DYN_ARITHMETIC, "the size of input " + program.inputs[i].name + " overflows");
    }
    const void* data = inputs ? inputs[i] : kUnread;
    if (!data && bytes > 0) return failure(DYN_BAD_INPUT, "input " + program.inputs[i].name + " is null");
    dyn_value* value = nullptr;
    dyn_status status =
        dyn_value_borrow(context, type.dtype, static_cast<int32_t>(shape.size()), shape.data(),
                         data ? data : kUnread, static_cast<size_t>(bytes), nullptr, nullptr, &value);
    if (status == DYN_OK) status = dyn_context_set_input(context, static_cast<int32_t>(i), value);
    const Status result = lastStatus(status);
    dyn_value_release(value);
    if (!result.ok()) return result;
  }
  return okStatus();
}

// Whatever became of the run: the caller's memory is his again.
void clearInputs(dyn_model* model, dyn_context* context) {
  for (size_t i = 0; i < programOf(model).inputs.size(); ++i)
    dyn_context_set_input(context, static_cast<int32_t>(i), nullptr);
}

Status runOnce(dyn_model* model, dyn_context* context, const int64_t* sizes, const void* const* inputs) {
  Status status = setInputs(model, context, sizes, inputs);
  if (status.ok()) status = lastStatus(dyn_context_run(context));
  clearInputs(model, context);
  return status;
}

void readShapes(const dyn_context* context, int64_t* shapes) {
  if (!shapes) return;
  for (Object* result : context->interpreter->results()) {
    const auto* tensor = static_cast<const Tensor*>(result);
    if (tensor->rank == 0) *shapes++ = 1;
    for (uint32_t axis = 0; axis < tensor->rank; ++axis) *shapes++ = tensor->shape()[axis];
  }
}

Status runDry(dyn_model* model, const int64_t* sizes, DryRun& dryRun) {
  if (!model) return invalid("the model is null");
  if (Status status = checkSizes(model, sizes); !status.ok()) return status;
  dyn_options options = {};
  options.dry_run = options.lay_out = 1;
  const Status made = lastStatus(dyn_context_create(model->module, &options, &dryRun.context));
  return made.ok() ? runOnce(model, dryRun.context, sizes, nullptr) : made;
}

Status peakBytes(dyn_model* model, const int64_t* sizes, uint64_t& bytes) {
  DryRun dryRun;
  if (Status status = runDry(model, sizes, dryRun); !status.ok()) return status;
  bytes = dryRun.context->pool->statistics().heldBytes;
  return okStatus();
}

// `lists`: null, or whose rows some outputs are. `all`: also those that were bound.
Status copyOutputs(const dyn_model* model, const SequenceLists* lists, bool all,
                   const dyn_model_output* outputs) {
  const std::vector<Object*>& results = model->context->interpreter->results();
  for (size_t i = 0; i < results.size(); ++i) {
    if (!outputs[i].data) continue;
    const auto* tensor = static_cast<const Tensor*>(results[i]);
    if (lists && lists->hasRows(i)) {
      if (Status status = lists->copyRows(tensor, i, outputs[i]); !status.ok()) return status;
      continue;
    }
    if (!all) continue;
    if (tensor->sizeBytes() > outputs[i].bytes)
      return failure(DYN_BAD_INPUT, "output " + std::to_string(i) + " needs " +
                                        std::to_string(tensor->sizeBytes()) + " bytes, there is room for " +
                                        std::to_string(outputs[i].bytes));
    if (tensor->elementCount > 0) copyDense(tensor, static_cast<std::byte*>(outputs[i].data));
  }
  return okStatus();
}

// What a size may be at most is looked for by halving: more than that may be too much already.
constexpr int64_t kLargestLooked = int64_t{1} << 40;

Status largest(dyn_model* model, size_t size, uint64_t bytes, const int64_t* sizes, int64_t& found) {
  std::vector<int64_t> tried(sizes, sizes + model->call.sizes.size());
  const CallSize& row = model->call.sizes[size];
  const auto fits = [&](int64_t value, bool& answer) {
    tried[size] = value;
    uint64_t needed = 0;
    Status status = peakBytes(model, tried.data(), needed);
    answer = status.ok() && needed <= bytes;
    const bool tooLarge =
        status.code == DYN_ARITHMETIC || status.code == DYN_MEMORY_LIMIT || status.code == DYN_OUT_OF_MEMORY;
    return status.ok() || tooLarge ? okStatus() : status;
  };
  bool answer = false;
  int64_t low = std::max<int64_t>(row.low, 1);
  if (Status status = fits(low, answer); !status.ok()) return status;
  if (!answer)
    return failure(DYN_MEMORY_LIMIT, "not even " + row.name + " = " + std::to_string(low) + " stays within " +
                                         std::to_string(bytes) + " bytes");
  const int64_t end = std::min(row.high, kLargestLooked);
  int64_t high = low;
  while (high < end && answer) {
    low = high;
    high = high > end / 2 ? end : 2 * high;
    if (Status status = fits(high, answer); !status.ok()) return status;
  }
  if (answer) low = high;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    if (Status status = fits(middle, answer); !status.ok()) return status;
    (answer ? low : high) = middle;
  }
  found = low;
  return okStatus();
}

Status run(dyn_model* model, const SequenceLists* lists, const int64_t* sizes, const void* const* inputs,
           const dyn_model_output* outputs, int64_t* shapes) {
  if (Status status = checkSizes(model, sizes); !status.ok()) return status;
  if (Status status = readyContext(model); !status.ok()) return status;
  const bool copies = model->options.memory != nullptr;
  for (size_t i = 0; !copies && i < programOf(model).outputs.size(); ++i) {
    const bool bound = outputs && !(lists && lists->hasRows(i));
    dyn_context_bind_output(model->context, static_cast<int32_t>(i), bound ? outputs[i].data : nullptr,
                            bound ? outputs[i].bytes : 0);
  }
  Status status = runOnce(model, model->context, sizes, inputs);
  if (status.ok() && outputs && (copies || lists)) status = copyOutputs(model, lists, copies, outputs);
  if (status.ok()) readShapes(model->context, shapes);
  return status;
}

Status runPadded(dyn_model* model, const int64_t* sizes, const void* const* inputs,
                 const dyn_model_output* outputs, int64_t* shapes) {
  if (!model) return invalid("the model is null");
  if (!inputs && !programOf(model).inputs.empty()) return invalid("the inputs are null");
  return run(model, nullptr, sizes, inputs, outputs, shapes);
}

Status runLists(dyn_model* model, const dyn_model_list* lists, const int64_t* sizes,
                const void* const* inputs, const dyn_model_output* outputs, int64_t* shapes) {
  if (!model || !inputs) return invalid("the model or the inputs are null");
  SequenceLists sequences;
  if (Status status = sequences.pad(programOf(model), model->call, lists, sizes, inputs); !status.ok())
    return status;
  return run(model, &sequences, sequences.sizes(), sequences.inputs(), outputs, shapes);
}

}  // namespace

extern "C" {

int32_t dyn_model_create(const dyn_model_options* options, dyn_model** model) {
  return guarded([&]() -> Status {
    if (!model) return invalid("the place for the model is null");
    *model = nullptr;
    auto made = std::make_unique<dyn_model>();
    if (options) made->options = *options;
    std::unique_ptr<dyn_module> module;
    if (Status status = loadEmbedded(module); !status.ok()) return status;
    made->module = module.release();
    tellNotice(made->module->module->device());
    made->call = callSizes(programOf(made.get()).inputs);
    if (Status status = readyContext(made.get()); !status.ok()) return status;
    *model = made.release();
    return okStatus();
  });
}

void dyn_model_release(dyn_model* model) { delete model; }

int32_t dyn_model_output_shapes(dyn_model* model, const int64_t* sizes, int64_t* shapes) {
  return guarded([&]() -> Status {
    if (!shapes) return invalid("the place for the shapes is null");
    DryRun dryRun;
    Status status = runDry(model, sizes, dryRun);
    if (status.ok()) readShapes(dryRun.context, shapes);
    return status;
  });
}

int32_t dyn_model_peak_bytes(dyn_model* model, const int64_t* sizes, uint64_t* bytes) {
  return guarded([&]() -> Status {
    if (!bytes) return invalid("the place for the bytes is null");
    return peakBytes(model, sizes, *bytes);
  });
}

int32_t dyn_model_largest(dyn_model* model, int32_t size, uint64_t bytes, const int64_t* sizes,
                          int64_t* largest_size) {
  return guarded([&]() -> Status {
    if (!model || !largest_size) return invalid("the model or the place for the largest size is null");
    if (!sizes || size < 0 || static_cast<size_t>(size) >= model->call.sizes.size())
      return invalid("there is no such dim");
    return largest(model, static_cast<size_t>(size), bytes, sizes, *largest_size);
  });
}

int32_t dyn_model_run(dyn_model* model, const int64_t* sizes, const void* const* inputs,
                      const dyn_model_output* outputs, int64_t* shapes) {
  return guarded([&] { return runPadded(model, sizes, inputs, outputs, shapes); });
}

int32_t dyn_model_run_lists(dyn_model* model, const dyn_model_list* lists, const int64_t* sizes,
                            const void* const* inputs, const dyn_model_output* outputs, int64_t* shapes) {
  return guarded([&] { return runLists(model, lists, sizes, inputs, outputs, shapes); });
}

void dyn_model_cancel(dyn_model* model) {
  if (!model) return;
  std::lock_guard lock(model->mutex);
  dyn_context_cancel(model->context);
}

const char* dyn_model_last_error(void) { return dyn_last_message(); }

}  // extern "C"
