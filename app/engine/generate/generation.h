// Generation: a decoder continues prompts token by token.
//
//   GenerationRequest request{.prompts = {ids}, .maxNew = 20};
//   DYN_CHECK(generate(program, ports, request, sink, interruption, result));
//
// With `maxBatch` above 1 sequences share the steps. A prompt runs by itself (prompts of equal lengths run
// together), and its sequence joins the others at the next step; one that has ended leaves, and the next
// prompt takes its place. Sequences of different lengths share steps where DecoderSteps::findPadding finds
// that padding changes nothing.
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
  DecoderOptions decoder;  // room is set by generate()
  std::set<int64_t> stopTokens;
};

struct GeneratedSequence {
  std::vector<int64_t> ids;  // new ones; a stop token is the last
  GenerationEnd end = GenerationEnd::running;
  int64_t firstTokenNs = 0;  // since the beginning
};

struct GenerationResult {
  std::vector<GeneratedSequence> sequences;  // one for each prompt
  int64_t stepsCount = 0;                    // runs of the program; `rowsCount`: the sequences in all of them
  int64_t rowsCount = 0;
  int64_t firstTokenNs = 0;  // until the first token of the first prompt
  int64_t totalNs = 0;
  int64_t growingCount = 0;   // caches that grow in place
  bool sharesLengths = true;  // false: sequences of different lengths were found to disturb each other
};

// Takes a token of a sequence as it comes. True: the sequence ends with it (stopText).
using TokenSink = std::function<Result<bool>(size_t sequence, int64_t token)>;

// Fills `result` as it goes: after an error, and after an interruption (error `cancelled`), it holds what
// came.
Status generate(const DecoderProgram& program, const DecoderPorts& ports, const GenerationRequest& request,
                const TokenSink& sink, Interruption& interruption, GenerationResult& result);

}  // namespace dyn
