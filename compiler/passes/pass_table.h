// The table of all passes and the standard pipeline.
#pragma once

#include <span>

#include "compiler/pass/pipeline.h"

namespace dyn {

std::span<const PassDef> passTable();
// All passes of the table except those marked onRequest, in its order, with default options.
Pipeline standardPipeline();

}  // namespace dyn
