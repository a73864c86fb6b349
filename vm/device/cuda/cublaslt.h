// cuBLASLt, NVIDIA's library of matrix products, found when a program first wants it: the file that the
// environment's DYN_CUBLASLT names; libcublasLt.so.13 beside the driver, where DYN_CUDA_DRIVER names that;
// else libcublasLt.so.13 or .12 as the system finds them. Nothing of it is needed to build Dyn or to run on a
// GPU.
//
// Numbers and structures here are those of its documentation (CUDA 12 and 13);
// tests/unit/vm/device/cublaslt_test.cpp compares them with the library's own header where that is installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "vm/device/cuda/driver.h"

namespace dyn::vm {

using CublasLtHandle = struct CublasLtContext*;
using CublasLtProduct = struct CublasLtProductImpl*;  // cublasLtMatmulDesc_t
using CublasLtMatrix = struct CublasLtMatrixImpl*;    // cublasLtMatrixLayout_t
using CublasLtWishes = struct CublasLtWishesImpl*;    // cublasLtMatmulPreference_t

struct CublasLtAlgorithm {
  uint64_t data[8];
};
// cublasLtMatmulHeuristicResult_t
struct CublasLtChoice {
  CublasLtAlgorithm algorithm;
  size_t workspaceBytes;
  int state;
  float waves;
  int reserved[4];
};

namespace cublaslt {

// cublasStatus_t
inline constexpr int kSuccess = 0, kNotInitialized = 1, kAllocationFailed = 3, kInvalidValue = 7,
                     kArchitecture = 8, kExecutionFailed = 13, kInternalError = 14, kNotSupported = 15;
// cudaDataType_t
inline constexpr int kF32 = 0, kF16 = 2, kBf16 = 14;
// cublasComputeType_t. Only "pedantic" promises that f32 is multiplied as f32 whatever the environment says.
inline constexpr int kSumsF32 = 68, kSumsF32Pedantic = 69, kSumsF32OfBf16 = 75, kSumsF32OfTf32 = 77;
// cublasOperation_t
inline constexpr int kAsItIs = 0, kTransposed = 1;
// cublasLtMatmulDescAttributes_t, cublasLtEpilogue_t
inline constexpr int kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8;
inline constexpr int kAddBias = 4;
// cublasLtMatrixLayoutAttribute_t
inline constexpr int kBatchCount = 5, kBatchStride = 6;
// cublasLtMatmulPreferenceAttributes_t, cublasLtReductionScheme_t
inline constexpr int kMostWorkspace = 1, kReductions = 3, kAlignmentOfA = 5, kAlignmentOfB = 6,
                     kAlignmentOfC = 7, kAlignmentOfD = 8;
inline constexpr uint32_t kReduceSums = 2;  // parts of a sum are added up as f32

}  // namespace cublaslt

struct CublasLt {
#define DYN_CUBLASLT_CALL(name, symbol, parameters) int(*name) parameters = nullptr;
#include "vm/device/cuda/cublaslt_calls.def"
#undef DYN_CUBLASLT_CALL
};

// Null and `why`, one line, where it cannot be used. The answer stays the same for the process.
const CublasLt* cublasLt(std::string& why);
// "CUBLAS_STATUS_NOT_SUPPORTED (15)"
std::string cublasLtStatus(int status);

}  // namespace dyn::vm
