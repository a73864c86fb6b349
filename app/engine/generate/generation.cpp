#include "app/engine/generate/generation.h"

#include <algorithm>
#include <map>

#include "compiler/support/clock.h"

namespace dyn {

const char* toString(GenerationEnd end) {
  switch (end) {
    case GenerationEnd::running:
      return "running";
    case GenerationEnd::length:
      return "length";
    case GenerationEnd::stopToken:
      return "stop token";
    case GenerationEnd::stopText:
      return "stop text";
    case GenerationEnd::interrupted:
      return "interrupted";
  }
  return "";
}

std::vector<std::vector<size_t>> batchesOf(const GenerationRequest& request, const DecoderPorts& ports) {
  const bool isPadded = ports.mask && ports.positions;
  const size_t most = ports.batch.empty() ? 1 : std::max<size_t>(1, request.maxBatch);
  std::vector<std::vector<size_t>> batches;
  std::map<size_t, size_t>
      open;  // by the length of the prompts, where they must be equal: the batch with room
  for (size_t i = 0; i < request.prompts.size(); ++i) {
    const size_t length = isPadded ? 0 : request.prompts[i].size();
    const auto found = open.find(length);
    if (found != open.end() && batches[found->second].size() < most) {
      batches[found->second].push_back(i);
      continue;
    }
    open[length] = batches.size();
    batches.push_back({i});
  }
  return batches;
}

namespace {

// The sequences of one batch, from their prompts to their ends.
class BatchGeneration {
 public:
  BatchGeneration(const GenerationRequest& request, const std::vector<size_t>& members, const TokenSink& sink,
                  GenerationResult& result)
      : request_(request), members_(members), sink_(sink), result_(result) {
    for (const size_t member : members) {
      samplers_.emplace_back(request.sampling, member);
      histories_.push_back(request.prompts[member]);
      longest_ = std::max(longest_, request.prompts[member].size());
    }
  }

  Status run(const DecoderProgram& program, const DecoderPorts& ports, Interruption& interruption,
             int64_t startNs) {
    DecoderBatch batch;
    batch.room = static_cast<int64_t>(longest_) + request_.maxNew;
    std::vector<std::vector<int64_t>> tokens = histories_;
    for (std::vector<int64_t>& row : tokens) {
      batch.padding.push_back(static_cast<int64_t>(longest_ - row.size()));
      row.insert(row.begin(), longest_ - row.size(), row[0]);  // any token: the mask leaves it out
    }
    DYN_TRY(const std::unique_ptr<DecoderSteps> steps, DecoderSteps::begin(program, ports, std::move(batch)));
    while (isAnyRunning()) {
      DYN_TRY(std::vector<std::vector<float>> scores, steps->run(tokens, interruption));
      ++result_.stepsCount;
      result_.growsInPlace = !ports.caches.empty() && steps->growsInPlace();
      for (size_t row = 0; row < members_.size(); ++row) {
        tokens[row].assign(1, histories_[row].back());  // of a row that has ended: nobody looks
        if (sequence(row).end != GenerationEnd::running) continue;
        DYN_TRY(const int64_t token, samplers_[row].pick(scores[row], histories_[row]));
        if (result_.firstTokenNs == 0) result_.firstTokenNs = steadyNs() - startNs;
        DYN_CHECK(add(row, token));
        tokens[row][0] = token;
      }
    }
    return {};
  }

 private:
  GeneratedSequence& sequence(size_t row) { return result_.sequences[members_[row]]; }

  bool isAnyRunning() const {
    return std::any_of(members_.begin(), members_.end(), [&](size_t member) {
      return result_.sequences[member].end == GenerationEnd::running;
    });
  }

  Status add(size_t row, int64_t token) {
    GeneratedSequence& grown = sequence(row);
    grown.ids.push_back(token);
    histories_[row].push_back(token);
    if (request_.stopTokens.count(token) > 0) {
      grown.end = GenerationEnd::stopToken;
      return {};
    }
    DYN_TRY(const bool ends, sink_(members_[row], token));
    if (ends)
      grown.end = GenerationEnd::stopText;
    else if (static_cast<int64_t>(grown.ids.size()) >= request_.maxNew)
      grown.end = GenerationEnd::length;
    return {};
  }

  const GenerationRequest& request_;
  const std::vector<size_t>& members_;
  const TokenSink& sink_;
  GenerationResult& result_;
  std::vector<Sampler> samplers_;
  std::vector<std::vector<int64_t>> histories_;  // prompt and new tokens
  size_t longest_ = 0;                           // prompt
};

}  // namespace

Status generate(const DecoderProgram& program, const DecoderPorts& ports, const GenerationRequest& request,
                const TokenSink& sink, Interruption& interruption, GenerationResult& result) {
  const int64_t startNs = steadyNs();
  result.sequences.resize(request.prompts.size());
  Status status;
  for (const std::vector<size_t>& members : batchesOf(request, ports)) {
    BatchGeneration batch(request, members, sink, result);
    status = batch.run(program, ports, interruption, startNs);
    if (!status.ok()) break;
  }
  if (!status.ok() && status.error().id == DiagnosticId::cancelled)
    for (GeneratedSequence& sequence : result.sequences)
      if (sequence.end == GenerationEnd::running) sequence.end = GenerationEnd::interrupted;
  result.totalNs = steadyNs() - startNs;
  return status;
}

}  // namespace dyn
