// Generators by the C API: what a C program sees of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/library/include/dyn_generate.h"
#include "tests/support/temporary_folder.h"

namespace dyn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Attention over a cache of embeddings, without a mask: sequences of equal lengths share steps. Ids are 0..6.
constexpr const char* kDecoder =
    R"(fn @main(%input_ids: Tensor[(b, s), i64], %past_key_0: Tensor[(b, p, 4), f32], %table: Tensor[(7, 4), f32]) {
  %e = gather(%table, %input_ids) {axis = 0}
  %present_key_0 = concat(%past_key_0, %e) {axis = 1}
  %w = softmax(matmul(%e, transpose(%present_key_0) {perm = [0, 2, 1]})) {axis = -1}
  %logits = matmul(add(matmul(%w, %present_key_0), %e), transpose(%table) {perm = [1, 0]})
  return %logits, %present_key_0
}
)";
constexpr const char* kTable =
    "f32[7, 4] [[0.9, -0.2, 0.1, 0.3], [-0.4, 1.1, 0.2, -0.3], [0.2, 0.5, -1.2, 0.4], [-0.7, -0.6, 0.3, "
    "0.8], "
    "[0.1, 0.4, 0.9, -0.9], [0.6, -0.8, -0.5, -0.2], [-0.3, 0.2, 0.7, 1.2]]";

std::string withTable(std::string text) {
  const std::string parameter = ", %table: Tensor[(7, 4), f32]";
  text.erase(text.find(parameter), parameter.size());
  for (size_t at = text.find("%table"); at != std::string::npos; at = text.find("%table", at))
    text.replace(at, 6, kTable);
  return text;
}

std::string whatWasRefused() {
  dyn_diagnostic said{};
  said.size = sizeof said;
  return dyn_diagnostic_get(0, &said) == DYN_OK ? said.message : "";
}

struct Told {
  std::vector<int64_t> ids;
  dyn_sequence_end end = DYN_SEQUENCE_RUNS;
  dyn_status status = DYN_OK;
  std::string message;
  int ends = 0;
  double score = 0;
};

class Generators : public testing::Test {
 protected:
  ~Generators() override { dyn_generator_release(generator_); }

  // Without code generation there is nothing that runs.
  dyn_status create(const std::string& text, int32_t maxBatch = 0, const dyn_generator_options& more = {}) {
    const std::vector<dyn_option> list = {{"cache-dir", "none"}, {"threads", "1"}};
    const std::string path = folder_.write("m.dyn", text);
    dyn_model_options opened{};
    opened.size = sizeof opened;
    opened.path = path.c_str();
    opened.options = list.data();
    opened.option_count = list.size();
    dyn_model* model = nullptr;
    EXPECT_EQ(dyn_model_open(&opened, &model), DYN_OK) << whatWasRefused();
    dyn_generator_options options = more;
    options.size = sizeof options;
    options.max_batch = maxBatch;
    dyn_generator_release(generator_);
    const dyn_status status = dyn_generator_create(model, &options, &generator_);
    dyn_model_release(model);  // the generator needs it no more
    return status;
  }
  dyn_status submit(const std::vector<int64_t>& ids, dyn_prompt prompt = {}, int64_t* sequence = nullptr) {
    prompt.size = sizeof prompt;
    prompt.ids = ids.data();
    prompt.id_count = ids.size();
    return dyn_generator_submit(generator_, &prompt, sequence);
  }
  std::map<int64_t, Told> rest() {
    std::map<int64_t, Told> all;
    dyn_token token{};
    token.size = sizeof token;
    dyn_status status = DYN_OK;
    while ((status = dyn_generator_next(generator_, &token)) == DYN_OK) note(token, all);
    EXPECT_EQ(status, DYN_NO_TOKEN) << whatWasRefused();
    return all;
  }
  static void note(const dyn_token& token, std::map<int64_t, Told>& all) {
    Told& told = all[token.sequence];
    EXPECT_EQ(told.ends, 0) << "a token behind the last";
    if (token.id >= 0) told.ids.push_back(token.id);
    told.end = token.end;
    told.status = token.status;
    told.message = token.message;
    told.score = token.score;
    if (token.end != DYN_SEQUENCE_RUNS) ++told.ends;
  }
  dyn_generator_statistics statistics() {
    dyn_generator_statistics made{};
    made.size = sizeof made;
    EXPECT_EQ(dyn_generator_get_statistics(generator_, &made), DYN_OK);
    return made;
  }
  bool hasCode(dyn_status status) {
    if (status == DYN_UNSUPPORTED && whatWasRefused().find("LLVM") != std::string::npos) return false;
    EXPECT_EQ(status, DYN_OK) << whatWasRefused();
    return true;
  }

