// What an operation demands of the values of its attributes and operands, as data in the operator's row: from
// it follow the check before inference, the check at run time, what `:ops NAME` shows, and the tests that
// break each of them.
//
//   constexpr AttributeSpec kAttributes[] = {
//       {"block", AttributeKind::integer, true, "the side of a block of pixels", Allowed::between(1, 32768)},
//       {"axis", AttributeKind::integer, false, "default -1", Allowed::axis()}};
//   constexpr OperandRule kScaleRules[] = {{1, ElementsAre::positive}};
//
// Where only the type rule or the kernel can tell, the row says so in words; a test shows that they do.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "vm/include/abi/dyn_builtin_numbers.h"

namespace dyn {

// Values of an attribute; of a list, each element.
struct Allowed {
  enum class Kind : uint8_t {
    unstated,     // the walk over the table fails
    any,          //
    range,        // low <= value <= high, of integers
    words,        // one of the texts, listed with spaces between
    axis,         // -rank <= value < rank of operand `operand`
    newAxis,      // -rank - 1 <= value <= rank: an axis of a result with one more
    axes,         // as axis, and no axis twice
    permutation,  // every axis of operand `operand` once; negative ones count from the end
    byRule,       // the type rule demands what `words` says
  };
  Kind kind = Kind::unstated;
  int64_t low = 0, high = 0;
  int operand = 0;
  std::string_view words = {};

  static constexpr Allowed any() { return {Kind::any}; }
  static constexpr Allowed flag() { return {Kind::range, 0, 1}; }
  static constexpr Allowed between(int64_t low, int64_t high) { return {Kind::range, low, high}; }
  static constexpr Allowed atLeast(int64_t low) {
    return {Kind::range, low, std::numeric_limits<int64_t>::max()};
  }
  static constexpr Allowed oneOf(std::string_view words) { return {Kind::words, 0, 0, 0, words}; }
  static constexpr Allowed axis(int operand = 0) { return {Kind::axis, 0, 0, operand}; }
  static constexpr Allowed newAxis(int operand = 0) { return {Kind::newAxis, 0, 0, operand}; }
  static constexpr Allowed axes(int operand = 0) { return {Kind::axes, 0, 0, operand}; }
  static constexpr Allowed permutation(int operand = 0) { return {Kind::permutation, 0, 0, operand}; }
  static constexpr Allowed byRule(std::string_view demands) { return {Kind::byRule, 0, 0, 0, demands}; }

  // "1 to 32768", "one of dcr, crd", "an axis of operand 0"; "" where any value will do.
  std::string toString() const;
};

// What all elements of an operand are.
enum class ElementsAre : uint8_t {
  positive = DYN_ELEMENTS_POSITIVE,  // above 0, and finite
  numbers = DYN_ELEMENTS_NUMBERS,    // no NaN
  chances = DYN_ELEMENTS_CHANCES,    // between 0 and 1
  inRange = DYN_ELEMENTS_IN_RANGE,   // between operands of the check: check_values only
  byRule,    // the type rule demands what `demands` says, by dims where the elements are not known
  byKernel,  // the kernel looks at each element as it uses it
};
std::string_view toString(ElementsAre kind);
// As an attribute of check_values: "positive", "in_range". The other way round: byRule for a word that is
// none.
std::string_view wordOf(ElementsAre kind);
ElementsAre elementsOfWord(std::string_view word);
// By looking at each element, whatever the operation: a constant's at once, others' by check_values.
constexpr bool isCheckedByElements(ElementsAre kind) { return kind < ElementsAre::inRange; }

struct OperandRule {
  int operand = -1;  // -1: the elements of no operand matter
  ElementsAre elements = ElementsAre::byRule;
  std::string_view demands = {};
};
// For rows whose operands may hold anything.
inline constexpr OperandRule kAnyElements[] = {{}};

}  // namespace dyn
