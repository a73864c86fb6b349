#include "vm/core/object/flat_forest.h"

#include <algorithm>

#include "vm/isa/isa.h"

namespace dyn::vm {

size_t NodeConstructor::childCount() const {
  return static_cast<size_t>(std::count_if(
      fields.begin(), fields.end(), [](const NodeField& field) { return field.dtype == NodeField::kChild; }));
}

bool readNodeConstructors(std::span<const int32_t> words, std::vector<NodeConstructor>& constructors) {
  size_t at = 0;
  const auto next = [&](int32_t& to) { return at < words.size() ? (to = words[at++], true) : false; };
  while (at < words.size()) {
    NodeConstructor& made = constructors.emplace_back();
    int32_t fields = 0;
    if (!next(fields) || fields < 0) return false;
    for (int32_t i = 0; i < fields; ++i) {
      NodeField& field = made.fields.emplace_back();
      if (!next(field.dtype)) return false;
      if (field.dtype == NodeField::kChild) continue;
      int32_t rank = 0, size = 0;
      if (!next(rank) || rank < 0 || rank >= static_cast<int32_t>(kMaximumRank)) return false;
      for (int32_t axis = 0; axis < rank; ++axis) {
        if (!next(size) || size < 0) return false;
        field.shape.push_back(size);
      }
    }
  }
  return true;
}

}  // namespace dyn::vm
