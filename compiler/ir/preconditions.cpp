#include "compiler/ir/preconditions.h"

#include <algorithm>
#include <iterator>

namespace dyn {

std::string Allowed::toString() const {
  const std::string of = " of operand " + std::to_string(operand);
  switch (kind) {
    case Kind::unstated:
    case Kind::any:
      return "";
    case Kind::range:
      return std::to_string(low) + (high == std::numeric_limits<int64_t>::max()
                                        ? " or more"
                                        : (high == low + 1 ? " or " : " to ") + std::to_string(high));
    case Kind::words: {
      std::string list(words);
      for (size_t at = 0; (at = list.find(' ', at)) != std::string::npos; at += 2) list.replace(at, 1, ", ");
      return "one of " + list;
    }
    case Kind::axis:
      return "an axis" + of;
    case Kind::newAxis:
      return "an axis of a result with one axis more than operand " + std::to_string(operand);
    case Kind::axes:
      return "axes" + of + ", none twice";
    case Kind::permutation:
      return "every axis" + of + " once";
    case Kind::byRule:
      return std::string(words);
  }
  return "";
}

std::string_view toString(ElementsAre kind) {
  constexpr std::string_view kTexts[] = {"above 0 and finite", "no NaN",           "between 0 and 1",
                                         "in the range",       "as the rule says", "as the kernel says"};
  return kTexts[static_cast<size_t>(kind)];
}

namespace {
// In the order of ElementsAre, as far as check_values knows them.
constexpr std::string_view kWords[] = {"positive", "numbers", "chances", "in_range"};
}  // namespace

std::string_view wordOf(ElementsAre kind) {
  const size_t i = static_cast<size_t>(kind);
  return i < std::size(kWords) ? kWords[i] : std::string_view();
}

ElementsAre elementsOfWord(std::string_view word) {
  for (size_t i = 0; i < std::size(kWords); ++i)
    if (kWords[i] == word) return static_cast<ElementsAre>(i);
  return ElementsAre::byRule;
}

}  // namespace dyn
