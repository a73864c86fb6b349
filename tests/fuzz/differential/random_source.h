// Numbers from a seed, the same with every standard library.
#pragma once

#include <cstdint>
#include <vector>

namespace dyn::differential {

class RandomSource {
 public:
  // Mixed first: neighbouring seeds would else give the same numbers, one place on.
  explicit RandomSource(uint64_t seed) : state_(mixed(mixed(seed) ^ 0x2545f4914f6cdd1du)) {}

  // low..high, both included. (The numbers of splitmix64.)
  int64_t number(int64_t low, int64_t high) {
    state_ += kStep;
    return low + static_cast<int64_t>(mixed(state_) % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return number(1, 100) <= percent; }
  template <typename T>
  const T& of(const std::vector<T>& all) {
    return all[static_cast<size_t>(number(0, static_cast<int64_t>(all.size()) - 1))];
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;
  static uint64_t mixed(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t state_;
};

}  // namespace dyn::differential
