// The types of the values of @main.
#pragma once

#include <unordered_map>

#include "compiler/ir/module.h"

namespace dyn {

using TypesOfValues = std::unordered_map<ValueId, Type>;
// Of parameters and results of operations, not of bodies. Empty without @main.
TypesOfValues typesOfValues(const Module& module);

}  // namespace dyn
