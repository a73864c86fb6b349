// Along one axis, the elements of a constant that an exporter folded at one size: what they would be at
// another.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/tensor.h"

namespace dyn {

struct ConstantPattern {
  enum class Kind : uint8_t {
    uniform,  // equal along the axis: repeated
    counted,  // start, start + 1, ...: positions
    causal,   // one number up to the diagonal of the last two axes, another beyond: both axes grow
    table,    // anything else: a part of it, up to its end
  };
  Kind kind = Kind::table;
  int64_t start = 0;          // counted
  HostTensor one;             // uniform: the constant with 1 along the axis
  HostTensor within, beyond;  // causal: scalars
};

// nullopt: of a type that is not looked at.
std::optional<ConstantPattern> patternOf(const HostTensor& constant, size_t axis);

}  // namespace dyn
