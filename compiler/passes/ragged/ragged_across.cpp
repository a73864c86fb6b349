#include "compiler/passes/ragged/ragged_across.h"

#include <algorithm>
#include <limits>

#include "compiler/ops/op_table.h"

namespace dyn::passes {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

Error raggedRefusal(const IrContext& ir, const Op& op, const std::string& why) {
  std::string name(op.def->name);
  if (!op.results.empty()) name += " %" + ir.valueName(op.results[0].id);
  return makeError(DiagnosticId::unsupportedFeature,
                   "unsupported: " + name + " over sequences of different lengths: " + why, op.place);
}

ValueId rowsAlongFirst(OpMaker& maker, ValueId v, Type type, const RowAxes& axes, Dim rows) {
  Shape flat = behindRows(type, axes);
  flat.insert(flat.begin(), rows);
  return maker.reshape(maker.transposed(v, rowsFirst(type, axes)), std::move(flat));
}

Result<std::optional<AcrossPositions::Made>> AcrossPositions::emit(const Op& op) {
  static const std::unordered_map<const OpDef*, Rule> rules{
      {&ops::rangeOp, &AcrossPositions::range},           {&ops::reduce_sumOp, &AcrossPositions::reduction},
      {&ops::reduce_meanOp, &AcrossPositions::reduction}, {&ops::reduce_maxOp, &AcrossPositions::reduction},
      {&ops::reduce_minOp, &AcrossPositions::reduction},  {&ops::softmaxOp, &AcrossPositions::softmax},
      {&ops::concatOp, &AcrossPositions::concat},         {&ops::sliceOp, &AcrossPositions::slice},
      {&ops::gatherOp, &AcrossPositions::gather},
  };
  const auto rule = rules.find(op.def);
  if (rule == rules.end()) return std::optional<Made>();
  return (this->*rule->second)(op);
}

// --- the axes of values

// Known elements of an operand; nullopt: absent.
std::optional<std::vector<int64_t>> AcrossPositions::numbersOf(const Op& op, size_t operand) const {
  if (operand >= op.operands.size() || op.operands[operand] == kNoValue) return std::nullopt;
  const Contents* known = rows_.contentsOf(op.operands[operand]);
  if (!known) return std::nullopt;
  std::vector<int64_t> numbers;
  for (Dim d : *known) {
    if (!d.isConstant()) return std::nullopt;
    numbers.push_back(*d.constant());
  }
  return numbers;
}

bool AcrossPositions::isAlong(int64_t axis, Type type, const RowAxes& axes) const {
  return (axis < 0 ? axis + type.rank() : axis) == axes.position;
}

ValueId AcrossPositions::rowsInFront(ValueId v) {
  const RowAxes axes = rows_.axesOf(v);
  return rowsAlongFirst(maker_, packed_.at(v), rows_.typeOf(v), axes, prelude_.rows(axes.length));
}

// (b, c, ...) with as many positions for all sequences, as rows (b*c, ...).
ValueId AcrossPositions::framesInFront(ValueId v, const RowAxes& axes) {
  const Type type = rows_.typeOf(v);
  return rowsAlongFirst(maker_, v, type, axes,
                        rows_.batch() * type.dims()[static_cast<size_t>(axes.position)]);
}

// What lies with batch and positions in front, as the axes of `type` lie.
ValueId AcrossPositions::inPlace(ValueId front, Dim batch, Dim positions, Type type, const RowAxes& axes) {
  Shape dims = behindRows(type, axes);
  dims.insert(dims.begin(), {batch, positions});
  return maker_.transposed(maker_.reshape(front, std::move(dims)), inverse(rowsFirst(type, axes)));
}

ValueId AcrossPositions::rowsInPlace(ValueId front, Type type, const RowAxes& axes) {
  return inPlace(front, ir_.dims().constant(1), prelude_.rows(axes.length), type, axes);
}

// --- positions

// 0, 1, ... of each sequence.
Result<std::optional<AcrossPositions::Made>> AcrossPositions::range(const Op& op) {
  const std::optional<std::vector<int64_t>> start = numbersOf(op, 0), step = numbersOf(op, 2);
  const Type type = op.results[0].type;
  const RowAxes axes = rows_.axesOf(type);
  if (axes.kind != RaggedKind::alone || !start || !step || (*step)[0] != 1)
    return refusal(op, "a range of positions counts up by one from a number");
  ValueId made = prelude_.position(axes.length);
  if ((*start)[0] != 0) made = maker_.make(ops::addOp, {made, maker_.integer((*start)[0])});
  return std::optional<Made>(Made{type.dtype() == Dtype::i64 ? made : maker_.cast(made, type.dtype())});
}

// --- sums and extremes

// (rows, ...) to (b, ...): of each sequence the sum or an extreme.
ValueId AcrossPositions::bySequence(ValueId front, Type type, const RowAxes& axes, const Segments& how) {
  Shape dims = behindRows(type, axes);
  dims.insert(dims.begin(), rows_.batch());
  HostTensor start = *HostTensor::create(type.dtype(), {1});
  start.setReal(0, how.start);
  const ValueId empty =
      maker_.make(ops::constant_of_shapeOp, {maker_.sizes(std::move(dims))}, {{"value", std::move(start)}});
  const ValueId numbers =
      maker_.make(ops::unsqueezeOp, {prelude_.sequence(axes.length), maker_.integers({1})});
  return maker_.make(ops::scatter_ndOp, {empty, numbers, front}, {{"reduction", std::string(how.reduction)}});
}

// The lengths along the axis of the batch, to be broadcast over the others.
ValueId AcrossPositions::lengthsAs(Type type, const RowAxes& axes) {
  Shape dims(static_cast<size_t>(type.rank()), ir_.dims().constant(1));
  dims[static_cast<size_t>(axes.batch)] = rows_.batch();
  return maker_.reshape(maker_.cast(prelude_.lengths(axes.length), type.dtype()), std::move(dims));
}

Result<std::optional<AcrossPositions::Made>> AcrossPositions::reduction(const Op& op) {
  const ValueId x = op.operands[0];
  const RowAxes axes = rows_.axesOf(x);
  const Type type = rows_.typeOf(x);
  const std::optional<std::vector<int64_t>> folded = numbersOf(op, 1);
  if (axes.kind != RaggedKind::rows || !folded ||
      std::none_of(folded->begin(), folded->end(), [&](int64_t axis) { return isAlong(axis, type, axes); }))
    return std::optional<Made>();
  if (folded->size() != 1) return refusal(op, "it folds the axis of positions and others at once");
  const bool sum = op.def == &ops::reduce_sumOp;
  if (!isReal(type.dtype()) && !(sum && isInteger(type.dtype())))
    return refusal(op, "it folds positions of " + std::string(toString(type.dtype())));
  const Segments how = op.def == &ops::reduce_maxOp   ? Segments{"max", -kInfinity}
                       : op.def == &ops::reduce_minOp ? Segments{"min", kInfinity}
                                                      : Segments{"add", 0};
  ValueId made =
      inPlace(bySequence(rowsInFront(x), type, axes, how), rows_.batch(), ir_.dims().constant(1), type, axes);
  if (op.def == &ops::reduce_meanOp) made = maker_.make(ops::divOp, {made, lengthsAs(type, axes)});
  if (op.results[0].type.rank() != type.rank())
    made = maker_.make(ops::squeezeOp, {made, maker_.integers({axes.position})});
  return std::optional<Made>(Made{made, false});
}

Result<std::optional<AcrossPositions::Made>> AcrossPositions::softmax(const Op& op) {
  const ValueId x = op.operands[0];
  const RowAxes axes = rows_.axesOf(x);
  const Type type = rows_.typeOf(x);
  if (axes.kind != RaggedKind::rows || !isAlong(op.attributes.integer("axis", -1), type, axes))
    return std::optional<Made>();
  const ValueId numbers = prelude_.sequence(axes.length), front = rowsInFront(x);
  const ValueId peak = maker_.gather(bySequence(front, type, axes, {"max", -kInfinity}), numbers, 0);
  const ValueId power = maker_.make(ops::expOp, {maker_.make(ops::subOp, {front, peak})});
  const ValueId sum = maker_.gather(bySequence(power, type, axes, {"add", 0}), numbers, 0);
  return std::optional<Made>(Made{rowsInPlace(maker_.make(ops::divOp, {power, sum}), type, axes)});
}

// --- rows taken from elsewhere

ValueId AcrossPositions::column(ValueId ofSequences) {
  return maker_.make(ops::unsqueezeOp, {ofSequences, maker_.integers({1})});
}

// Along the positions: rows of all operands behind each other, taken sequence by sequence.
Result<std::optional<AcrossPositions::Made>> AcrossPositions::concat(const Op& op) {
  const Type type = op.results[0].type;
  const RowAxes axes = rows_.axesOf(type);
  if (axes.kind != RaggedKind::rows || !isAlong(op.attributes.integer("axis", 0), type, axes))
    return std::optional<Made>();
  const ValueId numbers = prelude_.sequence(axes.length), position = prelude_.position(axes.length);
  std::vector<ValueId> fronts;
  ValueId at = kNoValue;
  Dim before = ir_.dims().constant(0), rowsBefore = before;
  for (ValueId v : op.operands) {
    const RowAxes of = rows_.axesOf(v);
    const Dim length = rows_.typeOf(v).dims()[static_cast<size_t>(axes.position)];
    const bool ragged = of.kind == RaggedKind::rows && of.position == axes.position;
    if ((!ragged && of.kind != RaggedKind::ofBatch) || of.batch != axes.batch)
      return refusal(op, "its operand " + rows_.typeOf(v).toString() + " has no rows of each sequence");
    fronts.push_back(ragged ? rowsInFront(v) : framesInFront(v, axes));
    // Row (sequence, position) of the result is row (sequence, position - before) of this operand, where that
    // is not negative.
    const ValueId first = ragged ? maker_.gather(prelude_.offsets(length), numbers, 0)
                                 : maker_.make(ops::mulOp, {numbers, maker_.size(length)});
    const ValueId ahead =
        isRagged(before) ? maker_.gather(prelude_.lengths(before), numbers, 0) : maker_.size(before);
    const ValueId inOperand = maker_.make(ops::addOp, {first, maker_.make(ops::subOp, {position, ahead})});
    const ValueId here = maker_.make(ops::addOp, {inOperand, maker_.size(rowsBefore)});
    const ValueId isHere = maker_.make(ops::less_equalOp, {ahead, position});
    at = at == kNoValue ? here : maker_.make(ops::whereOp, {isHere, here, at});
    before = before + length;
    rowsBefore = rowsBefore + (ragged ? prelude_.rows(length) : rows_.batch() * length);
  }
  const ValueId all = maker_.make(ops::concatOp, std::move(fronts), {{"axis", int64_t{0}}});
  return std::optional<Made>(Made{rowsInPlace(maker_.gather(all, at, 0), type, axes)});
}

// Of each sequence the positions `places`, counted from its end where they are negative: (b, places, ...)
// with the axes of x.
ValueId AcrossPositions::takenFrames(ValueId x, const RowAxes& axes, const std::vector<int64_t>& places) {
  const Type type = rows_.typeOf(x);
  const bool fromEnd = !places.empty() && places[0] < 0;
  const ValueId border = fromEnd ? prelude_.ends(axes.length) : prelude_.begins(axes.length);
  const ValueId at = maker_.make(ops::addOp, {column(border), maker_.integers(places)});
  return inPlace(maker_.gather(rowsInFront(x), at, 0), rows_.batch(),
                 ir_.dims().constant(static_cast<int64_t>(places.size())), type, axes);
}

// From the last position to the first: all of them.
bool AcrossPositions::isReversal(const Op& op, Dim count, Dim length) const {
  const std::optional<std::vector<int64_t>> start = numbersOf(op, 1), step = numbersOf(op, 4);
  return start && step && (*start)[0] == -1 && (*step)[0] == -1 &&
         ir_.facts().equal(count, length) == Answer::yes;
}

// From the same place of each sequence on; how many positions there are the type rule has proved.
Result<std::optional<AcrossPositions::Made>> AcrossPositions::slice(const Op& op) {
  const ValueId x = op.operands[0];
  const RowAxes from = rows_.axesOf(x);
  const Type type = rows_.typeOf(x), to = op.results[0].type;
  const std::optional<std::vector<int64_t>> start = numbersOf(op, 1), along = numbersOf(op, 3),
                                            step = numbersOf(op, 4);
  if (from.kind != RaggedKind::rows || !along ||
      std::none_of(along->begin(), along->end(), [&](int64_t axis) { return isAlong(axis, type, from); }))
    return std::optional<Made>();
  if (along->size() != 1)
    return refusal(op, "it takes a part of the axis of positions and of others at once");
  if (isReversal(op, to.dims()[static_cast<size_t>(from.position)], from.length)) {
    const ValueId last = maker_.gather(prelude_.ends(from.length), prelude_.sequence(from.length), 0);
    const ValueId behind = maker_.make(ops::addOp, {prelude_.position(from.length), maker_.integer(1)});
    const ValueId at = maker_.make(ops::subOp, {last, behind});
    return std::optional<Made>(Made{rowsInPlace(maker_.gather(rowsInFront(x), at, 0), to, from)});
  }
  if (!start || (op.operands.size() > 4 && op.operands[4] != kNoValue && (!step || (*step)[0] != 1)))
    return refusal(op, "a part of the positions begins at a number, with a step of 1");
  const int64_t first = (*start)[0];
  const Dim least = ir_.dims().constant(first < 0 ? -first : first);
  const bool longEnough = ir_.facts().lessEqual(least, from.length) == Answer::yes;
  const Dim count = to.dims()[static_cast<size_t>(from.position)];
  const RowAxes axes = rows_.axesOf(to);
  if (axes.kind == RaggedKind::ofBatch && count.isConstant() && longEnough) {
    std::vector<int64_t> places;
    for (int64_t i = 0; i < *count.constant(); ++i) places.push_back(first + i);
    return std::optional<Made>(Made{takenFrames(x, from, places), false});
  }
  if (axes.kind != RaggedKind::rows)
    return refusal(op, "how many positions are left of a sequence is " + count.toString());
  ValueId border = first < 0 ? prelude_.ends(from.length) : prelude_.begins(from.length);
  if (!longEnough) {  // no place before the first or behind the last
    const ValueId length = prelude_.lengths(from.length);
    const ValueId taken = maker_.make(ops::minOp, {length, maker_.size(least)});
    border = first < 0 ? maker_.make(ops::subOp, {border, taken}) : maker_.make(ops::addOp, {border, taken});
  }
  const ValueId begin = maker_.gather(border, prelude_.sequence(axes.length), 0);
  ValueId at = maker_.make(ops::addOp, {begin, prelude_.position(axes.length)});
  if (longEnough) at = maker_.make(ops::addOp, {at, maker_.integer(first)});
  return std::optional<Made>(Made{rowsInPlace(maker_.gather(rowsInFront(x), at, 0), to, axes)});
}

// Positions by number; each sequence must have them.
Result<std::optional<AcrossPositions::Made>> AcrossPositions::gather(const Op& op) {
  const ValueId x = op.operands[0];
  const RowAxes axes = rows_.axesOf(x);
  const Type type = rows_.typeOf(x);
  if (axes.kind != RaggedKind::rows || !isAlong(op.attributes.integer("axis", 0), type, axes))
    return std::optional<Made>();
  const std::optional<std::vector<int64_t>> places = numbersOf(op, 1);
  const bool ends = places && !places->empty() && (*places)[0] < 0;
  const int rank = rows_.typeOf(op.operands[1]).rank();
  if (!places || places->empty() || rank > 1 ||
      std::any_of(places->begin(), places->end(), [&](int64_t place) { return (place < 0) != ends; }))
    return refusal(op, "it takes positions that are not constants, or count from both ends");
  const int64_t least = ends ? -*std::min_element(places->begin(), places->end())
                             : *std::max_element(places->begin(), places->end()) + 1;
  maker_.check(ops::check_valuesOp, {prelude_.lengths(axes.length), maker_.integer(least)},
               {{"elements", std::string("in_range")},
                {"what", "every sequence has the position that gather %" + ir_.valueName(op.results[0].id) +
                             " takes"}});
  ValueId made = takenFrames(x, axes, *places);
  if (rank == 0) made = maker_.make(ops::squeezeOp, {made, maker_.integers({axes.position})});
  return std::optional<Made>(Made{made, false});
}

}  // namespace dyn::passes
