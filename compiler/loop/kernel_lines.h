// On which line of its kernel's text each statement begins, so that what is made of it can say where it comes
// from.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "compiler/loop/kernel.h"

namespace dyn::loop {

using StmtLines = std::unordered_map<const Stmt*, uint32_t>;  // from 1; blocks have no line

// As print(kernel).
std::string print(const Kernel& kernel, StmtLines& lines);

}  // namespace dyn::loop
