// Views that are read where they lie.
//   requires: types.  provides: nothing that others rely on.
//   before  %t = transpose(%x) {perm = [1, 0]}  %p = slice(%t, ...)  %y = matmul(%p, %b)
//   after   %p = strided(%x) {offset = dims(...), strides = dims(1, m)}  %y = matmul(%p, %b)
// An operand of an operator whose builtin takes strides (BuiltinUse::strided) that is made by a chain
// of views (OpDef::viewRule) is read in the memory the chain began with: no kernel moves it. Other readers
// keep the chain: loops compose it into their kernels (fuse). Where somebody needs the elements side by side
// anyway (a result, a loop's or a list's value, a builtin that refuses strides), all read that copy. Parts
// of a split that are still read beside become slices, which loops compose one by one.
// Cost: one sweep per function; IR size does not grow.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/walk.h"
#include "compiler/ops/kernel_kind.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/analysis/view_places.h"

namespace dyn::passes {

namespace {

class Viewer {
 public:
  Viewer(const Function& function, IrContext& ir, PathFacts& facts, PassContext& context)
      : function_(function), ir_(ir), places_(ir, facts), body_(facts.bodyOf(function)), context_(context) {}

  Result<const Function*> run() {
    DYN_CHECK(findUses());
    findViews();
    std::vector<const Op*> ops;
    for (size_t i = 0; i < function_.ops.size(); ++i) {
      Op changed = *function_.ops[i];
      bool any = false;
      for (size_t k = 0; k < changed.operands.size(); ++k) {
        auto view = takes_[i] > k ? views_.find(changed.operands[k]) : views_.end();
        // A vector is shown to the builtin as a matrix: it is dense (findUses).
        if (view == views_.end()) continue;
        changed.operands[k] = seen(view->first, view->second, changed.place, ops);
        any = true;
      }
      ops.push_back(any ? ir_.own(std::move(changed)) : function_.ops[i]);
    }
    if (count_ == 0) return &function_;
    cutSplits(ops);
    dropUnused(ops);
    Function result = function_;
    result.ops = std::move(ops);
    return ir_.own(std::move(result));
  }

  int64_t count() const { return count_; }

 private:
  std::vector<Type> operandTypes(const Op& op) const {
    std::vector<Type> types;
    for (ValueId v : op.operands) types.push_back(v == kNoValue ? Type() : types_.at(v));
    return types;
  }

  // Which operands are read where they lie, and which values need elements side by side.
  Status findUses() {
    for (const Parameter& p : function_.parameters) {
      types_[p.id] = p.type;
      for (SymbolId s : symbolsOf(p.type)) given_.insert(s);
    }
    for (const Op* op : function_.ops)
      for (const ValueDef& r : op->results) types_[r.id] = r.type;
    dense_.insert(function_.results.begin(), function_.results.end());
    takes_.assign(function_.ops.size(), 0);
    for (size_t i = function_.ops.size(); i-- > 0;) {
      const Op& op = *function_.ops[i];
      DYN_TRY(const std::optional<KernelKind> kind, chooseLowering(op, operandTypes(op), context_.target));
      if (kind == KernelKind::builtin && op.def->builtinOf(op) == op.def->builtin.row)
        takes_[i] = op.def->builtin.strided(op);
      for (size_t k = 0; k < takes_[i]; ++k)
        if (op.operands[k] != kNoValue && types_.at(op.operands[k]).rank() < 2) dense_.insert(op.operands[k]);
      if (kind == KernelKind::loop || op.def->traits.readsShape) continue;
      // What is the operand's memory under another shape needs what its readers need.
      const bool same = op.def->viewRule && op.def->traits.view && dense_.count(op.results[0].id) == 0;
      for (size_t k = same ? 1 : takes_[i]; k < op.operands.size(); ++k)
        if (op.operands[k] != kNoValue) dense_.insert(op.operands[k]);
    }
    return {};
  }

