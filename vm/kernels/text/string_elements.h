// Elements of string tensors, for the builtins that read and make them.
#pragma once

#include <string_view>

#include "vm/core/builtin.h"

namespace dyn::vm::kernels {

inline std::string_view stringAt(const Tensor* tensor, int64_t index) {
  const StringElement* element = tensor->as<StringElement*>()[index];
  return element ? std::string_view(element->text, element->sizeBytes) : std::string_view();
}

// Argument `index`, demanded to hold strings.
inline Status stringArgument(const BuiltinCall& call, const char* builtin, size_t index,
                             const Tensor*& tensor) {
  tensor = call.argument(index);
  if (tensor && tensor->dtype == DataType::string) return okStatus();
  return badArgument(builtin, index, "a tensor of strings", call.arguments[index]);
}

inline Status outOfStrings() { return failure(DYN_OUT_OF_MEMORY, "no room for the strings of a result"); }

}  // namespace dyn::vm::kernels
