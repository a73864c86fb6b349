// Which inputs and outputs make a model a decoder: it takes the ids of tokens and gives scores of the next
// one. By their names and shapes:
//
//   input_ids       [batch, seq]               the one input of ids; without batch: [seq]
//   attention_mask  [batch, past + seq]        1: the position counts
//   position_ids    [batch, seq]               token_type_ids: zeros; cache_position [seq]
//   past_key_0      [batch, heads, past, n]    a cache: present_key_0 [batch, heads, past + seq, n] continues
//                                              it; past_key_values.0.key: present.0.key
//   past_state      [batch, width]             a state: present_state [batch, width] replaces it
//   past.0.encoder  [batch, heads, source, n]  a cross cache, as long as another input: made in the first step
//   use_cache_branch [1]                       false in the first step
//   logits          [batch, seq, vocabulary]   or of the last position alone: [batch, vocabulary]; with
//                                              caches the only output of reals has any name
//
// A model without caches runs over all tokens in each step. PortChoices overrides what is recognised.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/engine/model/signature.h"

namespace dyn {

// Is a dim a number, or open?
bool isOpenDim(const std::string& dim);

enum class CacheKind : uint8_t {
  growing,  // each step appends its positions
  state,    // each step replaces it
  cross,    // the first step makes it
};
const char* toString(CacheKind kind);

// An input that holds what a step leaves to the next, and the output that continues it.
struct CachePort {
  size_t input = 0, output = 0;
  CacheKind kind = CacheKind::growing;
  size_t axis = 0;  // along which a cache grows
};

// What a port of the model is for, and why.
struct DecoderRole {
  std::string port, role, reason;
};

struct DecoderPorts {
  size_t ids = 0, logits = 0;
  std::optional<size_t> mask, positions, types, cacheSwitch;
  std::optional<size_t> cachePositions;  // of the new positions in the caches, the same for all sequences
  std::optional<size_t> sourceMask;      // of what an encoder gave: ones
  std::optional<size_t> scoresCount;     // how many positions, from the end, scores are asked for
  std::vector<CachePort> caches;
  std::vector<size_t> given;  // inputs whose values the caller gives, the same in all steps
  // Tokens that have scores, and those that the model knows (token_table.h), where these are numbers. Ids
  // count from 0.
  std::optional<int64_t> scoredCount, tokensCount;
  bool hasBatch = true;     // ids have an axis of sequences
  std::string batch;        // its dim, where it is open
  int64_t fixedLength = 0;  // the tokens of each step; 0: any number
  std::vector<DecoderRole> roles;

  // Is this axis of a cache the one of sequences? It has the batch's dim, or is the first.
  bool isRowAxis(size_t axis, const std::string& dim) const {
    return isOpenDim(dim) && hasBatch && (axis == 0 || dim == batch);
  }
  bool hasCaches(CacheKind kind) const;
};

// One `--port ROLE=NAME`: of the roles in the list above by the names ids, mask, positions, types, switch,
// logits, and cache=PAST:PRESENT:AXIS, state=PAST:PRESENT, cross=PAST:PRESENT.
struct PortChoice {
  std::string role, input, output;
  std::optional<size_t> axis;
};
// Errors: usageError.
Result<std::vector<PortChoice>> parsePortChoices(const std::vector<std::string>& texts);

// What becomes of inputs that are not understood: an error, or they wait for a value (to show the others).
enum class OtherInputs : uint8_t { refused, shown };

struct PortChoices {
  std::vector<PortChoice> ports;
  std::vector<std::string> given;  // inputs that the caller gives values for
  OtherInputs others = OtherInputs::refused;
};

// The output that continues a cache, by its name; nothing: there is none of such a name.
std::optional<size_t> presentOf(const std::string& input, const std::vector<Port>& outputs);

// Errors: unsupportedFeature, with what is missing or not understood; usageError of a choice.
Result<DecoderPorts> decoderPorts(const Signature& signature, const PortChoices& choices = {});

}  // namespace dyn
