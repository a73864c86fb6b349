// What instructions of native code come to nearly always: tensors of the host that fit, kernels that are
// short, flat kernels that write into tensors, in a run that nobody watches. A shortcut does all that the
// interpreter's operation would do then, in fewer steps; or nothing, and the operation does it (and says what
// is wrong). The loop over bytecode has no shortcuts: it is what they are compared with.
#pragma once

#include <cstdint>
#include <span>

#include "vm/core/run/interpreter.h"

namespace dyn::vm {

struct FlowShortcuts {
  // none: nothing has been done; watched: it is done, and the run may be to end
  enum class Outcome : uint8_t { none, done, watched, fault };

  static bool dim(const Interpreter& vm, int32_t tensor, int32_t axis, int64_t& value) {
    const Tensor* source = tensorIn(vm, tensor);
    if (!source || axis >= source->rank) return false;
    value = source->shape()[axis];
    return true;
  }
  static bool checkTensor(const Interpreter& vm, int32_t tensor, DataType dtype, int32_t rank) {
    const Tensor* source = tensorIn(vm, tensor);
    return source && source->dtype == dtype && source->rank == rank;
  }
  static bool viewTensor(Interpreter& vm, int32_t target, int32_t place, int32_t from, int64_t offset,
                         DataType dtype, const int64_t* shape, int32_t rank);
  static bool viewReshape(Interpreter& vm, int32_t target, int32_t place, int32_t from, const int64_t* shape,
                          int32_t rank);
  static bool makeTensor(Interpreter& vm, int32_t target, DataType dtype, int32_t device,
                         std::span<const int64_t> shape);
  static bool stridedView(Interpreter& vm, int32_t target, int32_t from, int64_t offset,
                          std::span<const int64_t> shape, std::span<const int64_t> strides);
  // `fault`: what the kernel returned.
  static Outcome launch(Interpreter& vm, int32_t kernel, int64_t units, int64_t steps, const int32_t* buffers,
                        const int64_t* scalars, int32_t& fault);
  static Outcome builtinInto(Interpreter& vm, int32_t builtin, const int32_t* results,
                             const int32_t* arguments, std::span<const int64_t> scalars,
                             const int32_t* numbers);

 private:
  static Tensor* tensorIn(const Interpreter& vm, int32_t index) {  // null: something else is there
    Object* object = vm.V_[index];
    return object && object->kind == ObjectKind::tensor ? static_cast<Tensor*>(object) : nullptr;
  }
  // Of a tensor that kernels may have, or null.
  static Tensor* denseOnHost(const Interpreter& vm, int32_t index) {
    Tensor* tensor = tensorIn(vm, index);
    return tensor && tensor->isDense() && isOnHost(tensor) ? tensor : nullptr;
  }
  static bool isOnHost(const Tensor* tensor) { return !tensor->storage || tensor->storage->device == 0; }
  static FrameView* placeOf(const Interpreter& vm, int32_t place) {  // null: the frame has none yet
    FrameView* views = vm.frames_.back().views;
    return views ? views + place : nullptr;
  }
  static bool describe(Interpreter& vm, const BuiltinRow& row, Interpreter::WordList arguments,
                       Interpreter::WordList results);
  static bool watched(const Interpreter& vm) { return vm.trapBits_.load(std::memory_order_relaxed) != 0; }
};

}  // namespace dyn::vm
