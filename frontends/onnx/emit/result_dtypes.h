// Element types of results, without inference: mappings need them for constants beside a value ("alpha * x"
// in x's type).
#pragma once

#include <optional>

#include "frontends/onnx/emit/function_builder.h"

namespace dyn::onnx {

// Of result `index`; of a list or optional the type of its tensors. nullopt: unknown.
std::optional<Dtype> resultDtype(const Op& op, size_t index, ValueTable& values);
// Whether its result is a list, or an optional that may hold one.
bool resultIsList(const Op& op, ValueTable& values);

}  // namespace dyn::onnx
