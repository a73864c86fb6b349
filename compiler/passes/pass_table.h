// The table of all passes and the standard pipeline.
#pragma once

#include <span>

#include "compiler/pass/pipeline.h"

namespace dyn {

std::span<const PassDef> passTable();
// The passes of the table that are not for who asks for them (PassDef::onRequest), in its order, with default
// options.
Pipeline standardPipeline();

}  // namespace dyn
