// Lines of two levels that belong together, as groups that a window gives one colour.
//
// Two texts of kernels meet statement by statement; a text of kernels and one of operations meet where a
// kernel is launched; graph and bytecode meet at operations, those of one kernel together.
#pragma once

#include <vector>

#include "app/session/views/code_views.h"

namespace dyn {

struct LineGroups {
  std::vector<int> first, second;  // by line, from 0; -1: the other text has nothing that belongs to it
  int count = 0;                   // groups, numbered as they come in the first text
};
// Both texts have their origins (level_links.h). An operation of several kernels has the group of the first
// one that no operation before it has. Linear in the lines.
LineGroups lineGroups(const IrText& first, const IrText& second);

}  // namespace dyn
