// The rewriting of pass `pack_sequences` (pack_sequences.cpp shows it): @main with what is needed at the kept
// positions alone computed there.
#pragma once

#include "compiler/passes/padding/position_needs.h"

namespace dyn::passes {

// `sites`: at least one of them is packed. `packedOps`: of how many operations positions are left out.
const Function* unpadded(const InferredModule& inferred, Positions& positions, PositionNeeds& needs,
                         const MaskedSites& sites, int64_t& packedOps);

}  // namespace dyn::passes