  test::TemporaryFolder folder_;
  dyn_generator* generator_ = nullptr;
};

TEST_F(Generators, SequencesOfEqualLengthsShareStepsAndAreWhatEachIsAlone) {
  if (!hasCode(create(withTable(kDecoder)))) GTEST_SKIP();
  EXPECT_THAT(dyn_generator_sharing(generator_), HasSubstr("along b"));
  const std::vector<std::vector<int64_t>> prompts = {{1, 5, 2}, {0}, {6, 4, 4}, {3, 3, 1}};
  dyn_prompt ten{};
  ten.max_new = 10;
  std::vector<std::vector<int64_t>> alone;
  for (const auto& prompt : prompts) {
    ASSERT_EQ(submit(prompt, ten), DYN_OK) << whatWasRefused();
    alone.push_back(rest().begin()->second.ids);
    EXPECT_EQ(alone.back().size(), 10U);
  }
  const int64_t before = statistics().steps_count;
  EXPECT_EQ(before, 40);
  for (const auto& prompt : prompts) ASSERT_EQ(submit(prompt, ten), DYN_OK);
  for (const auto& [number, told] : rest()) {
    EXPECT_EQ(told.ids, alone[static_cast<size_t>(number) - 4]);
    EXPECT_EQ(told.end, DYN_SEQUENCE_LENGTH);
  }
  const dyn_generator_statistics said = statistics();
  EXPECT_LT(said.steps_count - before, 25);
  EXPECT_EQ(said.rows_count, 80);
  EXPECT_EQ(said.tokens_count, 80);
  EXPECT_EQ(said.submitted_count, 8);
  EXPECT_EQ(said.ended_count, 8);
  EXPECT_EQ(said.running_count + said.waiting_count, 0);
  EXPECT_EQ(said.caches_count, 1);
}

TEST_F(Generators, PromptsThatBeginAlikeShareCaches) {
  if (!hasCode(create(withTable(kDecoder)))) GTEST_SKIP();
  std::vector<int64_t> alike;
  for (int64_t i = 0; i < 20; ++i) alike.push_back((3 * i) % 7);
  std::vector<std::vector<int64_t>> prompts(3, alike);
  for (size_t k = 0; k < prompts.size(); ++k)
    for (size_t i = 0; i < 16 + k; ++i) prompts[k].push_back(static_cast<int64_t>((i * (k + 2) + k) % 7));
  dyn_prompt four{};
  four.max_new = 4;
  std::vector<std::vector<int64_t>> alone;
  for (const auto& prompt : prompts) {
    ASSERT_EQ(submit(prompt, four), DYN_OK) << whatWasRefused();
    alone.push_back(rest().begin()->second.ids);
  }
  EXPECT_EQ(statistics().shared_tokens_count, 0);  // none waited while another ran
  for (const auto& prompt : prompts) ASSERT_EQ(submit(prompt, four), DYN_OK);
  for (const auto& [number, told] : rest()) EXPECT_EQ(told.ids, alone[static_cast<size_t>(number) - 3]);
  EXPECT_EQ(statistics().shared_tokens_count, 2 * 20);
  ASSERT_EQ(submit(prompts[1], four), DYN_OK);  // it is held for later ones
  EXPECT_EQ(rest().begin()->second.ids, alone[1]);
  EXPECT_EQ(statistics().shared_tokens_count, 3 * 20);
}

