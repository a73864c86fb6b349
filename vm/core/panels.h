// How this machine's kernels read packed weights (vm/shared/dyn_panels.h), as their own tables say.
#pragma once

#include "vm/shared/dyn_panels.h"

namespace dyn::vm {

PanelLayout machinePanels();

}  // namespace dyn::vm
