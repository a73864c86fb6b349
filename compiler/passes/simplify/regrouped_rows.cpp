#include "compiler/passes/simplify/regrouped_rows.h"

#include <algorithm>

#include "compiler/ops/op_table.h"
#include "compiler/passes/rewrite/op_series.h"

namespace dyn::passes {

namespace {

constexpr size_t kMatrix = 2;  // axes of a matrix: rows and columns

Shape withBatchesOf(const Shape& batches, const Shape& matrix) {
  Shape shape(batches.begin(), batches.end() - kMatrix);
  shape.insert(shape.end(), matrix.end() - kMatrix, matrix.end());
  return shape;
}

bool isSoftmaxOfRows(const Op& op) {
  if (op.def != &ops::softmaxOp || !op.results[0].type.isTensor()) return false;
  const int64_t axis = op.attributes.integer("axis", -1);
  return axis == -1 || axis == op.results[0].type.rank() - 1;
}

}  // namespace

struct RegroupedRows::View {
  ValueId from;
  Shape before, after;
};

RegroupedRows::RegroupedRows(IrContext& ir, const Function& function, Types& types, Definitions& definitions,
                             std::function<bool(Dim, Dim)> equal)
    : ir_(ir), types_(types), definitions_(definitions), equal_(std::move(equal)) {
  for (const Op* op : function.ops)
    for (ValueId v : op->operands) ++uses_[v];
  for (ValueId v : function.results) ++uses_[v];
}

const Op* RegroupedRows::madeBy(ValueId v) const {
  const auto it = definitions_.find(v);
  return it == definitions_.end() ? nullptr : it->second;
}

bool RegroupedRows::equalEnds(const Shape& a, const Shape& b, size_t count) const {
  return a.size() >= count && b.size() >= count &&
         std::equal(a.end() - static_cast<ptrdiff_t>(count), a.end(), b.end() - static_cast<ptrdiff_t>(count),
                    equal_);
}

bool RegroupedRows::equalBatches(const Shape& a, const Shape& b) const {
  return a.size() == b.size() && std::equal(a.begin(), a.end() - kMatrix, b.begin(), equal_);
}

const Op* RegroupedRows::of(const Op& op, std::vector<const Op*>& ops) {
  if (op.results.size() != 1 || !op.results[0].type.isTensor()) return nullptr;
  if (op.def->traits.view) {  // of a product, with the rows of its matrices as they are
    const Op* made = madeBy(op.operands[0]);
    if (!made || made->def != &ops::matmulOp || made->results[0].type.rank() < 3 ||
        op.results[0].type.rank() < 3)
      return nullptr;
    const View view{op.operands[0], made->results[0].type.dims(), op.results[0].type.dims()};
    for (ValueId v : made->operands) {
      const Op* of = madeBy(v);
      if (types_.at(v).rank() < 3 || (of && of->def == &ops::constantOp)) return nullptr;
    }
    if (!equalEnds(view.before, view.after, kMatrix) || uses_[view.from] != 1) return nullptr;
    return product(op, view, ops);
  }
  if (op.def == &ops::matmulOp) return productBehind(op, ops);
  return rowsBehind(op, ops);
}

// reshape(matmul(a, b)) is a product of the reshaped, unless it repeats one of them.
const Op* RegroupedRows::product(const Op& reshape, const View& view, std::vector<const Op*>& ops) {
  const Op& made = *madeBy(view.from);
  for (ValueId v : made.operands)
    if (!equalBatches(types_.at(v).dims(), view.before)) {
      scores_.insert(reshape.results[0].id);
      return nullptr;
    }
  Op op = made;
  for (ValueId& v : op.operands)
    v = viewed(v, withBatchesOf(view.after, types_.at(v).dims()), reshape.place, ops);
  op.results = reshape.results;
  return noted(std::move(op));
}

// Softmax and elementwise operations of regrouped rows are computed before the regrouping.
const Op* RegroupedRows::rowsBehind(const Op& op, std::vector<const Op*>& ops) {
  const bool isSoftmax = isSoftmaxOfRows(op);
  if (isSoftmax ||
      (op.def->cls == OpClass::elementwise && std::any_of(op.operands.begin(), op.operands.end(),
                                                          [&](ValueId v) { return weights_.count(v) != 0; })))
    weights_.insert(op.results[0].id);
  if (!isSoftmax && (op.def->cls != OpClass::elementwise || op.def->traits.channelOperands)) return nullptr;
  const Shape& after = op.results[0].type.dims();
  const Op* regrouped = nullptr;
  for (ValueId v : op.operands) {
    const Op* made = v == kNoValue ? nullptr : madeBy(v);
    if (!made || !made->def->traits.view || !(isSoftmax || scores_.count(v))) continue;
    const Shape &own = made->results[0].type.dims(), &before = types_.at(made->operands[0]).dims();
    if (own.size() != after.size() || !equalEnds(own, after, own.size()) || before.size() < kMatrix ||
        after.size() < kMatrix || !equalEnds(before, after, kMatrix))
      continue;
    regrouped = made;
    break;
  }
  if (!regrouped) return nullptr;
  const Shape& before = types_.at(regrouped->operands[0]).dims();
  // The axes that both begin with, and end with.
  size_t first = 0, last = kMatrix;
  const size_t shorter = std::min(before.size(), after.size());
  while (first + last < shorter && equal_(before[first], after[first])) ++first;
  while (first + last < shorter && equal_(before[before.size() - 1 - last], after[after.size() - 1 - last]))
    ++last;
  Op changed = op;
  if (isSoftmax) changed.attributes.set("axis", int64_t{-1});  // the last, whatever the rank is now
  std::vector<Shape> shapes(op.operands.size());
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const ValueId v = op.operands[i];
    if (v == kNoValue || v == regrouped->results[0].id) continue;
    const Shape& own = types_.at(v).dims();
    if (own.size() <= last) continue;  // as it broadcasts over the last axes
    Shape whole(after.size() - own.size(), ir_.dims().constant(1));
    whole.insert(whole.end(), own.begin(), own.end());
    const auto middle = whole.begin() + static_cast<ptrdiff_t>(first),
               end = whole.end() - static_cast<ptrdiff_t>(last);
    if (!std::all_of(middle, end, [](Dim d) { return d.isConstant(1); })) return nullptr;
    Shape& shape = shapes[i];
    shape.assign(whole.begin(), middle);
    shape.resize(before.size() - last, ir_.dims().constant(1));
    shape.insert(shape.end(), end, whole.end());
  }
  for (size_t i = 0; i < op.operands.size(); ++i) {
    if (op.operands[i] == regrouped->results[0].id)
      changed.operands[i] = regrouped->operands[0];
    else if (!shapes[i].empty())
      changed.operands[i] = viewed(op.operands[i], shapes[i], op.place, ops);
  }
  const Type type = ir_.tensorType(before, op.results[0].type.dtype());
  changed.results = {{ir_.newValue(), type}};
  if (weights_.count(op.results[0].id)) weights_.insert(changed.results[0].id);
  ops.push_back(noted(std::move(changed)));
  scores_.insert(op.results[0].id);
  return reshapeOf(ops.back()->results[0].id, op, ops);
}

