// Fusion without known sizes.
//   requires: types.  provides: operations that can run as one kernel are groups (`fused`).
//   before  %m = reduce_max(%x, axes [-1])  %d = sub(%x, %m)  %e = exp(%d)  %s = reduce_sum(%e, axes [-1])  %y = div(%e, %s)
//   after   %y = fused(%x) {kind = "loop"} body (...) { ...all five... }
// A producer joins the group of its consumers when every use of it lies in that one group, or when the other
// uses come later and its dims are provably those of the group (then it becomes one more result of the
// kernel). Whether dims agree is asked of the dim solver, never guessed: what cannot be proved is not fused,
// and a remark says which dims were in the way.
//   loop         elementwise, views, gathers and concatenations composed by index; reductions whose result is broadcast over the innermost axes
//                only (softmax, layernorm: the row's reductions stay in the row's loop). A view whose rows lie across memory (transpose) stays out of a
//                kernel that reads them more than once, unless it is small: each read would be of another line, so it is made first, by tiles
//   contraction  one matmul or convolution and the elementwise operations of its own shape that follow it (the epilogue); of bytes, up to where
//                their sums are bytes again; of f16 and bf16, where they are f32 again at the end. On a device these are loops, of any real elements
// A producer whose elements the group needs at several indices (concat of a value with itself, pads that
// mirror) is computed at each of them, so that chains of such would double with every operation: what the
// group repeats, and how long its indices become, is bounded (element_reads.h). Beyond it a value is made.
// Cost: one backward sweep per function; IR size falls.
#include <algorithm>
#include <span>

#include "compiler/ir/walk.h"
#include "compiler/ops/contraction/contraction.h"
#include "compiler/ops/kernel_kind.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/analysis/element_reads.h"
#include "compiler/passes/analysis/liveness.h"
#include "compiler/passes/analysis/path_facts.h"
#include "compiler/passes/analysis/view_places.h"
#include "compiler/passes/quantisation/clone_dequantize.h"

namespace dyn::passes {

namespace {

constexpr size_t kNoGroup = SIZE_MAX;

struct Group {
  size_t root = 0;              // index of the last operation: the group stands there
  std::vector<size_t> members;  // indexes, ascending when emitted
  bool contraction = false;
  size_t operandCount = 0;
  bool severalResults = false;  // an inner value is wanted outside too
  const Op* byteProduct =
      nullptr;              // whose bytes an inner value is; of another one they are made by themselves
  GroupPlaces places = {};  // at which its values are needed: how large the kernel is
  bool measured = false;    // else they are not known yet
};

// What a loop nest may hold together with others.
bool fitsLoops(const Op& op) {
  if (op.def->hasEffects || !op.regions.empty()) return false;
  for (const ValueDef& r : op.results)
    if (!r.type.isTensor() || r.type.dtype() == Dtype::string) return false;
  return true;
}

// Where the values of a function come from and go to: lists that are searched, which take a tenth of what
// tables of nodes do.
class ValueUses {
 public:
  struct Known {
    ValueId id;
    Type type;
    const Op* madeBy;  // null: a parameter
  };
  struct Use {
    ValueId id;
    uint32_t user;  // which operation of the function
  };

  explicit ValueUses(const Function& function) {
    for (const Parameter& p : function.parameters) known_.push_back({p.id, p.type, nullptr});
    for (size_t i = 0; i < function.ops.size(); ++i) {
      for (const ValueDef& r : function.ops[i]->results) known_.push_back({r.id, r.type, function.ops[i]});
      for (ValueId v : function.ops[i]->operands)
        if (v != kNoValue) uses_.push_back({v, static_cast<uint32_t>(i)});
    }
    const auto byId = [](const auto& a, const auto& b) { return a.id < b.id; };
    std::stable_sort(known_.begin(), known_.end(), byId);
    std::stable_sort(uses_.begin(), uses_.end(), byId);
  }

