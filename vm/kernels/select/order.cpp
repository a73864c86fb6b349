// sort, topk. Order of reals: ascending with NaN last, as numpy does; descending is its exact
// reverse, so NaN comes first. Equal elements keep their order (lowest index first), in both directions.
#include <algorithm>
#include <cstring>
#include <vector>

#include "vm/include/abi/dyn_builtin_numbers.h"
#include "vm/kernels/builtins.h"
#include "vm/kernels/dispatch.h"
#include "vm/kernels/select/column_order.h"
#include "vm/kernels/select/ranks.h"
#include "vm/kernels/select/short_rows.h"

namespace dyn::vm::kernels {
namespace {

Status unsupported(const Tensor* x) {
  return failure(DYN_UNSUPPORTED, "dtype " + std::string(text(x->dtype)));
}

void copyElement(const Tensor* from, int64_t source, Tensor* to, int64_t target) {
  const size_t size = sizeBytes(from->dtype);
  memcpy(to->data + static_cast<size_t>(target) * size, from->data + static_cast<size_t>(source) * size,
         size);
}

// The first `count` of each row along the axis, in order; values and (if wanted) i64 indexes. Unsorted
// results come in order, too: it is one of the allowed orders, and the same every time.
struct RowSelection {
  BuiltinCall& call;
  const Tensor* x;
  Tensor *values, *indexes;
  AxisView view;
  int64_t count;
  bool largest;

  template <typename T>
  void run() const {
    if (count == 1 && view.inner == 1 && FirstOfRow<T>::takes(view.size)) return oneOfEach<T>();
    if (count > 0 && ShortRows<T>::takes(view.size, count))
      return forEachRow<T>([&] { return ShortRows<T>(count, largest); },
                           [&](auto& rows, const T* from, int64_t stride, const auto& put) {
                             const int64_t* places = rows.first(from, view.size, stride);
                             for (int64_t k = 0; k < count; ++k) put(places[k]);
                           });
    visitItems<T>(view.size, [&]<typename Item>() {
      if (ColumnOrder<T, Item>::takes(view.size, view.inner, count)) return besideEachOther<T, Item>();
      forEachRow<T>([&] { return RowOrder<T, Item>(largest); },
                    [&](auto& rows, const T* from, int64_t stride, const auto& put) {
                      for (const Item& item : rows.first(from, view.size, stride, count))
                        put(ItemOf<Item>::index(item));
                    });
    });
  }

 private:
  uint32_t taskCount() const { return x->elementCount > 32768 ? call.threadCount() : 1; }

  // Of rows whose elements lie side by side, one.
  template <typename T>
  void oneOfEach() const {
    call.split(view.outer, taskCount(), [&](int64_t begin, int64_t end) {
      const FirstOfRow<T> first(largest);
      const T* from = x->as<T>() + begin * view.size;
      T* kept = values ? values->as<T>() : nullptr;
      int64_t* places = indexes ? indexes->as<int64_t>() : nullptr;
      const int64_t size = view.size;
      const auto put = [&](int64_t row, const T* own, int64_t place) {
        if (kept) kept[row] = own[place];
        if (places) places[row] = place;
      };
      int64_t row = begin;
      if constexpr (FirstOfRow<T>::kLanes)
        for (constexpr int64_t kTogether = FirstOfRow<T>::kTogether; row + kTogether <= end;
             row += kTogether) {
          if (row % 64 < kTogether && call.cancelled()) return;
          int64_t found[kTogether];
          first.placesTogether(from, size, found);
          for (int64_t i = 0; i < kTogether; ++i, from += size) put(row + i, from, found[i]);
        }
      for (; row < end; ++row, from += size) {
        if (row % 64 == 0 && call.cancelled()) return;
        put(row, from, first.place(from, size, 1));
      }
    });
  }

  // As many rows as a finder takes, which lie beside each other. The last ones of an axis are found with some
  // of those before them.
  template <typename T, typename Item>
  void besideEachOther() const {
    using Order = ColumnOrder<T, Item>;
    const int64_t blocks = (view.inner + Order::kColumns - 1) / Order::kColumns;
    call.split(view.outer * blocks, taskCount(), [&](int64_t begin, int64_t end) {
      Order order(count, largest);
      for (int64_t block = begin; block < end && !call.cancelled(); ++block) {
        const int64_t outer = block / blocks, first = block % blocks * Order::kColumns;
        const int64_t from = std::min(first, view.inner - Order::kColumns);
        const T* columns = x->as<T>() + outer * view.size * view.inner + from;
        order.find(columns, view.size, view.inner);
        for (int64_t k = 0; k < count; ++k)
          for (int64_t column = first - from; column < Order::kColumns; ++column) {
            const int64_t place = order.place(column, k);
            const int64_t target = (outer * count + k) * view.inner + from + column;
            if (values) values->as<T>()[target] = columns[place * view.inner + column];
            if (indexes) indexes->as<int64_t>()[target] = place;
          }
      }
    });
  }

