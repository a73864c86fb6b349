// Unigram: the tokens with the highest sum of scores (logarithms of probabilities) that make up the text, by
// dynamic programming from left to right (Kudo 2018, "Subword Regularization").
#include <algorithm>
#include <limits>

#include "app/tokenizer/regular_expression.h"
#include "app/tokenizer/token_model.h"
#include "app/tokenizer/unicode_text.h"

namespace dyn::tokenizer {

namespace {

constexpr double kUnknownPenalty = 10;  // below the lowest score

class Unigram final : public TokenModel {
 public:
  static Result<std::unique_ptr<TokenModel>> read(const FilePart& part);
  Status encode(const std::string& piece, std::vector<int64_t>& ids) const override;

 private:
  struct ScoredToken {
    std::string text;
    int64_t id = 0;
    double score = 0;
  };
  // The best way to a place of the text: its last token.
  struct BestEnd {
    double score = 0;
    size_t begin = kNowhere;
    bool isUnknown = false;
  };
  static constexpr size_t kNowhere = SIZE_MAX;

  // Calls `use` with each token that the text at `begin` starts with, the shortest first.
  template <typename Use>
  void forEachToken(std::string_view text, size_t begin, const Use& use) const;
  Status addPiece(const std::string& text, std::vector<int64_t>& ids) const;

  std::vector<ScoredToken> sorted_;  // by text
  std::optional<int64_t> unknown_;
  double unknownScore_ = 0;
  bool fallsToBytes_ = false;
};

Result<std::unique_ptr<TokenModel>> Unigram::read(const FilePart& part) {
  auto made = std::make_unique<Unigram>();
  const Json* vocabulary = part.find("vocab");
  if (!vocabulary || !vocabulary->is_array()) return part.malformed("vocab is not tokens with scores");
  double lowest = std::numeric_limits<double>::infinity();
  for (const Json& row : *vocabulary) {
    const auto id = static_cast<int64_t>(made->sorted_.size());
    if (!row.is_array() || row.size() != 2 || !row[0].is_string() || !row[1].is_number())
      return part.malformed("entry " + std::to_string(id) + " of vocab is not a token with a score");
    made->sorted_.push_back({row[0].get<std::string>(), id, row[1].get<double>()});
    made->table_.add(made->sorted_.back().text, id);
    lowest = std::min(lowest, made->sorted_.back().score);
  }
  made->unknownScore_ = lowest - kUnknownPenalty;
  DYN_TRY(made->fallsToBytes_, part.flag("byte_fallback", false));
  if (part.find("unk_id")) {
    DYN_TRY(const int64_t unknown, part.integer("unk_id", 0));
    if (!made->table_.tokenOf(unknown)) return part.malformed("unk_id is beyond vocab");
    made->unknown_ = unknown;
  }
  // Of equal texts the last one counts.
  std::stable_sort(made->sorted_.begin(), made->sorted_.end(),
                   [](const ScoredToken& a, const ScoredToken& b) { return a.text < b.text; });
  const auto last = std::unique(made->sorted_.rbegin(), made->sorted_.rend(),
                                [](const ScoredToken& a, const ScoredToken& b) { return a.text == b.text; });
  made->sorted_.erase(made->sorted_.begin(), last.base());
  return std::unique_ptr<TokenModel>(std::move(made));
}

template <typename Use>
void Unigram::forEachToken(std::string_view text, size_t begin, const Use& use) const {
  auto low = sorted_.begin(), high = sorted_.end();
  for (size_t length = 1; begin + length <= text.size(); ++length) {
    const size_t depth = length - 1;
    const auto byte = static_cast<unsigned char>(text[begin + depth]);
    const auto byteOf = [depth](const ScoredToken& token) {  // -1: it ends before
      return depth < token.text.size() ? static_cast<int>(static_cast<unsigned char>(token.text[depth])) : -1;
    };
    low = std::partition_point(low, high, [&](const ScoredToken& token) { return byteOf(token) < byte; });
    high = std::partition_point(low, high, [&](const ScoredToken& token) { return byteOf(token) <= byte; });
    if (low == high) return;
    if (low->text.size() == length) use(*low);
  }
}

Status Unigram::encode(const std::string& piece, std::vector<int64_t>& ids) const {
  if (piece.empty()) return {};
  std::vector<BestEnd> best(piece.size() + 1);
  for (size_t begin = 0; begin < piece.size();) {
    size_t after = begin;
    (void)nextPoint(piece, &after);
    bool hasSingle = false;  // a token of this one character
    const double before = best[begin].score;
    const auto offer = [&](size_t end, double score, bool isUnknown) {
      BestEnd& target = best[end];
      if (target.begin == kNowhere || score > target.score) target = {score, begin, isUnknown};
    };
    forEachToken(piece, begin, [&](const ScoredToken& token) {
      const size_t end = begin + token.text.size();
      offer(end, before + token.score, unknown_ && token.id == *unknown_);
      hasSingle = hasSingle || end == after;
    });
    if (!hasSingle) {
      if (!unknown_)
        return makeError(DiagnosticId::inputMismatch,
                         "the text has a character without a token, and the vocabulary no unk_id");
      offer(after, before + unknownScore_, true);
    }
    begin = after;
  }
  // Neighbours without a token are one.
  std::vector<Match> parts;
  bool wasUnknown = false;
  for (size_t end = piece.size(); end > 0; end = best[end].begin) {
    if (best[end].isUnknown && wasUnknown)
      parts.back().begin = best[end].begin;
    else
      parts.push_back({best[end].begin, end});
    wasUnknown = best[end].isUnknown;
  }
  for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    DYN_CHECK(addPiece(piece.substr(part->begin, part->end - part->begin), ids));
  return {};
}

Status Unigram::addPiece(const std::string& text, std::vector<int64_t>& ids) const {
  if (const std::optional<int64_t> id = table_.idOf(text)) {
    ids.push_back(*id);
    return {};
  }
  if (fallsToBytes_) {
    if (const auto bytes = idsOfBytes(text)) {
      ids.insert(ids.end(), bytes->begin(), bytes->end());
      return {};
    }
  }
  ids.push_back(*unknown_);  // encode() found that there is one
  return {};
}

}  // namespace

Result<std::unique_ptr<TokenModel>> readUnigram(const FilePart& part) { return Unigram::read(part); }

}  // namespace dyn::tokenizer
