// Where a function works through a batch image by image anyway, and holds more of it at once than the caches:
// regions that may run over slices of the batch.
//
//   conv(%x) conv ... conv ... mean     one run: each reads image n alone to make image n
//   [ 112 x 112 ] [   28 x 28   ]       regions: cut where little crosses, once half as much lives at a time
//
// A region is worth it where most of what it makes is read again inside of it, and where that is more than
// the weights that every slice reads anew. Open sizes count as images of 224 x 224 there.
#pragma once

#include <vector>

#include "compiler/passes/analysis/batch_rows.h"

namespace dyn::passes {

struct SliceRegion {
  std::vector<size_t> members;  // which operations of the function, in order
  Dim imageBytes;               // what lives at a time of one image, at most
  int64_t usualImageBytes = 0;  // the same in numbers
};

// Operations `begin` to `end` (exclusive) of the function: members of regions, other operations over the
// batch, and what depends on none of them and may stand before them all.
struct SliceRun {
  size_t begin = 0, end = 0;
  std::vector<size_t> before;  // constants, packed weights, checks
  std::vector<SliceRegion> regions;
};

// Runs that have regions. `batch`: a symbol or a number; `rows`: of the function, told of nothing yet.
std::vector<SliceRun> findSliceRuns(const Module& module, const Function& function, Dim batch,
                                    BatchRows& rows, int64_t cacheBytes);

}  // namespace dyn::passes
