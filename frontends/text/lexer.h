// Tokens of the text form, and places in it with the source line and a caret.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/result.h"

namespace dyn::text {

enum class TokenKind : uint8_t {
  name,    // relu, Tensor, batch, _
  value,   // %x, %12, %"any name" (text() is the name without % and quotes still escaped)
  number,  // 3, 1_000, 0.5, 1e-3, 0x7fc1
  string,  // "..."
  symbol,  // ( ) [ ] { } < > , : = + - * / @ ? ; ! % -> .. ... == != <= >= // **
  end
};

struct Token {
  uint32_t offset = 0;
  uint32_t length = 0;
  TokenKind kind = TokenKind::end;
  bool startsLine = false;  // the first token of its line
};

// The text being read. Lines and columns count from 1; columns count characters, not bytes.
class Source {
 public:
  Source(std::string file, std::string_view text);

  std::string_view text() const { return text_; }
  std::string_view text(const Token& token) const { return text_.substr(token.offset, token.length); }
  SourceLocation place(uint32_t offset) const;
  // With two notes, behind four blanks: the line (shortened around the place when long) and `^` below the
  // place.
  Error error(DiagnosticId id, std::string message, uint32_t offset) const;

 private:
  uint32_t lineOf(uint32_t offset) const;  // from 0

  SharedText file_;
  std::string_view text_;
  std::vector<uint32_t> lineStarts_;
  // Where column() counted last: places are asked for in order, also on a line of megabytes.
  mutable uint32_t countedLine_ = UINT32_MAX, countedOffset_ = 0, countedColumn_ = 1;
};

// `#` starts a comment up to the end of the line (`//` divides dims). The last token is `end`.
Result<std::vector<Token>> tokenize(const Source& source);

// The characters meant by a string token (quotes included) or the quoted part of a value token.
Result<std::string> unquoted(const Source& source, const Token& token);

}  // namespace dyn::text
