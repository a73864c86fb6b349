// Memory for the many small lists of a model: blocks that are freed together, with a limit.
//
// Items are trivially destructible, so a model of any depth or length is freed in no time and without recursion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "compiler/support/result.h"

namespace dyn::onnx {

class SpanArena {
 public:
  explicit SpanArena(uint64_t limitBytes) : limitBytes_(limitBytes) {}

  // `count` value-initialised items that live as long as the arena.
  template <typename T>
  Result<std::span<T>> allocate(uint64_t count) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= alignof(std::max_align_t));
    if (count == 0) return std::span<T>();
    if (count > (limitBytes_ - usedBytes_) / sizeof(T)) return overLimit();
    void* place = take(static_cast<size_t>(count) * sizeof(T), alignof(T));
    if (place == nullptr) return overLimit();
    T* items = static_cast<T*>(place);
    for (uint64_t i = 0; i != count; ++i) new (items + i) T();
    return std::span<T>(items, static_cast<size_t>(count));
  }
  uint64_t usedBytes() const { return usedBytes_; }

 private:
  static constexpr size_t kBlockBytes = 256 << 10;

  void* take(size_t sizeBytes, size_t alignment) {
    size_t padding = (alignment - (next_ % alignment)) % alignment;
    if (left_ >= padding && left_ - padding >= sizeBytes) {
      std::byte* place = open_ + next_ + padding;
      next_ += padding + sizeBytes;
      left_ -= padding + sizeBytes;
      usedBytes_ += sizeBytes;
      return place;
    }
    const bool ownBlock = sizeBytes > kBlockBytes / 4;  // the open block stays open
    size_t blockBytes = ownBlock ? sizeBytes : kBlockBytes;
    std::unique_ptr<std::byte[]> block(new (std::nothrow) std::byte[blockBytes]);
    if (block == nullptr) return nullptr;
    std::byte* place = block.get();
    blocks_.push_back(std::move(block));
    usedBytes_ += sizeBytes;
    if (!ownBlock) {
      open_ = place;
      next_ = sizeBytes;
      left_ = blockBytes - sizeBytes;
    }
    return place;
  }
  Error overLimit() const {
    return makeError(DiagnosticId::memoryLimit, "the model's structure needs more than " +
                                                    std::to_string(limitBytes_) + " bytes of memory");
  }

  uint64_t limitBytes_;
  uint64_t usedBytes_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* open_ =
      nullptr;  // the block that small lists are cut from: used up to next_, left_ bytes remain
  size_t next_ = 0;
  size_t left_ = 0;
};

}  // namespace dyn::onnx
