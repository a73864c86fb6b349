/* Products of matrices that a device has from a library beside its driver (cuBLASLt): one version of a kernel
 * that computes such a product. A part of dyn_device.h.
 *
 *   result[r, c] = sum over k of left[r, k] * right[k, c], + bias[c] if there is one
 *
 * in each of `count` matrices. Sums are f32 and are rounded once, to the result's elements. */
#ifndef DYN_DEVICE_PRODUCT_H
#define DYN_DEVICE_PRODUCT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What f32 factors may be rounded to before they are multiplied. */
typedef enum DynProductRounding {
  DYN_PRODUCT_EXACT = 0,
  DYN_PRODUCT_TF32 = 1,
  DYN_PRODUCT_BF16 = 2
} DynProductRounding;

/* Distances are in elements; of row and column one is 1, the other at least the size that lies along it. */
typedef struct DynDeviceMatrix {
  int64_t buffer;                  /* of the launch */
  int64_t dtype;                   /* dyn_dtype: f32, f16 or bf16 */
  int64_t rowStride, columnStride; /* of the left [rows, depth], the right [depth, columns], the result */
  int64_t matrixStride;            /* from one of the matrices to the next; 0: all use the same */
} DynDeviceMatrix;

/* All sizes above 0. Members are of 64 bits each, so that two of them can be compared by their bytes. */
typedef struct DynDeviceProduct {
  const char* name; /* of the kernel, for messages; stays as long as the program */
  int64_t rows, columns, depth, count;
  DynDeviceMatrix left, right, result; /* the factors' elements are of one type */
  int64_t bias;                        /* buffer of `columns` elements of the result's type; -1: none */
  int64_t rounding;                    /* DynProductRounding */
  void* workspace; /* memory of the device that is this stream's alone, 256-byte aligned */
  uint64_t workspaceBytes;
} DynDeviceProduct;

#ifdef __cplusplus
}
#endif
#endif
