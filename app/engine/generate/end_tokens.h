// The tokens that end a text, as the files beside a model and its tokenizer say it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dyn {

struct EndTokens {
  std::vector<int64_t> ids;
  std::string token;  // its text, where a file says that instead of the id
  std::string file;   // that says it; "": none does
};

// The first that says so: generation_config.json, then config.json, beside the model (eos_token_id);
// tokenizer_config.json beside the tokenizer (eos_token). Paths may be "".
EndTokens endTokensBeside(const std::string& model, const std::string& tokenizer);

}  // namespace dyn
