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
    linear,   // each grows by 0 or one step along the axis: coordinates, numbers of rows
    span,     // from one number to another in equal steps: linspace(0, 1, n), (arange(n) + 0.5) / n
    causal,   // one number up to the diagonal of the last two axes, another beyond: both axes grow
    table,    // anything else: a part of it, up to its end
  };
  Kind kind = Kind::table;
  int64_t start = 0;  // counted
  // linear: where an element stands that the size says nothing of, as 0 of [-3, -2, -1, 0].
  enum class Anchor : uint8_t { start, middle, end };
  Anchor anchor = Anchor::start;
  double step = 1;  // linear
  // span: begin + (i + offset) * length / n, or / (n - 1) where it reaches its end.
  double begin = 0, length = 1, offset = 0;
  bool reachesEnd = false;
  HostTensor one;             // uniform, linear, span: the constant with 1 along the axis, at the anchor
  HostTensor grows;           // linear, span: as `one`, 1 where elements grow, 0 elsewhere
  HostTensor within, beyond;  // causal: scalars
};

// nullopt: of a type that is not looked at.
std::optional<ConstantPattern> patternOf(const HostTensor& constant, size_t axis);

}  // namespace dyn
