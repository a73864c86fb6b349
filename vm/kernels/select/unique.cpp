// unique: the values of a tensor, or the slices of one of its axes, each once. Order of reals as in
// order.cpp; all NaNs are one value, as in numpy.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "vm/include/abi/dyn_builtin_numbers.h"
#include "vm/kernels/builtins.h"
#include "vm/kernels/dispatch.h"
#include "vm/kernels/select/ranks.h"

namespace dyn::vm::kernels {
namespace {

// The slices of an axis (single elements when flat): `outer` runs of `inner` elements each.
struct Slices {
  const Tensor* x;
  AxisView view;
  int64_t elementAt(int64_t slice, int64_t i) const {
    return (i / view.inner * view.size + slice) * view.inner + i % view.inner;
  }
  int64_t sizeOfSlice() const { return view.outer * view.inner; }
  void copy(int64_t slice, Tensor* to, int64_t target, int64_t targets) const {
    const size_t bytes = sizeBytes(x->dtype) * static_cast<size_t>(view.inner);
    for (int64_t run = 0; run < view.outer; ++run)
      memcpy(to->data + static_cast<size_t>(run * targets + target) * bytes,
             x->data + static_cast<size_t>(run * view.size + slice) * bytes, bytes);
  }
};

// Slices in ascending order, equal ones in order of appearance.
struct OrderedSlices {
  std::vector<int64_t> order;
  std::vector<int64_t> group;  // by place in `order`: which value it has, counted from the least
  int64_t groups() const { return group.empty() ? 0 : group.back() + 1; }
};

// The ranks of all elements, which order and equality are read from: unsigned numbers as wide as an element.
std::vector<std::byte> ranksOf(const Tensor& x, bool& isKnown) {
  std::vector<std::byte> ranks(static_cast<size_t>(x.elementCount) * sizeBytes(x.dtype));
  isKnown = visitNumbersAndHalves(x.dtype, [&]<typename T>() {
    const T* from = x.as<T>();
    auto* to = reinterpret_cast<typename RankOf<T>::Rank*>(ranks.data());
    for (int64_t i = 0; i < x.elementCount; ++i) to[i] = RankOf<T>::of(from[i]);
  });
  return ranks;
}

template <typename Rank>
OrderedSlices ordered(const Slices& slices, const Rank* ranks) {
  const int64_t count = slices.view.size, length = slices.sizeOfSlice();
  const auto compare = [&](int64_t a, int64_t b) {
    for (int64_t i = 0; i < length; ++i) {
      const Rank left = ranks[slices.elementAt(a, i)], right = ranks[slices.elementAt(b, i)];
      if (left != right) return left < right ? -1 : 1;
    }
    return 0;
  };
  OrderedSlices result{std::vector<int64_t>(static_cast<size_t>(count)),
                       std::vector<int64_t>(static_cast<size_t>(count))};
  auto& [order, group] = result;
  int64_t groups = 0;
  if (length == 1) {
    visitItems<Rank>(count, [&]<typename Item>() {
      RowOrder<Rank, Item> row(false);
      const std::vector<Item>& items = row.first(ranks, count, 1, count);
      for (size_t i = 0; i < order.size(); ++i) {
        order[i] = ItemOf<Item>::index(items[i]);
        if (i > 0) groups += ItemOf<Item>::rank(items[i - 1]) != ItemOf<Item>::rank(items[i]);
        group[i] = groups;
      }
    });
    return result;
  }
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
  for (size_t i = 1; i < order.size(); ++i) group[i] = groups += compare(order[i - 1], order[i]) != 0;
  return result;
}

// By the width of an element: four forms serve all types.
OrderedSlices ordered(const Slices& slices, const std::vector<std::byte>& ranks) {
  switch (sizeBytes(slices.x->dtype)) {
    case 1:
      return ordered(slices, reinterpret_cast<const uint8_t*>(ranks.data()));
    case 2:
      return ordered(slices, reinterpret_cast<const uint16_t*>(ranks.data()));
    case 4:
      return ordered(slices, reinterpret_cast<const uint32_t*>(ranks.data()));
    default:
      return ordered(slices, reinterpret_cast<const uint64_t*>(ranks.data()));
  }
}

// The results, from slices in order; `shape` is that of the values but for their number along `axis`.
Status uniqueOf(BuiltinCall& call, const Slices& slices, const OrderedSlices& in, std::vector<int64_t> shape,
                size_t axis, bool sorted) {
  const int64_t count = slices.view.size, found = in.groups();
  struct Group {
    int64_t first, count;
  };
  std::vector<Group> groups(static_cast<size_t>(found));
  for (size_t i = in.order.size(); i-- > 0;) {  // from the end, so that the first of a group stays
    Group& group = groups[static_cast<size_t>(in.group[i])];
    group.first = in.order[i];
    ++group.count;
  }
  std::vector<int64_t> rank(groups.size());
  std::iota(rank.begin(), rank.end(), 0);
  if (!sorted)
    std::sort(rank.begin(), rank.end(), [&](int64_t a, int64_t b) {
      return groups[static_cast<size_t>(a)].first < groups[static_cast<size_t>(b)].first;
    });
  std::vector<int64_t> place(groups.size());
  for (size_t i = 0; i < rank.size(); ++i) place[static_cast<size_t>(rank[i])] = static_cast<int64_t>(i);

  shape[axis] = found;
  Tensor *values = nullptr, *first = nullptr, *inverse = nullptr, *counts = nullptr;
  if (Status status = call.result(0, slices.x->dtype, shape, values); !status.ok()) return status;
  Tensor** wanted[] = {&first, &inverse, &counts};
  for (size_t i = 1; i < call.results.size(); ++i)
    if (Status status = call.result(i, DataType::i64, std::span(i == 2 ? &count : &found, 1), *wanted[i - 1]);
        !status.ok())
      return status;
  for (int64_t i = 0; i < found; ++i) {
    const Group& group = groups[static_cast<size_t>(rank[static_cast<size_t>(i)])];
    slices.copy(group.first, values, i, found);
    if (first) first->as<int64_t>()[i] = group.first;
    if (counts) counts->as<int64_t>()[i] = group.count;
  }
  if (inverse)
    for (size_t i = 0; i < in.order.size(); ++i)
      inverse->as<int64_t>()[in.order[i]] = place[static_cast<size_t>(in.group[i])];
  return okStatus();
}

}  // namespace

Status unique(BuiltinCall& call) {
  using Call = calls::Unique;
  const Tensor* x = call.argument(Call::x);
  if (!x) return badArgument("unique", Call::x, "a tensor", call.arguments[Call::x]);
  const auto n = call.numbersOf<Call>();
  int64_t axis = n.axis;
  const bool flat = axis == DYN_AXIS_FLAT, sorted = n.sorted != 0;
  if (!flat && !normalizeAxis(axis, x->rank))
    return failure(DYN_BAD_INPUT, "axis is out of range for " + describe(x));
  const Slices slices{x, flat ? AxisView{1, x->elementCount, 1} : axisView(x->shape(), x->rank, axis)};
  std::vector<int64_t> shape =
      flat ? std::vector<int64_t>{0} : std::vector<int64_t>(x->shape(), x->shape() + x->rank);
  bool isKnown = false;
  const std::vector<std::byte> ranks = ranksOf(*x, isKnown);
  if (!isKnown) return failure(DYN_UNSUPPORTED, "dtype " + std::string(text(x->dtype)));
  return uniqueOf(call, slices, ordered(slices, ranks), std::move(shape),
                  flat ? 0 : static_cast<size_t>(axis), sorted);
}

}  // namespace dyn::vm::kernels
