#include "app/tokenizer/added_tokens.h"

#include <algorithm>

#include "app/tokenizer/unicode_text.h"
#include "compiler/support/utf8.h"

namespace dyn::tokenizer {

namespace {

char32_t lastPoint(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && isContinuation(text[at])) --at;
  return nextPoint(text, &at);
}

bool endsWithWord(std::string_view text) { return !text.empty() && isWord(lastPoint(text)); }

bool beginsWithWord(std::string_view text) {
  size_t at = 0;
  return !text.empty() && isWord(nextPoint(text, &at));
}

size_t withoutBlanksBehind(std::string_view text) {
  size_t end = 0;
  for (size_t at = 0; at < text.size();)
    if (!isWhitespace(nextPoint(text, &at))) end = at;
  return end;
}

size_t blanksInFront(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    if (!isWhitespace(nextPoint(text, &at))) return begin;
  }
  return text.size();
}

}  // namespace

Result<AddedTokens> AddedTokens::read(const Json& json, const Normalizer& normalizer) {
  AddedTokens made;
  if (json.is_null()) return made;
  const FilePart whole{json, "added_tokens"};
  if (!json.is_array()) return whole.malformed("it is no list");
  for (const Json& row : json) {
    const FilePart part{row, "added_tokens"};
    AddedToken token;
    DYN_TRY(token.content, part.text("content"));
    if (!part.find("id")) return part.malformed("'" + token.content + "' has no id");
    DYN_TRY(token.id, part.integer("id", 0));
    DYN_TRY(token.isSingleWord, part.flag("single_word", false));
    DYN_TRY(token.takesLeft, part.flag("lstrip", false));
    DYN_TRY(token.takesRight, part.flag("rstrip", false));
    DYN_TRY(token.isSpecial, part.flag("special", false));
    DYN_TRY(token.isNormalized, part.flag("normalized", !token.isSpecial));
    NormalText looked{token.content};
    if (token.isNormalized) DYN_CHECK(normalizer(looked));
    token.normalized = looked.text;
    const std::string& text = token.normalized;
    PatternIndex& index = token.isNormalized ? made.normalized_ : made.raw_;
    if (!text.empty()) index[text[0]].push_back({text, made.tokens_.size()});
    made.tokens_.push_back(std::move(token));
  }
  sortPatterns(made.raw_);
  sortPatterns(made.normalized_);
  return made;
}

void AddedTokens::sortPatterns(PatternIndex& index) {
  for (auto& [first, patterns] : index)
    std::stable_sort(patterns.begin(), patterns.end(),
                     [](const Pattern& a, const Pattern& b) { return a.text.size() > b.text.size(); });
}

const AddedTokens::Pattern* AddedTokens::longestAt(const PatternIndex& index, std::string_view text,
                                                   size_t at) {
  const auto found = index.find(text[at]);
  if (found == index.end()) return nullptr;
  for (const Pattern& pattern : found->second)
    if (text.substr(at).starts_with(pattern.text)) return &pattern;
  return nullptr;
}

std::vector<TextPiece> AddedTokens::split(const TextPiece& piece, const PatternIndex& index) const {
  const std::string_view text = piece.text;
  std::vector<TextPiece> pieces;
  size_t done = 0;
  const auto addText = [&](size_t end) {
    if (end > done)
      pieces.push_back({std::string(text.substr(done, end - done)), piece.isFirst && done == 0, {}});
  };
  for (size_t at = 0; at < text.size();) {
    const Pattern* pattern = longestAt(index, text, at);
    if (!pattern) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[pattern->token];
    size_t begin = at, end = at + pattern->text.size();
    at = end;
    if (token.isSingleWord && (endsWithWord(text.substr(0, begin)) || beginsWithWord(text.substr(end))))
      continue;
    if (token.takesLeft) begin = std::max(done, withoutBlanksBehind(text.substr(0, begin)));
    if (token.takesRight) end += blanksInFront(text.substr(end));
    addText(begin);
    pieces.push_back({std::string(text.substr(begin, end - begin)), piece.isFirst && begin == 0, token.id});
    done = end;
  }
  addText(text.size());
  return pieces;
}

Result<std::vector<TextPiece>> AddedTokens::extract(const std::string& text,
                                                    const Normalizer& normalizer) const {
  std::vector<TextPiece> pieces;
  for (TextPiece& piece : split({text, true, {}}, raw_)) {
    if (piece.id) {
      pieces.push_back(std::move(piece));
      continue;
    }
    NormalText normal{std::move(piece.text)};
    DYN_CHECK(normalizer(normal));
    piece = {std::move(normal.text), piece.isFirst && normal.hasFront, {}};
    for (TextPiece& part : split(piece, normalized_)) pieces.push_back(std::move(part));
  }
  return pieces;
}

const AddedToken* AddedTokens::find(int64_t id) const {
  for (const AddedToken& token : tokens_)
    if (token.id == id) return &token;
  return nullptr;
}

const AddedToken* AddedTokens::find(const std::string& content) const {
  for (const AddedToken& token : tokens_)
    if (token.content == content) return &token;
  return nullptr;
}

}  // namespace dyn::tokenizer