  const Known& of(ValueId id) const {
    return *std::lower_bound(known_.begin(), known_.end(), id,
                             [](const Known& known, ValueId wanted) { return known.id < wanted; });
  }
  // In the order of the operations; one that reads it twice is there twice.
  std::span<const Use> usesOf(ValueId id) const {
    const auto first = std::lower_bound(uses_.begin(), uses_.end(), id,
                                        [](const Use& use, ValueId wanted) { return use.id < wanted; });
    auto last = first;
    while (last != uses_.end() && last->id == id) ++last;
    return {first, last};
  }

 private:
  std::vector<Known> known_;
  std::vector<Use> uses_;
};

class Fuser {
 public:
  Fuser(const Function& function, IrContext& ir, PathFacts& facts, PassContext& context, int64_t maxOps)
      : function_(function),
        ir_(ir),
        facts_(facts),
        body_(facts.bodyOf(function)),
        context_(context),
        maxOps_(static_cast<size_t>(maxOps)),
        values_(function),
        elements_(ir),
        returned_(function.results.begin(), function.results.end()) {}

  Result<const Function*> run() {
    groupOf_.assign(function_.ops.size(), kNoGroup);
    for (size_t i = function_.ops.size(); i-- > 0;) {
      const Op& op = *function_.ops[i];
      DYN_TRY(const std::optional<KernelKind> kind, chooseLowering(op, operandTypes(op), context_.target));
      const bool loop = kind == KernelKind::loop && fitsLoops(op);
      if (!loop && !isContraction(op)) continue;
      const size_t group = joinable(i);
      if (group != kNoGroup) {
        groups_[group].members.push_back(i);
        if (isContraction(op)) groups_[group].contraction = true;
        groupOf_[i] = group;
      } else if (loop) {
        groups_.push_back({i, {i}, false, 0, false, nullptr});
        groupOf_[i] = groups_.size() - 1;
      }
    }
    return emit();
  }

  int64_t fusedOps() const { return fusedOps_; }

 private:
  std::vector<Type> operandTypes(const Op& op) const {
    std::vector<Type> types;
    for (ValueId v : op.operands) types.push_back(v == kNoValue ? Type() : values_.of(v).type);
    return types;
  }
  std::vector<OperandRead> readsOf(const Op& op) {
    std::vector<const Op*> makers;
    for (ValueId v : op.operands) makers.push_back(v == kNoValue ? nullptr : values_.of(v).madeBy);
    return elements_.readsOf(op, operandTypes(op), makers);
  }
  bool isContraction(const Op& op) const {
    if (isGenerated(op)) return true;
    return context_.target.prefersBuiltins() && op.def->traits.epilogue &&
           takesEpilogue(op, operandTypes(op));
  }
  // A product of a device, which is loops like all that follows it.
  bool isGenerated(const Op& op) const {
    return !context_.target.isHostOnly() && op.def->traits.epilogue && op.def->lower &&
           isReal(op.results[0].type.dtype());
  }

  Type rootType(const Group& group) const { return function_.ops[group.root]->results[0].type; }

  // Where the group stands, which is behind all checks that its members passed.
  PathFacts::Place placeOf(const Group& group) const { return {body_, group.root}; }
  bool sameShape(Type a, Type b, const Group& group) const {
    return facts_.equalShapes(a.dims(), b.dims(), placeOf(group));
  }

