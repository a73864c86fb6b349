// Rules of views (compiler/ir/view_rule.h) that several operators share.
#pragma once

#include "compiler/ir/view_rule.h"

namespace dyn {

// The same elements in the same order under another shape: axes are cut into several, or joined where they
// run through. Nullopt where sizes do not prove which.
std::optional<StridedPlace> viewInSameOrder(const ViewContext& c, int result);

}  // namespace dyn
