#include "app/engine/generate/generator.h"

#include <algorithm>

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
    case GenerationEnd::failed:
      return "failed";
  }
  return "";
}

Result<std::unique_ptr<Generator>> Generator::begin(const DecoderProgram& program, const DecoderPorts& ports,
                                                    GeneratorOptions options) {
  DYN_TRY(std::unique_ptr<DecoderSteps> steps,
          DecoderSteps::begin(program, ports, std::move(options.decoder)));
  return std::unique_ptr<Generator>(new Generator(std::move(steps), ports.tokensCount, options));
}

size_t Generator::add(SequenceRequest request) {
  const size_t number = addedCount_++;
  Sequence added{std::move(request), Sampler({}, 0), PromptLookup(mostDraft_), {}, steadyNs(), false, {}};
  added.sampler = Sampler(added.request.sampling, added.request.stream);
  added.history = added.request.prompt;
  const Status known = checkTokens(added.history);
  const int64_t room = static_cast<int64_t>(added.history.size()) + added.request.maxNew;
  const bool searches = added.request.beams.count > 1;
  sequences_.emplace(number, std::move(added));
  if (!known.ok()) {
    fail(number, known.error());
    return number;
  }
  steps_->reserve(room);
  (searches ? waitingSearches_ : waiting_).push_back(number);
  return number;
}

// Error: inputMismatch.
Status Generator::checkTokens(const std::vector<int64_t>& prompt) const {
  for (size_t at = 0; at < prompt.size(); ++at)
    if (prompt[at] < 0 || prompt[at] >= tokensCount_.value_or(INT64_MAX))
      return makeError(
          DiagnosticId::inputMismatch,
          "token " + std::to_string(prompt[at]) + " at position " + std::to_string(at) + " of the prompt: " +
              (prompt[at] < 0 ? "ids are not negative"
                              : "the model has tokens 0 to " + std::to_string(*tokensCount_ - 1)));
  return {};
}

void Generator::cancel(size_t sequence) {
  const auto found = sequences_.find(sequence);
  if (found == sequences_.end() || found->second.made.end != GenerationEnd::running) return;
  found->second.made.end = GenerationEnd::interrupted;
  std::erase(waiting_, sequence);
  std::erase(waitingSearches_, sequence);
}

void Generator::cancelAll() {
  for (auto& [number, sequence] : sequences_)
    if (sequence.made.end == GenerationEnd::running) sequence.made.end = GenerationEnd::interrupted;
  waiting_.clear();
  waitingSearches_.clear();
  search_.reset();
  prefill_.reset();
  active_.clear();
  batch_ = {};
}

Status Generator::step(Interruption& interruption) {
  const auto run = [&]() -> Status {
    DYN_CHECK(stepSearch(interruption));
    DYN_CHECK(keepRunning());  // without those that were cancelled
    if (prefill_) DYN_CHECK(stepPrefill(interruption));
    const int64_t before = stepsCount_;
    DYN_CHECK(startWaiting(interruption));
    return active_.empty() || stepsCount_ > before ? Status() : stepAll(interruption);
  };
  Status status = run();
  if (status.ok()) return {};
  if (status.error().id == DiagnosticId::cancelled) {
    cancelAll();
    return status;
  }
  for (const size_t sequence : active_)
    if (isRunning(sequence)) fail(sequence, status.error());
  active_.clear();
  batch_ = {};
  return {};
}

int64_t Generator::lengthOf(size_t sequence) const {
  return static_cast<int64_t>(sequences_.at(sequence).history.size());
}

bool Generator::isRunning(size_t sequence) const {
  return sequences_.at(sequence).made.end == GenerationEnd::running;
}

void Generator::fail(size_t sequence, const Diagnostic& error) {
  GeneratedSequence& made = sequences_.at(sequence).made;
  made.end = GenerationEnd::failed;
  made.error = error;
}

