// Generation: a decoder continues prompts token by token.
//
//   GenerationRequest request{.prompts = {ids}, .maxNew = 20};
//   DYN_CHECK(generate(program, ports, request, sink, interruption, result));
//
// With `maxBatch` above 1 sequences share the steps, as Generator does it.
#pragma once

#include <set>
#include <vector>

#include "app/engine/generate/generator.h"

namespace dyn {

struct GenerationRequest {
  std::vector<std::vector<int64_t>> prompts;  // none is empty
  int64_t maxNew = 0;
  size_t maxBatch = 1;
  size_t mostDraft = 0, prefillChunk = 0;  // as in GeneratorOptions
  SamplingPolicy sampling;
  BeamPolicy beams;
  DecoderOptions decoder;  // room is set by generate()
  std::set<int64_t> stopTokens;
};

struct GenerationResult {
  std::vector<GeneratedSequence> sequences;  // one for each prompt
  int64_t stepsCount = 0;                    // runs of the program; `rowsCount`: the sequences in all of them
  int64_t rowsCount = 0;
  int64_t sharedTokensCount = 0;  // of prompts, whose caches others made
  int64_t draftTokensCount = 0, acceptedTokensCount = 0;
  int64_t firstTokenNs = 0;  // until the first token of the first prompt
  int64_t totalNs = 0;
  int64_t growingCount = 0;   // caches that grow in place
  bool sharesLengths = true;  // false: sequences of different lengths were found to disturb each other
};

// A prompt that fails ends alone, with its error. Fills `result` as it goes: after an error, and after an
// interruption (error `cancelled`), it holds what came.
Status generate(const DecoderProgram& program, const DecoderPorts& ports, const GenerationRequest& request,
                const TokenSink& sink, Interruption& interruption, GenerationResult& result);

}  // namespace dyn
