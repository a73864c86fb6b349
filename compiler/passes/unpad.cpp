// Attention under a mask without the positions that the mask leaves out.
//   needs: types.  establishes: nothing that others rely on.
//   before  %x [b, s, 8]  ...
//           %p = softmax(add(mul(matmul(%q, %k), c), %bias))  %z = matmul(%p, %v)
//           ...  %y = slice(%w, position 0)
//   after   %keep = greater(%bias, -9999) or position 0 or a sequence without any    [b, s]
//           %at = nonzero(%keep)  %lengths = reduce_sum(%keep)    once for all layers
//           %x1 = gather(%x, %at)                                 [1, n, 8]
//           ...  the same operations on [1, n, ...]
//           %z1 = packed_attention(%q1, %k1, %v1, %lengths, %bias1) {scale = c}
//           ...  %y = slice(%w1 put back where it came from, 0 elsewhere, position 0)
// The batch becomes one sequence of all positions that are kept, so that every operation which computes
// position by position (positions.h proves it) stays as it is, and attention sees the runs of it
// (masked_attention.h). A value is packed only if nobody reads a position of it that is left out. Under
// the policy `unseen` that is all: what is read of a sequence whatever its mask says is kept, and so is the
// whole of a sequence whose mask holds nowhere, as its softmax is over all of it; what the program itself
// multiplies by the mask is 0 elsewhere. Under `zero` results of the program are 0 at positions that the
// mask leaves out, and nothing is computed there. What is not packed, and who reads it, is told in
// remarks. Cost in IR size: some twenty operations, and about eight for each value that is packed or put
// back.
#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/heads_apart.h"
#include "compiler/passes/packed_recurrence.h"
#include "compiler/passes/position_needs.h"

namespace dyn::passes {

namespace {

// [1, n, h, e] to [1, h, n, e] and back.
const std::vector<int64_t> kHeadsApart = {0, 2, 1, 3};

class Unpadder {
 public:
  Unpadder(const InferredModule& inferred, Positions& positions, PositionNeeds& needs,
           const MaskedSites& sites)
      : inferred_(inferred),
        main_(*inferred.module.main()),
        ir_(*inferred.module.context),
        positions_(positions),
        needs_(needs),
        sites_(sites),
        recurrences_(inferred),
        kept_(ir_.dims().any("the positions that a mask keeps")),
        one_(ir_.dims().constant(1)) {}

  const Function* run() {
    const size_t last = lastOfMask();
    std::vector<const Op*> waiting;
    std::unordered_set<ValueId> late;
    const auto isLate = [&](const Op& op) {
      if (positions_.sizesOf(op)) return false;
      return needs_.isPacked(op) || std::any_of(op.operands.begin(), op.operands.end(), [&](ValueId v) {
               return v != kNoValue && (late.count(v) != 0 || needs_.isPacked(v));
             });
    };
    if (last == 0) prelude();
    for (size_t i = 0; i < main_.ops.size(); ++i) {
      const Op& op = *main_.ops[i];
      if (isNeeded(op)) {
        if (i < last && isLate(op)) {
          waiting.push_back(&op);
          for (const ValueDef& r : op.results) late.insert(r.id);
        } else {
          emit(op);
        }
      }
      if (i + 1 != last) continue;
      prelude();
      for (const Op* after : waiting) emit(*after);
    }
    Function result = main_;
    for (ValueId& v : result.results)
      if (needs_.isPacked(v)) v = unpacked(v, needs_.isZeroed(v) ? places_ : resultPlaces_);
    result.ops = std::move(ops_);
    return ir_.own(std::move(result));
  }

  int64_t packedOps() const { return packedOps_; }

 private:
  // Null: recurrences alone are packed.
  const MaskedAttention* firstAttention() const {
    for (const Op* op : main_.ops)
      if (const auto site = sites_.attentions.find(op);
          site != sites_.attentions.end() && needs_.isPacked(*op))
        return &site->second;
    return sites_.attentions.empty() ? nullptr : &sites_.attentions.begin()->second;
  }
  std::vector<ValueId> maskValues() const {
    const MaskedAttention* site = firstAttention();
    if (!site) return {firstRecurrence().lengths};
    std::vector<ValueId> values{site->bias, site->allowed};
    values.insert(values.end(), needs_.factors().begin(), needs_.factors().end());
    return values;
  }
  const PaddedRecurrence& firstRecurrence() const {
    const auto isOne = [&](const Op* op) { return sites_.recurrences.count(op) != 0; };
    return sites_.recurrences.at(*std::find_if(main_.ops.begin(), main_.ops.end(), isOne));
  }

