// How far a tensor is from the expected one.
#pragma once

#include "app/session/views/change_views.h"
#include "compiler/reference/value.h"

namespace dyn {

// Fills all but name, op and place. An element is beyond the tolerance where its difference is more than this
// part of the expected element, or of the root mean square of the tensor where that is larger. Two NaN are
// equal; NaN beside a number is infinitely far.
void measureError(const Value& actual, const Value& expected, double relativeTolerance, ValueError& error);

}  // namespace dyn
