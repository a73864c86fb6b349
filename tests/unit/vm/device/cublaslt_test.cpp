// What Dyn knows of cuBLASLt's interface, beside the library's own header where that is installed; and
// descriptions of products given to the library that DYN_CUBLASLT names, which need no GPU, or to the
// simulated one.
#include "vm/device/cuda/cublaslt.h"

#include <gtest/gtest.h>

#include "tests/unit/vm/device/simulated_driver.h"
#include "vm/device/cuda/cuda_products.h"
#include "vm/include/dynvm.h"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

namespace dyn::vm::cublaslt {
namespace {

static_assert(sizeof(CublasLtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(CublasLtChoice) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(CublasLtChoice, workspaceBytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(CublasLtChoice, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(kSuccess == CUBLAS_STATUS_SUCCESS && kNotInitialized == CUBLAS_STATUS_NOT_INITIALIZED &&
              kAllocationFailed == CUBLAS_STATUS_ALLOC_FAILED &&
              kInvalidValue == CUBLAS_STATUS_INVALID_VALUE && kArchitecture == CUBLAS_STATUS_ARCH_MISMATCH &&
              kExecutionFailed == CUBLAS_STATUS_EXECUTION_FAILED &&
              kInternalError == CUBLAS_STATUS_INTERNAL_ERROR && kNotSupported == CUBLAS_STATUS_NOT_SUPPORTED);
static_assert(kF32 == CUDA_R_32F && kF16 == CUDA_R_16F && kBf16 == CUDA_R_16BF);
static_assert(kSumsF32 == CUBLAS_COMPUTE_32F && kSumsF32Pedantic == CUBLAS_COMPUTE_32F_PEDANTIC &&
              kSumsF32OfBf16 == CUBLAS_COMPUTE_32F_FAST_16BF &&
              kSumsF32OfTf32 == CUBLAS_COMPUTE_32F_FAST_TF32);
static_assert(kAsItIs == CUBLAS_OP_N && kTransposed == CUBLAS_OP_T);
static_assert(kTransposeA == CUBLASLT_MATMUL_DESC_TRANSA && kTransposeB == CUBLASLT_MATMUL_DESC_TRANSB &&
              kEpilogue == CUBLASLT_MATMUL_DESC_EPILOGUE &&
              kBiasPointer == CUBLASLT_MATMUL_DESC_BIAS_POINTER);
static_assert(kAddBias == CUBLASLT_EPILOGUE_BIAS);
static_assert(kBatchCount == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT &&
              kBatchStride == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(kMostWorkspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES &&
              kReductions == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK &&
              kAlignmentOfA == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
              kAlignmentOfB == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES &&
              kAlignmentOfC == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES &&
              kAlignmentOfD == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(kReduceSums == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);

}  // namespace
}  // namespace dyn::vm::cublaslt
#endif

namespace dyn::vm {
namespace {

DynDeviceMatrix matrix(int64_t buffer, int64_t dtype, int64_t rowStride, int64_t columnStride, int64_t step) {
  return {buffer, dtype, rowStride, columnStride, step};
}

TEST(CublasLt, takesEveryDescription) {
  if (!useSimulatedDriver() && !getenv("DYN_CUBLASLT")) GTEST_SKIP() << "unavailable: no library";
  std::string why;
  const CublasLt* library = cublasLt(why);
  ASSERT_TRUE(library) << why;
  void* buffers[] = {reinterpret_cast<void*>(uintptr_t{4096}), reinterpret_cast<void*>(uintptr_t{8192}),
                     reinterpret_cast<void*>(uintptr_t{12288}), reinterpret_cast<void*>(uintptr_t{16384})};
  for (const int64_t dtype : {DYN_F32, DYN_F16, DYN_BF16})
    for (const int64_t rounding : {DYN_PRODUCT_EXACT, DYN_PRODUCT_TF32, DYN_PRODUCT_BF16})
      for (const bool transposed : {false, true})
        for (const int64_t bias : {-1, 3}) {
          DynDeviceProduct p{};
          p.name = "k";
          p.rows = 5, p.columns = 7, p.depth = 11, p.count = 3;
          p.left = transposed ? matrix(0, dtype, 1, 5, 55) : matrix(0, dtype, 11, 1, 55);
          p.right = transposed ? matrix(1, dtype, 1, 11, 0) : matrix(1, dtype, 7, 1, 0);
          p.result = matrix(2, bias < 0 ? dtype : int64_t{DYN_F32}, 7, 1, 35);
          p.bias = bias;
          p.rounding = rounding;
          CublasLtDescription description(*library);
          EXPECT_EQ(description.describe(p, buffers, {256, 64, 4, 256}, 1 << 20), cublaslt::kSuccess);
        }
}

TEST(CublasLt, statusesHaveNames) {
  EXPECT_EQ(cublasLtStatus(15), "CUBLAS_STATUS_NOT_SUPPORTED (15)");
  EXPECT_EQ(cublasLtStatus(99), "an error of cuBLASLt (99)");
}

}  // namespace
}  // namespace dyn::vm
