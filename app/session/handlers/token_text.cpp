#include "app/session/handlers/token_text.h"

#ifdef DYN_HAVE_TOKENIZER
#include "app/tokenizer/tokenizer.h"
#endif

namespace dyn {

TokenReader tokenReader() {
#ifdef DYN_HAVE_TOKENIZER
  return [](const std::string& path, std::string_view text) -> Result<std::vector<int64_t>> {
    DYN_TRY(const tokenizer::Tokenizer read, tokenizer::Tokenizer::read(path));
    return read.encode(text, tokenizer::SpecialTokens::added);
  };
#else
  return nullptr;
#endif
}

}  // namespace dyn
