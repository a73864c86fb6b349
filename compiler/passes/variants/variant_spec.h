// What variants of a model are asked for, as text: sizes of named dims.
//
//   "seq=128;seq=256,batch=1"     made for these sizes alone: one variant with seq = 128, one with seq = 256 and batch = 1
//   "batch=4,8,16"                buckets: made for each of these sizes; fewer rows are padded to the next
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/support/result.h"

namespace dyn::passes {

using FixedSizes = std::vector<std::pair<std::string, int64_t>>;  // each dim once, in the order given

struct Buckets {
  std::string dim;
  std::vector<int64_t> sizes;  // ascending, each once
};

// Variants apart by `;`. Error usageError names the part that cannot be read: sizes are whole numbers from 1
// to 2^31.
Result<std::vector<FixedSizes>> parseVariants(std::string_view text);
Result<std::vector<Buckets>> parseBuckets(std::string_view text);

}  // namespace dyn::passes