Status Generator::startWaiting(Interruption& interruption) {
  std::vector<Started> all;
  if (!active_.empty()) DYN_CHECK(learnPadding(batch_, active_[0], interruption));
  size_t rows = active_.size() + (prefill_ ? 1 : 0);
  while (rows < maxBatch_ && !prefill_) {
    Started started;
    started.sequences = nextGroup(maxBatch_ - rows, all);
    const std::vector<size_t>& group = started.sequences;
    if (group.empty()) break;
    const auto start = [&]() -> Status {
      DYN_TRY(TokenRows rest, beginGroup(started, all));
      if (!runsInChunks(group[0])) return startGroup(started, rest, interruption);
      prefill_.emplace(Prefill{{std::move(started.batch), group}, std::move(rest[0])});
      return {};
    };
    const Status run = start();
    if (run.ok() && prefill_) break;
    if (!run.ok()) {
      if (run.error().id == DiagnosticId::cancelled) return run;
      if (group.size() == 1) fail(group[0], run.error());
      if (group.size() > 1)  // one of them fails, so each runs by itself
        for (auto next = group.rbegin(); next != group.rend(); ++next) {
          sequences_.at(*next).runsAlone = true;
          waiting_.push_front(*next);
        }
      continue;
    }
    const auto running =
        std::count_if(group.begin(), group.end(), [&](size_t sequence) { return isRunning(sequence); });
    rows += static_cast<size_t>(running);
    if (running > 0) all.push_back(std::move(started));
  }
  return join(all);
}

// Is it worth chunks? Where nobody waits for it, it runs whole.
bool Generator::runsInChunks(size_t sequence) const {
  const bool joinsAnyLength = isPaddingKnown_ && sharesLengths_;
  return prefillChunk_ > 0 && !active_.empty() && joinsAnyLength && takesPrefixes_.value_or(false) &&
         lengthOf(sequence) > static_cast<int64_t>(prefillChunk_);
}

// The caches that prompts begin with; what they have still to run.
Result<TokenRows> Generator::beginGroup(Started& started, const std::vector<Started>& all) {
  const std::vector<size_t>& group = started.sequences;
  TokenRows prompts;
  std::vector<BatchRow> sources;
  size_t shared = SIZE_MAX;  // all rows of a group start behind as many tokens
  for (const size_t sequence : group) {
    prompts.push_back(sequences_.at(sequence).history);
    const PrefixSource source = prefixFor(prompts.back(), all);
    sources.push_back(source.row);
    shared = std::min(shared, source.length());
  }
  if (shared > 0) {
    for (BatchRow& source : sources) source.length = static_cast<int64_t>(shared);
    DYN_TRY(started.batch, steps_->batchOf(sources));
    for (std::vector<int64_t>& prompt : prompts)
      prompt.erase(prompt.begin(), prompt.begin() + static_cast<ptrdiff_t>(shared));
    started.sharedCount = shared;
  } else {
    DYN_TRY(started.batch, steps_->start(group.size()));
  }
  return prompts;
}

// Runs the rest of prompts, and chooses their first tokens.
Status Generator::startGroup(Started& started, const TokenRows& rest, Interruption& interruption) {
  const std::vector<size_t>& group = started.sequences;
  const std::vector<int64_t> prompt = sequences_.at(group[0]).history;
  std::vector<float> scores;
  DYN_CHECK(runRows(started.batch, group, rest, interruption, &scores));
  sharedTokensCount_ += static_cast<int64_t>(started.sharedCount * group.size());
  if (prefillChunk_ > 0 && !takesPrefixes_ && steps_->mayTakePrefixes() && prompt.size() > 1) {
    DYN_TRY(takesPrefixes_, steps_->findPrefixes(started.batch, prompt, scores, interruption));
  }
  DYN_CHECK(holdPrefix(started, scores, interruption));
  return learnPadding(started.batch, group[0], interruption);
}

// Those that wait will be of other lengths than the first row of a batch, whose sequence this is.
Status Generator::learnPadding(const DecoderBatch& batch, size_t sequence, Interruption& interruption) {
  if (isPaddingKnown_ || maxBatch_ < 2 || waiting_.empty() || !isRunning(sequence)) return {};
  isPaddingKnown_ = true;
  DYN_TRY(sharesLengths_, steps_->findPadding(batch, sequences_.at(sequence).history.back(), interruption));
  return {};
}

