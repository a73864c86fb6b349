// Handler: generate, a decoder that continues prompts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/engine/generate/decoder_ports.h"
#include "app/engine/generate/end_tokens.h"
#include "app/engine/generate/generation.h"
#include "app/engine/generate/row_sharing.h"
#include "app/engine/generate/token_table.h"
#include "app/engine/inputs/input_spec.h"
#include "app/session/handlers/generate/generation_text.h"
#include "app/session/handlers/generate/prompts.h"
#include "app/session/session_state.h"
#include "app/session/views/view_text.h"
#ifdef DYN_HAVE_TOKENIZER
#include "app/session/views/generate_views.h"
#include "app/session/views/view.h"
#include "app/tokenizer/tokenizer.h"
#endif

namespace dyn {

namespace {

#ifdef DYN_HAVE_TOKENIZER
using OwnTokenizer = std::unique_ptr<const tokenizer::Tokenizer>;
Result<OwnTokenizer> tokenizerOf(const Command& command) {
  if (!command.has("tokenizer")) return OwnTokenizer();
  DYN_TRY(tokenizer::Tokenizer made, tokenizer::Tokenizer::read(command.text("tokenizer")));
  return std::make_unique<const tokenizer::Tokenizer>(std::move(made));
}
Result<std::vector<int64_t>> idsOfPrompt(const OwnTokenizer& tokenizer, const Prompt& prompt) {
  if (!prompt.isText) return prompt.ids;
  if (!tokenizer)
    return makeError(DiagnosticId::usageError, "a prompt of text needs --tokenizer tokenizer.json")
        .note("a prompt of ids does without: --prompt ids:15,7,3");
  return tokenizer->encode(prompt.text, tokenizer::SpecialTokens::added);
}
std::optional<int64_t> idOfToken(const OwnTokenizer& tokenizer, const std::string& token) {
  return tokenizer ? tokenizer->idOf(token) : std::nullopt;
}
std::string textOfToken(const OwnTokenizer& tokenizer, int64_t id) {
  const std::string text = tokenizer ? tokenizer->tokenOf(id) : "";
  return text.empty() ? std::to_string(id) : text;
}
#else
using OwnTokenizer = std::unique_ptr<const tokenizer::Tokenizer, void (*)(const tokenizer::Tokenizer*)>;
Result<OwnTokenizer> tokenizerOf(const Command& command) {
  if (command.has("tokenizer"))
    return makeError(
        DiagnosticId::unsupportedFeature,
        "unsupported: this build reads no tokenizers: it was made without the libraries Oniguruma "
        "and utf8proc");
  return OwnTokenizer(nullptr, [](const tokenizer::Tokenizer*) {});
}
Result<std::vector<int64_t>> idsOfPrompt(const OwnTokenizer&, const Prompt& prompt) {
  if (!prompt.isText) return prompt.ids;
  return makeError(DiagnosticId::usageError, "a prompt of text needs --tokenizer tokenizer.json");
}
std::optional<int64_t> idOfToken(const OwnTokenizer&, const std::string&) { return std::nullopt; }
std::string textOfToken(const OwnTokenizer&, int64_t id) { return std::to_string(id); }
#endif

Result<SamplingPolicy> samplingOf(const Command& command, uint64_t seed) {
  SamplingPolicy policy;
  policy.seed = seed;
  DYN_TRY(policy.topK, command.integer("top-k", 0));
  DYN_TRY(policy.topP, command.number("top-p", 1));
  DYN_TRY(policy.repetitionPenalty, command.number("repetition-penalty", 1));
  const bool draws = command.has("top-k") || command.has("top-p");
  DYN_TRY(policy.temperature, command.number("temperature", draws ? 1 : 0));
  if (policy.temperature < 0 || policy.topK < 0 || policy.topP <= 0 || policy.topP > 1 ||
      policy.repetitionPenalty <= 0)
    return makeError(DiagnosticId::usageError,
                     "--temperature and --top-k are not negative, --top-p is above 0 and at most 1, "
                     "--repetition-penalty is above 0");
  return policy;
}

// One beam: no search. Error: usageError.
Result<BeamPolicy> beamsOf(const Command& command) {
  BeamPolicy policy;
  DYN_TRY(const int64_t count, command.integer("beams", 1));
  DYN_TRY(policy.lengthPenalty, command.number("length-penalty", 1));
  policy.endsEarly = command.has("early-stopping");
  constexpr int64_t kMost = 1024;
  if (count < 1 || count > kMost)
    return makeError(DiagnosticId::usageError, fmt::format("--beams is a number from 1 to {}", kMost));
  if (!std::isfinite(policy.lengthPenalty))
    return makeError(DiagnosticId::usageError, "--length-penalty is a finite number");
  policy.count = static_cast<size_t>(count);
  for (const char* option : {"length-penalty", "early-stopping"})
    if (count == 1 && command.has(option))
      return makeError(DiagnosticId::usageError, fmt::format("--{} needs --beams above 1", option));
  for (const char* option : {"temperature", "top-k", "top-p"})
    if (count > 1 && command.has(option))
      return makeError(
          DiagnosticId::usageError,
          fmt::format("--beams searches for the most likely text, --{} draws one: not both", option));
  return policy;
}

// Error: the model never gives one of these.
Status checkStops(const std::vector<int64_t>& ids, std::optional<int64_t> scoredCount) {
  for (const int64_t id : ids)
    if (scoredCount && id >= *scoredCount)
      return makeError(DiagnosticId::usageError,
                       fmt::format("--stop {}: the model gives tokens 0 to {}", id, *scoredCount - 1));
  return {};
}

// A stop is a token where the tokenizer has it as one, else a text; without a tokenizer an id.
Status addStops(const Command& command, const OwnTokenizer& tokenizer, const DecoderPorts& ports,
                GenerationRequest& request, std::vector<std::string>& texts) {
  for (const std::string& stop : command.all("stop")) {
    if (const std::optional<int64_t> id = idOfToken(tokenizer, stop)) {
      request.stopTokens.insert(*id);
    } else if (tokenizer) {
      texts.push_back(stop);
    } else {
      DYN_TRY(const std::vector<Prompt> ids, parsePrompts({"ids:" + stop}));
      DYN_CHECK(checkStops(ids[0].ids, ports.scoredCount));
      request.stopTokens.insert(ids[0].ids.begin(), ids[0].ids.end());
    }
  }
  return {};
}

void addEndTokens(SessionState& state, const std::string& model, const Command& command,
                  const OwnTokenizer& tokenizer, GenerationRequest& request) {
  const EndTokens end = endTokensBeside(model, command.text("tokenizer"));
  std::vector<int64_t> ids = end.ids;
  if (const std::optional<int64_t> id = idOfToken(tokenizer, end.token)) ids.push_back(*id);
  std::string names;
  for (const int64_t id : ids) {
    request.stopTokens.insert(id);
    names += (names.empty() ? "" : ", ") + textOfToken(tokenizer, id);
  }
  if (!names.empty()) state.log("a text ends at " + names + " (" + end.file + ")");
}

// Rows share a step where they are proved not to see each other.
void settleBatch(SessionState& state, LoadedModel& model, const DecoderPorts& ports,
                 GenerationRequest& request) {
  const bool searches = request.beams.count > 1;
  if (!searches && (request.maxBatch < 2 || request.prompts.size() < 2)) return;
  std::string why = whyRowsRunAlone(model, ports);
  request.decoder.sharesRows = why.empty();
  if (searches) {
    if (!why.empty()) state.log("beams run one by one: " + why);
    return;
  }
  if (!request.decoder.given.empty()) why = "inputs are given for one sequence";
  if (why.empty()) return;
  request.maxBatch = 1;
  state.log("prompts run one by one: " + why);
}

// The values of --input, by the names of the inputs.
Result<std::map<std::string, Value>> givenValues(const SessionState& state, const Signature& signature,
                                                 const std::vector<std::string>& specs) {
  Signature given;
  for (const std::string& spec : specs) {
    const std::string name = spec.substr(0, spec.find('='));
    for (const Port& port : signature.inputs)
      if (port.info.name == name) given.inputs.push_back(port);
  }
  InputSources sources;
  DYN_TRY(const CallInputs inputs, makeInputs(given, {}, specs, state.now.options.seed, sources));
  std::map<std::string, Value> values;
  for (size_t i = 0; i < given.inputs.size(); ++i) values[given.inputs[i].info.name] = inputs.values[i];
  return values;
}

// What the command line says of ports.
Result<PortChoices> choicesOf(const Command& command) {
  PortChoices choices;
  DYN_TRY(choices.ports, parsePortChoices(command.all("port")));
  for (const std::string& spec : command.all("input"))
    choices.given.push_back(spec.substr(0, spec.find('=')));
  return choices;
}

// How the caches came to their new lengths.
std::string cachesText(const DecoderPorts& ports, int64_t growingCount) {
  const int64_t all = std::count_if(ports.caches.begin(), ports.caches.end(),
                                    [](const CachePort& cache) { return cache.kind == CacheKind::growing; });
  if (all == 0) return ports.caches.empty() ? "none" : "states";
  return growingCount == all ? "in place" : growingCount == 0 ? "copied" : "partly in place";
}

void logTimes(SessionState& state, const GenerateResult& result) {
  const int64_t laterNs = result.totalNs - result.firstTokenNs;
  std::string text =
      fmt::format("{} {} in {}", result.newTokensCount, result.newTokensCount == 1 ? "token" : "tokens",
                  durationText(result.totalNs));
  if (result.newTokensCount > 0) text += ", the first after " + durationText(result.firstTokenNs);
  if (result.newTokensCount > 1 && laterNs > 0)
    text += fmt::format(", then {:.4g} tokens/s",
                        static_cast<double>(result.newTokensCount - 1) * 1e9 / static_cast<double>(laterNs));
  if (result.draftTokensCount > 0)
    text +=
        fmt::format("; {} of {} draft tokens accepted", result.acceptedTokensCount, result.draftTokensCount);
  state.log(text);
}

// The ids of the prompts, which also go to `result`.
Result<std::vector<std::vector<int64_t>>> readPrompts(const Command& command, const OwnTokenizer& tokenizer,
                                                      GenerateResult& result) {
  DYN_TRY(const std::vector<Prompt> prompts, parsePrompts(command.all("prompt")));
  std::vector<std::vector<int64_t>> all;
  for (const Prompt& prompt : prompts) {
    DYN_TRY(std::vector<int64_t> ids, idsOfPrompt(tokenizer, prompt));
    const std::string text = prompt.isText ? prompt.text : fmt::format("{}", fmt::join(ids, " "));
    if (ids.empty()) return makeError(DiagnosticId::usageError, "prompt '" + text + "' has no tokens");
    GeneratedText& sequence = result.sequences.emplace_back();
    sequence.prompt = text;
    sequence.promptIds = ids;
    all.push_back(std::move(ids));
  }
  return all;
}

Result<GenerationRequest> readRequest(const Command& command, uint64_t seed) {
  GenerationRequest request;
  DYN_TRY(request.sampling, samplingOf(command, seed));
  DYN_TRY(request.beams, beamsOf(command));
  DYN_TRY(request.maxNew, command.integer("max-new", 32));
  DYN_TRY(const int64_t maxBatch, command.integer("max-batch", 1));
  if (request.maxNew < 1 || maxBatch < 1)
    return makeError(DiagnosticId::usageError, "--max-new and --max-batch are at least 1");
  request.maxBatch = static_cast<size_t>(maxBatch);
  DYN_TRY(const int64_t mostDraft, command.integer("prompt-lookup", 0));
  constexpr int64_t kLongestDraft = 256;
  if (mostDraft < 0 || mostDraft > kLongestDraft)
    return makeError(DiagnosticId::usageError,
                     fmt::format("--prompt-lookup is a number of tokens up to {}", kLongestDraft));
  if (mostDraft > 0 && request.beams.count > 1)
    return makeError(DiagnosticId::usageError,
                     "--prompt-lookup drafts one text, --beams has several: not both");
  request.mostDraft = static_cast<size_t>(mostDraft);
  DYN_TRY(const int64_t chunk, command.integer("prefill-chunk", 0));
  if (chunk < 0) return makeError(DiagnosticId::usageError, "--prefill-chunk is not negative");
  request.prefillChunk = static_cast<size_t>(chunk);
  return request;
}

// The error of the first prompt that failed, with those of the others as notes; nothing: none failed.
std::optional<Diagnostic> faultOf(const GenerationResult& made) {
  std::optional<Diagnostic> fault;
  for (size_t i = 0; i < made.sequences.size(); ++i) {
    if (!made.sequences[i].error) continue;
    Diagnostic own = *made.sequences[i].error;
    if (made.sequences.size() > 1) own.message = fmt::format("prompt {}: {}", i + 1, own.message);
    if (fault)
      fault->notes.push_back(own.message);
    else
      fault = std::move(own);
  }
  return fault;
}

bool haveAllFailed(const GenerationResult& made) {
  return std::all_of(made.sequences.begin(), made.sequences.end(),
                     [](const GeneratedSequence& sequence) { return sequence.error.has_value(); });
}

void takeResults(GenerationResult made, const OwnTokenizer& tokenizer, bool searched,
                 GenerateResult& result) {
  for (size_t i = 0; i < made.sequences.size(); ++i) {
    GeneratedText& sequence = result.sequences[i];
    sequence.ids = std::move(made.sequences[i].ids);
    sequence.end = toString(made.sequences[i].end);
    sequence.firstTokenNs = made.sequences[i].firstTokenNs;
    if (searched && !sequence.ids.empty()) sequence.score = made.sequences[i].score;
    if (made.sequences[i].error) sequence.error = made.sequences[i].error->message;
    if (made.sequences[i].end == GenerationEnd::stopToken)
      sequence.stop = textOfToken(tokenizer, sequence.ids.back());
    result.newTokensCount += static_cast<int64_t>(sequence.ids.size());
  }
  result.stepsCount = made.stepsCount;
  result.rowsCount = made.rowsCount;
  result.sharedTokensCount = made.sharedTokensCount;
  result.draftTokensCount = made.draftTokensCount;
  result.acceptedTokensCount = made.acceptedTokensCount;
  result.firstTokenNs = made.firstTokenNs;
  result.totalNs = made.totalNs;
}

}  // namespace

Result<View> handle_generate(SessionState& state, const Command& command, Outcome& outcome) {
  DYN_TRY(GenerationRequest request, readRequest(command, state.now.options.seed));
  DYN_TRY(LoadedModel * model, state.model());
  if (model->hasModule()) DYN_CHECK(model->ensureCompiled());  // the types of its outputs are known then
  DYN_TRY(const PortChoices choices, choicesOf(command));
  DYN_TRY(DecoderPorts ports, decoderPorts(model->signature(), choices));
  DYN_TRY(request.decoder.given, givenValues(state, model->signature(), command.all("input")));
  DYN_TRY(const OwnTokenizer tokenizer, tokenizerOf(command));
  GenerateResult result;
  DYN_TRY(request.prompts, readPrompts(command, tokenizer, result));
  std::vector<std::string> stopTexts;
  DYN_CHECK(addStops(command, tokenizer, ports, request, stopTexts));
  addEndTokens(state, model->info().path, command, tokenizer, request);
  settleBatch(state, *model, ports, request);

  DYN_TRY(CallInputs first,
          DecoderSteps::firstInputs(model->signature(), ports, request.prompts[0], request.decoder));
  DYN_TRY(const PreparedRun prepared, state.prepare(std::move(first)));
  DYN_TRY(dyn_module * module, prepared.model->program());
  const Signature signature = prepared.model->signature();
  DYN_TRY(ports, decoderPorts(signature, choices));  // of the program, which may be one made for these inputs
  ports.tokensCount = tokensCountOf(prepared.model->typed(), ports.ids);
  const DecoderProgram program{module, prepared.model->hasModule() ? &prepared.model->imported() : nullptr,
                               &signature, &state.now.options};
  GenerationText texts(tokenizer.get(), stopTexts, result,
                       [&](const std::string& text) { state.emitText(text); });
  GenerationResult made;
  const Status status = generate(
      program, ports, request,
      [&](size_t sequence, int64_t token) { return texts.add(sequence, token, made); }, state.interruption,
      made);
  if (!status.ok() && status.error().id != DiagnosticId::cancelled) return Error{status.error()};
  std::optional<Diagnostic> fault = faultOf(made);
  if (fault && haveAllFailed(made)) return Error{*fault};
  DYN_CHECK(texts.finish(made));
  if (!made.sharesLengths)
    state.log(std::string("only sequences of equal lengths share steps: ") +
              (ports.mask ? "padding changes the scores" : "the model has no mask"));
  result.caches = cachesText(ports, made.growingCount);
  takeResults(std::move(made), tokenizer, request.beams.count > 1, result);
  logTimes(state, result);
  outcome.error = status.ok() ? std::move(fault) : status.error();
  return makeView(std::move(result));
}

}  // namespace dyn