// matmul(reshape(p), v) with p made of a softmax is a product of p and the reshaped v, regrouped.
const Op* RegroupedRows::productBehind(const Op& op, std::vector<const Op*>& ops) {
  const Op* view = madeBy(op.operands[0]);
  if (!view || !view->def->traits.view || op.attributes.integer("transpose_a", 0) != 0) return nullptr;
  if (!weights_.count(view->operands[0])) return nullptr;
  const Shape &before = types_.at(view->operands[0]).dims(), &after = view->results[0].type.dims(),
              &right = types_.at(op.operands[1]).dims();
  if (before.size() < 3 || after.size() < 3 || right.size() < 3 || !equalEnds(before, after, kMatrix) ||
      !equalBatches(right, after))
    return nullptr;
  Op changed = op;
  changed.operands = {view->operands[0], viewed(op.operands[1], withBatchesOf(before, right), op.place, ops)};
  changed.results = {{ir_.newValue(), ir_.tensorType(withBatchesOf(before, op.results[0].type.dims()),
                                                     op.results[0].type.dtype())}};
  ops.push_back(noted(std::move(changed)));
  return reshapeOf(ops.back()->results[0].id, op, ops);
}

// `v` in another shape: what it is a view of where that has the shape already.
ValueId RegroupedRows::viewed(ValueId v, const Shape& shape, const SourceLocation& place,
                              std::vector<const Op*>& ops) {
  const auto fits = [&](ValueId value) {
    const Shape& own = types_.at(value).dims();
    return own.size() == shape.size() && equalEnds(own, shape, shape.size());
  };
  while (!fits(v)) {
    const Op* made = madeBy(v);
    if (!made || !made->def->traits.view) break;
    v = made->operands[0];
  }
  if (fits(v)) return v;
  const size_t from = ops.size();
  const ValueId result = OpSeries(ir_, place, ops).reshape(v, shape, types_.at(v).dtype());
  noteNew(ops, from);
  return result;
}

const Op* RegroupedRows::reshapeOf(ValueId v, const Op& like, std::vector<const Op*>& ops) {
  const size_t from = ops.size();
  const Type type = like.results[0].type;
  OpSeries(ir_, like.place, ops).reshape(v, type.dims(), type.dtype(), like.results[0].id);
  noteNew(ops, from);
  const Op* last = ops.back();
  ops.pop_back();
  return last;
}

const Op* RegroupedRows::noted(Op op) {
  const Op* made = ir_.own(std::move(op));
  for (const ValueDef& r : made->results) {
    types_[r.id] = r.type;
    definitions_[r.id] = made;
  }
  return made;
}

void RegroupedRows::noteNew(std::vector<const Op*>& ops, size_t from) {
  for (; from < ops.size(); ++from)
    for (const ValueDef& r : ops[from]->results) {
      types_[r.id] = r.type;
      definitions_[r.id] = ops[from];
    }
}

}  // namespace dyn::passes
