// list_concat, list_stack, split_to_list, concat, split: tensors joined from lists and cut into them;
// copy: a tensor of its own.
#include <cstring>
#include <vector>

#include "vm/core/object/strided.h"
#include "vm/isa/isa.h"
#include "vm/kernels/builtins.h"
#include "vm/kernels/dispatch.h"
#include "vm/kernels/text/string_elements.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

// Writes a strided item to its place, so many bytes from the beginning of the joined tensor.
void placeStrided(const Tensor* item, size_t axis, bool stack, Tensor* joined, size_t place) {
  int64_t from[kMaximumRank], to[kMaximumRank];
  stridesOf(item, {from, item->rank});
  stridesOf(joined, {to, joined->rank});
  if (stack) std::copy(to + axis + 1, to + joined->rank, to + axis);
  copyElements({item->shape(), item->rank}, sizeBytes(item->dtype), item->first, {from, item->rank},
               joined->data + place, {to, item->rank});
}

// So many strings of `from`, copied to a place of `to`; false when memory is short.
bool copyStrings(const Tensor* from, int64_t begin, int64_t count, Tensor* to, int64_t place) {
  bool enough = true;
  for (int64_t i = 0; i < count && enough; ++i) enough = setString(to, place + i, stringAt(from, begin + i));
  return enough;
}

Status joinStrings(std::span<Object* const> items, int64_t outerCount, Tensor* result) {
  int64_t place = 0;
  for (int64_t outer = 0; outer < outerCount; ++outer) {
    for (const Object* item : items) {
      const auto* tensor = static_cast<const Tensor*>(item);
      const int64_t count = tensor->elementCount / outerCount;
      if (!copyStrings(tensor, outer * count, count, result, place)) return outOfStrings();
      place += count;
    }
  }
  return okStatus();
}

// Joins tensors of one dtype along an axis; with `stack` each becomes a slice of a new axis.
Status join(BuiltinCall& call, std::span<Object* const> items, int64_t axis, bool stack) {
  for (size_t i = 0; i < items.size(); ++i)
    if (!items[i] || items[i]->kind != ObjectKind::tensor)
      return failure(DYN_BAD_INPUT,
                     "item " + std::to_string(i) + " is " + describe(items[i]) + ", not a tensor");
  if (items.empty()) return failure(DYN_BAD_INPUT, "nothing to join: the list is empty");
  const auto tensorOf = [](const Object* item) { return static_cast<const Tensor*>(item); };
  const Tensor* first = tensorOf(items[0]);
  const uint32_t rank = first->rank + (stack ? 1u : 0u);
  if (!normalizeAxis(axis, rank))
    return failure(DYN_BAD_INPUT, "axis is out of range for " + describe(first));
  int64_t total = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    const Tensor* tensor = tensorOf(items[i]);
    bool fits = tensor->dtype == first->dtype && tensor->rank == first->rank;
    for (int64_t d = 0; fits && d < first->rank; ++d)
      fits = (d == axis && !stack) || tensor->shape()[d] == first->shape()[d];
    if (!fits)
      return failure(DYN_BAD_INPUT, "item " + std::to_string(i) + " is " + describe(tensor) + ", item 0 is " +
                                        describe(first));
    if (__builtin_add_overflow(total, stack ? 1 : tensor->shape()[axis], &total))
      return failure(DYN_ARITHMETIC, "the joined axis overflows");
  }
  if (rank > kMaximumRank)
    return failure(DYN_UNSUPPORTED, "more than " + std::to_string(kMaximumRank) + " axes");
  int64_t shape[kMaximumRank];
  std::copy_n(first->shape(), axis, shape);
  shape[axis] = total;
  const int64_t behind = stack ? axis : axis + 1;
  std::copy(first->shape() + behind, first->shape() + first->rank, shape + axis + 1);
  Tensor* result = nullptr;
  if (Status status = call.result(0, first->dtype, {shape, rank}, result); !status.ok()) return status;
  if (result->elementCount == 0 || call.dryRun) return okStatus();
  const AxisView view = axisView(shape, rank, axis);
  if (result->dtype == DataType::string) return joinStrings(items, view.outer, result);
  const size_t block = result->sizeBytes() / static_cast<size_t>(view.outer);
  const auto tasks = static_cast<uint32_t>(worthwhileTasks(call, static_cast<double>(result->elementCount)));
  call.split(view.outer, tasks, [&](int64_t begin, int64_t end) {
    std::byte* out = result->data + block * static_cast<size_t>(begin);
    for (int64_t outer = begin; outer < end && !call.cancelled(); ++outer) {
      for (const Object* item : items) {
        const Tensor* tensor = tensorOf(item);
        const size_t bytes = tensor->sizeBytes() / static_cast<size_t>(view.outer);
        if (bytes > 0 && tensor->isDense())
          memcpy(out, tensor->data + bytes * static_cast<size_t>(outer), bytes);
        out += bytes;
      }
    }
  });
  size_t place = 0;
  for (const Object* item : items) {
    const Tensor* tensor = tensorOf(item);
    if (!tensor->isDense()) placeStrided(tensor, static_cast<size_t>(axis), stack, result, place);
    place += tensor->sizeBytes() / static_cast<size_t>(view.outer);
  }
  return okStatus();
}

