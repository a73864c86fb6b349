// Where a function makes images that do not fit into the caches from rows of others: regions that may run
// over slices of their rows.
//
//   %e = gemm_packed(%x)     [n, 256, 256, 96]     one region: a slice of %d needs one row more of %e at its
//   %d = conv_packed(%e)     [n, 128, 128, 96]     top and bottom, which is computed twice
//   %p = gemm_packed(%d)     [n, 128, 128, 24]     the next one begins here, where little crosses
//
// Chosen is the division of a run of layers that gains most: planes that no longer leave the caches, less
// what is computed twice, and less the results that are put together. Open sizes count as images of 512 x 512
// there: those that are large enough to be sliced. How many rows a slice has, one image at a time or all of
// them, is decided when the program runs.
#pragma once

#include <vector>

#include "compiler/passes/tiling/row_members.h"

namespace dyn::passes {

// Bytes that a slice may take, and that an image takes at least that is sliced; all: what can be sliced is,
// whether it gains or not.
struct RowLimits {
  int64_t slice = 0, image = 0;
  bool all = false;
};

// A slice of few rows may take so many times what it should, up to so many times the least rows: the fewer
// there are, the more of them are computed twice.
constexpr int64_t kMostOverCache = 6;
constexpr int64_t kBetterThanLeast = 2;

struct RowRegion {
  std::vector<RowMember> members;
  Dim imageBytes;         // what lives at a time of one image, at most
  Dim columns;            // of the narrowest image
  int64_t leastRows = 1;  // of a slice that is worth what is computed twice
  double gain = 0;        // of a usual image, as a share of its time
};

// Operations `begin` to `end` (exclusive) of the function: members of regions, others, and what depends on
// none of them and may stand before them all.
struct RowRun {
  size_t begin = 0, end = 0;
  std::vector<size_t> before;
  std::vector<RowRegion> regions;
};

std::vector<RowRun> findRowRuns(const Module& module, const Function& function, RowMembers& rows,
                                RowLimits limits);

}  // namespace dyn::passes