  // Elements of a row that is no innermost one lie in as many lines of the cache, which are read once for all
  // rows that go through them: these are copied first, as far as they fit beside each other in the L2 cache.
  // 1: not worth it, as where all lines stay there, or lie close together.
  template <typename T>
  int64_t columnsTogether() const {
    constexpr int64_t kLine = 64, kBytes = 256 << 10, kFewest = 4, kFarApart = 1024, kLarge = 2 << 20;
    const int64_t apart = view.inner * static_cast<int64_t>(sizeof(T));
    if (apart < kFarApart || view.size < std::max(kLine, kLarge / apart)) return 1;
    const int64_t fit = std::min({kLine / static_cast<int64_t>(sizeof(T)), view.inner,
                                  kBytes / (pitchOfColumns<T>() * static_cast<int64_t>(sizeof(T)))});
    return fit < kFewest ? 1 : fit;
  }
  // Apart by an odd number of lines: not in the same sets of the cache.
  template <typename T>
  int64_t pitchOfColumns() const {
    constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
    return ((view.size + kLine - 1) / kLine | 1) * kLine;
  }
  template <typename T>
  void copyColumns(const T* from, int64_t columns, T* to) const {
    const int64_t pitch = pitchOfColumns<T>();
    for (int64_t i = 0; i < view.size; ++i, from += view.inner, ++to)
      for (int64_t column = 0; column < columns; ++column) to[column * pitch] = from[column];
  }

  // Each task has a finder of its own.
  template <typename T, typename Make, typename Find>
  void forEachRow(const Make& make, const Find& find) const {
    const int64_t rows = view.outer * view.inner;
    call.split(rows, taskCount(), [&](int64_t begin, int64_t end) {
      auto finder = make();
      const int64_t together = columnsTogether<T>();
      std::vector<T> columns(static_cast<size_t>(together > 1 ? together * pitchOfColumns<T>() : 0));
      int64_t outer = begin / view.inner, inner = begin % view.inner, copied = 0, used = 0;  // columns
      for (int64_t row = begin; row < end; ++row) {
        if ((row % 64 == 0 || view.size > kShortRow) && call.cancelled()) return;
        const T* from = x->as<T>() + outer * view.size * view.inner + inner;
        if (together > 1 && used == copied) {
          used = 0;
          copied = std::min({together, view.inner - inner, end - row});
          copyColumns(from, copied, columns.data());
        }
        const T* own = together > 1 ? columns.data() + used++ * pitchOfColumns<T>() : from;
        int64_t target = outer * count * view.inner + inner;
        find(finder, own, together > 1 ? 1 : view.inner, [&](int64_t index) {
          if (values) values->as<T>()[target] = from[index * view.inner];
          if (indexes) indexes->as<int64_t>()[target] = index;
          target += view.inner;
        });
        if (++inner == view.inner) inner = 0, ++outer;
      }
    });
  }
};

// sort and topk.
Status select(BuiltinCall& call, int64_t axis, int64_t count, bool all, bool largest) {
  static_assert(int{calls::Sort::x} == int{calls::Topk::x});
  const Tensor* x = call.argument(calls::Sort::x);
  if (!x) return badArgument("sort", calls::Sort::x, "a tensor", call.arguments[calls::Sort::x]);
  if (!visitNumbersAndHalves(x->dtype, []<typename T>() {})) return unsupported(x);
  if (x->rank == 0 && all) {  // one number is sorted as it is
    Tensor *values = nullptr, *indexes = nullptr;
    if (Status status = call.result(0, x->dtype, {}, values); !status.ok()) return status;
    if (!call.dryRun) copyElement(x, 0, values, 0);
    if (call.results.size() < 2) return okStatus();
    Status status = call.result(1, DataType::i64, {}, indexes);
    if (status.ok() && !call.dryRun) *indexes->as<int64_t>() = 0;
    return status;
  }
  if (!normalizeAxis(axis, x->rank)) return failure(DYN_BAD_INPUT, "axis is out of range for " + describe(x));
  const AxisView view = axisView(x->shape(), x->rank, axis);
  if (all) count = view.size;
  if (count < 0 || count > view.size)
    return failure(DYN_OUT_OF_RANGE,
                   "k is " + std::to_string(count) + ", the axis has " + std::to_string(view.size));
  std::vector<int64_t> shape(x->shape(), x->shape() + x->rank);
  shape[static_cast<size_t>(axis)] = count;
  Tensor *values = nullptr, *indexes = nullptr;
  if (Status status = call.result(0, x->dtype, shape, values); !status.ok()) return status;
  if (call.results.size() > 1)
    if (Status status = call.result(1, DataType::i64, shape, indexes); !status.ok()) return status;
  if (call.dryRun) return okStatus();
  const RowSelection selection{call, x, values, indexes, view, count, largest};
  visitNumbersAndHalves(x->dtype, [&]<typename T>() { selection.run<T>(); });
  return okStatus();
}

}  // namespace

float halfToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, exponent = bits >> 10 & 31,
                 fraction = bits & 1023;
  if (exponent == 0) {
    const float value = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -value : value;
  }
  const uint32_t wide = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

Status sort(BuiltinCall& call) {
  const auto n = call.numbersOf<calls::Sort>();
  return select(call, n.axis, 0, true, n.descending);
}

Status topk(BuiltinCall& call) {
  const auto n = call.numbersOf<calls::Topk>();
  return select(call, n.axis, call.scalarsOf<calls::Topk>(n).count, false, n.largest);
}

}  // namespace dyn::vm::kernels