// That of list_concat or list_stack.
template <typename Call>
Status listArgument(const BuiltinCall& call, std::span<Object* const>& items) {
  Object* object = call.arguments[Call::list];
  if (!object || object->kind != ObjectKind::list) return badArgument("list", Call::list, "a list", object);
  items = {static_cast<List*>(object)->items, static_cast<size_t>(static_cast<List*>(object)->count)};
  return okStatus();
}

// The axis of a row whose numbers do not matter to it.
template <typename Call>
int64_t axisOf(const CallInputs& call) {
  return call.scalarsOf<Call>({}).axis;
}

// The only item is the result itself.
bool handOn(BuiltinCall& call, std::span<Object* const> items, int64_t axis) {
  if (items.size() != 1 || call.into || !items[0] || items[0]->kind != ObjectKind::tensor) return false;
  auto* item = static_cast<Tensor*>(items[0]);
  if (!item->isDense() || item->readOnly || !normalizeAxis(axis, item->rank)) return false;
  retain(item);
  release(call.results[0]);
  call.results[0] = item;
  return true;
}

}  // namespace

Status listConcat(BuiltinCall& call) {
  std::span<Object* const> items;
  if (Status status = listArgument<calls::ListConcat>(call, items); !status.ok()) return status;
  if (handOn(call, items, axisOf<calls::ListConcat>(call))) return okStatus();
  return join(call, items, axisOf<calls::ListConcat>(call), false);
}

Status listStack(BuiltinCall& call) {
  std::span<Object* const> items;
  if (Status status = listArgument<calls::ListStack>(call, items); !status.ok()) return status;
  return join(call, items, axisOf<calls::ListStack>(call), true);
}

Status concat(BuiltinCall& call) {
  return join(call, call.arguments.subspan(calls::Concat::parts), axisOf<calls::Concat>(call), false);
}

// The sizes along the axis are those of the results, which are there already.
Status split(FlatCall& call) {
  using Call = calls::Split;
  const TensorView* x = call.argument(Call::x);
  if (!x || x->dtype() == DataType::string) return badArgument("split", Call::x, "a tensor of numbers", x);
  int64_t axis = axisOf<Call>(call);
  if (!normalizeAxis(axis, x->rank)) return failure(DYN_BAD_INPUT, "axis is out of range for " + describe(x));
  const AxisView view = axisView(x->shape(), x->rank, axis);
  const size_t element = sizeBytes(x->dtype());
  int64_t offset = 0;
  for (size_t i = 0; i < call.resultCount && !call.cancelled(); ++i) {
    TensorView* part = call.result(i);
    if (part->rank != x->rank)
      return failure(DYN_BAD_INPUT, "part " + std::to_string(i) + " has no place of as many axes");
    const int64_t size = part->shape()[axis];
    if (size > view.size - offset)
      return failure(DYN_CHECK_FAILED, "the parts do not add up to " + std::to_string(view.size));
    bool fits = part->dtype() == x->dtype();
    for (int64_t k = 0; k < int64_t{x->rank}; ++k) fits &= k == axis || part->shape()[k] == x->shape()[k];
    if (!fits) {
      std::vector<int64_t> shape(x->sizes().begin(), x->sizes().end());
      shape[static_cast<size_t>(axis)] = size;
      return call.checkResult(i, x->dtype(), shape);
    }
    const size_t bytes = static_cast<size_t>(size * view.inner) * element;
    for (int64_t outer = 0; outer < view.outer && bytes > 0; ++outer)
      memcpy(part->bytes() + static_cast<size_t>(outer) * bytes,
             x->bytes() + static_cast<size_t>((outer * view.size + offset) * view.inner) * element, bytes);
    offset += size;
  }
  if (offset != view.size && !call.cancelled())
    return failure(DYN_CHECK_FAILED, "the parts add up to " + std::to_string(offset) + ", the axis has " +
                                         std::to_string(view.size));
  return okStatus();
}

