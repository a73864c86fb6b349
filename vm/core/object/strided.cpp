#include "vm/core/object/strided.h"

#include <algorithm>
#include <cstring>

#include "vm/base/checked.h"
#include "vm/isa/isa.h"

namespace dyn::vm {
namespace {

// Two places walked together: axes that are walked as one on both sides are joined, those of one element left
// out. What is left is walked outermost first, in runs of the innermost.
struct Walk {
  int64_t shape[kMaximumRank], from[kMaximumRank], to[kMaximumRank];
  size_t rank = 0;
  int64_t run = 1, runFrom = 1, runTo = 1;  // the innermost axis

  Walk(std::span<const int64_t> sizes, std::span<const int64_t> fromStrides,
       std::span<const int64_t> toStrides) {
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      if (sizes[axis] == 1) continue;
      if (rank > 0 && from[rank - 1] == fromStrides[axis] * sizes[axis] &&
          to[rank - 1] == toStrides[axis] * sizes[axis]) {
        shape[rank - 1] *= sizes[axis];
      } else {
        shape[rank++] = sizes[axis];
      }
      from[rank - 1] = fromStrides[axis];
      to[rank - 1] = toStrides[axis];
    }
    if (rank == 0) return;
    run = shape[--rank];
    runFrom = from[rank];
    runTo = to[rank];
  }

  // use(places of the first element of each run on both sides, in elements)
  template <typename Use>
  void forEachRun(Use&& use) const {
    int64_t index[kMaximumRank] = {};
    for (int64_t source = 0, target = 0;;) {
      use(source, target);
      size_t axis = rank;
      for (; axis > 0; --axis) {
        source += from[axis - 1];
        target += to[axis - 1];
        if (++index[axis - 1] < shape[axis - 1]) break;
        source -= from[axis - 1] * shape[axis - 1];
        target -= to[axis - 1] * shape[axis - 1];
        index[axis - 1] = 0;
      }
      if (axis == 0) return;
    }
  }
};

template <size_t kBytes>
void copyRun(const std::byte* from, int64_t fromBytes, std::byte* to, int64_t toBytes, int64_t count) {
  for (int64_t i = 0; i < count; ++i) memcpy(to + i * toBytes, from + i * fromBytes, kBytes);
}

void copyRun(size_t bytes, const std::byte* from, int64_t fromBytes, std::byte* to, int64_t toBytes,
             int64_t count) {
  switch (bytes) {
    case 1:
      return copyRun<1>(from, fromBytes, to, toBytes, count);
    case 2:
      return copyRun<2>(from, fromBytes, to, toBytes, count);
    case 4:
      return copyRun<4>(from, fromBytes, to, toBytes, count);
    case 8:
      return copyRun<8>(from, fromBytes, to, toBytes, count);
    default:
      for (int64_t i = 0; i < count; ++i) memcpy(to + i * toBytes, from + i * fromBytes, bytes);
  }
}

bool isEmpty(std::span<const int64_t> shape) {
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}

void writeDenseStrides(std::span<const int64_t> shape, int64_t* to) {
  int64_t stride = 1;
  const bool empty = isEmpty(shape);  // then the sizes beside a 0 may be anything
  for (size_t axis = shape.size(); axis-- > 0;) {
    to[axis] = stride;
    if (!empty) stride *= shape[axis];
  }
}

}  // namespace

bool isRowMajor(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  if (isEmpty(shape)) return true;
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 1) continue;
    if (strides[axis] != stride) return false;
    stride *= shape[axis];
  }
  return true;
}

void stridesOf(const Tensor* tensor, std::span<int64_t> to) {
  if (const int64_t* strides = tensor->strides())
    std::copy_n(strides, tensor->rank, to.begin());
  else
    writeDenseStrides({tensor->shape(), tensor->rank}, to.data());
}

bool reachOf(std::span<const int64_t> shape, std::span<const int64_t> strides, int64_t& low, int64_t& high) {
  low = 0;
  high = isEmpty(shape) ? -1 : 0;
  if (high < 0) return true;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    int64_t far = 0;
    int64_t& end = strides[axis] < 0 ? low : high;
    if (!checkedMul(shape[axis] - 1, strides[axis], far) || !checkedAdd(end, far, end)) return false;
  }
  return true;
}

void copyElements(std::span<const int64_t> shape, size_t elementBytes, const std::byte* from,
                  std::span<const int64_t> fromStrides, std::byte* to, std::span<const int64_t> toStrides) {
  if (isEmpty(shape)) return;
  const Walk walk(shape, fromStrides, toStrides);
  const auto bytes = static_cast<int64_t>(elementBytes);
  walk.forEachRun([&](int64_t source, int64_t target) {
    if (walk.runFrom == 1 && walk.runTo == 1)
      memcpy(to + target * bytes, from + source * bytes, elementBytes * static_cast<size_t>(walk.run));
    else
      copyRun(elementBytes, from + source * bytes, walk.runFrom * bytes, to + target * bytes,
              walk.runTo * bytes, walk.run);
  });
}

void copyDense(const Tensor* from, std::byte* to) {
  if (from->elementCount == 0) return;
  if (from->isDense()) {
    memcpy(to, from->data, from->sizeBytes());
    return;
  }
  int64_t dense[kMaximumRank];
  const std::span<const int64_t> shape(from->shape(), from->rank);
  writeDenseStrides(shape, dense);
  copyElements(shape, sizeBytes(from->dtype), from->first, {from->strides(), from->rank}, to,
               {dense, from->rank});
}

}  // namespace dyn::vm
