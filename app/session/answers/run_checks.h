// The run-time checks of a typed module: `check` operations, and the bounds of indices that positions make.
#pragma once

#include <string>
#include <vector>

#include "app/engine/model/scratch_program.h"
#include "compiler/ir/module.h"

namespace dyn {

struct RunCheck {
  std::string name;             // "check0", in the order of the module's text; "" of an index
  const Op* op = nullptr;       // whose place it has
  const Op* demands = nullptr;  // the operation that needs it; null at the end of a body
  Dim lhs, rhs;
  std::string relation;  // "eq", "le", "broadcast"
  std::string what;
  bool mayNotRun = false;  // it stands in a branch, or in the body of a loop

  // "k must equal m: matmul: inner dims of the product"
  std::string text() const;
};

std::vector<RunCheck> runChecksOf(const Module& module);

// Of each lookup `gather(table, range(past, past + n))`, through views and additions of constants: the
// largest index must lie within the table. The runtime finds that in a run alone, as an index is a value.
// Where there are ranges, the types are worked out once more for it, which leaves symbols in the context.
std::vector<RunCheck> indexChecksOf(const Module& module);

// Both, but for those of indices that the facts prove.
std::vector<RunCheck> allChecksOf(const Module& module);
// The same by what a copy of the program keeps of its dims: asking again leaves nothing behind.
std::vector<RunCheck> allChecksOf(ScratchCopy& program);

// Does it fail for sizes of these values?
bool failsFor(const RunCheck& check, int64_t lhs, int64_t rhs);

}  // namespace dyn
