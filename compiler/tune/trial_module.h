// The program that is measured in place of an operation of a model.
#pragma once

#include "compiler/tune/contraction_sites.h"

namespace dyn {

// fn @main(%x) of the operation with random constant weights, and something elementwise behind it, as nearly all have: Dyn's own kernels do
// that tile by tile, a library must be done first. The sizes of %x are symbols, so that one program serves all shapes.
Result<Module> trialModule(IrContext& ir, const ContractionSite& site, uint64_t seed);

}  // namespace dyn
