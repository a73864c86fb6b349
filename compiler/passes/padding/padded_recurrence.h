// Loops over the steps of padded sequences, each of which keeps its state when it has ended: what LSTM, GRU
// and RNN with `sequence_lens` are.
//
//   %h, %y = loop(%s, _, %h0, %x, %lengths, ...) body (%i, %h, %x, %lengths, ...) {       x [s, b, ...]
//     %t = %i, or sub(%last, %i) from the last step to the first
//     %runs = unsqueeze(less(%t, %lengths))                                               [b, 1]
//     %n = cell(gather(%x, %t), %h)                     row by row: each sequence by itself
//     return true, where(%runs, %n, %h), where(%runs, %n, 0)
//   }
//
// What a sequence becomes then depends on its own steps before its length, and what is stacked is 0 behind
// it.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/infer/infer.h"

namespace dyn::passes {

struct PaddedRecurrence {
  const Op* loop = nullptr;
  bool backward = false;       // from the last step to the first
  ValueId lengths = kNoValue;  // i64 [b], of the function around
  Dim batch, sequence;         // symbols
  // One step of some sequences. Parameters: the states, then the rows of the step, then captures of the loop.
  // Results: the states behind it, then what is stacked.
  const Function* cell = nullptr;
  std::vector<ValueId> steps;     // of the function around, [s, b, ...]: what the rows are taken from
  std::vector<ValueId> captures;  // of the function around
  // What is stacked, by position: results of the loop, or what slices from the last step to the first make of
  // them; kNoValue where nobody reads it.
  std::vector<ValueId> stacked;
  std::vector<const Op*> reversals;  // these slices
  std::string mask;                  // the same text: the same lengths
  bool inStepOrder = false;          // what is stacked: of a backward one not by position, but by step
  bool isKernel = false;             // pass `recurrent` makes it one kernel, which looks at lengths itself
};

struct RecurrenceSearch {
  std::vector<PaddedRecurrence> found;
  std::vector<std::string> refusals;  // of loops that look at lengths, and are none of these
};

RecurrenceSearch findPaddedRecurrences(const InferredModule& inferred);

// A loop of @main over the positions of ragged sequences, as many steps as each has:
//
//   %h, %y = loop(%n, _, %h0, %x, ...) body (%i, %h, %x, ...) {       %n is len[b], x [len[b], b, ...] or [b, len[b], ...]
//     %new = cell(gather(%x, %t), %h)  return true, %new, %new
//   }
//
// `batch`: of the sequences. site.sequence is their length, site.lengths is not set. "" or why it is none.
std::string findRaggedRecurrence(const InferredModule& inferred, const Op& loop, Dim batch,
                                 PaddedRecurrence* site);

}  // namespace dyn::passes
