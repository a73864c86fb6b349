// Values by pairs of positions: an element [b, .., i, j] that is computed from what stands at the positions i
// and j of sequence b alone, such as what relative positions make of the queries and keys of attention.
//
//   %a = matmul(%q, %table)                      [b, h, s, r]     q [b, h, s, d] is by position
//   %c = gather_elements(%a, clip(i - j)) axis 3 [b, h, s, s]     element i, j reads q at i
//   %t = transpose(%c)                           [b, h, s, s]     and here at j
//
// Where both positions of an element are kept, it is what it is with padding, whatever stands at the others.
// It is read off the operators' definitions in loops, as in positions.h: the index along each axis that leads
// to a position must be one of the result's own. Views may move positions elsewhere if others bring them back
// (moved_positions.h).
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/passes/padding/moved_positions.h"
#include "compiler/passes/padding/positions.h"

namespace dyn::passes {

// What makes a value by pairs, back to values by position, which it reads.
struct PairRegion {
  std::unordered_set<const Op*> ops;  // those whose results come of values by position
  std::string whyNot;                 // "" or what reads other positions
};

class PairValues {
 public:
  explicit PairValues(const InferredModule& inferred, const Positions& positions);

  PairRegion regionOf(ValueId value);

 private:
  // Along which axes of a value its positions lie, and its sequences; none: it comes of no value by position.
  struct Axes {
    bool carries = false;
    int batch = 0;
    std::unordered_set<int> positions;
    // Those of what is viewed: they lie elsewhere in the value itself.
    std::optional<MovedView> moved;
    std::string whyMoved;
  };

  std::string follow(ValueId value, PairRegion& region);
  std::string explain(const Op& op, size_t result, Axes& axes) const;
  std::string byMovedView(const Op& op, Axes& axes) const;
  std::string byView(const Op& op, Axes& axes) const;
  std::string byLoads(const Op& op, size_t result, Axes& axes) const;
  const Axes* axesOf(ValueId v) const;

  const InferredModule& inferred_;
  const Positions& positions_;
  std::unordered_map<ValueId, const Op*> madeBy_;
  std::unordered_map<ValueId, Axes> axes_;
  std::unordered_map<const Op*, std::string> followed_;  // and why not
};

}  // namespace dyn::passes