// A chunk more of a prompt; with its last one the sequence joins the others. Error: cancelled; with others it
// ends alone.
Status Generator::stepPrefill(Interruption& interruption) {
  Prefill& prefill = *prefill_;
  const size_t number = prefill.started.sequences[0];
  std::vector<int64_t>& rest = prefill.rest;
  Status status;
  if (isRunning(number) && rest.size() > prefillChunk_) {
    const auto end = rest.begin() + static_cast<ptrdiff_t>(prefillChunk_);
    const Result<ScoreRows> scores = steps_->run(prefill.started.batch, {{rest.begin(), end}}, interruption);
    rest.erase(rest.begin(), end);
    ++stepsCount_;
    ++rowsCount_;
    if (scores.ok()) return {};
    status = Error{scores.error()};
  } else if (isRunning(number)) {
    status = startGroup(prefill.started, {rest}, interruption);
  }
  if (!status.ok() && status.error().id == DiagnosticId::cancelled) return status;
  if (!status.ok()) fail(number, status.error());
  std::vector<Started> started;
  if (isRunning(number)) started.push_back(std::move(prefill.started));
  prefill_.reset();
  return join(started);
}

// The longest beginning of a prompt that is held, or that a row of a batch has.
PrefixSource Generator::prefixFor(const std::vector<int64_t>& prompt,
                                  const std::vector<Started>& started) const {
  if (!takesPrefixes_.value_or(false)) return {};
  PrefixSource source = prefixes_.longest(prompt);
  const auto consider = [&](const DecoderBatch& batch, const std::vector<size_t>& sequences) {
    for (size_t row = 0; row < sequences.size(); ++row)
      source.consider(sequences_.at(sequences[row]).history, batch, row, prompt);
  };
  consider(batch_, active_);
  for (const Started& one : started) consider(one.batch, one.sequences);
  return source;
}

// Some of those that wait.
std::vector<const std::vector<int64_t>*> Generator::waitingPrompts() const {
  constexpr size_t kMostSeen = 256;
  std::vector<const std::vector<int64_t>*> prompts;
  for (size_t i = 0; i < std::min(waiting_.size(), kMostSeen); ++i)
    prompts.push_back(&sequences_.at(waiting_[i]).history);
  return prompts;
}

// Keeps what prompts that wait share with the first that has run.
Status Generator::holdPrefix(const Started& started, const std::vector<float>& scores,
                             Interruption& interruption) {
  if (!steps_->mayTakePrefixes() || !takesPrefixes_.value_or(true)) return {};
  const std::vector<int64_t>& prompt = sequences_.at(started.sequences[0]).request.prompt;
  const size_t length = SharedPrefixes::lengthToHold(prompt, waitingPrompts());
  if (length == 0 || prefixes_.holds(prompt, length)) return {};
  if (!takesPrefixes_) {
    DYN_TRY(takesPrefixes_, steps_->findPrefixes(started.batch, prompt, scores, interruption));
    if (!*takesPrefixes_) return {};
  }
  DYN_TRY(DecoderBatch row, steps_->prefixOf({&started.batch, 0, static_cast<int64_t>(length)}));
  prefixes_.hold({prompt.begin(), prompt.begin() + static_cast<ptrdiff_t>(length)}, std::move(row));
  return {};
}

// How long the sequences are that a new one comes to, without their last tokens; nothing: there are none.
std::optional<int64_t> Generator::lengthToShare(const std::vector<Started>& started) const {
  if (!active_.empty()) return lengthOf(active_[0]) - 1;
  if (!started.empty()) return started[0].batch.lengths[0];
  return std::nullopt;
}

