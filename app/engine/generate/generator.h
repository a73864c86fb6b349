// Generator: sequences join the steps of a decoder, and leave them, while it runs.
//
//   DYN_TRY(auto generator, Generator::begin(program, ports, {.maxBatch = 16}));
//   const size_t number = generator->add({.prompt = {15, 7, 3}, .maxNew = 20, .sink = print});
//   while (!generator->isIdle()) DYN_CHECK(generator->step(interruption));
//
// A prompt runs by itself (prompts of equal lengths run together), and its sequence joins the others at the
// next step; one that has ended leaves, and the next prompt takes its place. Sequences of different lengths
// share steps where DecoderSteps::findPadding finds that padding changes nothing. A prompt that begins as
// another one takes its caches so far (shared_prefixes.h). A sequence with several beams runs beside the
// others, a step of it in each step; its tokens come when its search has ended. One such after the other.
// A sequence that runs alone may have several tokens in a step (prompt_lookup.h). A long prompt may run in
// chunks, so that the others go on beside it (Agrawal et al., Sarathi, 2023).
//
// Errors: a sequence whose prompt, step, sampling, hook or sink fails ends alone (GenerationEnd::failed). One
// whose prompt has a token that the model does not know (DecoderPorts::tokensCount) ends before it runs.
// What fails beside others is run again by itself. An interruption ends all. One thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "app/engine/generate/beam_run.h"
#include "app/engine/generate/decoder_steps.h"
#include "app/engine/generate/prompt_lookup.h"
#include "app/engine/generate/sampling.h"
#include "app/engine/generate/shared_prefixes.h"

namespace dyn {

enum class GenerationEnd : uint8_t { running, length, stopToken, stopText, interrupted, failed };
const char* toString(GenerationEnd end);

// Takes a token of a sequence as it comes, but no stop token. True: the sequence ends with it (stopText).
using TokenSink = std::function<Result<bool>(size_t sequence, int64_t token)>;

struct SequenceRequest {
  std::vector<int64_t> prompt;  // not empty
  int64_t maxNew = 0;           // above 0
  SamplingPolicy sampling;
  BeamPolicy beams;     // more than one: a beam search, and no sampling
  uint64_t stream = 0;  // of random numbers: equal seeds and streams draw equally
  std::set<int64_t> stopTokens;
  ScoresHook hook;  // may be null
  TokenSink sink;
};

struct GeneratedSequence {
  std::vector<int64_t> ids;  // new ones; a stop token is the last
  GenerationEnd end = GenerationEnd::running;
  int64_t firstTokenNs = 0;         // since it was added
  double score = 0;                 // of a beam search (beam_search.h)
  std::optional<Diagnostic> error;  // why it failed
};

struct GeneratorOptions {
  DecoderOptions decoder;
  size_t maxBatch = 1;   // sequences in a step
  size_t mostDraft = 0;  // tokens of a draft by prompt lookup; 0: none
  // A prompt with more tokens runs so many in a step, beside those of the others; 0: prompts run whole.
  size_t prefillChunk = 0;
};

class Generator {
 public:
  static Result<std::unique_ptr<Generator>> begin(const DecoderProgram& program, const DecoderPorts& ports,
                                                  GeneratorOptions options);
  // Numbers count from 0.
  size_t add(SequenceRequest request);
  // Ends a sequence before the next step; one that has ended stays as it is.
  void cancel(size_t sequence);
  void cancelAll();
  // Runs the prompts that wait, as many as there is room for; where there are none, one step of all
  // sequences. Error: cancelled.
  Status step(Interruption& interruption);
  bool isIdle() const { return waitingCount() == 0 && activeCount() == 0; }
  const GeneratedSequence& sequence(size_t number) const { return sequences_.at(number).made; }
  // Drops what is known of a sequence that has ended.
  void forget(size_t sequence) { sequences_.erase(sequence); }

  size_t addedCount() const { return addedCount_; }
  size_t waitingCount() const { return waiting_.size() + waitingSearches_.size(); }
  size_t activeCount() const { return active_.size() + (search_ ? 1 : 0) + (prefill_ ? 1 : 0); }
  int64_t stepsCount() const { return stepsCount_; }                // runs of the program
  int64_t rowsCount() const { return rowsCount_; }                  // the sequences in all of them
  int64_t sharedTokensCount() const { return sharedTokensCount_; }  // of prompts, whose caches others made
  int64_t growingCount() const { return steps_->growingCount(); }   // caches that grow in place
  int64_t draftTokensCount() const { return draftTokensCount_; }
  int64_t acceptedTokensCount() const { return acceptedTokensCount_; }  // of drafts
  // False: sequences of different lengths were found to disturb each other.
  bool sharesLengths() const { return sharesLengths_; }