  // The group operation i can join: the one all its consumers are in, if every edge is legal.
  size_t joinable(size_t i) {
    const Op& op = *function_.ops[i];
    if (op.results.size() != 1) return kNoGroup;
    const ValueDef& result = op.results[0];
    size_t group = kNoGroup;
    bool outside = returned_.count(result.id) != 0;
    const std::span<const ValueUses::Use> uses = values_.usesOf(result.id);
    if (uses.empty()) return kNoGroup;
    for (const auto& [id, user] : uses)
      if (groupOf_[user] != kNoGroup &&
          (group == kNoGroup || groups_[groupOf_[user]].root < groups_[group].root))
        group = groupOf_[user];
    if (group == kNoGroup || groups_[group].members.size() >= maxOps_) return kNoGroup;
    const Group& target = groups_[group];
    const Op* ended = byteProductEndedBy(op);
    if (ended && ((target.byteProduct && target.byteProduct != ended) || !isElementwise(target) ||
                  !sameShape(result.type, rootType(target), target)))
      return kNoGroup;
    for (const auto& [id, user] : uses) {
      if (groupOf_[user] == group) continue;
      if (user <= target.root)
        return kNoGroup;  // a use before the group's place: it would see the value too late
      outside = true;
    }
    // A value also wanted outside becomes one more result: it must have the group's own iteration space.
    if (outside &&
        (isContraction(op) || target.contraction || !sameShape(result.type, rootType(target), target)))
      return kNoGroup;
    if (outside && function_.ops[target.root]->def->cls == OpClass::reduction) return kNoGroup;
    for (const auto& [id, user] : uses)
      if (groupOf_[user] == group && !legalEdge(op, *function_.ops[user], target)) return kNoGroup;
    if (op.def->viewRule && readsRowsOften(result.id, group) && readsAcross(i)) return kNoGroup;
    if (target.operandCount + op.operands.size() > kMaxOperands) return kNoGroup;
    if (op.def->traits.gathers && choosesOperands(target)) return kNoGroup;
    if (op.def->cls == OpClass::reduction && reductionsIn(target) >= kMaxReductions) return kNoGroup;
    const Op& root = *function_.ops[target.root];
    if (!target.measured) groups_[group].places.add(root, readsOf(root), elements_, true);
    groups_[group].measured = true;
    const std::vector<OperandRead> reads = readsOf(op);
    if (!target.places.takes(result.id, reads, elements_)) return kNoGroup;
    if (target.places.countOf(result.id) > 1 && repeatsElements(op)) return kNoGroup;
    groups_[group].places.add(op, reads, elements_, outside);
    groups_[group].operandCount += op.operands.size();
    groups_[group].severalResults = target.severalResults || outside;
    if (ended) groups_[group].byteProduct = ended;
    return group;
  }

  bool isElementwise(const Group& group) const {
    return std::all_of(group.members.begin(), group.members.end(), [&](size_t member) {
      const Op& op = *function_.ops[member];
      return isElementwise(op) || op.def->cls == OpClass::contraction;
    });
  }
  bool isElementwise(const Op& op) const { return op.def->cls == OpClass::elementwise || isByteLookup(op); }

  // A byte of a table of 256 for each byte, widened: no element is out of its range.
  bool isByteLookup(const Op& op) const {
    if (op.def != &ops::gatherOp || op.attributes.integer("axis", 0) != 0) return false;
    const Type table = values_.of(op.operands[0]).type;
    const Op* at = values_.of(op.operands[1]).madeBy;
    return table.rank() == 1 && table.dims()[0].isConstant(256) && isByte(table.dtype()) && at &&
           at->def == &ops::castOp && values_.of(at->operands[0]).type.dtype() == Dtype::u8;
  }

  // Bytes that a product of bytes can end as: in its epilogue, and not in what moves or sums them, which
  // would read the sums, four times as large. Null: it is no such end.
  const Op* byteProductEndedBy(const Op& op) const {
    if (!isByte(op.results[0].type.dtype())) return nullptr;
    constexpr int kMostSteps = 16;
    const Op* at = &op;
    for (int step = 0; step < kMostSteps && isElementwise(*at); ++step) {
      const size_t from = at->def->traits.gathers ? 1 : 0;
      if (at->operands.size() <= from || at->operands[from] == kNoValue) return nullptr;
      at = values_.of(at->operands[from]).madeBy;
      if (!at) return nullptr;
    }
    return at->def->traits.epilogue == Dtype::i32 && isContraction(*at) ? at : nullptr;
  }

