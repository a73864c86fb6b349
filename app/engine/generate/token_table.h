// The table that a decoder looks its tokens up in. It says which ids there are.
//
//   %e = gather(%table, %input_ids) {axis = 0}      %table: Tensor[(420, 32), f32]   →   420
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/module.h"

namespace dyn {

// How many tokens there are: the least size of the axes along which the elements of input `ids` choose, as
// they are or cast, in other shapes. Of a branch the larger of its two counts, where both have one. Nothing:
// no such axis has a size that is a number, or there is no program (a package). `module` is typed.
std::optional<int64_t> tokensCountOf(const Module& module, size_t ids);

}  // namespace dyn
