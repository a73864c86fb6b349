#include "compiler/passes/simplify/whole_scatter.h"

#include <algorithm>

#include "compiler/ops/op_table.h"
#include "compiler/passes/analysis/element_bounds.h"
#include "compiler/passes/analysis/element_composer.h"

namespace dyn::passes {

ValueId wholeScatter(const Op& scatter, const Function& function, const InferredModule& inferred) {
  if (scatter.def != &ops::scatter_ndOp || scatter.attributes.string("reduction", "none") != "none")
    return kNoValue;
  const auto types = typesIn(function);
  const auto typeOf = [&](ValueId v) {
    const auto found = types.find(v);
    return found == types.end() ? Type() : found->second;
  };
  const ValueId indices = scatter.operands[1], updates = scatter.operands[2];
  const Type data = typeOf(scatter.operands[0]), places = typeOf(indices), values = typeOf(updates);
  for (const Type type : {data, places, values})
    if (!type || !type.isTensor()) return kNoValue;
  const std::span<const Dim> sizes = data.dims();
  if (places.rank() == 0 || !(values == data) || !(scatter.results[0].type == data)) return kNoValue;
  const size_t depth = places.dims().size() - 1;
  if (depth > sizes.size() || !places.dims().back().isConstant(static_cast<int64_t>(depth)) ||
      !std::equal(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(depth), places.dims().begin()))
    return kNoValue;
  // Place [i, j] of the updates goes to [i, j] of the result.
  const auto makers = makersIn(function);
  ElementComposer composer(inferred, makers, types);
  loop::LoopContext& loops = composer.loops();
  std::vector<loop::Expr> at;
  for (size_t axis = 0; axis < depth; ++axis) {
    at.push_back(sizes[axis].isConstant(1) ? loops.integer(0) : loops.variable("i"));
    if (!sizes[axis].isConstant(1)) loops.bound(at.back(), loops.dim(sizes[axis]));
  }
  for (size_t axis = 0; axis < depth; ++axis) {
    std::vector<loop::Expr> index = at;
    index.push_back(loops.integer(static_cast<int64_t>(axis)));
    const Result<loop::Expr> place = composer.element(indices, index);
    if (!place.ok() || place->dtype() != at[axis].dtype()) return kNoValue;
    if (!decided(*place == at[axis], composer.facts()).same(loops.boolean(true))) return kNoValue;
  }
  return updates;
}

}  // namespace dyn::passes
