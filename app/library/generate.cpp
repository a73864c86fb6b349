// Generators: decoders that continue prompts, as app/engine/generate does it.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>

#include "app/engine/generate/decoder_ports.h"
#include "app/engine/generate/end_tokens.h"
#include "app/engine/generate/generator.h"
#include "app/engine/generate/row_sharing.h"
#include "app/engine/generate/text_until_stop.h"
#include "app/engine/generate/token_table.h"
#include "app/library/include/dyn_generate.h"
#include "app/library/model.h"
#include "app/session/session_state.h"
#ifdef DYN_HAVE_TOKENIZER
#include "app/tokenizer/token_stream.h"
#endif

namespace dyn::library {

namespace {

#ifdef DYN_HAVE_TOKENIZER
using OwnTokenizer = std::unique_ptr<const tokenizer::Tokenizer>;
#endif

// The text of one sequence, as its tokens come.
struct SequenceText {
  explicit SequenceText(std::vector<std::string> stops) : untilStop(std::move(stops)) {}
#ifdef DYN_HAVE_TOKENIZER
  std::unique_ptr<tokenizer::TokenStream> stream;  // null: there is no tokenizer
#endif
  TextUntilStop untilStop;
  dyn_status hookStatus = DYN_OK;

  Result<std::string> add([[maybe_unused]] int64_t token) {
#ifdef DYN_HAVE_TOKENIZER
    if (!stream) return std::string();
    DYN_TRY(const std::string piece, stream->add(token));
    return untilStop.add(piece);
#else
    return std::string();
#endif
  }
  // What is left where nothing follows.
  Result<std::string> finish() {
    std::string rest;
#ifdef DYN_HAVE_TOKENIZER
    if (!stream || untilStop.hasEnded()) return rest;
    DYN_TRY(rest, stream->finish());
    rest = untilStop.add(rest);
    rest += untilStop.finish();
#endif
    return rest;
  }
};

struct Token {
  int64_t sequence = 0, id = -1;
  std::string text;
  GenerationEnd end = GenerationEnd::running;
  dyn_status status = DYN_OK;
  std::string message;
  double score = 0;
};

// A prompt that was submitted and has not joined.
struct Submitted {
  SequenceRequest request;
  std::unique_ptr<SequenceText> text;
};

}  // namespace

}  // namespace dyn::library

struct dyn_generator {
  std::shared_ptr<dyn_module> module;
  dyn::Signature signature;
  dyn::EngineOptions options;
  dyn::DecoderPorts ports;
#ifdef DYN_HAVE_TOKENIZER
  dyn::library::OwnTokenizer tokenizer;  // may be null
#endif
  std::set<int64_t> endTokens;
  std::string sharing;
  dyn::Interruption interruption;

  // Of the thread in dyn_generator_next.
  std::unique_ptr<dyn::Generator> generator;
  std::map<int64_t, std::unique_ptr<dyn::library::SequenceText>> texts;  // of sequences that have not ended
  std::deque<dyn::library::Token> tokens;                                // not given yet
  dyn::library::Token given;

  std::mutex mutex;  // guards what follows
  std::deque<dyn::library::Submitted> submitted;
  std::vector<int64_t> cancelled;
  int64_t submittedCount = 0;
  dyn_generator_statistics counts{};  // of the generator, after its last step
};

