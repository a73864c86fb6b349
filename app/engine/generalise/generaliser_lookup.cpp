// Lookups in a batch that had one row in the example. Exporters write x[b, i] as a lookup in the flattened
// x, by b * length + i. With one row every b is 0, and whether it means row b or the first row, the file
// does not say. Who opens that axis means row b.
#include <algorithm>
#include <cmath>

#include "app/engine/generalise/generaliser.h"
#include "compiler/ops/op_table.h"

namespace dyn {
namespace {

// [0], [[0]], ...
bool isRowZero(const HostTensor& tensor) {
  return isInteger(tensor.dtype()) && tensor.rank() > 0 && tensor.elementCount() == 1 && tensor.intAt(0) == 0;
}

}  // namespace

// index = numbers * length + places, in any order.
std::optional<Generaliser::RowNumbers> Generaliser::rowNumbersOf(ValueId index) const {
  std::vector<ValueId> list{index};
  while (!list.empty()) {
    const Op* op = definition(list.back());
    list.pop_back();
    if (op == nullptr) continue;
    if (op->def == &ops::castOp || op->def == &ops::identityOp) list.push_back(op->operands[0]);
    if (op->def == &ops::addOp) list.insert(list.end(), op->operands.begin(), op->operands.end());
    if (op->def != &ops::mulOp) continue;
    for (size_t slot = 0; slot != op->operands.size(); ++slot) {
      const HostTensor* numbers = constantOf(op->operands[slot]);
      if (numbers != nullptr && isRowZero(*numbers)) return RowNumbers{op, slot, numbers};
    }
  }
  return std::nullopt;
}

// Is a coordinate 0 in all entries of an index?
bool Generaliser::isZeroCoordinate(ValueId index, int64_t coordinate) const {
  const Op* op = definition(index);
  while (op != nullptr && (op->def == &ops::castOp || op->def == &ops::expandOp ||
                           op->def == &ops::unsqueezeOp || op->def == &ops::identityOp)) {
    // Of one coordinate alone these change nothing that is looked at.
    const Type type = operandType(*op, 0);
    const bool isOne = op->def == &ops::castOp || op->def == &ops::identityOp || coordinate == 0;
    if (!isOne || !type) return false;
    op = definition(op->operands[0]);
  }
  if (op == nullptr) return false;
  if (op->def == &ops::concatOp) {
    const Type made = typeOf(op->results[0].id);
    const int64_t axis = op->attributes.integer("axis");
    if (!made || (axis < 0 ? axis + made.rank() : axis) != made.rank() - 1 ||
        made.dims().back().constant() != static_cast<int64_t>(op->operands.size()))
      return false;
    return isZeroCoordinate(op->operands[static_cast<size_t>(coordinate)], 0);
  }
  const HostTensor* value = op->def == &ops::constantOp ? op->attributes.tensor("value") : nullptr;
  if (value == nullptr || !isInteger(value->dtype()) || value->elementCount() == 0) return false;
  const int64_t count = value->rank() == 0 ? 1 : value->shape().back();
  for (int64_t i = 0; i < value->elementCount(); ++i)
    if ((count == 1 || i % count == coordinate) && value->intAt(i) != 0) return false;
  return count == 1 || coordinate < count;
}

// x[b, i] by coordinates: the rows are those of the first axis of the index.
bool Generaliser::openCoordinates(size_t at) {
  const Op& op = *ops_[at];
  const Type from = operandType(op, 0), index = operandType(op, 1);
  if (!from || !index || index.rank() < 2 || op.attributes.integer("batch_dims", 0) != 0) return false;
  const auto depth = index.dims().back().constant();
  for (int64_t k = 0; depth && k < *depth; ++k) {
    const Dim rows = from.dims()[static_cast<size_t>(k)];
    const std::set<SymbolId> ones = onesOf(rows);
    const Dim first = index.dims()[0];
    if (ones.empty() || !rows.isSymbol() || (!first.isConstant(1) && first != rows)) continue;
    if (!isZeroCoordinate(op.operands[1], k)) continue;
    std::vector<const Op*> made;
    ValueId numbers =
        numbersAlong(made, ir_.dims().constant(0), rows, static_cast<size_t>(index.rank()), 0, op.place);
    std::vector<int64_t> only(static_cast<size_t>(*depth), 0);
    only[static_cast<size_t>(k)] = 1;
    const ValueId mask = constantValue(made, HostTensor::vectorInt(Dtype::i64, only), op.place);
    numbers = emit(made, ops::mulOp, {numbers, mask}, {}, op.place);
    if (index.dtype() != Dtype::i64)
      numbers = emit(made, ops::castOp, {numbers}, Attributes{{"to", index.dtype()}}, op.place);
    const ValueId sum = emit(made, ops::addOp, {op.operands[1], numbers}, {}, op.place);
    note(op, "the row 0 becomes the rows 0 to " + rows.toString() + " - 1",
         "it looks up elements row by row, and " + rows.toString() + " was 1 in the example",
         request_.second == nullptr);
    insertBefore(at, made);
    setOperand(at, 1, sum);
    return true;
  }
  return false;
}

// Places of an open axis that are numbers. One that is the last of the example is the last, all in order are
// all. Others that reach the end, or one lookup for each place, are what an exporter made of the size.
Result<bool> Generaliser::openPlaces(size_t at) {
  const Op& op = *ops_[at];
  const Type from = operandType(op, 0);
  const HostTensor* index = op.def == &ops::gatherOp ? constantOf(op.operands[1]) : nullptr;
  if (!from || index == nullptr || index->elementCount() == 0) return false;
  int64_t axis = op.attributes.integer("axis");
  if (axis < 0) axis += from.rank();
  const Dim along = from.dims()[static_cast<size_t>(axis)];
  const int64_t size = valueOf(along).value_or(0);
  if (!isOpen(along) || size < 2) return false;
  int64_t most = -1;
  for (int64_t i = 0; i < index->elementCount(); ++i) most = std::max(most, index->intAt(i));
  if (index->elementCount() == 1) {
    if (most == size - 1 && size > 2) {
      HostTensor last = HostTensor::scalarInt(index->dtype(), -1).reshaped(index->shape());
      note(op, "the place " + std::to_string(most) + " of axis " + std::to_string(axis) + " becomes the last",
           "it was the last in the example", request_.second == nullptr);
      std::vector<const Op*> made;
      const ValueId value = emit(made, ops::constantOp, {}, Attributes{{"value", last}}, op.place);
      insertBefore(at, made);
      setOperand(at, 1, value);
      return true;
    }
    return false;
  }
  // Of a flattened batch of 1, openLookup says which rows are meant.
  if (most != size - 1 || !onesOf(along).empty()) return false;
  const std::optional<ConstantPattern> pattern =
      index->rank() == 1 ? patternOf(*index, 0) : std::optional<ConstantPattern>();
  const bool isAll = pattern && index->elementCount() == size &&
                     (pattern->kind == ConstantPattern::Kind::counted ||
                      (pattern->kind == ConstantPattern::Kind::linear && std::abs(pattern->step) == 1));
  if (!isAll) {
    refuse(op, "it looks up numbered places of " + along.toString() + ", up to the last of the example");
    return false;
  }
  const std::string why = openConstant({at, 1, 0, along}, *index, Constants::patterns);
  if (!why.empty()) refuse(op, why);
  return why.empty();
}

// Windows that part an open axis into three at most, as those of a pooling to a fixed size do.
bool Generaliser::isAdaptive(const Op& op) const {
  constexpr int64_t kLeastWindow = 3, kMostParts = 3;
  const Type from = operandType(op, 0);
  if ((op.def != &ops::average_poolOp && op.def != &ops::max_poolOp) || !from || request_.second != nullptr)
    return false;
  const std::vector<int64_t> windows = op.attributes.integers("kernel_shape"),
                             strides = op.attributes.integers("strides");
  for (size_t i = 0; i < windows.size() && i < strides.size() && i + 2 < from.dims().size(); ++i) {
    const Dim dim = from.dims()[i + 2];
    const int64_t size = valueOf(dim).value_or(0);
    if (isOpen(dim) && windows[i] >= kLeastWindow && windows[i] == strides[i] && size % windows[i] == 0 &&
        size / windows[i] <= kMostParts)
      return true;
  }
  return false;
}

// Does the model take each place of an open axis by an operation of its own?
bool Generaliser::isUnrolled(size_t at) const {
  const auto placeOf = [&](const Op& op) -> std::optional<std::pair<int64_t, int64_t>> {  // axis, place
    const Type from = operandType(op, 0);
    if (!from) return std::nullopt;
    if (op.def == &ops::gatherOp) {
      const HostTensor* index = constantOf(op.operands[1]);
      if (index == nullptr || index->elementCount() != 1) return std::nullopt;
      const int64_t axis = op.attributes.integer("axis");
      return std::pair(axis < 0 ? axis + from.rank() : axis, index->intAt(0));
    }
    if (op.def != &ops::sliceOp || op.operands.size() < 4 || op.operands[3] == kNoValue) return std::nullopt;
    const HostTensor *starts = constantOf(op.operands[1]), *ends = constantOf(op.operands[2]),
                     *axes = constantOf(op.operands[3]);
    if (starts == nullptr || ends == nullptr || axes == nullptr || axes->elementCount() != 1)
      return std::nullopt;
    if (ends->intAt(0) - starts->intAt(0) != 1) return std::nullopt;
    return std::pair(axes->intAt(0) < 0 ? axes->intAt(0) + from.rank() : axes->intAt(0), starts->intAt(0));
  };
  const auto mine = placeOf(*ops_[at]);
  const Type from = operandType(*ops_[at], 0);
  if (!mine || mine->second != 0 || mine->first < 0 || mine->first >= from.rank()) return false;
  const Dim along = from.dims()[static_cast<size_t>(mine->first)];
  const int64_t size = valueOf(along).value_or(0);
  if (!isOpen(along) || size < 2) return false;
  std::set<int64_t> places;
  for (const Op* op : ops_) {
    if (op->operands.empty() || op->operands[0] != ops_[at]->operands[0]) continue;
    if (const auto other = placeOf(*op); other && other->first == mine->first) places.insert(other->second);
  }
  return static_cast<int64_t>(places.size()) >= size;
}

// Sums of elements that go to numbered places: the base is as long as a size of the example.
Result<bool> Generaliser::openBase(size_t at) {
  const Op& op = *ops_[at];
  const Type base = operandType(op, 0), index = operandType(op, 1);
  if (!base || !index || constantOf(op.operands[1]) != nullptr) return false;
  size_t begin = 0, end = 0;
  if (op.def == &ops::scatter_elementsOp) {
    const int64_t axis = op.attributes.integer("axis");
    begin = static_cast<size_t>(axis < 0 ? axis + base.rank() : axis);
    end = begin + 1;
  } else if (op.def == &ops::scatter_ndOp) {
    end = static_cast<size_t>(index.dims().back().constant().value_or(0));
  }
  for (size_t axis = begin; axis < end; ++axis) {
    const auto size = base.dims()[axis].constant();
    if (!size || *size < 2) continue;
    std::vector<Dim> dims;
    for (const auto& [name, one] : result_.sizes)
      if (one == *size) dims.push_back(ir_.dims().symbol(name));
    if (dims.size() > 1) {
      refuse(op, "its base has " + std::to_string(*size) + " entries, which may be " + dims[0].toString() +
                     " or " + dims[1].toString() + ": an export at sizes that differ says which");
      return false;
    }
    if (dims.empty()) continue;
    if (!open({at, 0, axis, dims[0]}).empty()) continue;
    result_.openings.back().doubtful = request_.second == nullptr;
    return true;
  }
  return false;
}

bool Generaliser::openLookup(size_t at) {
  const Op& op = *ops_[at];
  const Type from = operandType(op, 0);
  if (op.def != &ops::gatherOp || !from) return false;
  int64_t axis = op.attributes.integer("axis");
  if (axis < 0) axis += from.rank();
  const Dim along = from.dims()[static_cast<size_t>(axis)];
  const std::set<SymbolId> ones = onesOf(along);
  const std::optional<RowNumbers> rows = rowNumbersOf(op.operands[1]);
  if (ones.size() != 1 || !rows) return false;
  const Dim count = ir_.dims().symbolById(*ones.begin());
  size_t place = positionOf(*rows->product);
  std::vector<const Op*> made;
  ValueId numbers = numbersAlong(made, ir_.dims().constant(0), count,
                                 static_cast<size_t>(rows->numbers->rank()), 0, op.place);
  if (rows->numbers->dtype() != Dtype::i64)
    numbers = emit(made, ops::castOp, {numbers}, Attributes{{"to", rows->numbers->dtype()}}, op.place);
  note(op, "the row 0 becomes the rows 0 to " + count.toString() + " - 1",
       "it looks up elements row by row, and " + count.toString() + " was 1 in the example",
       request_.second == nullptr);
  insertBefore(place, made);
  setOperand(place, rows->slot, numbers);
  return true;
}

}  // namespace dyn
