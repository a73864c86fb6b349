// The table of all operators. ops.def lists them, one line each; the rows stand in the files of the families, in the folders beside.
//
//   const OpDef* add = findOp("add");          // or: &ops::addOp
//   for (const OpDef* row : opTable()) ...     // in the order of ops.def
//
// A new operator touches three places: its line in ops.def, its row in a family file, its test.
#pragma once

#include <span>
#include <string_view>

#include "compiler/ir/op_def.h"

namespace dyn {

namespace ops {
#define DYN_OP(name) extern const OpDef name##Op;
#include "compiler/ops/ops.def"
#undef DYN_OP
}  // namespace ops

std::span<const OpDef* const> opTable();
// The row of that name, or null.
const OpDef* findOp(std::string_view name);

}  // namespace dyn