  // Sizes of the consumer's result that are elements of the producer's result are read before the kernel
  // starts.
  bool givesSizes(const Op& producer, const Op& consumer) const {
    const Type type = producer.results[0].type;
    if (type.rank() > 1 || isReal(type.dtype())) return false;
    std::unordered_set<SymbolId> known;
    for (ValueId v : consumer.operands)
      if (v != kNoValue)
        for (SymbolId s : symbolsOf(values_.of(v).type)) known.insert(s);
    for (const ValueDef& r : consumer.results)
      for (SymbolId s : symbolsOf(r.type))
        if (!known.count(s)) return true;
    return false;
  }

  int64_t reductionsIn(const Group& group) const {
    return std::count_if(group.members.begin(), group.members.end(), [&](size_t member) {
      return function_.ops[member]->def->cls == OpClass::reduction;
    });
  }

  // Does the group hold an operation that reads an operand only for some elements (concat, pad), or a window
  // that may leave it? A gather's range check has no place under that.
  bool choosesOperands(const Group& group) const {
    return std::any_of(group.members.begin(), group.members.end(), [&](size_t member) {
      const Op& op = *function_.ops[member];
      return (op.def->cls == OpClass::injective && !op.def->traits.gathers) ||
             op.attributes.has("kernel_shape");
    });
  }

  // A nest copies one operand after the other along its innermost axis; a reduction would ask for each
  // element whose it is.
  bool joinsInnermost(const Op& op) const {
    const Type type = op.results[0].type;
    if (op.def != &ops::concatOp || type.rank() == 0) return false;
    const auto rank = static_cast<int64_t>(type.rank());
    const int64_t axis = op.attributes.integer("axis", 0);
    return axis == rank - 1 || axis == -1;
  }

  bool legalEdge(const Op& producer, const Op& consumer, const Group& group) {
    const Type type = producer.results[0].type;
    if (givesSizes(producer, consumer)) return false;
    if (isContraction(producer)) return legalEpilogue(producer, consumer, group);
    if (group.contraction) {
      // Beside the matmul: what feeds its epilogue may be anything cheap of the same shape, or smaller and
      // broadcast.
      return producer.def->cls == OpClass::elementwise && !feedsContraction(consumer) && cheap(producer);
    }
    if (consumer.def->cls == OpClass::contraction || consumer.def->cls == OpClass::opaque) return false;
    switch (producer.def->cls) {
      case OpClass::elementwise:
      case OpClass::injective:
      case OpClass::view: {
        // A gather may read an element many times: only cheap producers are worth computing again.
        if (consumer.def->cls == OpClass::injective && producer.def->cls != OpClass::view && !cheap(producer))
          return false;
        if (joinsInnermost(producer) && (consumer.def->cls == OpClass::reduction || reductionsIn(group) > 0))
          return false;
        return cheap(producer) || !isSpread(producer.results[0], group);
      }
      case OpClass::reduction:
        if (consumer.def->cls != OpClass::elementwise) return false;
        if (sameShape(type, consumer.results[0].type, group)) return rootKeepsRows(group, type);
        return broadcastInnermost(type, consumer.results[0].type, group) && rootKeepsRows(group, type);
      default:
        return false;
    }
  }

  // Is a value, or one of its shape that is made of it, read for several elements of the group's place by
  // place? Over the innermost axes alone it is made once, beside their loop.
  bool isSpread(const ValueDef& value, const Group& group) {
    std::unordered_set<size_t> seen;
    std::vector<ValueId> work{value.id};
    while (!work.empty()) {
      const std::span<const ValueUses::Use> uses = values_.usesOf(work.back());
      work.pop_back();
      for (const auto& [id, user] : uses) {
        if (groupOf_[user] == kNoGroup || &groups_[groupOf_[user]] != &group || !seen.insert(user).second)
          continue;
        const Op& reader = *function_.ops[user];
        if (reader.def->cls != OpClass::elementwise) continue;
        const Type out = reader.results[0].type;
        if (sameShape(value.type, out, group))
          work.push_back(reader.results[0].id);
        else if (!broadcastInnermost(value.type, out, group))
          return true;
      }
    }
    return false;
  }

