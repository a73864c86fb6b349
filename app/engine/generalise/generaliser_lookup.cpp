// Lookups in a batch that had one row in the example. Exporters write x[b, i] as a lookup in the flattened
// x, by b * length + i. With one row every b is 0, and whether it means row b or the first row, the file
// does not say. Who opens that axis means row b.
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
  const auto number = [&](int64_t value) {
    return emit(made, ops::constantOp, {}, Attributes{{"value", HostTensor::scalarInt(Dtype::i64, value)}},
                op.place);
  };
  const ValueId end = emit(made, ops::dim_valueOp, {}, Attributes{{"value", Shape{count}}}, op.place);
  ValueId numbers = emit(made, ops::rangeOp, {number(0), end, number(1)}, {}, op.place);
  if (rows->numbers->dtype() != Dtype::i64)
    numbers = emit(made, ops::castOp, {numbers}, Attributes{{"to", rows->numbers->dtype()}}, op.place);
  Shape shape(static_cast<size_t>(rows->numbers->rank()), ir_.dims().constant(1));
  shape[0] = count;
  numbers = emit(made, ops::reshapeOp, {numbers, dimsValue(made, shape, op.place)}, {}, op.place);
  note(op, "the row 0 becomes the rows 0 to " + count.toString() + " - 1",
       "it looks up elements row by row, and " + count.toString() + " was 1 in the example",
       request_.second == nullptr);
  insertBefore(place, made);
  setOperand(place, rows->slot, numbers);
  return true;
}

}  // namespace dyn
