// Ragged inputs and outputs of a call. A ragged tensor (b, len[b], c...) is two values: its rows [len.sum,
// c...], each sequence's behind those of the one before, and the lengths [b], an input of their own.
//
//   --input x=@a.npy,@b.npy     sequences [2, c] and [5, c]: rows [7, c], and len = [2, 5]
//   --input x=@rows.npy --lengths x=2,5
#pragma once

#include <optional>
#include <string>

#include "app/engine/inputs/input_spec.h"

namespace dyn {

// The input that holds the lengths of a ragged one: "len"; "" of any other.
std::string lengthsNameOf(const Port& port);
// An input whose lengths are those that `lengths` holds; null: absent.
const Port* raggedPortOf(const Signature& signature, const Port& lengths);
const Port* inputNamed(const Signature& signature, const std::string& name);

// `@a.npy,@b.npy`, a file for each sequence; one with a comma behind it: `@a.npy,`.
bool isListOfSequences(const std::string& spec);
struct Sequences {
  HostTensor rows, lengths;
};
// Errors: those of the files; inputMismatch where they differ in more than their length.
Result<Sequences> readSequences(const Port& port, const std::string& spec);

// How long the sequences of a ragged output are: its length, `len[b] + 1`, by the inputs of a call.
Result<HostTensor> lengthsOfOutput(const Port& port, const Signature& signature, const CallInputs& inputs);

}  // namespace dyn
