#include "compiler/infer/broadcast_dim.h"

#include <algorithm>

namespace dyn {
namespace {

bool isAtLeastOne(const DimSolver& solver, Dim d) {
  return solver.lessEqual(d.context().constant(1), d) == Answer::yes;
}

Dim presenceOf(Dim d) { return min(d, d.context().constant(1)); }

void addChoices(Dim d, Shape& choices) {
  if (d.kind() != DimKind::max) {
    choices.push_back(d);
    return;
  }
  for (Dim operand : d.operands()) addChoices(operand, choices);
}

// The sizes that `d` was broadcast from: of max(a, b)*min(a, 1)*min(b, 1) these are a and b, where a size
// that is 1 at least has no min(). Of all else `d` alone.
Shape sizesOf(const DimSolver& solver, Dim d) {
  const Shape alone{d};
  const Shape factors = d.kind() == DimKind::mul ? Shape(d.operands().begin(), d.operands().end()) : alone;
  Shape sizes, presences;
  for (Dim factor : factors) {
    if (factor.kind() == DimKind::min)
      presences.push_back(factor);
    else if (factor.kind() == DimKind::max && sizes.empty())
      addChoices(factor, sizes);
    else
      return alone;
  }
  for (Dim size : sizes) {
    const auto presence = std::find(presences.begin(), presences.end(), presenceOf(size));
    if (presence != presences.end())
      presences.erase(presence);
    else if (!isAtLeastOne(solver, size))
      return alone;
  }
  return sizes.empty() || !presences.empty() ? alone : sizes;
}

}  // namespace

Dim broadcastDim(const DimSolver& solver, Dim a, Dim b) {
  Shape sizes = sizesOf(solver, a);
  const size_t ofA = sizes.size();
  size_t common = 0;
  const Shape ofB = sizesOf(solver, b);
  for (Dim size : ofB) {
    if (std::find(sizes.begin(), sizes.end(), size) != sizes.end())
      ++common;
    else
      sizes.push_back(size);
  }
  if (common == ofB.size()) return a;
  if (common == ofA) return b;
  Dim result = sizes[0];
  for (Dim size : sizes) result = max(result, size);
  for (Dim size : sizes)
    if (!isAtLeastOne(solver, size)) result = result * presenceOf(size);
  return result;
}

}  // namespace dyn
