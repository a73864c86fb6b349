#include "app/engine/generate/beam_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace dyn {
namespace {

using Ids = std::vector<int64_t>;
using Scores = std::vector<std::vector<float>>;

// A model whose scores depend on the text alone.
using TextModel = std::function<std::vector<float>(const Ids& text)>;

Beam searched(BeamSearch search, const TextModel& model) {
  for (int steps = 0; !search.hasEnded() && steps < 1000; ++steps) {
    Scores scores;
    for (const Beam& beam : search.beams()) scores.push_back(model(search.historyOf(beam)));
    EXPECT_TRUE(search.advance(scores).ok());
  }
  EXPECT_TRUE(search.hasEnded());
  return search.best();
}

// Random scores, the same for the same text.
TextModel randomModel(size_t vocabulary, uint64_t seed) {
  return [=](const Ids& text) {
    std::seed_seq seeds(text.begin(), text.end());
    std::vector<uint32_t> numbers(2);
    seeds.generate(numbers.begin(), numbers.end());
    std::mt19937_64 random(numbers[0] + (static_cast<uint64_t>(numbers[1]) << 32) + seed);
    std::vector<float> scores(vocabulary);
    for (float& score : scores) score = static_cast<float>(random() % 4096) / 1024.0F;
    return scores;
  };
}

double logProbability(const std::vector<float>& scores, int64_t token) {
  double sum = 0;
  for (const float score : scores) sum += std::exp(static_cast<double>(score));
  return static_cast<double>(scores[static_cast<size_t>(token)]) - std::log(sum);
}

// The best of all texts, by trying each.
Beam bestOfAll(const TextModel& model, const Ids& text, int64_t maxNew, int64_t stop, double penalty) {
  Beam best{0, {}, -std::numeric_limits<double>::infinity()};
  std::function<void(const Ids&, double)> extend = [&](const Ids& ids, double sum) {
    Ids all = text;
    all.insert(all.end(), ids.begin(), ids.end());
    const std::vector<float> scores = model(all);
    for (size_t token = 0; token < scores.size(); ++token) {
      Ids next = ids;
      next.push_back(static_cast<int64_t>(token));
      const double score = sum + logProbability(scores, static_cast<int64_t>(token));
      if (next.back() != stop && static_cast<int64_t>(next.size()) < maxNew)
        extend(next, score);
      else if (const double rank = score / std::pow(next.size(), penalty); rank > best.score)
        best = {0, next, rank};
    }
  };
  extend({}, 0);
  return best;
}

TEST(BeamSearch, findsTheBestOfAllTextsWithEnoughBeams) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const TextModel model = randomModel(4, seed);
    for (const double penalty : {1.0, 2.0}) {
      const Beam expected = bestOfAll(model, {7}, 4, 2, penalty);
      const Beam found = searched(BeamSearch({256, penalty, false}, {7}, 4, {2}), model);
      EXPECT_EQ(found.ids, expected.ids) << seed << " " << penalty;
      EXPECT_NEAR(found.score, expected.score, 1e-5);
    }
  }
}

TEST(BeamSearch, oneBeamTakesTheBestToken) {
  const TextModel model = randomModel(11, 3);
  Ids expected, text{5, 6};
  for (int i = 0; i < 6; ++i) {
    const std::vector<float> scores = model(text);
    expected.push_back(std::max_element(scores.begin(), scores.end()) - scores.begin());
    text.push_back(expected.back());
  }
  EXPECT_EQ(searched(BeamSearch({1, 1, false}, {5, 6}, 6, {}), model).ids, expected);
}

TEST(BeamSearch, findsWhatTheBestTokenMisses) {
  // The likeliest first token leads to texts that are not likely.
  const TextModel model = [](const Ids& text) -> std::vector<float> {
    if (text.size() == 1) return {1.0F, 0.9F, -9, -9};
    if (text.back() == 0) return {0, 0, 0, 0};
    return {0, 0, 0, 9};
  };
  EXPECT_EQ(searched(BeamSearch({1, 1, false}, {9}, 2, {}), model).ids, (Ids{0, 0}));
  EXPECT_EQ(searched(BeamSearch({2, 1, false}, {9}, 2, {}), model).ids, (Ids{1, 3}));
}

TEST(BeamSearch, beamsNameTheOneThatTheyContinue) {
  BeamSearch search({2, 1, false}, {9}, 5, {});
  Scores first{{0, 1, 2}};
  ASSERT_TRUE(search.advance(first).ok());
  ASSERT_EQ(search.beams().size(), 2U);
  EXPECT_EQ(search.beams()[0].ids, Ids{2});
  EXPECT_EQ(search.beams()[1].ids, Ids{1});
  Scores second{{0, 0, 0}, {9, 0, 0}};  // the second beam's next token is nearly certain
  ASSERT_TRUE(search.advance(second).ok());
  EXPECT_EQ(search.beams()[0].parent, 1U);
  EXPECT_EQ(search.beams()[0].ids, (Ids{1, 0}));
  EXPECT_EQ(search.beams()[1].parent, 0U);
  EXPECT_EQ(search.historyOf(search.beams()[1]), (Ids{9, 2, 0}));
}

TEST(BeamSearch, stopTokensFinishATextAndTheSearchMayEndEarly) {
  const TextModel model = [](const Ids& text) -> std::vector<float> {
    return text.size() < 3 ? std::vector<float>{0, 0.1F, 0.2F} : std::vector<float>{0, 9, 0};
  };
  const Beam early = searched(BeamSearch({2, 0, true}, {9}, 50, {2, 0}), model);
  EXPECT_EQ(early.ids, Ids{2});
  // Long texts are worth more here: the search goes on to them.
  EXPECT_EQ(searched(BeamSearch({2, 1, false}, {9}, 50, {0}), model).ids.size(), 50U);
}

TEST(BeamSearch, aPenaltyMakesTokensOfTheTextLessLikely) {
  const TextModel model = [](const Ids&) { return std::vector<float>{2, 1.9F, 1.8F, 1.7F}; };
  EXPECT_EQ(searched(BeamSearch({2, 1, false}, {3}, 3, {}), model).ids, (Ids{0, 0, 0}));
  Ids ids = searched(BeamSearch({2, 1, false}, {3}, 3, {}, 100), model).ids;
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(ids, (Ids{0, 1, 2}));
}

TEST(BeamSearch, whatIsNoNumberIsNeverChosen) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                  kNone = -std::numeric_limits<float>::infinity();
  BeamSearch search({3, 1, false}, {9}, 5, {});
  Scores first{{kNan, 1, kNone, 2}};
  ASSERT_TRUE(search.advance(first).ok());
  ASSERT_EQ(search.beams().size(), 2U);  // no more have a probability
  Scores second{{kNan, kNan, kNan, kNan}, {kNone, kNan, 0, kNone}};
  ASSERT_TRUE(search.advance(second).ok());
  ASSERT_EQ(search.beams().size(), 1U);
  EXPECT_EQ(search.beams()[0].ids, (Ids{1, 2}));
  Scores third{{kNan, kNone, kNone, kNone}};
  const Status failed = search.advance(third);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "the scores of the next token are no finite numbers");
}

}  // namespace
}  // namespace dyn
