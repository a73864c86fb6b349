#include "compiler/passes/simplify/regrouped_rows.h"

#include <algorithm>
#include <numeric>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/shape_rules.h"
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

// An operand of a product: `once`, repeated along one of the axes `axis` and `axis + 1`, which are then one.
struct RegroupedRows::Repeated {
  ValueId once = kNoValue;
  Shape before;  // of what was repeated, with both axes
  size_t axis = 0;
  bool isTransposed = false;  // behind that
};

RegroupedRows::RegroupedRows(IrContext& ir, const Function& function, Types& types, Definitions& definitions,
                             std::function<bool(Dim, Dim)> equal, Repeats repeats)
    : ir_(ir), types_(types), definitions_(definitions), equal_(std::move(equal)), repeats_(repeats) {
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

bool RegroupedRows::isOf(ValueId v, const Shape& shape) const {
  const Shape& own = types_.at(v).dims();
  return own.size() == shape.size() && equalEnds(own, shape, shape.size());
}

bool RegroupedRows::equalBatches(const Shape& a, const Shape& b) const {
  return a.size() == b.size() && std::equal(a.begin(), a.end() - kMatrix, b.begin(), equal_);
}

const Op* RegroupedRows::of(const Op& op, std::vector<const Op*>& ops) {
  if (op.results.size() != 1 || !op.results[0].type.isTensor()) return nullptr;
  if (op.def->traits.view) {  // of a product, with the rows of its matrices as they are
    if (repeats_ == Repeats::shared)
      if (const Op* moved = transposeOfRegrouped(op, ops)) return moved;
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
  if (op.def == &ops::transposeOp) return transposeBehind(op, ops);
  if (op.def != &ops::matmulOp) return rowsBehind(op, ops);
  if (repeats_ == Repeats::shared) {
    if (const Op* product = productOfExpanded(op)) return product;
    if (const Op* product = productOfRepeated(op, ops)) return product;
  }
  return productBehind(op, ops);
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
  const auto joined = joined_.find(regrouped->results[0].id);
  // Would it be regrouped for nothing, or is it, so that keys stay shared?
  const auto mayBeRegrouped = [&](ValueId v) {
    const Op* made = madeBy(v);
    return joined != joined_.end() || (made && made->def->traits.view && isOf(made->operands[0], before));
  };
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
    const bool isOne = std::all_of(middle, end, [](Dim d) { return d.isConstant(1); });
    if (!isOne && (!mayBeRegrouped(v) ||
                   !std::equal(middle, end, after.begin() + static_cast<ptrdiff_t>(first), equal_)))
      return nullptr;
    Shape& shape = shapes[i];
    shape.assign(whole.begin(), middle);
    if (isOne)
      shape.resize(before.size() - last, ir_.dims().constant(1));
    else
      shape.insert(shape.end(), before.begin() + static_cast<ptrdiff_t>(first),
                   before.end() - static_cast<ptrdiff_t>(last));
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
  if (joined != joined_.end()) joined_[op.results[0].id] = joined->second;
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

// Of matrices, batch by batch.
bool RegroupedRows::isTranspose(const Op* op) {
  if (!op || op->def != &ops::transposeOp) return false;
  const std::vector<int64_t> perm = op->attributes.integers("perm");
  const auto rank = static_cast<int64_t>(perm.size());
  for (int64_t i = 0; i < rank; ++i)
    if (perm[static_cast<size_t>(i)] != (i < rank - 2 ? i : 2 * rank - 3 - i)) return false;
  return rank >= 3;
}

// reshape(transpose(reshape(x))) with batches regrouped twice is a transpose of x regrouped once.
const Op* RegroupedRows::transposeOfRegrouped(const Op& view, std::vector<const Op*>& ops) {
  const Op* transpose = madeBy(view.operands[0]);
  if (!isTranspose(transpose) || uses_[view.operands[0]] != 1) return nullptr;
  const ValueId source = transpose->operands[0];
  const Op* made = madeBy(source);
  Shape shape = view.results[0].type.dims();
  if (!made || !made->def->traits.view || shape.size() < 3 ||
      !equalEnds(transpose->results[0].type.dims(), shape, kMatrix))
    return nullptr;
  Op changed = *transpose;
  std::vector<int64_t> perm(shape.size());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm.end()[-1], perm.end()[-2]);
  std::swap(shape.end()[-1], shape.end()[-2]);
  changed.operands = {viewed(source, shape, view.place, ops)};
  changed.attributes.set("perm", perm);
  changed.results = view.results;
  return noted(std::move(changed));
}

// The product with another operand at that side; `isTransposed`: of which the old one was the transposed.
Op RegroupedRows::withOperand(const Op& product, size_t side, ValueId v, bool isTransposed) {
  Op changed = product;
  changed.operands[side] = v;
  const char* const transposes = side == 1 ? "transpose_b" : "transpose_a";
  if (isTransposed)
    changed.attributes.set(transposes, int64_t{product.attributes.integer(transposes, 0) == 0});
  return changed;
}

// A matrix that is the same for several batches is broadcast by the product itself.
const Op* RegroupedRows::productOfExpanded(const Op& op) {
  const Shape result = op.results[0].type.dims();
  for (const size_t side : {size_t{1}, size_t{0}}) {
    const ValueId other = op.operands[1 - side];
    const Op *expand = madeBy(op.operands[side]), *made = madeBy(other);
    const bool isTransposed = isTranspose(expand);
    if (isTransposed) expand = madeBy(expand->operands[0]);
    if (!expand || expand->def != &ops::expandOp || (made && made->def == &ops::constantOp)) continue;
    const Shape &once = types_.at(expand->operands[0]).dims(), &all = expand->results[0].type.dims(),
                &own = types_.at(other).dims();
    if (all.size() < 3 || once.size() != all.size() || own.size() != all.size() ||
        result.size() != all.size() || !equalEnds(once, all, kMatrix))
      continue;
    bool isBroadcast = true;
    for (size_t i = 0; i + kMatrix < all.size(); ++i)
      isBroadcast &= equal_(once[i], all[i]) || (once[i].isConstant(1) && equal_(own[i], result[i]));
    if (isBroadcast) return noted(withOperand(op, side, expand->operands[0], isTransposed));
  }
  return nullptr;
}

std::optional<RegroupedRows::Repeated> RegroupedRows::repeatedIn(ValueId v) const {
  Repeated found;
  const Op* made = madeBy(v);
  if (isTranspose(made)) {
    found.isTransposed = true;
    made = madeBy(made->operands[0]);
  }
  if (!made || !made->def->traits.view) return std::nullopt;
  const Shape after = made->results[0].type.dims();
  const Op* expand = madeBy(made->operands[0]);
  if (!expand || expand->def != &ops::expandOp) return std::nullopt;
  found.once = expand->operands[0];
  found.before = expand->results[0].type.dims();
  const Shape &once = types_.at(found.once).dims(), &all = found.before;
  if (after.size() < 3 || all.size() != after.size() + 1 || once.size() != all.size()) return std::nullopt;
  while (found.axis < after.size() && equal_(after[found.axis], all[found.axis])) ++found.axis;
  if (found.axis + kMatrix >= after.size() || !equalEnds(after, all, after.size() - found.axis - 1) ||
      !equal_(after[found.axis], all[found.axis] * all[found.axis + 1]))
    return std::nullopt;
  int repeated = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (equal_(once[i], all[i])) continue;
    if (!once[i].isConstant(1) || i < found.axis || i > found.axis + 1) return std::nullopt;
    ++repeated;
  }
  if (repeated != 1) return std::nullopt;
  return found;
}

// The product of each group and the one that it shares, as matrices are broadcast.
const Op* RegroupedRows::productOfRepeated(const Op& op, std::vector<const Op*>& ops) {
  const Shape result = op.results[0].type.dims();
  for (const size_t side : {size_t{1}, size_t{0}}) {
    const std::optional<Repeated> repeated = repeatedIn(op.operands[side]);
    if (!repeated) continue;
    const ValueId other = op.operands[1 - side];
    const Op* made = madeBy(other);
    const Shape &own = types_.at(other).dims(), &groups = repeated->before;
    const size_t axis = repeated->axis;
    if (own.size() != result.size() || result.size() + 1 != groups.size() ||
        (made && made->def == &ops::constantOp) || !equal_(own[axis], groups[axis] * groups[axis + 1]))
      continue;
    const auto split = [&](Shape shape) {
      shape[axis] = groups[axis];
      shape.insert(shape.begin() + static_cast<ptrdiff_t>(axis) + 1, groups[axis + 1]);
      return shape;
    };
    // Attention whose scores are not of such groups stays one.
    if (weights_.count(other) && !(made && made->def->traits.view && isOf(made->operands[0], split(own))))
      continue;
    Op changed = withOperand(op, side, repeated->once, repeated->isTransposed);
    changed.operands[1 - side] = viewed(other, split(own), op.place, ops);
    changed.results = {{ir_.newValue(), ir_.tensorType(split(result), op.results[0].type.dtype())}};
    if (!weights_.count(other)) scores_.insert(op.results[0].id);
    joined_[op.results[0].id] = axis;
    ops.push_back(noted(std::move(changed)));
    return reshapeOf(ops.back()->results[0].id, op, ops);
  }
  return nullptr;
}

// The groups of a product stay side by side wherever they are moved, so that the product itself can write
// them there.
const Op* RegroupedRows::transposeBehind(const Op& op, std::vector<const Op*>& ops) {
  const auto joined = joined_.find(op.operands[0]);
  if (joined == joined_.end() || uses_[op.operands[0]] != 1) return nullptr;
  const Op& view = *madeBy(op.operands[0]);
  const Shape& apart = types_.at(view.operands[0]).dims();
  const auto axis = static_cast<int64_t>(joined->second);
  std::vector<int64_t> perm;
  for (int64_t from : transposeOrder(op.attributes, static_cast<int>(apart.size()) - 1)) {
    perm.push_back(from > axis ? from + 1 : from);
    if (from == axis) perm.push_back(axis + 1);
  }
  Shape moved;
  for (int64_t from : perm) moved.push_back(apart[static_cast<size_t>(from)]);
  Op changed = op;
  changed.operands = {view.operands[0]};
  changed.attributes.set("perm", perm);
  changed.results = {{ir_.newValue(), ir_.tensorType(moved, op.results[0].type.dtype())}};
  ops.push_back(noted(std::move(changed)));
  return reshapeOf(ops.back()->results[0].id, op, ops);
}

// `v` in another shape: what it is a view of where that has the shape already.
ValueId RegroupedRows::viewed(ValueId v, const Shape& shape, const SourceLocation& place,
                              std::vector<const Op*>& ops) {
  while (!isOf(v, shape)) {
    const Op* made = madeBy(v);
    if (!made || !made->def->traits.view) break;
    v = made->operands[0];
  }
  if (isOf(v, shape)) return v;
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
