// Type inference as a pass.
//   requires: nothing.  provides: types.
//   before  %y = matmul(%b, %w)          after  check() {lhs = dims(m), rhs = dims(n), relation = "eq", what = "inner dims of matmul"}
//                                               %y = matmul(%b, %w) : Tensor[(4), f32]
// See infer/infer.h. Cost in IR size: one check per demand that cannot be proved.
#include "compiler/infer/infer.h"

#include "compiler/pass/pass.h"

namespace dyn::passes {

namespace {

Result<Module> runInfer(const Module& module, PassContext& context) {
  DYN_TRY(InferredModule inferred, inferTypes(module));
  context.counters["checks_inserted"] = inferred.checksInserted;
  for (const Diagnostic& warning : inferred.warnings) context.remarks.push_back(warning.toString());
  return inferred.module;
}

}  // namespace

PassDef inferPass() {
  return {.name = "infer",
          .summary = "types every value; adds a run-time check where a demand on dims cannot be proved",
          .providedProperties = Property::types,
          .forbiddenProperties = Property::destinations,
          .options = {},
          .run = runInfer,
          .required = true};
}

}  // namespace dyn::passes
