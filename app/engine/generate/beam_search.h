// Beam search: several continuations (beams) of a prompt go on side by side; of all their next tokens those
// go on whose texts are the most likely as a whole. Knows nothing of a model: scores in, beams out.
//
//   BeamSearch search({.count = 4}, prompt, maxNew, stopTokens);
//   while (!search.hasEnded()) DYN_CHECK(search.advance(scoresBehind(search.beams())));
//   use(search.best().ids)
//
// The rules are those of the library transformers: a finished text is ranked by the sum of the logarithms of
// its tokens' probabilities, divided by (its length)^lengthPenalty; the search ends when no beam, at its
// present length, would be better than the worst of `count` finished texts.
//
// Source: Freitag, Al-Onaizan: Beam Search Strategies for Neural Machine Translation (2017).
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "compiler/support/result.h"

namespace dyn {

struct BeamPolicy {
  size_t count = 1;          // beams; 1: no search
  double lengthPenalty = 1;  // above 0: longer texts are preferred; below: shorter ones
  bool endsEarly = false;    // as soon as `count` texts are finished
};

struct Beam {
  size_t parent = 0;         // the beam of the step before that it continues
  std::vector<int64_t> ids;  // new ones
  double score = 0;          // the sum of logarithms; of a finished text divided by its length's power
};

class BeamSearch {
 public:
  // `prompt` is not empty, `maxNew` above 0. `repetitionPenalty` as in SamplingPolicy, but of logarithms.
  BeamSearch(const BeamPolicy& policy, std::vector<int64_t> prompt, int64_t maxNew,
             std::set<int64_t> stopTokens, double repetitionPenalty = 1);
  // Those that go on, the best first. At the beginning one without tokens.
  const std::vector<Beam>& beams() const { return beams_; }
  // The tokens of the prompt and of a beam.
  std::vector<int64_t> historyOf(const Beam& beam) const;
  // `scores` [beams][vocabulary] of the tokens behind each beam; they are changed. A stop token and `maxNew`
  // tokens finish a text. Of equal ones the first beam and the lowest id come first. Error: no beam has a
  // score that is a number.
  Status advance(std::vector<std::vector<float>>& scores);
  bool hasEnded() const { return hasEnded_; }
  // The best finished text. Once the search has ended.
  const Beam& best() const { return finished_.front(); }

 private:
  struct Candidate {
    size_t parent = 0;
    int64_t token = 0;
    double score = 0;
  };
  std::vector<Candidate> bestCandidates(std::vector<std::vector<float>>& scores) const;
  Beam continued(const Candidate& candidate) const;
  double rankOf(double score, size_t length) const;
  void finish(Beam beam);

  BeamPolicy policy_;
  std::vector<int64_t> prompt_;
  int64_t maxNew_;
  std::set<int64_t> stopTokens_;
  double repetitionPenalty_;
  std::vector<Beam> beams_{Beam{}};
  std::vector<Beam> finished_;  // the best first, at most `count`
  bool hasEnded_ = false;
};

}  // namespace dyn
