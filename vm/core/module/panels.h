// How this machine's kernels read packed weights (vm/shared/dyn_panels.h). Found without the kernels, which
// need not be there; a test compares it with their tables.
#pragma once

#include "vm/shared/dyn_panels.h"

namespace dyn::vm {

PanelLayout machinePanels();

}  // namespace dyn::vm