  bool isNeeded(const Op& op) const {
    return op.results.empty() || op.def->hasEffects ||
           std::any_of(op.results.begin(), op.results.end(),
                       [&](const ValueDef& r) { return needs_.of(r.id) != PositionNeed::none; });
  }

  // One past the last operation that the mask is made by; 0: it is an input.
  size_t lastOfMask() const {
    const std::vector<ValueId> mask = maskValues();
    size_t last = 0;
    for (size_t i = 0; i < main_.ops.size(); ++i)
      for (const ValueDef& r : main_.ops[i]->results)
        if (std::find(mask.begin(), mask.end(), r.id) != mask.end()) last = i + 1;
    return last;
  }

  // --- making operations

  ValueId make(const OpDef& def, std::vector<ValueId> operands, Attributes attributes = {}, Type type = {}) {
    Op op;
    op.def = &def;
    op.place = place_;
    op.operands = std::move(operands);
    op.attributes = std::move(attributes);
    op.results = {{ir_.newValue(), type}};
    ops_.push_back(ir_.own(std::move(op)));
    return ops_.back()->results[0].id;
  }
  ValueId number(HostTensor value) { return make(ops::constantOp, {}, {{"value", std::move(value)}}); }
  ValueId integer(int64_t value) { return number(HostTensor::scalarInt(Dtype::i64, value)); }
  ValueId integers(const std::vector<int64_t>& values) {
    return number(HostTensor::vectorInt(Dtype::i64, values));
  }
  ValueId size(Dim d) { return make(ops::dim_valueOp, {}, {{"value", Shape{d}}}); }
  ValueId sizes(Shape dims) { return make(ops::dims_valueOp, {}, {{"value", std::move(dims)}}); }
  ValueId reshape(ValueId v, Shape to) {
    return make(ops::reshapeOp, {v, sizes(std::move(to))}, {{"allowzero", int64_t{1}}});
  }
  ValueId cast(ValueId v, Dtype to) { return make(ops::castOp, {v}, {{"to", to}}); }

  // --- the prelude: which positions are kept, and where they are

  Dim batch() const { return positions_.batch(); }
  Dim sequence() const { return positions_.sequence(); }

  // [b, *, *, s] -> [b, s]: the same for all heads, and of the last query, which sees all keys; under a window
  // that of the query in the key's own place.
  ValueId ofKeys(ValueId mask, bool window) {
    const Type type = positions_.typeOf(mask);
    if (window) {
      mask = make(ops::sliceOp, {mask, integers({0}), integers({1}), integers({1})});
      const ValueId own = make(ops::expandOp, {countToSequence(), sizes({batch(), one_, one_, sequence()})});
      mask = make(ops::gather_elementsOp, {mask, own}, {{"axis", int64_t{2}}});
      return reshape(mask, {batch(), sequence()});
    }
    for (int64_t axis : {1, 2})
      if (!type.dims()[static_cast<size_t>(axis)].isConstant(1))
        mask = make(ops::sliceOp, {mask, integers({axis == 1 ? 0 : -1}),
                                   integers({axis == 1 ? 1 : INT64_MAX}), integers({axis})});
    return reshape(mask, {batch(), sequence()});
  }

  // [.., h, s, s] of any rank up to four -> [h, s, s]; axes of size 1 stay. Of a batch: that of its first,
  // zeros where there is none.
  ValueId tableOf(ValueId table) {
    if (const auto found = tables_.find(table); found != tables_.end()) return found->second;
    const Shape dims = positions_.typeOf(table).dims();
    if (dims.size() == 4 && !dims[0].isConstant(1)) {
      const ValueId first = make(ops::sliceOp, {table, integers({0}), integers({1}), integers({0})});
      return tables_[table] = make(ops::reduce_sumOp, {first, integers({0})}, {{"keepdims", int64_t{0}}});
    }
    Shape three(3, one_);
    for (size_t axis = dims.size() > 3 ? 1 : 0; axis < dims.size(); ++axis)
      three[3 - dims.size() + axis] = dims[axis];
    return tables_[table] = dims.size() == 3 ? table : reshape(table, three);
  }

