// The layout of packed weights that a target states (vm/shared/dyn_panels.h).
#pragma once

#include "compiler/target/target.h"
#include "vm/shared/dyn_panels.h"

namespace dyn {

PanelLayout panelsOf(const Target& target);

}  // namespace dyn
