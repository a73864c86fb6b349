// Where the nodes of a level stand among all nodes in the order of their levels.
#pragma once

#include "compiler/passes/recursion/batched_iterations.h"

namespace dyn::passes {

// starts[number] to starts[number + 1], as indices i64 [m]; m is a new dim, which is bound and checked to be
// at least 0 when the program runs. `starts`: i64 [levels + 1], `number`: i64 [].
ValueId placesOfLevel(IrContext& ir, BatchedIterations& b, ValueId starts, ValueId number);

// A level's part of a table that has its rows in the order of the levels.
struct LevelPart {
  Dim first, count;
};

// `count`, i64 [1] or [], which is at least 0, as a new dim.
Dim numberOfIterations(IrContext& ir, BatchedIterations& b, ValueId count);
// Of each level how many rows it has: starts[1] - starts[0], starts[2] - starts[1], ...
ValueId countsOfLevels(BatchedIterations& b, ValueId starts);
struct LevelTables {
  ValueId starts, counts;
};
// Rows starts[number] and on of tables of `rows` rows; both dims are new ones, which are bound and checked
// when the program runs: the host reads them where they lie.
LevelPart partOfLevel(IrContext& ir, BatchedIterations& b, const LevelTables& tables, ValueId number,
                      Dim rows);
// These rows: a slice, which readers compose with their own index.
ValueId rowsOfLevel(BatchedIterations& b, ValueId table, const LevelPart& part);

}  // namespace dyn::passes
