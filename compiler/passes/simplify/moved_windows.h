// A convolution whose windows are moved by offsets, as a product: the elements of all windows are laid out
// once, for all filters.
//   before  %y = deform_conv(%x, %w, %o, %b, %m)
//   after   %c = deform_columns(%x, %o, %m)  %v = reshape(%w)  %k = reshape(%c)  %p = matmul(%v, %k)
//           %q = reshape(%p)  %r = reshape(%b)  %y = add(%q, %r)
// Narrow reals are computed in f32, as they are by the convolution.
#pragma once

#include <unordered_map>
#include <vector>

#include "compiler/ir/module.h"

namespace dyn::passes {

bool hasMovedWindows(const Op& op);

// Makes them at the end of `ops`. False, and nothing made, where the window's sizes are not known, or where
// each window is read for one filter only. `types`: of the operands.
bool productOfColumns(const Op& convolution, IrContext& ir, const std::unordered_map<ValueId, Type>& types,
                      std::vector<const Op*>& ops);

}  // namespace dyn::passes
