#include "compiler/support/json_nesting.h"

#include <gtest/gtest.h>

#include <string>

namespace dyn {
namespace {

TEST(JsonNesting, CountsArraysAndObjectsWithinEachOther) {
  EXPECT_FALSE(nestsDeeperThan("", 0));
  EXPECT_FALSE(nestsDeeperThan("1", 0));
  EXPECT_TRUE(nestsDeeperThan("[]", 0));
  EXPECT_FALSE(nestsDeeperThan("[1, {}, []]", 2));
  EXPECT_TRUE(nestsDeeperThan("[1, {}, []]", 1));
  EXPECT_TRUE(nestsDeeperThan(R"({"a": {"b": [3]}})", 2));
  EXPECT_FALSE(nestsDeeperThan(R"({"a": {"b": [3]}})", 3));
}

TEST(JsonNesting, BracketsInStringsDoNotCount) {
  EXPECT_FALSE(nestsDeeperThan(R"(["[[[", "{\"[\\", ["\\"]])", 2));
  EXPECT_TRUE(nestsDeeperThan(R"(["\\", [[]]])", 2));
}

TEST(JsonNesting, OfWhatIsNoJsonItSaysWhatItsBracketsDo) {
  EXPECT_FALSE(nestsDeeperThan("]]]][", 1));
  EXPECT_TRUE(nestsDeeperThan(std::string(1'000'000, '['), kMostJsonNesting));
  EXPECT_FALSE(nestsDeeperThan("\"\\", 0));  // cut within an escape
}

}  // namespace
}  // namespace dyn
