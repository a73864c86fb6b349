#include "frontends/text/lexer.h"

#include <algorithm>

namespace dyn::text {
namespace {

bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool digit(char c) { return c >= '0' && c <= '9'; }
bool word(char c) { return letter(c) || digit(c) || c == '.'; }
bool hexDigit(char c) { return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }  // of a UTF-8 character

class Lexer {
 public:
  explicit Lexer(const Source& source) : source_(source), text_(source.text()) {}

  Result<std::vector<Token>> run() {
    if (text_.size() >= UINT32_MAX) {
      return makeError(DiagnosticId::memoryLimit, "a text of 4 GiB or more cannot be read");
    }
    for (;;) {
      skipBlanks();
      const uint32_t start = at_;
      if (at_ == text_.size()) {
        // Behind the last token: what is missing is missing there.
        if (!tokens_.empty()) at_ = tokens_.back().offset + tokens_.back().length;
        push(at_, TokenKind::end);
        return std::move(tokens_);
      }
      const char c = text_[at_];
      if (letter(c)) {
        // A name does not end in dots: they may be those of a range.
        while (word(peek())) ++at_;
        while (text_[at_ - 1] == '.') --at_;
        push(start, TokenKind::name);
      } else if (digit(c)) {
        number();
        if (peek() == '_')
          return source_.error(DiagnosticId::textSyntax,
                               "the separators of a number stand between digits: 1_000", at_);
        push(start, TokenKind::number);
      } else if (c == '%' && isRemainder()) {
        ++at_;
        push(start, TokenKind::symbol);
      } else if (c == '%') {
        ++at_;
        if (peek() == '"') {
          DYN_CHECK(string());
        } else {
          while (word(peek())) ++at_;
        }
        push(start, TokenKind::value);
      } else if (c == '"') {
        DYN_CHECK(string());
        push(start, TokenKind::string);
      } else if (text_.substr(at_, 3) == "...") {
        at_ += 3;
        push(start, TokenKind::symbol);
      } else if (pair("->") || pair("//") || pair("**") || pair("..") || pair("==") || pair("!=") ||
                 pair("<=") || pair(">=")) {
        at_ += 2;
        push(start, TokenKind::symbol);
      } else if (std::string_view("()[]{}<>,:=+-*/@?;!").find(c) != std::string_view::npos) {
        ++at_;
        push(start, TokenKind::symbol);
      } else {
        return unexpected(start);
      }
    }
  }

 private:
  char peek(uint32_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool pair(std::string_view two) const { return text_.substr(at_, 2) == two; }

  void push(uint32_t start, TokenKind kind) {
    tokens_.push_back({start, at_ - start, kind, startsLine_});
    startsLine_ = false;
  }

  void skipBlanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') startsLine_ = true;
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        ++at_;
      } else if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        return;
      }
    }
  }

  // A `%` that no name follows, or that stands right behind a value: a % 3, a%b. In `relu(%a) %b` it begins a
  // name.
  bool isRemainder() const {
    if (!word(peek(1)) && peek(1) != '"') return true;
    if (tokens_.empty() || tokens_.back().offset + tokens_.back().length != at_) return false;
    const Token& before = tokens_.back();
    const char last = text_[at_ - 1];
    return before.kind == TokenKind::name || before.kind == TokenKind::number ||
           before.kind == TokenKind::value || last == ')' || last == ']';
  }

  // 1_000: between two digits stands a separator.
  void digits() {
    while (digit(peek()) || (peek() == '_' && at_ > 0 && digit(text_[at_ - 1]) && digit(peek(1)))) ++at_;
  }

  void number() {
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X') && hexDigit(peek(2))) {
      at_ += 2;
      while (hexDigit(peek())) ++at_;
      return;
    }
    digits();
    if (peek() == '.' && peek(1) != '.' && !letter(peek(1))) {
      ++at_;
      digits();
    }
    if (peek() != 'e' && peek() != 'E') return;
    const uint32_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    if (!digit(peek(1 + sign))) return;
    at_ += 1 + sign;
    digits();
  }

  Status string() {
    const uint32_t start = at_++;
    while (peek() != '"') {
      if (at_ >= text_.size() || text_[at_] == '\n') {
        return source_.error(DiagnosticId::textSyntax, "this string does not end on its line", start);
      }
      at_ += text_[at_] == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n' ? 2 : 1;
    }
    ++at_;
    return {};
  }

  Error unexpected(uint32_t start) const {
    uint32_t end = start + 1;
    while (end < text_.size() && continuation(text_[end]) && end - start < 4) ++end;
    const auto byte = static_cast<unsigned char>(text_[start]);
    std::string shown = byte < 0x20 || byte == 0x7f
                            ? "a control character (" + std::to_string(byte) + ")"
                            : "'" + std::string(text_.substr(start, end - start)) + "'";
    return source_.error(DiagnosticId::textSyntax, shown + " has no meaning here", start);
  }

  const Source& source_;
  std::string_view text_;
  std::vector<Token> tokens_;
  uint32_t at_ = 0;
  bool startsLine_ = true;
};

