// Elements of string tensors, for the builtins that read and make them.
#pragma once

#include <string_view>

#include "vm/core/builtin/builtin.h"

namespace dyn::vm::kernels {

// Tensors of hosted and of flat calls.
template <typename AnyTensor>
std::string_view stringAt(const AnyTensor* tensor, int64_t index) {
  const DynText* element = tensor->template as<DynText*>()[index];
  return element ? std::string_view(element->text, element->sizeBytes) : std::string_view();
}

// Argument `index`, demanded to hold strings.
inline Status stringArgument(const BuiltinCall& call, const char* builtin, size_t index,
                             const Tensor*& tensor) {
  tensor = call.argument(index);
  if (tensor && tensor->dtype == DataType::string) return okStatus();
  return badArgument(builtin, index, "a tensor of strings", call.arguments[index]);
}

inline Status stringArgument(const FlatCall& call, const char* builtin, size_t index,
                             const TensorView*& tensor) {
  tensor = call.argument(index);
  if (tensor && tensor->dtype() == DataType::string) return okStatus();
  return badArgument(builtin, index, "a tensor of strings", tensor);
}

inline Status outOfStrings() { return failure(DYN_OUT_OF_MEMORY, "no room for the strings of a result"); }

}  // namespace dyn::vm::kernels
