#include "vm/core/profile/level_weights.h"

#include <algorithm>

#include "vm/core/object/object.h"

namespace dyn::vm {
namespace {

const Tensor* tensorOnHost(const Object* object) {
  if (!object || object->kind != ObjectKind::tensor) return nullptr;
  const auto* tensor = static_cast<const Tensor*>(object);
  return tensor->isDense() && tensor->storage && tensor->storage->device == 0 ? tensor : nullptr;
}

bool isConstant(const Object* object) {
  return (object->references.load(std::memory_order_relaxed) & kImmortal) != 0;
}

}  // namespace

bool multipliesByWeights(const std::string& builtin) {
  for (const char* name : {"gemm", "bytegemm", "nbitsgemm", "conv", "conv_packed", "byteconv", "recurrence"})
    if (builtin == name) return true;
  return false;
}

void LevelWeights::add(uint64_t iteration, std::span<Object* const> written, std::span<Object* const> read,
                       size_t weightsBegin) {
  if (parts_.size() + written_.size() + written.size() + read.size() > kMaximumParts) return;
  for (const Object* object : written)
    if (const Tensor* tensor = tensorOnHost(object)) {
      int64_t& bytes = written_[tensor->data];
      bytes = std::max(bytes, static_cast<int64_t>(tensor->sizeBytes()));
    }
  for (size_t i = 0; i < read.size(); ++i) {
    const Tensor* tensor = tensorOnHost(read[i]);
    if (!tensor || tensor->elementCount == 0 || (i < weightsBegin && !isConstant(tensor))) continue;
    Part& part = parts_[tensor->data];
    if (part.iterationCount == 0 || part.lastIteration != iteration) ++part.iterationCount;
    part.lastIteration = iteration;
    part.bytes = std::max(part.bytes, static_cast<int64_t>(tensor->sizeBytes()));
  }
}

LevelWeights::Sum LevelWeights::sum(uint64_t iterationCount) const {
  Sum sum;
  auto write = written_.begin();
  const std::byte* writtenTo = nullptr;  // the furthest end of those that begin before the part ends
  for (const auto& [data, part] : parts_) {
    for (; write != written_.end() && write->first < data + part.bytes; ++write)
      writtenTo = std::max(writtenTo, write->first + write->second);
    if (part.iterationCount != iterationCount || writtenTo > data) continue;
    sum.bytes += part.bytes;
    ++sum.count;
  }
  return sum;
}

}  // namespace dyn::vm
