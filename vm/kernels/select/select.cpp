// nonzero, compress, range.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "vm/base/checked.h"
#include "vm/include/abi/dyn_builtin_numbers.h"
#include "vm/kernels/builtins.h"
#include "vm/kernels/dispatch.h"

namespace dyn::vm::kernels {

namespace {

// Nobody knows the elements: as many hold as the dry run was told, of a mask of positions all at most.
// Where blocks are laid out nothing is known: with fewer they may lie in more room.
Status dryRunPositions(BuiltinCall& call, const Tensor* x) {
  if (call.numbersOf<calls::Nonzero>().ofPositions == 0 || call.pool->laysOut())
    return failure(DYN_UNSUPPORTED, "a dry run ends here: the memory depends on what the operand holds");
  const int64_t all = x->elementCount,
                kept = call.keptPositions < 0 ? all : std::min(call.keptPositions, all);
  const int64_t shape[2] = {x->rank, kept};
  Tensor* result = nullptr;
  return call.result(0, DataType::i64, shape, result);
}

}  // namespace

Status nonzero(BuiltinCall& call) {
  using Call = calls::Nonzero;
  const Tensor* x = call.argument(Call::x);
  if (!x) return badArgument("nonzero", Call::x, "a tensor", call.arguments[Call::x]);
  if (call.dryRun) return dryRunPositions(call, x);
  // One test serves every dtype: only the zeros of real types have two bit patterns (+0, -0).
  std::vector<int64_t> found;
  auto collect = [&](auto isZero) {
    for (int64_t i = 0; i < x->elementCount; ++i)
      if (!isZero(i)) found.push_back(i);
  };
  bool known = visitNumbers(
      x->dtype, [&]<typename T>() { collect([data = x->as<T>()](int64_t i) { return data[i] == T(0); }); });
  if (!known && (x->dtype == DataType::f16 || x->dtype == DataType::bf16)) {
    known = true;
    collect([data = x->as<uint16_t>()](int64_t i) { return (data[i] & 0x7fff) == 0; });
  }
  if (!known) return failure(DYN_UNSUPPORTED, "dtype " + std::string(text(x->dtype)));
  const auto count = static_cast<int64_t>(found.size());
  const int64_t shape[2] = {x->rank, count};
  Tensor* result = nullptr;
  if (Status status = call.result(0, DataType::i64, shape, result); !status.ok()) return status;
  for (int64_t axis = x->rank - 1; axis >= 0; --axis) {
    const int64_t size = x->shape()[axis];
    int64_t* out = result->as<int64_t>() + axis * count;
    for (int64_t i = 0; i < count; ++i) {
      out[i] = found[static_cast<size_t>(i)] % size;
      found[static_cast<size_t>(i)] /= size;
    }
  }
  return okStatus();
}

Status compress(BuiltinCall& call) {
  using Call = calls::Compress;
  const Tensor *x = call.argument(Call::x), *condition = call.argument(Call::condition);
  if (!x || x->dtype == DataType::string)
    return badArgument("compress", Call::x, "a tensor of numbers", call.arguments[Call::x]);
  if (!condition || condition->dtype != DataType::boolean || condition->rank != 1)
    return badArgument("compress", Call::condition, "bool of rank 1", call.arguments[Call::condition]);
  int64_t axis = call.numbersOf<Call>().axis;
  const bool flat = axis == DYN_AXIS_FLAT;
  if (!flat && !normalizeAxis(axis, x->rank))
    return failure(DYN_BAD_INPUT, "axis is out of range for " + describe(x));
  const AxisView view = flat ? AxisView{1, x->elementCount, 1} : axisView(x->shape(), x->rank, axis);
  std::vector<int64_t> kept;
  const auto* flags = condition->as<uint8_t>();
  for (int64_t i = 0; i < condition->elementCount; ++i) {
    if (!flags[i]) continue;
    if (i >= view.size)
      return failure(DYN_OUT_OF_RANGE, "the condition holds at " + std::to_string(i) + ", the axis has " +
                                           std::to_string(view.size));
    kept.push_back(i);
  }
  std::vector<int64_t> shape(x->shape(), x->shape() + x->rank);
  if (flat) shape.assign(1, 0);
  shape[flat ? 0 : static_cast<size_t>(axis)] = static_cast<int64_t>(kept.size());
  Tensor* result = nullptr;
  if (Status status = call.result(0, x->dtype, shape, result); !status.ok()) return status;
  const size_t sliceBytes = static_cast<size_t>(view.inner) * sizeBytes(x->dtype);
  std::byte* out = result->data;
  if (sliceBytes == 0) return okStatus();
  for (int64_t outer = 0; outer < view.outer; ++outer) {
    const std::byte* row = x->data + static_cast<size_t>(outer * view.size) * sliceBytes;
    for (int64_t index : kept) {
      memcpy(out, row + static_cast<size_t>(index) * sliceBytes, sliceBytes);
      out += sliceBytes;
    }
  }
  return okStatus();
}

namespace {

template <typename T>
Status rangeOf(BuiltinCall& call, DataType dtype) {
  using Call = calls::Range;
  const T start = *call.argument(Call::start)->as<T>(), limit = *call.argument(Call::limit)->as<T>(),
          delta = *call.argument(Call::delta)->as<T>();
  if (delta == T(0)) return failure(DYN_ARITHMETIC, "delta is 0");
  int64_t count = 0;
  if constexpr (std::is_floating_point_v<T>) {
    const double steps =
        std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
    if (std::isnan(steps) || steps > 9e18)
      return failure(DYN_ARITHMETIC, "the number of elements is out of range");
    count = steps > 0 ? static_cast<int64_t>(steps) : 0;
  } else {
    int64_t distance = 0;
    if (!checkedSub(limit, start, distance) || !checkedCeilDiv(distance, delta, count))
      return failure(DYN_ARITHMETIC, "the number of elements is out of range");
    count = std::max<int64_t>(count, 0);
  }
  Tensor* result = nullptr;
  if (Status status = call.result(0, dtype, std::span(&count, 1), result); !status.ok()) return status;
  // start + i * delta, not a running sum: no error builds up. Inside the range nothing can overflow 64 bits.
  using Wide = std::conditional_t<std::is_floating_point_v<T>, T, int64_t>;
  T* out = result->as<T>();
  const Wide first = start, step = delta;
  const auto at = [&](auto i) { return static_cast<T>(first + static_cast<Wide>(i) * step); };
  // Processors make reals of vectors of 32-bit integers, of 64 bits only the newest do.
  const auto narrow = static_cast<int32_t>(std::min<int64_t>(count, std::numeric_limits<int32_t>::max()));
  for (int32_t i = 0; i < narrow; ++i) out[i] = at(i);
  for (int64_t i = narrow; i < count; ++i) out[i] = at(i);
  return okStatus();
}

}  // namespace

Status range(BuiltinCall& call) {
  using Call = calls::Range;
  const Tensor* start = call.argument(Call::start);
  for (const uint32_t i : {Call::start, Call::limit, Call::delta}) {
    const Tensor* tensor = call.argument(i);
    if (!tensor || tensor->elementCount != 1 || tensor->dtype != start->dtype)
      return badArgument("range", i, "one number, all three of one dtype", call.arguments[i]);
  }
  switch (start->dtype) {
    case DataType::i16:
      return rangeOf<int16_t>(call, start->dtype);
    case DataType::i32:
      return rangeOf<int32_t>(call, start->dtype);
    case DataType::i64:
      return rangeOf<int64_t>(call, start->dtype);
    case DataType::f32:
      return rangeOf<float>(call, start->dtype);
    case DataType::f64:
      return rangeOf<double>(call, start->dtype);
    default:
      return failure(DYN_UNSUPPORTED, "dtype " + std::string(text(start->dtype)));
  }
}

}  // namespace dyn::vm::kernels
