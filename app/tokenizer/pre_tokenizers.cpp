#include "app/tokenizer/pre_tokenizers.h"

#include "app/tokenizer/byte_letters.h"
#include "app/tokenizer/part_table.h"
#include "app/tokenizer/text_pattern.h"
#include "app/tokenizer/unicode_text.h"

namespace dyn::tokenizer {

namespace {

// Words with a blank before them, as GPT-2 separates them.
constexpr const char* kWordsOfGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

using FindMatches = std::function<Result<std::vector<Match>>(std::string_view)>;

PreTokenizer splitBy(FindMatches find, SplitBehavior behavior, Inversion inversion = Inversion::none) {
  return [find = std::move(find), behavior, inversion](std::vector<TextPiece>& pieces) -> Status {
    std::vector<TextPiece> made;
    for (TextPiece& piece : pieces) {
      if (piece.id) {
        made.push_back(std::move(piece));
        continue;
      }
      DYN_TRY(const std::vector<Match> matches, find(piece.text));
      for (const Match& part : piecesOf(piece.text, matches, behavior, inversion))
        made.push_back({piece.text.substr(part.begin, part.end - part.begin),
                        piece.isFirst && part.begin == 0, std::nullopt});
    }
    pieces = std::move(made);
    return {};
  };
}

FindMatches pointsThat(std::function<bool(char32_t)> isMatch) {
  return [isMatch = std::move(isMatch)](std::string_view text) -> Result<std::vector<Match>> {
    return matchesOfPoints(text, isMatch);
  };
}

FindMatches matchesOf(const RegularExpression& expression) {
  return [expression](std::string_view text) { return expression.findAll(text); };
}

template <typename Change>
void changeTexts(std::vector<TextPiece>& pieces, const Change& change) {
  for (TextPiece& piece : pieces)
    if (!piece.id) change(piece);
}

Result<PreTokenizer> readByteLevelSplit(const FilePart& part) {
  DYN_TRY(const bool prefixes, part.flag("add_prefix_space", true));
  DYN_TRY(const bool splits, part.flag("use_regex", true));
  PreTokenizer split;
  if (splits) {
    DYN_TRY(const RegularExpression words, RegularExpression::compile(kWordsOfGpt2));
    split = splitBy(matchesOf(words), SplitBehavior::isolated);
  }
  return PreTokenizer([prefixes, split](std::vector<TextPiece>& pieces) -> Status {
    if (prefixes)
      changeTexts(pieces, [](TextPiece& piece) {
        if (piece.text.empty() || piece.text[0] != ' ') piece.text.insert(0, " ");
      });
    if (split) DYN_CHECK(split(pieces));
    changeTexts(pieces, [](TextPiece& piece) { piece.text = lettersOfBytes(piece.text); });
    return {};
  });
}

Result<PreTokenizer> readBertSplit(const FilePart&) {
  const PreTokenizer blanks = splitBy(pointsThat(isWhitespace), SplitBehavior::removed);
  const PreTokenizer signs = splitBy(pointsThat(isPunctuation), SplitBehavior::isolated);
  return PreTokenizer([blanks, signs](std::vector<TextPiece>& pieces) -> Status {
    DYN_CHECK(blanks(pieces));
    return signs(pieces);
  });
}

// Runs of \w, and runs of what is neither \w nor a blank.
Result<PreTokenizer> readWhitespace(const FilePart&) {
  const auto find = [](std::string_view text) -> Result<std::vector<Match>> {
    enum class Kind : uint8_t { blank, word, sign };
    std::vector<Match> runs;
    Kind before = Kind::blank;
    for (size_t at = 0; at < text.size();) {
      const size_t begin = at;
      const char32_t point = nextPoint(text, &at);
      const Kind kind = isWord(point) ? Kind::word : isWhitespace(point) ? Kind::blank : Kind::sign;
      if (kind != Kind::blank && kind == before)
        runs.back().end = at;
      else if (kind != Kind::blank)
        runs.push_back({begin, at});
      before = kind;
    }
    return runs;
  };
  return splitBy(find, SplitBehavior::removed, Inversion::inverted);
}

Result<PreTokenizer> readWhitespaceSplit(const FilePart&) {
  return splitBy(pointsThat(isWhitespace), SplitBehavior::removed);
}

Result<PreTokenizer> readMetaspaceSplit(const FilePart& part) {
  DYN_TRY(const std::string letter, part.text("replacement", "\xE2\x96\x81"));
  DYN_TRY(const bool prefixes, part.flag("add_prefix_space", true));
  DYN_TRY(const std::string scheme, part.text("prepend_scheme", prefixes ? "always" : "never"));
  DYN_TRY(const bool splits, part.flag("split", true));
  if (pointCount(letter) != 1) return part.malformed("replacement is not one character");
  if (scheme != "always" && scheme != "first" && scheme != "never")
    return part.unsupported("prepend_scheme " + scheme);
  size_t end = 0;
  const char32_t point = nextPoint(letter, &end);
  const PreTokenizer split =
      splitBy(pointsThat([point](char32_t other) { return other == point; }), SplitBehavior::mergedWithNext);
  return PreTokenizer([letter, scheme, splits, split](std::vector<TextPiece>& pieces) -> Status {
    changeTexts(pieces, [&](TextPiece& piece) {
      std::string made;
      for (const char c : piece.text) c == ' ' ? made += letter : made += c;
      const bool isPrepended = scheme == "always" || (scheme == "first" && piece.isFirst);
      if (isPrepended && !made.starts_with(letter)) made.insert(0, letter);
      piece.text = std::move(made);
    });
    return splits ? split(pieces) : Status();
  });
}

Result<PreTokenizer> readPunctuation(const FilePart& part) {
  DYN_TRY(const SplitBehavior behavior, readBehavior(part, "behavior"));
  return splitBy(pointsThat(isPunctuation), behavior);
}

Result<PreTokenizer> readDigits(const FilePart& part) {
  DYN_TRY(const bool individual, part.flag("individual_digits", false));
  return splitBy(pointsThat(isNumeric), individual ? SplitBehavior::isolated : SplitBehavior::contiguous);
}

Result<PreTokenizer> readDelimiter(const FilePart& part) {
  DYN_TRY(const std::string text, part.text("delimiter"));
  if (pointCount(text) != 1) return part.malformed("delimiter is not one character");
  size_t end = 0;
  const char32_t delimiter = nextPoint(text, &end);
  return splitBy(pointsThat([delimiter](char32_t point) { return point == delimiter; }),
                 SplitBehavior::removed);
}

Result<PreTokenizer> readSplit(const FilePart& part) {
  DYN_TRY(const TextPattern pattern, TextPattern::read(part, "pattern"));
  DYN_TRY(const SplitBehavior behavior, readBehavior(part, "behavior"));
  DYN_TRY(const bool invert, part.flag("invert", false));
  return splitBy([pattern](std::string_view text) { return pattern.findAll(text); }, behavior,
                 invert ? Inversion::inverted : Inversion::none);
}

Result<PreTokenizer> readFixedLength(const FilePart& part) {
  DYN_TRY(const int64_t length, part.integer("length", 5));
  if (length < 1) return part.malformed("length is not positive");
  const auto find = [length](std::string_view text) -> Result<std::vector<Match>> {
    std::vector<Match> pieces;
    for (size_t at = 0; at < text.size();) {
      const size_t begin = at;
      for (int64_t i = 0; i < length && at < text.size(); ++i) (void)nextPoint(text, &at);
      pieces.push_back({begin, at});
    }
    return pieces;
  };
  return splitBy(find, SplitBehavior::isolated);
}

constexpr PartRow<PreTokenizer> kPreTokenizers[] = {
    {"ByteLevel", readByteLevelSplit},
    {"BertPreTokenizer", readBertSplit},
    {"Whitespace", readWhitespace},
    {"WhitespaceSplit", readWhitespaceSplit},
    {"Metaspace", readMetaspaceSplit},
    {"Punctuation", readPunctuation},
    {"Digits", readDigits},
    {"CharDelimiterSplit", readDelimiter},
    {"Split", readSplit},
    {"FixedLength", readFixedLength},
};

}  // namespace

Result<PreTokenizer> readPreTokenizer(const Json& json) {
  if (json.is_null()) return PreTokenizer([](std::vector<TextPiece>&) -> Status { return {}; });
  return readPart<PreTokenizer>({json, "pre_tokenizer"}, kPreTokenizers, "pretokenizers", inTurn);
}

}  // namespace dyn::tokenizer
