#include "app/engine/generate/beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "app/engine/generate/sampling.h"

namespace dyn {

namespace {

// Scores become the logarithms of their probabilities. What is no number has none.
void toLogProbabilities(std::span<float> scores) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  float best = kNone;
  for (float& score : scores) {
    if (std::isnan(score)) score = kNone;
    best = std::max(best, score);
  }
  if (std::isinf(best)) {  // of +inf no other has a probability that is a number
    std::fill(scores.begin(), scores.end(), kNone);
    return;
  }
  double sum = 0;
  for (const float score : scores) sum += std::exp(static_cast<double>(score) - static_cast<double>(best));
  const double below = static_cast<double>(best) + std::log(sum);
  for (float& score : scores) score = static_cast<float>(static_cast<double>(score) - below);
}

}  // namespace

BeamSearch::BeamSearch(const BeamPolicy& policy, std::vector<int64_t> prompt, int64_t maxNew,
                       std::set<int64_t> stopTokens, double repetitionPenalty)
    : policy_(policy),
      prompt_(std::move(prompt)),
      maxNew_(maxNew),
      stopTokens_(std::move(stopTokens)),
      repetitionPenalty_(repetitionPenalty) {}

std::vector<int64_t> BeamSearch::historyOf(const Beam& beam) const {
  std::vector<int64_t> history = prompt_;
  history.insert(history.end(), beam.ids.begin(), beam.ids.end());
  return history;
}

// The best next tokens of all beams, the best first: so many that those of `count` beams go on, whatever
// stops.
std::vector<BeamSearch::Candidate> BeamSearch::bestCandidates(std::vector<std::vector<float>>& scores) const {
  const size_t count = std::max<size_t>(2, 1 + stopTokens_.size()) * policy_.count;
  const auto isBetter = [](const Candidate& one, const Candidate& other) {
    if (one.score != other.score) return one.score > other.score;
    return std::tie(one.parent, one.token) < std::tie(other.parent, other.token);
  };
  std::vector<Candidate> kept;  // a heap, whose first is the worst
  for (size_t beam = 0; beam < beams_.size(); ++beam) {
    const std::span<float> own(scores[beam]);
    toLogProbabilities(own);
    penaliseRepetition(own, historyOf(beams_[beam]), repetitionPenalty_);
    for (size_t token = 0; token < own.size(); ++token) {
      const Candidate candidate{beam, static_cast<int64_t>(token),
                                beams_[beam].score + static_cast<double>(own[token])};
      const bool isFull = kept.size() == count;
      if (std::isinf(own[token]) || (isFull && !isBetter(candidate, kept.front()))) continue;
      if (isFull) {
        std::pop_heap(kept.begin(), kept.end(), isBetter);
        kept.pop_back();
      }
      kept.push_back(candidate);
      std::push_heap(kept.begin(), kept.end(), isBetter);
    }
  }
  std::sort_heap(kept.begin(), kept.end(), isBetter);
  return kept;
}

Beam BeamSearch::continued(const Candidate& candidate) const {
  Beam made{candidate.parent, beams_[candidate.parent].ids, candidate.score};
  made.ids.push_back(candidate.token);
  return made;
}

double BeamSearch::rankOf(double score, size_t length) const {
  return score / std::pow(static_cast<double>(length), policy_.lengthPenalty);
}

void BeamSearch::finish(Beam beam) {
  beam.score = rankOf(beam.score, beam.ids.size());
  const auto isWorse = [&](const Beam& other) { return other.score < beam.score; };
  finished_.insert(std::find_if(finished_.begin(), finished_.end(), isWorse), std::move(beam));
  if (finished_.size() > policy_.count) finished_.pop_back();
}

Status BeamSearch::advance(std::vector<std::vector<float>>& scores) {
  const std::vector<Candidate> candidates = bestCandidates(scores);
  if (candidates.empty() && finished_.empty())
    return makeError(DiagnosticId::resultsDiffer, "the scores of the next token are no finite numbers");
  std::vector<Beam> next;
  for (size_t place = 0; place < candidates.size(); ++place) {
    Beam beam = continued(candidates[place]);
    const bool stops =
        stopTokens_.contains(candidates[place].token) || static_cast<int64_t>(beam.ids.size()) >= maxNew_;
    // A text that stops behind the best `count` is dropped.
    if (!stops && next.size() < policy_.count)
      next.push_back(std::move(beam));
    else if (stops && place < policy_.count)
      finish(std::move(beam));
  }
  beams_ = std::move(next);
  const bool isFull = finished_.size() == policy_.count;
  hasEnded_ =
      beams_.empty() || (isFull && (policy_.endsEarly ||
                                    rankOf(beams_[0].score, beams_[0].ids.size()) <= finished_.back().score));
  return {};
}

}  // namespace dyn
