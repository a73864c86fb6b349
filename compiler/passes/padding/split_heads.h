// Attention as exporters write it with batch and heads joined in one axis, written with both apart, as pass
// `pack_sequences` looks for it.
//
//   %q3 = reshape(%q)  [b, h, s, d] -> [b*h, s, d]         %s4 = matmul(%q, %k)
//   %s3 = matmul(%q3, %k3)                                  %s3 = reshape(%s4)
//   %p3 = softmax(%s3)                               ->     %p4 = softmax(%s4)   %p3 = reshape(%p4)
//   %p = reshape(%p3)  [b*h, s, s] -> [b, h, s, s]          %p4 wherever %p stood
//
// So are other joins of two axes: of sequence and batch before a product with a matrix, of batch and heads
// behind the sequence, as nn.MultiheadAttention has them. Between may stand products with a matrix,
// elementwise operations with numbers and vectors along the last axis, transposes. What nobody reads then is
// left for `dce`.
#pragma once

#include "compiler/ir/module.h"

namespace dyn::passes {

// The same module where nothing is joined, or where @main has bodies, which may read any value.
Module withHeadsApart(const Module& module);

}  // namespace dyn::passes