  // Which keys a query sees by their places alone, as a bias [1, s, s]: what any sequence sees that has the key.
  ValueId windowOf(const MaskedAttention& site) {
    const ValueId mask = site.bias != kNoValue ? site.bias : site.allowed;
    if (const auto found = tables_.find(mask); found != tables_.end()) return found->second;
    ValueId shown = make(ops::sliceOp, {mask, integers({0}), integers({1}), integers({1})});
    if (site.bias != kNoValue) {
      shown = make(ops::greaterOp, {shown, number(HostTensor::scalar(Dtype::f32, kMaskedBias))});
    } else if (site.allowedIsNot) {
      shown = make(ops::logical_notOp, {shown});
    }
    const ValueId count =
        make(ops::reduce_sumOp, {cast(shown, Dtype::i32), integers({0})}, {{"keepdims", int64_t{0}}});
    return tables_[mask] = make(ops::whereOp,
                                {make(ops::greaterOp, {count, cast(integer(0), Dtype::i32)}),
                                 number(HostTensor::scalar(Dtype::f32, 0)),
                                 number(HostTensor::scalar(Dtype::f32, -std::numeric_limits<float>::max()))});
  }

  // Which positions the mask keeps: [b, s].
  ValueId keptBy(const MaskedAttention& site) {
    place_ = site.softmax->place;
    ValueId kept = kNoValue;
    if (site.bias != kNoValue) {
      bias_ = ofKeys(site.bias, site.window);
      kept = make(ops::greaterOp, {bias_, number(HostTensor::scalar(Dtype::f32, kMaskedBias))});
    }
    if (site.allowed != kNoValue) {
      allowed_ = ofKeys(site.allowed, site.window);
      if (site.allowedIsNot) allowed_ = make(ops::logical_notOp, {allowed_});
      kept = kept == kNoValue ? allowed_ : make(ops::logical_andOp, {kept, allowed_});
    }
    return kept;
  }
  ValueId keptBy(const PaddedRecurrence& site) {
    place_ = site.loop->place;
    const ValueId lengths = make(ops::unsqueezeOp, {site.lengths, integers({1})});
    return make(ops::lessOp, {countToSequence(), lengths});
  }
  ValueId countToSequence() { return make(ops::rangeOp, {integer(0), size(sequence()), integer(1)}); }

  void prelude() {
    const MaskedAttention* attention = firstAttention();
    const ValueId kept = attention ? keptBy(*attention) : keptBy(firstRecurrence());
    const ValueId packed = withFactors(needs_.seen().empty() ? kept : withSeen(kept), kept);
    const ValueId counted = cast(packed, Dtype::i64);
    lengths_ = make(ops::reduce_sumOp, {counted, integers({1})}, {{"keepdims", int64_t{0}}});
    const ValueId found = make(ops::nonzeroOp, {packed}, {{"of_positions", int64_t{1}}},
                               ir_.tensorType(Shape{ir_.dims().constant(2), kept_}, Dtype::i64));
    sequenceOf_ = make(ops::gatherOp, {found, integer(0)}, {{"axis", int64_t{0}}});
    inSequence_ = make(ops::gatherOp, {found, integer(1)}, {{"axis", int64_t{0}}});
    at_ = make(ops::addOp, {make(ops::mulOp, {sequenceOf_, size(sequence())}), inSequence_});
    const ValueId flat = reshape(counted, {batch() * sequence()});
    const ValueId before = make(ops::subOp, {make(ops::cumsumOp, {flat, integer(0)}), integer(1)});
    places_ = placesOf(packed, before);
    resultPlaces_ = packed == kept ? places_ : placesOf(kept, before);
    if (bias_ != kNoValue) bias_ = takenFlat(bias_);
    if (allowed_ != kNoValue) allowed_ = takenFlat(allowed_);
  }

  // Where each position is among those that are packed; behind the last where it is not.
  ValueId placesOf(ValueId kept, ValueId before) {
    const ValueId places = make(ops::whereOp, {reshape(kept, {batch() * sequence()}), before, size(kept_)});
    return reshape(places, {batch(), sequence()});
  }

  // And positions that are read whatever the mask says, and all of a sequence whose mask holds nowhere.
  ValueId withSeen(ValueId kept) {
    const ValueId count =
        make(ops::reduce_sumOp, {cast(kept, Dtype::i64), integers({1})}, {{"keepdims", int64_t{1}}});
    ValueId result = make(ops::logical_orOp, {kept, make(ops::equalOp, {count, integer(0)})});
    const ValueId range = countToSequence();
    for (int64_t position : needs_.seen())
      result = make(ops::logical_orOp, {result, make(ops::equalOp, {range, integer(position)})});
    return result;
  }

