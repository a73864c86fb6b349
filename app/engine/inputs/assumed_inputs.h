// What an input is that nobody gives, where its name and shape say that it tells which positions are there:
// all are. Random lengths would be 0 and 1, and results zeros that took no time to compute.
//
//   lengths [batch], beside x [batch, seq, 64]   seq for each sequence
//   attention_mask [batch, seq]                  ones
//   key_padding_mask [batch, seq]                zeros: that name marks what is padding
#pragma once

#include <string>

#include "app/engine/inputs/input_spec.h"

namespace dyn {

struct AssumedInput {
  HostTensor value;
  std::string note;  // "input lengths: 128 for each sequence, so that all is kept; ..."
};
// Nothing: the input says no such thing. Errors: inputMissing where dims are not known.
Result<std::optional<AssumedInput>> assumedInput(const Signature& signature, const Port& port,
                                                 const CallDims& known);

}  // namespace dyn
