#include "app/tokenizer/normalizers.h"

#include "app/tokenizer/byte_letters.h"
#include "app/tokenizer/part_table.h"
#include "app/tokenizer/precompiled_map.h"
#include "app/tokenizer/text_pattern.h"
#include "app/tokenizer/unicode_text.h"

namespace dyn::tokenizer {

namespace {

// Each code point becomes what `append` makes of it.
template <typename Append>
void mapPoints(NormalText& normal, const Append& append) {
  std::string made;
  made.reserve(normal.text.size());
  for (size_t at = 0; at < normal.text.size();) {
    append(made, nextPoint(normal.text, &at));
    if (made.empty()) normal.hasFront = false;
  }
  normal.text = std::move(made);
}

template <typename Keeps>
void filterPoints(NormalText& normal, const Keeps& keeps) {
  mapPoints(normal, [&](std::string& made, char32_t point) {
    if (keeps(point)) appendPoint(made, point);
  });
}

template <NormalForm form>
Result<Normalizer> readNormalForm(const FilePart&) {
  return Normalizer([](NormalText& normal) -> Status {
    DYN_TRY(normal.text, normalForm(normal.text, form));
    return {};
  });
}

Result<Normalizer> readLowercase(const FilePart&) {
  return Normalizer([](NormalText& normal) -> Status {
    normal.text = lowercase(normal.text);
    return {};
  });
}

Result<Normalizer> readStripAccents(const FilePart&) {
  return Normalizer([](NormalText& normal) -> Status {
    filterPoints(normal, [](char32_t point) { return !isMark(point); });
    return {};
  });
}

Result<Normalizer> readStripNormalizer(const FilePart& part) {
  DYN_TRY(const bool left, part.flag("strip_left", true));
  DYN_TRY(const bool right, part.flag("strip_right", true));
  return Normalizer([left, right](NormalText& normal) -> Status {
    const std::string& text = normal.text;
    size_t begin = text.size(), end = 0;  // of what is no blank
    for (size_t at = 0; at < text.size();) {
      const size_t from = at;
      if (isWhitespace(nextPoint(text, &at))) continue;
      begin = std::min(begin, from);
      end = at;
    }
    if (!left) begin = 0;
    if (!right) end = text.size();
    if (begin > 0) normal.hasFront = false;
    normal.text = begin < end ? text.substr(begin, end - begin) : "";
    return {};
  });
}

Result<Normalizer> readPrepend(const FilePart& part) {
  DYN_TRY(const std::string front, part.text("prepend"));
  return Normalizer([front](NormalText& normal) -> Status {
    if (!normal.text.empty()) normal.text.insert(0, front);
    return {};
  });
}

Result<Normalizer> readReplaceNormalizer(const FilePart& part) {
  DYN_TRY(const TextPattern pattern, TextPattern::read(part, "pattern"));
  DYN_TRY(const std::string content, part.text("content"));
  return Normalizer([pattern, content](NormalText& normal) -> Status {
    DYN_TRY(const std::vector<Match> matches, pattern.findAll(normal.text));
    if (content.empty() && !matches.empty() && matches[0].begin == 0 && matches[0].end > 0)
      normal.hasFront = false;
    normal.text = replaced(normal.text, matches, content);
    return {};
  });
}

void removeControls(NormalText& normal) {
  mapPoints(normal, [](std::string& made, char32_t point) {
    const bool isPlainBlank = point == '\t' || point == '\n' || point == '\r';
    if (point == 0xFFFD || (isControl(point) && !isPlainBlank)) return;
    appendPoint(made, isWhitespace(point) ? ' ' : point);
  });
}

void separateIdeographs(NormalText& normal) {
  mapPoints(normal, [](std::string& made, char32_t point) {
    const bool isApart = isIdeograph(point);
    if (isApart) made += ' ';
    appendPoint(made, point);
    if (isApart) made += ' ';
  });
}

Result<Normalizer> readBertNormalizer(const FilePart& part) {
  DYN_TRY(const bool cleans, part.flag("clean_text", true));
  DYN_TRY(const bool separates, part.flag("handle_chinese_chars", true));
  DYN_TRY(const bool lowers, part.flag("lowercase", true));
  DYN_TRY(const bool strips, part.flag("strip_accents", lowers));
  return Normalizer([cleans, separates, lowers, strips](NormalText& normal) -> Status {
    if (cleans) removeControls(normal);
    if (separates) separateIdeographs(normal);
    if (strips) {
      DYN_TRY(normal.text, normalForm(normal.text, NormalForm::nfd));
      filterPoints(normal, [](char32_t point) { return !isNonspacingMark(point); });
    }
    if (lowers) normal.text = lowercase(normal.text);
    return {};
  });
}

// As the library SentencePiece does it in its form "nmt".
Result<Normalizer> readNmt(const FilePart&) {
  return Normalizer([](NormalText& normal) -> Status {
    mapPoints(normal, [](std::string& made, char32_t c) {
      if ((c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F)
        return;
      const bool isBlank = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                           (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                           c == 0xFEFF || c == 0xFFFD;
      appendPoint(made, isBlank ? ' ' : c);
    });
    return {};
  });
}

Result<Normalizer> readPrecompiled(const FilePart& part) {
  DYN_TRY(const std::string base64, part.text("precompiled_charsmap"));
  DYN_TRY(const PrecompiledMap map, PrecompiledMap::read(part, base64));
  return Normalizer([map](NormalText& normal) -> Status {
    normal.text = map.apply(normal.text);
    return {};
  });
}

Result<Normalizer> readByteNormalizer(const FilePart&) {
  return Normalizer([](NormalText& normal) -> Status {
    normal.text = lettersOfBytes(normal.text);
    return {};
  });
}

constexpr PartRow<Normalizer> kNormalizers[] = {
    {"NFC", readNormalForm<NormalForm::nfc>},
    {"NFD", readNormalForm<NormalForm::nfd>},
    {"NFKC", readNormalForm<NormalForm::nfkc>},
    {"NFKD", readNormalForm<NormalForm::nfkd>},
    {"Lowercase", readLowercase},
    {"StripAccents", readStripAccents},
    {"Strip", readStripNormalizer},
    {"Prepend", readPrepend},
    {"Replace", readReplaceNormalizer},
    {"BertNormalizer", readBertNormalizer},
    {"Nmt", readNmt},
    {"Precompiled", readPrecompiled},
    {"ByteLevel", readByteNormalizer},
};

}  // namespace

Result<Normalizer> readNormalizer(const Json& json) {
  if (json.is_null()) return Normalizer([](NormalText&) -> Status { return {}; });
  return readPart<Normalizer>({json, "normalizer"}, kNormalizers, "normalizers", inTurn);
}

}  // namespace dyn::tokenizer
