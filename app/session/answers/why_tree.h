// The chain behind a dim as a tree, short enough to be read: steps that hand the dim on from value to value
// are one line.
//
//   y.1 = x.0 through 38 operations that keep it
//   x.0 = batch: axis 0 of input x
#pragma once

#include "app/engine/model/dim_origins.h"
#include "app/session/views/why_views.h"

namespace dyn {

// Parents before children; each place once. At most so many lines; a last one says how many steps are left
// out.
std::vector<WhyStep> whyTree(const IrContext& ir, DimOrigins& origins, const DimPlace& place,
                             size_t most = 40);

// A line of the tree as the shell shows it.
std::string toString(const WhyStep& step);

}  // namespace dyn
