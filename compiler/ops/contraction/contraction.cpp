#include "compiler/ops/contraction/contraction.h"

#include <unordered_set>

#include "compiler/ops/op_table.h"

namespace dyn {

namespace {

bool multipliesBytes(const OpDef& def) {
  return &def == &ops::matmul_integerOp || &def == &ops::matmul_integer_packedOp ||
         &def == &ops::conv_integerOp;
}

}  // namespace

bool takesEpilogue(const OpDef& def) {
  return &def == &ops::matmulOp || &def == &ops::gemm_packedOp || isConvolution(def) || multipliesBytes(def);
}

Dtype epilogueReads(const OpDef& def) { return multipliesBytes(def) ? Dtype::i32 : Dtype::f32; }

bool isConvolution(const OpDef& def) {
  return &def == &ops::convOp || &def == &ops::conv_packedOp || &def == &ops::conv_integerOp;
}

bool packsWeights(const OpDef& def) {
  return &def == &ops::pack_bOp || &def == &ops::pack_convOp || &def == &ops::pack_bytesOp;
}

bool takesEpilogue(const Op& op, std::span<const Type> operandTypes) {
  return takesEpilogue(*op.def) && (!op.def->builtinTakes || op.def->builtinTakes(op, operandTypes));
}

namespace {

// Aligned at the right with [n, m, space...]; an invalid type when there is no such one.
Type flatPositions(IrContext& ir, Type type, const Shape& space) {
  if (!type.isTensor()) return {};
  const Shape& dims = type.dims();
  const size_t present = std::min(dims.size(), space.size()), before = dims.size() - present;
  if (present == 0) return type;
  Dim all = ir.dims().constant(1);
  bool ones = true, equal = present == space.size();
  for (size_t i = 0; i < present; ++i) {
    const Dim own = dims[before + i], whole = space[space.size() - present + i];
    ones &= own.isConstant(1);
    equal &= own == whole || ir.facts().equal(own, whole) == Answer::yes;
    all = all * whole;
  }
  if (!ones && !equal) return {};
  Shape flat(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(before));
  flat.push_back(ones ? ir.dims().constant(1) : all);
  return ir.tensorType(flat, type.dtype());
}

}  // namespace

const Function* withFlatPositions(IrContext& ir, const Function& body, int rank) {
  const Shape& dims = body.resultTypes.at(0).dims();
  if (rank < 3 || static_cast<int>(dims.size()) != rank) return nullptr;
  const Shape space(dims.begin() + 2, dims.end());
  Function flat = body;
  flat.ops.clear();
  for (const Op* op : body.ops) {
    Op changed = *op;
    for (ValueDef& r : changed.results) {
      r.type = flatPositions(ir, r.type, space);
      if (!r.type) return nullptr;
    }
    flat.ops.push_back(ir.own(std::move(changed)));
  }
  for (Type& type : flat.resultTypes) type = flatPositions(ir, type, space);
  // Only what the elementwise operations read: the convolution's own operands keep their types.
  std::unordered_set<ValueId> read;
  for (const Op* op : body.ops)
    if (!takesEpilogue(*op->def)) read.insert(op->operands.begin(), op->operands.end());
  for (Parameter& p : flat.parameters) {
    if (!read.count(p.id)) continue;
    p.type = flatPositions(ir, p.type, space);
    if (!p.type) return nullptr;
  }
  return ir.own(std::move(flat));
}

}  // namespace dyn
