// What NumPy, PyTorch and ONNX call our operators: for "did you mean", not for parsing.
#pragma once

#include <span>
#include <string_view>

namespace dyn::text {

struct FamiliarName {
  std::string_view theirs, ours;
};
std::span<const FamiliarName> familiarNames();

// "" for a name that is not among them. Letters' case does not matter.
std::string_view ourName(std::string_view theirs);

}  // namespace dyn::text
