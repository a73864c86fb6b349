#include "compiler/passes/ragged/ragged_prelude.h"

#include <algorithm>

#include "compiler/ops/op_table.h"

namespace dyn::passes {

RaggedPrelude::RaggedPrelude(IrContext& ir, OpMaker& maker, Dim batch, std::map<std::string, ValueId> lengths,
                             SourceLocation place)
    : ir_(ir), maker_(maker), batch_(batch), parameters_(std::move(lengths)), place_(std::move(place)) {}

RaggedPrelude::Standing::Standing(RaggedPrelude& prelude, Dim pattern)
    : maker_(prelude.maker_), before_(prelude.maker_.place()) {
  SourceLocation place = prelude.place_;
  place.node = "prelude of " + pattern.toString();
  maker_.standAt(std::move(place));
}

Dim RaggedPrelude::rows(Dim pattern) {
  if (const auto known = rows_.find(pattern.toString()); known != rows_.end()) return known->second;
  const Dim linear = sumOverBatch(pattern), sum = linear ? linear : sumOfOthers(pattern);
  rows_[pattern.toString()] = sum;
  DimSolver& facts = ir_.facts();
  const Reason reason{"a sum of lengths", place_};
  const Dim zero = ir_.dims().constant(0);
  const auto notNegative = [&](Dim d) {
    if (facts.lessEqual(zero, d) != Answer::yes) (void)facts.addRange(d, 0, std::nullopt, reason);
  };
  if (facts.lessEqual(zero, pattern) == Answer::yes) notNegative(sum);
  if (const std::optional<int64_t> most = facts.interval(pattern).high) notNegative(batch_ * *most - sum);
  return sum;
}

// The sum of lengths that are not linear in those of the inputs. None of them is negative.
Dim RaggedPrelude::sumOfOthers(Dim pattern) {
  const ValueId all = lengths(pattern);
  const Standing standing(*this, pattern);
  const std::string what = "the lengths " + pattern.toString();
  const Dim zero = ir_.dims().constant(0), sum = sumByTerms(pattern);
  if (ir_.facts().lessEqual(zero, pattern) != Answer::yes)
    maker_.check(ops::check_valuesOp, {all, maker_.integer(0)},
                 {{"elements", std::string("in_range")}, {"what", what}});
  maker_.check(ops::checkOp, {},
               {{"lhs", Shape{zero}}, {"relation", std::string("le")}, {"rhs", Shape{sum}}, {"what", what}});
  return sum;
}

// Of `3*floordiv(len[b], 2) + 1`: 3*?1 + b, where ?1 is what the run finds; of `8*len[b]*more[b]`: 8 times
// len.more.sum, which it finds, too.
Dim RaggedPrelude::sumByTerms(Dim d) {
  if (const Dim linear = sumOverBatch(d)) return linear;
  if (!isRagged(d)) return batch_ * d;
  if (d.kind() == DimKind::add) {
    Dim sum = ir_.dims().constant(0);
    for (Dim term : d.operands()) sum = sum + sumByTerms(term);
    return sum;
  }
  if (d.kind() == DimKind::mul) {
    Dim plain = ir_.dims().constant(1), rest = plain;
    for (Dim factor : d.operands())
      (isRagged(factor) ? rest : plain) = (isRagged(factor) ? rest : plain) * factor;
    if (rest != d) return plain * sumByTerms(rest);
  }
  Dim& found = found_.try_emplace(d.toString()).first->second;
  if (found) return found;
  const ValueId total =
      maker_.make(ops::reduce_sumOp, {valueOf(d), maker_.integers({0})}, {{"keepdims", int64_t{0}}});
  const Dim named = sumOfElements(d);
  found = named ? named : ir_.dims().any("the sum of " + d.toString());
  maker_.check(ops::bind_dimsOp, {total}, {{"dims", Shape{found}}, {"elements", std::vector<int64_t>{0}}});
  return found;
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
  std::vector<ValueId> operands;
  for (Dim operand : d.operands()) operands.push_back(valueOf(operand));
  if (d.kind() == DimKind::floorDiv) return quotient(operands[0], operands[1]);
  if (d.kind() == DimKind::ceilDiv)
    return maker_.make(ops::negOp, {quotient(maker_.make(ops::negOp, {operands[0]}), operands[1])});
  const OpDef& def = d.kind() == DimKind::add   ? ops::addOp
                     : d.kind() == DimKind::mul ? ops::mulOp
                     : d.kind() == DimKind::mod ? ops::modOp
                     : d.kind() == DimKind::min ? ops::minOp
                                                : ops::maxOp;
  ValueId result = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) result = maker_.make(def, {result, operands[i]});
  return result;
}

// Toward minus infinity: div drops what is behind the point, and mod has the sign of the divisor.
ValueId RaggedPrelude::quotient(ValueId a, ValueId b) {
  return maker_.make(ops::divOp, {maker_.make(ops::subOp, {a, maker_.make(ops::modOp, {a, b})}), b});
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

ValueId RaggedPrelude::begins(Dim pattern) {
  const ValueId behind = ends(pattern), all = lengths(pattern);
  const Standing standing(*this, pattern);
  ValueId& made = patterns_[pattern.toString()].begins;
  if (made == kNoValue) made = maker_.make(ops::subOp, {behind, all});
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
  const ValueId ended =
      maker_.make(ops::less_equalOp, {maker_.reshape(behind, {one, batch_}),
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
