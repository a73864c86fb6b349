// The checks that follow from the preconditions in an operator's row (compiler/ir/preconditions.h).
#pragma once

#include <string>

#include "compiler/ir/op_def.h"

namespace dyn {

// The attributes of the operation are as its row allows: error badAttribute naming the attribute, its value and what is allowed.
Status checkAttributeValues(const InferContext& c);

// What is wrong with the elements; "" when nothing is. `low` and `high` (null: no bound) are of one element, for inRange.
std::string elementsFault(const HostTensor& x, ElementsAre are, const HostTensor* low = nullptr,
                          const HostTensor* high = nullptr);

}  // namespace dyn