namespace dyn::library {

namespace {

constexpr int32_t kDefaultBatch = 16;
constexpr int64_t kDefaultNew = 32;

Status readTokenizer(dyn_generator& made, const char* path) {
  if (!path) return {};
#ifdef DYN_HAVE_TOKENIZER
  DYN_TRY(tokenizer::Tokenizer read, tokenizer::Tokenizer::read(path));
  made.tokenizer = std::make_unique<const tokenizer::Tokenizer>(std::move(read));
  return {};
#else
  (void)made;
  return makeError(DiagnosticId::unsupportedFeature,
                   "unsupported: this build reads no tokenizers: it was made without the libraries Oniguruma "
                   "and utf8proc");
#endif
}

std::optional<int64_t> idOf([[maybe_unused]] const dyn_generator& generator,
                            [[maybe_unused]] const std::string& token) {
#ifdef DYN_HAVE_TOKENIZER
  if (generator.tokenizer) return generator.tokenizer->idOf(token);
#endif
  return std::nullopt;
}

bool hasTokenizer([[maybe_unused]] const dyn_generator& generator) {
#ifdef DYN_HAVE_TOKENIZER
  return generator.tokenizer != nullptr;
#else
  return false;
#endif
}

Result<PortChoices> choicesOf(const dyn_generator_options& asked) {
  if ((!asked.inputs && asked.input_count > 0) || (!asked.ports && asked.port_count > 0))
    return badArgument("inputs or ports is a null pointer");
  PortChoices choices;
  std::vector<std::string> ports;
  for (size_t i = 0; i < asked.port_count; ++i) {
    if (!asked.ports[i]) return badArgument("port " + std::to_string(i) + " is a null pointer");
    ports.emplace_back(asked.ports[i]);
  }
  DYN_TRY(choices.ports, parsePortChoices(ports));
  for (size_t i = 0; i < asked.input_count; ++i) {
    if (!asked.inputs[i].name)
      return badArgument("the name of input " + std::to_string(i) + " is a null pointer");
    choices.given.emplace_back(asked.inputs[i].name);
  }
  return choices;
}

// A copy of a value that the caller gives.
Result<Value> givenValue(const dyn_generator_input& given, const Signature& signature) {
  const auto port = std::find_if(signature.inputs.begin(), signature.inputs.end(),
                                 [&](const Port& one) { return one.info.name == given.name; });
  const auto wrong = [&](const std::string& what) {
    return badArgument("input " + std::string(given.name) + ": " + what);
  };
  if (port == signature.inputs.end()) return wrong("the model has no such input");
  if (given.rank < 0 || (given.rank > 0 && !given.shape) || (given.size_bytes > 0 && !given.data))
    return wrong("shape or data is a null pointer");
  if (static_cast<int32_t>(given.dtype) != static_cast<int32_t>(port->dtype) ||
      static_cast<size_t>(given.rank) != port->info.shape.size())
    return wrong("it is " + port->info.type);
  DYN_TRY(HostTensor tensor, HostTensor::create(port->dtype, {given.shape, given.shape + given.rank}));
  if (static_cast<size_t>(tensor.sizeBytes()) != given.size_bytes)
    return wrong(std::to_string(given.size_bytes) + " bytes are given, its shape takes " +
                 std::to_string(tensor.sizeBytes()));
  if (given.size_bytes > 0) std::memcpy(tensor.mutableData(), given.data, given.size_bytes);
  return Value(std::move(tensor));
}

Result<std::unique_ptr<dyn_generator>> createGenerator(dyn_model& model, const dyn_generator_options& asked) {
  auto made = std::make_unique<dyn_generator>();
  DYN_CHECK(readTokenizer(*made, asked.tokenizer));
  DYN_TRY(const PortChoices choices, choicesOf(asked));
  DecoderOptions decoder;
  size_t maxBatch = static_cast<size_t>(asked.max_batch > 0 ? asked.max_batch : kDefaultBatch);
  const Status done = model.session->visit([&](SessionState& state) -> Status {
    DYN_TRY(LoadedModel * loaded, state.model());
    state.progress("compiling " + loaded->info().path);
    DYN_TRY(VmModule module, loaded->newProgram());
    made->module = std::shared_ptr<dyn_module>(module.release(), dyn_module_release);
    made->signature = loaded->signature();
    made->options = state.now.options;
    for (size_t i = 0; i < asked.input_count; ++i) {
      DYN_TRY(Value value, givenValue(asked.inputs[i], made->signature));
      decoder.given.insert_or_assign(asked.inputs[i].name, std::move(value));
    }
    DYN_TRY(made->ports, decoderPorts(made->signature, choices));
    made->ports.tokensCount = tokensCountOf(loaded->typed(), made->ports.ids);
    std::string why = whyRowsRunAlone(*loaded, made->ports);
    decoder.sharesRows = why.empty();
    if (!decoder.given.empty()) why = "inputs are given for one sequence";
    made->sharing = why.empty() ? "along " + made->ports.batch : "one by one: " + why;
    if (!why.empty()) maxBatch = 1;
    const EndTokens end = endTokensBeside(loaded->info().path, asked.tokenizer ? asked.tokenizer : "");
    made->endTokens.insert(end.ids.begin(), end.ids.end());
    if (const std::optional<int64_t> id = idOf(*made, end.token)) made->endTokens.insert(*id);
    return {};
  });
  if (!done.ok()) return Error{done.error()};
  const DecoderProgram program{made->module.get(), nullptr, &made->signature, &made->options};
  DYN_TRY(made->generator,
          Generator::begin(program, made->ports,
                           {std::move(decoder), maxBatch, static_cast<size_t>(asked.prompt_lookup),
                            static_cast<size_t>(asked.prefill_chunk)}));
  return made;
}

Result<std::vector<int64_t>> idsOf(const dyn_generator& generator, const dyn_prompt& prompt) {
  std::vector<int64_t> ids;
  if (!prompt.text == !prompt.ids) return badArgument("give either text or ids");
  if (prompt.text && !hasTokenizer(generator))
    return badArgument("a prompt of text needs dyn_generator_options.tokenizer");
#ifdef DYN_HAVE_TOKENIZER
  if (prompt.text) {
    DYN_TRY(ids, generator.tokenizer->encode(prompt.text, tokenizer::SpecialTokens::added));
  }
#endif
  if (prompt.ids) ids.assign(prompt.ids, prompt.ids + prompt.id_count);
  if (ids.empty()) return badArgument("the prompt has no tokens");
  for (const int64_t id : ids)
    if (id < 0) return badArgument("token " + std::to_string(id) + " of the prompt is negative");
  return ids;
}

Result<SamplingPolicy> samplingOf(const dyn_prompt& prompt) {
  SamplingPolicy policy;
  policy.temperature = prompt.temperature;
  policy.topK = prompt.top_k;
  if (prompt.top_p != 0) policy.topP = prompt.top_p;
  if (prompt.repetition_penalty != 0) policy.repetitionPenalty = prompt.repetition_penalty;
  policy.seed = prompt.seed;
  const bool isValid = policy.temperature >= 0 && policy.topK >= 0 && policy.topP > 0 && policy.topP <= 1 &&
                       policy.repetitionPenalty > 0;
  if (!isValid)
    return badArgument(
        "temperature and top_k are not negative, top_p is above 0 and at most 1, repetition_penalty is above "
        "0");
  return policy;
}

Result<BeamPolicy> beamsOf(const dyn_prompt& prompt) {
  BeamPolicy policy;
  if (prompt.beam_count < 0 || prompt.beam_count > 1024)
    return badArgument("beam_count is not from 0 to 1024");
  if (prompt.beam_count > 0) policy.count = static_cast<size_t>(prompt.beam_count);
  if (prompt.length_penalty != 0) policy.lengthPenalty = prompt.length_penalty;
  if (!std::isfinite(policy.lengthPenalty)) return badArgument("length_penalty is no finite number");
  policy.endsEarly = prompt.early_stopping != 0;
  const bool draws = prompt.temperature != 0 || prompt.top_k != 0 || (prompt.top_p != 0 && prompt.top_p != 1);
  if (policy.count > 1 && draws)
    return badArgument(
        "a beam search draws nothing: temperature, top_k and top_p stay unset where beam_count is "
        "above 1");
  return policy;
}

// What of the stops are texts; the others become tokens of the request.
Result<std::vector<std::string>> stopsOf(const dyn_generator& generator, const dyn_prompt& prompt,
                                         SequenceRequest& request) {
  if ((!prompt.stops && prompt.stop_count > 0) || (!prompt.stop_ids && prompt.stop_id_count > 0))
    return badArgument("stops or stop_ids is a null pointer");
  std::vector<std::string> texts;
  for (size_t i = 0; i < prompt.stop_id_count; ++i)
    if (prompt.stop_ids[i] < 0 || prompt.stop_ids[i] >= generator.ports.scoredCount.value_or(INT64_MAX))
      return badArgument("stop token " + std::to_string(prompt.stop_ids[i]) + ": " +
                         (prompt.stop_ids[i] < 0 ? "ids are not negative"
                                                 : "the model gives tokens 0 to " +
                                                       std::to_string(*generator.ports.scoredCount - 1)));
  if (prompt.stop_id_count > 0)
    request.stopTokens.insert(prompt.stop_ids, prompt.stop_ids + prompt.stop_id_count);
  for (size_t i = 0; i < prompt.stop_count; ++i) {
    if (!prompt.stops[i]) return badArgument("stop " + std::to_string(i) + " is a null pointer");
    if (!hasTokenizer(generator))
      return badArgument("stop '" + std::string(prompt.stops[i]) +
                         "' needs a tokenizer; stop_ids does without");
    if (const std::optional<int64_t> id = idOf(generator, prompt.stops[i]))
      request.stopTokens.insert(*id);
    else
      texts.emplace_back(prompt.stops[i]);
  }
  if (prompt.ignores_end_tokens == 0)
    request.stopTokens.insert(generator.endTokens.begin(), generator.endTokens.end());
  return texts;
}

ScoresHook hookOf(const dyn_prompt& prompt, int64_t number, SequenceText& text) {
  if (!prompt.score) return nullptr;
  return [score = prompt.score, user = prompt.user, number, &text](std::span<const int64_t> tokens,
                                                                   std::span<float> scores) -> Status {
    text.hookStatus = score(user, number, tokens.data(), tokens.size(), scores.data(), scores.size());
    if (text.hookStatus == DYN_OK) return {};
    return makeError(DiagnosticId::usageError,
                     std::string("dyn_prompt.score returned: ") + dyn_status_text(text.hookStatus));
  };
}

Status submitPrompt(dyn_generator& generator, const dyn_prompt& prompt, int64_t* sequence) {
  Submitted made;
  SequenceRequest& request = made.request;
  DYN_TRY(request.prompt, idsOf(generator, prompt));
  DYN_TRY(request.sampling, samplingOf(prompt));
  DYN_TRY(request.beams, beamsOf(prompt));
  if (prompt.max_new < 0) return badArgument("max_new is negative");
  request.maxNew = prompt.max_new > 0 ? prompt.max_new : kDefaultNew;
  request.stream = prompt.stream;
  DYN_TRY(std::vector<std::string> stops, stopsOf(generator, prompt, request));
  made.text = std::make_unique<SequenceText>(std::move(stops));
#ifdef DYN_HAVE_TOKENIZER
  if (generator.tokenizer)
    made.text->stream = std::make_unique<tokenizer::TokenStream>(*generator.tokenizer, request.prompt);
#endif
  SequenceText& text = *made.text;
  request.sink = [&generator, &text](size_t number, int64_t token) -> Result<bool> {
    DYN_TRY(std::string piece, text.add(token));
    Token& made = generator.tokens.emplace_back();
    made.sequence = static_cast<int64_t>(number);
    made.id = token;
    made.text = std::move(piece);
    return text.untilStop.hasEnded();
  };
  const std::lock_guard<std::mutex> lock(generator.mutex);
  const int64_t number = generator.submittedCount++;
  request.hook = hookOf(prompt, number, text);
  generator.submitted.push_back(std::move(made));
  if (sequence) *sequence = number;
  return {};
}

// What other threads asked for since the last step.
void takeSubmitted(dyn_generator& generator) {
  const std::lock_guard<std::mutex> lock(generator.mutex);
  for (Submitted& one : generator.submitted) {
    const size_t number = generator.generator->add(std::move(one.request));
    generator.texts.emplace(static_cast<int64_t>(number), std::move(one.text));
  }
  generator.submitted.clear();
  for (const int64_t number : generator.cancelled) generator.generator->cancel(static_cast<size_t>(number));
  generator.cancelled.clear();
}

// The last token of a sequence that has ended: the one of this step, the stop token, or one without an id.
Token& lastToken(dyn_generator& generator, int64_t number, const GeneratedSequence& sequence) {
  const auto found = std::find_if(generator.tokens.rbegin(), generator.tokens.rend(),
                                  [&](const Token& token) { return token.sequence == number; });
  const bool isStop = sequence.end == GenerationEnd::stopToken;
  const bool isOfStep = sequence.end == GenerationEnd::length || sequence.end == GenerationEnd::stopText;
  if (isOfStep && found != generator.tokens.rend()) return *found;
  Token& made = generator.tokens.emplace_back();
  made.sequence = number;
  if (isStop) made.id = sequence.ids.back();
  return made;
}

void giveEnds(dyn_generator& generator) {
  for (auto next = generator.texts.begin(); next != generator.texts.end();) {
    const GeneratedSequence& sequence = generator.generator->sequence(static_cast<size_t>(next->first));
    if (sequence.end == GenerationEnd::running) {
      ++next;
      continue;
    }
    Token& last = lastToken(generator, next->first, sequence);
    last.end = sequence.end;
    last.score = sequence.score;
    if (sequence.end == GenerationEnd::interrupted) last.status = DYN_CANCELLED;
    Result<std::string> rest = next->second->finish();
    if (rest.ok()) last.text += *rest;
    std::optional<Diagnostic> error = sequence.error;
    if (!rest.ok() && !error) error = rest.error();
    if (error) {
      const dyn_status hook = next->second->hookStatus;
      last.end = GenerationEnd::failed;
      last.status = hook != DYN_OK ? hook : statusOf(error->id);
      last.message = error->message;
    }
    generator.generator->forget(static_cast<size_t>(next->first));
    next = generator.texts.erase(next);
  }
}

void countStep(dyn_generator& generator, int64_t tokenCount) {
  const std::lock_guard<std::mutex> lock(generator.mutex);
  dyn_generator_statistics& counts = generator.counts;
  const Generator& own = *generator.generator;
  counts.tokens_count += tokenCount;
  counts.running_count = static_cast<int64_t>(own.activeCount());
  counts.waiting_count = static_cast<int64_t>(own.waitingCount());
  counts.ended_count = static_cast<int64_t>(own.addedCount() - generator.texts.size());
  counts.steps_count = own.stepsCount();
  counts.rows_count = own.rowsCount();
  counts.shared_tokens_count = own.sharedTokensCount();
  counts.draft_tokens_count = own.draftTokensCount();
  counts.accepted_tokens_count = own.acceptedTokensCount();
  counts.growing_caches_count = own.growingCount();
  counts.shares_lengths = own.sharesLengths() ? 1 : 0;
}

// A step, whose tokens wait then. An interruption, its only error, has ended all sequences; their tokens say
// it.
void stepOnce(dyn_generator& generator) {
  if (!generator.generator->step(generator.interruption).ok()) generator.interruption.reset();
  giveEnds(generator);
  countStep(generator, std::count_if(generator.tokens.begin(), generator.tokens.end(),
                                     [](const Token& token) { return token.id >= 0; }));
}

dyn_sequence_end endOf(GenerationEnd end) {
  switch (end) {
    case GenerationEnd::running:
      return DYN_SEQUENCE_RUNS;
    case GenerationEnd::length:
      return DYN_SEQUENCE_LENGTH;
    case GenerationEnd::stopToken:
      return DYN_SEQUENCE_STOP_TOKEN;
    case GenerationEnd::stopText:
      return DYN_SEQUENCE_STOP_TEXT;
    case GenerationEnd::interrupted:
      return DYN_SEQUENCE_CANCELLED;
    case GenerationEnd::failed:
      return DYN_SEQUENCE_FAILED;
  }
  return DYN_SEQUENCE_FAILED;
}

Status nextToken(dyn_generator& generator, dyn_token& target, bool& isThere) {
  while (generator.tokens.empty()) {
    takeSubmitted(generator);
    if (generator.interruption.requested()) {
      generator.interruption.reset();
      generator.generator->cancelAll();
      giveEnds(generator);
      countStep(generator, 0);
      continue;
    }
    if (generator.generator->isIdle() && generator.texts.empty()) return {};
    stepOnce(generator);
  }
  generator.given = std::move(generator.tokens.front());
  generator.tokens.pop_front();
  isThere = true;
  const Token& given = generator.given;
  dyn_token made{};
  made.sequence = given.sequence;
  made.id = given.id;
  made.text = given.text.c_str();
  made.end = endOf(given.end);
  made.status = given.status;
  made.message = given.message.c_str();
  made.score = given.score;
  return give(made, &target);
}

}  // namespace

}  // namespace dyn::library

