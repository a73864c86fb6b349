// The shapes of what hand-written kernels make (vm/kernels/builtins.def), by their contracts. A kernel that
// is not among them makes a result of which nothing is known.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "vm/certificate/walk_state.h"

namespace dyn::certificate {

struct ResultShape {
  uint8_t dtype = 0;
  std::vector<Polynomial> dims;
};

struct BuiltinCall {
  const std::string& name;
  const std::vector<ObjectRef>& arguments;  // for a list, one of its items
  std::vector<Polynomial> scalars;
  std::span<const int32_t> numbers;
  std::function<Polynomial()> anySize;  // a number of which only the data knows
};

// Of each result; nothing: not known.
std::vector<std::optional<ResultShape>> resultsOf(const BuiltinCall& call);

}  // namespace dyn::certificate
