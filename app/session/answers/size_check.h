// Does a model run for all sizes that the facts allow? Each run-time check of its sizes is proved, or refuted
// by the smallest sizes for which it fails.
//
//   DYN_TRY(SizeCheck check, checkSizes(typed, failsAt));
//   check.findings[0].sizes            // {"batch": 1, "seq": 513}
//
// A proof is the solver's, or a walk over all sizes where these are few. Sizes that fail are verified by
// `failsAt`, which knows nothing of the check's formula: type inference of the model at these sizes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/model/model_info.h"
#include "app/session/views/problem_views.h"
#include "compiler/ir/module.h"

namespace dyn {

// Nothing: the model's shapes fit at these sizes.
using FailsAt = std::function<Result<std::optional<Diagnostic>>(const DimValues&)>;

// The names of the sizes of the inputs, in order: the dim's, or `input.1` where it has none.
struct NamedSize {
  std::string name;
  Dim dim;
};
std::vector<NamedSize> sizesOfInputs(const Module& module);

// Errors: those of `failsAt`.
Result<SizeCheck> checkSizes(const Module& typed, const FailsAt& failsAt);

// The least sizes that the facts allow.
std::optional<DimValues> leastSizes(const Module& typed);

}  // namespace dyn
