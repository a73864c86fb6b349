#include "vm/kernels/epilogue.h"

#include <algorithm>

#include "vm/isa/program.h"

namespace dyn::vm::kernels {

Status Epilogue::bind(const BuiltinCall& call, int64_t kernelPlusOne, size_t firstExtra,
                      std::span<const int64_t> scalars) {
  if (kernelPlusOne == 0) {
    if (call.arguments.size() > firstExtra || call.results.size() > 1)
      return failure(DYN_BAD_INPUT, "epilogue buffers without an epilogue");
    return okStatus();
  }
  if (kernelPlusOne < 0 || kernelPlusOne > call.kernelCount)
    return failure(DYN_BAD_PROGRAM, "epilogue kernel " + std::to_string(kernelPlusOne - 1) + " is not there");
  const KernelRow& row = call.kernelRows[kernelPlusOne - 1];
  if (call.arguments.size() + call.results.size() > kMostBuffers || scalars.size() + 2 > kMostScalars)
    return failure(DYN_BAD_PROGRAM, "epilogue " + row.name + " has too many buffers or scalars");
  for (size_t i = firstExtra; i < call.arguments.size(); ++i) {
    const Tensor* tensor = call.argument(i);
    if (!tensor) return badArgument("epilogue", i, "a tensor", call.arguments[i]);
    buffers_[bufferCount_++] = tensor->data;
  }
  for (Object* result : call.results) buffers_[bufferCount_++] = static_cast<Tensor*>(result)->data;
  std::copy(scalars.begin(), scalars.end(), scalars_.begin());
  scalarCount_ = scalars.size();
  if (row.bufferCount != bufferCount_ || row.scalarCount != scalarCount_ + 2)
    return failure(DYN_BAD_PROGRAM, "epilogue " + row.name + " takes " + std::to_string(row.bufferCount) +
                                        " buffers and " + std::to_string(row.scalarCount) +
                                        " scalars, the call gives " + std::to_string(bufferCount_) + " and " +
                                        std::to_string(scalarCount_) + " + 2 for the columns");
  if (row.scratchBytes != 0)
    return failure(DYN_UNSUPPORTED, "epilogue " + row.name + " wants scratch memory");
  function_ = call.kernels[kernelPlusOne - 1];
  return okStatus();
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