  // And positions where a factor is not 0, with all of a sequence that has such and whose mask holds nowhere.
  ValueId withFactors(ValueId packed, ValueId kept) {
    if (needs_.factors().empty()) return packed;
    ValueId seen = kNoValue;
    for (ValueId factor : needs_.factors()) {
      const Type type = positions_.typeOf(factor);
      const std::vector<int64_t> order = toFront(*positions_.axesOf(type), type.rank());
      const ValueId number = type.dtype() == Dtype::boolean ? cast(factor, Dtype::i64) : factor;
      const ValueId zero = type.dtype() == Dtype::boolean ? integer(0) : cast(integer(0), type.dtype());
      const ValueId isZero =
          reshape(transposed(make(ops::equalOp, {number, zero}), order), {batch(), sequence()});
      const ValueId other = make(ops::logical_notOp, {isZero});
      seen = seen == kNoValue ? other : make(ops::logical_orOp, {seen, other});
    }
    const auto none = [&](ValueId of) {
      const ValueId count =
          make(ops::reduce_sumOp, {cast(of, Dtype::i64), integers({1})}, {{"keepdims", int64_t{1}}});
      return make(ops::equalOp, {count, integer(0)});
    };
    const ValueId alone = make(ops::logical_andOp, {none(kept), make(ops::logical_notOp, {none(seen)})});
    return make(ops::logical_orOp, {make(ops::logical_orOp, {packed, seen}), alone});
  }

  ValueId takenFlat(ValueId v) {
    return make(ops::gatherOp, {reshape(v, {batch() * sequence()}), at_}, {{"axis", int64_t{0}}});
  }

  // --- values by position

