// Tensors of reproducible random content: the same seed, name, element type and shape give the same bits on every machine.
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
  uint64_t next();
  double uniform();  // [0, 1)
  double normal();   // mean 0, deviation 1, within ±6: a sum of twelve uniform numbers
  uint64_t below(uint64_t bound);

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
