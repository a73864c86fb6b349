// The text of relations, apart from what a solver learns of them: programs without a compiler read --dim,
// too.
#include <cctype>
#include <utility>

#include "app/engine/model/dim_relation.h"

namespace dyn {
namespace {

struct Comparator {
  std::string_view text;
  bool equal, strict, turned;  // turned: the greater one stands left
};
constexpr Comparator kComparators[] = {
    {"<=", false, false, false}, {">=", false, false, true}, {"==", true, false, false},
    {"<", false, true, false},   {">", false, true, true},   {"=", true, false, false},
};

const Comparator* comparatorAt(std::string_view text, size_t at) {
  for (const Comparator& one : kComparators)
    if (text.substr(at, one.text.size()) == one.text) return &one;
  return nullptr;
}

Error noRelation(const std::string& text, const std::string& why) {
  return makeError(DiagnosticId::usageError, "--dim " + text + ": " + why)
      .note("relations are NAME=EXPRESSION, A<=B, A>=B, A<B, A>B or 1<=NAME<=512");
}

std::string withoutBlanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}

bool beginsName(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool isNamePart(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

}  // namespace

Result<std::string> withNames(const std::string& text, const ReplaceName& replace) {
  std::string made;
  for (size_t at = 0; at < text.size();) {
    if (!beginsName(text[at])) {
      made += text[at++];
      continue;
    }
    size_t end = at;
    while (end < text.size() && isNamePart(text[end])) ++end;
    // `len[b]` is one name.
    if (end < text.size() && text[end] == '[') end = std::min(text.find(']', end), text.size() - 1) + 1;
    const std::string name = text.substr(at, end - at);
    const size_t next = text.find_first_not_of(" \t", end);
    if (next != std::string::npos && text[next] == '(') {
      made += name;
    } else {
      DYN_TRY(const std::string with, replace(name));
      made += with;
    }
    at = end;
  }
  return made;
}

std::vector<std::string> namesIn(const DimRelation& relation) {
  std::vector<std::string> names;
  for (const std::string& side : {relation.left, relation.right})
    (void)withNames(side, [&](const std::string& name) -> Result<std::string> {
      names.push_back(name);
      return name;
    });
  return names;
}

bool isDimRelation(std::string_view text) {
  if (text.find_first_of("<>") != std::string_view::npos || text.find("==") != std::string_view::npos)
    return true;
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string value = withoutBlanks(text.substr(equals + 1));
  return !value.empty() && value[0] != '@' && value.find("..") == std::string::npos &&
         value.find_first_not_of("0123456789.+-") != std::string::npos;  // `-1` and `1.5` are no sizes
}

std::vector<std::string> splitRelations(std::string_view text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && text[at] == '(') ++depth;
    if (at < text.size() && text[at] == ')') --depth;
    if (at < text.size() && (text[at] != ',' || depth > 0)) continue;
    if (std::string part = withoutBlanks(text.substr(begin, at - begin)); !part.empty())
      parts.push_back(std::move(part));
    begin = at + 1;
  }
  return parts;
}

std::vector<std::string> splitDims(std::string_view text) {
  const size_t file = text.find("=@");
  const size_t begin =
      file == std::string_view::npos ? text.size() : text.rfind(',', file) + 1;  // 0: no comma
  std::vector<std::string> parts = splitRelations(text.substr(0, begin));
  if (begin < text.size() || parts.empty()) parts.emplace_back(withoutBlanks(text.substr(begin)));
  return parts;
}

std::vector<std::string> splitDims(const std::vector<std::string>& texts) {
  std::vector<std::string> parts;
  for (const std::string& text : texts)
    for (std::string& part : splitDims(std::string_view(text))) parts.push_back(std::move(part));
  return parts;
}

bool areSizes(std::string_view text) {
  const std::vector<std::string> parts = splitDims(text);
  return std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
    const size_t equals = part.find('=');
    return equals != std::string::npos && equals > 0 && equals + 1 < part.size() && part[equals + 1] >= '0' &&
           part[equals + 1] <= '9' && part.find_first_not_of("0123456789.:", equals + 1) == std::string::npos;
  });
}

Result<std::vector<DimRelation>> parseDimRelations(const std::string& text) {
  std::vector<std::string> sides;
  std::vector<const Comparator*> comparators;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const Comparator* comparator = comparatorAt(text, at);
    if (!comparator) {
      ++at;
      continue;
    }
    sides.push_back(withoutBlanks(std::string_view(text).substr(begin, at - begin)));
    comparators.push_back(comparator);
    begin = at += comparator->text.size();
  }
  sides.push_back(withoutBlanks(std::string_view(text).substr(begin)));
  if (comparators.empty()) return noRelation(text, "nothing is compared");
  DimContext scratch;
  for (const std::string& side : sides) {
    if (side.empty()) return noRelation(text, "a side is missing");
    if (side.find('?') != std::string::npos) return noRelation(text, "a `?` has no name to speak of");
    const Result<Dim> parsed = parseDim(scratch, side);
    if (!parsed.ok())
      return noRelation(text, "'" + side + "' is no expression of dims: " + parsed.error().message);
  }
  std::vector<DimRelation> relations;
  for (size_t i = 0; i < comparators.size(); ++i) {
    DimRelation one{comparators[i]->equal ? DimRelation::Kind::equal : DimRelation::Kind::lessEqual, sides[i],
                    sides[i + 1]};
    if (comparators[i]->turned) std::swap(one.left, one.right);
    if (comparators[i]->strict) one.left += " + 1";
    relations.push_back(std::move(one));
  }
  return relations;
}

}  // namespace dyn
