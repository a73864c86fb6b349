// Which variables of a vector loop differ between lanes.
#pragma once

#include <functional>
#include <unordered_map>

#include "compiler/codegen/emit/lane_value.h"
#include "compiler/loop/expr.h"

namespace dyn {

// Of the variables with these values, by the ids of expressions. `values` outlives it.
inline std::function<bool(loop::Expr)> variesIn(const std::unordered_map<uint32_t, LaneValue>& values) {
  return [&values](loop::Expr variable) {
    const auto known = values.find(variable.id());
    return known != values.end() && !known->second.isUniform();
  };
}

}  // namespace dyn
