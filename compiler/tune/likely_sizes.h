// The sizes at which versions are measured: some values of each dim, with how likely each is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/support/result.h"

namespace dyn {

// What is known of a dim of the calls to come: one value, a range, or lengths as they occurred.
struct LikelyDim {
  std::string name;
  std::optional<int64_t> value, low, high;
  int64_t multiple = 1;          // of values in the range
  std::vector<int64_t> lengths;  // where there are some, they count
  std::string text;              // as it was written, for errors
};

// What is measured: every version at every shape, or few of these pairs.
enum class Extent : uint8_t { all, sparse };

struct Draw {
  std::map<std::string, int64_t> dims;
  double weight = 1;  // of all draws together 1
};

// Error usageError: a dim has neither value, lengths nor a range from 1 on with both ends, or there are too
// many dims.
Result<std::vector<Draw>> drawsOf(const std::vector<LikelyDim>& dims, Extent extent);

}  // namespace dyn