  void findViews() {
    for (size_t i = 0; i < function_.ops.size(); ++i) {
      const Op& op = *function_.ops[i];
      places_.note(op);
      if (!op.def->viewRule || op.operands.empty() || op.operands[0] == kNoValue) continue;
      if (op.results.size() > kMostParts) continue;
      const Type from = types_.at(op.operands[0]);
      if (!from.isTensor() || from.dtype() == Dtype::string) continue;
      // Parts of a split are written by one kernel: all of them, or none.
      if (std::any_of(op.results.begin(), op.results.end(),
                      [&](const ValueDef& r) { return dense_.count(r.id) != 0; }))
        continue;
      auto known = views_.find(op.operands[0]);
      if (known == views_.end() && op.def->traits.view) continue;  // dense, as its operand is
      const View of =
          known != views_.end() ? known->second : View{op.operands[0], densePlace(ir_.dims(), from.dims())};
      const std::vector<Type> types = operandTypes(op);
      for (size_t r = 0; r < op.results.size(); ++r)
        if (std::optional<StridedPlace> place =
                places_.placeOf(op, types, static_cast<int>(r), of.place, {body_, i});
            place && sizesAreThere(op.results[r].type, *place, types_.at(of.base), given_))
          views_[op.results[r].id] = {of.base, std::move(*place)};
    }
  }

  // The strided view that stands for `value`, made before its first reader.
  ValueId seen(ValueId value, const View& view, const SourceLocation& place, std::vector<const Op*>& ops) {
    auto [made, fresh] = made_.try_emplace(value, kNoValue);
    if (!fresh) return made->second;
    made->second = ir_.newValue(ir_.valueName(value));
    Op op;
    op.def = &ops::stridedOp;
    op.operands = {view.base};
    op.results = {{made->second, types_.at(value)}};
    op.attributes = {{"offset", Shape{view.place.offset}}, {"strides", view.place.strides}};
    op.place = place;
    ops.push_back(ir_.own(std::move(op)));
    ++count_;
    return made->second;
  }

  // A split of which some parts are read where they lie: the others become slices.
  void cutSplits(std::vector<const Op*>& ops) {
    const Users users = dropUnused(ops);
    std::vector<const Op*> cut;
    for (const Op* op : ops) {
      const bool some = op->def == &ops::splitOp &&
                        std::any_of(op->results.begin(), op->results.end(), [&](const ValueDef& r) {
                          return users.count(r.id) == 0 && views_.count(r.id) != 0;
                        });
      if (!some) {
        cut.push_back(op);
        continue;
      }
      int64_t axis = op->attributes.integer("axis");
      if (axis < 0) axis += types_.at(op->operands[0]).rank();
      Dim begin = ir_.dims().constant(0);
      for (const ValueDef& part : op->results) {
        const Dim end = begin + part.type.dims()[static_cast<size_t>(axis)];
        if (const auto user = users.find(part.id); user != users.end())
          if (!cutBehindReshape(*op, part, axis, begin, user->second, cut))
            cut.push_back(sliceOf({op->operands[0], part, axis, begin, end, op->place}, cut));
        begin = end;
      }
    }
    std::erase_if(cut, [&](const Op* op) { return moved_.count(op) != 0; });
    ops = std::move(cut);
  }

  // reshape(slice(x)) that only cuts the sliced axis is slice(reshape(x)): loops compose a slice, not what
  // the host program does. False: the part is read otherwise.
  bool cutBehindReshape(const Op& split, const ValueDef& part, int64_t axis, Dim begin, const Op* reader,
                        std::vector<const Op*>& to) {
    if (!reader || reader->def != &ops::reshapeOp) return false;
    Shape whole = types_.at(split.operands[0]).dims();
    const Shape &from = part.type.dims(), &dims = reader->results[0].type.dims();
    const auto at = static_cast<size_t>(axis);
    const size_t behind = from.size() - at - 1;
    if (dims.size() < from.size() || !std::equal(from.begin(), from.begin() + axis, dims.begin()) ||
        !std::equal(from.rbegin(), from.rbegin() + static_cast<std::ptrdiff_t>(behind), dims.rbegin()))
      return false;
    Dim inner = ir_.dims().constant(1);
    for (size_t k = at + 1; k + behind < dims.size(); ++k) inner = inner * dims[k];
    const std::optional<int64_t> step = inner.constant(), first = begin.constant(),
                                 all = whole[at].constant(), count = dims[at].constant();
    if (!step || *step < 1 || !first || !all || !count || *first % *step != 0 || *all % *step != 0)
      return false;
    Shape cut = dims;
    cut[at] = ir_.dims().constant(*all / *step);
    Op reshape = *reader;
    reshape.operands = {split.operands[0], dimsValue(cut, split.place, to)};
    reshape.results = {{ir_.newValue(), ir_.tensorType(cut, part.type.dtype())}};
    to.push_back(ir_.own(std::move(reshape)));
    const ValueId reshaped = to.back()->results[0].id;
    const Dim low = ir_.dims().constant(*first / *step);
    to.push_back(sliceOf({reshaped, reader->results[0], axis, low, low + *count, split.place}, to));
    moved_.insert(reader);
    return true;
  }

