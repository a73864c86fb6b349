// Operators that only programs for a device beside the host have; rows of the table like all others.
#pragma once

#include "compiler/ir/op_def.h"

namespace dyn::ops {

extern const OpDef device_copyOp;

}  // namespace dyn::ops
