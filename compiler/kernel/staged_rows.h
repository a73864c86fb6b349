// Rows that are too short for vectors, side by side in lanes, by way of scratch memory: squares of them are
// turned over in registers on the way in and out, so that each lane has a row of its own and all memory is
// read and written along rows.
//
//   for e vector { accumulate m over k { x[64*u + e, k] } ; for i { y[64*u + e, i] = x[64*u + e, i] - m } }
// becomes
//   for k tile { for e vector { t[k, e] = x[64*u + e, k] } }
//   for e vector { accumulate m over k { t[k, e] } ; for i { s[i, e] = t[i, e] - m } }
//   for e tile { for i vector { y[64*u + e, i] = s[i, e] } }
//
// What the last reduction and the last loop both compute at some cost stands in scratch memory, too
// (kept_rows.h does that for rows along memory).
#pragma once

#include <vector>

#include "compiler/dims/dim_solver.h"
#include "compiler/loop/kernel.h"

namespace dyn {

// Elements of a row, up to which it is staged. Rows of more fill vectors of their own, and 32 fill them all.
inline constexpr int64_t kStagedRow = 31;

// The rows of one unit.
struct RowBlock {
  loop::Expr inside, extent;  // the lanes' variable, and how many rows there are
  loop::Expr along;           // the variable that counts a row's elements in the results; may be null
  Dim length;                 // of all rows
  int64_t most = 0;           // rows of a unit
};

class StagedRows {
 public:
  StagedRows(loop::LoopContext& loops, const DimSolver& facts, RowBlock block);

  // Replaces loads of whole rows in `roots`, which are elements of the results at `along` and `inside`.
  // False: absent, and nothing is replaced.
  bool stage(std::vector<loop::Expr>& roots);
  // Keeps what is costly in the statements of one lane, the last of which is the loop over `along`, and has
  // that loop store into scratch memory.
  void keep(std::vector<loop::StmtRef>& statements);

  // Of the unit, before and after its vector loop.
  const std::vector<loop::StmtRef>& before() const { return before_; }
  const std::vector<loop::StmtRef>& after() const { return after_; }
  const std::vector<const loop::Buffer*>& scratch() const { return scratch_; }

 private:
  const loop::Buffer* newScratch(Dtype dtype);
  bool isWholeRow(loop::Expr load, const std::vector<loop::Expr>& counters) const;
  loop::Expr atRow(loop::Expr e, loop::Expr row) const;  // for another row than `inside`
  const loop::Buffer* keepCostly(std::vector<loop::StmtRef>& statements);
  void storeByRows(std::vector<loop::StmtRef>& statements, const loop::Buffer* kept);

  loop::LoopContext& loops_;
  const DimSolver& facts_;
  const RowBlock block_;
  std::vector<loop::StmtRef> before_, after_;
  std::vector<const loop::Buffer*> scratch_;
};

}  // namespace dyn
