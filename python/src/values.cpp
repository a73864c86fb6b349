#include "values.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "arrays.h"
#include "fault.h"

namespace dynpython {

namespace {

constexpr int kDeepestList = 16;

// Arrays whose values are gone. The runtime may drop a value on a thread that must not wait for the
// interpreter's lock, as another that has the lock waits for the runtime.
struct Returned {
  std::mutex mutex;
  std::vector<PyObject*> arrays;
  std::atomic<bool> any{false};
};
Returned& returned() {
  static Returned* const all = new Returned;  // outlives the interpreter, as values may
  return *all;
}

thread_local bool hasLock = false;

void dropArray(void* array, const void*) {
  if (hasLock) {
    Py_DECREF(static_cast<PyObject*>(array));
    return;
  }
  Returned& all = returned();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.arrays.push_back(static_cast<PyObject*>(array));
  all.any.store(true, std::memory_order_release);
}

void check(dyn_status status) {
  if (status != DYN_OK) throw runFault(status);
}

Held borrowed(dyn_context* context, nb::handle object, const Array& array, int32_t dtype,
              std::vector<Lent>& lent) {
  static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
  size_t sizeBytes = dyn_dtype_size_bytes(dtype);
  for (int i = 0; i < array.rank; ++i) sizeBytes *= static_cast<size_t>(array.shape[i]);
  dyn_value* value = nullptr;
  Py_INCREF(object.ptr());
  const dyn_status status =
      dyn_value_borrow(context, dtype, array.rank, reinterpret_cast<const int64_t*>(array.shape), array.data,
                       sizeBytes, &dropArray, object.ptr(), &value);
  if (status != DYN_OK) {
    Py_DECREF(object.ptr());
    throw runFault(status);
  }
  lent.push_back({array.data, sizeBytes});
  return Held(value);
}

Held tensorOf(dyn_context* context, nb::handle object, int32_t dtype, std::atomic<int64_t>& copies,
              std::vector<Lent>& lent) {
  const Array& array = arrayAt(object);
  dyn_value* const below = tensorBelow(array);
  if (below && dyn_value_dtype(below) == dtype && dyn_value_room(below) > 0) {
    dyn_value_retain(below);
    return Held(below);
  }
  if (array.isDense()) return borrowed(context, object, array, dtype, lent);
  const nb::object copied =
      nb::module_::import_("numpy").attr("array")(object, nb::arg("order") = "C", nb::arg("copy") = true);
  if (!arrayAt(copied).isDense()) throw Fault(DYN_BAD_INPUT, "the copy of an array is not dense");
  copies.fetch_add(1, std::memory_order_relaxed);
  return borrowed(context, copied, arrayAt(copied), dtype, lent);
}

Held stringsOf(dyn_context* context, nb::list texts, const std::vector<int64_t>& shape) {
  std::vector<const char*> all;
  for (nb::handle text : texts) all.push_back(nb::cast<nb::bytes>(text).c_str());
  dyn_value* value = nullptr;
  check(dyn_value_strings(context, static_cast<int32_t>(shape.size()), shape.data(), all.data(),
                          static_cast<int64_t>(all.size()), &value));
  return Held(value);
}

Held build(dyn_context* context, nb::handle object, std::atomic<int64_t>& copies, std::vector<Lent>& lent,
           int depth) {
  if (nb::isinstance<nb::list>(object)) {
    if (depth == kDeepestList) throw Fault(DYN_UNSUPPORTED, "unsupported: lists nested deeper than 16");
    std::vector<Held> items;
    for (nb::handle item : nb::borrow<nb::list>(object))
      items.push_back(build(context, item, copies, lent, depth + 1));
    std::vector<dyn_value*> plain;
    for (const Held& item : items) plain.push_back(item.get());
    dyn_value* value = nullptr;
    check(dyn_value_compound(context, DYN_KIND_LIST, 0, plain.data(), static_cast<int64_t>(plain.size()),
                             &value));
    return Held(value);
  }
  const nb::tuple form = nb::cast<nb::tuple>(object);
  if (form.size() < 2) {  // an optional
    const Held item = form.size() == 1 ? build(context, form[0], copies, lent, depth) : Held();
    dyn_value *plain = item.get(), *value = nullptr;
    const auto count = static_cast<int32_t>(form.size());
    check(dyn_value_compound(context, DYN_KIND_TUPLE, count, &plain, count, &value));
    return Held(value);
  }
  const int32_t dtype = nb::cast<int32_t>(form[1]);
  if (dtype == DYN_STRING)
    return stringsOf(context, nb::cast<nb::list>(form[0]), nb::cast<std::vector<int64_t>>(form[2]));
  return tensorOf(context, form[0], dtype, copies, lent);
}

nb::object stringsObject(const dyn_value* value, const std::vector<int64_t>& shape) {
  nb::list texts;
  for (int64_t i = 0; const char* text = dyn_value_text(value, i); ++i)
    texts.append(
        nb::steal(PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(strlen(text)), "surrogateescape")));
  return nb::make_tuple(texts, static_cast<int32_t>(DYN_STRING), nb::cast(shape));
}

nb::object tensorObject(Held value, const std::vector<Lent>& lent, std::atomic<int64_t>& copies) {
  const int32_t dtype = dyn_value_dtype(value.get());
  const auto rank = static_cast<size_t>(dyn_value_rank(value.get()));
  const int64_t* sizes = dyn_value_shape(value.get());
  if (dtype == DYN_STRING) return stringsObject(value.get(), {sizes, sizes + rank});
  const auto* begin = static_cast<const char*>(dyn_value_first(value.get()));
  bool isLent = false;
  for (const Lent& one : lent) isLent |= begin >= one.begin && begin < one.begin + one.sizeBytes;
  const bool writable = dyn_value_is_exclusive(value.get()) != 0;
  nb::object array = arrayOf(value.take(), dtype, writable);
  if (isLent) {
    array = array.attr("copy")();
    copies.fetch_add(1, std::memory_order_relaxed);
  }
  if (hasNumpyType(dtype)) return array;
  return nb::make_tuple(array, dtype);
}

nb::object unpack(Held value, const std::vector<Lent>& lent, std::atomic<int64_t>& copies, int depth) {
  if (!value.get()) return nb::none();
  if (dyn_value_kind(value.get()) == DYN_KIND_TENSOR) return tensorObject(std::move(value), lent, copies);
  if (dyn_value_kind(value.get()) != DYN_KIND_LIST || depth == kDeepestList)
    throw Fault(DYN_UNSUPPORTED, "unsupported: an output that is neither a tensor nor a list of tensors");
  nb::list items;
  const int64_t count = dyn_value_item_count(value.get());
  for (int64_t i = 0; i < count; ++i) {
    dyn_value* item = nullptr;
    check(dyn_value_item(value.get(), i, &item));
    items.append(unpack(Held(item), lent, copies, depth + 1));
  }
  return items;
}

}  // namespace

