#include "vm/isa/checksum.h"

#include <algorithm>
#include <cstring>

#include "vm/isa/program_file.h"

namespace dyn::vm {

namespace {
constexpr uint64_t kPrime = 0x9E3779B185EBCA87ull;
}

Checksum::Checksum(uint64_t sizeBytes) : state_(0xcbf29ce484222325ull ^ sizeBytes) {}

void Checksum::addWord(uint64_t word) {
  state_ = (state_ ^ word) * kPrime;
  state_ = state_ << 29 | state_ >> 35;
}

void Checksum::add(const void* bytes, size_t sizeBytes) {
  const auto* at = static_cast<const uint8_t*>(bytes);
  uint64_t word;
  if (pendingCount_ > 0) {
    const size_t taken = std::min(sizeBytes, sizeof pending_ - pendingCount_);
    if (taken > 0) memcpy(pending_ + pendingCount_, at, taken);
    pendingCount_ += taken;
    at += taken;
    sizeBytes -= taken;
    if (pendingCount_ < sizeof pending_) return;
    memcpy(&word, pending_, sizeof word);
    addWord(word);
    pendingCount_ = 0;
  }
  for (; sizeBytes >= 8; at += 8, sizeBytes -= 8) {
    memcpy(&word, at, 8);
    addWord(word);
  }
  if (sizeBytes > 0) memcpy(pending_, at, sizeBytes);
  pendingCount_ = sizeBytes;
}

uint64_t Checksum::value() {
  for (size_t i = 0; i < pendingCount_; ++i) state_ = (state_ ^ pending_[i]) * kPrime;
  pendingCount_ = 0;
  state_ ^= state_ >> 32;
  state_ *= 0xD6E8FEB86659FD93ull;
  return state_ ^ state_ >> 32;
}

uint64_t checksumBytes(const void* bytes, size_t sizeBytes) {
  Checksum sum(sizeBytes);
  sum.add(bytes, sizeBytes);
  return sum.value();
}

}  // namespace dyn::vm
