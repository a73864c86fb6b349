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
    openNumber(one->first, one->second, static_cast<double>(*valueOf(one->second)),
               "it is as large as that dim in both exports", false);
}

void Generaliser::openNumber(size_t at, Dim dim, double number, const std::string& why, bool doubtful) {
  const Op constant = *ops_[at];
  const HostTensor& value = *constant.attributes.tensor("value");
  std::vector<const Op*> made;
  ValueId opened = dimsValue(made, Shape{dim}, constant.place);
  opened = emit(made, ops::castOp, {opened}, Attributes{{"to", value.dtype()}}, constant.place);
  Shape shape;
  for (const int64_t one : value.shape()) shape.push_back(ir_.dims().constant(one));
  Op reshaped;
  reshaped.def = &ops::reshapeOp;
  reshaped.operands = {opened, dimsValue(made, shape, constant.place)};
  reshaped.results = constant.results;
  reshaped.place = constant.place;
  note(constant, "the number " + std::to_string(static_cast<int64_t>(number)) + " becomes " + dim.toString(),
       why, doubtful);
  ops_[at] = ir_.own(std::move(reshaped));
  insertBefore(at, made);
}

std::unordered_map<ValueId, std::vector<std::pair<Dim, bool>>> Generaliser::lengthsOfValues() const {
  constexpr size_t kMost = 4;
  std::unordered_map<ValueId, std::vector<std::pair<Dim, bool>>> lengths;
  const auto add = [&](ValueId value, Dim length, bool isSum) {
    auto& known = lengths[value];
    const std::pair<Dim, bool> one(length, isSum);
    if (length && isOpen(length) && isKnown(length) && known.size() < kMost &&
        std::find(known.begin(), known.end(), one) == known.end())
      known.push_back(one);
  };
  for (const Op* op : ops_) {
    if (op->results.empty()) continue;
    const ValueId result = op->results[0].id;
    const Type from = operandType(*op, 0), to = typeOf(result);
    const bool goesOn = op->def->cls == OpClass::elementwise || op->def == &ops::reshapeOp ||
                        op->def == &ops::expandOp || op->def == &ops::unsqueezeOp ||
                        op->def == &ops::squeezeOp || op->def == &ops::transposeOp;
    if (op->def == &ops::rangeOp && to) add(result, to.dims()[0], false);
    if ((op->def == &ops::topkOp || op->def == &ops::argmaxOp) && from) {
      // Places along an axis that was made of several: the lengths of its rows.
      const int64_t axis = op->attributes.integer("axis", op->def == &ops::topkOp ? -1 : 0);
      Shape parts = partsOf(op->operands[0], static_cast<size_t>(axis < 0 ? axis + from.rank() : axis));
      Dim row;
      for (size_t i = parts.size(); i-- > 1;) {
        row = row ? parts[i] * row : parts[i];
        add(op->results.back().id, row, false);
      }
    }
    if ((op->def == &ops::reduce_sumOp || op->def == &ops::reduce_meanOp) && from && to) {
      // What is summed over: the dims that are not left.
      Shape left(to.dims().begin(), to.dims().end());
      Dim product = ir_.dims().constant(1);
      for (const Dim dim : from.dims()) {
        const auto kept = std::find(left.begin(), left.end(), dim);
        if (kept != left.end())
          left.erase(kept);
        else
          product = product * dim;
      }
      add(result, product, true);
    }
    if (op->def == &ops::matmulOp && from && from.rank() >= 2)
      add(result, from.dims()[from.dims().size() - (op->attributes.integer("transpose_a") != 0 ? 2 : 1)],
          true);
    if (op->def == &ops::einsumOp && to) {
      std::set<uint32_t> kept;
      Dim product = ir_.dims().constant(1);
      for (const Dim dim : to.dims()) kept.insert(dim.id());
      for (size_t i = 0; i < op->operands.size(); ++i)
        if (const Type type = operandType(*op, i))
          for (const Dim dim : type.dims())
            if (isOpen(dim) && kept.insert(dim.id()).second) product = product * dim;
      add(result, product, true);
    }
    // A sum goes on through products of values, but not of weights.
    const bool isProduct = (op->def == &ops::matmulOp || op->def == &ops::einsumOp) &&
                           std::none_of(op->operands.begin(), op->operands.end(),
                                        [&](ValueId operand) { return constantOf(operand) != nullptr; });
    for (const ValueId operand : op->operands)
      if (const auto known = lengths.find(operand); isProduct && known != lengths.end())
        for (const auto& [length, isSum] : std::vector(known->second))
          if (isSum) add(result, length, true);
    // Distances of positions are no positions: a number beside them is a width of its own.
    const auto isPosition = [&](ValueId value) {
      const auto known = lengths.find(value);
      return known != lengths.end() && std::any_of(known->second.begin(), known->second.end(),
                                                   [](const auto& one) { return !one.second; });
    };
    const bool isDistance = op->def == &ops::absOp || op->def == &ops::negOp || op->def == &ops::whereOp ||
                            std::count_if(op->operands.begin(), op->operands.end(), isPosition) > 1;
    for (const ValueId operand : op->operands)
      if (const auto known = lengths.find(operand); goesOn && known != lengths.end())
        for (const auto& [length, isSum] : std::vector(known->second))
          if (isSum || !isDistance) add(result, length, isSum);
  }
  return lengths;
}

