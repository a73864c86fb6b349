// Interpreter: what a dry run computes all the same, of elements that it knows (known_elements.h).
#include <cstring>

#include "vm/core/run/host_launch.h"
#include "vm/core/run/interpreter.h"
#include "vm/device/cpu_device.h"

namespace dyn::vm {

namespace {

struct PoolOwner {
  void operator()(MemoryPool* pool) const { pool->releaseOwner(); }
};

// A tensor over elements that lie elsewhere; null where memory is short.
Ref<Tensor> over(MemoryPool* pool, const Tensor* like, const std::byte* elements) {
  dyn_status why = DYN_OK;
  const Ref<Storage> storage(borrowStorage(pool, elements, like->sizeBytes(), nullptr, nullptr, why));
  if (!storage) return Ref<Tensor>();
  return Ref<Tensor>(newView(pool, like->dtype, like->rank, like->shape(), like->elementCount, storage.get(),
                             const_cast<std::byte*>(elements), why));
}

}  // namespace

void Interpreter::setKnownElements(const Tensor* tensor, const void* data) {
  KnownElements::Bytes bytes(tensor->sizeBytes());
  if (tensor->elementCount > 0) std::memcpy(bytes.data(), data, tensor->sizeBytes());
  nextKnown_.set(tensor, std::move(bytes));
}

// Runs a kernel whose inputs are known, on memory beside that of the program.
void Interpreter::dryRunKernel(uint32_t index, int64_t units, int64_t steps, const int32_t* buffers,
                               const int64_t* scalars) {
  const KernelRow& kernel = program_.kernels[index];
  const uint32_t inputs = kernel.bufferCount - kernel.outputCount;
  const auto tensorOf = [&](uint32_t i) { return static_cast<const Tensor*>(V_[buffers[i]]); };
  uint64_t bytes = 0;
  bool known = kernel.scratchBytes == 0;
  std::vector<void*> at(kernel.bufferCount, nullptr);
  for (uint32_t i = 0; i < kernel.bufferCount && known; ++i) {
    bytes += tensorOf(i)->sizeBytes();
    if (i < inputs) at[i] = const_cast<std::byte*>(known_.of(tensorOf(i)));
    known = bytes <= KnownElements::kMostBytes && (i >= inputs || at[i]);
  }
  std::vector<KnownElements::Bytes> made;
  for (uint32_t i = inputs; i < kernel.bufferCount && known; ++i) {
    made.emplace_back(tensorOf(i)->sizeBytes());
    at[i] = made.back().data();
  }
  if (known) {
    DynLaunch launch = hostLaunch(module_, index, at.data(), scalars, units, steps, host_.context());
    launch.gridX = 1;
    DynDeviceText text;
    const DynDevice& cpu = cpuDevice();
    known = cpu.functions->launch(&cpu, 0, &launch, &text) == DYN_OK;
  }
  for (uint32_t i = inputs; i < kernel.bufferCount; ++i) {
    if (known)
      known_.set(tensorOf(i), std::move(made[i - inputs]));
    else
      known_.forget(tensorOf(i));
  }
}

// The same of a builtin, whose results are there.
void Interpreter::dryRunBuiltin(const BuiltinRow& row, const BuiltinCall& call) {
  uint64_t bytes = 0;
  bool known = !row.is(calls::GEMM) && !row.is(calls::SETTINGS);
  const auto isTensor = [](const Object* object) { return object && object->kind == ObjectKind::tensor; };
  for (const Object* object : call.arguments) {
    if (!object || !known) continue;
    known = isTensor(object) && static_cast<const Tensor*>(object)->dtype != DataType::string &&
            known_.of(static_cast<const Tensor*>(object)) != nullptr;
    if (known) bytes += static_cast<const Tensor*>(object)->sizeBytes();
  }
  for (const Object* object : call.results) {
    known = known && isTensor(object) && static_cast<const Tensor*>(object)->isDense();
    if (known) bytes += static_cast<const Tensor*>(object)->sizeBytes();
  }
  known = known && bytes <= KnownElements::kMostBytes;
  std::vector<KnownElements::Bytes> made;
  if (known) known = runBeside(row, call, made);
  for (size_t i = 0; i < call.results.size(); ++i) {
    if (!isTensor(call.results[i])) continue;
    const auto* result = static_cast<const Tensor*>(call.results[i]);
    if (known)
      known_.set(result, std::move(made[i]));
    else
      known_.forget(result);
  }
}

bool Interpreter::runBeside(const BuiltinRow& row, const BuiltinCall& call,
                            std::vector<KnownElements::Bytes>& made) {
  const std::unique_ptr<MemoryPool, PoolOwner> pool(MemoryPool::create({}));
  if (!pool) return false;
  std::vector<Ref<Tensor>> held;
  std::vector<Object*> arguments, results;
  for (const Object* object : call.arguments) {
    arguments.push_back(nullptr);
    if (!object) continue;
    const auto* tensor = static_cast<const Tensor*>(object);
    held.push_back(over(pool.get(), tensor, known_.of(tensor)));
    if (!held.back()) return false;
    arguments.back() = held.back().get();
  }
  for (const Object* object : call.results) {
    const auto* tensor = static_cast<const Tensor*>(object);
    made.emplace_back(tensor->sizeBytes());
    results.push_back(nullptr);
    if (!call.into) continue;
    held.push_back(over(pool.get(), tensor, made.back().data()));
    if (!held.back()) return false;
    results.back() = held.back().get();
  }
  BuiltinCall beside(host_);
  beside.pool = pool.get();
  beside.panels = call.panels;
  beside.arguments = arguments;
  beside.results = results;
  beside.into = call.into;
  beside.scalars = call.scalars;
  beside.numbers = call.numbers;
  bool fits = runBuiltin(row, beside).ok();
  for (size_t i = 0; i < results.size() && !call.into; ++i) {
    const Ref<Object> owned(results[i]);
    const auto* like = static_cast<const Tensor*>(call.results[i]);
    const auto* tensor = static_cast<const Tensor*>(results[i]);
    fits = fits && tensor && tensor->kind == ObjectKind::tensor && tensor->isDense() &&
           tensor->sizeBytes() == like->sizeBytes();
    if (fits && tensor->elementCount > 0) std::memcpy(made[i].data(), tensor->data, tensor->sizeBytes());
  }
  return fits;
}

}  // namespace dyn::vm
