// Internal to codegen: a block's rows of attention while its code is written.
#pragma once

#include <algorithm>

#include "compiler/codegen/device/device_attention.h"
#include "compiler/codegen/emit/kernel_emitter.h"

namespace dyn {

inline constexpr unsigned kKeysOfAttention = 32;    // at a time
inline constexpr unsigned kSideOfAttention = 16;    // threads of a row, and rows of threads
inline constexpr unsigned kOfAttentionThread = 2;   // rows and keys of a thread
inline constexpr unsigned kPaddingOfAttention = 4;  // floats behind a line

struct KernelEmitter::AttentionTile {
  const TiledAttention& of;
  unsigned head, columns;  // rounded up
  llvm::Value *shared = nullptr, *rows = nullptr, *keys = nullptr, *firstRow = nullptr;
  llvm::Value *tx = nullptr, *ty = nullptr;
  // Floats from the beginning of shared memory, where lines are steps of the sum.
  unsigned sharedAtKeys() const { return head * (kRowsOfAttention + kPaddingOfAttention); }
  unsigned sharedAtWeights() const {
    return sharedAtKeys() + std::max(head * (kKeysOfAttention + kPaddingOfAttention),
                                     kKeysOfAttention * (columns + kPaddingOfAttention));
  }
  unsigned floats() const {
    return sharedAtWeights() + kRowsOfAttention * (kKeysOfAttention + kPaddingOfAttention);
  }
};

inline unsigned roundedUp(int64_t n, unsigned to) { return (static_cast<unsigned>(n) + to - 1) / to * to; }

}  // namespace dyn