// The next prompt that may join the sequences that are there, and those as long as it: at most so many. One
// whose beginning others share runs before them.
std::vector<size_t> Generator::nextGroup(size_t most, const std::vector<Started>& started) {
  const std::optional<int64_t> length = lengthToShare(started);
  std::vector<size_t> group;
  for (auto next = waiting_.begin(); next != waiting_.end() && group.size() < most;) {
    const int64_t own = lengthOf(*next);
    const bool runsAlone = sequences_.at(*next).runsAlone;
    const bool fits =
        group.empty() ? !length || steps_->mayShare(own, *length) : !runsAlone && own == lengthOf(group[0]);
    if (!fits) {
      ++next;
      continue;
    }
    group.push_back(*next);
    next = waiting_.erase(next);
    if (runsAlone || runsInChunks(group[0]) || (group.size() == 1 && beginsForOthers(group[0], started)))
      break;
  }
  return group;
}

// Do others wait for the beginning of this prompt, which nobody has yet?
bool Generator::beginsForOthers(size_t sequence, const std::vector<Started>& started) const {
  if (!steps_->mayTakePrefixes() || !takesPrefixes_.value_or(true)) return false;
  const std::vector<int64_t>& prompt = sequences_.at(sequence).history;
  const size_t length = SharedPrefixes::lengthToHold(prompt, waitingPrompts());
  return length > 0 && prefixFor(prompt, started).length() < length;
}

