#include "app/engine/generate/prompt_lookup.h"

#include <gtest/gtest.h>

namespace dyn {
namespace {

using Ids = std::vector<int64_t>;

TEST(PromptLookup, draftsWhatFollowedTheSameTokens) {
  const PromptLookup lookup(5);
  EXPECT_EQ(lookup.draft(Ids{1, 2, 3, 4, 5, 6, 7, 8, 1, 2}, 5), (Ids{3, 4, 5, 6, 7}));
  EXPECT_EQ(lookup.draft(Ids{1, 2, 3, 4, 5, 6, 7, 8, 1, 2}, 2), (Ids{3, 4}));
  EXPECT_EQ(lookup.draft(Ids{1, 2, 3, 4, 5, 9, 1}, 5), Ids{}) << "one token is no match";
  EXPECT_EQ(lookup.draft(Ids{1, 2, 3}, 5), Ids{});
  EXPECT_EQ(lookup.draft(Ids{1, 2, 3, 1, 2}, 0), Ids{});
  EXPECT_EQ(lookup.draft(Ids{}, 5), Ids{});
  EXPECT_EQ(PromptLookup(0).draft(Ids{1, 2, 3, 1, 2}, 5), Ids{});
}

TEST(PromptLookup, takesTheLongestMatchAndOfThoseTheLast) {
  const PromptLookup lookup(2);
  // 7 8 stood twice, 6 7 8 once before that.
  EXPECT_EQ(lookup.draft(Ids{6, 7, 8, 1, 2, 7, 8, 3, 4, 6, 7, 8}, 2), (Ids{1, 2}));
  EXPECT_EQ(lookup.draft(Ids{7, 8, 1, 2, 7, 8, 3, 4, 7, 8}, 2), (Ids{3, 4}));
}

TEST(PromptLookup, whatRepeatsItselfGoesOnSo) {
  const PromptLookup lookup(7);
  EXPECT_EQ(lookup.draft(Ids{9, 5, 5, 5}, 4), (Ids{5, 5, 5, 5}));
  EXPECT_EQ(lookup.draft(Ids{1, 2, 3, 1, 2, 3, 1, 2}, 7), (Ids{3, 1, 2, 3, 1, 2, 3}));
}

TEST(PromptLookup, draftsGrowWhereTheyAreRightAndShrinkWhereNot) {
  PromptLookup lookup(8);
  const Ids text{5, 5, 5, 5};
  const auto length = [&] { return lookup.draft(text, 100).size(); };
  EXPECT_EQ(length(), 8U);
  lookup.note(8, 2);
  EXPECT_EQ(length(), 3U);
  lookup.note(3, 0);
  EXPECT_EQ(length(), 1U);
  lookup.note(1, 1);
  EXPECT_EQ(length(), 2U);
  lookup.note(2, 2);
  lookup.note(4, 4);
  lookup.note(8, 8);
  EXPECT_EQ(length(), 8U) << "no more than the most";
}

}  // namespace
}  // namespace dyn
