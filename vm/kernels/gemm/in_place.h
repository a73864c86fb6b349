// Products that read B where it lies, once: packing it would cost more than the product. Up to three rows
// times a matrix, and one column behind a matrix, which is the same turned round:
//
//   A [m, k] times B [k, 1]   =   the row B [1, k] times the transpose of A [k, m], whose columns are A's rows
#pragma once

#include <algorithm>

#include "vm/kernels/gemm/number_gemm.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {

// What is read in runs: nothing, so that B is packed; rows of B, each element of the result one chain of
// multiply-adds; or columns of B and rows of A, as dot products.
enum class InPlace : uint8_t { no, rows, dots };

// A product as the kernels here take it.
template <typename T>
InPlace wayInPlace(const NumberProduct<T>& p) {
  constexpr int64_t kMostRows = 3;
  if (p.rows > kMostRows) return InPlace::no;
  if (p.strideBN == 1) return InPlace::rows;
  return p.strideBK == 1 && p.strideAK == 1 ? InPlace::dots : InPlace::no;
}

template <typename T>
RowsInPlace<T> rowsKernel() {
  if constexpr (std::is_same_v<T, float>)
    return numberFamilies().rowsOfF32;
  else
    return numberFamily<T>().rowsInPlace;
}
template <typename T>
DotsInPlace<T> dotsKernel() {
  if constexpr (std::is_same_v<T, float>)
    return numberFamilies().dotsOfF32;
  else
    return numberFamily<T>().dotsInPlace;
}

// product(i) is the i-th of `count`, at least one, all of the same sizes; `steps`: multiply-adds of them all.
template <typename T, typename Product>
void runInPlace(FlatCall& call, InPlace way, int64_t count, double steps, const Product& product) {
  constexpr int64_t kTogether = 16;  // columns of a unit
  const int64_t columns = product(0).columns, groups = (columns + kTogether - 1) / kTogether,
                tasks = worthwhileTasks(call, steps), parts = partsFor(tasks, count, groups);
  const RowsInPlace<T> byRows = rowsKernel<T>();
  const DotsInPlace<T> byDots = dotsKernel<T>();
  const auto columnsOf = [&](const NumberProduct<T>& p, int64_t first, int64_t own) {
    const T* b = p.b + first * p.strideBN;
    T* c = p.c + first;
    if (way == InPlace::rows)
      byRows(p.rows, p.depth, p.a, p.strideAM, p.strideAK, b, p.strideBK, c, p.strideCM, own);
    else
      byDots(p.rows, p.depth, p.a, p.strideAM, b, p.strideBN, c, p.strideCM, own);
  };
  call.split(count * parts, tasks, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; parts == 1 && i < end; ++i) columnsOf(product(i), 0, columns);
    if (parts == 1) return;
    forEachWhole(begin, end, parts, [&](int64_t i, int64_t firstPart, int64_t lastPart) {
      const int64_t first = groups * firstPart / parts * kTogether;
      columnsOf(product(i), first, std::min(groups * lastPart / parts * kTogether, columns) - first);
    });
  });
}

}  // namespace dyn::vm::kernels
