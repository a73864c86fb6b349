// Caches of some rows of a batch as those of another batch: rows that go on, rows that join. Each row has
// positions of its own; the shorter ones are padded, in front or behind.
//
//   cache [2, h, 5, n], row 1 with 3 positions, padded in front   →   [1, h, 3, n], its last 3
#pragma once

#include <vector>

#include "app/engine/generate/decoder_ports.h"
#include "compiler/ir/tensor.h"
#include "vm/include/dynvm.h"

namespace dyn {

enum class PaddingSide : uint8_t { front, behind };

// A row of a cache and where it goes to. `begin`s: first positions.
struct CacheRow {
  const dyn_value* cache = nullptr;
  int64_t row = 0;
  int64_t begin = 0, length = 0;
  int64_t targetBegin = 0;
};

// The axes of a cache.
struct CacheAxes {
  std::optional<size_t> rows;      // nothing: it is the same for all rows
  std::optional<size_t> position;  // along which it grows
};

// Puts rows behind each other into a cache of `span` positions; the rest is `filler`'s values, or zeros where
// there is none. Errors: unsupportedFeature where the elements cannot be read on the host, and of a cache
// with fewer positions than its row.
Result<HostTensor> cacheOfRows(const std::vector<CacheRow>& rows, const CacheAxes& axes, int64_t span,
                               double (*filler)(int64_t) = nullptr);

// The one row of a tensor as many times along `axis`.
Result<HostTensor> repeatedRow(const HostTensor& tensor, size_t axis, int64_t count);

}  // namespace dyn
