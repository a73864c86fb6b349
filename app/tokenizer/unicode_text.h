// Unicode as tokenizers need it: code points, their properties, normal forms. Properties and forms come from
// the library utf8proc. Every text is valid UTF-8; validText() makes it so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/result.h"

namespace dyn::tokenizer {

// The bytes as text: each longest piece that begins a code point and does not end it, and each other byte
// that is no UTF-8, becomes U+FFFD (Unicode, "substitution of maximal subparts").
std::string validText(std::string_view bytes);

// The code point at *at, which moves behind it.
char32_t nextPoint(std::string_view text, size_t* at);
void appendPoint(std::string& text, char32_t point);
size_t pointCount(std::string_view text);

bool isWhitespace(char32_t point);   // property White_Space
bool isControl(char32_t point);      // categories Cc, Cf, Co, Cs
bool isPunctuation(char32_t point);  // categories P*, and all signs of ASCII
bool isNumeric(char32_t point);      // categories N*
bool isMark(char32_t point);         // categories M*
bool isNonspacingMark(char32_t point);
bool isWord(char32_t point);       // \w of Unicode TS 18: letters, marks, digits, connectors
bool isIdeograph(char32_t point);  // of China, Japan, Korea: BERT takes each for a word

std::string lowercase(std::string_view text);

enum class NormalForm : uint8_t { nfc, nfd, nfkc, nfkd };
Result<std::string> normalForm(std::string_view text, NormalForm form);

// Where each grapheme cluster (a character as a reader sees it) ends.
std::vector<size_t> graphemeEnds(std::string_view text);

}  // namespace dyn::tokenizer
