// The matcher of regex_full_match.
#include "vm/kernels/text/regular_expression.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "vm/include/dynvm.h"

namespace dyn::vm::kernels {
namespace {

bool matches(const std::string& pattern, const std::string& text) {
  RegularExpression expression;
  const Status status = RegularExpression::parse(pattern, expression);
  EXPECT_TRUE(status.ok()) << pattern << ": " << status.message;
  return status.ok() && expression.matches(text);
}

dyn_status refusal(const std::string& pattern) {
  RegularExpression expression;
  return RegularExpression::parse(pattern, expression).code;
}

TEST(RegularExpression, WholeTextsMatch) {
  struct Row {
    const char *pattern, *yes, *no;
  };
  for (const Row& row : {Row{"", "", "a"},
                         {"abc", "abc", "abcd"},
                         {"a|bc|", "bc", "b"},
                         {"(ab)*c", "ababc", "abab"},
                         {"a+b?", "aa", "b"},
                         {"a{2}", "aa", "aaa"},
                         {"a{2,}", "aaaa", "a"},
                         {"a{1,3}?", "aaa", "aaaa"},
                         {"a{,3}", "a{,3}", "aa"},
                         {"[a-c-]x", "-x", "dx"},
                         {"[^a-c]", "d", "b"},
                         {"[]a]", "]", "b"},
                         {"[[:digit:]x]+", "1x2", "1y"},
                         {"\\d\\D\\w\\W\\s\\S", "1a_-\tx", "aa_-\tx"},
                         {"[\\d.]+", "1.5", "1,5"},
                         {"a.c",
                          "a\xc3\xa4"
                          "c",
                          "a\nc"},
                         {"^a$", "a", "ba"},
                         {"\\bab\\b", "ab", "abc"},
                         {"a\\Bb", "ab", "a b"},
                         {"\\x41\\x{e4}", "A\xc3\xa4", "A"},
                         {"a\\.b\\\\", "a.b\\", "axb\\"},
                         {"(?:x(y|z)){2}", "xyxz", "xyx"},
                         {"(a*)*b", "aaab", "aaac"}}) {
    EXPECT_TRUE(matches(row.pattern, row.yes)) << row.pattern << " and " << row.yes;
    EXPECT_FALSE(matches(row.pattern, row.no)) << row.pattern << " and " << row.no;
  }
}

TEST(RegularExpression, NoPatternIsSlow) {
  EXPECT_FALSE(matches("(a|a|a?)*b", std::string(20000, 'a')));
  EXPECT_TRUE(matches("(x+x+)+y", std::string(5000, 'x') + "y"));
}

TEST(RegularExpression, WhatIsNoPattern) {
  for (const char* pattern : {"(", ")", "a)", "[a", "*a", "a**", "\\", "[z-a]", "a{3,2}", "a{2000}", "\\xzz"})
    EXPECT_EQ(refusal(pattern), DYN_BAD_INPUT) << pattern;
  for (const char* pattern : {"(?i)a", "(?P<name>a)", "\\pL", "((a{900}){900}){900}"})
    EXPECT_EQ(refusal(pattern), DYN_UNSUPPORTED) << pattern;
  EXPECT_EQ(refusal(std::string(100000, '(')), DYN_UNSUPPORTED);
}

TEST(RegularExpression, TheFirstAndLongestMatchIsFound) {
  struct Row {
    const char *pattern, *text;
    size_t from, begin, end;
  };
  for (const Row& row : {Row{"b+", "abbbab", 0, 1, 4},
                         {"b+", "abbbab", 4, 5, 6},
                         {"a|ab|abc", "xabcd", 0, 1, 4},
                         {"b|abc|c", "xabc", 0, 1, 4},
                         {"a*", "baa", 0, 0, 0},
                         {"a*", "baa", 1, 1, 3},
                         {"^a", "aa", 0, 0, 1},
                         {"a$", "aa", 0, 1, 2},
                         {"\\ba", "ba a", 0, 3, 4},
                         {"\xc3\xa9", "x\xc3\xa9y", 0, 1, 3},
                         {"", "", 0, 0, 0}}) {
    RegularExpression expression;
    ASSERT_TRUE(RegularExpression::parse(row.pattern, expression).ok()) << row.pattern;
    size_t begin = 99, end = 99;
    ASSERT_TRUE(expression.find(row.text, row.from, begin, end)) << row.pattern << " in " << row.text;
    EXPECT_EQ(begin, row.begin) << row.pattern << " in " << row.text;
    EXPECT_EQ(end, row.end) << row.pattern << " in " << row.text;
  }
  for (const auto& [pattern, text, from] : {std::tuple("b", "aaa", 0), std::tuple("^a", "aa", 1),
                                            std::tuple("a", "aa", 2), std::tuple("a", "aa", 3)}) {
    RegularExpression expression;
    ASSERT_TRUE(RegularExpression::parse(pattern, expression).ok());
    size_t begin = 0, end = 0;
    EXPECT_FALSE(expression.find(text, static_cast<size_t>(from), begin, end)) << pattern << " in " << text;
  }
}

}  // namespace
}  // namespace dyn::vm::kernels
