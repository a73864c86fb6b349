// Which inputs and outputs make a model a decoder: it takes the ids of tokens and gives scores of the next
// one. By their names and shapes:
//
//   input_ids       [batch, seq]               the one input of ids; without batch: [seq]
//   attention_mask  [batch, past + seq]        1: the position counts
//   position_ids    [batch, seq]               token_type_ids: zeros
//   past_key_0      [batch, heads, past, n]    a cache: present_key_0 [batch, heads, past + seq, n] continues
//                                              it; past_key_values.0.key: present.0.key
//   use_cache_branch [1]                       false in the first step
//   logits          [batch, seq, vocabulary]   or of the last position alone: [batch, vocabulary]; with
//                                              caches the only output of reals has any name
//
// A model without caches runs over all tokens in each step.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/engine/model/signature.h"

namespace dyn {

// Is a dim a number, or open?
bool isOpenDim(const std::string& dim);

// A cache: an input, the output that continues it, and the axis along which it grows.
struct CachePort {
  size_t input = 0, output = 0, axis = 0;
};

struct DecoderPorts {
  size_t ids = 0, logits = 0;
  std::optional<size_t> mask, positions, types, cacheSwitch;
  std::vector<CachePort> caches;
  bool hasBatch = true;     // ids have an axis of sequences
  std::string batch;        // its dim, where it is open
  int64_t fixedLength = 0;  // the tokens of each step; 0: any number

  // Is this axis of a cache the one of sequences? It has the batch's dim, or is the first.
  bool isRowAxis(size_t axis, const std::string& dim) const {
    return isOpenDim(dim) && hasBatch && (axis == 0 || dim == batch);
  }
};

// The output that continues a cache, by its name; nothing: the input is not called as a cache is.
std::optional<size_t> presentOf(const std::string& input, const std::vector<Port>& outputs);

// Errors: unsupportedFeature, with what is missing or not understood.
Result<DecoderPorts> decoderPorts(const Signature& signature);

}  // namespace dyn
