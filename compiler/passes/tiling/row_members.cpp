#include "compiler/passes/tiling/row_members.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/layout_rules.h"
#include "compiler/passes/analysis/row_loads.h"

namespace dyn::passes {

namespace {

constexpr size_t kRowAxis = 1;

bool isImages(Type type) {
  return type && type.isTensor() && type.rank() == RowMembers::kRank && !type.dims()[kRowAxis].isConstant(1);
}

bool isPoolMember(const Op& op) { return op.def == &ops::max_poolOp || op.def == &ops::average_poolOp; }
bool isConvolutionMember(const Op& op) { return op.def == &ops::conv_packedOp; }
bool isWindow(const Op& op) { return isConvolutionMember(op) || isPoolMember(op); }

// As far apart as they lie side by side.
bool isDense(const Op& view) {
  const Shape strides = view.attributes.dims("strides"), dims = view.results[0].type.dims();
  Dim one = dims.empty() ? Dim() : dims[0].context().constant(1);
  for (size_t axis = dims.size(); axis-- > 0; one = one * dims[axis])
    if (strides[axis] != one) return false;
  return true;
}

// Winograd's transforms take rows in pairs and fours: other rows would be summed in another order.
bool takesAnyRows(const Op& op) {
  if (!readsChannelsLast(op) || op.results.size() != 1 || op.attributes.has("slice")) return false;
  const std::string way = op.attributes.string("way");
  return isPoolMember(op) || way == "rows" || way == "direct";
}

}  // namespace

// A group, or an operation by itself, as it is being read.
struct RowMembers::Asked {
  RowMember& member;
  const Op* window = nullptr;
  std::unordered_set<ValueId> before;  // values that the window is computed from
  Dim images, read, made;              // rows before and behind it
};

void RowMembers::note(const Function& function) {
  for (const Parameter& p : function.parameters) types_[p.id] = p.type;
}

void RowMembers::note(const Op& op) {
  for (const ValueDef& r : op.results) types_[r.id] = r.type;
  if (op.def == &ops::stridedOp) views_[op.results[0].id] = &op;
}

// The window's axis along rows, and what it is computed from.
bool RowMembers::findWindow(const std::vector<const Op*>& ops, Asked& asked) const {
  for (const Op* op : ops) {
    if (!isWindow(*op)) continue;
    if (asked.window || !takesAnyRows(*op) || !isImages(types_.at(op->operands[0]))) return false;
    asked.window = op;
  }
  if (!asked.window) return true;
  const Op& op = *asked.window;
  const Result<Window> window = windowOf(op, 2);
  if (!window.ok() || !window->padding.empty() || (op.def == &ops::average_poolOp && window->isSame()))
    return false;
  const Shape x = asPlanes<Dim>(op, types_.at(op.operands[0]).dims());
  Shape kernel;
  if (isPoolMember(op)) {
    const Result<std::vector<int64_t>> sizes = kernelShape(op, 2);
    if (!sizes.ok()) return false;
    for (int64_t size : *sizes) kernel.push_back(x[0].context().constant(size));
  } else {
    const Shape weights = op.attributes.dims("weights");
    kernel.assign(weights.begin() + 2, weights.end());
  }
  const WindowAxis rows = windowAxes(*window, x, kernel)[0];
  if (!rows.kernel.isConstant() || *rows.kernel.constant() < 1) return false;
  asked.member.window = rows;
  asked.member.windowAt = op.results[0].id;
  asked.read = rows.input;
  std::unordered_map<ValueId, const Op*> makers;
  for (const Op* other : ops)
    for (const ValueDef& r : other->results) makers[r.id] = other;
  std::vector<ValueId> pending{op.operands[0]};
  while (!pending.empty()) {
    const ValueId v = pending.back();
    pending.pop_back();
    if (v == kNoValue || !asked.before.insert(v).second) continue;
    if (const auto maker = makers.find(v); maker != makers.end())
      pending.insert(pending.end(), maker->second->operands.begin(), maker->second->operands.end());
  }
  return true;
}

RowKind RowMembers::kindOf(ValueId v, const Asked& asked, bool beforeWindow) const {
  const Type type = types_.at(v);
  if (!type.isTensor() || type.rank() != kRank || type.dims()[0] != asked.images) return RowKind::whole;
  if (type.dims()[kRowAxis].isConstant(1))
    return asked.images.isConstant(1) ? RowKind::whole : RowKind::image;
  if (type.dims()[kRowAxis] != (beforeWindow ? asked.read : asked.made)) return RowKind::whole;
  return beforeWindow ? RowKind::read : RowKind::made;
}

// Packed weights have no definition in loops: each place is a product of its own.
bool RowMembers::readsOwnRows(const Op& op, const Asked& asked) const {
  const std::vector<RowKind> kinds = [&] {
    std::vector<RowKind> found;
    for (ValueId v : op.operands) found.push_back(v == kNoValue ? RowKind::whole : asked.member.inside.at(v));
    return found;
  }();
  const auto whole = [](RowKind kind) { return kind == RowKind::whole; };
  if (&op == asked.window || op.def == &ops::gemm_packedOp)
    return kinds[0] == (&op == asked.window ? RowKind::read : asked.member.inside.at(op.results[0].id)) &&
           std::all_of(kinds.begin() + 1, kinds.end(), whole);
  if (!op.def->lower || op.def->traits.view || op.def->traits.readsShape) return false;
  for (const auto& [name, value] : op.attributes.all())
    if (const Shape* dims = std::get_if<Shape>(&value);
        dims && std::any_of(dims->begin(), dims->end(), [](Dim d) { return !d.isConstant(); }))
      return false;
  std::vector<Type> types;
  for (ValueId v : op.operands) types.push_back(v == kNoValue ? Type() : types_.at(v));
  const bool before = asked.before.count(op.results[0].id) != 0;
  const RowAxis axis{static_cast<int>(kRowAxis), before ? asked.read : asked.made};
  const RowQuestion question{inferred_, std::nullopt,
                             [&](ValueId v) -> std::optional<RowAxis> {
                               const RowKind kind = asked.member.inside.at(v);
                               if (kind != RowKind::read && kind != RowKind::made) return std::nullopt;
                               return axis;
                             },
                             [](ValueId) { return false; }, true};
  return whyRowsMix(op, 0, axis, types, question).empty();
}

bool RowMembers::readOp(const Op& op, Asked& asked) const {
  if (op.def->hasEffects || !op.regions.empty() || op.results.size() != 1) return false;
  const ValueId result = op.results[0].id;
  const bool before = asked.before.count(result) != 0;
  const RowKind made = kindOf(result, asked, before);
  asked.member.inside[result] = made;
  bool rows = false;
  for (ValueId v : op.operands) {
    if (v == kNoValue) continue;
    const bool beforeWindow = asked.before.count(v) != 0;
    const RowKind kind = asked.member.inside.try_emplace(v, kindOf(v, asked, beforeWindow)).first->second;
    const bool hasRows = kind == RowKind::read || kind == RowKind::made;
    rows = rows || hasRows;
    if (hasRows && &op != asked.window && kind != made) return false;
  }
  // What has no rows is the same for all slices.
  if (made == RowKind::whole || made == RowKind::image) return !rows && made == RowKind::whole;
  return rows && readsOwnRows(op, asked);
}

bool RowMembers::readBody(const std::vector<const Op*>& ops, Asked& asked) {
  if (!findWindow(ops, asked)) return false;
  if (!asked.window) asked.read = asked.made;
  for (const Op* op : ops) {
    if (!readOp(*op, asked)) return false;
    if (op->def == &ops::gemm_packedOp) {
      const Dim depth = types_.at(op->operands[0]).dims()[kRank - 1];
      asked.member.products += static_cast<double>(depth.constant().value_or(1));
    } else if (isWindow(*op)) {
      const Shape w = isConvolutionMember(*op) ? op->attributes.dims("weights") : Shape();
      double products = 1;
      for (size_t axis = 1; axis < w.size(); ++axis)
        products *= static_cast<double>(w[axis].constant().value_or(1));
      // Of one channel each, or of a pool, they are limited by what is read.
      constexpr double kSlow = 4;
      asked.member.products += w.size() > 1 && w[1].isConstant(1) ? kSlow * products : products;
    } else {
      constexpr double kElementwise = 3;
      asked.member.products += kElementwise;
    }
  }
  return true;
}

std::optional<RowMember> RowMembers::memberOf(size_t at, const Op& op) {
  RowMember member;
  member.at = at;
  if (op.results.size() != 1 || !isImages(op.results[0].type)) return {};
  member.images = op.results[0].type.dims()[0];
  member.rows = op.results[0].type.dims()[kRowAxis];
  Asked asked{member, nullptr, {}, member.images, {}, member.rows};
  std::vector<ValueId> operands = op.operands;
  for (ValueId v : operands) {
    if (v == kNoValue) continue;
    if (!types_.count(v)) return {};
    if (const auto view = views_.find(v); view != views_.end() && !isDense(*view->second)) return {};
  }
  if (op.def == &ops::fusedOp) {
    const Function& body = *op.regions[0];
    if (op.attributes.has("device") || body.results.size() != 1) return {};
    note(body);
    for (const Op* inner : body.ops) note(*inner);
    if (!readBody(body.ops, asked) || body.ops.empty()) return {};
    const auto result = member.inside.find(body.results[0]);
    if (result == member.inside.end() || result->second != RowKind::made) return {};
    for (size_t i = 0; i < operands.size(); ++i) operands[i] = body.parameters[i].id;
  } else if (!readBody({&op}, asked)) {
    return {};
  }
  for (ValueId v : operands) {
    const auto kind = member.inside.find(v);
    member.operands.push_back(kind == member.inside.end() ? RowKind::whole : kind->second);
  }
  return member;
}

}  // namespace dyn::passes
