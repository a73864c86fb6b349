// The loop of an LSTM, a GRU or an RNN, recognised by what a step does.
//
//   %h, %y = loop(%s, _, %h0, %x, ...) {carried = 1} body (%i, %h, %x, ...) {       x [s, b, k n], h [b, n]
//     %u = gemm_packed(%h, pack_b(constant))                   or matmul with weights from around
//     return true, cell(gather(%x, %i), %u, %h), the same        or from the last step: sub(%last, %i)
//   }
//
// With lengths each state is where(less(%i, %lengths), next, state), and what is stacked where(..., next, 0).
#pragma once

#include <string>
#include <vector>

#include "compiler/infer/infer.h"
#include "compiler/passes/analysis/loop_body.h"
#include "compiler/passes/analysis/path_facts.h"
#include "vm/shared/dyn_recurrence.h"

namespace dyn::passes {

// Values are of the function around, but for those that `inside` makes: constants, and what packs them.
struct RecurrentCell {
  recurrence::Cell cell = recurrence::Cell::lstm;
  bool backward = false, stacks = false;
  bool transposed = false;  // weights that are not packed
  ValueId gates = kNoValue, weights = kNoValue, state = kNoValue, bias = kNoValue, lengths = kNoValue;
  ValueId inner = kNoValue;       // the cell of an LSTM; the second weights of a gru_reset_first
  std::vector<const Op*> inside;  // operations of the body, to be put before what becomes of the loop
};

// `outer`: what makes the values around the loop, which stands at `place`. Why it is none: "" and `found`.
std::string findRecurrentCell(const InferredModule& inferred, const Makers& outer, const Op& loop,
                              PathFacts& facts, PathFacts::Place place, RecurrentCell& found);

// The same of a loop whose weights are constants that are not packed yet: will it be one?
bool willBeRecurrentCell(const InferredModule& inferred, const Makers& outer, const Op& loop,
                         PathFacts& facts, PathFacts::Place place);

}  // namespace dyn::passes
