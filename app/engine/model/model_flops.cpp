#include "app/engine/model/model_flops.h"

#include "compiler/ir/op_def.h"
#include "compiler/ir/walk.h"

namespace dyn {

Dim flopsOf(const Module& module) {
  if (!module.main()) return {};
  const Uses uses(module);
  Dim total = module.context->dims().constant(0);
  bool known = true;
  const auto sizeOf = [&](Dim d) { return hasAnonymous(d) ? module.context->facts().canonical(d) : d; };
  forEachOp(module, [&](const Function& function, const Op& op) {
    const bool product = op.def->traits.matrixOperands > 0, convolution = op.def->traits.flatPositions;
    if ((!product && !convolution) || op.results.empty() || op.operands.size() < 2) return;
    const Type result = op.results[0].type, first = uses.definition(op.operands[0]).type,
               second = uses.definition(op.operands[1]).type;
    if (&function != module.main() || !result || !first || !second) {
      known = false;
      return;
    }
    Dim flops = module.context->dims().constant(2);
    for (Dim d : result.dims()) flops = flops * sizeOf(d);
    if (product) {
      if (first.rank() > 0) flops = flops * sizeOf(first.dims().back());
    } else {
      for (int axis = 1; axis < second.rank(); ++axis)
        flops = flops * sizeOf(second.dims()[static_cast<size_t>(axis)]);
    }
    total = total + flops;
  });
  return known && !total.isInvalid() && !hasAnonymous(total) ? total : Dim();
}

}  // namespace dyn
