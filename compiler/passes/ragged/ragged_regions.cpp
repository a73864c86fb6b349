#include "compiler/passes/ragged/ragged_regions.h"

#include <algorithm>

namespace dyn::passes {

RaggedRegions::RaggedRegions(const RaggedRows& rows, std::vector<const Op*> ops,
                             const std::unordered_set<const Op*>& apart,
                             const std::function<bool(const Op&)>& isSizes)
    : rows_(rows),
      ops_(std::move(ops)),
      readers_(ops_.size()),
      makers_(ops_.size()),
      group_(ops_.size(), kNone) {
  if (apart.empty()) return;
  findNeighbours(isSizes);
  for (size_t i = 0; i < ops_.size(); ++i)
    if (apart.count(ops_[i]) != 0) group_[i] = static_cast<int>(i);
  while (joinScores() || fillIn()) {
  }
  std::unordered_map<size_t, const Op*> lastOf;
  for (size_t i = 0; i < ops_.size(); ++i)
    if (group_[i] != kNone) lastOf[root(i)] = ops_[i];
  for (size_t i = 0; i < ops_.size(); ++i) {
    if (group_[i] == kNone) continue;
    last_[ops_[i]] = lastOf.at(root(i));
    regions_[lastOf.at(root(i))].push_back(ops_[i]);
  }
}

const std::vector<const Op*>* RaggedRegions::of(const Op& op) const {
  const auto last = last_.find(&op);
  return last == last_.end() ? nullptr : &regions_.at(last->second);
}

// What only reads sizes depends on no operation.
void RaggedRegions::findNeighbours(const std::function<bool(const Op&)>& isSizes) {
  std::unordered_map<ValueId, size_t> makers;
  for (size_t i = 0; i < ops_.size(); ++i) {
    if (isSizes(*ops_[i])) continue;
    for (ValueId v : ops_[i]->operands)
      if (const auto made = makers.find(v); made != makers.end()) {
        makers_[i].push_back(made->second);
        readers_[made->second].push_back(i);
      }
    for (const ValueDef& r : ops_[i]->results) makers[r.id] = i;
  }
}

size_t RaggedRegions::root(size_t i) const {
  while (group_[i] != static_cast<int>(i)) i = static_cast<size_t>(group_[i]);
  return i;
}

// Puts both into one group; false where they are in one.
bool RaggedRegions::join(size_t a, size_t b) {
  for (size_t i : {a, b})
    if (group_[i] == kNone) group_[i] = static_cast<int>(i);
  const size_t first = root(a), second = root(b);
  if (first == second) return false;
  group_[std::max(first, second)] = static_cast<int>(std::min(first, second));
  return true;
}

// Whoever makes and reads values that rows cannot hold, and operations of groups behind each other.
bool RaggedRegions::joinScores() {
  bool changed = false;
  for (size_t i = 0; i < ops_.size(); ++i) {
    const bool scores = std::any_of(ops_[i]->results.begin(), ops_[i]->results.end(), [&](const ValueDef& r) {
      return rows_.axesOf(r.type).kind == RaggedKind::other;
    });
    for (size_t reader : readers_[i]) {
      const bool either = group_[i] != kNone || group_[reader] != kNone;
      const bool both = group_[i] != kNone && group_[reader] != kNone;
      if (both || (scores && either)) changed |= join(i, reader);
    }
  }
  return changed;
}

// What lies between two operations of a group.
bool RaggedRegions::fillIn() {
  std::unordered_set<size_t> roots;
  for (size_t i = 0; i < ops_.size(); ++i)
    if (group_[i] != kNone) roots.insert(root(i));
  bool changed = false;
  for (size_t one : roots) {
    const auto isOwn = [&](size_t i) { return group_[i] != kNone && root(i) == root(one); };
    std::vector<char> behind(ops_.size(), 0), before(ops_.size(), 0);
    for (size_t i = 0; i < ops_.size(); ++i)
      behind[i] = std::any_of(makers_[i].begin(), makers_[i].end(),
                              [&](size_t maker) { return isOwn(maker) || behind[maker]; });
    for (size_t i = ops_.size(); i-- > 0;)
      before[i] = std::any_of(readers_[i].begin(), readers_[i].end(),
                              [&](size_t reader) { return isOwn(reader) || before[reader]; });
    for (size_t i = 0; i < ops_.size(); ++i)
      if (behind[i] && before[i] && !isOwn(i)) changed |= join(i, one);
  }
  return changed;
}

}  // namespace dyn::passes
