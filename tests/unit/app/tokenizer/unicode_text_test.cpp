#include "app/tokenizer/unicode_text.h"

#include <gtest/gtest.h>

#include "app/tokenizer/text_pattern.h"

namespace dyn::tokenizer {
namespace {

constexpr const char* kLost = "\xEF\xBF\xBD";

TEST(UnicodeText, EachLongestPieceThatIsNoTextIsReplacedOnce) {
  const std::string lost = kLost;
  EXPECT_EQ(validText("a\xC3\xA4"), "a\xC3\xA4");
  EXPECT_EQ(validText("\xC3"), lost);
  EXPECT_EQ(validText("\xF0\x9F\x98z"), lost + "z");         // a character that is cut off
  EXPECT_EQ(validText("\xC0\xAF"), lost + lost);             // longer than it must be
  EXPECT_EQ(validText("\xED\xA0\x80"), lost + lost + lost);  // a surrogate
  EXPECT_EQ(validText("\xF4\x90\x80\x80"), lost + lost + lost + lost);
  EXPECT_EQ(validText("\x80\xFF"), lost + lost);
}

TEST(UnicodeText, PropertiesOfCodePoints) {
  EXPECT_TRUE(isWhitespace(0x3000) && isWhitespace(0x85) && !isWhitespace(0x200B));
  EXPECT_TRUE(isPunctuation('$') && isPunctuation(0x3002) && !isPunctuation(0x20AC));
  EXPECT_TRUE(isNumeric(0x2167) && isNumeric(0xBD) && !isNumeric('a'));
  EXPECT_TRUE(isWord(0x4E2D) && isWord('_') && isWord(0x301) && !isWord('-'));
  EXPECT_TRUE(isControl(0x200B) && isControl(0xE000) && !isControl('a'));
}

TEST(UnicodeText, FormsAndSmallLetters) {
  EXPECT_EQ(*normalForm("\xEF\xAC\x81 \xE2\x85\xA7", NormalForm::nfkc), "fi VIII");
  EXPECT_EQ(*normalForm("\xC3\xA9", NormalForm::nfd), "e\xCC\x81");
  EXPECT_EQ(*normalForm("e\xCC\x81", NormalForm::nfc), "\xC3\xA9");
  EXPECT_EQ(lowercase("\xC3\x84\xC4\xB0\xCE\xA3"), "\xC3\xA4i\xCC\x87\xCF\x83");
}

TEST(UnicodeText, GraphemeClusters) {
  EXPECT_EQ(graphemeEnds("ae\xCC\x81z"), (std::vector<size_t>{1, 4, 5}));
  EXPECT_TRUE(graphemeEnds("").empty());
}

std::vector<std::string> split(const std::string& text, SplitBehavior behavior,
                               Inversion inversion = Inversion::none) {
  const std::vector<Match> matches = matchesOfPoints(text, [](char32_t point) { return point == ' '; });
  std::vector<std::string> pieces;
  for (const Match& piece : piecesOf(text, matches, behavior, inversion))
    pieces.push_back(text.substr(piece.begin, piece.end - piece.begin));
  return pieces;
}

TEST(TextPattern, WhatBecomesOfMatches) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(split("a  b", SplitBehavior::removed), (Texts{"a", "b"}));
  EXPECT_EQ(split("a  b", SplitBehavior::isolated), (Texts{"a", " ", " ", "b"}));
  EXPECT_EQ(split("a  b", SplitBehavior::contiguous), (Texts{"a", "  ", "b"}));
  EXPECT_EQ(split("a  b", SplitBehavior::mergedWithPrevious), (Texts{"a ", " ", "b"}));
  EXPECT_EQ(split("a  b", SplitBehavior::mergedWithNext), (Texts{"a", " ", " b"}));
  EXPECT_EQ(split("a  b", SplitBehavior::removed, Inversion::inverted), (Texts{" ", " "}));
}

}  // namespace
}  // namespace dyn::tokenizer