Status splitToList(BuiltinCall& call) {
  using Call = calls::SplitToList;
  const Tensor *x = call.argument(Call::x), *sizes = call.argument(Call::sizes);
  if (!x) return badArgument("split_to_list", Call::x, "a tensor", call.arguments[Call::x]);
  int64_t axis = axisOf<Call>(call);
  if (!normalizeAxis(axis, x->rank)) return failure(DYN_BAD_INPUT, "axis is out of range for " + describe(x));
  const bool keepAxis = call.numbersOf<Call>().keepAxis != 0;
  const AxisView view = axisView(x->shape(), x->rank, axis);
  // Piece sizes: one per piece, or one number for all (the last may be smaller), or 1 by default.
  std::vector<int64_t> pieces;
  if (sizes && (sizes->dtype != DataType::i64 && sizes->dtype != DataType::i32))
    return badArgument("split_to_list", Call::sizes, "i64 or i32", call.arguments[Call::sizes]);
  auto sizeAt = [&](int64_t i) {
    return sizes->dtype == DataType::i64 ? sizes->as<int64_t>()[i] : sizes->as<int32_t>()[i];
  };
  if (sizes && sizes->rank == 1) {
    int64_t sum = 0;
    for (int64_t i = 0; i < sizes->elementCount; ++i) {
      const int64_t piece = sizeAt(i);
      if (piece < 0 || piece > view.size - sum)
        return failure(DYN_CHECK_FAILED, "the pieces do not add up to " + std::to_string(view.size));
      pieces.push_back(piece);
      sum += piece;
    }
    if (sum != view.size)
      return failure(DYN_CHECK_FAILED, "the pieces add up to " + std::to_string(sum) + ", the axis has " +
                                           std::to_string(view.size));
  } else {
    const int64_t piece = sizes ? sizeAt(0) : 1;
    if (piece <= 0) return failure(DYN_CHECK_FAILED, "pieces of " + std::to_string(piece));
    for (int64_t at = 0; at < view.size; at += piece) pieces.push_back(std::min(piece, view.size - at));
  }
  const bool drop = !keepAxis && !sizes;
  dyn_status why = DYN_OK;
  Ref<List> list(newList(call.pool, 0, static_cast<int64_t>(pieces.size()), nullptr, why));
  if (!list) return failure(why, "no room for the list");
  std::vector<int64_t> shape(x->shape(), x->shape() + x->rank);
  if (drop) shape.erase(shape.begin() + axis);
  const size_t element = sizeBytes(x->dtype);
  int64_t offset = 0;
  for (int64_t piece : pieces) {
    if (!drop) shape[static_cast<size_t>(axis)] = piece;
    Tensor* part = newTensor(call.pool, x->dtype, static_cast<uint32_t>(shape.size()), shape.data(), why);
    if (!part) return failure(why, "no room for a piece");
    const size_t bytes = static_cast<size_t>(piece * view.inner) * element;
    list->items[list->count++] = part;
    const bool ofStrings = x->dtype == DataType::string;
    for (int64_t outer = 0; outer < view.outer && bytes > 0; ++outer) {
      const int64_t from = (outer * view.size + offset) * view.inner, count = piece * view.inner;
      if (!ofStrings)
        memcpy(part->data + static_cast<size_t>(outer) * bytes, x->data + static_cast<size_t>(from) * element,
               bytes);
      else if (!copyStrings(x, from, count, part, outer * count))
        return outOfStrings();
    }
    offset += piece;
  }
  call.results[0] = list.take();
  return okStatus();
}

Status copy(BuiltinCall& call) {
  using Call = calls::Copy;
  const Tensor* x = call.argument(Call::x);
  if (!x) return badArgument("copy", Call::x, "a tensor", call.arguments[Call::x]);
  Tensor* y = nullptr;
  if (Status status = call.result(0, x->dtype, std::span(x->shape(), x->rank), y); !status.ok())
    return status;
  if (call.dryRun) return okStatus();
  if (x->dtype == DataType::string) {
    if (!x->isDense()) return failure(DYN_UNSUPPORTED, "strings that do not lie side by side");
    if (!copyStrings(x, 0, x->elementCount, y, 0)) return outOfStrings();
  } else if (x->data != y->data) {
    copyDense(x, y->data);
  }
  return okStatus();
}

}  // namespace dyn::vm::kernels
