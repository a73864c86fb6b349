// What hand-written kernels see of a call, over the C structures of dyn_builtin.h: spans and checked reads
// instead of pointers and counts, Status instead of codes. Nothing here knows the VM.
//
//   Status det(FlatCall& call) {
//     const TensorView* x = call.argument(0);
//     if (!x || x->rank < 2) return badArgument("det", 0, "square matrices", x);
//     ...
//     Scratch scratch(call, elements, 0, 0);  // vm/kernels/work.h
#pragma once

#include <atomic>
#include <cstddef>
#include <new>
#include <span>
#include <string>

#include "vm/base/dtype.h"
#include "vm/base/status.h"
#include "vm/include/abi/dyn_builtin.h"
#include "vm/shared/dyn_builtin_calls.h"

namespace dyn::vm {

// A tensor of a call; never an argument that is left out.
struct TensorView : DynTensorView {
  DataType dtype() const { return static_cast<DataType>(DynTensorView::dtype); }
  const int64_t* shape() const { return DynTensorView::shape; }
  std::span<const int64_t> sizes() const { return {DynTensorView::shape, rank}; }
  uint64_t sizeBytes() const { return static_cast<uint64_t>(elements) * vm::sizeBytes(dtype()); }
  std::byte* bytes() const { return static_cast<std::byte*>(data); }
  template <typename T>
  T* as() {
    return static_cast<T*>(data);
  }
  template <typename T>
  const T* as() const {
    return static_cast<const T*>(data);
  }
  // Distances between neighbours along each axis, in elements: `to` has one for each axis.
  void writeStrides(std::span<int64_t> to) const;
};
static_assert(sizeof(TensorView) == sizeof(DynTensorView));

// What calls of all kinds have: numbers, scalars, threads.
class CallInputs {
 public:
  CallInputs() = default;
  CallInputs(const DynBuiltinContext* ofCaller, std::span<const int64_t> scalarValues,
             std::span<const int32_t> numberValues)
      : context(ofCaller), scalars(scalarValues), numbers(numberValues) {}

  const DynBuiltinContext* context = nullptr;
  std::span<const int64_t> scalars;
  std::span<const int32_t> numbers;

  // The fields of the row's call by name (dyn_builtin_calls.h).
  template <typename Call>
  typename Call::template Numbers<calls::Borrowed> numbersOf() const {
    return calls::readNumbers<Call>(numbers);
  }
  template <typename Call>
  calls::ScalarsOf<Call> scalarsOf(const typename Call::template Numbers<calls::Borrowed>& fields) const {
    return calls::readScalars<Call>(fields, scalars);
  }
  bool cancelled() const { return context->cancelled(context) != 0; }
  uint32_t threadCount() const { return static_cast<uint32_t>(context->threads); }

  // body(begin, end) over a static split of [0, extent) into at most `tasks` nearly equal pieces.
  // std::bad_alloc of a body is thrown here when all are done.
  template <typename Body>
  void split(int64_t extent, int64_t tasks, Body&& body) const {
    if (tasks > extent) tasks = extent;
    if (tasks > context->threads) tasks = context->threads;
    if (tasks <= 1) {
      if (extent > 0) body(int64_t{0}, extent);
      return;
    }
    struct Work {
      Body* body;
      std::atomic<bool> failed{false};
    } work{&body};
    context->parallel(
        context, extent, static_cast<int32_t>(tasks),
        [](void* user, int64_t begin, int64_t end) {
          auto& w = *static_cast<Work*>(user);
          try {
            (*w.body)(begin, end);
          } catch (const std::bad_alloc&) {
            w.failed.store(true, std::memory_order_relaxed);
          }
        },
        &work);
    if (work.failed.load(std::memory_order_relaxed)) throw std::bad_alloc();
  }

  bool wantsVersion() const { return context->version != nullptr; }
  void nameVersion(const std::string& text) const { context->version(context, text.c_str()); }
};

// One call of a flat kernel.
class FlatCall : public CallInputs {
 public:
  explicit FlatCall(const DynBuiltinCall& call)
      : CallInputs(call.context, {call.scalars, call.scalarCount}, {call.numbers, call.numberCount}),
        gemmFamily(call.gemmFamily),
        argumentCount(call.argumentCount),
        resultCount(call.resultCount),
        call_(call),
        scratch_(static_cast<std::byte*>(call.scratch)),
        scratchBytes_(call.scratchBytes) {}
  FlatCall(const FlatCall&) = delete;

  const DynGemmFamily* const gemmFamily;  // never null for rows with the trait GEMM, else null
  const size_t argumentCount, resultCount;

  // Null: left out.
  const TensorView* argument(size_t index) const {
    if (index >= argumentCount || call_.arguments[index].dtype == DYN_NO_TENSOR) return nullptr;
    return static_cast<const TensorView*>(call_.arguments + index);
  }
  const TensorView* result(size_t index) const {
    return static_cast<const TensorView*>(call_.results + index);
  }
  // Its memory is the kernel's to write.
  TensorView* result(size_t index) {
    return const_cast<TensorView*>(static_cast<const TensorView*>(call_.results + index));
  }
  // Error unless result `index` has this dtype and shape.
  Status checkResult(size_t index, DataType dtype, std::span<const int64_t> shape) const;

  // The next bytes of the call's scratch memory, 64-byte aligned; null: there are not so many left. Given
  // back in the opposite order.
  void* takeScratch(uint64_t bytes) {
    if (bytes > scratchBytes_ - scratchTaken_) return nullptr;
    void* const taken = scratch_ + scratchTaken_;
    scratchTaken_ += bytes;
    return taken;
  }
  void giveScratchBack(uint64_t bytes) { scratchTaken_ -= bytes; }

 private:
  const DynBuiltinCall& call_;
  std::byte* const scratch_;
  const uint64_t scratchBytes_;
  uint64_t scratchTaken_ = 0;
};

// The two functions of a kernel in C++: what it needs, in elements of four bytes, and the call. Both may
// throw std::bad_alloc, of small tables of their own.
using FlatScratch = Status (*)(const FlatCall& call, int64_t& elements);
using FlatFunction = Status (*)(FlatCall& call);

int32_t reportStatus(const DynBuiltinContext* context, const Status& status) noexcept;

template <FlatScratch kScratch>
int32_t flatScratchBytes(const DynBuiltinCall* call, uint64_t* bytes) noexcept {
  try {
    int64_t elements = 0;
    const Status status = kScratch(FlatCall(*call), elements);
    *bytes = static_cast<uint64_t>(elements) * 4;
    return status.ok() ? DYN_OK : reportStatus(call->context, status);
  } catch (const std::bad_alloc&) {
    return DYN_OUT_OF_MEMORY;
  }
}
template <FlatFunction kFunction>
int32_t flatRun(const DynBuiltinCall* call) noexcept {
  try {
    FlatCall flat(*call);
    const Status status = kFunction(flat);
    return status.ok() ? DYN_OK : reportStatus(call->context, status);
  } catch (const std::bad_alloc&) {
    return DYN_OUT_OF_MEMORY;
  }
}

// "f32[2,3]", "empty": for messages.
std::string describe(const TensorView* tensor);
// "det: argument 0 must be square matrices, got i64[3]" and the like, with code DYN_BAD_INPUT.
Status badArgument(const char* builtin, size_t index, const std::string& expected, const TensorView* got);

}  // namespace dyn::vm
