#include "app/engine/generate/generation.h"

#include "compiler/support/clock.h"

namespace dyn {

namespace {

// What the generator knows of the sequences.
void takeProgress(const Generator& generator, GenerationResult& result) {
  for (size_t i = 0; i < result.sequences.size(); ++i) {
    result.sequences[i] = generator.sequence(i);
    const int64_t firstNs = result.sequences[i].firstTokenNs;
    if (firstNs > 0 && (result.firstTokenNs == 0 || firstNs < result.firstTokenNs))
      result.firstTokenNs = firstNs;
  }
  result.stepsCount = generator.stepsCount();
  result.rowsCount = generator.rowsCount();
  result.sharedTokensCount = generator.sharedTokensCount();
  result.draftTokensCount = generator.draftTokensCount();
  result.acceptedTokensCount = generator.acceptedTokensCount();
  result.growingCount = generator.growingCount();
  result.sharesLengths = generator.sharesLengths();
}

Status run(const DecoderProgram& program, const DecoderPorts& ports, const GenerationRequest& request,
           const TokenSink& sink, Interruption& interruption, GenerationResult& result) {
  DYN_TRY(const std::unique_ptr<Generator> generator,
          Generator::begin(program, ports,
                           {request.decoder, request.maxBatch, request.mostDraft, request.prefillChunk}));
  const auto take = [&](size_t sequence, int64_t token) -> Result<bool> {
    for (size_t i = 0; i < result.sequences.size(); ++i) result.sequences[i].end = generator->sequence(i).end;
    return sink(sequence, token);
  };
  for (size_t i = 0; i < request.prompts.size(); ++i)
    generator->add({request.prompts[i], request.maxNew, request.sampling, request.beams, i,
                    request.stopTokens, nullptr, take});
  result.sequences.resize(request.prompts.size());
  takeProgress(*generator, result);  // of those that ended before they ran
  while (!generator->isIdle()) {
    const Status stepped = generator->step(interruption);
    takeProgress(*generator, result);
    DYN_CHECK(stepped);
  }
  return {};
}

}  // namespace

Status generate(const DecoderProgram& program, const DecoderPorts& ports, const GenerationRequest& request,
                const TokenSink& sink, Interruption& interruption, GenerationResult& result) {
  const int64_t startNs = steadyNs();
  Status status = run(program, ports, request, sink, interruption, result);
  result.totalNs = steadyNs() - startNs;
  return status;
}

}  // namespace dyn