  std::vector<int64_t> toFront(const PositionAxes& axes, int rank) const {
    std::vector<int64_t> order{axes.batch};
    if (!axes.joined()) order.push_back(axes.sequence);
    for (int axis = 0; axis < rank; ++axis)
      if (axis != axes.batch && axis != axes.sequence) order.push_back(axis);
    return order;
  }
  ValueId transposed(ValueId v, const std::vector<int64_t>& order) {
    if (std::is_sorted(order.begin(), order.end())) return v;
    return make(ops::transposeOp, {v}, {{"perm", order}});
  }
  static std::vector<int64_t> inverse(const std::vector<int64_t>& order) {
    std::vector<int64_t> result(order.size());
    for (size_t i = 0; i < order.size(); ++i) result[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    return result;
  }

  // A value with its positions packed: of batch 1 and as many positions as are kept.
  ValueId packed(ValueId v) {
    if (const auto found = packed_.find(v); found != packed_.end()) return found->second;
    const Type type = positions_.typeOf(v);
    if (const auto axes = positions_.axesOf(type)) {
      const std::vector<int64_t> order = toFront(*axes, type.rank());
      Shape rows{batch() * sequence()};
      for (size_t i = axes->joined() ? 1 : 2; i < order.size(); ++i)
        rows.push_back(type.dims()[static_cast<size_t>(order[i])]);
      ValueId taken = make(ops::gatherOp, {reshape(transposed(v, order), rows), at_}, {{"axis", int64_t{0}}});
      if (!axes->joined()) taken = make(ops::unsqueezeOp, {taken, integers({0})});
      return packed_[v] = transposed(taken, inverse(order));
    }
    if (const auto axis = positions_.sequenceAxisOf(type)) {
      ValueId all = v;
      if (!positions_.isSequence(type.dims()[static_cast<size_t>(*axis)])) {
        Shape dims = type.dims();
        dims[static_cast<size_t>(*axis)] = sequence();
        all = make(ops::expandOp, {v, sizes(std::move(dims))});
      }
      return packed_[v] = make(ops::gatherOp, {all, inSequence_}, {{"axis", int64_t{*axis}}});
    }
    return v;
  }

  // The packed value put back to where its positions were, 0 where `places` says behind the last.
  ValueId unpacked(ValueId v, ValueId places) {
    const auto [found, fresh] = unpacked_.try_emplace({v, places}, kNoValue);
    if (!fresh) return found->second;
    const Type type = positions_.typeOf(v);
    const PositionAxes axes = *positions_.axesOf(type);
    const std::vector<int64_t> order = toFront(axes, type.rank());
    const size_t others = axes.joined() ? 1 : 2;  // the first of the other axes
    ValueId front = transposed(packed_.at(v), order);
    if (axes.joined()) front = make(ops::unsqueezeOp, {front, integers({0})});
    std::vector<int64_t> pads(2 * (order.size() + 2 - others), 0);
    pads[pads.size() / 2 + 1] = 1;
    const ValueId zeroBehind = make(ops::padOp, {front, integers(pads)}, {{"mode", std::string("constant")}});
    const ValueId back = make(ops::gatherOp, {zeroBehind, places}, {{"axis", int64_t{1}}});
    Shape dims = axes.joined() ? Shape{batch() * sequence()} : Shape{batch(), sequence()};
    for (size_t i = others; i < order.size(); ++i) dims.push_back(type.dims()[static_cast<size_t>(order[i])]);
    const ValueId result = transposed(reshape(back, dims), inverse(order));
    unpacked_[{v, places}] = result;
    return result;
  }

  Dim packedDim(Dim d) const {
    return positions_.isBatch(d) ? one_ : positions_.isSequence(d) || positions_.isBoth(d) ? kept_ : d;
  }
  Shape packedShape(const Shape& dims) const {
    Shape result;
    for (Dim d : dims) result.push_back(packedDim(d));
    return result;
  }

  // --- rewriting

  void emit(const Op& op) {
    place_ = op.place;
    if (needs_.isPacked(op)) {
      ++packedOps_;
      if (const auto site = sites_.attentions.find(&op); site != sites_.attentions.end())
        return emitAttention(site->second);
      if (const auto site = sites_.recurrences.find(&op); site != sites_.recurrences.end())
        return emitRecurrence(site->second);
      if (sites_.turns.count(&op)) return;  // of what a recurrence stacks: it is made by position
      if (op.def->traits.view) {
        packed_[op.results[0].id] = reshape(packed(op.operands[0]), packedShape(op.results[0].type.dims()));
        return;
      }
      if (const ValueId z = asMade(op); z != kNoValue) {
        packed_[op.results[0].id] = z;
        return;
      }
      return emitPacked(op);
    }
    Op copy = op;
    bool changed = false;
    if (const std::optional<Shape> known = positions_.sizesOf(op)) {
      copy.def = op.results[0].type.rank() == 0 ? &ops::dim_valueOp : &ops::dims_valueOp;
      copy.operands.clear();
      copy.attributes = {{"value", *known}};
      changed = true;
    }
    for (ValueId& v : copy.operands)
      if (v != kNoValue && needs_.isPacked(v)) {
        v = unpacked(v, places_);
        changed = true;
      }
    ops_.push_back(changed ? ir_.own(std::move(copy)) : &op);
  }

  // The heads of a position side by side, as packed attention makes them: what the program transposes back.
  ValueId asMade(const Op& op) const {
    if (op.def != &ops::transposeOp || op.attributes.integers("perm") != kHeadsApart) return kNoValue;
    const auto found = sideBySide_.find(op.operands[0]);
    return found == sideBySide_.end() ? kNoValue : found->second;
  }

  void emitPacked(const Op& op) {
    Op copy = op;
    for (const auto& [name, value] : op.attributes.all())
      if (const Shape* dims = std::get_if<Shape>(&value)) copy.attributes.set(name, packedShape(*dims));
    const std::vector<size_t> shapes = positions_.shapeOperands(op);
    for (size_t i = 0; i < copy.operands.size(); ++i) {
      ValueId& v = copy.operands[i];
      if (v == kNoValue) continue;
      const bool shape = std::find(shapes.begin(), shapes.end(), i) != shapes.end();
      v = shape ? sizes(packedShape(inferred_.contents.at(v))) : packed(v);
    }
    for (size_t i = 0; i < copy.results.size(); ++i) {
      copy.results[i] = {ir_.newValue(), Type()};
      packed_[op.results[i].id] = copy.results[i].id;
    }
    ops_.push_back(ir_.own(std::move(copy)));
  }

  void emitAttention(const MaskedAttention& site) {
    Attributes attributes;
    attributes.set("scale", site.scale);
    if (site.allowed != kNoValue) attributes.set("fill", site.fill);
    if (site.nanAsZero) attributes.set("nan_as_zero", int64_t{1});
    ValueId k = packed(site.k);
    if (site.keysAsQueries) k = transposed(k, {0, 1, 3, 2});
    std::vector<ValueId> operands{packed(site.q), k, packed(site.v), lengths_};
    if (site.causal) attributes.set("causal", int64_t{1});
    operands.insert(operands.end(), {bias_, allowed_});
    if (site.window) operands.insert(operands.end(), {windowOf(site), inSequence_});
    if (site.table != kNoValue) operands.insert(operands.end(), {tableOf(site.table), inSequence_});
    while (operands.back() == kNoValue) operands.pop_back();
    const ValueId z = make(ops::packed_attentionOp, std::move(operands), std::move(attributes));
    const ValueId result = site.product->results[0].id;
    sideBySide_[result] = z;
    packed_[result] = make(ops::transposeOp, {z}, {{"perm", kHeadsApart}});
  }

  void emitRecurrence(const PaddedRecurrence& site) {
    std::vector<ValueId> steps;
    for (ValueId v : site.steps) {
      Shape rows = positions_.typeOf(v).dims();  // [s, b, ...]
      rows.erase(rows.begin());
      rows[0] = kept_;
      steps.push_back(reshape(packed(v), std::move(rows)));
    }
    const std::vector<ValueId> stacked =
        recurrences_.emit(site, {kept_, sequenceOf_, inSequence_}, steps, ops_);
    for (size_t k = 0; k < stacked.size(); ++k)
      if (const ValueId result = site.stacked[k]; result != kNoValue)
        packed_[result] = reshape(stacked[k], packedShape(positions_.typeOf(result).dims()));
  }

  const InferredModule& inferred_;
  const Function& main_;
  IrContext& ir_;
  Positions& positions_;
  PositionNeeds& needs_;
  const MaskedSites& sites_;
  PackedRecurrences recurrences_;
  const Dim kept_, one_;
  SourcePlace place_;
  std::vector<const Op*> ops_;
  std::unordered_map<ValueId, ValueId> packed_;
  std::unordered_map<ValueId, ValueId> sideBySide_;  // results of attention as they are made
  std::map<std::pair<ValueId, ValueId>, ValueId> unpacked_;
  std::unordered_map<ValueId, ValueId> tables_;   // as [h, s, s]
  ValueId bias_ = kNoValue, allowed_ = kNoValue;  // of the packed positions
  ValueId lengths_ = kNoValue, at_ = kNoValue, sequenceOf_ = kNoValue, inSequence_ = kNoValue;
  ValueId places_ = kNoValue, resultPlaces_ = kNoValue;
  int64_t packedOps_ = 0;
};

void tell(PassContext& context, const Module& module, const PositionNeeds& needs,
          const std::vector<ValueId>& mask) {
  const std::unordered_set<ValueId> ofMask = makersOf(*module.main(), mask);
  for (const auto& [value, why] : needs.reasons())
    if (why != "it is the mask" && !ofMask.count(value))
      context.remarks.push_back("padded: %" + module.context->valueName(value) + ": " + why);
}

// A value that the mask is made of and that is packed itself; kNoValue: there is none.
ValueId packedInMask(const Function& main, const PositionNeeds& needs, const std::vector<ValueId>& mask) {
  const std::unordered_set<ValueId> reached = makersOf(main, mask);
  for (const Op* op : main.ops)
    for (const ValueDef& r : op->results)
      if (reached.count(r.id) && needs.isPacked(*op)) return r.id;
  return kNoValue;
}

// The sites under the mask of the first, and what it is made of.
struct OneMask {
  MaskedSites sites;
  Dim batch, sequence;
  std::vector<ValueId> mask;
};

std::optional<OneMask> sitesOfOneMask(const InferredModule& inferred, PassContext& context,
                                      std::vector<std::string>& refusals) {
  const IrContext& ir = *inferred.module.context;
  AttentionSearch attentions = findMaskedAttention(inferred);
  RecurrenceSearch recurrences = findPaddedRecurrences(inferred);
  refusals = std::move(attentions.refusals);
  refusals.insert(refusals.end(), recurrences.refusals.begin(), recurrences.refusals.end());
  OneMask one;
  std::string mask;
  const auto take = [&](const auto& site, std::vector<ValueId> values, const Op& op, const Op& named,
                        auto& sites) {
    if (!one.batch) {
      one.batch = site.batch;
      one.sequence = site.sequence;
      one.mask = std::move(values);
      mask = site.mask;
    }
    if (site.mask == mask && site.batch == one.batch && site.sequence == one.sequence)
      sites.emplace(&op, site);
    else
      context.remarks.push_back("not unpadded: " + std::string(named.def->name) + " %" +
                                ir.valueName(named.results[0].id) + ": its mask is not the first one");
  };
  for (const MaskedAttention& site : attentions.found)
    take(site, {site.bias, site.allowed}, *site.product, *site.softmax, one.sites.attentions);
  for (const PaddedRecurrence& site : recurrences.found)
    take(site, {site.lengths}, *site.loop, *site.loop, one.sites.recurrences);
  for (const auto& [loop, site] : one.sites.recurrences)
    one.sites.turns.insert(site.turns.begin(), site.turns.end());
  return one.batch ? std::optional(std::move(one)) : std::nullopt;
}

// "" or why a position that is read whatever the mask says forbids it.
std::string whyNotSeen(const MaskedSites& sites, const PositionNeeds& needs) {
  if (needs.seen().empty()) return "";
  if (!sites.recurrences.empty()) return "a position is read whether its sequence has it or not";
  for (const auto& [op, site] : sites.attentions)
    if ((site.causal || site.window) && needs.isPacked(*op))
      return "a position is read whatever the mask says, which under a " +
             std::string(site.causal ? "causal mask" : "window of keys") + " may have no key";
  return "";
}

Result<Module> runUnpad(const Module& module, PassContext& context) {
  const auto option = context.options.find("results");
  const std::string policyName = option == context.options.end() ? "unseen" : option->second;
  if (policyName != "unseen" && policyName != "zero")
    return makeError(DiagnosticId::usageError, "unpad: results are unseen or zero, not " + policyName);
  const PaddedResults policy = policyName == "zero" ? PaddedResults::zero : PaddedResults::unseen;
  if (!module.main()) return module;
  const std::vector<const Op*>& all = module.main()->ops;
  if (std::none_of(all.begin(), all.end(),
                   [](const Op* op) { return op->def == &ops::softmaxOp || op->def == &ops::loopOp; }))
    return module;
  DYN_TRY(InferredModule inferred, inferTypes(withHeadsApart(module)));
  std::vector<std::string> refusals;
  const std::optional<OneMask> one = sitesOfOneMask(inferred, context, refusals);
  for (const std::string& refusal : refusals) context.remarks.push_back("not unpadded: " + refusal);
  if (!one) return module;
  Positions positions(inferred, one->batch, one->sequence);
  PositionNeeds needs(inferred, positions, one->sites, policy);
  std::vector<ValueId> mask = one->mask;
  mask.insert(mask.end(), needs.factors().begin(), needs.factors().end());
  tell(context, inferred.module, needs, mask);
  if (const ValueId hidden = packedInMask(*inferred.module.main(), needs, mask); hidden != kNoValue) {
    context.remarks.push_back("not unpadded: the mask is made of %" + module.context->valueName(hidden) +
                              ", which it hides");
    return module;
  }
  if (const std::string why = whyNotSeen(one->sites, needs); !why.empty()) {
    context.remarks.push_back("not unpadded: " + why);
    return module;
  }
  const auto packedOf = [&](const auto& sites) {
    return std::count_if(sites.begin(), sites.end(),
                         [&](const auto& site) { return needs.isPacked(*site.first); });
  };
  const int64_t attentions = packedOf(one->sites.attentions), recurrences = packedOf(one->sites.recurrences);
  context.counters["attentions"] = attentions;
  context.counters["recurrences"] = recurrences;
  if (attentions + recurrences == 0) return module;
  Unpadder unpadder(inferred, positions, needs, one->sites);
  const Function* changed = unpadder.run();
  context.counters["packed_ops"] = unpadder.packedOps();
  Module result = inferred.module;
  for (const Function*& function : result.functions)
    if (function == inferred.module.main()) function = changed;
  DYN_TRY(InferredModule typed, inferTypes(result));
  return typed.module;
}

}  // namespace

PassDef unpadPass() {
  return {.name = "unpad",
          .summary = "leaves out the positions of a batch that a mask leaves out, where nobody sees them",
          .needs = Property::types,
          .before = Property::groups,
          .options = {{"results", "unseen, or zero: results at padded positions are 0; default unseen"}},
          .run = runUnpad,
          .makesBuiltins = true,
          .onRequest = true};
}

}  // namespace dyn::passes
