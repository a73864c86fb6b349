// The inverse of the peak: the largest value of a dim at which a run stays within so many bytes.
//
//   limitView(symbols, {{"batch", 1}}, 512 << 20, peakOf)   →  seq: 8063, peak 536 868 160 bytes, with batch = 1
//
// The peak at a size is that of a dry run, so it counts all that a run takes: arena, results, scratch
// memory of kernels. It is taken to grow with the size; the answer n is exact in that n stays within the
// limit and the next allowed size does not.
#pragma once

#include <functional>

#include "app/engine/model/model_info.h"
#include "app/session/views/memory_views.h"
#include "compiler/support/result.h"

namespace dyn {

// What is known of a dim of the inputs.
struct LimitSymbol {
  std::string name;
  std::optional<int64_t> low, high;  // its range
  int64_t multiple = 1;
  std::vector<int64_t> likely;  // most frequent first
};

// The size to take where none is given.
int64_t usualValue(const LimitSymbol& symbol);

// The peak of a run with these dims; errors: unsupportedFeature where it depends on elements, cancelled, or
// what the run would end in.
using PeakOfDims = std::function<Result<int64_t>(const DimValues&)>;

// One row for each symbol that is not given, the others at their likely value. Errors: usageError when all
// are given, unsupportedFeature when the peak is not a matter of the dims, memoryLimit when not even the
// least sizes stay within the limit.
Result<LimitView> limitView(const std::vector<LimitSymbol>& symbols, const DimValues& given,
                            int64_t limitBytes, const PeakOfDims& peakOf);

}  // namespace dyn
