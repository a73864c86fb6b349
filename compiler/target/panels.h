// The layout of packed weights that a target states (vm/shared/dyn_panels.h).
#pragma once

#include "compiler/target/target.h"
#include "vm/shared/dyn_panels.h"

namespace dyn {

PanelLayout panelsOf(const Target& target);
// False for levels of x86-64 (cpu "x86-64-v3"): each machine that has one reads what it can do best.
bool namesOneLayout(const Target& target);

}  // namespace dyn
