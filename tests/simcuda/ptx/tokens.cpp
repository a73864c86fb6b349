#include "tests/simcuda/ptx/tokens.h"

#include <cctype>
#include <cstring>

#include "tests/simcuda/ptx/fault.h"

namespace simcuda {
namespace {

bool inWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("_$%.", c); }

}  // namespace

std::vector<Token> tokenize(std::string_view text) {
  std::vector<Token> tokens;
  int line = 1;
  size_t at = 0;
  auto isAt = [&](std::string_view what) { return text.substr(at, what.size()) == what; };
  while (at < text.size()) {
    char c = text[at];
    if (c == '\0') break;
    if (c == '\n') line++;
    if (std::isspace(static_cast<unsigned char>(c))) {
      at++;
    } else if (isAt("//")) {
      at = std::min(text.find('\n', at), text.size());
    } else if (isAt("/*")) {
      size_t end = text.find("*/", at);
      if (end == text.npos) throw LoadError(line, "a comment without an end");
      for (; at < end; at++) line += text[at] == '\n';
      at += 2;
    } else if (c == '"') {
      size_t end = text.find('"', at + 1);
      if (end == text.npos) throw LoadError(line, "a string without an end");
      tokens.push_back({Token::Kind::String, text.substr(at + 1, end - at - 1), line});
      at = end + 1;
    } else if (inWord(c)) {
      size_t begin = at;
      while (at < text.size() && (isAt("::") || (text[at] && inWord(text[at]))))
        at += text[at] == ':' ? 2 : 1;
      tokens.push_back({Token::Kind::Word, text.substr(begin, at - begin), line});
    } else if (std::strchr("{}[]()<>,;:@!|+-=", c)) {
      tokens.push_back({Token::Kind::Mark, text.substr(at++, 1), line});
    } else {
      throw LoadError(line, std::string("a character that begins nothing: ") + c);
    }
  }
  tokens.push_back({Token::Kind::End, {}, line});
  return tokens;
}

}  // namespace simcuda