 private:
  struct Sequence {
    SequenceRequest request;
    Sampler sampler;
    PromptLookup lookup;
    std::vector<int64_t> history;  // prompt and new tokens
    int64_t addedNs = 0;
    bool runsAlone = false;  // its prompt failed beside others
    GeneratedSequence made;
  };
  struct Search {
    size_t sequence = 0;
    BeamRun run;
  };
  // Prompts that have run and join the others.
  struct Started {
    DecoderBatch batch;
    std::vector<size_t> sequences;
    size_t sharedCount = 0;  // tokens of each whose caches others made
  };
  // A prompt of which a part has run.
  struct Prefill {
    Started started;
    std::vector<int64_t> rest;
  };

  Generator(std::unique_ptr<DecoderSteps> steps, std::optional<int64_t> tokensCount,
            const GeneratorOptions& options)
      : steps_(std::move(steps)),
        tokensCount_(tokensCount),
        maxBatch_(std::max<size_t>(1, options.maxBatch)),
        mostDraft_(options.mostDraft),
        prefillChunk_(options.prefillChunk) {}
  Status checkTokens(const std::vector<int64_t>& prompt) const;
  int64_t lengthOf(size_t sequence) const;
  bool isRunning(size_t sequence) const;
  std::optional<int64_t> lengthToShare(const std::vector<Started>& started) const;
  std::vector<size_t> nextGroup(size_t most, const std::vector<Started>& started);
  Status startWaiting(Interruption& interruption);
  bool runsInChunks(size_t sequence) const;
  Result<TokenRows> beginGroup(Started& started, const std::vector<Started>& all);
  Status startGroup(Started& started, const TokenRows& rest, Interruption& interruption);
  Status stepPrefill(Interruption& interruption);
  Status learnPadding(const DecoderBatch& batch, size_t sequence, Interruption& interruption);
  PrefixSource prefixFor(const std::vector<int64_t>& prompt, const std::vector<Started>& started) const;
  std::vector<const std::vector<int64_t>*> waitingPrompts() const;
  Status holdPrefix(const Started& started, const std::vector<float>& scores, Interruption& interruption);
  bool beginsForOthers(size_t sequence, const std::vector<Started>& started) const;
  Status join(std::vector<Started>& started);
  Status stepSearch(Interruption& interruption);
  Status giveBest(size_t number, const Beam& best);
  Status stepAll(Interruption& interruption);
  std::vector<int64_t> draftOf(const Sequence& sequence) const;
  Result<bool> stepDraft(Interruption& interruption);
  Status stepEach(const TokenRows& tokens, Interruption& interruption);
  Status keepRunning();
  Status takeRows(const std::vector<BatchRow>& rows);
  // `firstScores`, where it is given: those of the first row, before a hook sees them.
  Status runRows(DecoderBatch& batch, const std::vector<size_t>& sequences, const TokenRows& tokens,
                 Interruption& interruption, std::vector<float>* firstScores = nullptr);
  Status add(Sequence& sequence, size_t number, std::span<float> scores);
  Status take(Sequence& sequence, size_t number, int64_t token);
  void fail(size_t sequence, const Diagnostic& error);

  std::unique_ptr<DecoderSteps> steps_;
  std::optional<int64_t> tokensCount_;
  size_t maxBatch_, mostDraft_, prefillChunk_;
  std::map<size_t, Sequence> sequences_;
  size_t addedCount_ = 0;
  std::deque<size_t> waiting_;          // sequences whose prompts have not run
  std::deque<size_t> waitingSearches_;  // those of several beams
  std::optional<Search> search_;        // the one that runs
  std::optional<Prefill> prefill_;      // the prompt that runs in chunks
  std::vector<size_t> active_;          // sequences of the rows of batch_
  DecoderBatch batch_;
  bool isPaddingKnown_ = false;  // findPadding was asked
  bool sharesLengths_ = true;
  SharedPrefixes prefixes_;
  std::optional<bool> takesPrefixes_;  // findPrefixes was asked
  std::optional<bool> takesDrafts_;    // findDrafts was asked
  int64_t draftTokensCount_ = 0, acceptedTokensCount_ = 0;
  int64_t stepsCount_ = 0, rowsCount_ = 0, sharedTokensCount_ = 0;
};

}  // namespace dyn
