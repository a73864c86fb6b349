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

// Views of arrays whose values are gone. The runtime may drop a value on a thread that must not wait for the
// interpreter's lock, as another that has the lock waits for the runtime.
struct Returned {
  std::mutex mutex;
  std::vector<Py_buffer*> views;
  std::atomic<bool> any{false};
};
Returned& returned() {
  static Returned* const all = new Returned;  // outlives the interpreter, as values may
  return *all;
}

void dropView(void* user, const void*) {
  Returned& all = returned();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.views.push_back(static_cast<Py_buffer*>(user));
  all.any.store(true, std::memory_order_release);
}

void check(dyn_status status) {
  if (status != DYN_OK) throw runFault(status);
}

size_t alignmentOf(int32_t dtype) {
  return std::min<size_t>(std::max<size_t>(dyn_dtype_size_bytes(dtype), 1), 8);
}

struct FreeView {
  void operator()(Py_buffer* view) const {
    PyBuffer_Release(view);
    delete view;
  }
};
using View = std::unique_ptr<Py_buffer, FreeView>;

View viewOf(nb::handle array, int flags = PyBUF_STRIDES) {
  auto* made = new Py_buffer{};
  if (PyObject_GetBuffer(array.ptr(), made, flags) != 0) {
    delete made;
    throw nb::python_error();
  }
  return View(made);
}

bool usable(const Py_buffer& view, int32_t dtype) {
  return PyBuffer_IsContiguous(&view, 'C') && reinterpret_cast<uintptr_t>(view.buf) % alignmentOf(dtype) == 0;
}

Held tensorOf(dyn_context* context, nb::handle array, View view, int32_t dtype, std::atomic<int64_t>& copies,
              std::vector<Lent>& lent) {
  if (!usable(*view, dtype)) {
    const nb::object copied =
        nb::module_::import_("numpy").attr("array")(array, nb::arg("order") = "C", nb::arg("copy") = true);
    view = viewOf(copied);
    if (!usable(*view, dtype)) throw Fault(DYN_BAD_INPUT, "the copy of an array is not dense");
    copies.fetch_add(1, std::memory_order_relaxed);
  }
  static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
  dyn_value* value = nullptr;
  check(dyn_value_borrow(context, dtype, view->ndim, reinterpret_cast<const int64_t*>(view->shape), view->buf,
                         static_cast<size_t>(view->len), &dropView, view.get(), &value));
  lent.push_back({static_cast<const char*>(view->buf), static_cast<size_t>(view->len)});
  view.release();  // dropView's, from here on
  return Held(value);
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
  if (object.is_none()) return Held();
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
  const int32_t dtype = nb::cast<int32_t>(form[1]);
  if (dtype == DYN_STRING)
    return stringsOf(context, nb::cast<nb::list>(form[0]), nb::cast<std::vector<int64_t>>(form[2]));
  return tensorOf(context, form[0], viewOf(form[0]), dtype, copies, lent);
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

void giveBack() {
  Returned& all = returned();
  if (!all.any.load(std::memory_order_acquire)) return;
  std::vector<Py_buffer*> views;
  {
    const std::lock_guard<std::mutex> lock(all.mutex);
    views.swap(all.views);
    all.any.store(false, std::memory_order_relaxed);
  }
  for (Py_buffer* view : views) FreeView()(view);
}

Held valueOf(dyn_context* context, nb::handle object, std::atomic<int64_t>& copies, std::vector<Lent>& lent) {
  return build(context, object, copies, lent, 0);
}

std::optional<Held> plainValueOf(dyn_context* context, nb::handle object, int32_t dtype, int32_t rank,
                                 std::atomic<int64_t>& copies, std::vector<Lent>& lent) {
  if (!isArray(object)) return std::nullopt;
  auto* made = new Py_buffer{};
  if (PyObject_GetBuffer(object.ptr(), made, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    delete made;
    PyErr_Clear();  // of a type that has no format: the package's code says what it is
    return std::nullopt;
  }
  View view(made);
  if (view->ndim != rank || dtypeOf(*view) != dtype) return std::nullopt;
  return tensorOf(context, object, std::move(view), dtype, copies, lent);
}

std::optional<Held> raggedOf(dyn_context* context, nb::handle object) {
  if (!nb::isinstance<nb::tuple>(object)) return std::nullopt;
  const nb::tuple form = nb::borrow<nb::tuple>(object);
  if (form.size() != 3 || nb::isinstance<nb::list>(form[0])) return std::nullopt;  // a list: of strings
  const View view = viewOf(form[0]);
  const auto lengths = nb::cast<std::vector<int64_t>>(form[2]);
  dyn_value* value = nullptr;
  check(dyn_value_ragged(context, nb::cast<int32_t>(form[1]), view->ndim,
                         reinterpret_cast<const int64_t*>(view->shape), view->buf,
                         static_cast<size_t>(view->len), lengths.data(), static_cast<int64_t>(lengths.size()),
                         &value));
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

Target::Target(nb::handle array) : view_(viewOf(array, PyBUF_STRIDES | PyBUF_WRITABLE).release()) {}
Target::~Target() {
  if (view_) FreeView()(view_);
}
bool Target::overlaps(const std::vector<Lent>& lent) const {
  const auto* begin = static_cast<const char*>(view_->buf);
  return std::any_of(lent.begin(), lent.end(), [&](const Lent& one) {
    return begin < one.begin + one.sizeBytes && one.begin < begin + view_->len;
  });
}

nb::object objectOf(Held value, const std::vector<Lent>& lent, std::atomic<int64_t>& copies) {
  return unpack(std::move(value), lent, copies, 0);
}

}  // namespace dynpython
