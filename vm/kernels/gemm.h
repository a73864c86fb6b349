// f32 matrix product on packed panels: the driver around a DynGemmFamily.
#pragma once

#include "vm/core/builtin.h"
#include "vm/kernels/epilogue.h"

namespace dyn::vm::kernels {

inline int64_t panelCount(const DynGemmFamily& family, int64_t columns) {
  return (columns + family.panelWidth - 1) / family.panelWidth;
}
inline int64_t packedElementCount(const DynGemmFamily& family, int64_t depth, int64_t columns) {
  return panelCount(family, columns) * depth * family.panelWidth;
}

// Packs panels [firstPanel, lastPanel) of B: element (k, n) lies at b[k * strideK + n * strideN]. Columns beyond N are zero.
void packPanels(const DynGemmFamily& family, const float* b, int64_t depth, int64_t columns, int64_t strideK,
                int64_t strideN, int64_t firstPanel, int64_t lastPanel, float* packed);

// Calls micro-kernels for `rows` rows and one panel, in tiles of nearly equal height.
inline void runRowTiles(const DynGemmFamily& family, int64_t rows, int64_t depth, const float* a,
                        int64_t leadingA, const float* panel, float* c, int64_t leadingC, int64_t columns,
                        bool accumulate) {
  const int64_t tiles = (rows + family.maxRows - 1) / family.maxRows, height = rows / tiles,
                more = rows % tiles;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t now = height + (tile < more ? 1 : 0);
    family.microKernels[now - 1](depth, a, leadingA, panel, c, leadingC, columns, accumulate ? 1 : 0);
    a += now * leadingA;
    c += now * leadingC;
  }
}

// Memory of the pool for the time of a call.
class Scratch {
 public:
  Scratch(MemoryPool* pool, uint64_t sizeBytes) : pool_(pool) { data_ = pool->allocate(sizeBytes, why_); }
  ~Scratch() { pool_->deallocate(data_); }
  Scratch(const Scratch&) = delete;
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  explicit operator bool() const { return data_ != nullptr; }
  Status status() const { return data_ ? okStatus() : failure(why_, "no scratch memory"); }

 private:
  MemoryPool* pool_;
  void* data_;
  dyn_status why_ = DYN_OK;
};

}  // namespace dyn::vm::kernels
