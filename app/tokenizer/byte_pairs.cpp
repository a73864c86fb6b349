// Byte-pair encoding: characters are joined pair by pair, the pair that training joined first before others.
#include <queue>

#include "app/tokenizer/token_model.h"
#include "app/tokenizer/unicode_text.h"

namespace dyn::tokenizer {

namespace {

struct Join {
  size_t rank = 0;
  int64_t id = 0;  // of the joined token
};

// Tokens of a piece, as a list: a joined one keeps the place of its left part.
struct PairLink {
  int64_t id = 0;
  ptrdiff_t before = -1, after = -1;
  bool isLive = true;
};

struct Candidate {
  size_t rank = 0;
  ptrdiff_t at = 0;  // of the left one
  int64_t id = 0;
  bool operator>(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : at > other.at;
  }
};

class BytePairs final : public TokenModel {
 public:
  static Result<std::unique_ptr<TokenModel>> read(const FilePart& part);
  Status encode(const std::string& piece, std::vector<int64_t>& ids) const override;

 private:
  Status readMerges(const FilePart& part);
  Status addMerge(const FilePart& part, const std::string& left, const std::string& right, size_t rank);
  std::vector<int64_t> charactersOf(const std::string& piece) const;
  void join(std::vector<int64_t>& tokens) const;

