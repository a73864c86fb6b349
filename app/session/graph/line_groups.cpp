#include "app/session/graph/line_groups.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "app/session/graph/level_links.h"
#include "app/session/views/code_views.h"

namespace dyn {

namespace {

using Key = uint64_t;

// Operations whose lines name them together are one.
class LinePlaces {
 public:
  void unite(const std::vector<std::string>& places) {
    for (size_t i = 1; i < places.size(); ++i)
      parent_[rootOf(numberOf(places[i]))] = rootOf(numberOf(places[0]));
  }
  Key keyOf(const std::string& place) { return rootOf(numberOf(place)); }

 private:
  size_t numberOf(std::string_view place) {
    const auto [found, isNew] = numbers_.try_emplace(place, parent_.size());
    if (isNew) parent_.push_back(found->second);
    return found->second;
  }
  size_t rootOf(size_t at) {
    while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
    return at;
  }
  std::unordered_map<std::string_view, size_t> numbers_;
  std::vector<size_t> parent_;
};

// What the lines of the texts are known by.
class Keys {
 public:
  explicit Keys(std::span<const IrText* const> texts) {
    for (const IrText* text : texts) {
      statements_ = statements_ && isOfKernels(text->level);
      kernels_ = kernels_ || isOfKernels(text->level);
    }
    if (kernels_) return;
    for (const IrText* text : texts)
      for (const LineOrigin& origin : text->origins) places_.unite(origin.places);
  }
  std::vector<Key> of(const LineOrigin& origin) {
    std::vector<Key> keys;
    if (!kernels_) {
      if (!origin.places.empty()) keys.push_back(places_.keyOf(origin.places.front()));
      return keys;
    }
    for (const int kernel : origin.kernels) {
      if (statements_ && origin.loopLine == 0) continue;
      keys.push_back(static_cast<Key>(kernel) << 32 | (statements_ ? origin.loopLine : 0));
    }
    return keys;
  }

 private:
  bool statements_ = true, kernels_ = false;
  LinePlaces places_;
};

size_t linesCount(const IrText& text) {
  return static_cast<size_t>(std::count(text.text.begin(), text.text.end(), '\n')) + 1;
}

}  // namespace

LineGroups lineGroups(std::span<const IrText* const> texts) {
  Keys keysOf(texts);
  std::unordered_map<Key, int> groupOfKey;
  int count = 0;
  const auto mark = [&](const IrText& text) {
    std::vector<int> groups(linesCount(text), -1);
    for (const LineOrigin& origin : text.origins) {
      const std::vector<Key> keys = keysOf.of(origin);
      if (keys.empty()) continue;
      const bool anyNew =
          std::any_of(keys.begin(), keys.end(), [&](Key key) { return groupOfKey.count(key) == 0; });
      const int group = anyNew ? count++ : groupOfKey[keys.front()];
      for (const Key key : keys) groupOfKey.try_emplace(key, group);
      for (uint32_t line = origin.line; line <= origin.lastLine && line <= groups.size(); ++line)
        groups[line - 1] = group;
    }
    return groups;
  };
  LineGroups found;
  for (const IrText* text : texts) found.texts.push_back(mark(*text));
  // Groups of one text alone are none; the others are numbered anew.
  std::vector<int> textsOf(static_cast<size_t>(count)), seenIn(static_cast<size_t>(count), -1);
  for (size_t text = 0; text < texts.size(); ++text)
    for (const int group : found.texts[text])
      if (group >= 0 &&
          std::exchange(seenIn[static_cast<size_t>(group)], static_cast<int>(text)) != static_cast<int>(text))
        ++textsOf[static_cast<size_t>(group)];
  std::vector<int> number(static_cast<size_t>(count), -1);
  for (std::vector<int>& groups : found.texts)
    for (int& group : groups) {
      if (group < 0) continue;
      const auto at = static_cast<size_t>(group);
      if (textsOf[at] > 1 && number[at] < 0) number[at] = found.count++;
      group = number[at];
    }
  return found;
}

}  // namespace dyn
