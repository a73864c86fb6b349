// A beam search over a decoder: the beams are rows of its steps, and their caches follow them.
//
//   BeamRun run(steps, BeamSearch(policy, prompt, maxNew, stopTokens), hook);
//   while (!run.search().hasEnded()) DYN_CHECK(run.step(interruption));
#pragma once

#include "app/engine/generate/beam_search.h"
#include "app/engine/generate/decoder_steps.h"
#include "app/engine/generate/sampling.h"

namespace dyn {

class BeamRun {
 public:
  // `steps` outlives it. `hook` may be null.
  BeamRun(DecoderSteps& steps, BeamSearch search, ScoresHook hook)
      : steps_(steps), search_(std::move(search)), hook_(std::move(hook)) {}
  // The prompt at first, then one token more of each beam. Not after the end.
  Status step(Interruption& interruption);
  const BeamSearch& search() const { return search_; }
  int64_t stepsCount() const { return stepsCount_; }  // runs of the program
  int64_t rowsCount() const { return rowsCount_; }    // the beams in all of them

 private:
  BatchRow rowOf(size_t beam) const;
  Status followBeams();
  Result<ScoreRows> runBeams(const TokenRows& tokens, Interruption& interruption);

  DecoderSteps& steps_;
  BeamSearch search_;
  ScoresHook hook_;
  std::vector<DecoderBatch> batches_;  // one of all beams, or one for each where rows see each other
  int64_t stepsCount_ = 0, rowsCount_ = 0;
};

}  // namespace dyn
