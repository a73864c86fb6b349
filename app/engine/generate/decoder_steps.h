// The steps of a decoder over batches of sequences: tokens in, the scores of the next ones out. A batch holds
// the caches between its steps. Its rows may be of different lengths; rows leave, and others join.
//
//   DYN_TRY(auto steps, DecoderSteps::begin(program, ports, {.room = 100}));
//   DYN_TRY(DecoderBatch batch, steps->start(1));
//   DYN_TRY(auto scores, steps->run(batch, {{15, 7, 3}}, interruption));  // the prompt
//   DYN_TRY(scores, steps->run(batch, {{21}}, interruption));             // one token more
//
// A cache is a growing tensor (dyn_value_growing) where the program appends to it: a step copies nothing of
// the past. Where it needs a dense one, each step makes a new one. One thread.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "app/engine/generate/cache_rows.h"
#include "app/engine/run/runner.h"

namespace dyn {

// A decoder's program. What it points to outlives the steps.
struct DecoderProgram {
  dyn_module* module = nullptr;
  const Module* types = nullptr;  // may be null
  const Signature* signature = nullptr;
  const EngineOptions* options = nullptr;
};

struct DecoderOptions {
  int64_t room = 0;                    // tokens that a sequence may come to
  std::map<std::string, Value> given;  // of ports.given, and the first values of states; of one sequence
  bool sharesRows = true;              // rows of a batch do not see each other
};

struct DecoderBatch {
  std::vector<VmValue> caches;
  int64_t span = 0;                          // positions in the caches, padding included
  std::vector<int64_t> lengths;              // of each row, without padding
  std::vector<std::vector<int64_t>> tokens;  // of each row so far, where there are no caches
};

struct BatchRow {
  const DecoderBatch* batch = nullptr;
  size_t row = 0;
  int64_t length = -1;  // of its positions the first so many; -1: all

  int64_t taken() const { return length < 0 ? batch->lengths[row] : length; }
};

using TokenRows = std::vector<std::vector<int64_t>>;
using ScoreRows = std::vector<std::vector<float>>;

class DecoderSteps {
 public:
  static Result<std::unique_ptr<DecoderSteps>> begin(const DecoderProgram& program, const DecoderPorts& ports,
                                                     DecoderOptions options);
  // The values of the first step, by which a program is prepared.
  static Result<CallInputs> firstInputs(const Signature& signature, const DecoderPorts& ports,
                                        const std::vector<int64_t>& prompt, const DecoderOptions& options);

  // Caches made from here on have room for so many tokens, where they had less.
  void reserve(int64_t room) { options_.room = std::max(options_.room, room); }
  bool sharesRows() const { return options_.sharesRows; }
  Result<DecoderBatch> start(size_t rowCount);
  // `tokens` [rows][n]: those that follow; n is the same for all rows. Returns the scores [rows][vocabulary]
  // behind the last.
  Result<ScoreRows> run(DecoderBatch& batch, const TokenRows& tokens, Interruption& interruption);
  // The same of a batch of one row, whose tokens may be a draft: the scores [tokens][vocabulary] behind each.
  // Error: unsupportedFeature, where the model gives those of the last alone.
  Result<ScoreRows> runDraft(DecoderBatch& batch, const std::vector<int64_t>& tokens,
                             Interruption& interruption);
  // Takes the last positions of a batch of one row back, in place where its caches grow in place.
  Status dropLast(DecoderBatch& batch, int64_t count);
  // Finds out whether a step of several tokens gives the scores of as many steps: compares them behind the
  // first row of a batch, whose next token this is, and leaves the batch as it is.
  Result<bool> findDrafts(const DecoderBatch& batch, int64_t token, Interruption& interruption);
  // A batch of these rows, in their order; what they come from stays as it is.
  Result<DecoderBatch> batchOf(const std::vector<BatchRow>& rows);
  // Of one row, to be kept: without room for more.
  Result<DecoderBatch> prefixOf(const BatchRow& row);
  // Can a row go on behind a part of its positions? Not where a state stands for all of them.
  bool mayTakePrefixes() const;
  // Finds out whether it does: runs the last tokens of a prompt again, behind those before, and compares the
  // scores with those of the whole prompt, which is the first row of `batch`.
  Result<bool> findPrefixes(const DecoderBatch& batch, const std::vector<int64_t>& prompt,
                            const std::vector<float>& scores, Interruption& interruption);
  // Finds out on which side shorter rows may be padded: with the first row of a batch without padding and its
  // next token it compares the scores of a padded step, whose padding holds noise, with those of one without.
  // False: rows must be of equal lengths.
  Result<bool> findPadding(const DecoderBatch& batch, int64_t token, Interruption& interruption);
  // May rows of these lengths share steps, as far as it is known?
  bool mayShare(int64_t one, int64_t other) const;

  // How many caches grow in place; the others are copied in each step. Known after the first step, where
  // that has a graph of its own after the second.
  int64_t growingCount() const;

 private:
  DecoderSteps(const DecoderProgram& program, const DecoderPorts& ports, DecoderOptions options);
  Result<VmValue> cacheValue(size_t cache, const HostTensor& value, bool grows);
  Result<HostTensor> cacheTensor(size_t cache, const dyn_value* value) const;
  Status makeDense(DecoderBatch& batch);
  Result<DecoderBatch> rowsInto(const std::vector<BatchRow>& rows, int64_t span, bool mayGrow,
                                double (*filler)(int64_t));
  double tolerance() const;
  bool hasStatesAlone() const;
  CacheAxes axesOf(const CachePort& cache) const;
  int64_t beginOf(int64_t span, int64_t length) const;
  Result<ScoreRows> runOnce(DecoderBatch& batch, const TokenRows& tokens, Interruption& interruption,
                            int64_t scoredCount = 1);
  Status setInputs(const DecoderBatch& batch, const TokenRows& tokens, int64_t scoredCount);
  Status setInput(size_t input, const Value& value);
  Result<ScoreRows> takeResults(DecoderBatch& batch, bool isFirst, int64_t scoredCount);
  Result<ScoreRows> readScores(int64_t rows, int64_t scoredCount) const;

  DecoderProgram program_;
  DecoderPorts ports_;
  DecoderOptions options_;
  VmContext context_;
  PaddingSide side_ = PaddingSide::front;
  bool pads_ = false;          // findPadding found a side
  std::vector<bool> grows_;    // each cache in place
  bool knowsGrowing_ = false;  // a step that continues caches has shown which
};

}  // namespace dyn
