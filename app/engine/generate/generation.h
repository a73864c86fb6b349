// Generation: a decoder continues prompts token by token.
//
//   GenerationRequest request{.prompts = {ids}, .maxNew = 20};
//   DYN_CHECK(generate(program, ports, request, sink, interruption, result));
//
// With `maxBatch` above 1 prompts share the steps: those of equal lengths, or, where the model takes a mask
// and positions, any, the shorter ones padded in front. A sequence that has ended stays in its batch, unseen,
// until all have.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "app/engine/generate/decoder_steps.h"
#include "app/engine/generate/sampling.h"

namespace dyn {

enum class GenerationEnd : uint8_t { running, length, stopToken, stopText, interrupted };
const char* toString(GenerationEnd end);

struct GenerationRequest {
  std::vector<std::vector<int64_t>> prompts;  // none is empty
  int64_t maxNew = 0;
  size_t maxBatch = 1;
  SamplingPolicy sampling;
  std::set<int64_t> stopTokens;
};

struct GeneratedSequence {
  std::vector<int64_t> ids;  // new ones; a stop token is the last
  GenerationEnd end = GenerationEnd::running;
};

struct GenerationResult {
  std::vector<GeneratedSequence> sequences;  // one for each prompt
  int64_t stepsCount = 0;
  int64_t firstTokenNs = 0;  // until the first token of the first prompt
  int64_t totalNs = 0;
  bool growsInPlace = false;  // caches
};

// Takes a token of a sequence as it comes. True: the sequence ends with it (stopText).
using TokenSink = std::function<Result<bool>(size_t sequence, int64_t token)>;

// Fills `result` as it goes: after an error, and after an interruption (error `cancelled`), it holds what
// came.
Status generate(const DecoderProgram& program, const DecoderPorts& ports, const GenerationRequest& request,
                const TokenSink& sink, Interruption& interruption, GenerationResult& result);

// Which prompts share steps, by their places.
std::vector<std::vector<size_t>> batchesOf(const GenerationRequest& request, const DecoderPorts& ports);

}  // namespace dyn
