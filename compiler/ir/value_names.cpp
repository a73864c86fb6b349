#include "compiler/ir/value_names.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace dyn {

uint32_t ValueNames::add() {
  names_.push_back(nullptr);
  return static_cast<uint32_t>(names_.size() - 1);
}

std::string_view ValueNames::of(uint32_t value) const {
  if (!has(value)) return "";
  uint32_t size;
  std::memcpy(&size, names_[value], sizeof size);
  return {names_[value] + sizeof size, size};
}

size_t ValueNames::placeOf(std::string_view name) const {
  const size_t mask = table_.size() - 1;
  size_t place = std::hash<std::string_view>{}(name)&mask;
  while (table_[place] != kNone && (table_[place] == kErased || of(table_[place]) != name))
    place = (place + 1) & mask;
  return place;
}

uint32_t ValueNames::find(std::string_view name) const {
  return table_.empty() ? kNone : table_[placeOf(name)];
}

void ValueNames::give(uint32_t value, std::string_view name) {
  if (4 * (used_ + 1) > 3 * table_.size()) grow();
  table_[placeOf(name)] = value;
  names_[value] = store(name);
  ++used_;
}

void ValueNames::take(uint32_t value) {
  if (!has(value)) return;
  table_[placeOf(of(value))] = kErased;
  names_[value] = nullptr;
}

// Twice as many places as names, and none erased.
void ValueNames::grow() {
  const std::vector<uint32_t> before = std::move(table_);
  used_ = before.size() - static_cast<size_t>(std::count_if(before.begin(), before.end(), [](uint32_t value) {
            return value == kNone || value == kErased;
          }));
  size_t places = 16;
  while (places < 2 * (used_ + 1)) places *= 2;
  table_.assign(places, kNone);
  for (uint32_t value : before)
    if (value != kNone && value != kErased) table_[placeOf(of(value))] = value;
}

const char* ValueNames::store(std::string_view name) {
  constexpr size_t kChunkBytes = 1 << 16;
  const auto size = static_cast<uint32_t>(name.size());
  const size_t bytes = sizeof size + size;
  if (bytes > roomBytes_) {
    roomBytes_ = std::max(kChunkBytes, bytes);
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(roomBytes_));
    room_ = chunks_.back().get();
  }
  char* stored = room_;
  std::memcpy(stored, &size, sizeof size);
  std::memcpy(stored + sizeof size, name.data(), size);
  room_ += bytes;
  roomBytes_ -= bytes;
  return stored;
}

}  // namespace dyn