using namespace dyn;
using namespace dyn::library;

extern "C" {

dyn_status dyn_generator_create(dyn_model* model, const dyn_generator_options* options,
                                dyn_generator** generator) {
  if (generator) *generator = nullptr;
  return reporting([&]() -> Status {
    if (!model || !generator) return badArgument("model or generator is a null pointer");
    dyn_generator_options asked{};
    if (options) {
      DYN_TRY(asked, taken(*options, offsetof(dyn_generator_options, inputs), "dyn_generator_options"));
    }
    if (asked.max_batch < 0) return badArgument("max_batch is negative");
    if (asked.prompt_lookup < 0 || asked.prompt_lookup > 256)
      return badArgument("prompt_lookup is not from 0 to 256");
    if (asked.prefill_chunk < 0) return badArgument("prefill_chunk is negative");
    DYN_TRY(std::unique_ptr<dyn_generator> made, createGenerator(*model, asked));
    made->counts.caches_count = static_cast<int64_t>(made->ports.caches.size());
    made->counts.shares_lengths = 1;
    *generator = made.release();
    return {};
  });
}

void dyn_generator_release(dyn_generator* generator) { delete generator; }

const char* dyn_generator_sharing(const dyn_generator* generator) {
  return generator ? generator->sharing.c_str() : "";
}

dyn_status dyn_generator_submit(dyn_generator* generator, const dyn_prompt* prompt, int64_t* sequence) {
  if (sequence) *sequence = -1;
  return reporting([&]() -> Status {
    if (!generator || !prompt) return badArgument("generator or prompt is a null pointer");
    DYN_TRY(const dyn_prompt asked, taken(*prompt, offsetof(dyn_prompt, beam_count), "dyn_prompt"));
    return submitPrompt(*generator, asked, sequence);
  });
}

void dyn_generator_cancel(dyn_generator* generator, int64_t sequence) {
  if (!generator || sequence < 0) return;
  const std::lock_guard<std::mutex> lock(generator->mutex);
  if (sequence < generator->submittedCount) generator->cancelled.push_back(sequence);
}

void dyn_generator_interrupt(dyn_generator* generator) {
  if (generator) generator->interruption.request();
}

dyn_status dyn_generator_next(dyn_generator* generator, dyn_token* token) {
  bool isThere = false;
  const dyn_status status = reporting([&]() -> Status {
    if (!generator || !token) return badArgument("generator or token is a null pointer");
    if (token->size < sizeof(size_t) || token->size > 4096) return give(dyn_token{}, token);
    return nextToken(*generator, *token, isThere);
  });
  return status == DYN_OK && !isThere ? DYN_NO_TOKEN : status;
}

dyn_status dyn_generator_get_statistics(dyn_generator* generator, dyn_generator_statistics* statistics) {
  return reporting([&]() -> Status {
    if (!generator) return badArgument("generator is a null pointer");
    const std::lock_guard<std::mutex> lock(generator->mutex);
    dyn_generator_statistics made = generator->counts;
    made.submitted_count = generator->submittedCount;
    made.waiting_count += static_cast<int64_t>(generator->submitted.size());
    return give(made, statistics);
  });
}

}  // extern "C"
