// det: by elimination with the largest pivot, in f64.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "vm/kernels/builtins.h"

namespace dyn::vm::kernels {
namespace {

// `a` [size, size] is overwritten.
double determinant(std::vector<double>& a, int64_t size) {
  const auto row = [&](int64_t i) { return a.data() + i * size; };
  double product = 1;
  for (int64_t k = 0; k < size; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < size; ++i)
      if (std::fabs(row(i)[k]) > std::fabs(row(pivot)[k])) pivot = i;
    if (pivot != k) {
      std::swap_ranges(row(k), row(k) + size, row(pivot));
      product = -product;
    }
    product *= row(k)[k];
    if (row(k)[k] == 0) return product;
    for (int64_t i = k + 1; i < size; ++i) {
      const double factor = row(i)[k] / row(k)[k];
      for (int64_t j = k + 1; j < size; ++j) row(i)[j] -= factor * row(k)[j];
    }
  }
  return product;
}

template <typename T>
void determinants(const Tensor* x, Tensor* y) {
  const int64_t size = x->shape()[x->rank - 1];
  std::vector<double> matrix(static_cast<size_t>(size * size));
  for (int64_t i = 0; i < y->elementCount; ++i) {
    const T* from = x->as<T>() + i * size * size;
    matrix.assign(from, from + size * size);
    y->as<T>()[i] = static_cast<T>(determinant(matrix, size));
  }
}

}  // namespace

Status det(BuiltinCall& call) {
  const Tensor* x = call.argument(0);
  if (!x || x->rank < 2 || x->shape()[x->rank - 1] != x->shape()[x->rank - 2] ||
      (x->dtype != DataType::f32 && x->dtype != DataType::f64))
    return badArgument("det", 0, "square matrices of f32 or f64", call.arguments[0]);
  Tensor* y = nullptr;
  if (Status status = call.result(0, x->dtype, std::span(x->shape(), x->rank - 2u), y); !status.ok())
    return status;
  if (x->dtype == DataType::f32) {
    determinants<float>(x, y);
  } else {
    determinants<double>(x, y);
  }
  return okStatus();
}

}  // namespace dyn::vm::kernels
