// Tokenizer: text to the ids of tokens and back, by a file tokenizer.json as the package `tokenizers` writes
// it.
//
//   DYN_TRY(const Tokenizer tokenizer, Tokenizer::read("tokenizer.json"));
//   DYN_TRY(std::vector<int64_t> ids, tokenizer.encode("Shapes are open.", SpecialTokens::added));
//   DYN_TRY(std::string text, tokenizer.decode(ids, SpecialTokens::none));
//
// Stages, as the fields of the file: added_tokens, normalizer, pre_tokenizer, model, truncation,
// post_processor; decoder for the way back. `padding` is left to the one who makes a batch. The file
// vocab.txt of BERT, and vocab.json with merges.txt beside it of GPT-2, are read as the tokenizer.json that
// they stand for.
// Threads: any number may use one tokenizer. Errors: unsupported parts name themselves, damaged ones say
// what is wrong with them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/result.h"

namespace dyn::tokenizer {

// In ids: those that the post-processor puts around a text. In texts: tokens that are marked special.
enum class SpecialTokens : uint8_t { added, none };

class Tokenizer {
 public:
  static Result<Tokenizer> read(const std::string& path);
  static Result<Tokenizer> parse(std::string_view json);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Bytes that are no UTF-8 become U+FFFD first.
  Result<std::vector<int64_t>> encode(std::string_view text, SpecialTokens specials) const;
  // Ids without a token are left out.
  Result<std::string> decode(std::span<const int64_t> ids, SpecialTokens specials) const;
  std::optional<int64_t> idOf(const std::string& token) const;
  // "" where there is none.
  std::string tokenOf(int64_t id) const;

 private:
  struct Parts;
  explicit Tokenizer(std::unique_ptr<const Parts> parts);
  std::unique_ptr<const Parts> parts_;
};

}  // namespace dyn::tokenizer
