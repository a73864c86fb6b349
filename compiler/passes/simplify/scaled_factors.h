// A product of two scaled matrices scales the left one alone. So exporters write the scale of attention, half
// on the queries and half on the keys, which are all of the past.
//   before  %a = mul(%q, 0.5)  %b = mul(%k, 0.5)  %y = matmul(%a, %b)
//   after   %a = mul(%q, 0.25)  %y = matmul(%a, %k)
// A sum of products rounds elsewhere then, as with any other order of its terms.
#pragma once

#include <unordered_map>
#include <vector>

#include "compiler/ir/module.h"

namespace dyn::passes {

// Puts what it needs at the end of `ops` and hands on the product, or null where it stays as it is. `product`
// has the operands that it has now; `types` and `definitions` are those of all values before it.
const Op* scaledFactors(const Op& product, IrContext& ir, std::unordered_map<ValueId, Type>& types,
                        std::unordered_map<ValueId, const Op*>& definitions, std::vector<const Op*>& ops);

}  // namespace dyn::passes
