// What separates a text: matches of a string, of a regular expression, or of single code points; and the
// pieces that follow from them.
//
//   Split by ' ' of "a b":  removed: a|b   isolated: a| |b   mergedWithPrevious: "a "|b
//   mergedWithNext: a|" b"   contiguous, of "a  b": a|"  "|b
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/tokenizer/file_part.h"
#include "app/tokenizer/regular_expression.h"

namespace dyn::tokenizer {

// A string or a regular expression, as {"String": " "} or {"Regex": "\\s+"} in a file.
class TextPattern {
 public:
  static Result<TextPattern> read(const FilePart& part, const char* field);
  Result<std::vector<Match>> findAll(std::string_view text) const;

 private:
  std::string string_;
  std::optional<RegularExpression> expression_;  // instead of the string
};

// The text with `content` instead of each match.
std::string replaced(std::string_view text, const std::vector<Match>& matches, std::string_view content);

std::vector<Match> matchesOfPoints(std::string_view text, const std::function<bool(char32_t)>& isMatch);

enum class SplitBehavior : uint8_t { removed, isolated, mergedWithPrevious, mergedWithNext, contiguous };
Result<SplitBehavior> readBehavior(const FilePart& part, const char* field);

// The pieces of a text between and around matches, in order, without empty ones. `isInverted`: the matches
// are what is between.
enum class Inversion : uint8_t { none, inverted };
std::vector<Match> piecesOf(std::string_view text, const std::vector<Match>& matches, SplitBehavior behavior,
                            Inversion inversion);

}  // namespace dyn::tokenizer