  // A pad of elements of the tensor itself: comparisons at each read say which, and no load is of a row.
  // Where a kernel reads several places of it (a stencil), it is made once. Machines of little memory have no
  // use for another buffer, and a device waits for memory, not for comparisons.
  bool repeatsElements(const Op& op) const {
    return op.def == &ops::padOp && op.attributes.string("mode", "constant") != "constant" &&
           context_.target.isHostOnly() && context_.target.hasHeap;
  }

  bool feedsContraction(const Op& op) const { return isContraction(op); }

  // Every operation between the matmul and the root is elementwise and of the matmul's shape, and reads it in
  // place.
  bool legalEpilogue(const Op& matmul, const Op& consumer, const Group& group) {
    const Type type = matmul.results[0].type;
    const bool generated = isGenerated(matmul);
    if (group.contraction || group.severalResults || type.rank() < 2 ||
        (!generated && type.dtype() != matmul.def->traits.epilogue))
      return false;
    if (!isElementwise(consumer) || !sameShape(type, rootType(group), group)) return false;
    for (size_t member : group.members) {
      const Op& op = *function_.ops[member];
      if (!isElementwise(op)) return false;
      if (generated) continue;
      const Dtype inner = op.results[0].type.dtype();
      const bool rounded = type.dtype() == Dtype::f32 && isHalf(inner);
      const bool ofBytes = type.dtype() == Dtype::i32 && (isByte(inner) || inner == Dtype::i32);
      if (member != group.root && inner != Dtype::f32 && !rounded && !ofBytes) return false;
    }
    const Dtype made = rootType(group).dtype();
    if (!generated && made != Dtype::f32 && !(type.dtype() == Dtype::i32 && isByte(made))) return false;
    return consumersHaveShape(matmul.results[0].id, group, type);
  }

  // Products of bytes may end as bytes again: their sums then lie in memory of their own, tile by tile.
  bool isByte(Dtype dtype) const {
    return context_.target.hasHeap && (dtype == Dtype::u8 || dtype == Dtype::i8);
  }

  bool consumersHaveShape(ValueId value, const Group& group, Type type) {
    std::vector<ValueId> work{value};
    while (!work.empty()) {
      const ValueId v = work.back();
      work.pop_back();
      for (const auto& [id, user] : values_.usesOf(v)) {
        if (groupOf_[user] == kNoGroup || &groups_[groupOf_[user]] != &group) continue;
        if (!sameShape(function_.ops[user]->results[0].type, type, group)) return false;
        work.push_back(function_.ops[user]->results[0].id);
      }
    }
    return true;
  }

  // A view whose rows lie across the memory it is of, unless it is known to be so small that a kernel of its
  // own would cost more.
  bool readsAcross(size_t i) {
    const Op& op = *function_.ops[i];
    // A device's threads hide it; machines of little memory have no use for another buffer, and no lines.
    const bool hasLines = context_.target.isHostOnly() && context_.target.hasHeap;
    const Shape& dims = op.results[0].type.dims();
    if (!hasLines) return false;
    constexpr int64_t kSmall = 512;  // elements
    constexpr int64_t kNear = 4;     // from one element to the next
    if (const std::optional<int64_t> count = constantElementCount(dims); count && *count <= kSmall)
      return false;
    size_t axis = dims.size();
    while (axis > 0 && dims[axis - 1].isConstant(1)) --axis;
    if (axis == 0) return false;
    const std::vector<Type> types = operandTypes(op);
    const std::optional<StridedPlace> place =
        ViewPlaces(ir_, facts_).placeOf(op, types, 0, densePlace(ir_.dims(), types[0].dims()), {body_, i});
    if (!place) return false;
    const Dim stride = place->strides[axis - 1];
    if (const std::optional<int64_t> known = stride.constant()) return *known > kNear || *known < -kNear;
    // An expansion's stride is 0 or 1, which only a run knows.
    return !facts_.lessEqual(stride, ir_.dims().constant(kNear), {body_, i});
  }

