// Are two values the same within a tolerance? |a - b| <= absolute + relative * |b|, as the ONNX backend tests
// compare.
#pragma once

#include <string>

#include "compiler/reference/value.h"

namespace dyn {

struct Tolerance {
  double relative = 1e-3, absolute = 1e-6;
  // Elements smaller than the root mean square of their tensor are measured by that: sums of large terms have
  // errors of their terms' size.
  bool ofTensor = false;
};

// "" when `actual` agrees with `expected`: structure, element types and shapes exactly, integers, booleans
// and strings exactly, reals within the tolerance, NaN equal to NaN. Else what differs first: "shape [2, 3]
// instead of [3, 2]", "element [0, 4] is 1.5 instead of 1.25 ...".
std::string compareValues(const Value& actual, const Value& expected, const Tolerance& tolerance);

}  // namespace dyn