int hexValue(char c) { return digit(c) ? c - '0' : (c | 0x20) - 'a' + 10; }

}  // namespace

Source::Source(std::string file, std::string_view text) : file_(std::move(file)), text_(text) {
  lineStarts_.push_back(0);
  for (size_t i = 0; i < text.size() && i < UINT32_MAX; ++i) {
    if (text[i] == '\n') lineStarts_.push_back(static_cast<uint32_t>(i + 1));
  }
}

uint32_t Source::lineOf(uint32_t offset) const {
  const auto after = std::upper_bound(lineStarts_.begin(), lineStarts_.end(), offset);
  return static_cast<uint32_t>(after - lineStarts_.begin()) - 1;
}

SourceLocation Source::place(uint32_t offset) const {
  const uint32_t line = lineOf(offset);
  if (countedLine_ != line || countedOffset_ > offset) {
    countedLine_ = line;
    countedOffset_ = lineStarts_[line];
    countedColumn_ = 1;
  }
  for (; countedOffset_ < offset && countedOffset_ < text_.size(); ++countedOffset_) {
    countedColumn_ += !continuation(text_[countedOffset_]);
  }
  SourceLocation place;
  place.file = file_;
  place.line = line + 1;
  place.column = countedColumn_;
  return place;
}

Error Source::error(DiagnosticId id, std::string message, uint32_t offset) const {
  constexpr uint32_t kBefore = 80, kAfter = 40;
  Error error = makeError(id, std::move(message), place(offset));
  uint32_t begin = lineStarts_[lineOf(offset)];
  uint32_t end = begin;
  while (end < text_.size() && text_[end] != '\n' && text_[end] != '\r') ++end;
  std::string line = "    ", caret = line;  // by the blanks they are known as an excerpt
  if (offset - begin > kBefore) {
    begin = offset - kBefore;
    while (begin < offset && continuation(text_[begin])) ++begin;
    line += "...";
    caret += "   ";
  }
  const bool cut = end > offset && end - offset > kAfter;
  if (cut) {
    end = offset + kAfter;
    while (end > offset && continuation(text_[end])) --end;
  }
  for (uint32_t i = begin; i < end; ++i) {
    const auto byte = static_cast<unsigned char>(text_[i]);
    line += byte < 0x20 || byte == 0x7f ? ' ' : text_[i];
    if (i < offset && !continuation(text_[i])) caret += ' ';
  }
  if (cut) line += "...";
  error.diagnostic().notes = {std::move(line), caret + "^"};
  return error;
}

Result<std::vector<Token>> tokenize(const Source& source) { return Lexer(source).run(); }

Result<std::string> unquoted(const Source& source, const Token& token) {
  std::string_view raw = source.text(token);
  uint32_t offset = token.offset + 1;
  if (raw.front() == '%') {
    raw.remove_prefix(1);
    if (raw.empty() || raw.front() != '"') return std::string(raw);
    ++offset;
  }
  raw = raw.substr(1, raw.size() - 2);
  std::string value;
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      value += raw[i];
      continue;
    }
    const char c = i + 1 < raw.size() ? raw[i + 1] : '\0';
    if (c == 'n') {
      value += '\n';
    } else if (c == 't') {
      value += '\t';
    } else if (c == '"' || c == '\\') {
      value += c;
    } else if (c == 'x' && i + 3 < raw.size() && hexDigit(raw[i + 2]) && hexDigit(raw[i + 3])) {
      value += static_cast<char>(hexValue(raw[i + 2]) * 16 + hexValue(raw[i + 3]));
      i += 2;
    } else {
      return source.error(DiagnosticId::textSyntax, "unknown escape in a string: use \\\" \\\\ \\n \\t \\xNN",
                          offset + static_cast<uint32_t>(i));
    }
    ++i;
  }
  return value;
}

}  // namespace dyn::text
