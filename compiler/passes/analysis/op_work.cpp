#include "compiler/passes/analysis/op_work.h"

#include <unordered_map>

#include "compiler/ops/op_table.h"
#include "vm/shared/dyn_stage_cost.h"

namespace dyn {
namespace {

constexpr int64_t kStepsPerElement = 4;  // to read or write one, as from the second cache
constexpr int64_t kRowsOfTile = 14, kColumnsOfPanel = 32;

// They have a size of their own that no run knows; what is done with them is in the products.
bool isPackedWeights(Type type) {
  return type && type.isTensor() && type.rank() == 1 && type.dims()[0].isSymbol() &&
         hasAnonymous(type.dims()[0]);
}

class WorkCounter {
 public:
  WorkCounter(const Function& body, IrContext& ir) : ir_(ir) {
    for (const Parameter& p : body.parameters) types_[p.id] = p.type;
    for (const Op* op : body.ops)
      for (const ValueDef& result : op->results) types_[result.id] = result.type;
  }

  // What one element of the result takes in multiply-adds; none: not a product.
  Dim depthOf(const Op& op) const {
    const Shape weights = op.attributes.dims("weights"), depth = op.attributes.dims("k");
    if (!depth.empty()) return depth[0];
    if (!weights.empty()) return productFrom(weights, 1);
    if (op.operands.size() < 2) return {};
    const Type first = typeOf(op.operands[0]), second = typeOf(op.operands[1]);
    if (op.def->traits.flatPositions && second) return productFrom(second.dims(), 1);
    if (op.def->traits.matrixOperands > 0 && first && first.rank() > 0) return first.dims().back();
    // A step multiplies the state, as wide as a row of the last result, by the weights of each gate.
    if (op.def == &ops::recurrenceOp && first && first.rank() > 0) return first.dims().back();
    return {};
  }
  // Rows are cut into tiles, or columns into panels, whichever is more.
  Dim piecesOf(const Op& op, Type result) const {
    DimContext& dims = ir_.dims();
    const Shape weights = op.attributes.dims("weights");
    const bool isConvolution = op.def->traits.flatPositions || !weights.empty();
    const bool channelsLast = !isConvolution || op.attributes.string("layout").find("channels_last") == 0;
    const Dim columns = result.rank() == 0 ? dims.constant(1)
                        : channelsLast     ? result.dims().back()
                        : !weights.empty() ? weights[0]
                                           : result.dims()[static_cast<size_t>(result.rank() > 1 ? 1 : 0)];
    const Dim rows = floorDiv(elementsOf(result), max(dims.constant(1), columns));
    return max(ceilDiv(rows, dims.constant(kRowsOfTile)), ceilDiv(columns, dims.constant(kColumnsOfPanel)));
  }
  Dim elementsOf(Type type) const {
    return type && type.isTensor() ? productFrom(type.dims(), 0) : ir_.dims().constant(1);
  }
  Type typeOf(ValueId value) const {
    const auto known = types_.find(value);
    return known == types_.end() ? Type() : known->second;
  }

 private:
  Dim productFrom(const Shape& dims, size_t begin) const {
    Dim product = ir_.dims().constant(1);
    for (size_t axis = begin; axis < dims.size(); ++axis) product = product * dims[axis];
    return product;
  }

  IrContext& ir_;
  std::unordered_map<ValueId, Type> types_;
};

}  // namespace

OpWork workOf(const Op& into, IrContext& ir) {
  const Function& body = *into.regions[0];
  const WorkCounter counter(body, ir);
  DimContext& dims = ir.dims();
  OpWork work{dims.constant(0), {}};
  for (const Op* op : body.ops) {
    if (op->results.empty()) continue;
    const Type result = op->results.back().type;
    const Dim depth = counter.depthOf(*op);
    if (!depth || !result.isTensor()) continue;
    work.steps = work.steps + counter.elementsOf(result) * depth;
    const Dim pieces = counter.piecesOf(*op, result);
    work.pieces = work.pieces ? max(work.pieces, pieces) : pieces;
  }
  Dim elements = dims.constant(0);
  for (Type type : body.resultTypes) elements = elements + counter.elementsOf(type);
  for (const Parameter& p : body.parameters)
    if (!isPackedWeights(p.type)) elements = elements + counter.elementsOf(p.type);
  work.steps = work.steps + elements * kStepsPerElement;
  if (!work.pieces)
    work.pieces = max(dims.constant(1), floorDiv(work.steps, dims.constant(stage::kStepsPerTask)));
  return work;
}

}  // namespace dyn