TEST_F(Generators, ValuesAreGivenAndPortsNamed) {
  std::string text = withTable(kDecoder);
  for (size_t at = text.find("%input_ids"); at != std::string::npos; at = text.find("%input_ids"))
    text.replace(at, 10, "%what");
  text.replace(text.find(") {"), 3, ", %source: Tensor[(t, 7), f32]) {");
  text.replace(text.find("return %logits"), 14,
               "%m = reduce_mean(%source, i64[1] [0]) %sum = add(%logits, %m) return %sum");
  std::vector<float> source(2 * 7, 0);
  source[4] = source[7 + 4] = 1000;  // the favourite
  const int64_t shape[] = {2, 7};
  dyn_generator_input given = {"source", DYN_F32, 2, shape, source.data(), source.size() * sizeof(float)};
  const char* const ports[] = {"ids=what", "logits=sum"};
  dyn_generator_options options{};
  options.inputs = &given;
  options.input_count = 1;
  options.ports = ports;
  options.port_count = 2;
  if (!hasCode(create(text, 8, options))) GTEST_SKIP();
  EXPECT_THAT(dyn_generator_sharing(generator_), HasSubstr("one by one: inputs are given"));
  source.assign(source.size(), 0);  // it was copied
  dyn_prompt three{};
  three.max_new = 3;
  ASSERT_EQ(submit({1, 2}, three), DYN_OK);
  EXPECT_THAT(rest().begin()->second.ids, ElementsAre(4, 4, 4));

  given.size_bytes -= 4;
  EXPECT_EQ(create(text, 8, options), DYN_INVALID_ARGUMENT);
  EXPECT_THAT(whatWasRefused(), HasSubstr("52 bytes are given, its shape takes 56"));
  given.size_bytes += 4;
  given.dtype = DYN_F64;
  EXPECT_EQ(create(text, 8, options), DYN_INVALID_ARGUMENT);
  EXPECT_THAT(whatWasRefused(), HasSubstr("Tensor[(t, 7), f32]"));
  options.input_count = 0;
  EXPECT_EQ(create(text, 8, options), DYN_UNSUPPORTED);
  EXPECT_THAT(whatWasRefused(), HasSubstr("source"));
  options.port_count = 0;
  EXPECT_NE(create(text, 8, options), DYN_OK);
}

TEST_F(Generators, DrawsDependOnSeedAndStreamAlone) {
  if (!hasCode(create(withTable(kDecoder)))) GTEST_SKIP();
  dyn_prompt drawn{};
  drawn.max_new = 30;
  drawn.temperature = 3;
  drawn.seed = 7;
  ASSERT_EQ(submit({1, 2}, drawn), DYN_OK);
  const std::vector<int64_t> first = rest()[0].ids;
  ASSERT_EQ(submit({4, 4}), DYN_OK);
  ASSERT_EQ(submit({1, 2}, drawn), DYN_OK);
  drawn.stream = 1;
  ASSERT_EQ(submit({1, 2}, drawn), DYN_OK);
  auto all = rest();
  EXPECT_EQ(all[2].ids, first);
  EXPECT_NE(all[3].ids, first);
}

// Forbids all tokens but one; fails a sequence; cancels another.
struct Hook {
  dyn_generator* generator = nullptr;
  int64_t only = -1, cancels = -1;
  size_t failsAt = 0;
  static dyn_status score(void* user, int64_t, const int64_t* tokens, size_t count, float* scores,
                          size_t scoreCount) {
    const auto* self = static_cast<const Hook*>(user);
    EXPECT_EQ(scoreCount, 7U);
    EXPECT_GE(tokens[0], 0);
    if (self->failsAt > 0 && count >= self->failsAt) return DYN_BAD_INPUT;
    if (self->cancels >= 0) dyn_generator_cancel(self->generator, self->cancels);
    for (size_t i = 0; i < scoreCount && self->only >= 0; ++i)
      if (static_cast<int64_t>(i) != self->only) scores[i] = -INFINITY;
    return DYN_OK;
  }
};

