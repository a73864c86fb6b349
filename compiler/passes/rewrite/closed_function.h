// Operations as a function of what they use from around them: the body of an `if`.
//
//   %a = add(%x, %y)  %b = mul(%a, %x)      with captures %x, %y:  fn (%1, %2) { %a = add(%1, %2)  %b = mul(%a, %1) }
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/module.h"

namespace dyn::passes {

// The values that lists of operations, and what they result in, use and do not define; in the order of their
// use.
std::vector<ValueId> capturesOf(const std::vector<const std::vector<const Op*>*>& lists,
                                const std::vector<const std::vector<ValueId>*>& results);

// Its parameters are of these captures; types follow from inference.
const Function* closedFunction(IrContext& ir, const std::string& name, const std::vector<const Op*>& ops,
                               const std::vector<ValueId>& results, const std::vector<ValueId>& captures);

}  // namespace dyn::passes
