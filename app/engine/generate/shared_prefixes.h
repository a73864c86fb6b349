// Beginnings that prompts share, such as instructions or examples: their caches are made once, and a prompt
// that begins with them starts behind them.
//
//   const PrefixSource source = prefixes.longest(prompt);            // what is held
//   source.consider(other, {&batch, row}, prompt);                   // or what a row of a batch has
//
// A prefix may be used in part. At most kMostHeld are held, the newest.
#pragma once

#include <deque>

#include "app/engine/generate/decoder_steps.h"

namespace dyn {

// Caches that a prompt may start behind.
struct PrefixSource {
  BatchRow row{nullptr, 0, 0};  // its first `length` positions are shared; 0: there is no source

  size_t length() const { return static_cast<size_t>(row.length); }
  // `row` holds the caches of `tokens`. Takes it where it is longer.
  void consider(const std::vector<int64_t>& tokens, const DecoderBatch& batch, size_t row,
                const std::vector<int64_t>& prompt);
};

class SharedPrefixes {
 public:
  // A shorter prefix is not worth its copy. So many tokens of a prompt run in any case: products of fewer
  // rows may add in another order.
  static constexpr size_t kLeast = 16, kLeastRest = 16;

  // How much of a prompt those that wait could share; 0: too little.
  static size_t lengthToHold(const std::vector<int64_t>& prompt,
                             const std::vector<const std::vector<int64_t>*>& waiting);
  bool holds(const std::vector<int64_t>& prompt, size_t length) const;
  void hold(std::vector<int64_t> tokens, DecoderBatch row);
  PrefixSource longest(const std::vector<int64_t>& prompt) const;

 private:
  static constexpr size_t kMostHeld = 4;
  struct Held {
    std::vector<int64_t> tokens;
    DecoderBatch batch;  // one row
  };
  std::deque<Held> held_;
};

}  // namespace dyn
