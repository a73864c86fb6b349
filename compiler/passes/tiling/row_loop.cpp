#include "compiler/passes/tiling/row_loop.h"

#include <algorithm>

#include "compiler/ops/op_table.h"
#include "compiler/passes/rewrite/op_maker.h"
#include "compiler/passes/tiling/slices.h"

namespace dyn::passes {

namespace {

Dim zero(Dim of) { return of.context().constant(0); }
Dim one(Dim of) { return of.context().constant(1); }

// Products of fewer rows are summed in another order.
constexpr int64_t kFewestPlaces = 16;

Shape denseStrides(const Shape& dims) {
  Shape strides(dims.size(), dims[0].context().constant(1));
  for (size_t axis = dims.size() - 1; axis-- > 0;) strides[axis] = strides[axis + 1] * dims[axis + 1];
  return strides;
}

}  // namespace

RowLoop::RowLoop(IrContext& ir, const Function& function, const RowMembers& rows, RowLimits limits)
    : ir_(ir), function_(function), rows_(rows), limits_(limits) {
  for (size_t i = 0; i < function.ops.size(); ++i)
    for (ValueId v : function.ops[i]->operands) lastUse_[v] = i;
  for (ValueId v : function.results) lastUse_[v] = SIZE_MAX;
}

bool RowLoop::leaves(ValueId v) const {
  const auto last = lastUse_.find(v);
  return last != lastUse_.end() && last->second > region_->members.back().at;
}

ValueId RowLoop::emit(std::vector<const Op*>& to, const OpDef& def, std::vector<ValueId> operands,
                      Attributes attributes, Type type, ValueId into) {
  return appendOp(ir_, to, place_, def, std::move(operands), std::move(attributes), type, into);
}

// A symbol that has this value from here on.
Dim RowLoop::bound(std::vector<const Op*>& to, Dim value, const char* what, int64_t least) {
  const Dim symbol = ir_.dims().any(what);
  (void)ir_.facts().addRange(symbol, least, std::nullopt, {what, {}});
  const ValueId number =
      emit(to, ops::dim_valueOp, {}, {{"value", Shape{value}}}, ir_.tensorType(Shape{}, Dtype::i64));
  emit(to, ops::bind_dimsOp, {number}, {{"dims", Shape{symbol}}, {"elements", std::vector<int64_t>{0}}},
       Type());
  return symbol;
}

ValueId RowLoop::reshape(std::vector<const Op*>& to, ValueId v, Type type, ValueId into) {
  const Dim rank = ir_.dims().constant(type.rank());
  const ValueId sizes =
      emit(to, ops::dims_valueOp, {}, {{"value", type.dims()}}, ir_.tensorType(Shape{rank}, Dtype::i64));
  return emit(to, ops::reshapeOp, {v, sizes}, {{"allowzero", int64_t{1}}}, type, into);
}

// The rows of all images below each other.
Type RowLoop::flat(Type type, Dim rows) const {
  const Shape& dims = type.dims();
  return ir_.tensorType(Shape{rows, dims[2], dims[3]}, type.dtype());
}

void RowLoop::make(const RowRegion& region, std::vector<const Op*>& to, std::vector<const Op*>& sizes) {
  region_ = &region;
  const RowMember& last = region.members.back();
  place_ = function_.ops[region.members.front().at]->place;
  outputs_.clear();
  for (const RowMember& member : region.members)
    if (const ValueId v = function_.ops[member.at]->results[0].id; leaves(v)) outputs_.push_back(v);
  body_ = {};
  body_.name = ir_.uniqueFunctionName(function_.name + ".rows");
  body_.place = place_;
  parameters_.clear();
  outer_.clear();
  inside_.clear();
  views_.clear();
  of_.clear();
  read_.clear();
  sizes_ = &sizes;
  chooseSizes(sizes);
  std::vector<ValueId> initial;
  std::vector<Parameter> carried;
  for (ValueId v : outputs_) {
    const Type list = ir_.listType(flat(rows_.typeOf(v), ir_.dims().any("the rows of some slice")));
    initial.push_back(emit(to, ops::listOp, {}, {}, list));
    carried.push_back({ir_.newValue(), list});
  }
  const Dim iterations = whole_ + (one(whole_) - whole_) * slices_ * max(one(whole_), last.images);
  const ValueId count =
      emit(to, ops::dim_valueOp, {}, {{"value", Shape{iterations}}}, ir_.tensorType(Shape{}, Dtype::i64));
  // What an iteration needs at most is bound around the loop, the rest in its body.
  made_.most = each_;
  const ValueId iteration = ir_.newValue();
  parameters_.push_back({iteration, ir_.tensorType(Shape{}, Dtype::i64)});
  parameters_.insert(parameters_.end(), carried.begin(), carried.end());
  bindIteration(iteration);
  followRows();
  fillBody(carried);
  to.push_back(listLoop(ir_, place_, count, initial, outer_, carried, std::move(body_)));
  const std::vector<ValueDef>& lists = to.back()->results;
  for (size_t k = 0; k < outputs_.size(); ++k) {
    const Type type = rows_.typeOf(outputs_[k]);
    const ValueId joined = emit(to, ops::concat_from_sequenceOp, {lists[k].id}, {{"axis", int64_t{0}}},
                                flat(type, type.dims()[0] * type.dims()[1]));
    reshape(to, joined, type, outputs_[k]);
  }
}

// As many rows as fit, or some more; all of them where that is too few.
void RowLoop::chooseSizes(std::vector<const Op*>& to) {
  const RowMember& last = region_->members.back();
  const Dim rows = last.rows, least = one(rows);
  const auto number = [&](int64_t n) { return ir_.dims().constant(n); };
  const Dim image = max(least, region_->imageBytes);
  const auto within = [&](int64_t bytes) { return floorDiv(rows * number(bytes), image); };
  const Dim worth =
      max(max(least, within(limits_.slice)),
          min(within(limits_.slice * kMostOverCache), number(region_->leastRows * kBetterThanLeast)));
  const auto reached = [&](Dim size, int64_t bound) {
    return bound == 0 ? least : min(least, floorDiv(size, number(bound)));
  };
  const Dim sliced = bound(to,
                           reached(region_->imageBytes, limits_.image) * reached(worth, region_->leastRows) *
                               reached(region_->columns, kFewestPlaces),
                           "1: an image is worth slices of rows");
  const Dim most = max(least, sliced * worth + (least - sliced) * rows);
  each_ = bound(to, max(least, ceilDiv(rows, max(least, ceilDiv(rows, most)))),
                "how many rows a slice of an image has, but the last", 1);
  slices_ = bound(to, max(least, ceilDiv(rows, each_)), "how many slices of rows an image has", 1);
  whole_ =
      bound(to, max(zero(rows), ir_.dims().constant(2) - slices_), "1: a slice is all rows of all images");
  images_ = bound(to, whole_ * last.images + (one(whole_) - whole_) * min(least, last.images),
                  "how many images a slice of rows is of");
}

void RowLoop::bindIteration(ValueId iteration) {
  const Dim number = ir_.dims().any("the number of a slice of rows");
  (void)ir_.facts().addRange(number, 0, std::nullopt, {"slices are counted from 0", {}});
  emit(body_.ops, ops::bind_dimsOp, {iteration},
       {{"dims", Shape{number}}, {"elements", std::vector<int64_t>{0}}}, Type());
  image_ = bound(body_.ops, floorDiv(number, slices_), "the image of a slice of rows");
  const Dim rows = region_->members.back().rows;
  made_.first = bound(body_.ops, (number - image_ * slices_) * each_, "the first row of a slice");
  made_.count = bound(body_.ops, min(each_, max(zero(rows), rows - made_.first)), "the rows of a slice");
}

// What a window reads to make these rows, within the image; the whole image for all of its rows.
RowLoop::Rows RowLoop::rowsRead(const RowMember& member, const Rows& made) {
  const WindowAxis& w = *member.window;
  const int64_t reach = (*w.kernel.constant() - 1) * w.dilation + 1;
  const Dim all = whole_ * (w.input + w.padBegin), none = zero(all);
  Rows read;
  read.most = bound(*sizes_, min(w.input, max(none, (made.most - 1) * w.stride + reach) + all),
                    "the rows that a slice reads at most");
  const Dim first = made.first * w.stride - w.padBegin;
  read.first = bound(body_.ops, min(w.input, max(none, first)), "the first row that a slice reads");
  const Dim end = min(w.input, first + (made.count - 1) * w.stride + reach + all);
  read.count = bound(body_.ops, min(read.most, max(none, end - read.first)), "the rows that a slice reads");
  return read;
}

RowLoop::Rows RowLoop::both(const Rows& a, const Rows& b, Dim all) {
  if (a == b) return a;
  Rows rows;
  rows.most = bound(*sizes_, min(all, a.most + b.most), "the rows of a slice at most");
  rows.first = bound(body_.ops, min(a.first, b.first), "the first row of a slice");
  const Dim end = max(a.first + a.count, b.first + b.count);
  rows.count = bound(body_.ops, min(rows.most, end - rows.first), "the rows of a slice");
  return rows;
}

// From the last member to the first: which rows there must be of each value.
void RowLoop::followRows() {
  const std::vector<RowMember>& members = region_->members;
  for (size_t k = members.size(); k-- > 0;) {
    const RowMember& member = members[k];
    const Op& op = *function_.ops[member.at];
    const ValueId result = op.results[0].id;
    const auto need = [&](ValueId v, const Rows& rows) {
      const auto [there, isNew] = of_.try_emplace(v, rows);
      if (!isNew) there->second = both(there->second, rows, rows_.typeOf(v).dims()[1]);
    };
    if (leaves(result)) need(result, made_);
    const Rows own = of_.at(result);
    if (member.window) read_[result] = rowsRead(member, own);
    for (size_t i = 0; i < op.operands.size(); ++i)
      if (member.operands[i] >= RowKind::read) need(op.operands[i], rowsFor(member, member.operands[i]));
  }
}

const RowLoop::Rows& RowLoop::rowsFor(const RowMember& member, RowKind kind) const {
  const ValueId result = function_.ops[member.at]->results[0].id;
  return kind == RowKind::read ? read_.at(result) : of_.at(result);
}

Type RowLoop::ofSlice(Type type, RowKind kind, const RowMember& member) const {
  if (kind == RowKind::whole) return type;
  Shape dims = type.dims();
  dims[0] = images_;
  if (kind != RowKind::image) dims[1] = rowsFor(member, kind).count;
  return ir_.tensorType(std::move(dims), type.dtype());
}

const Op* RowLoop::ofSlice(const Op& op, const RowMember& member) {
  Op copy = op;
  for (ValueDef& r : copy.results) r.type = ofSlice(r.type, member.inside.at(r.id), member);
  if (member.windowAt == op.results[0].id) {
    const Rows &made = rowsFor(member, RowKind::made), &read = rowsFor(member, RowKind::read);
    const WindowAxis& w = *member.window;
    copy.attributes.set("slice", Shape{w.padBegin + read.first - made.first * w.stride, made.count});
  }
  return ir_.own(std::move(copy));
}

const Function* RowLoop::ofSlice(const Function& kernel, const RowMember& member) {
  Function changed = kernel;
  const auto kindOf = [&](ValueId v) {
    const auto kind = member.inside.find(v);
    return kind == member.inside.end() ? RowKind::whole : kind->second;
  };
  for (Parameter& p : changed.parameters) p.type = ofSlice(p.type, kindOf(p.id), member);
  for (size_t i = 0; i < changed.results.size(); ++i)
    changed.resultTypes[i] = ofSlice(changed.resultTypes[i], kindOf(changed.results[i]), member);
  for (const Op*& op : changed.ops) op = ofSlice(*op, member);
  return ir_.own(std::move(changed));
}

void RowLoop::fillBody(const std::vector<Parameter>& carried) {
  for (const RowMember& member : region_->members) take(member);
  const Type boolean = ir_.tensorType(Shape{}, Dtype::boolean);
  std::vector<ValueId> results;
  for (size_t k = 0; k < outputs_.size(); ++k) {
    const ValueId rows = rowsOf(outputs_[k], made_);
    const ValueId item = reshape(body_.ops, rows, flat(rows_.typeOf(outputs_[k]), images_ * made_.count));
    results.push_back(emit(body_.ops, ops::list_appendOp, {carried[k].id, item}, {}, carried[k].type));
  }
  body_.results = {
      emit(body_.ops, ops::constantOp, {}, {{"value", HostTensor::scalarInt(Dtype::boolean, 1)}}, boolean)};
  body_.results.insert(body_.results.end(), results.begin(), results.end());
  body_.resultTypes = {boolean};
  for (const Parameter& p : carried) body_.resultTypes.push_back(p.type);
  body_.parameters = std::move(parameters_);
}

void RowLoop::take(const RowMember& member) {
  const Op& op = *function_.ops[member.at];
  Op copy = op;
  if (op.regions.empty()) {
    copy = *ofSlice(op, member);
  } else {
    copy.regions = {ofSlice(*op.regions[0], member)};
    copy.results[0].type = ofSlice(op.results[0].type, RowKind::made, member);
  }
  for (size_t i = 0; i < copy.operands.size(); ++i)
    if (copy.operands[i] != kNoValue) copy.operands[i] = operandOf(member, i);
  const ValueId result = op.results[0].id;
  copy.results[0].id = leaves(result) ? ir_.newValue(ir_.valueName(result)) : result;
  inside_[result] = copy.results[0].id;
  body_.ops.push_back(ir_.own(std::move(copy)));
}

ValueId RowLoop::operandOf(const RowMember& member, size_t i) {
  const ValueId v = function_.ops[member.at]->operands[i];
  switch (member.operands[i]) {
    case RowKind::whole:
      return captured(v);
    case RowKind::image:
      return imagesOf(v);
    case RowKind::read:
    case RowKind::made:
      return rowsOf(v, rowsFor(member, member.operands[i]));
  }
  return kNoValue;
}

ValueId RowLoop::captured(ValueId v) {
  const auto [there, isNew] = inside_.try_emplace(v, kNoValue);
  if (!isNew) return there->second;
  const Parameter parameter{ir_.newValue(), rows_.typeOf(v)};
  parameters_.push_back(parameter);
  outer_.push_back(v);
  return there->second = parameter.id;
}

// Rows of the iteration's images: of a value of the body, or of one around it.
ValueId RowLoop::rowsOf(ValueId v, const Rows& wanted) {
  const auto made = inside_.find(v);
  const bool isMade = made != inside_.end() && !std::count(outer_.begin(), outer_.end(), v);
  if (isMade && of_.at(v) == wanted) return made->second;
  const auto [view, isNew] = views_.try_emplace({v, wanted.first.id()}, kNoValue);
  if (!isNew) return view->second;
  const Type type = rows_.typeOf(v);
  Shape dims = type.dims();
  const Dim row = dims[2] * dims[3];
  const Dim first = isMade ? wanted.first - of_.at(v).first : image_ * dims[1] + wanted.first;
  dims[0] = images_;
  dims[1] = wanted.count;
  const ValueId base = isMade ? made->second : captured(v);
  return view->second = emit(body_.ops, ops::stridedOp, {base},
                             {{"offset", Shape{first * row}}, {"strides", denseStrides(dims)}},
                             ir_.tensorType(dims, type.dtype()));
}

ValueId RowLoop::imagesOf(ValueId v) {
  const auto [view, isNew] = views_.try_emplace({v, UINT32_MAX}, kNoValue);
  if (!isNew) return view->second;
  const Type type = rows_.typeOf(v);
  Shape dims = type.dims();
  const Shape strides = denseStrides(dims);
  dims[0] = images_;
  return view->second = emit(body_.ops, ops::stridedOp, {captured(v)},
                             {{"offset", Shape{image_ * strides[0]}}, {"strides", strides}},
                             ir_.tensorType(dims, type.dtype()));
}

}  // namespace dyn::passes
