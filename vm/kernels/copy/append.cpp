// append: rows behind those of a cache, or at places that each batch has. In the memory of the cache where it
// grows and the rows lie behind it; else everything is copied.
#include <cstring>
#include <vector>

#include "vm/core/object/growing.h"
#include "vm/core/object/strided.h"
#include "vm/isa/isa.h"
#include "vm/kernels/builtins.h"
#include "vm/kernels/dispatch.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

// What a call says, checked.
struct Appending {
  const Tensor *past = nullptr, *rows = nullptr, *places = nullptr;
  size_t axis = 0;
  int64_t size = 0;  // of the axis of the result

  int64_t before() const { return past->shape()[axis]; }
  int64_t placeOf(int64_t batch) const {
    if (!places) return before();
    const int64_t at = places->strides() ? batch * places->strides()[0] : batch;
    return places->dtype == DataType::i64 ? reinterpret_cast<const int64_t*>(places->first)[at]
                                          : reinterpret_cast<const int32_t*>(places->first)[at];
  }
};

Status read(const BuiltinCall& call, Appending& a) {
  using Call = calls::Append;
  a.past = call.argument(Call::past);
  a.rows = call.argument(Call::rows);
  int64_t axis = call.numbersOf<Call>().axis;
  const Tensor *past = a.past, *rows = a.rows;
  bool fits = past && rows && past->dtype == rows->dtype && past->rank == rows->rank &&
              past->dtype != DataType::string && normalizeAxis(axis, past->rank);
  for (int64_t i = 0; fits && i < past->rank; ++i) fits = i == axis || past->shape()[i] == rows->shape()[i];
  if (!fits)
    return failure(DYN_BAD_INPUT,
                   "shapes do not fit: " + describe(past) + " and " + describe(rows) + " behind it");
  a.axis = static_cast<size_t>(axis);
  if (__builtin_add_overflow(a.before(), rows->shape()[axis], &a.size))
    return failure(DYN_ARITHMETIC, "the joined axis overflows");
  const std::optional<int64_t> size = call.scalarsOf<Call>(call.numbersOf<Call>()).size;
  if (!size) return okStatus();
  a.size = *size;
  a.places = call.argument(Call::places);
  if (!a.places || (a.places->dtype != DataType::i64 && a.places->dtype != DataType::i32) || axis == 0 ||
      a.places->rank != 1 || a.places->elementCount != past->shape()[0])
    return badArgument("append", Call::places, "one place for each batch", call.arguments[Call::places]);
  if (a.size < a.before() || a.size < rows->shape()[axis])
    return failure(DYN_CHECK_FAILED, "an axis of " + std::to_string(a.size) + " for " + describe(past) +
                                         " and " + describe(rows));
  return okStatus();
}

Status checkPlaces(const Appending& a) {
  for (int64_t batch = 0; a.places && batch < a.past->shape()[0]; ++batch)
    if (const int64_t place = a.placeOf(batch); place < 0 || place > a.size - a.rows->shape()[a.axis])
      return failure(DYN_OUT_OF_RANGE, "place " + std::to_string(place) + " for " +
                                           std::to_string(a.rows->shape()[a.axis]) + " rows on an axis of " +
                                           std::to_string(a.size));
  return okStatus();
}

// Do all rows lie behind the past, and nothing behind them?
bool isBehind(const Appending& a) {
  if (a.size != a.before() + a.rows->shape()[a.axis]) return false;
  for (int64_t batch = 0; a.places && batch < a.past->shape()[0]; ++batch)
    if (a.placeOf(batch) != a.before()) return false;
  return true;
}

// The past, zeros behind it, and the rows at their places, in the memory of `to`.
void fill(const BuiltinCall& call, const Appending& a, Tensor* to) {
  std::vector<int64_t> strides(to->rank), from(to->rank);
  stridesOf(to, strides);
  const AxisView view = axisView(to->shape(), to->rank, static_cast<int64_t>(a.axis));
  const size_t element = sizeBytes(to->dtype), row = static_cast<size_t>(view.inner) * element;
  const size_t old = row * static_cast<size_t>(a.before()), whole = row * static_cast<size_t>(a.size);
  // Rows of the axis lie side by side, and so far from one outer index to the next, also where there is room.
  const int64_t room = to->isDense() ? a.size : to->storage->room;
  const size_t apart = row * static_cast<size_t>(room);
  const bool isDense = a.past->isDense();
  const auto tasks = static_cast<uint32_t>(worthwhileTasks(call, static_cast<double>(to->elementCount)));
  call.split(view.outer, tasks, [&](int64_t begin, int64_t end) {
    for (int64_t outer = begin; outer < end && !call.cancelled(); ++outer) {
      std::byte* out = to->first + apart * static_cast<size_t>(outer);
      if (isDense && old > 0) memcpy(out, a.past->data + old * static_cast<size_t>(outer), old);
      if (a.places && whole > old) memset(out + old, 0, whole - old);
    }
  });
  if (!isDense) {
    stridesOf(a.past, from);
    copyElements({a.past->shape(), a.past->rank}, element, a.past->first, from, to->first, strides);
  }
  if (a.rows->elementCount == 0) return;
  stridesOf(a.rows, from);
  const auto place = [&](int64_t at) { return at * strides[a.axis] * static_cast<int64_t>(element); };
  if (!a.places) {
    copyElements({a.rows->shape(), a.rows->rank}, element, a.rows->first, from, to->first + place(a.before()),
                 strides);
    return;
  }
  std::vector<int64_t> one(a.rows->shape(), a.rows->shape() + a.rows->rank);
  one[0] = 1;
  const auto bytes = static_cast<int64_t>(element);
  for (int64_t batch = 0; batch < to->shape()[0]; ++batch)
    copyElements(one, element, a.rows->first + batch * from[0] * bytes, from,
                 to->first + batch * strides[0] * bytes + place(a.placeOf(batch)), strides);
}

}  // namespace

Status append(BuiltinCall& call) {
  Appending a;
  if (Status status = read(call, a); !status.ok()) return status;
  const bool grows = growsAlong(a.past, a.axis);
  Tensor* result = nullptr;
  // What a dry run does not know is taken to be the dearer way: a copy.
  if (!call.dryRun)
    if (Status status = checkPlaces(a); !status.ok()) return status;
  if (grows && (call.dryRun ? !a.places : isBehind(a))) {
    if (Status status = appendRows(call.pool, a.past, a.rows, a.axis, call.dryRun, result); !status.ok())
      return status;
    release(call.results[0]);
    call.results[0] = result;
    return okStatus();
  }
  std::vector<int64_t> shape(a.past->shape(), a.past->shape() + a.past->rank);
  shape[a.axis] = a.size;
  if (grows) {
    dyn_status why = DYN_OK;
    result = newGrowingWithRoom(call.pool, a.past->dtype, shape, a.axis, why);
    if (!result) return failure(why, "no room for " + std::to_string(a.size) + " rows");
    release(call.results[0]);
    call.results[0] = result;
  } else if (Status status = call.result(0, a.past->dtype, shape, result); !status.ok()) {
    return status;
  }
  if (result->elementCount > 0 && !call.dryRun) fill(call, a, result);
  return okStatus();
}

}  // namespace dyn::vm::kernels
