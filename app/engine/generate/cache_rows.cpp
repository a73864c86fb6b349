#include "app/engine/generate/cache_rows.h"

#include <cstring>

namespace dyn {

namespace {

// Copies a box of a value, at any strides, into a dense tensor.
struct CacheBox {
  std::vector<int64_t> from, to, extents;
};

void copyCacheBox(const std::byte* first, const std::vector<int64_t>& strides, HostTensor& target,
                  const CacheBox& box) {
  const auto width = static_cast<int64_t>(storageBytes(target.dtype()));
  const size_t rank = box.extents.size();
  std::vector<int64_t> targetStrides(rank, 1);
  for (size_t axis = rank; axis-- > 1;) targetStrides[axis - 1] = targetStrides[axis] * target.shape()[axis];
  int64_t source = 0, out = 0;
  for (size_t axis = 0; axis < rank; ++axis) {
    if (box.extents[axis] == 0) return;
    source += box.from[axis] * strides[axis];
    out += box.to[axis] * targetStrides[axis];
  }
  // Axes that lie together in both are one run of elements.
  size_t outer = rank;
  int64_t run = 1;
  while (outer > 0 && strides[outer - 1] == run && targetStrides[outer - 1] == run) {
    --outer;
    run *= box.extents[outer];
    if (box.extents[outer] != target.shape()[outer]) break;
  }
  std::byte* to = target.mutableData();
  std::vector<int64_t> index(outer, 0);
  for (;;) {
    std::memcpy(to + out * width, first + source * width, static_cast<size_t>(run * width));
    size_t axis = outer;
    for (; axis > 0; --axis) {
      source += strides[axis - 1];
      out += targetStrides[axis - 1];
      if (++index[axis - 1] < box.extents[axis - 1]) break;
      source -= box.extents[axis - 1] * strides[axis - 1];
      out -= box.extents[axis - 1] * targetStrides[axis - 1];
      index[axis - 1] = 0;
    }
    if (axis == 0) return;
  }
}

}  // namespace

Result<HostTensor> cacheOfRows(const std::vector<CacheRow>& rows, const CacheAxes& axes, int64_t span,
                               double (*filler)(int64_t)) {
  const dyn_value* model = rows[0].cache;
  const auto rank = static_cast<size_t>(dyn_value_rank(model));
  const int64_t* sizes = dyn_value_shape(model);
  std::vector<int64_t> shape(sizes, sizes + rank);
  if (axes.rows) shape[*axes.rows] = static_cast<int64_t>(rows.size());
  if (axes.position) shape[*axes.position] = span;
  DYN_TRY(HostTensor target, HostTensor::create(static_cast<Dtype>(dyn_value_dtype(model)), shape));
  if (filler)
    for (int64_t i = 0; i < target.elementCount(); ++i) target.setReal(i, filler(i));
  for (size_t i = 0; i < (axes.rows ? rows.size() : 1); ++i) {
    const CacheRow& row = rows[i];
    std::vector<int64_t> strides(rank);
    const auto* first = static_cast<const std::byte*>(dyn_value_first(row.cache));
    if (dyn_value_strides(row.cache, strides.data()) != DYN_OK || (!first && target.elementCount() > 0))
      return makeError(DiagnosticId::unsupportedFeature,
                       "unsupported: caches on a device: their rows are not moved there");
    CacheBox box{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 0), shape};
    if (axes.rows) {
      box.from[*axes.rows] = row.row;
      box.to[*axes.rows] = static_cast<int64_t>(i);
      box.extents[*axes.rows] = 1;
    }
    if (axes.position) {
      const int64_t there = dyn_value_shape(row.cache)[*axes.position];
      if (row.begin + row.length > there)
        return makeError(DiagnosticId::unsupportedFeature,
                         "unsupported: a cache that does not keep all positions: it has " +
                             std::to_string(there) + " where a sequence has " +
                             std::to_string(row.begin + row.length));
      box.from[*axes.position] = row.begin;
      box.to[*axes.position] = row.targetBegin;
      box.extents[*axes.position] = row.length;
    }
    copyCacheBox(first, strides, target, box);
  }
  return target;
}

Result<HostTensor> repeatedRow(const HostTensor& tensor, size_t axis, int64_t count) {
  std::vector<int64_t> shape = tensor.shape();
  shape[axis] = count;
  DYN_TRY(HostTensor target, HostTensor::create(tensor.dtype(), shape));
  if (target.elementCount() == 0) return target;
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * tensor.shape()[i];
  CacheBox box{std::vector<int64_t>(shape.size(), 0), std::vector<int64_t>(shape.size(), 0), tensor.shape()};
  for (; box.to[axis] < count; ++box.to[axis]) copyCacheBox(tensor.data(), strides, target, box);
  return target;
}

}  // namespace dyn
