#include "compiler/support/suggestion.h"

#include <gtest/gtest.h>

namespace dyn {
namespace {

TEST(Suggestion, countsEditsAndSwaps) {
  EXPECT_EQ(editDistance("relu", "relu", 3), 0u);
  EXPECT_EQ(editDistance("rleu", "relu", 3), 1u);
  EXPECT_EQ(editDistance("rel", "relu", 3), 1u);
  EXPECT_EQ(editDistance("", "abc", 3), 3u);
  EXPECT_EQ(editDistance("kitten", "sitting", 5), 3u);
  EXPECT_EQ(editDistance("abcdef", "uvwxyz", 2), 3u) << "counting stops above the limit";
}

TEST(Suggestion, onlyNearWordsAreSuggested) {
  const std::string_view words[] = {"relu", "reduce_sum", "reduce_mean", "add"};
  EXPECT_EQ(suggestion("rleu", words), "relu");
  EXPECT_EQ(suggestion("reduce_men", words), "reduce_mean");
  EXPECT_EQ(suggestion("convolution", words), "");
  EXPECT_EQ(suggestion("x", words), "");
}

}  // namespace
}  // namespace dyn
