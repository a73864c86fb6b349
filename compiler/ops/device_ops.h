// Operators that only programs for a device beside the host have; rows of the table like all others.
#pragma once

#include "compiler/ir/op_def.h"
#include "compiler/target/device_kind.h"

namespace dyn::ops {

extern const OpDef device_copyOp;

}  // namespace dyn::ops

namespace dyn {

// Of operators with results as long as values decide, as groups have it; set by the pass `devices`.
inline constexpr AttributeSpec kDeviceAttribute = {"device", AttributeKind::string, false,
                                                   "whose generated kernels do it; default: the host",
                                                   Allowed::oneOf(kWordsOfDevices)};

}  // namespace dyn
