// Parts of one role, by their `type`; a Sequence holds some that work one after the other.
//
//   constexpr PartRow<Normalizer> kNormalizers[] = {{"Lowercase", readLowercase}, ...};
//   return readPart<Normalizer>({json, "normalizer"}, kNormalizers, "normalizers", inTurn);
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "app/tokenizer/file_part.h"

namespace dyn::tokenizer {

template <typename Part>
struct PartRow {
  const char* type;
  Result<Part> (*read)(const FilePart&);
};

template <typename Value>
std::function<Status(Value&)> inTurn(std::vector<std::function<Status(Value&)>> parts) {
  return [parts = std::move(parts)](Value& value) -> Status {
    for (const auto& part : parts) DYN_CHECK(part(value));
    return {};
  };
}

// `members`: the field of a Sequence that lists its parts; `joined`: makes one of them.
template <typename Part>
Result<Part> readPart(const FilePart& part, std::span<const PartRow<Part>> rows, const char* members,
                      Part (*joined)(std::vector<Part>), int depth = 0) {
  const std::string type = part.type();
  for (const PartRow<Part>& row : rows)
    if (type == row.type) return row.read(part);
  if (type != "Sequence") return part.unsupported("");
  const Json* list = part.find(members);
  if (!list || !list->is_array()) return part.malformed(std::string("it has no list of ") + members);
  if (depth >= kDeepestPart) return part.unsupported("more than 16 in each other");
  std::vector<Part> all;
  for (const Json& member : *list) {
    DYN_TRY(Part one, readPart<Part>({member, part.role}, rows, members, joined, depth + 1));
    all.push_back(std::move(one));
  }
  return joined(std::move(all));
}

}  // namespace dyn::tokenizer
