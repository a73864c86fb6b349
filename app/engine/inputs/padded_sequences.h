// Sequences of different lengths for a model that takes them padded: a file for each, zeros behind the end of
// each, and the input that says how long they are.
//
//   --input input_ids=@a.npy,@b.npy        sequences of 5 and 2 ids, input_ids i64 (batch, seq)
//     input_ids [2, 5]                     zeros behind the second
//     attention_mask [[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]]
//
// That input is a vector of whole numbers, one for each sequence, or a mask of the first two axes by the name
// of one. Sequences lie along the second axis; along the first where the batch is the second, as recurrences
// have it. Pass `pack_sequences` leaves out the padding again.
#pragma once

#include <string>

#include "app/engine/inputs/input_spec.h"
#include "vm/shared/dyn_sequence_ports.h"

namespace dyn {

// What the rule of vm/shared/dyn_sequence_ports.h looks at; nothing: it is no tensor of a known rank.
std::optional<PortShape> portShape(const Port& port);
std::optional<SequenceOrder> sequencesBy(const Port& input, const Port& other, LengthsKnown known);

// `@a.npy,@b.npy`; lists of pictures and sounds are none.
bool isListOfTensors(const std::string& spec);

struct PaddedSequences {
  HostTensor value;
  const Port* lengths = nullptr;  // the input that says how long they are
  HostTensor lengthsValue;
};

// `isOpen`: does nobody give this input? Of such inputs, or else of the others, one may say how long the
// sequences are. Errors: those of the files; inputMissing where no input does, usageError where several may.
Result<PaddedSequences> readPaddedSequences(const Signature& signature, const Port& port,
                                            const std::string& spec,
                                            const std::function<bool(const Port&)>& isOpen);

}  // namespace dyn
