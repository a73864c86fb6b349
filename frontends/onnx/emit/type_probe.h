// What mappings ask when simple rules (result_ranks.h, result_dtypes.h) do not give a rank or an element type: the compiler's own inference, over
// what has been imported so far. It runs on a second import of the same nodes in a context of its own, as facts that a half of a program
// establishes must not count for the whole.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/module.h"

namespace dyn::onnx {

// Of the values of @main, by the order in which they were made.
struct KnownType {
  int rank = -1;
  std::optional<Dtype> dtype;
};

// Each costs an import of the nodes so far; models need one or two.
inline constexpr int kMaxTypeProbes = 8;

class TypeProbe {
 public:
  virtual ~TypeProbe() = default;
  // Fills in what can be known of all values so far.
  virtual void learn() = 0;
};

// Of the values from `firstValue` on; empty where inference fails.
std::vector<KnownType> knownTypes(const Module& module, uint32_t firstValue);

}  // namespace dyn::onnx
