#include "generator.h"

#include "fault.h"
#include "interruption.h"

namespace dynpython {

namespace {

nb::object viewOf(void* data, size_t bytes, int flags) {
  return nb::steal(PyMemoryView_FromMemory(static_cast<char*>(data), static_cast<Py_ssize_t>(bytes), flags));
}

}  // namespace

Generator::Generator(Model& model, const std::optional<std::string>& tokenizer, int32_t maxBatch,
                     const std::vector<GivenInput>& inputs, const std::vector<std::string>& ports,
                     int32_t promptLookup, int32_t prefillChunk) {
  std::vector<dyn_generator_input> given;
  for (const GivenInput& input : inputs)
    given.push_back({input.name.c_str(), static_cast<dyn_dtype>(input.dtype),
                     static_cast<int32_t>(input.shape.size()), input.shape.data(), input.bytes.data(),
                     input.bytes.size()});
  std::vector<const char*> roles;
  for (const std::string& port : ports) roles.push_back(port.c_str());
  dyn_generator_options options{};
  options.size = sizeof options;
  options.tokenizer = tokenizer ? tokenizer->c_str() : nullptr;
  options.max_batch = maxBatch;
  options.inputs = given.data();
  options.input_count = given.size();
  options.ports = roles.data();
  options.port_count = roles.size();
  options.prompt_lookup = promptLookup;
  options.prefill_chunk = prefillChunk;
  model.call([&](dyn_model* one) { return dyn_generator_create(one, &options, &generator_); });
}

Generator::~Generator() { dyn_generator_release(generator_); }

// On the thread of a step, without the interpreter's lock.
dyn_status Generator::score(void* user, int64_t, const int64_t* tokens, size_t tokenCount, float* scores,
                            size_t scoreCount) {
  auto* hook = static_cast<Hook*>(user);
  const nb::gil_scoped_acquire locked;
  try {
    hook->call(viewOf(const_cast<int64_t*>(tokens), tokenCount * sizeof *tokens, PyBUF_READ),
               viewOf(scores, scoreCount * sizeof *scores, PyBUF_WRITE));
    return DYN_OK;
  } catch (nb::python_error& raised) {
    if (!hook->owner->raised_) hook->owner->raised_ = std::make_unique<nb::python_error>(std::move(raised));
    return DYN_CANCELLED;
  }
}

int64_t Generator::submit(const std::optional<std::string>& text, const std::vector<int64_t>& ids,
                          int64_t maxNew, const std::vector<std::string>& stops,
                          const std::vector<int64_t>& stopIds, const Sampling& sampling, nb::object hook) {
  std::vector<const char*> texts;
  for (const std::string& stop : stops) texts.push_back(stop.c_str());
  dyn_prompt prompt{};
  prompt.size = sizeof prompt;
  prompt.text = text ? text->c_str() : nullptr;
  static constexpr int64_t kNone = 0;
  if (!text) prompt.ids = ids.empty() ? &kNone : ids.data();
  prompt.id_count = ids.size();
  prompt.max_new = maxNew;
  prompt.stops = texts.data();
  prompt.stop_count = texts.size();
  prompt.stop_ids = stopIds.data();
  prompt.stop_id_count = stopIds.size();
  prompt.ignores_end_tokens = sampling.ignoresEndTokens ? 1 : 0;
  prompt.temperature = sampling.temperature;
  prompt.top_k = sampling.topK;
  prompt.top_p = sampling.topP;
  prompt.repetition_penalty = sampling.repetitionPenalty;
  prompt.seed = sampling.seed;
  prompt.stream = sampling.stream;
  prompt.beam_count = sampling.beams;
  prompt.length_penalty = sampling.lengthPenalty;
  prompt.early_stopping = sampling.stopsEarly ? 1 : 0;
  std::unique_ptr<Hook> own;
  if (!hook.is_none()) {
    own = std::make_unique<Hook>(Hook{this, std::move(hook)});
    prompt.score = &score;
    prompt.user = own.get();
  }
  int64_t sequence = -1;
  if (const dyn_status status = dyn_generator_submit(generator_, &prompt, &sequence))
    throw modelFault(status);
  if (own) hooks_[sequence] = std::move(own);
  return sequence;
}

nb::object Generator::next() {
  dyn_token token{};
  token.size = sizeof token;
  dyn_status status = DYN_OK;
  workUnlocked(
      [&] {
        status = dyn_generator_next(generator_, &token);
        if (status != DYN_OK && status != DYN_NO_TOKEN) throw modelFault(status);
      },
      [&] { dyn_generator_interrupt(generator_); }, [] {});
  if (raised_) {
    const std::unique_ptr<nb::python_error> raised = std::move(raised_);
    throw nb::python_error(std::move(*raised));
  }
  if (status == DYN_NO_TOKEN) return nb::none();
  if (token.end != DYN_SEQUENCE_RUNS) hooks_.erase(token.sequence);
  return nb::make_tuple(token.sequence, token.id, textOf(token.text), static_cast<int>(token.end),
                        static_cast<int>(token.status), dyn_status_text(token.status), textOf(token.message),
                        token.score);
}

nb::dict Generator::statistics() {
  dyn_generator_statistics row{};
  row.size = sizeof row;
  if (const dyn_status status = dyn_generator_get_statistics(generator_, &row)) throw modelFault(status);
  nb::dict named;
  named["submitted_count"] = row.submitted_count;
  named["ended_count"] = row.ended_count;
  named["waiting_count"] = row.waiting_count;
  named["running_count"] = row.running_count;
  named["tokens_count"] = row.tokens_count;
  named["steps_count"] = row.steps_count;
  named["rows_count"] = row.rows_count;
  named["growing_caches_count"] = row.growing_caches_count;
  named["caches_count"] = row.caches_count;
  named["shares_lengths"] = row.shares_lengths != 0;
  named["shared_tokens_count"] = row.shared_tokens_count;
  named["draft_tokens_count"] = row.draft_tokens_count;
  named["accepted_tokens_count"] = row.accepted_tokens_count;
  return named;
}

}  // namespace dynpython
