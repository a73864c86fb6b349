#include "vm/kernels/epilogue.h"

#include <algorithm>

#include "vm/isa/program.h"

namespace dyn::vm::kernels {

Status BoundKernel::bindKernel(const BuiltinCall& call, const char* user, int64_t kernel, size_t firstExtra,
                               bool mayBeEmpty, std::span<void* const> results,
                               std::span<const int64_t> scalars, size_t added) {
  const std::string name(user);
  if (kernel < 0 || kernel >= call.kernelCount)
    return failure(DYN_BAD_PROGRAM, name + " kernel " + std::to_string(kernel) + " is not there");
  const KernelRow& row = call.kernelRows[kernel];
  if (call.arguments.size() + results.size() > kMostBuffers || scalars.size() + added > kMostScalars)
    return failure(DYN_BAD_PROGRAM, name + " " + row.name + " has too many buffers or scalars");
  for (size_t i = firstExtra; i < call.arguments.size(); ++i) {
    const Tensor* tensor = call.argument(i);
    if (!tensor && !(mayBeEmpty && !call.arguments[i]))
      return badArgument(user, i, "a tensor", call.arguments[i]);
    buffers_[bufferCount_++] = tensor ? tensor->data : nullptr;
  }
  for (void* result : results) buffers_[bufferCount_++] = result;
  std::copy(scalars.begin(), scalars.end(), scalars_.begin());
  scalarCount_ = scalars.size();
  if (row.bufferCount != bufferCount_ || row.scalarCount != scalarCount_ + added)
    return failure(DYN_BAD_PROGRAM, name + " " + row.name + " takes " + std::to_string(row.bufferCount) +
                                        " buffers and " + std::to_string(row.scalarCount) +
                                        " scalars, the call gives " + std::to_string(bufferCount_) + " and " +
                                        std::to_string(scalarCount_) + " + " + std::to_string(added));
  if (row.scratchBytes != 0) return failure(DYN_UNSUPPORTED, name + " " + row.name + " wants scratch memory");
  function_ = call.kernels[kernel];
  return okStatus();
}

Status Epilogue::bind(const BuiltinCall& call, int64_t kernelPlusOne, size_t firstExtra,
                      std::span<const int64_t> scalars) {
  if (kernelPlusOne == 0) {
    if (call.arguments.size() > firstExtra || call.results.size() > 1)
      return failure(DYN_BAD_INPUT, "epilogue buffers without an epilogue");
    return okStatus();
  }
  std::array<void*, kMostBuffers> results;
  const size_t count = std::min(call.results.size(), kMostBuffers);
  for (size_t i = 0; i < count; ++i) results[i] = static_cast<Tensor*>(call.results[i])->data;
  constexpr size_t kColumns = 2;  // first and last
  return bindKernel(call, "epilogue", kernelPlusOne - 1, firstExtra, false, std::span(results).first(count),
                    scalars, kColumns);
}

int32_t Epilogue::run(int64_t rowBegin, int64_t rowEnd, int64_t columnBegin, int64_t columnEnd) const {
  int64_t scalars[kMostScalars];
  std::copy_n(scalars_.data(), scalarCount_, scalars);
  scalars[scalarCount_] = columnBegin;
  scalars[scalarCount_ + 1] = columnEnd;
  return function_(buffers_.data(), scalars, rowBegin, rowEnd, nullptr);
}

Status EpilogueFault::status() const {
  const int32_t code = code_.load(std::memory_order_relaxed);
  if (code == DYN_KERNEL_OK) return okStatus();
  return failure(DYN_KERNEL_FAULT, "fault " + std::to_string(code) + " in the epilogue");
}

}  // namespace dyn::vm::kernels
