#include "app/engine/generate/generation.h"

#include <algorithm>
#include <deque>

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

namespace {

class Generation {
 public:
  Generation(const DecoderProgram& program, const DecoderPorts& ports, const GenerationRequest& request,
             const TokenSink& sink, Interruption& interruption, GenerationResult& result)
      : program_(program),
        ports_(ports),
        request_(request),
        sink_(sink),
        interruption_(interruption),
        result_(result) {
    for (size_t i = 0; i < request.prompts.size(); ++i) {
      samplers_.emplace_back(request.sampling, i);
      histories_.push_back(request.prompts[i]);
      waiting_.push_back(i);
    }
    result.sequences.resize(request.prompts.size());
  }

  Status run() {
    startNs_ = steadyNs();
    DecoderOptions options = request_.decoder;
    for (const std::vector<int64_t>& prompt : request_.prompts)
      options.room = std::max(options.room, static_cast<int64_t>(prompt.size()) + request_.maxNew);
    DYN_TRY(steps_, DecoderSteps::begin(program_, ports_, std::move(options)));
    while (!waiting_.empty() || !active_.empty()) {
      DYN_CHECK(startWaiting());
      if (!active_.empty()) DYN_CHECK(stepAll());
    }
    return {};
  }

 private:
  int64_t lengthOf(size_t sequence) const { return static_cast<int64_t>(histories_[sequence].size()); }
  bool isRunning(size_t sequence) const { return result_.sequences[sequence].end == GenerationEnd::running; }

  // Prompts that have run and join the others.
  struct Started {
    DecoderBatch batch;
    std::vector<size_t> sequences;
  };

  // Prompts run while there is room for their sequences.
  Status startWaiting() {
    std::vector<Started> all;
    size_t rows = active_.size();
    while (rows < mostRows()) {
      Started started;
      started.sequences = nextGroup(mostRows() - rows, lengthToShare(all));
      const std::vector<size_t>& group = started.sequences;
      if (group.empty()) break;
      DYN_TRY(started.batch, steps_->start(group.size()));
      TokenRows prompts;
      for (const size_t sequence : group) prompts.push_back(histories_[sequence]);
      DYN_CHECK(runRows(started.batch, group, prompts));
      // Those that wait will come to sequences of other lengths.
      if (!isPaddingKnown_ && mostRows() > 1 && !waiting_.empty() && isRunning(group[0])) {
        isPaddingKnown_ = true;
        const int64_t token = histories_[group[0]].back();
        DYN_TRY(result_.sharesLengths, steps_->findPadding(started.batch, token, interruption_));
      }
      const int64_t running =
          std::count_if(group.begin(), group.end(), [&](size_t sequence) { return isRunning(sequence); });
      rows += static_cast<size_t>(running);
      if (running > 0) all.push_back(std::move(started));
    }
    return join(all);
  }

  size_t mostRows() const { return std::max<size_t>(1, request_.maxBatch); }

  // How long the sequences are that a new one comes to, without their last tokens; nothing: there are none.
  std::optional<int64_t> lengthToShare(const std::vector<Started>& started) const {
    if (!active_.empty()) return lengthOf(active_[0]) - 1;
    if (!started.empty()) return started[0].batch.lengths[0];
    return std::nullopt;
  }

  // The next prompt that may join sequences of this length, and those as long as it: at most so many.
  std::vector<size_t> nextGroup(size_t most, std::optional<int64_t> length) {
    std::vector<size_t> group;
    for (auto next = waiting_.begin(); next != waiting_.end() && group.size() < most;) {
      const int64_t own = lengthOf(*next);
      const bool fits = group.empty() ? !length || steps_->mayShare(own, *length) : own == lengthOf(group[0]);
      if (!fits) {
        ++next;
        continue;
      }
      group.push_back(*next);
      next = waiting_.erase(next);
    }
    return group;
  }

