// Text of tokens that come one by one: what is settled is given out at once. A character whose bytes are
// spread over several tokens comes when it is whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/tokenizer/tokenizer.h"

namespace dyn::tokenizer {

class TokenStream {
 public:
  // The tokenizer must outlive the stream. Decoders look at the token before (blanks in front of words):
  // `before` are ids whose text is given out already.
  TokenStream(const Tokenizer& tokenizer, std::vector<int64_t> before);
  // The text that this token adds; "" while a character is not whole.
  Result<std::string> add(int64_t id);
  // What is left when no token follows: U+FFFD for a character that never became whole.
  Result<std::string> finish();

 private:
  Result<std::optional<std::string>> added() const;

  const Tokenizer& tokenizer_;
  std::vector<int64_t> ids_;  // those whose text was given out last, and those behind them
  size_t shownCount_ = 0;     // of ids_, the former
};

}  // namespace dyn::tokenizer
