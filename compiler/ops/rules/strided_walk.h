// Walking concrete index spaces in reference evaluation: row-major order, broadcast operands, raw element
// copies.
//
//   OffsetWalk walk(resultShape, {broadcastStrides(a.shape(), resultShape), broadcastStrides(b.shape(), resultShape)});
//   for (int64_t i = 0; i < result.elementCount(); ++i, walk.next())
//     result.setReal(i, a.realAt(walk.offset(0)) + b.realAt(walk.offset(1)));
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/op_def.h"
#include "compiler/ir/tensor.h"

namespace dyn {

// Row-major strides, in elements.
std::vector<int64_t> rowMajorStrides(std::span<const int64_t> shape);
// Strides of an operand of `shape` seen as `result` (aligned at the right; 0 for stretched axes).
std::vector<int64_t> broadcastStrides(std::span<const int64_t> shape, std::span<const int64_t> result);
// The NumPy broadcast of two concrete shapes; nullopt when they do not go together.
std::optional<std::vector<int64_t>> broadcastConcrete(std::span<const int64_t> a, std::span<const int64_t> b);
std::string shapeText(std::span<const int64_t> shape);  // "(2, 3)"
// Product of the sizes in [begin, end) of the shape.
int64_t sizeProduct(std::span<const int64_t> shape, int begin, int end);

// Steps through all indices of `shape` in row-major order, keeping one offset per operand.
class OffsetWalk {
 public:
  OffsetWalk(std::vector<int64_t> shape, std::vector<std::vector<int64_t>> strides,
             std::vector<int64_t> starts = {});
  const std::vector<int64_t>& index() const { return index_; }
  int64_t offset(int operand) const { return offsets_[operand]; }
  void next();

 private:
  std::vector<int64_t> shape_, index_, offsets_;
  std::vector<std::vector<int64_t>> strides_;
};

// The same, a row at a time: axes that every operand walks as if they were one are one, so rows are as long
// as they can be.
//
//   for (RowWalk row(shape, strides); !row.done(); row.next())
//     for (int64_t j = 0; j < row.count(); ++j) sum(row.first() + j, row.offset(0) + j * row.step(0));
class RowWalk {
 public:
  RowWalk(std::vector<int64_t> shape, std::vector<std::vector<int64_t>> strides);
  bool done() const { return first_ >= end_; }
  int64_t first() const { return first_; }  // row-major place of the row's first element
  int64_t count() const { return count_; }
  int64_t offset(int operand) const { return outer_.offset(operand); }
  int64_t step(int operand) const { return steps_[static_cast<size_t>(operand)]; }
  void next();

 private:
  struct Merged;
  explicit RowWalk(Merged merged);
  static Merged merge(std::vector<int64_t> shape, std::vector<std::vector<int64_t>> strides);

  int64_t first_ = 0, end_ = 0, count_ = 1;
  std::vector<int64_t> steps_;
  OffsetWalk outer_;
};

// Copies single elements between tensors of one dtype, strings too. Both tensors must outlive it and not be
// copied meanwhile.
class ElementCopier {
 public:
  ElementCopier(HostTensor& to, const HostTensor& from);
  void copy(int64_t toFlat, int64_t fromFlat) const;

 private:
  HostTensor& to_;
  const HostTensor& from_;
  std::byte* target_;
  const std::byte* source_;
  int64_t bytes_;
};

// A zero-filled (empty strings) result of that type.
Result<HostTensor> newTensor(Dtype dtype, std::vector<int64_t> shape);
// All elements of an integer operand.
std::vector<int64_t> elementsOf(const HostTensor& tensor);

}  // namespace dyn
