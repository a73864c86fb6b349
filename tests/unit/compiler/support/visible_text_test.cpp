#include "compiler/support/visible_text.h"

#include <gtest/gtest.h>

namespace dyn {
namespace {

TEST(VisibleText, WhatCommandsATerminalIsWrittenOut) {
  EXPECT_EQ(visibleLine("a\x1b[31mred\x07"), "a\\x1b[31mred\\x07");
  EXPECT_EQ(visibleLine("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(visibleLine("\xc2\x9b"
                        "31m"),
            "\\u009b31m");
  EXPECT_EQ(visibleLine("a\xe2\x80\xae"
                        "b"),
            "a\\u202eb");
  EXPECT_EQ(visibleLine("\xff\x7f"), "\\xff\\x7f");
  EXPECT_EQ(visibleLine(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(VisibleText, LettersOfAnyScriptStay) {
  for (const char* text : {"plain", "größe", "日本", "خروجی",
                           "a\xc2\xa0"
                           "b"})
    EXPECT_EQ(visibleLine(text), text);
}

TEST(VisibleText, LinesAndOwnColoursStayWhereTheyAreMeant) {
  const char* colored = "\033[1;31merror\033[0m:\n\tx\033]0;title\007";
  EXPECT_EQ(visibleText(colored, ColorCodes::kept), "\033[1;31merror\033[0m:\n\tx\\x1b]0;title\\x07");
  EXPECT_EQ(visibleText("\033[2J\n", ColorCodes::kept), "\\x1b[2J\n");
  EXPECT_EQ(visibleText("\033[31m\n", ColorCodes::escaped), "\\x1b[31m\n");
}

TEST(VisibleText, JsonReadsBackAsTheSame) {
  EXPECT_EQ(visibleJson("{\"a\\n\": 1}"), "{\"a\\n\": 1}");
  EXPECT_EQ(visibleJson("{\"\x7f\xc2\x9b\xe2\x80\xae日本\": 1}"), "{\"\\u007f\\u009b\\u202e日本\": 1}");
}

}  // namespace
}  // namespace dyn
