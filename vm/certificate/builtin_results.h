// The shapes of what hand-written kernels make (vm/kernels/builtins.def), by their contracts. A kernel that
// is not among them makes a result of which nothing is known.
#pragma once

#include <span>
#include <string>

#include "vm/certificate/walk_state.h"

namespace dyn::certificate {

struct ResultShape {
  uint8_t dtype = 0;
  std::vector<Value> dims;  // nothing: any number
};

// Of a call with these tensors (a list: one of its items), scalars and numbers. Nothing: not known.
std::vector<std::optional<ResultShape>> resultsOf(const std::string& name,
                                                  const std::vector<ObjectRef>& arguments,
                                                  const std::vector<Polynomial>& scalars,
                                                  std::span<const int32_t> numbers);

}  // namespace dyn::certificate