  // Does a kernel read the rows of a value more than once: for reductions and beside them?
  bool readsRowsOften(ValueId value, size_t group) const {
    std::unordered_set<size_t> seen, readers;  // readers: reductions, and the root where it is reached beside
    std::vector<ValueId> work{value};
    while (!work.empty()) {
      const std::span<const ValueUses::Use> uses = values_.usesOf(work.back());
      work.pop_back();
      for (const auto& [id, user] : uses) {
        if (groupOf_[user] != group || !seen.insert(user).second) continue;
        const Op& reader = *function_.ops[user];
        const bool reduces = reader.def->cls == OpClass::reduction;
        // One that keeps the shape reads each element of a row again, to say what becomes of it.
        if (reduces && reader.results[0].type.dims() == values_.of(reader.operands[0]).type.dims())
          return true;
        if (reduces || user == groups_[group].root)
          readers.insert(user);
        else
          work.push_back(reader.results[0].id);
      }
    }
    const auto reductions = std::count_if(readers.begin(), readers.end(), [&](size_t reader) {
      return function_.ops[reader]->def->cls == OpClass::reduction;
    });
    return reductions > 0 && readers.size() > 1;
  }

  bool cheap(const Op& op) const {
    if (op.def->traits.cost != ElementCost::quotient) return op.def->traits.cost == ElementCost::arithmetic;
    if (isReal(op.results[0].type.dtype())) return true;
    const Op* divisor = values_.of(op.operands[1]).madeBy;
    return divisor && divisor->def == &ops::constantOp;
  }

  // `small` equals `large` but for trailing axes where it has size 1: a row's value spread over the row.
  bool broadcastInnermost(Type small, Type large, const Group& group) const {
    if (small.rank() != large.rank()) return false;
    bool spread = false;
    for (int axis = 0; axis < small.rank(); ++axis) {
      const Dim a = small.dims()[axis], b = large.dims()[axis];
      const bool equal = facts_.equal(a, b, placeOf(group));
      if (!equal && !a.isConstant(1)) return false;
      if (spread && !a.isConstant(1)) return false;
      if (!equal) spread = true;
    }
    return spread;
  }

  // Every elementwise value of the group has the rows of the reduction, so that the row's loop can hold it.
  bool rootKeepsRows(const Group& group, Type reduced) const {
    const Type root = rootType(group);
    return sameShape(reduced, root, group) || broadcastInnermost(reduced, root, group);
  }

