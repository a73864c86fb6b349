// What exporters write in several ways, in the one that pass `pack_sequences` looks for.
//
//   %y = slice(%x, [0], [n], axes, [1])   [n, d] -> [n, d]      %x, wherever %y stood
//   %y = reshape(%x)                      [n, d] -> [n, d]      likewise
//   %u = sub(%scores, %x)    softmax(%u)                        %u = add(%scores, neg(%x))
//   %u = mul(add(%a, %b), c) softmax(%u)                        %u = add(mul(%a, c), mul(%b, c))
//   %u = mul(%x, 1)          softmax(%u)                        %x, wherever %u stood
//   %y = pad(%x, zeros)                                         likewise
//   %u = reshape(%x)  %y = reshape(%u)    as %x is              likewise
//   products with the batches regrouped between them            regrouped_rows.h
//
// A slice without steps whose result has the sizes of its operand takes all of it. What nobody reads then is
// left for `dce`.
#pragma once

#include "compiler/infer/infer.h"

namespace dyn::passes {

// The same module where there is nothing of the kind, or where @main has bodies, which may read any value.
Module withCanonicalForms(const InferredModule& module);

}  // namespace dyn::passes
