#include "app/tokenizer/token_stream.h"

namespace dyn::tokenizer {

namespace {
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
}  // namespace

TokenStream::TokenStream(const Tokenizer& tokenizer, std::vector<int64_t> before)
    : tokenizer_(tokenizer), ids_(std::move(before)), shownCount_(ids_.size()) {}

// What the tokens that were not shown add to the text. Nothing: the text before them is another now, as bytes
// that are no character yet spoil a run of bytes as a whole.
Result<std::optional<std::string>> TokenStream::added() const {
  DYN_TRY(const std::string shown,
          tokenizer_.decode(std::span(ids_).first(shownCount_), SpecialTokens::none));
  DYN_TRY(const std::string all, tokenizer_.decode(ids_, SpecialTokens::none));
  if (!all.starts_with(shown)) return std::optional<std::string>();
  return std::optional<std::string>(all.substr(shown.size()));
}

Result<std::string> TokenStream::add(int64_t id) {
  ids_.push_back(id);
  DYN_TRY(std::optional<std::string> text, added());
  if (!text || text->empty() || text->ends_with(kReplacement)) return std::string();
  // The tokens of this text stay: decoders look at the one before.
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<ptrdiff_t>(shownCount_));
  shownCount_ = ids_.size();
  return std::move(*text);
}

Result<std::string> TokenStream::finish() {
  DYN_TRY(const std::optional<std::string> text, added());
  ids_.clear();
  shownCount_ = 0;
  return text.value_or(std::string(kReplacement));
}

}  // namespace dyn::tokenizer
