// tokenize_lines TOKENIZER: for each line of standard input, a JSON text, one line of JSON: its ids without
// and with special tokens, the text that these decode to, and the same as it comes token by token.
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/tokenizer/token_stream.h"
#include "app/tokenizer/tokenizer.h"

using dyn::tokenizer::SpecialTokens;
using dyn::tokenizer::Tokenizer;
using dyn::tokenizer::TokenStream;
using Json = nlohmann::json;

namespace {

dyn::Result<std::string> streamed(const Tokenizer& tokenizer, const std::vector<int64_t>& ids) {
  TokenStream stream(tokenizer, {});
  std::string text;
  for (const int64_t id : ids) {
    DYN_TRY(const std::string piece, stream.add(id));
    text += piece;
  }
  DYN_TRY(const std::string rest, stream.finish());
  return text + rest;
}

dyn::Result<Json> answer(const Tokenizer& tokenizer, const std::string& text) {
  DYN_TRY(const std::vector<int64_t> bare, tokenizer.encode(text, SpecialTokens::none));
  DYN_TRY(const std::vector<int64_t> ids, tokenizer.encode(text, SpecialTokens::added));
  DYN_TRY(const std::string decoded, tokenizer.decode(ids, SpecialTokens::none));
  DYN_TRY(const std::string whole, tokenizer.decode(ids, SpecialTokens::added));
  DYN_TRY(const std::string pieces, streamed(tokenizer, ids));
  return Json{{"bare", bare}, {"ids", ids}, {"decoded", decoded}, {"whole", whole}, {"streamed", pieces}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::cerr << "usage: tokenize_lines TOKENIZER\n", 2;
  const dyn::Result<Tokenizer> tokenizer = Tokenizer::read(argv[1]);
  if (!tokenizer.ok()) return std::cerr << tokenizer.error().toString() << "\n", 1;
  std::string line;
  while (std::getline(std::cin, line)) {
    const dyn::Result<Json> result = answer(*tokenizer, Json::parse(line).get<std::string>());
    const Json shown = result.ok() ? *result : Json{{"error", result.error().toString()}};
    std::cout << shown.dump(-1, ' ', true, Json::error_handler_t::replace) << "\n";
  }
  return 0;
}
