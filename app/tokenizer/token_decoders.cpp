#include "app/tokenizer/token_decoders.h"

#include "app/tokenizer/byte_letters.h"
#include "app/tokenizer/part_table.h"
#include "app/tokenizer/text_pattern.h"
#include "app/tokenizer/unicode_text.h"

namespace dyn::tokenizer {

namespace {

void replaceEach(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// Blanks before signs, and the words that English shortens.
void cleanUp(std::string& text) {
  constexpr std::pair<const char*, const char*> kRules[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},    {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  for (const auto& [from, to] : kRules) replaceEach(text, from, to);
}

Result<TokenDecoder> readByteLevelDecoder(const FilePart&) {
  return TokenDecoder([](std::vector<std::string>& tokens) -> Status {
    std::string bytes;
    for (const std::string& token : tokens) bytes += bytesOfLetters(token).value_or(token);
    tokens.assign(1, validText(bytes));
    return {};
  });
}

Result<TokenDecoder> readWordPieceDecoder(const FilePart& part) {
  DYN_TRY(const std::string prefix, part.text("prefix", "##"));
  DYN_TRY(const bool cleans, part.flag("cleanup", true));
  return TokenDecoder([prefix, cleans](std::vector<std::string>& tokens) -> Status {
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0)
        tokens[i] = tokens[i].starts_with(prefix) ? tokens[i].substr(prefix.size()) : " " + tokens[i];
      if (cleans) cleanUp(tokens[i]);
    }
    return {};
  });
}

Result<TokenDecoder> readMetaspaceDecoder(const FilePart& part) {
  DYN_TRY(const std::string letter, part.text("replacement", "\xE2\x96\x81"));
  DYN_TRY(const bool prefixes, part.flag("add_prefix_space", true));
  DYN_TRY(const std::string scheme, part.text("prepend_scheme", prefixes ? "always" : "never"));
  return TokenDecoder([letter, scheme](std::vector<std::string>& tokens) -> Status {
    for (size_t i = 0; i < tokens.size(); ++i)
      replaceEach(tokens[i], letter, i == 0 && scheme != "never" ? "" : " ");
    return {};
  });
}

// The byte of a token <0x41>; -1: it is none.
int byteOfToken(const std::string& token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return -1;
  int byte = 0;
  for (const char c : token.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return -1;
    byte = byte * 16 + digit;
  }
  return byte;
}

// A run of bytes that is no UTF-8 becomes U+FFFD for each byte.
Result<TokenDecoder> readByteFallback(const FilePart&) {
  return TokenDecoder([](std::vector<std::string>& tokens) -> Status {
    std::vector<std::string> made;
    std::string bytes;
    const auto flush = [&] {
      if (!bytes.empty() && validText(bytes) == bytes)
        made.push_back(bytes);
      else
        made.insert(made.end(), bytes.size(), "\xEF\xBF\xBD");
      bytes.clear();
    };
    for (std::string& token : tokens) {
      if (const int byte = byteOfToken(token); byte >= 0) {
        bytes += static_cast<char>(byte);
        continue;
      }
      flush();
      made.push_back(std::move(token));
    }
    flush();
    tokens = std::move(made);
    return {};
  });
}

Result<TokenDecoder> readFuse(const FilePart&) {
  return TokenDecoder([](std::vector<std::string>& tokens) -> Status {
    std::string all;
    for (const std::string& token : tokens) all += token;
    tokens.assign(1, all);
    return {};
  });
}

Result<TokenDecoder> readStripDecoder(const FilePart& part) {
  DYN_TRY(const std::string content, part.text("content"));
  DYN_TRY(const int64_t start, part.integer("start", 0));
  DYN_TRY(const int64_t stop, part.integer("stop", 0));
  if (pointCount(content) != 1) return part.malformed("content is not one character");
  return TokenDecoder([content, start, stop](std::vector<std::string>& tokens) -> Status {
    for (std::string& token : tokens) {
      std::string_view rest = token;
      for (int64_t i = 0; i < start && rest.starts_with(content); ++i) rest.remove_prefix(content.size());
      for (int64_t i = 0; i < stop && rest.ends_with(content); ++i) rest.remove_suffix(content.size());
      token = std::string(rest);
    }
    return {};
  });
}

Result<TokenDecoder> readReplaceDecoder(const FilePart& part) {
  DYN_TRY(const TextPattern pattern, TextPattern::read(part, "pattern"));
  DYN_TRY(const std::string content, part.text("content"));
  return TokenDecoder([pattern, content](std::vector<std::string>& tokens) -> Status {
    for (std::string& token : tokens) {
      DYN_TRY(const std::vector<Match> matches, pattern.findAll(token));
      token = replaced(token, matches, content);
    }
    return {};
  });
}

Result<TokenDecoder> readSuffixDecoder(const FilePart& part) {
  DYN_TRY(const std::string suffix, part.text("suffix", "</w>"));
  return TokenDecoder([suffix](std::vector<std::string>& tokens) -> Status {
    for (size_t i = 0; i < tokens.size(); ++i)
      replaceEach(tokens[i], suffix, i + 1 == tokens.size() ? "" : " ");
    return {};
  });
}

constexpr PartRow<TokenDecoder> kTokenDecoders[] = {
    {"ByteLevel", readByteLevelDecoder},
    {"WordPiece", readWordPieceDecoder},
    {"Metaspace", readMetaspaceDecoder},
    {"ByteFallback", readByteFallback},
    {"Fuse", readFuse},
    {"Strip", readStripDecoder},
    {"Replace", readReplaceDecoder},
    {"BPEDecoder", readSuffixDecoder},
};

}  // namespace

Result<TokenDecoder> readTokenDecoder(const Json& json) {
  if (json.is_null())
    return TokenDecoder([](std::vector<std::string>& tokens) -> Status {
      for (size_t i = 1; i < tokens.size(); ++i) tokens[i].insert(0, " ");
      return {};
    });
  return readPart<TokenDecoder>({json, "decoder"}, kTokenDecoders, "decoders", inTurn);
}

}  // namespace dyn::tokenizer
