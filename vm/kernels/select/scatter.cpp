// scatter_elements and scatter_nd. Updates are applied in order, so repeated indexes give the same bits every
// time.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "vm/include/abi/dyn_builtin_numbers.h"
#include "vm/kernels/builtins.h"
#include "vm/kernels/dispatch.h"

namespace dyn::vm::kernels {
namespace {

enum Reduction : int64_t {
  kNone = DYN_SCATTER_SET,
  kAdd = DYN_SCATTER_ADD,
  kMultiply = DYN_SCATTER_MULTIPLY,
  kMinimum = DYN_SCATTER_MINIMUM,
  kMaximum = DYN_SCATTER_MAXIMUM
};

template <typename T>
T reduce(T old, T update, int64_t reduction) {
  if constexpr (std::is_class_v<T>) {  // f16, bf16
    return T(reduce<float>(old, update, reduction));
  } else if constexpr (std::is_floating_point_v<T>) {
    switch (reduction) {
      case kAdd:
        return old + update;
      case kMultiply:
        return old * update;
      case kMinimum:
        return std::isnan(old) || old < update ? old : update;
      default:
        return std::isnan(old) || old > update ? old : update;
    }
  } else {
    using Wide = uint64_t;  // wraps instead of overflowing
    switch (reduction) {
      case kAdd:
        return static_cast<T>(static_cast<Wide>(old) + static_cast<Wide>(update));
      case kMultiply:
        return static_cast<T>(static_cast<Wide>(old) * static_cast<Wide>(update));
      case kMinimum:
        return std::min(old, update);
      default:
        return std::max(old, update);
    }
  }
}

// Applies one run of `count` updates to consecutive elements.
using Apply = void (*)(std::byte* to, const std::byte* update, int64_t count);

template <typename T, int64_t kHow>
void applyRun(std::byte* to, const std::byte* update, int64_t count) {
  auto* out = reinterpret_cast<T*>(to);
  const auto* in = reinterpret_cast<const T*>(update);
  for (int64_t i = 0; i < count; ++i) out[i] = reduce(out[i], in[i], kHow);
}

// Of truth values a sum is whether any holds, a product whether both do.
int64_t reductionOf(DataType dtype, int64_t reduction) {
  if (dtype != DataType::boolean || reduction == kNone) return reduction;
  return reduction == kAdd || reduction == kMaximum ? kMaximum : kMinimum;
}

Apply applierOf(DataType dtype, int64_t reduction) {
  Apply result = nullptr;
  if (reduction == kNone) {
    visitSizes(dtype, [&]<typename T>() {
      result = [](std::byte* to, const std::byte* update, int64_t count) {
        memcpy(to, update, static_cast<size_t>(count) * sizeof(T));
      };
    });
    if (dtype == DataType::c128)
      result = [](std::byte* to, const std::byte* update, int64_t count) {
        memcpy(to, update, static_cast<size_t>(count) * 16);
      };
    return result;
  }
  reduction = reductionOf(dtype, reduction);
  visitNumbersAndHalves(dtype, [&]<typename T>() {
    result = reduction == kAdd        ? applyRun<T, kAdd>
             : reduction == kMultiply ? applyRun<T, kMultiply>
             : reduction == kMinimum  ? applyRun<T, kMinimum>
                                      : applyRun<T, kMaximum>;
  });
  return result;
}

struct Scatter {
  const Tensor *data, *indexes, *updates;
  Tensor* out;
  Apply apply;
  int64_t reduction;
  int64_t indexAt(int64_t i) const {
    return indexes->dtype == DataType::i64 ? indexes->as<int64_t>()[i] : indexes->as<int32_t>()[i];
  }
};

template <typename Call>
Status prepare(BuiltinCall& call, int64_t reduction, Scatter& s) {
  const char* const name = Call::kRow.data();
  s.data = call.argument(Call::data);
  s.indexes = call.argument(Call::indexes);
  s.updates = call.argument(Call::updates);
  s.reduction = reduction;
  if (!s.data) return badArgument(name, Call::data, "a tensor", call.arguments[Call::data]);
  if (!s.indexes || (s.indexes->dtype != DataType::i64 && s.indexes->dtype != DataType::i32))
    return badArgument(name, Call::indexes, "i64 or i32", call.arguments[Call::indexes]);
  if (!s.updates || s.updates->dtype != s.data->dtype)
    return badArgument(name, Call::updates, "the data's dtype", call.arguments[Call::updates]);
  if (reduction < kNone || reduction > kMaximum)
    return failure(DYN_BAD_PROGRAM, "reduction " + std::to_string(reduction));
  s.apply = applierOf(s.data->dtype, reduction);
  if (!s.apply) return failure(DYN_UNSUPPORTED, "dtype " + std::string(text(s.data->dtype)));
  if (Status status = call.result(0, s.data->dtype, std::span(s.data->shape(), s.data->rank), s.out);
      !status.ok())
    return status;
  // The result may be the data itself: an update in place.
  if (s.out->data != s.data->data && s.out->elementCount > 0 && !call.dryRun)
    memcpy(s.out->data, s.data->data, s.data->sizeBytes());
  return okStatus();
}

Status outOfRange(int64_t index, int64_t size) {
  return failure(DYN_OUT_OF_RANGE,
                 "index " + std::to_string(index) + " on an axis of " + std::to_string(size));
}

// Updates along the last axis of the indexes: update j goes to out[index * axisStride + j * step]. How many
// were applied: all, or those before an index that is out of range.
struct RowPlaces {
  int64_t count, step, axisStride, axisSize;
};
enum class IndexAxis : uint8_t { last, outer };  // the axis that indexes are of
using ApplyRow = int64_t (*)(std::byte* out, const std::byte* indexes, const std::byte* updates,
                             const RowPlaces& places);

template <typename T, typename Index, int64_t kHow, IndexAxis kAxis>
int64_t applyRow(std::byte* out, const std::byte* indexes, const std::byte* updates,
                 const RowPlaces& places) {
  constexpr int64_t kTested = 8;  // indexes that are tested by one branch
  auto* to = reinterpret_cast<T*>(out);
  const auto* from = reinterpret_cast<const T*>(updates);
  const auto* at = reinterpret_cast<const Index*>(indexes);
  const int64_t count = places.count, size = places.axisSize,
                step = kAxis == IndexAxis::last ? 0 : places.step,
                stride = kAxis == IndexAxis::last ? 1 : places.axisStride;
  const auto inAxis = [size](int64_t index) {
    return static_cast<uint64_t>(index < 0 ? index + size : index);
  };
  const auto put = [&](uint64_t index, int64_t j) {
    T& element = to[static_cast<int64_t>(index) * stride + j * step];
    if constexpr (kHow == kNone)
      element = from[j];
    else
      element = reduce(element, from[j], kHow);
  };
  int64_t j = 0;
  for (; j + kTested <= count; j += kTested) {
    uint64_t found[kTested];
    bool areInside = true;
#pragma GCC unroll 8
    for (int64_t k = 0; k < kTested; ++k) {
      found[k] = inAxis(at[j + k]);
      areInside &= found[k] < static_cast<uint64_t>(size);
    }
    if (!areInside) break;
#pragma GCC unroll 8
    for (int64_t k = 0; k < kTested; ++k) put(found[k], j + k);
  }
  for (; j < count; ++j) {
    const uint64_t index = inAxis(at[j]);
    if (index >= static_cast<uint64_t>(size)) break;
    put(index, j);
  }
  return j;
}

template <typename T, typename Index, int64_t kHow>
ApplyRow rowApplier(IndexAxis axis) {
  return axis == IndexAxis::last ? applyRow<T, Index, kHow, IndexAxis::last>
                                 : applyRow<T, Index, kHow, IndexAxis::outer>;
}
template <typename T, int64_t kHow>
ApplyRow rowApplier(DataType index, IndexAxis axis) {
  return index == DataType::i64 ? rowApplier<T, int64_t, kHow>(axis) : rowApplier<T, int32_t, kHow>(axis);
}

ApplyRow rowApplierOf(DataType dtype, DataType index, int64_t reduction, IndexAxis axis) {
  struct Wide {
    uint64_t parts[2];
  };
  ApplyRow result = nullptr;
  if (reduction == kNone) {
    if (dtype == DataType::c128) return rowApplier<Wide, kNone>(index, axis);
    visitSizes(dtype, [&]<typename T>() { result = rowApplier<T, kNone>(index, axis); });
    return result;
  }
  reduction = reductionOf(dtype, reduction);
  visitNumbersAndHalves(dtype, [&]<typename T>() {
    result = reduction == kAdd        ? rowApplier<T, kAdd>(index, axis)
             : reduction == kMultiply ? rowApplier<T, kMultiply>(index, axis)
             : reduction == kMinimum  ? rowApplier<T, kMinimum>(index, axis)
                                      : rowApplier<T, kMaximum>(index, axis);
  });
  return result;
}

}  // namespace

Status scatterElements(BuiltinCall& call) {
  Scatter s;
  const auto n = call.numbersOf<calls::ScatterElements>();
  if (Status status = prepare<calls::ScatterElements>(call, n.how, s); !status.ok()) return status;
  int64_t axis = n.axis;
  const uint32_t rank = s.data->rank;
  if (!normalizeAxis(axis, rank))
    return failure(DYN_BAD_INPUT, "axis is out of range for " + describe(s.data));
  if (s.indexes->rank != rank || s.updates->rank != rank ||
      !std::equal(s.indexes->shape(), s.indexes->shape() + rank, s.updates->shape()))
    return failure(DYN_BAD_INPUT, "indexes " + describe(s.indexes) + " and updates " + describe(s.updates) +
                                      " must have one shape of the data's rank");
  for (uint32_t i = 0; i < rank; ++i)
    if (static_cast<int64_t>(i) != axis && s.indexes->shape()[i] > s.data->shape()[i] &&
        s.indexes->elementCount > 0)
      return failure(DYN_BAD_INPUT,
                     "indexes " + describe(s.indexes) + " reach beyond the data " + describe(s.data));
  const int64_t last = static_cast<int64_t>(rank) - 1;
  const ApplyRow apply = rowApplierOf(s.data->dtype, s.indexes->dtype, s.reduction,
                                      axis == last ? IndexAxis::last : IndexAxis::outer);
  if (!apply) return failure(DYN_UNSUPPORTED, "dtype " + std::string(text(s.data->dtype)));
  if (s.indexes->elementCount == 0 || call.dryRun) return okStatus();
  const size_t size = sizeBytes(s.data->dtype), indexSize = sizeBytes(s.indexes->dtype);
  std::vector<int64_t> position(rank, 0), strides(rank, 1);
  for (int64_t i = static_cast<int64_t>(rank) - 2; i >= 0; --i)
    strides[static_cast<size_t>(i)] = strides[static_cast<size_t>(i) + 1] * s.data->shape()[i + 1];
  const int64_t axisSize = s.data->shape()[axis];
  const RowPlaces places{s.indexes->shape()[last], axis == last ? 0 : 1, strides[static_cast<size_t>(axis)],
                         axisSize};
  for (int64_t i = 0; i < s.indexes->elementCount; i += places.count) {
    int64_t base = 0;
    for (int64_t d = 0; d < last; ++d)
      if (d != axis) base += position[static_cast<size_t>(d)] * strides[static_cast<size_t>(d)];
    const auto at = static_cast<size_t>(i);
    const int64_t applied = apply(s.out->data + static_cast<size_t>(base) * size,
                                  s.indexes->data + at * indexSize, s.updates->data + at * size, places);
    if (applied < places.count) return outOfRange(s.indexAt(i + applied), axisSize);
    for (int64_t d = last - 1; d >= 0 && ++position[static_cast<size_t>(d)] == s.indexes->shape()[d]; --d)
      position[static_cast<size_t>(d)] = 0;
  }
  return okStatus();
}

Status scatterNd(BuiltinCall& call) {
  Scatter s;
  const auto n = call.numbersOf<calls::ScatterNd>();
  if (Status status = prepare<calls::ScatterNd>(call, n.how, s); !status.ok()) return status;
  const uint32_t rank = s.data->rank;
  const int64_t depth = s.indexes->rank == 0 ? -1 : s.indexes->shape()[s.indexes->rank - 1];
  bool fits = depth >= 0 && depth <= rank && s.updates->rank == s.indexes->rank - 1 + rank - depth;
  for (int64_t i = 0; fits && i < s.indexes->rank - 1; ++i)
    fits = s.updates->shape()[i] == s.indexes->shape()[i];
  for (int64_t i = depth; fits && i < rank; ++i)
    fits = s.updates->shape()[s.indexes->rank - 1 + i - depth] == s.data->shape()[i];
  if (!fits)
    return failure(DYN_BAD_INPUT, "shapes do not fit: " + describe(s.data) + ", indexes " +
                                      describe(s.indexes) + ", updates " + describe(s.updates));
  if (call.dryRun) return okStatus();
  int64_t slice = 1, count = 1;
  for (int64_t i = depth; i < rank; ++i) slice *= s.data->shape()[i];
  for (int64_t i = 0; i < s.indexes->rank - 1; ++i) count *= s.indexes->shape()[i];
  const size_t size = sizeBytes(s.data->dtype);
  // Slices that go to places behind each other are one.
  int64_t begin = 0, first = 0;
  const auto applyUpTo = [&](int64_t end) {
    if (end > begin)
      s.apply(s.out->data + static_cast<size_t>(first * slice) * size,
              s.updates->data + static_cast<size_t>(begin * slice) * size, (end - begin) * slice);
    begin = end;
  };
  for (int64_t i = 0; i < count; ++i) {
    int64_t target = 0;
    for (int64_t d = 0; d < depth; ++d) {
      const int64_t axisSize = s.data->shape()[d];
      int64_t index = s.indexAt(i * depth + d);
      if (index < -axisSize || index >= axisSize) return outOfRange(index, axisSize);
      if (index < 0) index += axisSize;
      target = target * axisSize + index;
    }
    if (target == first + (i - begin)) continue;
    applyUpTo(i);
    first = target;
  }
  applyUpTo(count);
  return okStatus();
}

}  // namespace dyn::vm::kernels