  Status join(std::vector<Started>& started) {
    if (started.empty()) return {};
    if (active_.empty() && started.size() == 1 &&
        std::all_of(started[0].sequences.begin(), started[0].sequences.end(),
                    [&](size_t sequence) { return isRunning(sequence); })) {
      batch_ = std::move(started[0].batch);
      active_ = std::move(started[0].sequences);
      return {};
    }
    std::vector<BatchRow> rows;
    for (size_t row = 0; row < active_.size(); ++row) rows.push_back({&batch_, row});
    for (const Started& one : started)
      for (size_t row = 0; row < one.sequences.size(); ++row)
        if (isRunning(one.sequences[row])) {
          rows.push_back({&one.batch, row});
          active_.push_back(one.sequences[row]);
        }
    return takeRows(rows);
  }

  Status takeRows(const std::vector<BatchRow>& rows) {
    DecoderBatch made;
    if (!rows.empty()) {
      DYN_TRY(made, steps_->batchOf(rows));
    }
    batch_ = std::move(made);
    return {};
  }

  // One token more of each sequence; those that end leave.
  Status stepAll() {
    TokenRows tokens;
    for (const size_t sequence : active_) tokens.push_back({histories_[sequence].back()});
    DYN_CHECK(runRows(batch_, active_, tokens));
    std::vector<BatchRow> rows;
    std::vector<size_t> left;
    for (size_t row = 0; row < active_.size(); ++row)
      if (isRunning(active_[row])) {
        rows.push_back({&batch_, row});
        left.push_back(active_[row]);
      }
    if (left.size() == active_.size()) return {};
    active_ = std::move(left);
    return takeRows(rows);
  }

  Status runRows(DecoderBatch& batch, const std::vector<size_t>& sequences, const TokenRows& tokens) {
    DYN_TRY(ScoreRows scores, steps_->run(batch, tokens, interruption_));
    ++result_.stepsCount;
    result_.rowsCount += static_cast<int64_t>(sequences.size());
    result_.growingCount = steps_->growingCount();
    for (size_t row = 0; row < sequences.size(); ++row) {
      const size_t sequence = sequences[row];
      DYN_TRY(const int64_t token, samplers_[sequence].pick(scores[row], histories_[sequence]));
      if (result_.firstTokenNs == 0) result_.firstTokenNs = steadyNs() - startNs_;
      DYN_CHECK(add(sequence, token));
    }
    return {};
  }

  Status add(size_t sequence, int64_t token) {
    GeneratedSequence& grown = result_.sequences[sequence];
    if (grown.ids.empty()) grown.firstTokenNs = steadyNs() - startNs_;
    grown.ids.push_back(token);
    histories_[sequence].push_back(token);
    if (request_.stopTokens.count(token) > 0) {
      grown.end = GenerationEnd::stopToken;
      return {};
    }
    DYN_TRY(const bool ends, sink_(sequence, token));
    if (ends)
      grown.end = GenerationEnd::stopText;
    else if (static_cast<int64_t>(grown.ids.size()) >= request_.maxNew)
      grown.end = GenerationEnd::length;
    return {};
  }

  const DecoderProgram& program_;
  const DecoderPorts& ports_;
  const GenerationRequest& request_;
  const TokenSink& sink_;
  Interruption& interruption_;
  GenerationResult& result_;
  std::unique_ptr<DecoderSteps> steps_;
  std::vector<Sampler> samplers_;
  std::vector<std::vector<int64_t>> histories_;  // prompt and new tokens of each sequence
  std::deque<size_t> waiting_;                   // sequences whose prompts have not run
  std::vector<size_t> active_;                   // sequences of the rows of batch_
  DecoderBatch batch_;
  bool isPaddingKnown_ = false;  // findPadding was asked
  int64_t startNs_ = 0;
};

}  // namespace

Status generate(const DecoderProgram& program, const DecoderPorts& ports, const GenerationRequest& request,
                const TokenSink& sink, Interruption& interruption, GenerationResult& result) {
  const int64_t startNs = steadyNs();
  const Status status = Generation(program, ports, request, sink, interruption, result).run();
  if (!status.ok() && status.error().id == DiagnosticId::cancelled)
    for (GeneratedSequence& sequence : result.sequences)
      if (sequence.end == GenerationEnd::running) sequence.end = GenerationEnd::interrupted;
  result.totalNs = steadyNs() - startNs;
  return status;
}

}  // namespace dyn
