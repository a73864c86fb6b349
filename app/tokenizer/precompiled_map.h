// The map of characters of SentencePiece's models, as T5 and XLM-RoBERTa have it: a trie of character
// sequences (a double array, as the library Darts lays it out) and the texts that replace them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/tokenizer/file_part.h"

namespace dyn::tokenizer {

class PrecompiledMap {
 public:
  static Result<PrecompiledMap> read(const FilePart& part, std::string_view base64);
  // Replaces grapheme clusters that are in the map, and single code points of the others.
  std::string apply(std::string_view text) const;

 private:
  // The text for the shortest prefix that is in the map; null: none is.
  const char* replacementOf(std::string_view characters) const;

  std::vector<uint32_t> trie_;
  std::string replacements_;  // each ends with a zero byte
};

}  // namespace dyn::tokenizer
