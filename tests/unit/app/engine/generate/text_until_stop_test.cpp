#include "app/engine/generate/text_until_stop.h"

#include <gtest/gtest.h>

namespace dyn {
namespace {

TEST(TextUntilStop, WithoutStopsAllIsClear) {
  TextUntilStop text({});
  EXPECT_EQ(text.add("ab"), "ab");
  EXPECT_EQ(text.add(""), "");
  EXPECT_EQ(text.finish(), "");
  EXPECT_FALSE(text.hasEnded());
}

TEST(TextUntilStop, WhatMayBecomeAStopIsHeldBack) {
  TextUntilStop text({"\n\n", "END"});
  EXPECT_EQ(text.add("one\n"), "one");
  EXPECT_EQ(text.add("two E"), "\ntwo ");
  EXPECT_EQ(text.add("N"), "");
  EXPECT_EQ(text.add("N"), "ENN");
  EXPECT_EQ(text.add(" E"), " ");
  EXPECT_EQ(text.finish(), "E");
}

TEST(TextUntilStop, TheFirstStopEndsTheText) {
  TextUntilStop text({"END", "b", ""});
  EXPECT_EQ(text.add("aEN"), "a");
  EXPECT_EQ(text.add("Db"), "");
  EXPECT_TRUE(text.hasEnded());
  EXPECT_EQ(text.ending(), "END");
  EXPECT_EQ(text.add("more"), "");
  EXPECT_EQ(text.finish(), "");
}

}  // namespace
}  // namespace dyn
