// Lines of two or more levels that belong together, as groups that a window gives one colour.
//
// Texts of kernels meet statement by statement; where one of them is of operations, all meet where a kernel
// is launched; graph and bytecode meet at operations, those of one kernel together.
#pragma once

#include <span>
#include <vector>

#include "app/session/views/code_views.h"

namespace dyn {

struct LineGroups {
  std::vector<std::vector<int>> texts;  // by text and line, from 0; -1: no other text has what belongs to it
  int count = 0;                        // groups, numbered as they come in the texts
};
// All texts have their origins (level_links.h). An operation of several kernels has the group of the first
// one that no operation before it has. Linear in the lines.
LineGroups lineGroups(std::span<const IrText* const> texts);

}  // namespace dyn
