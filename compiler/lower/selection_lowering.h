// Operations on a device whose results are as long as values decide: count there, take the one number that
// the host needs for the sizes, then write.
#pragma once

#include "compiler/lower/function_lowering.h"

namespace dyn {

Status lowerSelection(FunctionLowering& c, const Op& op);

}  // namespace dyn
