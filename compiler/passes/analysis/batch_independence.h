// Do the rows of a dim stay apart? Where they do, more rows may be put behind the inputs' own and cut off the
// results again: the rows that were there come out the same.
//
//   y[b, j] = sum(k, x[b, k] * w[k, j])          b apart: a result's row reads its own row of x
//   y[b, j] = x[b, j] / sum(c < b, x[c, j])      not: each row reads them all
//
// It is read off the operators' definitions in loops: every load of a value with rows must be at the row of
// the result, and nothing may be computed from the number of rows. Of sorting and running sums the axis says
// it, of branches and loops perhaps their bodies; what else has no such definition counts as mixing rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/infer/infer.h"

namespace dyn::passes {

// Rows lie along `axis`, whose size is a multiple of the dim: `extent`, each row as many elements there.
struct RowAxis {
  int axis = 0;
  Dim extent;
  bool operator==(const RowAxis&) const = default;
};

struct BatchIndependence {
  std::vector<std::optional<RowAxis>> parameters, results;  // of @main; nullopt: no rows of that dim
  std::string whyNot;                                       // not empty: they mix, and where
};

// What branches and loops do with rows in their bodies counts as mixing them where nobody asks to look there.
enum class RowsInBodies : uint8_t { mixed, looked };
// Rows that keep their numbers may be computed from these: x[b] + b. Where others are put before them, too,
// they may not.
enum class RowNumbers : uint8_t { kept, changed };
BatchIndependence batchIndependence(const InferredModule& inferred, SymbolId rows,
                                    RowsInBodies bodies = RowsInBodies::mixed,
                                    RowNumbers numbers = RowNumbers::kept);

}  // namespace dyn::passes
