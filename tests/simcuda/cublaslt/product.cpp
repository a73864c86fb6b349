#include "tests/simcuda/cublaslt/product.h"

#include <bit>
#include <cstring>
#include <vector>

#include "tests/simcuda/ptx/small_floats.h"
#include "tests/simcuda/simcuda.h"

namespace simcublaslt {
namespace {

constexpr uint64_t kDepthOfParts = 48;  // from which on a sum is split

uint64_t bytesOf(int type) { return type == kF32 ? 4 : 2; }

float asFloat(int type, const uint8_t* from) {
  if (type == kF32) {
    float value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return type == kF16 ? simcuda::toFloat(simcuda::Half{bits}) : simcuda::toFloat(simcuda::Bfloat{bits});
}

void store(int type, float value, uint8_t* to) {
  if (type == kF32) {
    std::memcpy(to, &value, sizeof value);
    return;
  }
  const uint16_t bits = type == kF16 ? simcuda::toHalf(value).bits : simcuda::toBfloat(value).bits;
  std::memcpy(to, &bits, sizeof bits);
}

float rounded(int compute, float value) {
  if (compute == kSumsF32OfBf16) return simcuda::toFloat(simcuda::toBfloat(value));
  if (compute != kSumsF32OfTf32) return value;
  return std::bit_cast<float>(simcuda::roundTo(value, 8, 10, simcuda::Rounding::NearestEven) << 13);
}

// One of its matrices, columns first, without the gaps between columns; false: it may not be read.
bool read(const Matrix& matrix, uint64_t address, int compute, std::vector<float>& values) {
  const uint64_t bytes = bytesOf(matrix.type);
  values.resize(matrix.rows * matrix.columns);
  for (uint64_t column = 0; column < matrix.columns; ++column) {
    const auto* from = static_cast<const uint8_t*>(dyn_simcuda_bytes(
        address + column * static_cast<uint64_t>(matrix.stride) * bytes, matrix.rows * bytes, 0));
    if (!from) return false;
    for (uint64_t row = 0; row < matrix.rows; ++row)
      values[column * matrix.rows + row] = rounded(compute, asFloat(matrix.type, from + row * bytes));
  }
  return true;
}

// The sum over [first, last) of one element.
struct Factors {
  const std::vector<float>&a, &b;
  uint64_t rowsOfA, rowsOfB;
  bool transposesA, transposesB;
  float sum(uint64_t i, uint64_t j, uint64_t first, uint64_t last) const {
    float sum = 0;
    for (uint64_t k = first; k < last; ++k)
      sum += (transposesA ? a[i * rowsOfA + k] : a[k * rowsOfA + i]) *
             (transposesB ? b[k * rowsOfB + j] : b[j * rowsOfB + k]);
    return sum;
  }
};

// All sums of one matrix, by parts that lie in the workspace. False: it may not be touched.
bool sums(const Call& call, const Factors& factors, uint64_t workspace, std::vector<float>& result) {
  const uint64_t m = call.product.m(), n = call.product.n(), k = call.product.k();
  const uint64_t parts = call.algorithm.parts;
  result.assign(m * n, 0);
  for (uint64_t part = 0; part < parts; ++part) {
    std::vector<float> of(m * n);
    for (uint64_t j = 0; j < n; ++j)
      for (uint64_t i = 0; i < m; ++i)
        of[j * m + i] = factors.sum(i, j, k * part / parts, k * (part + 1) / parts);
    if (parts == 1) {
      result = std::move(of);
      return true;
    }
    void* to = dyn_simcuda_bytes(workspace + part * m * n * sizeof(float), m * n * sizeof(float), 1);
    if (!to) return false;
    std::memcpy(to, of.data(), m * n * sizeof(float));
  }
  const auto* from =
      static_cast<const uint8_t*>(dyn_simcuda_bytes(workspace, parts * m * n * sizeof(float), 0));
  if (!from) return false;
  for (uint64_t i = 0; i < parts * m * n; ++i) result[i % (m * n)] += asFloat(kF32, from + i * sizeof(float));
  return true;
}

}  // namespace

uint64_t bytesOf(const Matrix& m) {
  if (m.rows == 0 || m.columns == 0) return 0;
  const uint64_t last = static_cast<uint64_t>(m.count - 1) * static_cast<uint64_t>(m.matrixStride) +
                        (m.columns - 1) * static_cast<uint64_t>(m.stride) + m.rows;
  return last * bytesOf(m.type);
}

int Product::check() const {
  const Description& p = description;
  const uint64_t rowsOfB = p.transposesB ? b.columns : b.rows;
  if (d.rows != (p.transposesA ? a.columns : a.rows) || d.columns != (p.transposesB ? b.rows : b.columns) ||
      k() != rowsOfB || a.count != b.count || a.count != d.count)
    return kInvalidValue;
  for (const Matrix* matrix : {&a, &b, &d})
    if (matrix->rows == 0 || matrix->columns == 0 || matrix->count < 1 ||
        matrix->stride < static_cast<int64_t>(matrix->rows) || matrix->matrixStride < 0)
      return kInvalidValue;
  const bool narrow = a.type == kF16 || a.type == kBf16;
  if (a.type != b.type || (a.type != kF32 && !narrow) || (d.type != kF32 && d.type != a.type) ||
      p.scale != kF32)
    return kNotSupported;
  const bool rounds = p.compute == kSumsF32OfBf16 || p.compute == kSumsF32OfTf32;
  if ((p.compute != kSumsF32 && p.compute != kSumsF32Pedantic && !rounds) || (rounds && narrow))
    return kNotSupported;
  if (p.epilogue != kPlain && p.epilogue != kAddBias) return kNotSupported;
  return p.epilogue == kAddBias && p.bias == 0 ? kInvalidValue : kSuccess;
}

uint64_t Product::workspaceBytes(const Algorithm& algorithm) const {
  return algorithm.parts > 1 ? algorithm.parts * m() * n() * sizeof(float) : 0;
}

int Product::choose(const Wishes& wishes, Algorithm& algorithm) const {
  if (const int status = check(); status != kSuccess) return status;
  algorithm = {};
  for (int i = 0; i < 4; ++i) algorithm.alignments[i] = wishes.alignments[i];
  algorithm.parts = 2;
  const bool reducesSums = (wishes.reductions & 2) != 0;
  if (k() < kDepthOfParts || !reducesSums || workspaceBytes(algorithm) > wishes.mostWorkspaceBytes)
    algorithm.parts = 1;
  return kSuccess;
}

const char* run(const Call& call) {
  const Product& p = call.product;
  for (uint64_t matrix = 0; matrix < static_cast<uint64_t>(p.d.count); ++matrix) {
    const auto at = [&](uint64_t address, const Matrix& of) {
      return address + matrix * static_cast<uint64_t>(of.matrixStride) * bytesOf(of.type);
    };
    std::vector<float> a, b, result, bias(p.m(), 0);
    if (!read(p.a, at(call.a, p.a), p.description.compute, a) ||
        !read(p.b, at(call.b, p.b), p.description.compute, b))
      return "a factor";
    const Factors factors{
        a, b, p.a.rows, p.b.rows, p.description.transposesA != 0, p.description.transposesB != 0};
    if (!sums(call, factors, call.workspace, result)) return "the workspace";
    if (p.description.epilogue == kAddBias) {
      const Matrix vector{p.d.type, p.m(), 1, static_cast<int64_t>(p.m())};
      if (!read(vector, p.description.bias, kSumsF32, bias)) return "the bias";
    }
    const uint64_t bytes = bytesOf(p.d.type);
    for (uint64_t j = 0; j < p.n(); ++j) {
      auto* to = static_cast<uint8_t*>(dyn_simcuda_bytes(
          at(call.d, p.d) + j * static_cast<uint64_t>(p.d.stride) * bytes, p.m() * bytes, 1));
      if (!to) return "the result";
      for (uint64_t i = 0; i < p.m(); ++i) store(p.d.type, result[j * p.m() + i] + bias[i], to + i * bytes);
    }
  }
  return nullptr;
}

}  // namespace simcublaslt
