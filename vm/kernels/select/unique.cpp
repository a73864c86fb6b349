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

// The values of a tensor: slices that are equal have one value.
struct Values {
  struct Value {
    int64_t first, count;  // its first slice, and how many have it
  };
  std::vector<Value> ascending;
  std::vector<int64_t> ofSlice;  // by slice: the place of its value in `ascending`
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

// Adds the slice that comes next in ascending order, equal ones in order of appearance.
void addInOrder(Values& values, int64_t slice, bool isAnother) {
  if (isAnother) values.ascending.push_back({slice, 0});
  ++values.ascending.back().count;
  values.ofSlice[static_cast<size_t>(slice)] = static_cast<int64_t>(values.ascending.size()) - 1;
}

// Values in a table by their ranks (open addressing, linear probing), for few values of many elements: then
// only the values are sorted.
template <typename Rank>
class ValueTable {
 public:
  explicit ValueTable(Values& values) : values_(values) { grow(5); }

  // Returns false where values are too many, or lie too close in the table: a sort costs less.
  bool add(const Rank* ranks, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t value = find(ranks[i], i);
      ++values_.ascending[static_cast<size_t>(value)].count;
      values_.ofSlice[static_cast<size_t>(i)] = value;
      if (static_cast<int64_t>(ranks_.size()) > kFewValues + i / 4 || passed_ > kFewValues + i) return false;
    }
    return true;
  }

  // From the order of appearance to the ascending one.
  void sort() {
    std::vector<int64_t> order(ranks_.size()), place(ranks_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return ranks_[static_cast<size_t>(a)] < ranks_[static_cast<size_t>(b)];
    });
    std::vector<Values::Value> ascending(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      ascending[i] = values_.ascending[static_cast<size_t>(order[i])];
      place[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    }
    values_.ascending = std::move(ascending);
    for (int64_t& value : values_.ofSlice) value = place[static_cast<size_t>(value)];
  }

 private:
  static constexpr int64_t kFewValues = 16, kFree = -1;

  // The number of a rank's value; a new one begins at slice `i`.
  int64_t find(Rank rank, int64_t i) {
    for (size_t at = home(rank);; at = (at + 1) & (places_.size() - 1), ++passed_) {
      const int64_t value = places_[at];
      if (value == kFree) break;
      if (ranks_[static_cast<size_t>(value)] == rank) return value;
    }
    if (ranks_.size() * 2 >= places_.size()) grow(bits_ + 2);
    put(rank, static_cast<int64_t>(ranks_.size()));
    ranks_.push_back(rank);
    values_.ascending.push_back({i, 0});
    return static_cast<int64_t>(ranks_.size()) - 1;
  }
  void put(Rank rank, int64_t value) {
    size_t at = home(rank);
    while (places_[at] != kFree) at = (at + 1) & (places_.size() - 1);
    places_[at] = value;
  }
  void grow(int bits) {
    bits_ = bits;
    places_.assign(size_t{1} << bits, kFree);
    for (size_t value = 0; value < ranks_.size(); ++value) put(ranks_[value], static_cast<int64_t>(value));
  }
  // The upper bits of a product with 2^64 / the golden ratio (Knuth's multiplicative hashing).
  size_t home(Rank rank) const {
    return static_cast<size_t>(uint64_t{rank} * 0x9E3779B97F4A7C15u >> (64 - bits_));
  }

  Values& values_;
  std::vector<Rank> ranks_;      // by value, in order of appearance
  std::vector<int64_t> places_;  // numbers of values; a power of two, at most half of them taken
  int bits_ = 0;
  int64_t passed_ = 0;  // places that held another value
};

template <typename Rank>
Values valuesOf(const Slices& slices, const Rank* ranks) {
  const int64_t count = slices.view.size, length = slices.sizeOfSlice();
  Values values;
  values.ofSlice.resize(static_cast<size_t>(count));
  if (length == 1) {
    ValueTable<Rank> table(values);
    if (table.add(ranks, count)) {
      table.sort();
      return values;
    }
    values.ascending.clear();
    values.ascending.reserve(values.ofSlice.size());
    visitItems<Rank>(count, [&]<typename Item>() {
      RowOrder<Rank, Item> row(false);
      const std::vector<Item>& items = row.first(ranks, count, 1, count);
      for (size_t i = 0; i < items.size(); ++i)
        addInOrder(values, ItemOf<Item>::index(items[i]),
                   i == 0 || ItemOf<Item>::rank(items[i - 1]) != ItemOf<Item>::rank(items[i]));
    });
    return values;
  }
  const auto compare = [&](int64_t a, int64_t b) {
    for (int64_t i = 0; i < length; ++i) {
      const Rank left = ranks[slices.elementAt(a, i)], right = ranks[slices.elementAt(b, i)];
      if (left != right) return left < right ? -1 : 1;
    }
    return 0;
  };
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
  for (size_t i = 0; i < order.size(); ++i)
    addInOrder(values, order[i], i == 0 || compare(order[i - 1], order[i]) != 0);
  return values;
}

// By the width of an element: four forms serve all types.
Values valuesOf(const Slices& slices, const std::vector<std::byte>& ranks) {
  switch (sizeBytes(slices.x->dtype)) {
    case 1:
      return valuesOf(slices, reinterpret_cast<const uint8_t*>(ranks.data()));
    case 2:
      return valuesOf(slices, reinterpret_cast<const uint16_t*>(ranks.data()));
    case 4:
      return valuesOf(slices, reinterpret_cast<const uint32_t*>(ranks.data()));
    default:
      return valuesOf(slices, reinterpret_cast<const uint64_t*>(ranks.data()));
  }
}

// The results; `shape` is that of the values but for their number along `axis`.
Status uniqueOf(BuiltinCall& call, const Slices& slices, const Values& in, std::vector<int64_t> shape,
                size_t axis, bool sorted) {
  const int64_t count = slices.view.size, found = static_cast<int64_t>(in.ascending.size());
  std::vector<int64_t> rank(in.ascending.size());
  std::iota(rank.begin(), rank.end(), 0);
  if (!sorted)
    std::sort(rank.begin(), rank.end(), [&](int64_t a, int64_t b) {
      return in.ascending[static_cast<size_t>(a)].first < in.ascending[static_cast<size_t>(b)].first;
    });
  std::vector<int64_t> place(rank.size());
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
    const Values::Value& value = in.ascending[static_cast<size_t>(rank[static_cast<size_t>(i)])];
    slices.copy(value.first, values, i, found);
    if (first) first->as<int64_t>()[i] = value.first;
    if (counts) counts->as<int64_t>()[i] = value.count;
  }
  if (inverse)
    for (int64_t i = 0; i < count; ++i)
      inverse->as<int64_t>()[i] = place[static_cast<size_t>(in.ofSlice[static_cast<size_t>(i)])];
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
  return uniqueOf(call, slices, valuesOf(slices, ranks), std::move(shape),
                  flat ? 0 : static_cast<size_t>(axis), sorted);
}

}  // namespace dyn::vm::kernels