Status Generator::join(std::vector<Started>& started) {
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

Status Generator::takeRows(const std::vector<BatchRow>& rows) {
  DecoderBatch made;
  if (!rows.empty()) {
    DYN_TRY(made, steps_->batchOf(rows));
  }
  batch_ = std::move(made);
  return {};
}

// Sequences that have ended leave.
Status Generator::keepRunning() {
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

// One token more of each beam. Error: cancelled; with others the sequence ends alone.
Status Generator::stepSearch(Interruption& interruption) {
  if (search_ && !isRunning(search_->sequence)) search_.reset();
  if (!search_ && waitingSearches_.empty()) return {};
  if (!search_) {
    const size_t next = waitingSearches_.front();
    waitingSearches_.pop_front();
    const SequenceRequest& request = sequences_.at(next).request;
    BeamSearch search(request.beams, request.prompt, request.maxNew, request.stopTokens,
                      request.sampling.repetitionPenalty);
    search_.emplace(Search{next, BeamRun(*steps_, std::move(search), request.hook)});
  }
  const size_t number = search_->sequence;
  const int64_t stepsBefore = search_->run.stepsCount(), rowsBefore = search_->run.rowsCount();
  Status status = search_->run.step(interruption);
  stepsCount_ += search_->run.stepsCount() - stepsBefore;
  rowsCount_ += search_->run.rowsCount() - rowsBefore;
  if (!status.ok() && status.error().id == DiagnosticId::cancelled) return status;
  const BeamSearch& search = search_->run.search();
  if (status.ok() && !search.hasEnded()) return {};
  if (status.ok()) status = giveBest(number, search.best());
  if (!status.ok()) fail(number, status.error());
  search_.reset();
  return {};
}

// The text that a search has found.
Status Generator::giveBest(size_t number, const Beam& best) {
  Sequence& sequence = sequences_.at(number);
  sequence.made.score = best.score;
  for (const int64_t token : best.ids) {
    if (sequence.made.end != GenerationEnd::running) break;
    DYN_CHECK(take(sequence, number, token));
  }
  return {};
}

// One token more of each sequence.
Status Generator::stepAll(Interruption& interruption) {
  DYN_TRY(const bool wasDrafted, stepDraft(interruption));
  if (wasDrafted) return keepRunning();
  TokenRows tokens;
  for (const size_t sequence : active_) tokens.push_back({sequences_.at(sequence).history.back()});
  const Status run = runRows(batch_, active_, tokens, interruption);
  if (run.ok()) return keepRunning();
  if (run.error().id == DiagnosticId::cancelled || active_.size() == 1) return run;
  return stepEach(tokens, interruption);
}

// No more tokens than may follow.
std::vector<int64_t> Generator::draftOf(const Sequence& sequence) const {
  const int64_t left = sequence.request.maxNew - static_cast<int64_t>(sequence.made.ids.size());
  return sequence.lookup.draft(sequence.history, static_cast<size_t>(std::max<int64_t>(1, left) - 1));
}

// A step of the one sequence over a draft of its next tokens; false: there is none, or the model takes none.
Result<bool> Generator::stepDraft(Interruption& interruption) {
  if (mostDraft_ == 0 || active_.size() != 1 || !takesDrafts_.value_or(true)) return false;
  const size_t number = active_[0];
  Sequence& sequence = sequences_.at(number);
  std::vector<int64_t> tokens = draftOf(sequence);
  if (tokens.empty()) return false;
  const int64_t last = sequence.history.back();
  if (!takesDrafts_) {
    DYN_TRY(takesDrafts_, steps_->findDrafts(batch_, last, interruption));
    if (!*takesDrafts_) return false;
  }
  const size_t draftedCount = tokens.size();
  tokens.insert(tokens.begin(), last);
  DYN_TRY(ScoreRows scores, steps_->runDraft(batch_, tokens, interruption));
  ++stepsCount_;
  ++rowsCount_;
  size_t acceptedCount = 0;
  for (;; ++acceptedCount) {
    const Status added = add(sequence, number, scores[acceptedCount]);
    if (!added.ok()) fail(number, added.error());
    if (acceptedCount == draftedCount || !isRunning(number) ||
        sequence.history.back() != tokens[acceptedCount + 1])
      break;
  }
  sequence.lookup.note(draftedCount, acceptedCount);
  draftTokensCount_ += static_cast<int64_t>(draftedCount);
  acceptedTokensCount_ += static_cast<int64_t>(acceptedCount);
  DYN_CHECK(steps_->dropLast(batch_, static_cast<int64_t>(draftedCount - acceptedCount)));
  return true;
}

// One of them fails, so each takes this step by itself.
Status Generator::stepEach(const TokenRows& tokens, Interruption& interruption) {
  std::vector<Started> all;
  for (size_t row = 0; row < active_.size(); ++row) {
    Started alone{{}, {active_[row]}};
    DYN_TRY(alone.batch, steps_->batchOf({{&batch_, row}}));
    const Status run = runRows(alone.batch, alone.sequences, {tokens[row]}, interruption);
    if (!run.ok() && run.error().id == DiagnosticId::cancelled) return run;
    if (!run.ok()) fail(active_[row], run.error());
    if (isRunning(active_[row])) all.push_back(std::move(alone));
  }
  active_.clear();
  batch_ = {};
  return join(all);
}

Status Generator::runRows(DecoderBatch& batch, const std::vector<size_t>& sequences, const TokenRows& tokens,
                          Interruption& interruption, std::vector<float>* firstScores) {
  DYN_TRY(ScoreRows scores, steps_->run(batch, tokens, interruption));
  if (firstScores) *firstScores = scores[0];
  ++stepsCount_;
  rowsCount_ += static_cast<int64_t>(sequences.size());
  for (size_t row = 0; row < sequences.size(); ++row) {
    Sequence& sequence = sequences_.at(sequences[row]);
    const Status added = add(sequence, sequences[row], scores[row]);
    if (!added.ok()) fail(sequences[row], added.error());
  }
  return {};
}

// The next token of a sequence, by these scores.
Status Generator::add(Sequence& sequence, size_t number, std::span<float> scores) {
  if (sequence.request.hook) DYN_CHECK(sequence.request.hook(sequence.history, scores));
  DYN_TRY(const int64_t token, sequence.sampler.pick(scores, sequence.history));
  return take(sequence, number, token);
}

Status Generator::take(Sequence& sequence, size_t number, int64_t token) {
  GeneratedSequence& made = sequence.made;
  if (made.ids.empty()) made.firstTokenNs = steadyNs() - sequence.addedNs;
  made.ids.push_back(token);
  sequence.history.push_back(token);
  if (sequence.request.stopTokens.contains(token)) {
    made.end = GenerationEnd::stopToken;
    return {};
  }
  DYN_TRY(const bool ends, sequence.request.sink(number, token));
  if (ends)
    made.end = GenerationEnd::stopText;
  else if (static_cast<int64_t>(made.ids.size()) >= sequence.request.maxNew)
    made.end = GenerationEnd::length;
  return {};
}

}  // namespace dyn
