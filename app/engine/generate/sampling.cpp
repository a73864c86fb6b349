#include "app/engine/generate/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

namespace dyn {

namespace {

// Tokens, the best first; as many as may be drawn.
std::vector<int64_t> candidatesOf(std::span<const float> scores, int64_t topK) {
  std::vector<int64_t> ids(scores.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto isBetter = [&](int64_t a, int64_t b) {
    const float x = scores[static_cast<size_t>(a)], y = scores[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  };
  const auto count =
      static_cast<ptrdiff_t>(topK > 0 ? std::min<size_t>(static_cast<size_t>(topK), ids.size()) : ids.size());
  std::partial_sort(ids.begin(), ids.begin() + count, ids.end(), isBetter);
  ids.resize(static_cast<size_t>(count));
  return ids;
}

}  // namespace

void penaliseRepetition(std::span<float> scores, std::span<const int64_t> history, double penalty) {
  if (penalty == 1) return;
  const auto factor = static_cast<float>(penalty);
  for (const int64_t id : std::unordered_set<int64_t>(history.begin(), history.end())) {
    if (id < 0 || id >= static_cast<int64_t>(scores.size())) continue;
    float& score = scores[static_cast<size_t>(id)];
    score = score > 0 ? score / factor : score * factor;
  }
}

Sampler::Sampler(const SamplingPolicy& policy, uint64_t sequence) : policy_(policy) {
  std::seed_seq seeds{static_cast<uint32_t>(policy.seed), static_cast<uint32_t>(policy.seed >> 32),
                      static_cast<uint32_t>(sequence), static_cast<uint32_t>(sequence >> 32)};
  random_.seed(seeds);
}

double Sampler::uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

Result<int64_t> Sampler::pick(std::span<float> scores, std::span<const int64_t> history) {
  for (float& score : scores)  // what is no number is never chosen
    if (std::isnan(score)) score = -std::numeric_limits<float>::infinity();
  penaliseRepetition(scores, history, policy_.repetitionPenalty);
  const auto best = std::max_element(scores.begin(), scores.end());
  if (best == scores.end() || std::isinf(*best))
    return makeError(DiagnosticId::resultsDiffer, "the scores of the next token are no finite numbers");
  if (policy_.temperature == 0) return static_cast<int64_t>(best - scores.begin());
  const std::vector<int64_t> ids = candidatesOf(scores, policy_.topK);
  std::vector<double> weights;
  double sum = 0;
  for (const int64_t id : ids) {
    const double below = static_cast<double>(scores[static_cast<size_t>(id)]) - static_cast<double>(*best);
    weights.push_back(std::exp(below / policy_.temperature));
    sum += weights.back();
  }
  size_t count = weights.size();
  if (policy_.topP < 1) {
    double kept = 0;
    for (count = 0; count < weights.size() && (count == 0 || kept < policy_.topP * sum); ++count)
      kept += weights[count];
    sum = kept;
  }
  double left = uniform() * sum;
  for (size_t i = 0; i + 1 < count; ++i) {
    left -= weights[i];
    if (left < 0) return ids[i];
  }
  return ids[count - 1];
}

}  // namespace dyn
