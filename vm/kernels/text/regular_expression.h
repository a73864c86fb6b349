// RegularExpression: does a whole text match a pattern in the syntax of RE2, and where in a text is a match?
// Time is at most pattern times text: all ways through the pattern are followed side by side, none is tried
// again.
//
//   RegularExpression expression;
//   Status status = RegularExpression::parse("[a-z]+@(yahoo|gmail)\\.com", expression);
//   expression.matches("me@gmail.com");      // true
//
// Known: literals, . [..] [^..] with ranges and [:classes:], groups, |, * + ? {n} {n,} {n,m} (lazy ones too),
// ^ $ \A \z \b \B, \d \s \w \D \S \W and the escapes of single characters. Flags, named groups and \p are an
// error DYN_UNSUPPORTED. Texts are UTF-8.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "vm/base/status.h"

namespace dyn::vm::kernels {

// Code points, as ranges in ascending order.
struct CharacterSet {
  std::vector<std::pair<uint32_t, uint32_t>> ranges;
  void add(uint32_t first, uint32_t last) { ranges.emplace_back(first, last); }
  bool contains(uint32_t character) const;
  void invert();
};

class RegularExpression {
 public:
  // DYN_BAD_INPUT for what is no pattern, DYN_UNSUPPORTED for what this does not know or would become too
  // large.
  static Status parse(std::string_view pattern, RegularExpression& expression);
  bool matches(std::string_view text) const;
  // The bytes [begin, end) of the match that begins first from byte `from` on; of those that begin there the
  // longest. What stands before `from` is seen by ^ and \b. False: absent.
  bool find(std::string_view text, size_t from, size_t& begin, size_t& end) const;

  enum class Step : uint8_t { set, split, jump, textBegin, textEnd, wordEdge, noWordEdge, accept };
  // set: index of the set, then the next step; split: both ways; jump: where to; the others: the next step.
  struct Instruction {
    Step step;
    uint32_t first = 0, second = 0;
  };

 private:
  class Walk;
  std::vector<Instruction> program_;
  std::vector<CharacterSet> sets_;
};

}  // namespace dyn::vm::kernels
