// Do the rows of a dim stay apart? Where they do, more rows may be put behind the inputs' own and cut off the results again: the rows that were there
// come out the same.
//
//   y[b, j] = sum(k, x[b, k] * w[k, j])          b apart: a result's row reads its own row of x
//   y[b, j] = x[b, j] / sum(c < b, x[c, j])      not: each row reads them all
//
// It is read off the operators' definitions in loops: every load of a value with rows must be at the row of the result, and nothing may be computed from
// the number of rows. What has no such definition (sorting, control flow) counts as mixing rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/infer/infer.h"

namespace dyn::passes {

// Rows lie along `axis`, whose size is a multiple of the dim: `extent`, each row as many elements there.
struct RowAxis {
  int axis = 0;
  Dim extent;
};

struct RowsApart {
  std::vector<std::optional<RowAxis>> parameters, results;  // of @main; nullopt: no rows of that dim
  std::string whyNot;                                       // not empty: they mix, and where
};

RowsApart rowsApart(const InferredModule& inferred, SymbolId rows);

}  // namespace dyn::passes
