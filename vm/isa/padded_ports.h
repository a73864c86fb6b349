// Padded ports: which inputs of a program are sequences of different lengths, padded to the longest, which
// input says how long they are, and which outputs have them again. Read off the contract alone.
//
//   input_ids: i64[batch, seq]        sequences of attention_mask
//   attention_mask: i64[batch, seq]   says how long: 1 where a sequence has a position
//   hidden: f32[batch, seq, 768]      has the same sequences
#pragma once

#include <optional>
#include <vector>

#include "vm/isa/program.h"
#include "vm/shared/dyn_sequence_ports.h"

namespace dyn::vm {

// The rule of vm/shared/dyn_sequence_ports.h.
std::optional<SequenceOrder> sequencesBy(const ContractValue& input, const ContractValue& other,
                                         LengthsKnown known);

// Has the output the sequences of that input?
bool hasSequencesOf(const ContractValue& output, const ContractValue& input);

// Ports that have one list of sequences.
struct PaddedList {
  size_t lengths = 0;  // the input that says how long they are
  std::vector<size_t> inputs;
  std::vector<size_t> outputs;
};
// By the inputs that say how long, in their order. An input that two of them could speak of is in no list.
std::vector<PaddedList> paddedLists(const Program& program);

}  // namespace dyn::vm
