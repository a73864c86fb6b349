// cumsum: running sums and products.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "vm/include/abi/dyn_builtin_numbers.h"
#include "vm/kernels/builtins.h"
#include "vm/kernels/dispatch.h"

namespace dyn::vm::kernels {

namespace {

// Rows whose sums are read and written once for all of them.
constexpr int kRowsAtOnce = 4;

// So many rows `next` elements apart, of `count` elements each, whose sums before them are `sums`.
template <int kRows, typename T, typename Sum, typename Folded>
inline void foldRows(const T* from, T* to, int64_t next, Sum* __restrict sums, int64_t count, bool exclusive,
                     const Folded& folded) {
  const T* __restrict rows[kRows];
  T* __restrict results[kRows];
  for (int r = 0; r < kRows; ++r) rows[r] = from + r * next, results[r] = to + r * next;
  const auto fold = [&](auto isExclusive) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      Sum sum = sums[i];
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const Sum before = sum;
        sum = folded(sum, static_cast<Sum>(rows[r][i]));
        results[r][i] = static_cast<T>(isExclusive ? before : sum);
      }
      sums[i] = sum;
    }
  };
  if (exclusive)
    fold(std::true_type());
  else
    fold(std::false_type());
}

// A row from the one before it.
template <typename Sum, typename T, typename Folded>
inline void foldRow(const T* __restrict before, const T* __restrict from, T* __restrict to, int64_t count,
                    const Folded& folded) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = static_cast<T>(folded(static_cast<Sum>(before[i]), static_cast<Sum>(from[i])));
}

template <typename T, bool isProduct>
void foldRunning(BuiltinCall& call, const Tensor* x, Tensor* y, const AxisView& view, bool exclusive,
                 bool reverse) {
  using Real = std::conditional_t<std::is_class_v<T>, float, T>;
  using Sum = std::conditional_t<std::is_integral_v<T>,
                                 std::make_unsigned_t<std::conditional_t<std::is_integral_v<T>, T, int>>,
                                 Real>;                                    // wraps, never overflows
  using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, Real>;  // u16 * u16 would be an int
  const T* in = x->as<T>();
  T* out = y->as<T>();
  const uint32_t tasks = x->elementCount > 65536 ? call.threadCount() : 1;
  const auto folded = [](Sum sum, Sum value) {
    return static_cast<Sum>(isProduct ? static_cast<Wide>(sum) * value : sum + value);
  };
  if (view.inner == 1) {  // one sum, in a register
    call.split(view.outer, tasks, [&](int64_t begin, int64_t end) {
      for (int64_t outer = begin; outer < end; ++outer) {
        Sum sum = Sum(isProduct ? 1 : 0);
        const int64_t step = reverse ? -1 : 1;
        int64_t at = outer * view.size + (reverse ? view.size - 1 : 0), i = 0;
        // Integers may be summed in any order: one addition waits for another twice in four elements.
        for (; std::is_integral_v<T> && !isProduct && i + 4 <= view.size; i += 4, at += 4 * step) {
          const Sum v[] = {static_cast<Sum>(in[at]), static_cast<Sum>(in[at + step]),
                           static_cast<Sum>(in[at + 2 * step]), static_cast<Sum>(in[at + 3 * step])};
          const Sum two = folded(sum, folded(v[0], v[1])), four = folded(two, folded(v[2], v[3]));
          const Sum all[] = {sum, folded(sum, v[0]), two, folded(two, v[2]), four};
          for (int64_t k = 0; k < 4; ++k) out[at + k * step] = static_cast<T>(all[exclusive ? k : k + 1]);
          sum = four;
        }
        for (; i < view.size; ++i, at += step) {
          const Sum before = sum;
          sum = folded(sum, static_cast<Sum>(in[at]));
          out[at] = static_cast<T>(exclusive ? before : sum);
        }
      }
    });
    return;
  }
  call.split(view.outer, tasks, [&](int64_t begin, int64_t end) {
    std::vector<Sum> sums(static_cast<size_t>(view.inner));
    for (int64_t outer = begin; outer < end; ++outer) {
      std::fill(sums.begin(), sums.end(), Sum(isProduct ? 1 : 0));
      const int64_t first = outer * view.size + (reverse ? view.size - 1 : 0),
                    next = reverse ? -view.inner : view.inner;
      const T* from = in + first * view.inner;
      T* to = out + first * view.inner;
      int64_t row = 0;
      // Long rows come from farther away than the row before them: one at a time is one stream.
      constexpr int64_t kLong = 256;
      if (!std::is_class_v<T> && !exclusive && view.inner >= kLong && view.size > 0) {
        std::copy_n(from, view.inner, to);
        for (row = 1; row < view.size; ++row)
          foldRow<Sum>(to + (row - 1) * next, from + row * next, to + row * next, view.inner, folded);
      }
      for (; row + kRowsAtOnce <= view.size; row += kRowsAtOnce)
        foldRows<kRowsAtOnce>(from + row * next, to + row * next, next, sums.data(), view.inner, exclusive,
                              folded);
      for (; row < view.size; ++row)
        foldRows<1>(from + row * next, to + row * next, next, sums.data(), view.inner, exclusive, folded);
    }
  });
}

}  // namespace

Status cumsum(BuiltinCall& call) {
  using Call = calls::Cumsum;
  const Tensor *x = call.argument(Call::x), *where = call.argument(Call::axisTensor);
  if (!x) return badArgument("cumsum", Call::x, "a tensor", call.arguments[Call::x]);
  Tensor* y = nullptr;
  if (call.rehearsal) return call.result(0, x->dtype, std::span(x->shape(), x->rank), y);
  const auto n = call.numbersOf<Call>();
  const std::optional<int64_t> given = call.scalarsOf<Call>(n).axis;
  int64_t axis = given.value_or(0);
  if (where) {
    if (where->elementCount != 1 || (where->dtype != DataType::i64 && where->dtype != DataType::i32))
      return badArgument("cumsum", Call::axisTensor, "one i64 or i32", call.arguments[Call::axisTensor]);
    axis = where->dtype == DataType::i64 ? *where->as<int64_t>() : *where->as<int32_t>();
  } else if (!given) {
    return failure(DYN_BAD_INPUT, "no axis given");
  }
  if (!normalizeAxis(axis, x->rank))
    return failure(DYN_BAD_INPUT, "axis " + std::to_string(axis) + " is out of range for " + describe(x));
  if (Status status = call.result(0, x->dtype, std::span(x->shape(), x->rank), y); !status.ok())
    return status;
  const bool known = visitNumbersAndHalves(x->dtype, [&]<typename T>() {
    const AxisView view = axisView(x->shape(), x->rank, axis);
    const auto fold = n.product ? foldRunning<T, true> : foldRunning<T, false>;
    fold(call, x, y, view, n.exclusive, n.reverse);
  });
  return known ? okStatus() : failure(DYN_UNSUPPORTED, "dtype " + std::string(text(x->dtype)));
}

}  // namespace dyn::vm::kernels
