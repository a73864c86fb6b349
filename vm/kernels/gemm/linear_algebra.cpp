// det: by elimination with the largest pivot, in f64.
#include <algorithm>
#include <cmath>
#include <utility>

#include "vm/kernels/builtins.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

// `a` [size, size] is overwritten.
double determinant(double* a, int64_t size) {
  const auto row = [&](int64_t i) { return a + i * size; };
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
void determinants(const TensorView* x, double* matrix, TensorView* y) {
  const int64_t size = x->shape()[x->rank - 1];
  for (int64_t i = 0; i < y->elements; ++i) {
    std::copy_n(x->as<T>() + i * size * size, size * size, matrix);
    y->as<T>()[i] = static_cast<T>(determinant(matrix, size));
  }
}

// Of one matrix in f64.
int64_t matrixElements(const TensorView* x, const TensorView* y) {
  const int64_t size = x->shape()[x->rank - 1];
  return y->elements == 0 ? 0 : size * size * static_cast<int64_t>(sizeof(double) / sizeof(float));
}

Status readCall(const FlatCall& call, const TensorView*& x) {
  x = call.argument(calls::Det::x);
  if (!x || x->rank < 2 || x->shape()[x->rank - 1] != x->shape()[x->rank - 2] ||
      (x->dtype() != DataType::f32 && x->dtype() != DataType::f64))
    return badArgument("det", calls::Det::x, "square matrices of f32 or f64", x);
  return call.checkResult(0, x->dtype(), x->sizes().first(x->sizes().size() - 2));
}

}  // namespace

Status detScratch(const FlatCall& call, int64_t& elements) {
  const TensorView* x = nullptr;
  if (Status status = readCall(call, x); !status.ok()) return status;
  elements = scratchElements(matrixElements(x, call.result(0)), 0, 0);
  return okStatus();
}

Status det(FlatCall& call) {
  const TensorView* x = nullptr;
  if (Status status = readCall(call, x); !status.ok()) return status;
  TensorView* y = call.result(0);
  Scratch scratch(call, matrixElements(x, y), 0, 0);
  if (!scratch) return scratch.status();
  auto* const matrix = reinterpret_cast<double*>(scratch.shared());
  if (x->dtype() == DataType::f32)
    determinants<float>(x, matrix, y);
  else
    determinants<double>(x, matrix, y);
  return okStatus();
}

}  // namespace dyn::vm::kernels