TEST_F(Generators, HooksChangeScoresFailAloneAndCancel) {
  if (!hasCode(create(withTable(kDecoder)))) GTEST_SKIP();
  ASSERT_EQ(submit({2, 3}), DYN_OK);
  const std::vector<int64_t> alone = rest()[0].ids;
  Hook forced, failing, cancelling;
  forced.only = 5;
  failing.failsAt = 4;
  cancelling.generator = generator_;
  dyn_prompt prompt{};
  prompt.score = &Hook::score;
  int64_t victim = -1;
  ASSERT_EQ(submit({2, 3}, {}, nullptr), DYN_OK);
  prompt.user = &forced;
  prompt.max_new = 3;
  ASSERT_EQ(submit({1, 6}, prompt), DYN_OK);
  prompt.user = &failing;
  prompt.max_new = 9;
  ASSERT_EQ(submit({1, 6}, prompt), DYN_OK);
  ASSERT_EQ(submit({5, 5}, {}, &victim), DYN_OK);
  cancelling.cancels = victim;
  prompt.user = &cancelling;
  ASSERT_EQ(submit({0, 1}, prompt), DYN_OK);
  auto all = rest();
  EXPECT_EQ(all[1].ids, alone);
  EXPECT_THAT(all[2].ids, ElementsAre(5, 5, 5));
  EXPECT_EQ(all[3].end, DYN_SEQUENCE_FAILED);
  EXPECT_EQ(all[3].status, DYN_BAD_INPUT);
  EXPECT_EQ(all[3].ids.size(), 2U);
  EXPECT_THAT(all[3].message, HasSubstr("score"));
  EXPECT_EQ(all[victim].end, DYN_SEQUENCE_CANCELLED);
  EXPECT_EQ(all[victim].status, DYN_CANCELLED);
  EXPECT_EQ(all[victim].ids.size(), 1U);
  EXPECT_EQ(all[victim + 1].ids.size(), 9U);
}

TEST_F(Generators, AFalseTokenFailsItsSequenceAlone) {
  if (!hasCode(create(withTable(kDecoder)))) GTEST_SKIP();
  ASSERT_EQ(submit({2, 3}), DYN_OK);
  const std::vector<int64_t> alone = rest()[0].ids;
  ASSERT_EQ(submit({2, 3}), DYN_OK);
  ASSERT_EQ(submit({2, 99}), DYN_OK);  // outside the table
  ASSERT_EQ(submit({2, 3}), DYN_OK);
  auto all = rest();
  EXPECT_EQ(all[1].ids, alone);
  EXPECT_EQ(all[3].ids, alone);
  EXPECT_EQ(all[2].end, DYN_SEQUENCE_FAILED);
  EXPECT_TRUE(all[2].ids.empty());
  EXPECT_EQ(all[2].status, DYN_BAD_INPUT);
  EXPECT_EQ(all[2].message, "token 99 at position 1 of the prompt: the model has tokens 0 to 6");
}

TEST_F(Generators, StopTokensEndAndPromptsComeFromOtherThreads) {
  if (!hasCode(create(withTable(kDecoder), 2))) GTEST_SKIP();
  dyn_prompt forty{};
  forty.max_new = 40;
  ASSERT_EQ(submit({1, 2, 3}, forty), DYN_OK);
  const std::vector<int64_t> alone = rest()[0].ids;
  forty.stop_ids = &alone[4];
  forty.stop_id_count = 1;
  const size_t stops = static_cast<size_t>(std::find(alone.begin(), alone.end(), alone[4]) - alone.begin());
  std::thread other([&] {
    for (int i = 0; i < 20; ++i) EXPECT_EQ(submit({1, 2, 3}, forty), DYN_OK);
  });
  std::map<int64_t, Told> all;
  dyn_token token{};
  token.size = sizeof token;
  int ended = 0;
  while (ended < 20) {
    if (dyn_generator_next(generator_, &token) != DYN_OK) continue;  // the other thread has not come so far
    note(token, all);
    ended += token.end != DYN_SEQUENCE_RUNS;
  }
  other.join();
  for (const auto& [number, told] : all) {
    EXPECT_EQ(told.end, DYN_SEQUENCE_STOP_TOKEN);
    EXPECT_EQ(told.ids,
              std::vector<int64_t>(alone.begin(), alone.begin() + static_cast<ptrdiff_t>(stops) + 1));
  }
}

TEST_F(Generators, AnInterruptionEndsAllSequences) {
  if (!hasCode(create(withTable(kDecoder)))) GTEST_SKIP();
  struct Interrupts {
    static dyn_status score(void* user, int64_t, const int64_t*, size_t, float*, size_t) {
      dyn_generator_interrupt(static_cast<dyn_generator*>(user));
      return DYN_OK;
    }
  };
  dyn_prompt prompt{};
  prompt.score = &Interrupts::score;
  prompt.user = generator_;
  ASSERT_EQ(submit({1}), DYN_OK);
  ASSERT_EQ(submit({1}, prompt), DYN_OK);
  ASSERT_EQ(submit({1, 2}), DYN_OK);
  for (const auto& [number, told] : rest()) {
    EXPECT_EQ(told.end, DYN_SEQUENCE_CANCELLED) << number;
    EXPECT_LE(told.ids.size(), 2U);
  }
  ASSERT_EQ(submit({1}), DYN_OK);  // it goes on
  EXPECT_EQ(rest().at(3).ids.size(), 32U);
}

