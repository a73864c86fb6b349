#include "vm/core/object/known_elements.h"

#include <algorithm>
#include <new>

namespace dyn::vm {

KnownElements::Bytes::Bytes(uint64_t size)
    : data_(static_cast<std::byte*>(::operator new (std::max<uint64_t>(size, 1), std::align_val_t{64}))) {}

void KnownElements::Bytes::Free::operator()(std::byte* memory) const {
  ::operator delete (memory, std::align_val_t{64});
}

uint64_t KnownElements::beginOf(const Tensor* tensor) {
  return static_cast<uint64_t>(static_cast<const std::byte*>(tensor->data) -
                               static_cast<const std::byte*>(tensor->storage->data));
}

const std::byte* KnownElements::of(const Tensor* tensor) const {
  static const std::byte nothing[64] = {};
  if (tensor->elementCount == 0) return nothing;
  if (!tensor->isDense() || !tensor->storage || tensor->storage->device != 0) return nullptr;
  if (!tensor->storage->unknown) return static_cast<const std::byte*>(tensor->data);
  const auto found = regions_.find(tensor->storage);
  if (found == regions_.end()) return nullptr;
  const uint64_t begin = beginOf(tensor);
  auto region = found->second.upper_bound(begin);
  if (region == found->second.begin()) return nullptr;
  --region;
  if (begin + tensor->sizeBytes() > region->second.end) return nullptr;
  return region->second.bytes.data() + (begin - region->first);
}

void KnownElements::set(const Tensor* tensor, Bytes bytes) {
  forget(tensor);
  if (tensor->elementCount == 0 || !tensor->storage) return;
  const uint64_t begin = beginOf(tensor);
  regions_[tensor->storage].insert_or_assign(begin, Region{begin + tensor->sizeBytes(), std::move(bytes)});
}

void KnownElements::forget(const Tensor* tensor) {
  const auto found = tensor->storage ? regions_.find(tensor->storage) : regions_.end();
  if (found == regions_.end() || tensor->elementCount == 0) return;
  const uint64_t begin = beginOf(tensor), end = begin + tensor->storage->sizeBytes;
  const uint64_t last = tensor->isDense() ? begin + tensor->sizeBytes() : end;
  for (auto region = found->second.begin(); region != found->second.end();)
    region =
        region->first < last && region->second.end > begin ? found->second.erase(region) : std::next(region);
}

}  // namespace dyn::vm
