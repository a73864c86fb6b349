// CodeText: a text as lines, with what a view shows beside them: marks, keys of what belongs together, folds.
// Made once and then only read, so that a view of it costs what is seen, not what there is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ui/views/code/word_diff.h"

namespace dyn::ui {

// absent: an empty line opposite one that only the other text has.
enum class LineMark : uint8_t { none, added, removed, before, after, absent };

// Lines `first` + 1 to `last` are hidden while it is closed.
struct Fold {
  uint32_t first = 0, last = 0;
  bool closed = false;  // at first
};

// What a stretch of a line is, for its colour.
enum class TokenKind : uint8_t { plain, keyword, name, path, call, type, number, string, comment };
struct Token {
  TokenKind kind = TokenKind::plain;
  uint32_t begin = 0, end = 0;  // bytes of the line
};

// The tokens of a line of IR, of LLVM IR, of assembly or of bytecode; of a long line those of its first
// kMostLexed bytes. `path`: the part of a quoted name in front of its last two words, or a place.
inline constexpr size_t kMostLexed = 4000;
std::vector<Token> tokensOf(std::string_view line);

class CodeText {
 public:
  explicit CodeText(std::string text = {});
  uint32_t lineCount() const { return static_cast<uint32_t>(starts_.size()) - 1; }
  std::string_view line(uint32_t index) const;                        // without its newline
  uint32_t columns(uint32_t index) const { return columns_[index]; }  // characters, tabs as eight
  uint32_t widest() const { return widest_; }
  const std::string& text() const { return text_; }

  std::vector<LineMark> marks;                // by line, or empty
  std::vector<std::vector<Columns>> changed;  // by line, what differs in it; or empty
  std::vector<Fold> folds;                    // by their first line
  std::vector<uint32_t> numbers;              // by line, from 1; 0: has none; or empty: they are counted

 private:
  std::string text_;
  std::vector<size_t> starts_;     // one more than lines
  std::vector<uint32_t> columns_;  // by line
  uint32_t widest_ = 0;
};

// Blocks by their indentation: a line that ends in an opening bracket, to the line that closes it. Runs of
// `dim` facts, of declarations, attributes and metadata are folds that are closed at first.
std::vector<Fold> foldsOf(const CodeText& text);
// The same lines with the paths in front of quoted names cut: %"…/self/MatMul". Folds, marks and what
// differs stay.
CodeText withShortNames(const CodeText& text);
}  // namespace dyn::ui
