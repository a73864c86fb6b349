#include "app/engine/generate/beam_run.h"

namespace dyn {

BatchRow BeamRun::rowOf(size_t beam) const {
  return steps_.sharesRows() ? BatchRow{&batches_[0], beam} : BatchRow{&batches_[beam], 0};
}

// Each beam gets the caches of the one that it continues.
Status BeamRun::followBeams() {
  const std::vector<Beam>& beams = search_.beams();
  size_t count = 0;  // of beams now
  for (const DecoderBatch& batch : batches_) count += batch.lengths.size();
  bool isSame = beams.size() == count;
  std::vector<BatchRow> rows;
  for (size_t i = 0; i < beams.size(); ++i) {
    isSame = isSame && beams[i].parent == i;
    rows.push_back(rowOf(beams[i].parent));
  }
  if (isSame) return {};
  std::vector<DecoderBatch> next;
  if (steps_.sharesRows()) {
    DYN_TRY(DecoderBatch batch, steps_.batchOf(rows));
    next.push_back(std::move(batch));
  } else {
    for (const BatchRow& row : rows) {
      DYN_TRY(DecoderBatch batch, steps_.batchOf({row}));
      next.push_back(std::move(batch));
    }
  }
  batches_ = std::move(next);
  return {};
}

Result<ScoreRows> BeamRun::runBeams(const TokenRows& tokens, Interruption& interruption) {
  rowsCount_ += static_cast<int64_t>(tokens.size());
  stepsCount_ += static_cast<int64_t>(batches_.size());
  if (batches_.size() == 1) return steps_.run(batches_[0], tokens, interruption);
  ScoreRows all;
  for (size_t i = 0; i < batches_.size(); ++i) {
    DYN_TRY(ScoreRows scores, steps_.run(batches_[i], {tokens[i]}, interruption));
    all.push_back(std::move(scores[0]));
  }
  return all;
}

Status BeamRun::step(Interruption& interruption) {
  const std::vector<Beam>& beams = search_.beams();
  TokenRows tokens;
  if (batches_.empty()) {
    DYN_TRY(DecoderBatch batch, steps_.start(1));
    batches_.push_back(std::move(batch));
    tokens.push_back(search_.historyOf(beams[0]));
  } else {
    DYN_CHECK(followBeams());
    for (const Beam& beam : beams) tokens.push_back({beam.ids.back()});
  }
  DYN_TRY(ScoreRows scores, runBeams(tokens, interruption));
  for (size_t i = 0; hook_ && i < beams.size(); ++i) DYN_CHECK(hook_(search_.historyOf(beams[i]), scores[i]));
  return search_.advance(scores);
}

}  // namespace dyn
