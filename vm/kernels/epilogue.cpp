#include "vm/kernels/epilogue.h"

#include <algorithm>
#include <cmath>

#include "vm/base/kernel_fault.h"

namespace dyn::vm::kernels {

Status BoundKernel::bindKernel(const FlatCall& call, const char* user, int64_t kernel, size_t firstExtra,
                               bool mayBeEmpty, std::span<void* const> results,
                               std::span<const int64_t> scalars, size_t added) {
  const std::string name(user);
  if (kernel < 0 || kernel >= call.context->kernelCount)
    return failure(DYN_BAD_PROGRAM, name + " kernel " + std::to_string(kernel) + " is not there");
  const DynKernelEntry& row = call.context->kernels[kernel];
  if (call.argumentCount + results.size() > kMostBuffers || scalars.size() + added > kMostScalars)
    return failure(DYN_BAD_PROGRAM, name + " " + row.name + " has too many buffers or scalars");
  for (size_t i = firstExtra; i < call.argumentCount; ++i) {
    const TensorView* tensor = call.argument(i);
    if (!tensor && !mayBeEmpty) return badArgument(user, i, "a tensor", tensor);
    buffers_[bufferCount_++] = tensor ? tensor->bytes() : nullptr;
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
  function_ = row.function;
  return okStatus();
}

Status Epilogue::bind(const FlatCall& call, int32_t number, size_t firstExtra,
                      std::span<const int64_t> scalars, bool inPlace) {
  const EpilogueNumber named = EpilogueNumber::parted(number);
  if (named.kernelPlusOne == 0) {
    if (call.argumentCount > firstExtra || call.resultCount > 1)
      return failure(DYN_BAD_INPUT, "epilogue buffers without an epilogue");
    return okStatus();
  }
  std::array<void*, kMostBuffers> results;
  const size_t count = std::min(call.resultCount, kMostBuffers);
  for (size_t i = 0; i < count; ++i) results[i] = call.result(i)->bytes();
  constexpr size_t kColumns = 2;  // first and last
  apart_ = !inPlace && kernels::isApart(call.result(0));
  if (apart_ && (count != 1 || call.argumentCount <= firstExtra))
    return failure(DYN_BAD_PROGRAM,
                   "an epilogue whose result is apart reads the product and makes one result");
  if (Status status = bindKernel(call, "epilogue", named.kernelPlusOne - 1, firstExtra, false,
                                 std::span(results).first(count), scalars, kColumns);
      !status.ok())
    return status;
  even_ = named.form.even && !apart_;
  close(named.form);
  return okStatus();
}

// The form's buffers come first; behind them are the product and the result.
void Epilogue::close(EpilogueForm form) {
  const size_t own = (form.bias ? 1 : 0) + (form.low ? 1 : 0) + (form.high ? 1 : 0);
  if (apart_ || !form.isClosed() || bufferCount_ != own + 2) return;
  size_t at = 0;
  if (form.bias) end_.bias = static_cast<const float*>(buffers_[at++]);
  if (form.low) end_.low = *static_cast<const float*>(buffers_[at++]);
  if (form.high) end_.high = *static_cast<const float*>(buffers_[at++]);
  if (form.zero) end_.low = 0;
  closed_ = !std::isnan(end_.low) && !std::isnan(end_.high);
}

// Its columns are the elements of the whole result.
int32_t Epilogue::runAsOneRow(int64_t begin, int64_t end) const {
  int64_t scalars[kMostScalars];
  std::copy_n(scalars_.data(), scalarCount_, scalars);
  scalars[scalarCount_] = begin;
  scalars[scalarCount_ + 1] = end;
  return function_(buffers_.data(), scalars, 0, 1, nullptr);
}

int32_t Epilogue::runRows(int64_t rowBegin, int64_t rowEnd, int64_t columnBegin, int64_t columnEnd,
                          int64_t length) const {
  return even_ && rowBegin < rowEnd && columnEnd - columnBegin == length
             ? runAsOneRow(rowBegin * length, rowEnd * length)
             : run(rowBegin, rowEnd, columnBegin, columnEnd);
}

int32_t Epilogue::run(int64_t rowBegin, int64_t rowEnd, int64_t columnBegin, int64_t columnEnd) const {
  int64_t scalars[kMostScalars];
  std::copy_n(scalars_.data(), scalarCount_, scalars);
  scalars[scalarCount_] = channels_ > 0 ? 0 : columnBegin;
  scalars[scalarCount_ + 1] = channels_ > 0 ? 1 : columnEnd;
  if (channels_ == 0) return function_(buffers_.data(), scalars, rowBegin, rowEnd, nullptr);
  const bool whole = columnBegin == 0 && columnEnd == channels_;
  if (whole && even_) return runAsOneRow(rowBegin * channels_, rowEnd * channels_);
  if (whole) return function_(buffers_.data(), scalars, rowBegin * channels_, rowEnd * channels_, nullptr);
  for (int64_t row = rowBegin; row < rowEnd; ++row) {
    const int64_t begin = row * channels_ + columnBegin, end = row * channels_ + columnEnd;
    const int32_t fault =
        even_ ? runAsOneRow(begin, end) : function_(buffers_.data(), scalars, begin, end, nullptr);
    if (fault != DYN_KERNEL_OK) return fault;
  }
  return DYN_KERNEL_OK;
}

Epilogue Epilogue::ofImagesOfOnePlace(int64_t channels) const {
  Epilogue result = *this;
  result.channels_ = channels;
  // A closed one adds its bias by columns, which are places here.
  if (end_.bias) result.closed_ = false;
  return result;
}

int32_t Epilogue::runApart(const void* tile, int64_t pitch, int64_t rowLength, int64_t rowBegin,
                           int64_t rowEnd, int64_t columnBegin, int64_t columnEnd) const {
  constexpr int64_t kElement = sizeof(float);
  std::array<void*, kMostBuffers> buffers;
  std::copy_n(buffers_.data(), bufferCount_, buffers.data());
  int64_t scalars[kMostScalars];
  std::copy_n(scalars_.data(), scalarCount_, scalars);
  scalars[scalarCount_] = columnBegin;
  scalars[scalarCount_ + 1] = columnEnd;
  // Where the whole product would begin, if this row of it lay where the row of the tile does.
  const auto from = reinterpret_cast<intptr_t>(tile);
  if (pitch == rowLength) {  // then all rows lie as in the whole
    buffers[bufferCount_ - 2] =
        reinterpret_cast<void*>(from - (rowBegin * rowLength + columnBegin) * kElement);
    return function_(buffers.data(), scalars, rowBegin, rowEnd, nullptr);
  }
  for (int64_t row = rowBegin; row < rowEnd; ++row) {
    const int64_t before = row * rowLength + columnBegin - (row - rowBegin) * pitch;
    buffers[bufferCount_ - 2] = reinterpret_cast<void*>(from - before * kElement);
    const int32_t fault = function_(buffers.data(), scalars, row, row + 1, nullptr);
    if (fault != DYN_KERNEL_OK) return fault;
  }
  return DYN_KERNEL_OK;
}

Status checkProductResult(const TensorView* c, bool hasEpilogue) {
  if (!kernels::isApart(c) || (hasEpilogue && sizeBytes(c->dtype()) < sizeof(float))) return okStatus();
  return failure(DYN_BAD_INPUT,
                 "the result of a product of bytes has elements of four bytes, or of fewer "
                 "that an epilogue makes, not " +
                     describe(c));
}

Status EpilogueFault::status() const {
  const int32_t code = code_.load(std::memory_order_relaxed);
  if (code == DYN_KERNEL_OK) return okStatus();
  return failure(DYN_KERNEL_FAULT, std::string(kernelFaultText(code)) + " in the epilogue");
}

}  // namespace dyn::vm::kernels
