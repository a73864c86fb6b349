// Where the elements of a view lie: what an operator whose result is nothing but elements of its first
// operand in other places says in its row (OpDef::viewRule), so that who reads the result may read the
// operand.
//
//   x [n, m] dense: offset 0, strides (m, 1);   transpose(x): offset 0, strides (1, m)
//   slice(x, rows 2 and on):                    offset 2*m, strides (m, 1)
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "compiler/ir/module.h"

namespace dyn {

// In elements, from the first one of the memory that is looked at; a stride may be 0 or negative.
struct StridedPlace {
  Dim offset;
  Shape strides;
};

// What a rule may ask. It is asked where the operation stands: only what holds there is true.
struct ViewContext {
  const Op& op;
  std::span<const Type> operandTypes;
  const StridedPlace& operand;  // of the first operand, in the memory that is looked at
  DimContext& dims;
  std::function<bool(Dim, Dim)> equal, lessEqual;     // proved
  std::function<std::optional<Shape>(int)> contents;  // of an operand, when known
  Dim constant(int64_t value) const { return dims.constant(value); }
};

// Where result `result` lies in the same memory; nullopt: unknown, or it is no such view for these
// operands.
using ViewRule = std::optional<StridedPlace> (*)(const ViewContext& context, int result);

// Of a dense tensor.
StridedPlace densePlace(DimContext& dims, const Shape& shape);

}  // namespace dyn
