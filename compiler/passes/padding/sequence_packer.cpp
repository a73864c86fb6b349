#include "compiler/passes/padding/sequence_packer.h"

#include <algorithm>
#include <limits>
#include <map>

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/padding/packed_recurrence.h"
#include "compiler/passes/rewrite/op_maker.h"
#include "compiler/passes/rewrite/pointwise_product.h"

namespace dyn::passes {

namespace {

// [1, n, h, e] to [1, h, n, e] and back.
const std::vector<int64_t> kHeadsApart = {0, 2, 1, 3};

class SequencePacker {
 public:
  SequencePacker(const InferredModule& inferred, Positions& positions, PositionNeeds& needs,
                 const MaskedSites& sites)
      : inferred_(inferred),
        main_(*inferred.module.main()),
        ir_(*inferred.module.context),
        positions_(positions),
        needs_(needs),
        sites_(sites),
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

  // [b, *, *, s] -> [b, s]: the same for all heads, and of the last query, which sees all keys; where not all
  // queries see the same that of the query in the key's own place.
  ValueId ofKeys(ValueId mask, bool byQuery) {
    const Type type = positions_.typeOf(mask);
    if (byQuery) {
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
    const auto isWhole = [&](size_t axis) {
      return axis + 2 < dims.size() || dims[axis].isConstant(1) || positions_.isSequence(dims[axis]);
    };
    Shape whole = dims;
    for (size_t axis = 0; axis < dims.size(); ++axis)
      if (!isWhole(axis)) whole[axis] = sequence();
    if (whole != dims) return tables_[table] = tableOf(make(ops::expandOp, {table, sizes(whole)}), whole);
    return tables_[table] = tableOf(table, dims);
  }
  ValueId tableOf(ValueId table, const Shape& dims) {
    if (dims.size() == 4 && !dims[0].isConstant(1)) {
      const ValueId first = make(ops::sliceOp, {table, integers({0}), integers({1}), integers({0})});
      return make(ops::reduce_sumOp, {first, integers({0})}, {{"keepdims", int64_t{0}}});
    }
    Shape three(3, one_);
    for (size_t axis = dims.size() > 3 ? 1 : 0; axis < dims.size(); ++axis)
      three[3 - dims.size() + axis] = dims[axis];
    return dims.size() == 3 ? table : reshape(table, three);
  }

  // Which keys a query sees by their places alone, as a bias [1, s, s]: what any sequence sees that has the
  // key.
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

  // [b, *, s, s] -> [b, s]: of the query behind the key's own place, of the first where there is none.
  ValueId ofOtherKeys(ValueId mask) {
    mask = make(ops::sliceOp, {mask, integers({0}), integers({1}), integers({1})});
    const ValueId next = make(ops::addOp, {countToSequence(), integer(1)});
    const ValueId other =
        make(ops::whereOp, {make(ops::equalOp, {next, size(sequence())}), integer(0), next});
    const ValueId at = make(ops::expandOp, {other, sizes({batch(), one_, one_, sequence()})});
    return reshape(make(ops::gather_elementsOp, {mask, at}, {{"axis", int64_t{2}}}), {batch(), sequence()});
  }

  // Which positions the mask keeps: [b, s].
  ValueId keptBy(const MaskedAttention& site) {
    place_ = site.softmax->place;
    ValueId kept = kNoValue;
    if (site.bias != kNoValue) {
      bias_ = site.seesItself ? ofOtherKeys(site.bias) : ofKeys(site.bias, site.window);
      kept = make(ops::greaterOp, {bias_, number(HostTensor::scalar(Dtype::f32, kMaskedBias))});
    }
    if (site.allowed != kNoValue) {
      allowed_ = ofKeys(site.allowed, site.window || site.pairs);
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
    const ValueId packed = withFactors(needs_.readsUnmasked() ? withSeen(kept) : kept, kept);
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

  // And positions that are read whatever the mask says, and all of a sequence whose mask holds nowhere, or of
  // one where such a position sees all keys alike.
  ValueId withSeen(ValueId kept) {
    const MaskedAttention* site = firstAttention();
    if (site && site->pairs) return withSequencesOfSeen(kept);
    const ValueId count =
        make(ops::reduce_sumOp, {cast(kept, Dtype::i64), integers({1})}, {{"keepdims", int64_t{1}}});
    ValueId result = make(ops::logical_orOp, {kept, make(ops::equalOp, {count, integer(0)})});
    const ValueId range = countToSequence();
    for (int64_t position : needs_.seen())
      result = make(ops::logical_orOp, {result, make(ops::equalOp, {range, integer(position)})});
    return result;
  }

  ValueId withSequencesOfSeen(ValueId kept) {
    const ValueId range = countToSequence(), hidden = make(ops::logical_notOp, {kept});
    ValueId result = kept;
    for (int64_t position : needs_.seen()) {
      const ValueId read = make(ops::logical_andOp, {make(ops::equalOp, {range, integer(position)}), hidden});
      const ValueId count =
          make(ops::reduce_sumOp, {cast(read, Dtype::i64), integers({1})}, {{"keepdims", int64_t{1}}});
      result = make(ops::logical_orOp, {result, make(ops::greaterOp, {count, integer(0)})});
    }
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
      if (sites_.reversals.count(&op)) return;  // of what a recurrence stacks: it is made by position
      if (op.def->traits.view) {
        packed_[op.results[0].id] = reshape(packed(op.operands[0]), packedShape(op.results[0].type.dims()));
        return;
      }
      if (op.def == &ops::convOp) return emitPointwise(op);
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

  void emitPointwise(const Op& conv) {
    std::vector<ValueId> operands;
    for (ValueId v : conv.operands) operands.push_back(v == kNoValue ? v : packed(v));
    OpMaker maker(ir_, ops_);
    maker.standAt(place_);
    packed_[conv.results[0].id] = pointwiseProduct(maker, conv, positions_.typeOf(conv.operands[0]).dims(),
                                                   positions_.typeOf(conv.operands[1]).dims(), operands);
  }

  void emitAttention(const MaskedAttention& site) {
    Attributes attributes;
    attributes.set("scale", site.scale);
    if (site.allowed != kNoValue) attributes.set("fill", site.fill);
    if (site.nanAsZero) attributes.set("nan_as_zero", int64_t{1});
    const auto [q, k] = queriesAndKeys(site);
    std::vector<ValueId> operands{q, k, withHeads(packed(site.v), site.v, site), lengths_};
    if (site.causal) attributes.set("causal", int64_t{1});
    operands.insert(operands.end(),
                    {site.seesItself ? kNoValue : bias_, seesHidden(site) ? kNoValue : allowed_});
    if (const ValueId table = tablesOf(site); table != kNoValue)
      operands.insert(operands.end(), {table, inSequence_});
    while (operands.back() == kNoValue) operands.pop_back();
    const ValueId z = make(ops::packed_attentionOp, std::move(operands), std::move(attributes));
    const ValueId result = site.product->results[0].id;
    sideBySide_[result] = z;
    packed_[result] = make(ops::transposeOp, {z}, {{"perm", kHeadsApart}});
  }

  // Without any, scores are 0 but for what is added to them.
  std::pair<ValueId, ValueId> queriesAndKeys(const MaskedAttention& site) {
    if (site.q == kNoValue) {
      const ValueId zero = number(HostTensor::scalar(Dtype::f32, 0));
      return {make(ops::expandOp, {zero, sizes({one_, site.heads, kept_, one_})}),
              make(ops::expandOp, {zero, sizes({one_, site.heads, one_, kept_})})};
    }
    ValueId k = packed(site.k);
    if (site.keysAsQueries) k = transposed(k, {0, 1, 3, 2});
    return {packed(site.q), withHeads(k, site.k, site)};
  }

  // Keys or values that all heads share, for each of them.
  ValueId withHeads(ValueId v, ValueId from, const MaskedAttention& site) {
    const Dim heads = positions_.typeOf(from).dims()[1];
    if (!heads.isConstant(1) || site.heads.isConstant(1)) return v;
    return make(ops::expandOp, {v, sizes({one_, site.heads, one_, one_})});
  }

  // Is a query computed that its mask hides? Its scores are all lost in what is added to them.
  bool seesHidden(const MaskedAttention& site) const { return site.pairs && !needs_.seen().empty(); }

  // All that is added to the scores at the places of query and key.
  ValueId tablesOf(const MaskedAttention& site) {
    ValueId sum = site.table == kNoValue ? kNoValue : tableOf(site.table);
    std::vector<ValueId> own;
    for (ValueId v : site.own) own.push_back(needs_.isPacked(v) ? unpacked(v, places_) : v);
    if (seesHidden(site)) {
      const ValueId zero = number(HostTensor::scalar(Dtype::f32, 0)),
                    fill = number(HostTensor::scalar(Dtype::f32, site.fill));
      own.push_back(make(ops::whereOp,
                         {site.allowed, site.allowedIsNot ? fill : zero, site.allowedIsNot ? zero : fill}));
    }
    if (site.window) own.push_back(windowOf(site));
    for (ValueId v : own) sum = sum == kNoValue ? v : make(ops::addOp, {sum, v});
    return sum;
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
        packedRecurrence(inferred_, site, {kept_, sequenceOf_, inSequence_}, steps, ops_);
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
  const Dim kept_, one_;
  SourceLocation place_;
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

}  // namespace

const Function* unpadded(const InferredModule& inferred, Positions& positions, PositionNeeds& needs,
                         const MaskedSites& sites, int64_t& packedOps) {
  SequencePacker unpadder(inferred, positions, needs, sites);
  const Function* function = unpadder.run();
  packedOps = unpadder.packedOps();
  return function;
}

}  // namespace dyn::passes
