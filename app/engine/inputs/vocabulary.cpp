#include "app/engine/inputs/vocabulary.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "compiler/support/mapped_file.h"

namespace dyn {

namespace {

constexpr size_t kLongestWord = 100;  // as BERT: longer ones are unknown

// The next code point; a byte that is no UTF-8 stands for itself.
char32_t next(std::string_view text, size_t* at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(*at);
  size_t more = first >= 0xF0 && first < 0xF8 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
  if (first >= 0xF8) more = 0;
  char32_t point = more == 0 ? first : first & (0x3F >> more);
  if (*at + more >= text.size() + (more == 0)) more = 0, point = first;
  for (size_t i = 1; i <= more; ++i) {
    if ((byte(*at + i) & 0xC0) != 0x80) {
      more = 0;
      point = first;
      break;
    }
    point = point << 6 | (byte(*at + i) & 0x3F);
  }
  *at += more + 1;
  return point;
}

void appendPoint(std::string& text, char32_t point) {
  const auto byte = [&](char32_t bits) { text += static_cast<char>(bits); };
  if (point < 0x80) return byte(point);
  if (point < 0x800) {
    byte(0xC0 | point >> 6);
  } else {
    if (point < 0x10000) {
      byte(0xE0 | point >> 12);
    } else {
      byte(0xF0 | point >> 18);
      byte(0x80 | (point >> 12 & 0x3F));
    }
    byte(0x80 | (point >> 6 & 0x3F));
  }
  byte(0x80 | (point & 0x3F));
}

bool isBlank(char32_t c) {
  return c == ' ' || (c >= 9 && c <= 13) || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool isPunctuation(char32_t c) {
  if (c < 0x80)
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
  return c == 0xA1 || c == 0xA7 || c == 0xAB || c == 0xB6 || c == 0xB7 || c == 0xBB || c == 0xBF ||
         (c >= 0x2010 && c <= 0x2027) || (c >= 0x2030 && c <= 0x205E) || (c >= 0x3001 && c <= 0x3003) ||
         (c >= 0x3008 && c <= 0x3011) || (c >= 0xFF01 && c <= 0xFF0F && c != 0xFF0B && c != 0xFF04);
}

// Each of them is a word.
bool isIdeograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

// The letter below the accents, small: of U+00C0 to U+017F. '.' is a letter of its own.
constexpr std::string_view kBare =
    "aaaaaa.ceeeeiiii.nooooo..uuuuy..aaaaaa.ceeeeiiii.nooooo..uuuuy.yaaaaaaccccccccdd..eeeeeeeeeegggg"
    "gggghh..iiiiiiiii...jjkk.llllll....nnnnnn...oooooo..rrrrrrsssssssstttt..uuuuuuuuuuuuwwyyyzzzzzz.";

char32_t lowered(char32_t c) {
  if (c >= 'A' && c <= 'Z') return c + 32;
  if ((c >= 0xC0 && c <= 0xDE && c != 0xD7) || (c >= 0x391 && c <= 0x3A9) || (c >= 0x410 && c <= 0x42F))
    return c + 32;
  if (c >= 0x400 && c <= 0x40F) return c + 80;
  if (c == 0x178) return 0xFF;
  const bool evenFirst = (c >= 0x100 && c <= 0x137) || (c >= 0x14A && c <= 0x177),
             oddFirst = (c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E);
  if ((evenFirst && c % 2 == 0 && c != 0x130) || (oddFirst && c % 2 == 1)) return c + 1;
  return c;
}

char32_t withoutAccent(char32_t c) {
  if (c < 0xC0 || c >= 0xC0 + kBare.size()) return c == 0x451 ? 0x435 : c == 0x439 ? 0x438 : c;
  const char bare = kBare[c - 0xC0];
  return bare == '.' ? c : static_cast<char32_t>(bare);
}

// Where accents fall, a Korean syllable falls into its letters.
void appendParts(std::string& text, char32_t c) {
  if (c < 0xAC00 || c > 0xD7A3) return appendPoint(text, c);
  const char32_t syllable = c - 0xAC00;
  appendPoint(text, 0x1100 + syllable / 588);
  appendPoint(text, 0x1161 + syllable % 588 / 28);
  if (syllable % 28 > 0) appendPoint(text, 0x11A7 + syllable % 28);
}

// The words of BERT's first step.
std::vector<std::string> vocabularyWordsOf(std::string_view text, bool small) {
  std::vector<std::string> words(1);
  const auto end = [&] {
    if (!words.back().empty()) words.emplace_back();
  };
  for (size_t at = 0; at < text.size();) {
    char32_t c = next(text, &at);
    if (isBlank(c)) {
      end();
      continue;
    }
    if (c == 0 || c == 0xFFFD || c < 0x20 || c == 0x7F) continue;
    if (small) {
      if (c >= 0x300 && c <= 0x36F) continue;
      c = withoutAccent(lowered(c));
    }
    const bool alone = isPunctuation(c) || isIdeograph(c);
    if (alone) end();
    small ? appendParts(words.back(), c) : appendPoint(words.back(), c);
    if (alone) end();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// GPT-2 writes each byte as a letter that can be seen.
std::string seen(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    char32_t point = byte;
    if (!plain) {  // those that cannot are counted from 256
      point = 256;
      for (unsigned other = 0; other < byte; ++other)
        point += !((other >= '!' && other <= '~') || (other >= 0xA1 && other <= 0xAC) || other >= 0xAE);
    }
    appendPoint(text, point);
  }
  return text;
}

// What GPT-2's pattern parts: 's and the like; letters, digits, or others, each with a blank before; blanks.
std::vector<std::string_view> stretchesOf(std::string_view text) {
  enum class Kind { letter, digit, other, blank };
  const auto kindAt = [&](size_t at, size_t* after) {
    *after = at;
    const char32_t c = next(text, after);
    if (isBlank(c)) return Kind::blank;
    if (c >= '0' && c <= '9') return Kind::digit;
    if (c < 0x80) return (c | 32) >= 'a' && (c | 32) <= 'z' ? Kind::letter : Kind::other;
    return isPunctuation(c) || (c < 0xC0 && c != 0xAA && c != 0xB5 && c != 0xBA) || c == 0xD7 || c == 0xF7 ||
                   (c >= 0x20A0 && c <= 0x2BFF) || c >= 0x1F000
               ? Kind::other
               : Kind::letter;
  };
  std::vector<std::string_view> stretches;
  for (size_t at = 0; at < text.size();) {
    size_t end = 0;
    if (text[at] == '\'') {
      for (const std::string_view tail : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
        if (text.substr(at, tail.size()) == tail) end = at + tail.size();
      if (end > 0) {
        stretches.push_back(text.substr(at, end - at));
        at = end;
        continue;
      }
    }
    const size_t begin = at;
    size_t first = at;
    if (text[at] == ' ' && at + 1 < text.size()) {
      size_t after = 0;
      if (kindAt(at + 1, &after) != Kind::blank) first = at + 1;
    }
    const Kind kind = kindAt(first, &end);
    size_t last = first;  // where the last one begins
    while (end < text.size()) {
      size_t after = 0;
      if (kindAt(end, &after) != kind) break;
      last = end;
      end = after;
    }
    // The last blank of several belongs to the word behind them.
    if (kind == Kind::blank && end < text.size() && last > first) end = last;
    stretches.push_back(text.substr(begin, end - begin));
    at = end;
  }
  return stretches;
}

std::vector<std::string_view> vocabularyLinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

Result<Vocabulary> Vocabulary::read(const std::string& path) {
  Vocabulary words;
  const bool json = path.size() > 5 && path.substr(path.size() - 5) == ".json";
  Status status = json ? words.readPairs(path) : words.readPieces(path);
  if (!status.ok()) return status.takeError();
  return words;
}

Status Vocabulary::readPieces(const std::string& path) {
  DYN_TRY(MappedFile file, MappedFile::open(path));
  for (const std::string_view line : vocabularyLinesOf(file.bytes())) {
    small_ = small_ && (line.empty() || line[0] < 'A' || line[0] > 'Z');
    ids_.emplace(line, static_cast<int64_t>(ids_.size()));
  }
  if (!ids_.count("[UNK]"))
    return makeError(DiagnosticId::fileFormat, path + " is not a vocabulary: it has no line [UNK]")
        .note("a piece a line, as BERT's vocab.txt; or vocab.json with merges.txt beside it");
  return Status();
}

Status Vocabulary::readPairs(const std::string& path) {
  bytePairs_ = true;
  DYN_TRY(MappedFile file, MappedFile::open(path));
  const nlohmann::json json = nlohmann::json::parse(file.bytes(), nullptr, false);
  if (!json.is_object())
    return makeError(DiagnosticId::fileFormat,
                     path + " is not a vocabulary: JSON of pieces and their numbers");
  for (const auto& [piece, id] : json.items()) {
    if (!id.is_number_integer())
      return makeError(DiagnosticId::fileFormat, path + ": the number of '" + piece + "' is not an integer")
          .note("a tokenizer of the package tokenizers is read where its file's name ends in tokenizer.json");
    ids_.emplace(piece, id.get<int64_t>());
  }
  const size_t slash = path.rfind('/');
  const std::string beside = (slash == std::string::npos ? "" : path.substr(0, slash + 1)) + "merges.txt";
  DYN_TRY(MappedFile merges, MappedFile::open(beside));
  for (const std::string_view line : vocabularyLinesOf(merges.bytes()))
    if (!line.empty() && line.substr(0, 8) != "#version") merges_.emplace(line, merges_.size());
  return Status();
}

int64_t Vocabulary::idOf(const std::string& piece) const {
  const auto found = ids_.find(piece);
  return found == ids_.end() ? -1 : found->second;
}

// The longest piece from the left, again and again.
void Vocabulary::addWord(const std::string& word, std::vector<int64_t>& ids) const {
  std::vector<size_t> ends;  // of its letters
  for (size_t at = 0; at < word.size();) {
    next(word, &at);
    ends.push_back(at);
  }
  std::vector<int64_t> pieces;
  size_t begin = 0, letter = 0;
  while (ends.size() <= kLongestWord && begin < word.size()) {
    size_t last = ends.size();
    int64_t id = -1;
    for (; last > letter && id < 0; --last)
      id = idOf((begin > 0 ? "##" : "") + word.substr(begin, ends[last - 1] - begin));
    if (id < 0) break;
    pieces.push_back(id);
    begin = ends[last];
    letter = last + 1;
  }
  if (begin < word.size()) pieces.assign(1, idOf("[UNK]"));
  ids.insert(ids.end(), pieces.begin(), pieces.end());
}

// The pair that was merged first in training is merged first.
Status Vocabulary::addPairs(const std::string& word, std::vector<int64_t>& ids) const {
  std::vector<std::string> parts;
  for (size_t at = 0; at < word.size();) {
    const size_t begin = at;
    next(word, &at);
    parts.push_back(word.substr(begin, at - begin));
  }
  for (;;) {
    size_t best = SIZE_MAX;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = merges_.find(parts[i] + " " + parts[i + 1]);
      if (found != merges_.end()) best = std::min(best, found->second);
    }
    if (best == SIZE_MAX) break;
    std::vector<std::string> merged;
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto found = i + 1 < parts.size() ? merges_.find(parts[i] + " " + parts[i + 1]) : merges_.end();
      const bool joins = found != merges_.end() && found->second == best;
      merged.push_back(joins ? parts[i] + parts[i + 1] : parts[i]);
      i += joins;
    }
    parts = std::move(merged);
  }
  for (const std::string& part : parts) {
    const int64_t id = idOf(part);
    if (id < 0)
      return makeError(DiagnosticId::inputMismatch,
                       "the vocabulary has no number for the piece '" + part + "'");
    ids.push_back(id);
  }
  return Status();
}

Result<std::vector<int64_t>> Vocabulary::idsOf(std::string_view text) const {
  std::vector<int64_t> ids;
  if (bytePairs_) {
    for (const std::string_view stretch : stretchesOf(text)) DYN_CHECK(addPairs(seen(stretch), ids));
    return ids;
  }
  if (const int64_t begin = idOf("[CLS]"); begin >= 0) ids.push_back(begin);
  for (const std::string& word : vocabularyWordsOf(text, small_)) addWord(word, ids);
  if (const int64_t end = idOf("[SEP]"); end >= 0) ids.push_back(end);
  return ids;
}

}  // namespace dyn
