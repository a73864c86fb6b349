// Epilogue: a generated kernel that gemm and conv call on each finished tile while it is still in cache.
//
// The kernel's units are rows of the result (all leading dims flattened); the last two of its scalars are
// columnBegin and columnEnd:
// it computes rows [begin, end) x columns [columnBegin, columnEnd). Its buffers are the call's extra
// arguments, then all its results, the first of which (C) it reads, and may overwrite.
//
// Where an element of the result is smaller than one of the product (bytes made of sums), the product can't
// lie in the result. Its tiles then are in scratch memory, and the kernel, which reads the last of the call's
// arguments for the product, is shown them row by row:
//   if (epilogue.isApart()) fault = epilogue.runApart(tile, columns, rowLength, row, row + rows, column, end);
#pragma once

#include <array>
#include <atomic>
#include <span>

#include "vm/base/flat_call.h"
#include "vm/kernels/tile_end.h"
#include "vm/shared/dyn_epilogue_form.h"

namespace dyn::vm::kernels {

// A generated kernel with the buffers and scalars that a builtin's call gives it.
class BoundKernel {
 public:
  explicit operator bool() const { return function_ != nullptr; }

 protected:
  static constexpr size_t kMostBuffers = 64, kMostScalars = 64;  // of any kernel that is used so

  // The call's arguments from `firstExtra` on, which are tensors (`mayBeEmpty`: or nothing, a null buffer),
  // then `results`. The kernel takes `added` more scalars than these. Errors call it `user`.
  Status bindKernel(const FlatCall& call, const char* user, int64_t kernel, size_t firstExtra,
                    bool mayBeEmpty, std::span<void* const> results, std::span<const int64_t> scalars,
                    size_t added);

  DynKernelFunction function_ = nullptr;
  std::array<void*, kMostBuffers> buffers_;
  std::array<int64_t, kMostScalars> scalars_;
  size_t bufferCount_ = 0, scalarCount_ = 0;
};

class Epilogue : public BoundKernel {
 public:
  // `number`: an EpilogueNumber. `firstExtra` is the first argument that belongs to the epilogue, `scalars`
  // are its own. `inPlace`: the result holds what the kernel reads, whatever its elements are.
  Status bind(const FlatCall& call, int32_t number, size_t firstExtra, std::span<const int64_t> scalars,
              bool inPlace = false);
  // That of a call whose row has one: its fields are `numbers`.
  template <typename Call, typename Numbers>
  Status bindOf(const FlatCall& call, const Numbers& numbers) {
    return bind(call, numbers.epilogue, Call::epilogue, call.scalarsOf<Call>(numbers).epilogue);
  }
  // Returns the kernel's fault, 0 if absent. Thread-safe.
  int32_t run(int64_t rowBegin, int64_t rowEnd, int64_t columnBegin, int64_t columnEnd) const;

  // The same, of rows of `length` elements: an even one sees whole rows as one.
  int32_t runRows(int64_t rowBegin, int64_t rowEnd, int64_t columnBegin, int64_t columnEnd,
                  int64_t length) const;

  // That of a convolution whose results are planes of one place each, `channels` an image: its rows. The one
  // that is returned has images as rows and channels as columns.
  Epilogue ofImagesOfOnePlace(int64_t channels) const;

  // Null, or what it does: finishKernel() does the same, tile by tile.
  const TileEnd* closed() const { return closed_ ? &end_ : nullptr; }

  // Does the product lie in memory of its own?
  bool isApart() const { return apart_; }
  // The same for a product whose rows are `pitch` elements of four bytes apart, the first of them at `tile`;
  // `rowLength`: of the whole result.
  int32_t runApart(const void* tile, int64_t pitch, int64_t rowLength, int64_t rowBegin, int64_t rowEnd,
                   int64_t columnBegin, int64_t columnEnd) const;

 private:
  void close(EpilogueForm form);
  int32_t runAsOneRow(int64_t begin, int64_t end) const;

  bool apart_ = false, closed_ = false, even_ = false;
  int64_t channels_ = 0;  // 0: its rows are the kernel's
  TileEnd end_;
};

// May a product of elements of four bytes have this result, with or without an epilogue?
Status checkProductResult(const TensorView* c, bool hasEpilogue);
// Is its result made apart from it?
inline bool isApart(const TensorView* c) { return sizeBytes(c->dtype()) != sizeof(float); }

// A fault among those that the tasks of a call note. Thread-safe.
class EpilogueFault {
 public:
  void note(int32_t code) {
    if (code != DYN_KERNEL_OK) code_.store(code, std::memory_order_relaxed);
  }
  Status status() const;

 private:
  std::atomic<int32_t> code_{DYN_KERNEL_OK};
};

}  // namespace dyn::vm::kernels
