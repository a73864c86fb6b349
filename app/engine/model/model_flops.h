// Arithmetic of a model, as a formula over its dims.
#pragma once

#include "compiler/ir/module.h"

namespace dyn {

// Two for each multiply-add of the products and convolutions: "170016768*batch*seq + 18432*batch*seq*seq".
// Null where a size depends on values, or where one stands in a function that is called or repeated an
// unknown number of times.
Dim flopsOf(const Module& module);

}  // namespace dyn
