// `--lengths NAME=@file`: the lengths of a padded batch's sequences, one a line, for the input that holds
// them or the mask that they make.
//
//   attention_mask [batch, seq], lengths 3, 1:   [[1, 1, 1], [1, 0, 0]], batch = 2, seq = 3
//   lengths [batch]:                             [3, 1], batch = 2, and seq = 3 of the other inputs
//   x (batch, len[batch], 64), or its len:       [3, 1] for len, batch = 2 and len.sum = 4
#pragma once

#include <string>
#include <vector>

#include "app/engine/inputs/input_spec.h"

namespace dyn {

struct BatchLengths {
  std::string name;
  std::vector<int64_t> lengths;
};
// "NAME=@file" or "NAME=3,1,2". Errors: usageError, and those of the file.
Result<BatchLengths> parseBatchLengths(const std::string& text);

// What lengths say of a call.
struct LengthsOfCall {
  std::string name;
  HostTensor value;           // of that input
  std::vector<DimSpec> dims;  // the batch and the sequence, where they were not given
  std::string note;           // "" or what is to be told
};
// Where `dims` give the batch, the first so many lengths are taken; a sequence that they give may be longer
// than all. Errors: usageError where the input is neither, or what is given does not fit.
Result<LengthsOfCall> lengthsOfCall(const Signature& signature, const BatchLengths& lengths,
                                    const std::vector<DimSpec>& dims);

// For each batch of that many sequences, as they stand in the file; what is left over at its end is not used.
std::vector<BatchLengths> batchesOf(const BatchLengths& lengths, int64_t batch);
std::string toText(const BatchLengths& lengths);  // "NAME=3,1,2"
// The size of the batch that `dims` and the model give that input; nothing where it is open.
Result<std::optional<int64_t>> batchGiven(const Signature& signature, const BatchLengths& lengths,
                                          const std::vector<DimSpec>& dims);

}  // namespace dyn
