#include "app/engine/generate/shared_prefixes.h"

#include <algorithm>

namespace dyn {

namespace {

// How many tokens are the same from the first on.
size_t commonLength(const std::vector<int64_t>& one, const std::vector<int64_t>& other) {
  const auto [end, otherEnd] = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  return static_cast<size_t>(end - one.begin());
}

// As many tokens of a prompt as a prefix may have.
size_t mostOf(const std::vector<int64_t>& prompt) {
  return prompt.size() < SharedPrefixes::kLeastRest ? 0 : prompt.size() - SharedPrefixes::kLeastRest;
}

}  // namespace

void PrefixSource::consider(const std::vector<int64_t>& tokens, const DecoderBatch& batch, size_t at,
                            const std::vector<int64_t>& prompt) {
  const size_t own = std::min({commonLength(tokens, prompt), mostOf(prompt),
                               static_cast<size_t>(std::max<int64_t>(0, batch.lengths[at]))});
  if (own < SharedPrefixes::kLeast || own <= length()) return;
  row = {&batch, at, static_cast<int64_t>(own)};
}

size_t SharedPrefixes::lengthToHold(const std::vector<int64_t>& prompt,
                                    const std::vector<const std::vector<int64_t>*>& waiting) {
  size_t length = 0;
  for (const std::vector<int64_t>* other : waiting)
    length = std::max(length, std::min(commonLength(prompt, *other), mostOf(*other)));
  return length < kLeast ? 0 : length;
}

bool SharedPrefixes::holds(const std::vector<int64_t>& prompt, size_t length) const {
  return std::any_of(held_.begin(), held_.end(),
                     [&](const Held& held) { return commonLength(held.tokens, prompt) >= length; });
}

void SharedPrefixes::hold(std::vector<int64_t> tokens, DecoderBatch row) {
  if (held_.size() == kMostHeld) held_.pop_front();
  held_.push_back({std::move(tokens), std::move(row)});
}

PrefixSource SharedPrefixes::longest(const std::vector<int64_t>& prompt) const {
  PrefixSource source;
  for (const Held& held : held_) source.consider(held.tokens, held.batch, 0, prompt);
  return source;
}

}  // namespace dyn
