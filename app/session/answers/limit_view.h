// The inverse of the peak: the largest value of a dim at which a run stays within so many bytes; likewise
// of the time.
//
//   limitView(symbols, {{"batch", 1}}, {LimitUnit::bytes, 512 << 20}, peakOf)
//       →  seq: 8063, peak 536 868 160 bytes, with batch = 1
//
// The peak at a size is that of a dry run, so it counts all that a run takes: arena, results, scratch
// memory of kernels. It is taken to grow with the size; the answer n is exact in that n stays within the
// limit and the next allowed size does not.
#pragma once

#include <functional>

#include "app/engine/model/model_info.h"
#include "app/session/views/memory_views.h"
#include "compiler/dims/dim_solver.h"
#include "compiler/support/result.h"

namespace dyn {

// What is known of a dim of the inputs.
struct LimitSymbol {
  std::string name;
  std::optional<int64_t> low, high;  // its range
  int64_t multiple = 1;
  std::vector<int64_t> likely;  // most frequent first
  std::string highReason = "";  // of its highest value; "": the model says so
};

class LoadedModel;
// What is known of the dims of its inputs; null: nothing.
const DimSolver* factsOfDims(LoadedModel& model);
// Of all dims of its inputs.
std::vector<LimitSymbol> limitSymbols(LoadedModel& model);
// The dims that have to be given, the others follow from them: of m = 2*n it is n, or m where that is among
// `first`. In order of the model.
std::vector<std::string> freeDims(LoadedModel& model, const std::vector<std::string>& first);
std::vector<LimitSymbol> freeSymbols(LoadedModel& model, const DimValues& given);  // with those given first
// The size to take where none is given.
int64_t usualValue(const LimitSymbol& symbol);

// What a run with these dims takes; errors: unsupportedFeature where it depends on elements, cancelled, or
// what the run would end in.
using CostOfDims = std::function<Result<int64_t>(const DimValues&)>;

enum class LimitUnit : uint8_t { bytes, nanoseconds };
struct Limit {
  LimitUnit unit = LimitUnit::bytes;
  int64_t most = 0;
};
// "512MB", "20ms". Errors: usageError.
Result<Limit> parseLimit(const std::string& text);

// One row for each symbol that is not given, the others at their likely value. Errors: usageError when all
// are given, unsupportedFeature when the cost is not a matter of the dims, memoryLimit when not even the
// least sizes stay within the limit.
Result<LimitView> limitView(const std::vector<LimitSymbol>& symbols, const DimValues& given, Limit limit,
                            const CostOfDims& costOf);

}  // namespace dyn
