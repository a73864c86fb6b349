// WordPiece: the longest token from the left, again and again. WordLevel: each piece is a token.
#include "app/tokenizer/token_model.h"
#include "app/tokenizer/unicode_text.h"

namespace dyn::tokenizer {

namespace {

// The id of the unknown token, which is looked up where it is needed: a vocabulary may do without.
Result<int64_t> unknownOf(const TokenTable& table, const std::string& unknown) {
  if (const std::optional<int64_t> id = table.idOf(unknown)) return *id;
  return makeError(DiagnosticId::inputMismatch,
                   "the text has a word without tokens, and the vocabulary no token '" + unknown + "'");
}

class WordPieces final : public TokenModel {
 public:
  static Result<std::unique_ptr<TokenModel>> read(const FilePart& part) {
    auto made = std::make_unique<WordPieces>();
    DYN_TRY(made->unknown_, part.text("unk_token", "[UNK]"));
    DYN_TRY(made->innerPrefix_, part.text("continuing_subword_prefix", "##"));
    DYN_TRY(made->longestWord_, part.integer("max_input_chars_per_word", 100));
    DYN_TRY(made->table_, TokenTable::read(part));
    return std::unique_ptr<TokenModel>(std::move(made));
  }

  Status encode(const std::string& piece, std::vector<int64_t>& ids) const override {
    std::vector<size_t> ends;  // of the characters
    for (size_t at = 0; at < piece.size();) {
      (void)nextPoint(piece, &at);
      ends.push_back(at);
    }
    std::vector<int64_t> found;
    size_t begin = 0, first = 0;
    bool isUnknown = static_cast<int64_t>(ends.size()) > longestWord_;
    while (!isUnknown && first < ends.size()) {
      std::optional<int64_t> id;
      size_t last = ends.size();
      for (; last > first && !id; --last)
        id = table_.idOf((begin > 0 ? innerPrefix_ : "") + piece.substr(begin, ends[last - 1] - begin));
      isUnknown = !id;
      if (!id) break;
      found.push_back(*id);
      begin = ends[last];
      first = last + 1;
    }
    if (isUnknown) {
      DYN_TRY(const int64_t unknown, unknownOf(table_, unknown_));
      found.assign(1, unknown);
    }
    ids.insert(ids.end(), found.begin(), found.end());
    return {};
  }

 private:
  std::string unknown_, innerPrefix_;
  int64_t longestWord_ = 100;
};

class Words final : public TokenModel {
 public:
  static Result<std::unique_ptr<TokenModel>> read(const FilePart& part) {
    auto made = std::make_unique<Words>();
    DYN_TRY(made->unknown_, part.text("unk_token", "<unk>"));
    DYN_TRY(made->table_, TokenTable::read(part));
    return std::unique_ptr<TokenModel>(std::move(made));
  }

  Status encode(const std::string& piece, std::vector<int64_t>& ids) const override {
    if (const std::optional<int64_t> id = table_.idOf(piece)) {
      ids.push_back(*id);
      return {};
    }
    DYN_TRY(const int64_t unknown, unknownOf(table_, unknown_));
    ids.push_back(unknown);
    return {};
  }

 private:
  std::string unknown_;
};

}  // namespace

Result<std::unique_ptr<TokenModel>> readWordPieces(const FilePart& part) { return WordPieces::read(part); }
Result<std::unique_ptr<TokenModel>> readWords(const FilePart& part) { return Words::read(part); }

}  // namespace dyn::tokenizer
