// det, inverse: by elimination with the largest pivot, in f64. pairwise_coupling: probabilities of classes
// from those of pairs.
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

// `a` [size, 2 size], a matrix and the identity beside it, becomes the identity and the inverse.
void invert(double* a, int64_t size) {
  const int64_t width = 2 * size;
  const auto row = [&](int64_t i) { return a + i * width; };
  for (int64_t k = 0; k < size; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < size; ++i)
      if (std::fabs(row(i)[k]) > std::fabs(row(pivot)[k])) pivot = i;
    if (pivot != k) std::swap_ranges(row(k), row(k) + width, row(pivot));
    const double factor = 1 / row(k)[k];
    for (int64_t j = k; j < width; ++j) row(k)[j] *= factor;
    for (int64_t i = 0; i < size; ++i) {
      if (i == k) continue;
      const double taken = row(i)[k];
      for (int64_t j = k; j < width; ++j) row(i)[j] -= taken * row(k)[j];
    }
  }
}

template <typename T>
void inverses(const TensorView* x, double* matrix, TensorView* y) {
  const int64_t size = x->shape()[x->rank - 1], count = size * size;
  for (int64_t begin = 0; begin < y->elements; begin += count) {
    for (int64_t i = 0; i < size; ++i) {
      std::copy_n(x->as<T>() + begin + i * size, size, matrix + i * 2 * size);
      std::fill_n(matrix + i * 2 * size + size, size, 0.0);
      matrix[i * 2 * size + size + i] = 1;
    }
    invert(matrix, size);
    for (int64_t i = 0; i < size; ++i)
      for (int64_t j = 0; j < size; ++j)
        y->as<T>()[begin + i * size + j] = static_cast<T>(matrix[i * 2 * size + size + j]);
  }
}

// The second method of Wu, Lin and Weng, "Probability Estimates for Multi-class Classification by Pairwise
// Coupling" (2004): the p that makes sum over i < j of (r[j, i] p[i] - r[i, j] p[j])^2 smallest, by rounds
// that improve one probability after the other. q [m, m] and qp [m] are for its own use.
void couple(const float* r, int64_t m, float* q, float* qp, float* p) {
  constexpr int kMostRounds = 100;
  const float enough = 0.005f / static_cast<float>(m);
  for (int64_t i = 0; i < m; ++i) {
    p[i] = 1 / static_cast<float>(m);
    q[i * m + i] = 0;
    for (int64_t j = 0; j < m; ++j) {
      if (j == i) continue;
      q[i * m + i] += r[j * m + i] * r[j * m + i];
      q[i * m + j] = -r[j * m + i] * r[i * m + j];
    }
  }
  for (int round = 0; round < kMostRounds; ++round) {
    float product = 0, worst = 0;
    for (int64_t i = 0; i < m; ++i) {
      qp[i] = 0;
      for (int64_t j = 0; j < m; ++j) qp[i] += q[i * m + j] * p[j];
      product += p[i] * qp[i];
    }
    for (int64_t i = 0; i < m; ++i) worst = std::max(worst, std::fabs(qp[i] - product));
    if (worst < enough) return;
    for (int64_t i = 0; i < m; ++i) {
      const float step = (product - qp[i]) / q[i * m + i], rest = 1 + step;
      p[i] += step;
      product = (product + step * (step * q[i * m + i] + 2 * qp[i])) / rest / rest;
      for (int64_t j = 0; j < m; ++j) {
        qp[j] = (qp[j] + step * q[i * m + j]) / rest;
        p[j] /= rest;
      }
    }
  }
}

// Of one matrix in f64, `times` as wide.
int64_t matrixElements(const TensorView* x, const TensorView* y, int64_t times = 1) {
  const int64_t size = x->shape()[x->rank - 1];
  return y->elements == 0 ? 0 : times * size * size * static_cast<int64_t>(sizeof(double) / sizeof(float));
}

Status readInverse(const FlatCall& call, const TensorView*& x) {
  x = call.argument(calls::Inverse::x);
  if (!x || x->rank < 2 || x->shape()[x->rank - 1] != x->shape()[x->rank - 2] ||
      (x->dtype() != DataType::f32 && x->dtype() != DataType::f64))
    return badArgument("inverse", calls::Inverse::x, "square matrices of f32 or f64", x);
  return call.checkResult(0, x->dtype(), x->sizes());
}

Status readPairs(const FlatCall& call, const TensorView*& x) {
  x = call.argument(calls::PairwiseCoupling::pairs);
  if (!x || x->rank < 2 || x->shape()[x->rank - 1] != x->shape()[x->rank - 2] || x->dtype() != DataType::f32)
    return badArgument("pairwise_coupling", calls::PairwiseCoupling::pairs, "square matrices of f32", x);
  return call.checkResult(0, x->dtype(), x->sizes().first(x->sizes().size() - 1));
}

int64_t couplingElements(const TensorView* x, const TensorView* y) {
  const int64_t size = x->shape()[x->rank - 1];
  return y->elements == 0 ? 0 : size * size + size;
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

Status inverseScratch(const FlatCall& call, int64_t& elements) {
  const TensorView* x = nullptr;
  if (Status status = readInverse(call, x); !status.ok()) return status;
  elements = scratchElements(matrixElements(x, call.result(0), 2), 0, 0);
  return okStatus();
}

Status inverse(FlatCall& call) {
  const TensorView* x = nullptr;
  if (Status status = readInverse(call, x); !status.ok()) return status;
  TensorView* y = call.result(0);
  if (y->elements == 0) return okStatus();
  Scratch scratch(call, matrixElements(x, y, 2), 0, 0);
  if (!scratch) return scratch.status();
  auto* const matrix = reinterpret_cast<double*>(scratch.shared());
  if (x->dtype() == DataType::f32)
    inverses<float>(x, matrix, y);
  else
    inverses<double>(x, matrix, y);
  return okStatus();
}

Status pairwiseCouplingScratch(const FlatCall& call, int64_t& elements) {
  const TensorView* x = nullptr;
  if (Status status = readPairs(call, x); !status.ok()) return status;
  elements = scratchElements(couplingElements(x, call.result(0)), 0, 0);
  return okStatus();
}

Status pairwiseCoupling(FlatCall& call) {
  const TensorView* x = nullptr;
  if (Status status = readPairs(call, x); !status.ok()) return status;
  TensorView* y = call.result(0);
  if (y->elements == 0) return okStatus();
  Scratch scratch(call, couplingElements(x, y), 0, 0);
  if (!scratch) return scratch.status();
  const int64_t m = x->shape()[x->rank - 1];
  float* const table = scratch.shared();
  for (int64_t row = 0; row < y->elements / m; ++row)
    couple(x->as<float>() + row * m * m, m, table, table + m * m, y->as<float>() + row * m);
  return okStatus();
}

}  // namespace dyn::vm::kernels
