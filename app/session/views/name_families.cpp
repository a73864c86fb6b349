#include "app/session/views/name_families.h"

#include <map>

namespace dyn {

namespace {

constexpr size_t kFewest = 3;

bool isDecimal(char c) { return c >= '0' && c <= '9'; }

// "layer.3.key7" → {"layer.", ".key", ""} and {"3", "7"}
struct Parts {
  std::vector<std::string> texts{""}, numbers;
};

Parts partsOfName(const std::string& name) {
  Parts parts;
  for (size_t at = 0; at < name.size();) {
    if (!isDecimal(name[at])) {
      parts.texts.back() += name[at++];
      continue;
    }
    size_t end = at;
    while (end < name.size() && isDecimal(name[end])) ++end;
    parts.numbers.push_back(name.substr(at, end - at));
    parts.texts.emplace_back();
    at = end;
  }
  return parts;
}

std::string nameOfParts(const Parts& parts) {
  std::string text = parts.texts[0];
  for (size_t i = 0; i < parts.numbers.size(); ++i) text += parts.numbers[i] + parts.texts[i + 1];
  return text;
}

// The numbers of one place go up by one, those of all others are the same; "" otherwise.
std::string familyTitle(const std::vector<Parts>& members) {
  if (members.size() < kFewest) return "";
  Parts title = members.front();
  size_t changing = 0;
  for (size_t place = 0; place < title.numbers.size(); ++place) {
    if (members[1].numbers[place] == title.numbers[place]) {
      for (const Parts& other : members)
        if (other.numbers[place] != title.numbers[place]) return "";
      continue;
    }
    ++changing;
    unsigned long long next = 0;
    for (size_t i = 0; i < members.size(); ++i, ++next) {
      const std::string& number = members[i].numbers[place];
      if (number.size() > 9) return "";
      if (i == 0) next = std::stoull(number);
      if (std::to_string(next) != number) return "";
    }
    title.numbers[place] += ".." + members.back().numbers[place];
  }
  return changing == 1 ? nameOfParts(title) : "";
}

}  // namespace

std::vector<NameFamily> nameFamilies(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::map<std::pair<std::vector<std::string>, std::string>, size_t> known;
  std::vector<NameFamily> candidates;
  std::vector<Parts> parts;
  for (size_t i = 0; i < rows.size(); ++i) {
    parts.push_back(partsOfName(rows[i].first));
    const auto [entry, isNew] = known.try_emplace({parts[i].texts, rows[i].second}, candidates.size());
    if (isNew) candidates.emplace_back();
    candidates[entry->second].members.push_back(i);
  }
  std::vector<NameFamily> ofRow(rows.size());
  for (NameFamily& candidate : candidates) {
    std::vector<Parts> members;
    for (const size_t i : candidate.members) members.push_back(parts[i]);
    candidate.title = familyTitle(members);
    if (!candidate.title.empty()) {
      ofRow[candidate.members.front()] = std::move(candidate);
      continue;
    }
    for (const size_t i : candidate.members) ofRow[i] = {rows[i].first, {i}};
  }
  std::vector<NameFamily> families;
  for (NameFamily& family : ofRow)
    if (!family.members.empty()) families.push_back(std::move(family));
  return families;
}

}  // namespace dyn
