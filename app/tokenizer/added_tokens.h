// The added tokens of a tokenizer.json: texts that are found as they are, before the model sees the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "app/tokenizer/normalizers.h"
#include "app/tokenizer/pre_tokenizers.h"

namespace dyn::tokenizer {

struct AddedToken {
  std::string content;
  std::string normalized;  // the text that is looked for, and decoded to; as `content` unless isNormalized
  int64_t id = 0;
  bool isSingleWord = false;                   // only where no word goes on
  bool takesLeft = false, takesRight = false;  // blanks beside it belong to it
  bool isNormalized = false;                   // it is looked for in the normalized text
  bool isSpecial = false;                      // decoding leaves it out
};

class AddedTokens {
 public:
  // Of the field `added_tokens`.
  static Result<AddedTokens> read(const Json& json, const Normalizer& normalizer);
  // The text, normalized, and the added tokens in it.
  Result<std::vector<TextPiece>> extract(const std::string& text, const Normalizer& normalizer) const;
  const AddedToken* find(int64_t id) const;  // null: none
  const AddedToken* find(const std::string& content) const;

 private:
  // Texts to find, by their first byte, the longest first.
  struct Pattern {
    std::string text;
    size_t token = 0;
  };
  using PatternIndex = std::unordered_map<char, std::vector<Pattern>>;
  static void sortPatterns(PatternIndex& index);
  static const Pattern* longestAt(const PatternIndex& index, std::string_view text, size_t at);
  std::vector<TextPiece> split(const TextPiece& piece, const PatternIndex& index) const;

  std::vector<AddedToken> tokens_;
  PatternIndex raw_, normalized_;
};

}  // namespace dyn::tokenizer
