// The next token by its scores: the best one, or one drawn at random.
//
// The order of the steps is that of the library transformers: repetition penalty, temperature, top-k, top-p.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <vector>

#include "compiler/support/result.h"

namespace dyn {

// Changes the scores [vocabulary] of the next token of a sequence before one is chosen; `tokens` are those of
// its prompt and the new ones.
using ScoresHook = std::function<Status(std::span<const int64_t> tokens, std::span<float> scores)>;

struct SamplingPolicy {
  double temperature = 0;  // 0: always the best token
  int64_t topK = 0;        // only the best K; 0: all
  double topP = 1;         // only the best whose probabilities sum up to P
  double repetitionPenalty = 1;
  uint64_t seed = 0;
};

// Scores of tokens that are in `history` are divided by `penalty` where they are above 0, else multiplied.
void penaliseRepetition(std::span<float> scores, std::span<const int64_t> history, double penalty);

// Draws for one sequence. Equal seeds and sequence numbers give equal draws.
class Sampler {
 public:
  Sampler(const SamplingPolicy& policy, uint64_t sequence);
  // `scores` [vocabulary] are changed. Of equal scores the lowest id comes first. Errors: no score is a
  // number.
  Result<int64_t> pick(std::span<float> scores, std::span<const int64_t> history);

 private:
  double uniform();  // in [0, 1)

  SamplingPolicy policy_;
  std::mt19937_64 random_;
};

}  // namespace dyn
