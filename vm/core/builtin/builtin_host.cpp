#include "vm/core/builtin/builtin_host.h"

#include <new>
#include <utility>

#include "vm/core/object/strided.h"

namespace dyn::vm {
namespace {

// A plan of a flat kernel.
struct ForeignPlan : CachedPlan {
  void* plan;
  void (*drop)(void*);
  ForeignPlan(void* made, void (*dropper)(void*)) : plan(made), drop(dropper) {}
  ~ForeignPlan() override { drop(plan); }
};

}  // namespace

BuiltinHost::BuiltinHost(ThreadPool* threads, const std::atomic<uint32_t>* cancelBits,
                         std::span<const DynKernelEntry> kernels)
    : threads_(threads ? threads : &single_), cancelBits_(cancelBits) {
  head_.host = this;
  head_.threads = static_cast<int32_t>(threads_->threadCount());
  head_.parallel = parallel;
  head_.cancelled = cancelled;
  head_.fault = fault;
  head_.version = nullptr;
  head_.schedule = schedule;
  head_.findPlan = findPlan;
  head_.keepPlan = keepPlan;
  head_.kernels = kernels.data();
  head_.kernelCount = static_cast<uint32_t>(kernels.size());
}

void BuiltinHost::setVersion(std::string* version) {
  version_ = version;
  head_.version = version ? noteVersion : nullptr;
}

void BuiltinHost::parallel(const DynBuiltinContext* context, int64_t count, int32_t tasks,
                           DynBuiltinRange body, void* user) {
  of(context).threads_->split(count, static_cast<uint32_t>(tasks),
                              [&](int64_t begin, int64_t end) { body(user, begin, end); });
}

int32_t BuiltinHost::cancelled(const DynBuiltinContext* context) {
  return static_cast<int32_t>(of(context).cancelBits_->load(std::memory_order_relaxed) & 1);
}

// Nothing may be thrown into a kernel: without memory for a text there is none.
static void copyText(const char* text, std::string& to) {
  try {
    to = text;
  } catch (const std::bad_alloc&) {
    to.clear();
  }
}

void BuiltinHost::fault(const DynBuiltinContext* context, const char* text) {
  copyText(text, of(context).fault_);
}

void BuiltinHost::noteVersion(const DynBuiltinContext* context, const char* text) {
  copyText(text, *of(context).version_);
}

int32_t BuiltinHost::schedule(const DynBuiltinContext* context, const DynProductSizes* s) {
  const kernels::ProductShape shape{s->rows, s->columns, s->depth, s->tasks, s->copiesA != 0};
  return static_cast<int32_t>(of(context).schedules_.find(shape, s->maxRows, s->panelWidth));
}

const void* BuiltinHost::findPlan(const DynBuiltinContext* context, int32_t kind, int64_t size) {
  const CachedPlan* found = of(context).plans_.find({kind, size});
  return found ? static_cast<const ForeignPlan*>(found)->plan : nullptr;
}

const void* BuiltinHost::keepPlan(const DynBuiltinContext* context, int32_t kind, int64_t size, void* plan,
                                  void (*drop)(void* plan), uint64_t bytes) {
  std::unique_ptr<const ForeignPlan> owner;
  try {
    owner = std::make_unique<const ForeignPlan>(plan, drop);
  } catch (const std::bad_alloc&) {
    drop(plan);
    return nullptr;
  }
  try {
    of(context).plans_.keep({kind, size}, std::move(owner), bytes);
    return plan;
  } catch (const std::bad_alloc&) {  // the plan has gone
    return nullptr;
  }
}

Status BuiltinHost::describeCall(std::string_view name, const BuiltinCall& call, DynBuiltinCall& flat) {
  const size_t arguments = call.arguments.size(), results = call.results.size();
  DynTensorView* view = viewsFor(arguments + results);
  for (size_t i = 0; i < arguments; ++i, ++view) {
    const Object* object = call.arguments[i];
    if (!object) {
      view->dtype = DYN_NO_TENSOR;
      continue;
    }
    if (object->kind != ObjectKind::tensor)
      return badArgument(std::string(name).c_str(), i, "a tensor", object);
    describe(static_cast<const Tensor*>(object), *view);
  }
  for (const Object* object : call.results) describe(static_cast<const Tensor*>(object), *view++);
  flat = {call.context,
          call.gemmFamily,
          views_.data(),
          views_.data() + arguments,
          call.scalars.data(),
          call.numbers.data(),
          static_cast<uint32_t>(call.arguments.size()),
          static_cast<uint32_t>(call.results.size()),
          static_cast<uint32_t>(call.scalars.size()),
          static_cast<uint32_t>(call.numbers.size()),
          nullptr,
          0};
  return okStatus();
}

Status BuiltinHost::takeFault(int32_t status) {
  if (status == DYN_OK) return okStatus();
  return failure(static_cast<dyn_status>(status), std::exchange(fault_, {}));
}

Status BuiltinHost::callFlat(const BuiltinRow& row, BuiltinCall& call) {
  DynBuiltinCall flat;
  if (call.rehearsal && row.is(calls::SETTINGS))
    for (size_t i = 1; i < call.arguments.size(); ++i)
      if (const Tensor* setting = call.argument(i); setting && setting->storage && setting->storage->unknown)
        return failure(DYN_UNSUPPORTED, "a rehearsal ends here: the memory depends on what argument " +
                                            std::to_string(i) + " holds");
  if (Status status = describeCall(row.name, call, flat); !status.ok()) return status;
  return takeFault(runFlat(row, flat, call.pool, call.rehearsal));
}

int32_t BuiltinHost::runFlat(const BuiltinRow& row, DynBuiltinCall& flat, MemoryPool* pool, bool rehearsal) {
  if (row.flat.scratchBytes) {
    if (const int32_t status = row.flat.scratchBytes(&flat, &flat.scratchBytes); status != DYN_OK)
      return status;
    if (flat.scratchBytes > 0) {
      dyn_status why = DYN_OK;
      flat.scratch = pool->allocate(flat.scratchBytes, why, MemoryUse::data);
      if (!flat.scratch) {
        copyText("no scratch memory", fault_);
        return why;
      }
    }
  }
  int32_t status = DYN_OK;
  try {
    if (!rehearsal) status = row.flat.run(&flat);
  } catch (const std::bad_alloc&) {  // of tables that are not in scratch memory yet
    fault_.clear();
    status = DYN_OUT_OF_MEMORY;
  }
  if (flat.scratch) pool->deallocate(flat.scratch);
  return status;
}

}  // namespace dyn::vm
