#include "app/session/bound_values.h"

#include <utility>
#include <vector>

namespace dyn {

int64_t sizeBytes(const Value& value) {
  int64_t bytes = 0;
  std::vector<const Value*> pending = {&value};
  while (!pending.empty()) {
    const Value* one = pending.back();
    pending.pop_back();
    if (one->isTensor()) {
      bytes += one->tensor().sizeBytes();
    } else {
      for (const Value& part : one->parts()) pending.push_back(&part);
    }
  }
  return bytes;
}

namespace {

int64_t boundBytesOf(const std::optional<BoundValue>& bound) { return bound ? sizeBytes(bound->value) : 0; }

}  // namespace

const BoundValue* BoundValues::find(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

void BoundValues::remember(const std::string& name) {
  const BoundValue* now = find(name);
  changes_.push_back({name, now ? std::optional<BoundValue>(*now) : std::nullopt});
  rememberedBytes_ += boundBytesOf(changes_.back().before);
}

void BoundValues::set(const std::string& name, std::optional<BoundValue> value) {
  const auto found = values_.find(name);
  if (value && found != values_.end()) {
    found->second = *std::move(value);
    return;
  }
  if (value) values_.emplace(name, *std::move(value));
  if (!value && found != values_.end()) values_.erase(found);
  changedNames_.insert(name);
}

void BoundValues::bind(const std::string& name, BoundValue value) {
  remember(name);
  set(name, std::move(value));
}

bool BoundValues::drop(const std::string& name) {
  if (!find(name)) return false;
  remember(name);
  set(name, std::nullopt);
  return true;
}

void BoundValues::rollback(uint64_t mark) {
  while (!changes_.empty() && forgotten_ + changes_.size() > mark) {
    Change change = std::move(changes_.back());
    changes_.pop_back();
    rememberedBytes_ -= boundBytesOf(change.before);
    set(change.name, std::move(change.before));
  }
}

void BoundValues::forgetBefore(uint64_t mark) {
  while (!changes_.empty() && forgotten_ < mark) {
    rememberedBytes_ -= boundBytesOf(changes_.front().before);
    changes_.pop_front();
    ++forgotten_;
  }
}

std::set<std::string> BoundValues::takeChangedNames() { return std::exchange(changedNames_, {}); }

}  // namespace dyn
