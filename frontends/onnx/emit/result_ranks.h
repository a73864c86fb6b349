// Ranks of results as far as they follow from the operands' without inference: mappings whose form depends on them ask for these.
#pragma once

#include "frontends/onnx/emit/function_builder.h"

namespace dyn::onnx {

// -1: not known.
int resultRank(const Op& op, size_t index, ValueTable& values);
// How many elements the first result has when it is a vector: rank of what is reshaped by it.
int resultLength(const Op& op, ValueTable& values);

}  // namespace dyn::onnx