  ValueId dimsValue(const Shape& dims, const SourceLocation& place, std::vector<const Op*>& ops) {
    Op op;
    op.def = &ops::dims_valueOp;
    const Dim count = ir_.dims().constant(static_cast<int64_t>(dims.size()));
    op.results = {{ir_.newValue(), ir_.tensorType(Shape{count}, Dtype::i64)}};
    op.attributes = {{"value", dims}};
    op.place = place;
    ops.push_back(ir_.own(std::move(op)));
    return ops.back()->results[0].id;
  }

  // A part of `of` along an axis, as `result`.
  struct Part {
    ValueId of;
    ValueDef result;
    int64_t axis;
    Dim begin, end;
    SourceLocation place;
  };
  const Op* sliceOf(const Part& part, std::vector<const Op*>& ops) {
    const auto vector = [&](Dim d) { return dimsValue({d}, part.place, ops); };
    Op slice;
    slice.def = &ops::sliceOp;
    slice.operands = {part.of, vector(part.begin), vector(part.end), vector(ir_.dims().constant(part.axis))};
    slice.results = {part.result};
    slice.place = part.place;
    return ir_.own(std::move(slice));
  }

  // The values that are read, each with its one reader; null: several, or it is a result.
  using Users = std::unordered_map<ValueId, const Op*>;

  // Chains that nothing reads any more go; who reads what is left.
  Users dropUnused(std::vector<const Op*>& ops) const {
    Users users;
    for (ValueId result : function_.results) users[result] = nullptr;
    std::vector<const Op*> kept;
    for (size_t i = ops.size(); i-- > 0;) {
      const Op& op = *ops[i];
      const bool gone =
          op.def->viewRule && std::all_of(op.results.begin(), op.results.end(), [&](const ValueDef& r) {
            return users.count(r.id) == 0 && views_.count(r.id) != 0;
          });
      if (gone) continue;
      for (ValueId v : op.operands)
        if (const auto [user, fresh] = users.try_emplace(v, &op); !fresh && user->second != &op)
          user->second = nullptr;
      kept.push_back(&op);
    }
    std::reverse(kept.begin(), kept.end());
    ops = std::move(kept);
    return users;
  }

  // A part of a split lies behind the sum of those before it: one of very many parts is not looked for.
  static constexpr size_t kMostParts = 64;

  const Function& function_;
  IrContext& ir_;
  ViewPlaces places_;
  size_t body_;
  PassContext& context_;
  std::unordered_map<ValueId, Type> types_;
  std::unordered_set<SymbolId> given_;  // by the shapes of the parameters
  std::unordered_set<ValueId> dense_;   // that need elements side by side
  std::vector<size_t> takes_;           // how many first operands of each operation may be strided
  std::unordered_map<ValueId, View> views_;
  std::unordered_map<ValueId, ValueId> made_;
  std::unordered_set<const Op*> moved_;  // reshapes that stand before their slice now
  int64_t count_ = 0;
};

Result<Module> runViews(const Module& module, PassContext& context) {
  PathFacts facts(module);
  int64_t count = 0;
  auto sweep = [&](const Function& function) -> Result<const Function*> {
    Viewer viewer(function, *module.context, facts, context);
    DYN_TRY(const Function* result, viewer.run());
    count += viewer.count();
    return result;
  };
  DYN_TRY(Module result, rewriteFunctions(module, sweep));
  context.counters["strided_views"] = count;
  return result;
}

}  // namespace

PassDef viewsPass() {
  return {.name = "views",
          .summary =
              "transposed, cut and repeated operands are read where they lie, by operators that take strides",
          .requiredProperties = Property::types,
          .forbiddenProperties = Property::groups,
          .options = {},
          .run = runViews};
}

}  // namespace dyn::passes
