// Internal to codegen: a block's rectangle of a product while its code is written.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/codegen/device/device_products.h"
#include "compiler/codegen/emit/kernel_emitter.h"

namespace dyn {

// What a unit multiplies, as it lies in memory; f32 that is rounded to tf32.
inline Dtype multipliedBy(DeviceUnit unit) {
  return unit == DeviceUnit::f16 ? Dtype::f16 : unit == DeviceUnit::bf16 ? Dtype::bf16 : Dtype::f32;
}

// One of the two factors, as it comes into shared memory.
struct StagedFactor {
  loop::Expr part;
  const std::vector<ProductDigit>* across = nullptr;  // rows, or columns
  llvm::Value* count = nullptr;                       // of the whole product
  llvm::Value* first = nullptr;                       // of this rectangle
  unsigned size = 0;                                  // of the rectangle
  std::optional<PlainFactor> plain;
  bool depthFirst = false;  // in memory, neighbours in the sum lie together
  bool byChunks = false;    // 16 bytes of memory at once, where they lie in one line
  // In shared memory: bytes from the beginning, elements from line to line; a line is one step of the sum, or
  // with `linesOfDepth` a row or column.
  unsigned offset = 0, stride = 0;
  bool linesOfDepth = false;
};

struct KernelEmitter::ProductTile {
  const TiledProduct& product;
  unsigned rows, columns, depth, threads;  // of the rectangle and the block
  Dtype dtype;                             // of the factors in shared memory
  bool roundsToUnit = false;               // the factors have more digits than `dtype`
  StagedFactor row, column;
  llvm::Value* shared = nullptr;  // bytes: two stages, then the sums in their place
  unsigned stageBytes = 0;
  llvm::Value* depthCount = nullptr;
  std::vector<llvm::Value*> sumsInRow;
  unsigned elementBytes() const { return static_cast<unsigned>(storageBytes(dtype)); }
  unsigned chunk() const { return 16 / elementBytes(); }
  unsigned sumStride() const { return columns + 4; }  // of the sums in shared memory
};

}  // namespace dyn
