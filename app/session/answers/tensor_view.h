// A tensor as a picture and in numbers: statistics over all elements, and one slice of its last two axes.
#pragma once

#include "app/session/views/value_views.h"
#include "compiler/ir/tensor.h"
#include "compiler/support/result.h"

namespace dyn {

// `slice` holds the axes before the last two, "0,3" of [batch, heads, rows, columns]; "" is the first of
// each. Errors:
// usageError for a slice that is not there, unsupportedFeature for strings.
Result<TensorView> tensorView(const std::string& name, const HostTensor& tensor, const std::string& slice);

}  // namespace dyn
