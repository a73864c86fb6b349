#include "compiler/passes/ragged_prelude.h"

#include <algorithm>

#include "compiler/ops/op_table.h"

namespace dyn::passes {

RaggedPrelude::RaggedPrelude(IrContext& ir, OpMaker& maker, std::map<std::string, ValueId> lengths,
                             SourcePlace place)
    : ir_(ir), maker_(maker), parameters_(std::move(lengths)), place_(std::move(place)) {}

RaggedPrelude::Standing::Standing(RaggedPrelude& prelude, Dim pattern)
    : maker_(prelude.maker_), before_(prelude.maker_.place()) {
  SourcePlace place = prelude.place_;
  place.node = "prelude of " + pattern.toString();
  maker_.standAt(std::move(place));
}

Dim RaggedPrelude::rows(Dim pattern) {
  const auto [found, fresh] = rows_.try_emplace(pattern.toString(), sumOverBatch(pattern));
  const Dim sum = found->second;
  if (!fresh || !sum) return sum;
  DimSolver& facts = ir_.facts();
  const Reason reason{"a sum of lengths", place_};
  const Dim zero = ir_.dims().constant(0);
  const auto notNegative = [&](Dim d) {
    if (facts.lessEqual(zero, d) != Answer::yes) (void)facts.addRange(d, 0, std::nullopt, reason);
  };
  if (facts.lessEqual(zero, pattern) == Answer::yes) notNegative(sum);
  if (const std::optional<int64_t> most = facts.interval(pattern).high)
    notNegative(raggedDim(raggedSymbols(pattern)[0])->batch * *most - sum);
  return sum;
}

void RaggedPrelude::checkLengths(Dim symbol) {
  const Standing standing(*this, symbol);
  const std::string what = "the lengths " + raggedDim(symbol)->lengths;
  const ValueId given = lengths(symbol);
  const Interval known = ir_.facts().interval(symbol);
  std::vector<ValueId> bounds{given, maker_.integer(std::max<int64_t>(known.low.value_or(0), 0))};
  if (known.high) bounds.push_back(maker_.integer(*known.high));
  maker_.check(ops::check_valuesOp, std::move(bounds),
               {{"elements", std::string("in_range")}, {"what", what}});
  for (const Fact& fact : ir_.facts().factsAbout(symbol.symbol())) {
    if (fact.kind != FactKind::multipleOf || fact.a != symbol) continue;
    const ValueId left = maker_.make(ops::modOp, {given, maker_.integer(fact.multiple)});
    const ValueId zero = maker_.integer(0);
    maker_.check(ops::check_valuesOp, {left, zero, zero},
                 {{"elements", std::string("in_range")},
                  {"what", what + " are multiples of " + std::to_string(fact.multiple)}});
  }
  const ValueId total =
      maker_.make(ops::reduce_sumOp, {given, maker_.integers({0})}, {{"keepdims", int64_t{0}}});
  const ValueId wanted = maker_.size(sumOfLengths(symbol));
  maker_.check(ops::check_valuesOp, {total, wanted, wanted},
               {{"elements", std::string("in_range")}, {"what", what + " sum up to the number of rows"}});
}

// An expression over lengths, an element for each sequence.
ValueId RaggedPrelude::valueOf(Dim d) {
  if (!isRagged(d)) return maker_.size(d);
  if (d.isSymbol()) return parameters_.at(raggedDim(d)->lengths);
  const OpDef& def = d.kind() == DimKind::add ? ops::addOp : ops::mulOp;  // it is linear: rows() knows it
  ValueId result = kNoValue;
  for (Dim operand : d.operands()) {
    const ValueId next = valueOf(operand);
    result = result == kNoValue ? next : maker_.make(def, {result, next});
  }
  return result;
}

ValueId RaggedPrelude::lengths(Dim pattern) {
  const Standing standing(*this, pattern);
  ValueId& made = patterns_[pattern.toString()].lengths;
  if (made == kNoValue) made = valueOf(pattern);
  return made;
}

// Where each sequence ends: sums of the lengths.
ValueId RaggedPrelude::ends(Dim pattern) {
  const ValueId all = lengths(pattern);
  const Standing standing(*this, pattern);
  ValueId& made = patterns_[pattern.toString()].ends;
  if (made == kNoValue) made = maker_.make(ops::cumsumOp, {all, maker_.integer(0)});
  return made;
}

ValueId RaggedPrelude::offsets(Dim pattern) {
  const ValueId behind = ends(pattern);
  const Standing standing(*this, pattern);
  ValueId& made = patterns_[pattern.toString()].offsets;
  if (made == kNoValue)
    made = maker_.make(ops::concatOp, {maker_.integers({0}), behind}, {{"axis", int64_t{0}}});
  return made;
}

// As many sequences as end at a row or before it stand before it: one kernel, which keeps none of the tests.
ValueId RaggedPrelude::sequence(Dim pattern) {
  const ValueId behind = ends(pattern);
  const Standing standing(*this, pattern);
  ValueId& made = patterns_[pattern.toString()].sequence;
  if (made != kNoValue) return made;
  const Dim one = ir_.dims().constant(1);
  const Dim batch = raggedDim(raggedSymbols(pattern)[0])->batch;
  const ValueId ended =
      maker_.make(ops::less_equalOp, {maker_.reshape(behind, {one, batch}),
                                      maker_.make(ops::unsqueezeOp, {row(pattern), maker_.integers({1})})});
  made = maker_.make(ops::reduce_sumOp, {maker_.cast(ended, Dtype::i64), maker_.integers({1})},
                     {{"keepdims", int64_t{0}}});
  return made;
}

// 0, 1, ... over all rows.
ValueId RaggedPrelude::row(Dim pattern) {
  const Standing standing(*this, pattern);
  ValueId& made = patterns_[pattern.toString()].row;
  if (made == kNoValue)
    made = maker_.make(ops::rangeOp, {maker_.integer(0), maker_.size(rows(pattern)), maker_.integer(1)});
  return made;
}

ValueId RaggedPrelude::position(Dim pattern) {
  const ValueId of = sequence(pattern), begins = offsets(pattern);
  const Standing standing(*this, pattern);
  ValueId& made = patterns_[pattern.toString()].position;
  if (made != kNoValue) return made;
  made = maker_.make(ops::subOp, {row(pattern), maker_.gather(begins, of, 0)});
  return made;
}

}  // namespace dyn::passes
