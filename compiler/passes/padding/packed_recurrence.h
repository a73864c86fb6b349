// A recurrence over padded sequences (padded_recurrence.h) without the steps behind the end of each.
//
//   %longest, %order = topk(%lengths)                  sequences by length, the longest first
//   %starts                                            [s + 2]: 0, b, b + as many as have a first step, ...
//   %source                                            [n]: all first steps, all second steps, ... of the packed
//   %buffer = concat(gather(%h0, %order), 0)           [b + n, ...]: the states, in the same order
//   %buffer = loop(steps of the longest, ...) body {
//     rows starts[k + 1] to starts[k + 2] of it = cell(x at the same places of %source, as many rows from
//                                                      starts[k])
//   }
//   %h = gather(%buffer, starts[length] + rank)        %y of a position = gather(%buffer, its place)
//
// As the sequences that go on to a step are the first of those of the step before, each step reads and writes
// rows that lie side by side. That is one side of an `if`: where all positions are kept the loop stays what
// it was, as a step of few rows costs less there, and its memory follows from its sizes.
//
// A loop that becomes one kernel (site.isKernel) stays whatever is kept, as the kernel leaves out the same
// steps by itself:
//
//   %x = scatter_nd(0, %at, %rows)                     [s * b, ...]: the packed rows where the loop reads them
//   %h, %y = loop(..., %x, %lengths, ...)              as it was
//   %y of a position = gather(%y, the step and the sequence of the position)
#pragma once

#include <vector>

#include "compiler/passes/padding/padded_recurrence.h"

namespace dyn::passes {

// What is known of the positions that are kept, in the order in which they are packed.
struct KeptPositions {
  Dim count;
  ValueId sequence = kNoValue, place = kNoValue;  // i64 [n]: which sequence, and which of its positions
};

// `steps`: of each of site.steps the rows of the kept positions [n, ...]. The operations go to `ops`; the
// final states get the ids that they have in the program. Returns what is stacked, [n, ...] each.
std::vector<ValueId> packedRecurrence(const InferredModule& inferred, const PaddedRecurrence& site,
                                      const KeptPositions& kept, const std::vector<ValueId>& steps,
                                      std::vector<const Op*>& ops);

// The same of sequences that have no padding to begin with: `site` is of findRaggedRecurrence. Returns the
// final states [b, ...], then what is stacked.
std::vector<ValueId> recurrenceOfSequences(const InferredModule& inferred, const PaddedRecurrence& site,
                                           const KeptPositions& kept, const std::vector<ValueId>& steps,
                                           std::vector<const Op*>& ops);

}  // namespace dyn::passes
