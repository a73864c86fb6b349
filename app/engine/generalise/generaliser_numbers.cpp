// Numbers of the example that the model computes with: x / 128.
#include <algorithm>

#include "app/engine/generalise/generaliser.h"
#include "compiler/ops/op_table.h"

namespace dyn {
namespace {

// Smaller numbers are everywhere.
constexpr int64_t kLeastSuspect = 8;

// The number of a constant of one element; nullopt: it is none.
std::optional<double> loneNumber(const Op& op) {
  const HostTensor* value = op.def == &ops::constantOp ? op.attributes.tensor("value") : nullptr;
  if (value == nullptr || value->elementCount() != 1 || value->dtype() == Dtype::string ||
      value->dtype() == Dtype::boolean)
    return std::nullopt;
  return value->realAt(0);
}

}  // namespace

void Generaliser::openNumbers() {
  std::vector<std::pair<size_t, Dim>> found;
  for (size_t i = 0; i < ops_.size() && i < secondOps_.size(); ++i) {
    const auto here = loneNumber(*ops_[i]), there = loneNumber(*secondOps_[i]);
    if (!here || !there || *here == *there) continue;
    for (const auto& [name, size] : result_.sizes) {
      const Dim dim = ir_.dims().symbol(name);
      if (*here != static_cast<double>(size) ||
          *there != static_cast<double>(*secondSizes_.get(dim.symbol())))
        continue;
      found.emplace_back(i, dim);
      break;
    }
  }
  // Back to front, so that the places of those before stay.
  for (auto one = found.rbegin(); one != found.rend(); ++one)
    openNumber(one->first, one->second, "it is as large as that dim in both exports", false);
}

void Generaliser::openNumber(size_t at, Dim dim, const std::string& why, bool doubtful) {
  const Op constant = *ops_[at];
  const HostTensor& value = *constant.attributes.tensor("value");
  std::vector<const Op*> made;
  ValueId number = dimsValue(made, Shape{dim}, constant.place);
  number = emit(made, ops::castOp, {number}, Attributes{{"to", value.dtype()}}, constant.place);
  Shape shape;
  for (const int64_t one : value.shape()) shape.push_back(ir_.dims().constant(one));
  Op reshaped;
  reshaped.def = &ops::reshapeOp;
  reshaped.operands = {number, dimsValue(made, shape, constant.place)};
  reshaped.results = constant.results;
  reshaped.place = constant.place;
  note(constant, "the number " + std::to_string(*valueOf(dim)) + " becomes " + dim.toString(), why, doubtful);
  ops_[at] = ir_.own(std::move(reshaped));
  insertBefore(at, made);
}

std::set<ValueId> Generaliser::countedAlong(SymbolId symbol) const {
  const auto has = [&](Dim dim) {
    const std::vector<SymbolId> symbols = symbolsOf(dim);
    return std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
  };
  const auto isLong = [&](Type type) {
    return type && std::any_of(type.dims().begin(), type.dims().end(), has);
  };
  std::set<ValueId> counted;
  for (const Op* op : ops_) {
    if (op->results.empty()) continue;
    const ValueId result = op->results[0].id;
    const bool goesOn = op->def->cls == OpClass::elementwise || op->def == &ops::reshapeOp ||
                        op->def == &ops::expandOp || op->def == &ops::unsqueezeOp ||
                        op->def == &ops::squeezeOp || op->def == &ops::transposeOp;
    bool is = op->def == &ops::rangeOp && isLong(typeOf(result));
    is = is || (op->def == &ops::reduce_sumOp && isLong(operandType(*op, 0)) && !isLong(typeOf(result)));
    for (const ValueId operand : op->operands) is = is || (goesOn && counted.count(operand) != 0);
    if (is) counted.insert(result);
  }
  return counted;
}

bool Generaliser::openSorted() {
  for (const Op* op : ops_) {
    if (op->def != &ops::topkOp) continue;
    const Type sorted = operandType(*op, 0);
    const Op* count = definition(op->operands[1]);
    if (!sorted || sorted.rank() == 0 || count == nullptr) continue;
    const int64_t axis = op->attributes.integer("axis", -1);
    const Dim length = sorted.dims()[static_cast<int>(axis < 0 ? axis + sorted.rank() : axis)];
    const std::optional<int64_t> size = valueOf(length);
    if (!isOpen(length) || !isKnown(length) || size.value_or(0) < 2) continue;
    if (loneNumber(*count) != static_cast<double>(*size)) continue;
    openNumber(positionOf(*count), length, "so many elements of an axis of that length are sorted", true);
    return true;
  }
  return false;
}

bool Generaliser::openLength() {
  for (const auto& [name, size] : result_.sizes) {
    if (size < kLeastSuspect) continue;
    const Dim dim = ir_.dims().symbol(name);
    const std::set<ValueId> counted = countedAlong(dim.symbol());
    for (const Op* op : ops_) {
      if (op->def != &ops::divOp && op->def != &ops::mulOp) continue;
      for (size_t slot = 0; slot != 2; ++slot) {
        if (counted.count(op->operands[1 - slot]) == 0) continue;
        const Op* number = definition(op->operands[slot]);
        if (number == nullptr || loneNumber(*number) != static_cast<double>(size)) continue;
        openNumber(positionOf(*number), dim, "positions or a sum along that dim are scaled by it", true);
        return true;
      }
    }
  }
  return false;
}

void Generaliser::suspectNumbers() {
  std::set<ValueId> computedWith;
  for (const Op* op : ops_)
    if (op->def == &ops::mulOp || op->def == &ops::divOp || op->def == &ops::addOp ||
        op->def == &ops::subOp || op->def == &ops::powOp)
      computedWith.insert(op->operands.begin(), op->operands.end());
  for (const Op* op : ops_) {
    const auto number = loneNumber(*op);
    if (!number || computedWith.count(op->results[0].id) == 0) continue;
    for (const auto& [name, size] : result_.sizes)
      if (size >= kLeastSuspect && *number == static_cast<double>(size))
        result_.suspects.push_back({op->place, std::string(op->def->name),
                                    "this " + std::to_string(size) + " may be the example's " + name});
  }
}

}  // namespace dyn
