// The same model exported at other sizes: it says what the numbers of the first leave open.
#include <algorithm>

#include "app/engine/generalise/generaliser.h"
#include "compiler/ops/op_table.h"

namespace dyn {

Status Generaliser::readSecond() {
  if (request_.second == nullptr) return {};
  const Function& main = *request_.second->main();
  if (main.parameters.size() != parameters_.size())
    return makeError(DiagnosticId::usageError, "--second: the other model has another number of inputs");
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Type mine = parameters_[i].type, other = main.parameters[i].type;
    if (!mine || !other || !mine.isTensor() || !other.isTensor() || mine.rank() != other.rank()) continue;
    for (size_t axis = 0; axis < mine.dims().size(); ++axis)
      if (const auto size = other.dims()[axis].constant(); size && isOpen(mine.dims()[axis]))
        secondSizes_.set(mine.dims()[axis], *size);
  }
  for (const auto& [name, size] : result_.sizes) {
    const auto other = secondSizes_.get(ir_.dims().symbol(name).symbol());
    if (!other || *other == size)
      return makeError(DiagnosticId::usageError, "--second: the other model has no other size for " + name +
                                                     " than " + std::to_string(size));
  }
  // Operations one by one, without those that inference adds.
  std::vector<const Op*> theirs;
  for (const Op* op : main.ops)
    if (op->def != &ops::checkOp && op->def != &ops::check_valuesOp && op->def != &ops::bind_dimsOp)
      theirs.push_back(op);
  size_t i = 0;
  while (i < ops_.size() && i < theirs.size() && ops_[i]->def == theirs[i]->def) ++i;
  if (i < ops_.size() || i < theirs.size())
    return makeError(DiagnosticId::usageError, "--second: the other model is another graph from here on",
                     i < ops_.size() ? ops_[i]->place : theirs[i]->place);
  secondOps_ = theirs;
  for (const Op* op : theirs) {
    Type type = op->results.empty() ? Type() : op->results[0].type;
    secondTypes_.push_back(type && type.isTensor() ? type : Type());
  }
  return {};
}

std::optional<int64_t> Generaliser::valueInSecond(Dim dim) const {
  const Result<int64_t> value = evaluate(dim, secondSizes_);
  return value.ok() ? std::optional<int64_t>(*value) : std::nullopt;
}

std::optional<std::vector<int64_t>> Generaliser::shapeInSecond(const Op& op) const {
  const auto index = op.results.empty() ? original_.end() : original_.find(op.results[0].id);
  if (request_.second == nullptr || index == original_.end() || !secondTypes_[index->second])
    return std::nullopt;
  std::vector<int64_t> shape;
  for (const Dim dim : secondTypes_[index->second].dims()) {
    const auto size = dim.constant();
    if (!size) return std::nullopt;
    shape.push_back(*size);
  }
  return shape;
}

void Generaliser::compareWithSecond() {
  // Numbers that differ between the exports, and that no rule has opened.
  std::set<ValueId> read;
  for (const Op* op : ops_)
    if (op->def != &ops::reshapeOp) read.insert(op->operands.begin(), op->operands.end());
  for (const Op* op : ops_) {
    const auto index = op->results.empty() ? original_.end() : original_.find(op->results[0].id);
    if (op->def != &ops::constantOp || index == original_.end() || index->second >= secondOps_.size())
      continue;
    const Op* theirs = secondOps_[index->second];
    if (read.count(op->results[0].id) == 0 || theirs->def != &ops::constantOp) continue;
    const HostTensor &here = *op->attributes.tensor("value"), &there = *theirs->attributes.tensor("value");
    if (here.shape() != there.shape() || isInteger(here.dtype()) || here.identical(there)) continue;
    return refuse(*op, "its numbers are others in the second export, and are no size of it");
  }
  for (const Op* op : ops_) {
    const auto shape = shapeInSecond(*op);
    const Type type = shape ? typeOf(op->results[0].id) : Type();
    if (!type) continue;
    for (size_t axis = 0; axis < type.dims().size() && axis < shape->size(); ++axis) {
      const auto here = valueInSecond(type.dims()[axis]);
      if (!here || *here == (*shape)[axis]) continue;
      return refuse(*op, "axis " + std::to_string(axis) + " of its result is " +
                             type.dims()[axis].toString() + ", which would be " + std::to_string(*here) +
                             " in the second export, where it is " + std::to_string((*shape)[axis]));
    }
  }
}

}  // namespace dyn