  struct PairHash {
    size_t operator()(const std::pair<int64_t, int64_t>& pair) const {
      return std::hash<int64_t>()(pair.first * 0x9E3779B97F4A7C15 + pair.second);
    }
  };
  std::unordered_map<std::pair<int64_t, int64_t>, Join, PairHash> joins_;
  std::string innerPrefix_, lastSuffix_;
  std::optional<int64_t> unknown_;
  bool joinsUnknown_ = false, fallsToBytes_ = false, takesWhole_ = false;
};

Status BytePairs::addMerge(const FilePart& part, const std::string& left, const std::string& right,
                           size_t rank) {
  const std::string joined = left + right.substr(std::min(right.size(), innerPrefix_.size()));
  const std::optional<int64_t> a = table_.idOf(left), b = table_.idOf(right), made = table_.idOf(joined);
  if (!a || !b || !made)
    return part.malformed("merge " + std::to_string(rank) + " needs the token '" +
                          (!a   ? left
                           : !b ? right
                                : joined) +
                          "', which vocab lacks");
  joins_[{*a, *b}] = {rank, *made};
  return {};
}

// Each "a b", or ["a", "b"].
Status BytePairs::readMerges(const FilePart& part) {
  const Json* merges = part.find("merges");
  if (!merges || !merges->is_array()) return part.malformed("it has no list of merges");
  size_t rank = 0;
  for (const Json& merge : *merges) {
    const bool isPair = merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
    if (isPair) {
      DYN_CHECK(addMerge(part, merge[0].get<std::string>(), merge[1].get<std::string>(), rank));
    } else {
      const std::string text = merge.is_string() ? merge.get<std::string>() : "";
      const size_t blank = text.find(' ');
      if (blank == std::string::npos || text.find(' ', blank + 1) != std::string::npos)
        return part.malformed("merge " + std::to_string(rank) + " is not a pair of tokens");
      DYN_CHECK(addMerge(part, text.substr(0, blank), text.substr(blank + 1), rank));
    }
    ++rank;
  }
  return {};
}

Result<std::unique_ptr<TokenModel>> BytePairs::read(const FilePart& part) {
  auto made = std::make_unique<BytePairs>();
  if (const Json* dropout = part.find("dropout"); dropout && *dropout != 0)
    return part.unsupported("dropout, which makes tokens random");
  DYN_TRY(made->innerPrefix_, part.text("continuing_subword_prefix", ""));
  DYN_TRY(made->lastSuffix_, part.text("end_of_word_suffix", ""));
  DYN_TRY(made->joinsUnknown_, part.flag("fuse_unk", false));
  DYN_TRY(made->fallsToBytes_, part.flag("byte_fallback", false));
  DYN_TRY(made->takesWhole_, part.flag("ignore_merges", false));
  DYN_TRY(made->table_, TokenTable::read(part));
  DYN_CHECK(made->readMerges(part));
  if (part.find("unk_token")) {
    DYN_TRY(const std::string unknown, part.text("unk_token"));
    made->unknown_ = made->table_.idOf(unknown);
    if (!made->unknown_) return part.malformed("unk_token '" + unknown + "' is not in vocab");
  }
  return std::unique_ptr<TokenModel>(std::move(made));
}

// The tokens of single characters. An unknown one stays pending until a known one comes, so that several may
// become one; bytes go past it, as in the package tokenizers.
std::vector<int64_t> BytePairs::charactersOf(const std::string& piece) const {
  std::vector<int64_t> tokens;
  bool isUnknownPending = false;
  const auto flush = [&] {
    if (isUnknownPending) tokens.push_back(*unknown_);
    isUnknownPending = false;
  };
  for (size_t at = 0; at < piece.size();) {
    const size_t begin = at;
    (void)nextPoint(piece, &at);
    std::string character = piece.substr(begin, at - begin);
    if (begin > 0) character.insert(0, innerPrefix_);
    if (at == piece.size()) character += lastSuffix_;
    if (const std::optional<int64_t> id = table_.idOf(character)) {
      flush();
      tokens.push_back(*id);
      continue;
    }
    if (fallsToBytes_) {
      if (const auto bytes = idsOfBytes(character)) {
        tokens.insert(tokens.end(), bytes->begin(), bytes->end());
        continue;
      }
    }
    if (!unknown_) continue;  // it is left out
    if (!joinsUnknown_) flush();
    isUnknownPending = true;
  }
  flush();
  return tokens;
}

void BytePairs::join(std::vector<int64_t>& tokens) const {
  std::vector<PairLink> links(tokens.size());
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto propose = [&](ptrdiff_t left) {
    if (left < 0 || links[static_cast<size_t>(left)].after < 0) return;
    const PairLink& link = links[static_cast<size_t>(left)];
    const auto found = joins_.find({link.id, links[static_cast<size_t>(link.after)].id});
    if (found != joins_.end()) candidates.push({found->second.rank, left, found->second.id});
  };
  const auto count = static_cast<ptrdiff_t>(tokens.size());
  for (ptrdiff_t i = 0; i < count; ++i)
    links[static_cast<size_t>(i)] = {tokens[static_cast<size_t>(i)], i - 1, i + 1 < count ? i + 1 : -1};
  for (ptrdiff_t i = 0; i < count; ++i) propose(i);
  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    PairLink& left = links[static_cast<size_t>(best.at)];
    if (!left.isLive || left.after < 0) continue;
    PairLink& right = links[static_cast<size_t>(left.after)];
    const auto found = joins_.find({left.id, right.id});  // is it still the pair that was proposed?
    if (found == joins_.end() || found->second.id != best.id) continue;
    left.id = best.id;
    right.isLive = false;
    left.after = right.after;
    if (left.after >= 0) links[static_cast<size_t>(left.after)].before = best.at;
    propose(left.before);
    propose(best.at);
  }
  tokens.clear();
  for (const PairLink& link : links)
    if (link.isLive) tokens.push_back(link.id);
}

Status BytePairs::encode(const std::string& piece, std::vector<int64_t>& ids) const {
  if (piece.empty()) return {};
  if (takesWhole_) {
    if (const std::optional<int64_t> whole = table_.idOf(piece)) {
      ids.push_back(*whole);
      return {};
    }
  }
  std::vector<int64_t> tokens = charactersOf(piece);
  join(tokens);
  ids.insert(ids.end(), tokens.begin(), tokens.end());
  return {};
}

}  // namespace

Result<std::unique_ptr<TokenModel>> readBytePairs(const FilePart& part) { return BytePairs::read(part); }

}  // namespace dyn::tokenizer
