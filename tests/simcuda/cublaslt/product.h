// product.h — a product as cuBLASLt is told of it: D = op(A) op(B) (+ bias along D's rows), columns first, in
// `count` matrices. What it may be, how it is done, and doing it in the memory of the simulated device.
#pragma once
#include <cstddef>
#include <cstdint>

namespace simcublaslt {

// Of cudaDataType_t, cublasComputeType_t, cublasStatus_t, cublasLtEpilogue_t: what this library knows.
enum Type : int { kF32 = 0, kF16 = 2, kBf16 = 14 };
enum Compute : int { kSumsF32 = 68, kSumsF32Pedantic = 69, kSumsF32OfBf16 = 75, kSumsF32OfTf32 = 77 };
enum Status : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kInvalidValue = 7,
  kExecutionFailed = 13,
  kNotSupported = 15
};
enum Epilogue : int { kPlain = 1, kAddBias = 4 };

struct Matrix {  // cublasLtMatrixLayout_t: `rows` lie side by side
  int type = kF32;
  uint64_t rows = 0, columns = 0;
  int64_t stride = 0;  // from column to column
  int32_t count = 1;
  int64_t matrixStride = 0;
};

struct Description {  // cublasLtMatmulDesc_t
  int compute = kSumsF32, scale = kF32;
  int32_t transposesA = 0, transposesB = 0, epilogue = kPlain;
  uint64_t bias = 0;
};

struct Wishes {  // cublasLtMatmulPreference_t, with the defaults of the documentation
  uint64_t mostWorkspaceBytes = 0;
  uint32_t reductions = 7;
  uint32_t alignments[4] = {256, 256, 256, 256};  // of A, B, C, D
};

struct Algorithm {  // cublasLtMatmulAlgo_t
  uint64_t parts;   // 1, or 2: the sum is split, its parts are added up in the workspace
  uint64_t alignments[4];
  uint64_t unused[3];
};
static_assert(sizeof(Algorithm) == 64);

struct Product {
  Description description;
  Matrix a, b, d;
  uint64_t m() const { return d.rows; }
  uint64_t n() const { return d.columns; }
  uint64_t k() const { return description.transposesA ? a.rows : a.columns; }
  // A status: sizes that do not go together are kInvalidValue, what nobody here computes kNotSupported.
  int check() const;
  uint64_t workspaceBytes(const Algorithm& algorithm) const;
  // Splits where that may be, so that workspaces are used.
  int choose(const Wishes& wishes, Algorithm& algorithm) const;
};

struct Call {
  Product product;
  Algorithm algorithm;
  uint64_t a = 0, b = 0, d = 0, workspace = 0;  // addresses of the device
};
// As dyn_simcuda_command_t wants it: null, or what is wrong.
const char* run(const Call& call);
uint64_t bytesOf(const Matrix& matrix);  // from the first element to the last

}  // namespace simcublaslt
