// Branches, loops and calls over many instances, and what they share.
#pragma once

#include "compiler/passes/many/vectorize_rules.h"

namespace dyn::passes {

bool loopOfMany(ManyBody& body, const Op& op);
bool callOfMany(ManyBody& body, const Op& op);

// Where a mask (r) is true, ascending; the number of elements of a vector.
ValueId placesWhere(OpMaker& make, ValueId mask);
ValueId sizeOf(OpMaker& make, ValueId vector);

}  // namespace dyn::passes