  const Function* emit() {
    std::unordered_map<size_t, size_t> groupAtRoot;
    std::vector<bool> inside(function_.ops.size(), false);
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].members.size() < 2) continue;
      groupAtRoot[groups_[g].root] = g;
      for (size_t member : groups_[g].members) inside[member] = true;
    }
    if (groupAtRoot.empty()) return &function_;
    Function fused = function_;
    fused.ops.clear();
    for (size_t i = 0; i < function_.ops.size(); ++i) {
      auto group = groupAtRoot.find(i);
      if (group != groupAtRoot.end())
        fused.ops.push_back(makeGroup(groups_[group->second]));
      else if (!inside[i])
        fused.ops.push_back(function_.ops[i]);
    }
    return ir_.own(std::move(fused));
  }

  const Op* makeGroup(Group& group) {
    std::sort(group.members.begin(), group.members.end());
    const std::unordered_set<size_t> members(group.members.begin(), group.members.end());
    const Op& root = *function_.ops[group.root];
    Function body;
    body.name = ir_.uniqueFunctionName(groupName(group));
    body.place = root.place;
    Op op;
    op.def = &ops::fusedOp;
    op.place = root.place;
    const bool byBuiltin = group.contraction && context_.target.isHostOnly();
    setKernelKind(op, byBuiltin ? KernelKind::contraction : KernelKind::loop);
    // Values that only the group reads keep their ids, operations of none but such are shared.
    std::unordered_map<ValueId, ValueId> renamed;
    for (size_t index : group.members) {
      const Op& member = *function_.ops[index];
      Op inner = member;
      bool same = true;
      for (ValueId& v : inner.operands) {
        if (v == kNoValue) continue;
        auto [it, fresh] = renamed.try_emplace(v, kNoValue);
        if (fresh) {
          it->second = ir_.newValue();
          body.parameters.push_back({it->second, values_.of(v).type});
          op.operands.push_back(v);
        }
        same = same && it->second == v;
        v = it->second;
      }
      for (ValueDef& result : inner.results) {
        const ValueDef outer = result;
        const bool wanted = wantedOutside(outer.id, members);
        if (wanted) result.id = ir_.newValue();
        renamed[outer.id] = result.id;
        if (!wanted) continue;
        same = false;
        op.results.push_back(outer);
        body.results.push_back(result.id);
        body.resultTypes.push_back(result.type);
      }
      body.ops.push_back(same ? &member : ir_.own(std::move(inner)));
    }
    fusedOps_ += static_cast<int64_t>(group.members.size());
    op.regions = {ir_.own(std::move(body))};
    return ir_.own(std::move(op));
  }

  bool wantedOutside(ValueId v, const std::unordered_set<size_t>& members) const {
    if (returned_.count(v)) return true;
    const std::span<const ValueUses::Use> uses = values_.usesOf(v);
    return uses.empty() || std::any_of(uses.begin(), uses.end(),
                                       [&](const ValueUses::Use& use) { return !members.count(use.user); });
  }

  // "matmul_add_gelu": the first four operators, in order.
  std::string groupName(const Group& group) const {
    std::string name;
    for (size_t k = 0; k < group.members.size() && k < 4; ++k)
      name += (k ? "_" : "") + std::string(function_.ops[group.members[k]]->def->name);
    return name + (group.members.size() > 4 ? "_etc" : "");
  }

  static constexpr size_t kMaxOperands = 48;
  // Each reduction's definition holds those before it several times over: a layernorm has two, chains of
  // softmaxes would multiply.
  static constexpr int64_t kMaxReductions = 2;

  const Function& function_;
  IrContext& ir_;
  PathFacts& facts_;
  size_t body_;
  PassContext& context_;
  size_t maxOps_;
  const ValueUses values_;
  ElementReads elements_;
  const std::unordered_set<ValueId> returned_;
  std::vector<Group> groups_;
  std::vector<size_t> groupOf_;
  int64_t fusedOps_ = 0;
};

Result<Module> runFuse(const Module& module, PassContext& context) {
  int64_t maxOps = 64, fused = 0;
  if (auto it = context.options.find("max"); it != context.options.end())
    maxOps = std::max(1, std::atoi(it->second.c_str()));
  DYN_TRY(const Module apart,
          rewriteFunctions(module, [&](const Function& function) -> Result<const Function*> {
            return withClonedDequantize(function, *module.context);
          }));
  PathFacts facts(apart);
  auto sweep = [&](const Function& function) -> Result<const Function*> {
    Fuser fuser(function, *module.context, facts, context, maxOps);
    DYN_TRY(const Function* result, fuser.run());
    fused += fuser.fusedOps();
    return result;
  };
  DYN_TRY(Module result, rewriteFunctions(apart, sweep));
  context.counters["fused_ops"] = fused;
  return result;
}

}  // namespace

PassDef fusePass() {
  return {.name = "fuse",
          .summary = "groups operations into kernels where the dim solver proves it legal",
          .requiredProperties = Property::types,
          .providedProperties = Property::groups,
          .forbiddenProperties = Property::destinations,
          .options = {{"max", "largest number of operations in a kernel; default 64"}},
          .run = runFuse};
}

}  // namespace dyn::passes
