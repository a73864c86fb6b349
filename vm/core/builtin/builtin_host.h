// BuiltinHost: what the VM gives to builtins. To flat kernels through the context of dyn_builtin.h, to hosted
// rows directly. Of one interpreter, whose calls come one after the other.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "vm/base/thread_pool.h"
#include "vm/core/builtin/builtin.h"
#include "vm/core/builtin/gemm_schedule.h"
#include "vm/core/builtin/plan_cache.h"

namespace dyn::vm {

class BuiltinHost {
 public:
  // All borrowed. `threads` null: one thread. Bit 0 of `cancelBits`: the run is cancelled. The entries are
  // the program's kernels.
  BuiltinHost(ThreadPool* threads, const std::atomic<uint32_t>* cancelBits,
              std::span<const DynKernelEntry> kernels);
  BuiltinHost(const BuiltinHost&) = delete;

  const DynBuiltinContext* context() const { return &head_; }
  PlanCache& plans() { return plans_; }
  // Where calls say which version runs, and for which values; null: unused.
  void setVersion(std::string* version);

  Status callFlat(const BuiltinRow& row, BuiltinCall& call);
  // The call as a flat kernel sees it; valid until the next call. Error for what is no tensor.
  Status describeCall(std::string_view name, const BuiltinCall& call, DynBuiltinCall& flat);
  // The same in two steps, for a caller that describes its tensors itself: room for so many descriptions,
  // until the next call, and the run of a described call with scratch memory of the pool. Not DYN_OK:
  // takeFault().
  DynTensorView* viewsFor(size_t count) {
    if (views_.size() < count) views_.resize(count);
    return views_.data();
  }
  static void describe(const Tensor* tensor, DynTensorView& view) {
    view = {tensor->first,        tensor->shape(), tensor->strides(),
            tensor->elementCount, tensor->rank,    static_cast<int32_t>(tensor->dtype)};
  }
  int32_t runFlat(const BuiltinRow& row, DynBuiltinCall& flat, MemoryPool* pool, bool dryRun);
  // What the kernel has reported, with its status.
  Status takeFault(int32_t status);

 private:
  // The context that kernels hold is the first member, so that it leads back here.
  struct Head : DynBuiltinContext {
    BuiltinHost* host = nullptr;
  };
  static BuiltinHost& of(const DynBuiltinContext* context) {
    return *static_cast<const Head*>(context)->host;
  }
  static void parallel(const DynBuiltinContext* context, int64_t count, int32_t tasks, DynBuiltinRange body,
                       void* user);
  static int32_t cancelled(const DynBuiltinContext* context);
  static void fault(const DynBuiltinContext* context, const char* text);
  static void noteVersion(const DynBuiltinContext* context, const char* text);
  static int32_t schedule(const DynBuiltinContext* context, const DynProductSizes* sizes);
  static const void* findPlan(const DynBuiltinContext* context, int32_t kind, int64_t size);
  static const void* keepPlan(const DynBuiltinContext* context, int32_t kind, int64_t size, void* plan,
                              void (*drop)(void* plan), uint64_t bytes);

  Head head_;
  ThreadPool* threads_;
  ThreadPool single_{1};
  const std::atomic<uint32_t>* cancelBits_;
  kernels::ScheduleCache schedules_;
  PlanCache plans_;
  std::string* version_ = nullptr;
  std::string fault_;
  std::vector<DynTensorView> views_;  // of the arguments, then the results
};

}  // namespace dyn::vm
