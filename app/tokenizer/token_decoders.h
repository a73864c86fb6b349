// The decoders of a tokenizer.json: they make text of tokens.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/tokenizer/file_part.h"

namespace dyn::tokenizer {

// Rewrites tokens; those that stay are joined without anything between.
using TokenDecoder = std::function<Status(std::vector<std::string>& tokens)>;

// Of the field `decoder`; null makes one that puts blanks between tokens.
Result<TokenDecoder> readTokenDecoder(const Json& json);

}  // namespace dyn::tokenizer
