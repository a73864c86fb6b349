#include "compiler/passes/padding/moved_positions.h"

#include <vector>

#include "compiler/ir/op_def.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/analysis/element_composer.h"

namespace dyn::passes {

namespace {

Type typeIn(const InferredModule& inferred, ValueId v) {
  for (const Parameter& p : inferred.module.main()->parameters)
    if (p.id == v) return p.type;
  for (const Op* op : inferred.module.main()->ops)
    for (const ValueDef& r : op->results)
      if (r.id == v) return r.type;
  return {};
}

bool holds(const InferredModule& inferred, ValueId v, int64_t number) {
  const auto known = inferred.contents.find(v);
  return known != inferred.contents.end() && known->second.size() == 1 && known->second[0] &&
         known->second[0].isConstant(number);
}

// gather(x, range(0, n, 1)): the first n along its axis.
bool takesTheFirst(const InferredModule& inferred, const Op& op) {
  if (op.def != &ops::gatherOp) return false;
  for (const Op* range : inferred.module.main()->ops)
    if (range->def == &ops::rangeOp && range->results[0].id == op.operands[1])
      return holds(inferred, range->operands[0], 0) && holds(inferred, range->operands[2], 1);
  return false;
}

std::optional<MovedView> along(const InferredModule& inferred, const Op& op, const MovedView& view,
                               std::vector<Type> types) {
  if (op.results.size() != 1 || !op.results[0].type || !op.results[0].type.isTensor()) return std::nullopt;
  MovedView next{view.base, op.results[0].type.dims(), view.place};
  if (takesTheFirst(inferred, op)) return next;
  if (!op.def->viewRule) return std::nullopt;
  for (size_t i = 1; i < op.operands.size(); ++i)
    types.push_back(op.operands[i] == kNoValue ? Type() : typeIn(inferred, op.operands[i]));
  const DimSolver& facts = inferred.module.context->facts();
  const ViewContext context{op,
                            types,
                            view.place,
                            inferred.module.context->dims(),
                            [&](Dim a, Dim b) { return facts.equal(a, b) == Answer::yes; },
                            [&](Dim a, Dim b) { return facts.lessEqual(a, b) == Answer::yes; },
                            [&](int index) -> std::optional<Contents> {
                              const auto k = static_cast<size_t>(index);
                              if (k >= op.operands.size()) return std::nullopt;
                              const auto known = inferred.contents.find(op.operands[k]);
                              return known == inferred.contents.end() ? std::nullopt
                                                                      : std::optional(known->second);
                            }};
  std::optional<StridedPlace> place = op.def->viewRule(context, 0);
  if (!place) return std::nullopt;
  next.place = std::move(*place);
  return next;
}

// What the operand's shape is where it has elements: [.., n, m] that becomes [.., 2*n, n] has m = 2*n,
// whatever is known of m.
Shape sizesWithElements(const InferredModule& inferred, const Op& op, const Shape& from) {
  if (op.def != &ops::reshapeOp || !op.results[0].type || !op.results[0].type.isTensor()) return from;
  const Shape& to = op.results[0].type.dims();
  const size_t rank = from.size();
  if (rank < 2 || to.size() != rank) return from;
  const DimSolver& facts = inferred.module.context->facts();
  Shape result = from;
  for (size_t axis = 0; axis + 2 < rank; ++axis)
    if (facts.equal(from[axis], to[axis]) != Answer::yes) return from;
  if (facts.equal(from[rank - 2], to[rank - 1]) == Answer::yes) result.back() = to[rank - 2];
  return result;
}

}  // namespace

std::optional<MovedView> viewOf(const InferredModule& inferred, const Op& op, Type operand) {
  if (!operand || !operand.isTensor() || op.results.size() != 1) return std::nullopt;
  IrContext& ir = *inferred.module.context;
  const Shape sizes = sizesWithElements(inferred, op, operand.dims());
  return along(inferred, op, {sizes, sizes, densePlace(ir.dims(), sizes)},
               {ir.tensorType(sizes, operand.dtype())});
}

std::optional<MovedView> viewOf(const InferredModule& inferred, const Op& op, const MovedView& view) {
  return along(inferred, op, view, {typeIn(inferred, op.operands[0])});
}

bool keepsFirstIndices(const DimSolver& facts, const MovedView& view, size_t count) {
  if (view.base.size() < count || view.dims.size() < count || count == 0) return false;
  DimContext& dims = facts.context();
  const Shape strides = densePlace(dims, view.base).strides;
  const Dim zero = dims.constant(0);
  Dim low = view.place.offset, high = view.place.offset;  // of what leads beyond the row
  for (size_t k = 0; k < view.dims.size(); ++k) {
    if (k < count && facts.lessEqual(view.dims[k], view.base[k]) != Answer::yes) return false;
    const Dim step = facts.canonical(k < count ? view.place.strides[k] - strides[k] : view.place.strides[k]);
    const Dim most = step * (view.dims[k] - 1);
    if (facts.equal(step, zero) == Answer::yes) continue;
    if (facts.lessEqual(zero, step) == Answer::yes)
      high = high + most;
    else if (facts.lessEqual(step, zero) == Answer::yes)
      low = low + most;
    else
      return false;
  }
  return facts.lessEqual(zero, low) == Answer::yes &&
         facts.lessEqual(high, strides[count - 1] - 1) == Answer::yes;
}

}  // namespace dyn::passes
