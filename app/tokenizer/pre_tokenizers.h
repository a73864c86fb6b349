// The pre-tokenizers of a tokenizer.json: they split a text into the pieces that the model takes one by one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/tokenizer/file_part.h"

namespace dyn::tokenizer {

struct TextPiece {
  std::string text;
  bool isFirst = false;       // the text begins with it
  std::optional<int64_t> id;  // of an added token: it is not split
};

using PreTokenizer = std::function<Status(std::vector<TextPiece>& pieces)>;

// Of the field `pre_tokenizer`; null makes one that changes nothing.
Result<PreTokenizer> readPreTokenizer(const Json& json);

}  // namespace dyn::tokenizer