// The length that a number stands for beside a value: of a mean also one more or less, and a multiple by an
// axis of the value. Null: none.
Dim Generaliser::lengthOfNumber(const Op& op, double number, Type other, Dim length, bool isSum) const {
  const int64_t size = valueOf(length).value_or(0);
  const bool divides = op.def == &ops::divOp;
  const auto is = [&](int64_t value) { return number == static_cast<double>(value); };
  if (!isSum) {
    // Places that are numbers are multiplied by the length of a row; others are scaled by division.
    const bool parts = divides || op.def == &ops::modOp;
    if (!parts && (!other || !isInteger(other.dtype()) || size < kLeastSuspect)) return Dim();
    if (size >= 3 && is(size)) return length;
    return divides && size >= 3 && is(size - 1) ? length - 1 : Dim();
  }
  if (!divides) return size >= kLeastSuspect && is(size) ? length : Dim();
  if (size >= 2 && is(size)) return length;
  if (size >= 3 && is(size - 1)) return length - 1;
  if (size >= 3 && is(size + 1)) return length + 1;
  for (const Dim dim : other ? Shape(other.dims().begin(), other.dims().end()) : Shape())
    if (const auto factor = dim.constant(); factor.value_or(1) > 1 && size >= 2 && is(size * *factor))
      return length * *factor;
  return Dim();
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
    openNumber(positionOf(*count), length, static_cast<double>(*size),
               "so many elements of an axis of that length are sorted", true);
    return true;
  }
  return false;
}

bool Generaliser::openLength() {
  const auto lengths = lengthsOfValues();
  for (const Op* op : ops_) {
    if (op->def != &ops::divOp && op->def != &ops::mulOp && op->def != &ops::modOp) continue;
    for (size_t slot = 0; slot != 2; ++slot) {
      const auto known = lengths.find(op->operands[1 - slot]);
      const Op* constant = known == lengths.end() ? nullptr : definition(op->operands[slot]);
      const std::optional<double> number = constant != nullptr ? loneNumber(*constant) : std::nullopt;
      if (!number || (op->def != &ops::mulOp && slot == 0)) continue;
      for (const auto& [length, isSum] : known->second) {
        const Dim dim = lengthOfNumber(*op, *number, operandType(*op, 1 - slot), length, isSum);
        if (!dim) continue;
        // One of its own: exporters share equal constants.
        size_t at = positionOf(*op);
        std::vector<const Op*> made;
        const ValueId own = emit(made, ops::constantOp, {}, constant->attributes, constant->place);
        insertBefore(at, made);
        setOperand(at, slot, own);
        openNumber(at - 1, dim, *number, "positions or a sum along that dim are scaled by it", true);
        return true;
      }
    }
  }
  return false;
}

// Positions that are moved or limited by a whole number of the example, such as those of a window that is as
// wide as the sequence: what they look up is another at any other size.
void Generaliser::refusePositions() {
  const auto lengths = lengthsOfValues();
  for (const Op* op : ops_) {
    const bool moves = op->def == &ops::addOp || op->def == &ops::subOp || op->def == &ops::minOp ||
                       op->def == &ops::maxOp || op->def == &ops::clipOp;
    const Type type = operandType(*op, 0);
    if (!moves || !type || !isInteger(type.dtype())) continue;
    for (const ValueId value : op->operands) {
      const Op* constant = value == kNoValue ? nullptr : definition(value);
      const double number = constant != nullptr ? loneNumber(*constant).value_or(-1) : -1;
      for (const ValueId other : op->operands) {
        const auto known = lengths.find(other);
        if (number < 0 || known == lengths.end()) continue;
        for (const auto& [length, isSum] : known->second) {
          const auto size = static_cast<double>(valueOf(length).value_or(0));
          if (isSum || size < 3 || (number != size && number != 2 * size - 1 && number != 2 * size)) continue;
          return refuse(*op, "positions along " + length.toString() + " are computed with " +
                                 std::to_string(static_cast<int64_t>(number)) +
                                 ", which may be made of it: another export says so (--second)");
        }
      }
    }
  }
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
