// The numbers 1 to n as template arguments, for tables with a micro-kernel for each number of rows:
// Table<RowCountsUpTo<n>> with a specialisation for RowCounts<kRows...>. Types only: micro-kernels are
// compiled for several instruction sets.
#pragma once

namespace dyn::vm::kernels {

template <int... kRows>
struct RowCounts {};
template <int kCount, int... kRows>
struct CountUp : CountUp<kCount - 1, kCount, kRows...> {};
template <int... kRows>
struct CountUp<0, kRows...> {
  using List = RowCounts<kRows...>;
};
template <int kCount>
using RowCountsUpTo = typename CountUp<kCount>::List;

}  // namespace dyn::vm::kernels
