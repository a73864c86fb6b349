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
// rows that lie side by side.
#pragma once

#include <unordered_map>
#include <vector>

#include "compiler/passes/padded_recurrence.h"

namespace dyn::passes {

// What is known of the positions that are kept, in the order in which they are packed.
struct KeptPositions {
  Dim count;
  ValueId sequence = kNoValue, place = kNoValue;  // i64 [n]: which sequence, and which of its positions
};

class PackedRecurrences {
 public:
  explicit PackedRecurrences(const InferredModule& inferred) : inferred_(inferred) {}

  // `steps`: of each of site.steps the rows of the kept positions [n, ...]. The operations go to `ops`; the
  // final states get the ids that they have in the program. Returns what is stacked, [n, ...] each.
  std::vector<ValueId> emit(const PaddedRecurrence& site, const KeptPositions& kept,
                            const std::vector<ValueId>& steps, std::vector<const Op*>& ops);

 private:
  // Of sequences of these lengths.
  struct Order {
    ValueId order, rank, sortedLengths, starts, stepCount, sequenceOf, stepOf;
  };
  struct Direction {
    ValueId source, place;  // of step rows among the packed; of packed positions in a buffer
  };
  class Emission;

  const InferredModule& inferred_;
  std::unordered_map<ValueId, Order> orders_;             // by lengths
  std::unordered_map<ValueId, Direction> directions_[2];  // forward, backward
};

}  // namespace dyn::passes
