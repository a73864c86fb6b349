// Operations that nothing computes over all instances at once: they run for each instance by itself, in one
// loop over the instances.
//
//   before  %p = nonzero(%x)  %n = reduce_sum(%p)           %x (n), held as (r, n)
//   after   %n, %p = loop(%r, _, list(), %x) body (%i, %all, %x) {
//             %one = gather(%x, %i)  %p = nonzero(%one)  %n = reduce_sum(%p)
//             return true, list_append(%all, %p), %n }
//
// A result whose sizes all instances have in common is stacked, (r, ...); any other is a list.
#pragma once

#include "compiler/passes/many/many_body.h"

namespace dyn::passes {

// How the result of such an operation is held.
Layout instanceLoopLayout(const ManyModule& module, ValueId result);

// A check of sizes that differ between instances: it belongs to an operation that runs for each.
bool isCheckOfOne(const ManyModule& module, const Op& op);

// The loop at the end of `body`; results that anything else reads are held there.
void makeInstanceLoop(ManyBody& body, const std::vector<const Op*>& ops);

}  // namespace dyn::passes