TEST_F(Generators, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(create("fn @main(%x: Tensor[(n), f32]) { %y = mul(%x, %x) return %y }\n"), DYN_UNSUPPORTED);
  EXPECT_THAT(whatWasRefused(), HasSubstr("input_ids"));
  EXPECT_EQ(generator_, nullptr);
  if (!hasCode(create(withTable(kDecoder)))) GTEST_SKIP();
  EXPECT_EQ(submit({}), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(submit({-1}), DYN_INVALID_ARGUMENT);
  EXPECT_THAT(whatWasRefused(), HasSubstr("negative"));
  dyn_prompt prompt{};
  for (const auto& [stop, message] : {std::pair<int64_t, const char*>{-1, "not negative"}, {7, "0 to 6"}}) {
    prompt.stop_ids = &stop;
    prompt.stop_id_count = 1;
    EXPECT_EQ(submit({1}, prompt), DYN_INVALID_ARGUMENT);
    EXPECT_THAT(whatWasRefused(), HasSubstr(message));
  }
  prompt = {};
  prompt.top_p = 2;
  EXPECT_EQ(submit({1}, prompt), DYN_INVALID_ARGUMENT);
  EXPECT_THAT(whatWasRefused(), HasSubstr("top_p"));
  prompt = {};
  prompt.size = sizeof prompt;
  prompt.text = "a text";
  EXPECT_EQ(dyn_generator_submit(generator_, &prompt, nullptr), DYN_INVALID_ARGUMENT);
  EXPECT_THAT(whatWasRefused(), HasSubstr("tokenizer"));
  dyn_token token{};
  EXPECT_EQ(dyn_generator_next(generator_, &token), DYN_INVALID_ARGUMENT);
  EXPECT_THAT(whatWasRefused(), HasSubstr("size"));
  token.size = sizeof token;
  EXPECT_EQ(dyn_generator_next(generator_, &token), DYN_NO_TOKEN);
  dyn_generator_cancel(generator_, 17);
  dyn_generator_cancel(nullptr, 0);
  dyn_generator_interrupt(nullptr);
  dyn_generator_release(nullptr);
}

// Attention without a mask: in a step of several tokens each would see those behind it.
TEST_F(Generators, ADecoderThatSeesLaterTokensTakesNoDrafts) {
  if (!hasCode(create(withTable(kDecoder)))) GTEST_SKIP();
  const std::vector<int64_t> prompt = {1, 5, 2, 1, 5, 2, 1, 5};
  dyn_prompt twenty{};
  twenty.max_new = 20;
  ASSERT_EQ(submit(prompt, twenty), DYN_OK);
  const std::vector<int64_t> wanted = rest().begin()->second.ids;
  dyn_generator_options drafts{};
  drafts.prompt_lookup = 4;
  ASSERT_EQ(create(withTable(kDecoder), 0, drafts), DYN_OK) << whatWasRefused();
  ASSERT_EQ(submit(prompt, twenty), DYN_OK);
  EXPECT_EQ(rest().begin()->second.ids, wanted);
  EXPECT_EQ(statistics().draft_tokens_count, 0);
  EXPECT_EQ(statistics().steps_count, 20);
  drafts.prompt_lookup = 257;
  EXPECT_EQ(create(withTable(kDecoder), 0, drafts), DYN_INVALID_ARGUMENT);
  EXPECT_THAT(whatWasRefused(), HasSubstr("0 to 256"));
}

// Of all texts of so many tokens the likeliest, by running each; its tokens and its score / their number.
TEST_F(Generators, ABeamSearchFindsTheLikeliestText) {
  if (!hasCode(create(withTable(kDecoder)))) GTEST_SKIP();
  static std::map<std::vector<int64_t>, std::vector<float>> seen;  // the scores behind each text
  dyn_prompt one{};
  one.max_new = 1;
  one.score = [](void*, int64_t, const int64_t* tokens, size_t count, float* scores, size_t scoreCount) {
    seen[{tokens, tokens + count}] = {scores, scores + scoreCount};
    return DYN_OK;
  };
  const std::vector<int64_t> prompt = {1, 5};
  std::vector<std::vector<int64_t>> texts = {prompt};
  std::map<std::vector<int64_t>, double> sums = {{prompt, 0.0}};
  for (int length = 0; length < 3; ++length) {
    std::vector<std::vector<int64_t>> longer;
    for (const std::vector<int64_t>& text : texts) {
      ASSERT_EQ(submit(text, one), DYN_OK);
      rest();
      double sum = 0;
      for (const float score : seen.at(text)) sum += std::exp(static_cast<double>(score));
      for (int64_t id = 0; id < 7; ++id) {
        longer.push_back(text);
        longer.back().push_back(id);
        sums[longer.back()] = sums.at(text) + seen.at(text)[static_cast<size_t>(id)] - std::log(sum);
      }
    }
    texts = std::move(longer);
  }
  const auto best = std::max_element(texts.begin(), texts.end(), [&](const auto& text, const auto& other) {
    return sums.at(text) < sums.at(other);
  });
  dyn_prompt beams{};
  beams.max_new = 3;
  beams.beam_count = 49;
  dyn_prompt greedy{};
  greedy.max_new = 3;
  ASSERT_EQ(submit(prompt, beams), DYN_OK) << whatWasRefused();
  ASSERT_EQ(submit(prompt, greedy), DYN_OK);
  const std::map<int64_t, Told> told = rest();
  std::vector<int64_t> whole = prompt;
  const Told& found = told.begin()->second;
  whole.insert(whole.end(), found.ids.begin(), found.ids.end());
  EXPECT_EQ(whole, *best);
  EXPECT_EQ(found.end, DYN_SEQUENCE_LENGTH);
  EXPECT_NEAR(found.score, sums.at(*best) / 3, 1e-5);
  EXPECT_EQ(told.rbegin()->second.ids.size(), 3U);
  EXPECT_EQ(told.rbegin()->second.score, 0);
}

TEST_F(Generators, ABeamSearchEndsWhereItIsCancelledOrRefused) {
  if (!hasCode(create(withTable(kDecoder)))) GTEST_SKIP();
  dyn_prompt beams{};
  beams.max_new = 5;
  beams.beam_count = 3;
  int64_t first = -1, second = -1;
  ASSERT_EQ(submit({1, 5}, beams, &first), DYN_OK);
  ASSERT_EQ(submit({2}, beams, &second), DYN_OK);
  dyn_generator_cancel(generator_, first);
  const std::map<int64_t, Told> told = rest();
  EXPECT_EQ(told.at(first).end, DYN_SEQUENCE_CANCELLED);
  EXPECT_TRUE(told.at(first).ids.empty());
  EXPECT_EQ(told.at(second).ids.size(), 5U);
  beams.temperature = 1;
  EXPECT_EQ(submit({1}, beams), DYN_INVALID_ARGUMENT);
  EXPECT_THAT(whatWasRefused(), HasSubstr("draws nothing"));
  beams.temperature = 0;
  beams.beam_count = -1;
  EXPECT_EQ(submit({1}, beams), DYN_INVALID_ARGUMENT);
  beams.beam_count = 3;
  beams.score = [](void*, int64_t, const int64_t*, size_t, float*, size_t) { return DYN_CANCELLED; };
  ASSERT_EQ(submit({1}, beams, &first), DYN_OK);
  EXPECT_EQ(rest().at(first).status, DYN_CANCELLED);
  // What an older program says ends in front of the beams.
  dyn_prompt old{};
  const std::vector<int64_t> ids = {1};
  old.size = offsetof(dyn_prompt, beam_count);
  old.ids = ids.data();
  old.id_count = 1;
  old.max_new = 2;
  old.beam_count = -1;
  ASSERT_EQ(dyn_generator_submit(generator_, &old, &first), DYN_OK);
  EXPECT_EQ(rest().at(first).ids.size(), 2U);
}

}  // namespace
}  // namespace dyn
