// The prompts of :generate: texts and ids of tokens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/support/result.h"

namespace dyn {

struct Prompt {
  std::string text;
  std::vector<int64_t> ids;  // instead of the text
  bool isText = true;
};

// text:WORDS, ids:15,7,3, or @FILE with a text in each line; empty lines are passed over.
Result<std::vector<Prompt>> parsePrompts(const std::vector<std::string>& specs);

}  // namespace dyn
