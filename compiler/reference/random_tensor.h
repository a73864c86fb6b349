// Tensors of reproducible random content: the same seed, name, element type and shape give the same bits on
// every machine.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/ir/tensor.h"

namespace dyn {

// splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
class RandomSource {
 public:
  explicit RandomSource(uint64_t seed, std::string_view stream = "");
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // [0, 1)
  // Mean 0, deviation 1, within ±6: a sum of twelve uniform numbers.
  double normal() {
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum - 6.0;
  }
  uint64_t below(uint64_t bound) { return bound ? next() % bound : 0; }

 private:
  uint64_t state_;
};

// Reals are normal, booleans 0 or 1, integers in [0, integerBound). Strings stay empty.
Result<HostTensor> randomTensor(Dtype dtype, std::vector<int64_t> shape, RandomSource source,
                                uint64_t integerBound);
Result<HostTensor> filledTensor(Dtype dtype, std::vector<int64_t> shape, double value);
// 0, 1, 2, ... in row-major order.
Result<HostTensor> rangeTensor(Dtype dtype, std::vector<int64_t> shape);

}  // namespace dyn
