#include "vm/core/run/flow_shortcuts.h"

#include "vm/base/device_text.h"
#include "vm/device/cpu_device.h"

namespace dyn::vm {
namespace {

// Empty tensors, and shapes that are wrong, are not what shortcuts are for.
bool countOf(const int64_t* shape, int32_t rank, int64_t& count) {
  count = 1;
  for (int32_t axis = 0; axis < rank; ++axis)
    if (shape[axis] <= 0 || __builtin_mul_overflow(count, shape[axis], &count)) return false;
  return true;
}

}  // namespace

bool FlowShortcuts::viewTensor(Interpreter& vm, int32_t target, int32_t place, int32_t from, int64_t offset,
                               DataType dtype, const int64_t* shape, int32_t rank) {
  Object* object = vm.V_[from];
  FrameView* view = placeOf(vm, place);
  if (!view || !object || object->kind != ObjectKind::storage || dtype == DataType::string) return false;
  auto* storage = static_cast<Storage*>(object);
  const int64_t element = sizeBytes(dtype);
  int64_t count = 0, bytes = 0, end = 0;
  if (!countOf(shape, rank, count) || __builtin_mul_overflow(count, element, &bytes)) return false;
  if (offset < 0 || __builtin_add_overflow(offset, bytes, &end)) return false;
  if (static_cast<uint64_t>(end) > storage->sizeBytes || (offset & (element < 8 ? element - 1 : 7)) != 0)
    return false;
  Interpreter::makeView(view, vm.options_.pool, dtype, {shape, static_cast<size_t>(rank)}, count, storage,
                        static_cast<std::byte*>(storage->data) + offset);
  vm.setObject(target, reinterpret_cast<Tensor*>(view));
  return true;
}

bool FlowShortcuts::viewReshape(Interpreter& vm, int32_t target, int32_t place, int32_t from,
                                const int64_t* shape, int32_t rank) {
  const Tensor* source = tensorIn(vm, from);
  FrameView* view = placeOf(vm, place);
  int64_t count = 0;
  if (!view || !source || !source->isDense() || !countOf(shape, rank, count) || count != source->elementCount)
    return false;
  const bool readOnly = source->readOnly;  // the source may be what the view replaces
  Tensor* made =
      Interpreter::makeView(view, vm.options_.pool, source->dtype, {shape, static_cast<size_t>(rank)}, count,
                            source->storage, source->data);
  made->readOnly = readOnly;
  vm.setObject(target, made);
  return true;
}

bool FlowShortcuts::makeTensor(Interpreter& vm, int32_t target, DataType dtype, int32_t device,
                               std::span<const int64_t> shape) {
  const auto rank = static_cast<int32_t>(shape.size());
  int64_t count = 0;
  if (device != kHostDevice || vm.bindActive_ || watched(vm) || dtype == DataType::string ||
      !countOf(shape.data(), rank, count))
    return false;
  dyn_status why = DYN_OK;
  Tensor* tensor = newTensor(vm.options_.pool, dtype, static_cast<uint32_t>(rank), shape.data(), why);
  if (!tensor) return false;  // the operation says why
  vm.noteOrigin(tensor);
  vm.setObject(target, tensor);
  return true;
}

// As Interpreter::stridedView, in one walk over the axes.
bool FlowShortcuts::stridedView(Interpreter& vm, int32_t target, int32_t from, int64_t offset,
                                std::span<const int64_t> shape, std::span<const int64_t> strides) {
  const Tensor* source = tensorIn(vm, from);
  if (!source || !source->isDense() || source->dtype == DataType::string) return false;
  int64_t count = 1, low = offset, high = offset;
  bool rowMajor = true;
  for (size_t axis = shape.size(); axis-- > 0;) {
    const int64_t size = shape[axis], stride = strides[axis];
    int64_t far = 0;
    rowMajor = rowMajor && (size == 1 || stride == count);
    if (size <= 0 || __builtin_mul_overflow(count, size, &count) ||
        __builtin_mul_overflow(size - 1, stride, &far))
      return false;
    int64_t& end = stride < 0 ? low : high;
    if (__builtin_add_overflow(end, far, &end)) return false;
  }
  if (low < 0 || high >= source->elementCount) return false;
  const auto rank = static_cast<uint32_t>(shape.size());
  std::byte* first = source->first + offset * sizeBytes(source->dtype);
  dyn_status why = DYN_OK;
  Tensor* made = rowMajor ? newView(vm.options_.pool, source->dtype, rank, shape.data(), count,
                                    source->storage, first, why)
                          : newApart(vm.options_.pool, source->dtype, rank, shape.data(), strides.data(),
                                     count, source->storage, first, why);
  if (!made) return false;  // the operation says why
  made->readOnly = true;
  vm.setObject(target, made);
  return true;
}

FlowShortcuts::Outcome FlowShortcuts::launch(Interpreter& vm, int32_t index, int64_t units, int64_t steps,
                                             const int32_t* buffers, const int64_t* scalars, int32_t& fault) {
  const KernelRow& row = vm.program_.kernels[static_cast<size_t>(index)];
  const int64_t most = vm.flow_.directSteps;
  if (!vm.known_.empty()) return Outcome::none;
  if (vm.stage_.isOpen() || units <= 0 || units >= most || steps >= most || row.scratchBytes > 0 ||
      watched(vm))
    return Outcome::none;
  const uint32_t inputs = row.bufferCount - row.outputCount;
  for (uint32_t i = 0; i < row.bufferCount; ++i) {
    Tensor* tensor = denseOnHost(vm, buffers[i]);
    if (!tensor) return Outcome::none;
    if (i >= inputs && (tensor->readOnly || tensor->elementCount == 0)) return Outcome::none;
    vm.buffers_[i] = tensor->data;
  }
  ++vm.flow_.launches;
  if (vm.options_.dryRun) {
    for (uint32_t i = inputs; i < row.bufferCount; ++i)
      if (Storage* storage = tensorIn(vm, buffers[i])->storage) storage->unknown = true;
    return Outcome::done;
  }
  fault = vm.flow_.kernels[index](vm.buffers_.data(), scalars, 0, units, nullptr);
  if (fault != DYN_KERNEL_OK) return Outcome::fault;
  return watched(vm) ? Outcome::watched : Outcome::done;
}

// The host's descriptions of the tensors; false where one of them is unusual.
bool FlowShortcuts::describe(Interpreter& vm, const BuiltinRow& row, Interpreter::WordList arguments,
                             Interpreter::WordList results) {
  DynTensorView* view = vm.host_.viewsFor(arguments.count + results.count);
  const uint32_t strided = row.traits.stridedArguments();
  for (uint32_t i = 0; i < arguments.count; ++i, ++view) {
    if (!vm.V_[arguments.items[i]]) {
      view->dtype = DYN_NO_TENSOR;
      continue;
    }
    const Tensor* tensor = tensorIn(vm, arguments.items[i]);
    if (!tensor || !isOnHost(tensor) || (!tensor->isDense() && i >= strided)) return false;
    BuiltinHost::describe(tensor, *view);
  }
  for (uint32_t i = 0; i < results.count; ++i, ++view) {
    const Tensor* tensor = denseOnHost(vm, results.items[i]);
    if (!tensor || tensor->readOnly) return false;
    BuiltinHost::describe(tensor, *view);
  }
  return true;
}

FlowShortcuts::Outcome FlowShortcuts::builtinInto(Interpreter& vm, int32_t index, const int32_t* resultList,
                                                  const int32_t* argumentList,
                                                  std::span<const int64_t> scalars,
                                                  const int32_t* numberList) {
  const BuiltinRow& row = *vm.module_.builtins()[static_cast<size_t>(index)];
  const bool dryRun = vm.options_.dryRun;
  if (vm.stage_.isOpen() || !row.isFlat() || !vm.known_.empty() || (dryRun && row.is(calls::SETTINGS)) ||
      watched(vm))
    return Outcome::none;
  const auto results = Interpreter::wordsAt(resultList), arguments = Interpreter::wordsAt(argumentList),
             numbers = Interpreter::wordsAt(numberList);
  if (!describe(vm, row, arguments, results)) return Outcome::none;
  for (uint32_t i = 0; dryRun && i < results.count; ++i)
    if (Storage* storage = tensorIn(vm, results.items[i])->storage) storage->unknown = true;
  DynTensorView* views = vm.host_.viewsFor(0);
  DynBuiltinCall call = {vm.host_.context(),
                         row.is(calls::GEMM) ? vm.module_.gemmFamily() : nullptr,
                         views,
                         views + arguments.count,
                         scalars.data(),
                         numbers.items,
                         arguments.count,
                         results.count,
                         static_cast<uint32_t>(scalars.size()),
                         numbers.count,
                         nullptr,
                         0};
  vm.host_.setVersion(nullptr);
  ++vm.launches_;
  const int32_t status = vm.host_.runFlat(row, call, vm.options_.pool, dryRun);
  if (status == DYN_OK) return watched(vm) ? Outcome::watched : Outcome::done;
  vm.fault(static_cast<dyn_status>(status),
           std::string(row.name) + ": " + vm.host_.takeFault(status).message);
  return Outcome::fault;
}

}  // namespace dyn::vm
