#include "compiler/ops/rules/precondition_rules.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace dyn {
namespace {

bool isListed(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

Error attributeError(const InferContext& c, const AttributeSpec& spec, const std::string& value) {
  return c.error(DiagnosticId::badAttribute, "attribute " + std::string(spec.name) + " is " + value +
                                                 "; allowed is " + spec.allowed.toString());
}

// Rank of the operand the axes are of; nullopt where it has none.
std::optional<int> rankFor(const InferContext& c, const Allowed& allowed) {
  if (!c.hasOperand(allowed.operand)) return std::nullopt;
  const Type type = c.operandType(allowed.operand);
  if (!type.isTensor()) return std::nullopt;
  return type.rank();
}

std::string listText(const std::vector<int64_t>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}

Status checkIntegers(const InferContext& c, const AttributeSpec& spec, const std::vector<int64_t>& values,
                     const std::string& text) {
  const Allowed& allowed = spec.allowed;
  if (allowed.kind == Allowed::Kind::range) {
    for (int64_t value : values)
      if (value < allowed.low || value > allowed.high) return attributeError(c, spec, text);
    return {};
  }
  const std::optional<int> known = rankFor(c, allowed);
  if (!known) return {};
  const int64_t rank = *known + (allowed.kind == Allowed::Kind::newAxis ? 1 : 0);
  const bool isOrder = allowed.kind == Allowed::Kind::permutation;
  std::set<int64_t> seen;
  for (int64_t value : values) {
    const bool inRange = value < rank && value >= -rank;
    const bool isNew = seen.insert(value < 0 ? value + rank : value).second;
    const bool mayRepeat = allowed.kind == Allowed::Kind::axis || allowed.kind == Allowed::Kind::newAxis;
    if (!inRange || (!isNew && !mayRepeat))
      return attributeError(c, spec, text).note("the rank is " + std::to_string(*known));
  }
  if (isOrder && static_cast<int64_t>(values.size()) != rank)
    return attributeError(c, spec, text).note("the rank is " + std::to_string(*known));
  return {};
}

}  // namespace

Status checkAttributeValues(const InferContext& c) {
  for (const AttributeSpec& spec : c.op().def->attributes) {
    const Allowed::Kind kind = spec.allowed.kind;
    if (kind == Allowed::Kind::unstated || kind == Allowed::Kind::any || kind == Allowed::Kind::byRule)
      continue;
    if (!c.attributes().has(spec.name)) continue;
    if (kind == Allowed::Kind::words) {
      std::vector<std::string> values = c.attributes().strings(spec.name);
      if (spec.kind == AttributeKind::string) values = {c.attributes().string(spec.name)};
      for (const std::string& value : values)
        if (!isListed(spec.allowed.words, value)) return attributeError(c, spec, "\"" + value + "\"");
    } else if (spec.kind == AttributeKind::integer) {
      const int64_t value = c.attributes().integer(spec.name);
      DYN_CHECK(checkIntegers(c, spec, {value}, std::to_string(value)));
    } else if (spec.kind == AttributeKind::integers) {
      const std::vector<int64_t> values = c.attributes().integers(spec.name);
      DYN_CHECK(checkIntegers(c, spec, values, listText(values)));
    }
  }
  return {};
}

std::string elementsFault(const HostTensor& x, ElementsAre are, const HostTensor* low,
                          const HostTensor* high) {
  const auto text = [&](int64_t i) {
    return "element " + std::to_string(i) + " is " +
           (isReal(x.dtype()) ? std::to_string(x.realAt(i)) : std::to_string(x.intAt(i)));
  };
  for (int64_t i = 0; i < x.elementCount(); ++i) {
    bool holds = true;
    if (isReal(x.dtype())) {
      const double value = x.realAt(i);
      switch (are) {
        case ElementsAre::positive:
          holds = value > 0 && std::isfinite(value);
          break;
        case ElementsAre::numbers:
          holds = !std::isnan(value);
          break;
        case ElementsAre::chances:
          holds = value >= 0 && value <= 1;
          break;
        default:
          holds =
              (low == nullptr || value >= low->realAt(0)) && (high == nullptr || value <= high->realAt(0));
      }
    } else {
      const int64_t value = x.intAt(i);
      holds = are == ElementsAre::positive  ? value > 0
              : are == ElementsAre::numbers ? true
              : are == ElementsAre::chances ? value == 0 || value == 1
                                            : (low == nullptr || value >= low->intAt(0)) &&
                                                  (high == nullptr || value <= high->intAt(0));
    }
    if (holds) continue;
    if (are != ElementsAre::inRange) return text(i) + ", it must be " + std::string(toString(are));
    return text(i) + ", it must be " + (low != nullptr ? "at least " + std::to_string(low->intAt(0)) : "") +
           (low != nullptr && high != nullptr ? " and " : "") +
           (high != nullptr ? "at most " + std::to_string(high->intAt(0)) : "");
  }
  return "";
}

}  // namespace dyn
