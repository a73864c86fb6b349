/* The codes among the numbers that hand-written kernels are called with: what the compiler writes into a
 * program and the kernel reads. vm/kernels' builtins.def says which number holds which. They are part of the
 * package format: a value is never given another meaning. */
#ifndef DYN_BUILTIN_NUMBERS_H
#define DYN_BUILTIN_NUMBERS_H

/* gemm, number 0: bits. */
enum {
  DYN_GEMM_TRANSPOSED_A = 1, /* A is [K, M] */
  DYN_GEMM_TRANSPOSED_B = 2, /* B is [N, K] */
  DYN_GEMM_PACKED_B = 4,     /* by gemmpack */
  DYN_GEMM_ORDERED = 8,      /* the orders of the axes of A, B and C follow number 1 */
  DYN_GEMM_DISPATCHED = 16 /* number 1 says how many pairs follow: 1 + a schedule, and up to how many rows */
};

/* gemmpack, bytepack and bytegemm, number 0: bits. */
enum { DYN_PACK_TRANSPOSED = 1, DYN_PACK_ROUNDED = 2 };
enum { DYN_BYTEGEMM_PACKED_B = 1 };

/* conv, conv_pack, conv_packed, byteconv, number 0: the number of spatial axes and, above it, 1 + a way of
 * f32 convolutions (conv, conv_pack, conv_packed) or DYN_CONV_CHANNELS_LAST (byteconv). */
enum { DYN_CONV_AXES = 7, DYN_CONV_CHANNELS_LAST = 8, DYN_CONV_WAY_SHIFT = 3 };

/* pool, number 1. */
enum { DYN_POOL_LARGEST = 0, DYN_POOL_MEAN = 1, DYN_POOL_MEAN_WITH_PADS = 2 };

/* cumsum, number 0: bits. */
enum { DYN_RUNNING_EXCLUSIVE = 1, DYN_RUNNING_REVERSE = 2, DYN_RUNNING_PRODUCT = 4 };

/* topk, number 1: bits. */
enum { DYN_TOPK_LARGEST = 1, DYN_TOPK_SORTED = 2 };

/* compress and unique, number 0: the axis, or this. */
enum { DYN_AXIS_FLAT = -128 };

/* scatter_elements, number 1; scatter_nd, number 0: what a place gets that is written again. */
enum {
  DYN_SCATTER_SET = 0,
  DYN_SCATTER_ADD = 1,
  DYN_SCATTER_MULTIPLY = 2,
  DYN_SCATTER_MINIMUM = 3,
  DYN_SCATTER_MAXIMUM = 4
};

/* dft, number 0: bits. */
enum { DYN_DFT_INVERSE = 1, DYN_DFT_ONE_SIDED = 2 };

/* roi_align, number 0: bits. */
enum { DYN_ROI_LARGEST = 1, DYN_ROI_HALF_PIXEL = 2 };

/* grid_sample, number 0: what is outside of the image. */
enum { DYN_SAMPLE_ZEROS = 0, DYN_SAMPLE_BORDER = 1, DYN_SAMPLE_REFLECTION = 2 };

/* resize, numbers 0, 1 and 2. */
enum { DYN_RESIZE_NEAREST = 0, DYN_RESIZE_LINEAR = 1, DYN_RESIZE_CUBIC = 2 };
enum {
  DYN_GRID_HALF_PIXEL = 0,
  DYN_GRID_HALF_PIXEL_SYMMETRIC = 1,
  DYN_GRID_PYTORCH_HALF_PIXEL = 2,
  DYN_GRID_ALIGN_CORNERS = 3,
  DYN_GRID_ASYMMETRIC = 4,
  DYN_GRID_REGION = 5, /* not taken by the kernel */
  DYN_GRID_HALF_PIXEL_FOR_NEAREST = 6
};
enum {
  DYN_NEAREST_PREFER_FLOOR = 0,
  DYN_NEAREST_PREFER_CEIL = 1,
  DYN_NEAREST_FLOOR = 2,
  DYN_NEAREST_CEIL = 3,
  DYN_NEAREST_BY_SCALE = 4
};

/* check_values, number 0: what all elements are. */
enum {
  DYN_ELEMENTS_POSITIVE = 0,
  DYN_ELEMENTS_NUMBERS = 1,
  DYN_ELEMENTS_CHANCES = 2,
  DYN_ELEMENTS_IN_RANGE = 3
};

/* string_normalize, number 0. */
enum { DYN_CASE_NONE = 0, DYN_CASE_LOWER = 1, DYN_CASE_UPPER = 2 };

/* tfidf, number 0. */
enum { DYN_TFIDF_COUNTS = 0, DYN_TFIDF_WEIGHTS = 1, DYN_TFIDF_WEIGHTED_COUNTS = 2 };

#endif