HasLock::HasLock() : before_(std::exchange(hasLock, true)) {}
HasLock::~HasLock() { hasLock = before_; }

void giveBack() {
  Returned& all = returned();
  if (!all.any.load(std::memory_order_acquire)) return;
  std::vector<PyObject*> arrays;
  {
    const std::lock_guard<std::mutex> lock(all.mutex);
    arrays.swap(all.arrays);
    all.any.store(false, std::memory_order_relaxed);
  }
  for (PyObject* array : arrays) Py_DECREF(array);
}

Held valueOf(dyn_context* context, nb::handle object, std::atomic<int64_t>& copies, std::vector<Lent>& lent) {
  return build(context, object, copies, lent, 0);
}

std::optional<Held> plainValueOf(dyn_context* context, nb::handle object, int32_t dtype, int32_t rank,
                                 std::atomic<int64_t>& copies, std::vector<Lent>& lent) {
  if (!isArray(object)) return std::nullopt;
  const Array& array = arrayAt(object);
  if (array.rank != rank || !hasDtype(array, dtype)) return std::nullopt;
  return tensorOf(context, object, dtype, copies, lent);
}

std::optional<Held> raggedOf(dyn_context* context, nb::handle object) {
  if (!nb::isinstance<nb::tuple>(object)) return std::nullopt;
  const nb::tuple form = nb::borrow<nb::tuple>(object);
  if (form.size() != 3 || nb::isinstance<nb::list>(form[0])) return std::nullopt;  // a list: of strings
  const Array& rows = arrayAt(form[0]);
  if (!rows.isDense()) throw Fault(DYN_BAD_INPUT, "sequences are not dense");
  const auto lengths = nb::cast<std::vector<int64_t>>(form[2]);
  dyn_value* value = nullptr;
  check(dyn_value_ragged(context, nb::cast<int32_t>(form[1]), rows.rank,
                         reinterpret_cast<const int64_t*>(rows.shape), rows.data, sizeBytesOf(rows),
                         lengths.data(), static_cast<int64_t>(lengths.size()), &value));
  return Held(value);
}

nb::object sequencesObject(Held value, const std::vector<Lent>& lent, std::atomic<int64_t>& copies) {
  dyn_value* rows = nullptr;
  const int64_t* lengths = nullptr;
  int64_t count = 0;
  check(dyn_value_ragged_parts(value.get(), &rows, &lengths, &count));
  const std::vector<int64_t> all(lengths, lengths + count);
  const int32_t dtype = dyn_value_dtype(rows);
  nb::object array = tensorObject(Held(rows), lent, copies);
  if (nb::isinstance<nb::tuple>(array)) array = array[0];
  return nb::make_tuple(array, dtype, nb::cast(all));
}

bool overlaps(const void* begin, size_t sizeBytes, const std::vector<Lent>& lent) {
  const auto* first = static_cast<const char*>(begin);
  return std::any_of(lent.begin(), lent.end(), [&](const Lent& one) {
    return first < one.begin + one.sizeBytes && one.begin < first + sizeBytes;
  });
}

nb::object objectOf(Held value, bool isOptional, const std::vector<Lent>& lent,
                    std::atomic<int64_t>& copies) {
  if (isOptional && value.get() && dyn_value_kind(value.get()) == DYN_KIND_TUPLE) {
    dyn_value* item = nullptr;
    if (dyn_value_item_count(value.get()) > 0) check(dyn_value_item(value.get(), 0, &item));
    value = Held(item);
  }
  return unpack(std::move(value), lent, copies, 0);
}

}  // namespace dynpython
