/* The codes among the numbers that hand-written kernels are called with: what the compiler writes into a
 * program and the kernel reads. Which number holds which is said by vm/shared/dyn_builtin_calls.def. They are
 * part of the package format: a value is never given another meaning. */
#ifndef DYN_BUILTIN_NUMBERS_H
#define DYN_BUILTIN_NUMBERS_H

/* pool: kind. */
enum { DYN_POOL_LARGEST = 0, DYN_POOL_MEAN = 1, DYN_POOL_MEAN_WITH_PADS = 2 };

/* compress and unique: the axis, or this. */
enum { DYN_AXIS_FLAT = -128 };

/* scatter_elements and scatter_nd: what a place gets that is written again. */
enum {
  DYN_SCATTER_SET = 0,
  DYN_SCATTER_ADD = 1,
  DYN_SCATTER_MULTIPLY = 2,
  DYN_SCATTER_MINIMUM = 3,
  DYN_SCATTER_MAXIMUM = 4
};

/* grid_sample: what is outside of the image. */
enum { DYN_SAMPLE_ZEROS = 0, DYN_SAMPLE_BORDER = 1, DYN_SAMPLE_REFLECTION = 2 };

/* resize: mode, grid and rounding. */
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

/* check_values: what all elements are. */
enum {
  DYN_ELEMENTS_POSITIVE = 0,
  DYN_ELEMENTS_NUMBERS = 1,
  DYN_ELEMENTS_CHANCES = 2,
  DYN_ELEMENTS_IN_RANGE = 3
};

/* string_normalize: change. */
enum { DYN_CASE_NONE = 0, DYN_CASE_LOWER = 1, DYN_CASE_UPPER = 2 };

/* tfidf: mode. */
enum { DYN_TFIDF_COUNTS = 0, DYN_TFIDF_WEIGHTS = 1, DYN_TFIDF_WEIGHTED_COUNTS = 2 };

#endif
