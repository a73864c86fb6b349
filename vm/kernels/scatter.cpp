// scatter_elements and scatter_nd. Updates are applied in order, so repeated indexes give the same bits every time.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "vm/kernels/builtins.h"
#include "vm/kernels/dispatch.h"

namespace dyn::vm::kernels {
namespace {

enum Reduction : int64_t { kNone = 0, kAdd = 1, kMultiply = 2, kMinimum = 3, kMaximum = 4 };

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
using Apply = void (*)(std::byte* to, const std::byte* update, int64_t count, int64_t reduction);

Apply applierOf(DataType dtype, int64_t reduction) {
  Apply result = nullptr;
  if (reduction == kNone) {
    visitSizes(dtype, [&]<typename T>() {
      result = [](std::byte* to, const std::byte* update, int64_t count, int64_t) {
        memcpy(to, update, static_cast<size_t>(count) * sizeof(T));
      };
    });
    if (dtype == DataType::c128)
      result = [](std::byte* to, const std::byte* update, int64_t count, int64_t) {
        memcpy(to, update, static_cast<size_t>(count) * 16);
      };
    return result;
  }
  if (dtype == DataType::boolean) {
    return [](std::byte* to, const std::byte* update, int64_t count, int64_t how) {
      for (int64_t i = 0; i < count; ++i)
        to[i] = how == kAdd || how == kMaximum ? (to[i] | update[i]) : (to[i] & update[i]);
    };
  }
  visitNumbersAndHalves(dtype, [&]<typename T>() {
    result = [](std::byte* to, const std::byte* update, int64_t count, int64_t how) {
      auto* out = reinterpret_cast<T*>(to);
      const auto* in = reinterpret_cast<const T*>(update);
      for (int64_t i = 0; i < count; ++i) out[i] = reduce(out[i], in[i], how);
    };
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

Status prepare(BuiltinCall& call, const char* name, int64_t reduction, Scatter& s) {
  s.data = call.argument(0);
  s.indexes = call.argument(1);
  s.updates = call.argument(2);
  s.reduction = reduction;
  if (!s.data) return badArgument(name, 0, "a tensor", call.arguments[0]);
  if (!s.indexes || (s.indexes->dtype != DataType::i64 && s.indexes->dtype != DataType::i32))
    return badArgument(name, 1, "i64 or i32", call.arguments[1]);
  if (!s.updates || s.updates->dtype != s.data->dtype)
    return badArgument(name, 2, "the data's dtype", call.arguments[2]);
  if (reduction < kNone || reduction > kMaximum)
    return failure(DYN_BAD_PROGRAM, "reduction " + std::to_string(reduction));
  s.apply = applierOf(s.data->dtype, reduction);
  if (!s.apply) return failure(DYN_UNSUPPORTED, "dtype " + std::string(text(s.data->dtype)));
  if (Status status = call.result(0, s.data->dtype, std::span(s.data->shape(), s.data->rank), s.out);
      !status.ok())
    return status;
  // The result may be the data itself: an update in place.
  if (s.out->data != s.data->data && s.out->elementCount > 0)
    memcpy(s.out->data, s.data->data, s.data->sizeBytes());
  return okStatus();
}

Status outOfRange(int64_t index, int64_t size) {
  return failure(DYN_OUT_OF_RANGE,
                 "index " + std::to_string(index) + " on an axis of " + std::to_string(size));
}

}  // namespace

Status scatterElements(BuiltinCall& call) {
  Scatter s;
  if (Status status = prepare(call, "scatter_elements", call.number(1, 0), s); !status.ok()) return status;
  int64_t axis = call.number(0, 0);
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
  const size_t size = sizeBytes(s.data->dtype);
  std::vector<int64_t> position(rank, 0), strides(rank, 1);
  for (int64_t i = static_cast<int64_t>(rank) - 2; i >= 0; --i)
    strides[static_cast<size_t>(i)] = strides[static_cast<size_t>(i) + 1] * s.data->shape()[i + 1];
  const int64_t axisSize = s.data->shape()[axis];
  for (int64_t i = 0; i < s.indexes->elementCount; ++i) {
    int64_t index = s.indexAt(i);
    if (index < -axisSize || index >= axisSize) return outOfRange(index, axisSize);
    if (index < 0) index += axisSize;
    int64_t target = 0;
    for (uint32_t d = 0; d < rank; ++d)
      target += (static_cast<int64_t>(d) == axis ? index : position[d]) * strides[d];
    s.apply(s.out->data + static_cast<size_t>(target) * size, s.updates->data + static_cast<size_t>(i) * size,
            1, s.reduction);
    for (int64_t d = static_cast<int64_t>(rank) - 1;
         d >= 0 && ++position[static_cast<size_t>(d)] == s.indexes->shape()[d]; --d)
      position[static_cast<size_t>(d)] = 0;
  }
  return okStatus();
}

Status scatterNd(BuiltinCall& call) {
  Scatter s;
  if (Status status = prepare(call, "scatter_nd", call.number(0, 0), s); !status.ok()) return status;
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
  int64_t slice = 1, count = 1;
  for (int64_t i = depth; i < rank; ++i) slice *= s.data->shape()[i];
  for (int64_t i = 0; i < s.indexes->rank - 1; ++i) count *= s.indexes->shape()[i];
  const size_t size = sizeBytes(s.data->dtype);
  for (int64_t i = 0; i < count; ++i) {
    int64_t target = 0;
    for (int64_t d = 0; d < depth; ++d) {
      const int64_t axisSize = s.data->shape()[d];
      int64_t index = s.indexAt(i * depth + d);
      if (index < -axisSize || index >= axisSize) return outOfRange(index, axisSize);
      if (index < 0) index += axisSize;
      target = target * axisSize + index;
    }
    s.apply(s.out->data + static_cast<size_t>(target * slice) * size,
            s.updates->data + static_cast<size_t>(i * slice) * size, slice, s.reduction);
  }
  return okStatus();
}

}  // namespace dyn::vm::kernels
