// Operators that hold sizes of the example themselves: the ends of slices, targets of expansions, sizes of
// resizes.
#include <algorithm>

#include "app/engine/generalise/generaliser.h"
#include "compiler/ops/op_table.h"

namespace dyn {

bool Generaliser::openExpand(size_t at) {
  const Op& op = *ops_[at];
  const Type from = operandType(op, 0), to = typeOf(op.results[0].id);
  if (!from || !to || from.rank() > to.rank()) return false;
  Shape made(to.dims().begin(), to.dims().end());
  const size_t missing = made.size() - from.dims().size();
  for (size_t axis = 0; axis < from.dims().size(); ++axis)
    if (isOpen(from.dims()[axis])) made[axis + missing] = from.dims()[axis];
  if (!isKnown(made) || made == Shape(to.dims().begin(), to.dims().end())) return false;
  note(op, "it expands to " + bracketed(made), "what it expands is open");
  replaceByDims(at, 1, made);
  return true;
}

bool Generaliser::openSlice(size_t at) {
  const Op& op = *ops_[at];
  const Type from = operandType(op, 0), to = typeOf(op.results[0].id);
  const HostTensor* ends = op.operands.size() > 2 ? constantOf(op.operands[2]) : nullptr;
  if (!from || !to || ends == nullptr || from.rank() != to.rank()) return false;
  const HostTensor* axes =
      op.operands.size() > 3 && op.operands[3] != kNoValue ? constantOf(op.operands[3]) : nullptr;
  if (op.operands.size() > 3 && op.operands[3] != kNoValue && axes == nullptr) return false;
  if (openStart(at, axes)) return true;
  Shape changed;
  std::string what;
  for (int64_t k = 0; k < ends->elementCount(); ++k) {
    int64_t axis = axes != nullptr ? axes->intAt(k) : k;
    if (axis < 0) axis += from.rank();
    changed.push_back(ir_.dims().constant(ends->intAt(k)));
    if (axis < 0 || axis >= from.rank()) return false;
    const Dim dim = from.dims()[static_cast<size_t>(axis)], made = to.dims()[static_cast<size_t>(axis)];
    if (!isOpen(dim) || made == dim || (made.isConstant() && made.constant() != ends->intAt(k))) continue;
    const std::optional<Dim> end = endOf(op, dim, ends->intAt(k), static_cast<size_t>(axis));
    if (!end) return false;  // refused
    if (!*end) continue;
    what += (what.empty() ? "" : ", ") + std::string("the end ") +
            std::to_string(changed.back().constant().value_or(0)) + " of axis " + std::to_string(axis) +
            " becomes " + (*end == dim ? "the end of " : "") + end->toString();
    changed.back() = *end == dim ? ir_.dims().constant(INT64_MAX) : *end;
  }
  if (what.empty()) return false;
  note(op, what, "it ends there in the example", request_.second == nullptr);
  std::vector<const Op*> made;
  const bool isNumbers =
      std::all_of(changed.begin(), changed.end(), [](Dim dim) { return dim.isConstant(); });
  std::vector<int64_t> numbers;
  for (const Dim dim : changed) numbers.push_back(dim.constant().value_or(0));
  ValueId value = isNumbers
                      ? emit(made, ops::constantOp, {},
                             Attributes{{"value", HostTensor::vectorInt(ends->dtype(), numbers)}}, op.place)
                      : dimsValue(made, changed, op.place);
  if (!isNumbers && ends->dtype() != Dtype::i64)
    value = emit(made, ops::castOp, {value}, Attributes{{"to", ends->dtype()}}, op.place);
  insertBefore(at, made);
  setOperand(at, 2, value);
  return true;
}

// A slice of the last entries, as many as the axis had in the example, takes all.
bool Generaliser::openStart(size_t at, const HostTensor* axes) {
  const Op& op = *ops_[at];
  const Type from = operandType(op, 0);
  const HostTensor* starts = constantOf(op.operands[1]);
  std::vector<int64_t> changed;
  std::string what;
  for (int64_t k = 0; starts != nullptr && k < starts->elementCount(); ++k) {
    int64_t axis = axes != nullptr ? axes->intAt(k) : k;
    if (axis < 0) axis += from.rank();
    changed.push_back(starts->intAt(k));
    if (axis < 0 || axis >= from.rank()) return false;
    const Dim dim = from.dims()[static_cast<size_t>(axis)];
    if (!isOpen(dim) || changed.back() >= 0 || valueOf(dim) != -changed.back()) continue;
    if (valueOf(dim).value_or(0) < 2) continue;
    what += (what.empty() ? "" : ", ") + std::string("the start ") + std::to_string(changed.back()) +
            " of axis " + std::to_string(axis) + " becomes 0";
    changed.back() = 0;
  }
  if (what.empty()) return false;
  note(op, what, "it takes as many as there were in the example", request_.second == nullptr);
  std::vector<const Op*> made;
  const ValueId value =
      emit(made, ops::constantOp, {}, Attributes{{"value", HostTensor::vectorInt(starts->dtype(), changed)}},
           op.place);
  insertBefore(at, made);
  setOperand(at, 1, value);
  return true;
}

// What the end of a slice of an open axis is: the end of the axis, another size of the example, one place
// before the end. A null dim: it is a number of the model. nullopt: it is refused, as both may be.
std::optional<Dim> Generaliser::endOf(const Op& op, Dim dim, int64_t end, size_t axis) {
  const int64_t size = valueOf(dim).value_or(0);
  // A second export says which it is, if any.
  const auto second = shapeInSecond(op);
  const auto fits = [&](Dim candidate) { return !second || valueInSecond(candidate) == (*second)[axis]; };
  if (end == size) return fits(dim) ? dim : Dim();
  if (end < 2 || end > size) return Dim();
  std::vector<Dim> candidates;
  const std::vector<SymbolId> own = symbolsOf(dim);
  for (const auto& [name, one] : result_.sizes) {
    const Dim symbol = ir_.dims().symbol(name);
    const bool isOwn = std::find(own.begin(), own.end(), symbol.symbol()) != own.end();
    if (one == end && (one != 1 || isOwn))
      candidates.insert(isOwn ? candidates.begin() : candidates.end(), symbol);
  }
  if (end == size - 1 && size > 2) candidates.push_back(dim - 1);
  if (second) candidates.push_back(floorDiv(dim, ir_.dims().constant(2)));
  for (const Dim candidate : candidates)
    if (fits(candidate)) return candidate;
  if (second || 2 * end != size) return Dim();
  refuse(op, "it takes " + std::to_string(end) + " of " + dim.toString() + " = " + std::to_string(size) +
                 ", which may be a half or a number: another export says which (--second)");
  return std::nullopt;
}

// A dim of the same symbols that an operation before has made, of that size: what is resized becomes as
// large as it.
Dim Generaliser::knownDim(size_t at, Dim like, int64_t size) const {
  const std::vector<SymbolId> symbols = symbolsOf(like);
  for (size_t i = 0; i < at; ++i) {
    const Type type = ops_[i]->results.empty() ? Type() : typeOf(ops_[i]->results[0].id);
    for (const Dim dim : type ? Shape(type.dims().begin(), type.dims().end()) : Shape())
      if (isOpen(dim) && isKnown(dim) && valueOf(dim) == size && symbolsOf(dim) == symbols) return dim;
  }
  return Dim();
}

bool Generaliser::openResize(size_t at) {
  const Op& op = *ops_[at];
  constexpr size_t kSizes = 3;
  const Type from = operandType(op, 0), to = typeOf(op.results[0].id);
  if (op.operands.size() <= kSizes || op.operands[kSizes] == kNoValue || !from || !to) return false;
  if (from.rank() != to.rank() || decided_.count(op.results[0].id) != 0) return false;
  Shape made;
  bool changed = false;
  for (size_t axis = 0; axis < from.dims().size(); ++axis) {
    const Dim dim = from.dims()[axis];
    const auto size = to.dims()[axis].constant(), value = valueOf(dim);
    made.push_back(to.dims()[axis]);
    if (!isOpen(dim) || !size || !value) continue;
    Dim opened;
    // That of another input comes before a multiple: a signal that is made as long as another.
    for (const auto& [name, one] : result_.sizes)
      if (one == size && one > 1 && !opened) opened = ir_.dims().symbol(name);
    for (const SymbolId symbol : symbolsOf(dim))
      if (example_.get(symbol) == size) opened = ir_.dims().symbolById(symbol);
    if (value == size) opened = dim;
    if (!opened) opened = knownDim(at, dim, *size);
    if (!opened && *value > 0 && *size % *value == 0) opened = dim * (*size / *value);
    if (!opened) {
      refuse(op, "the size " + std::to_string(*size) + " of axis " + std::to_string(axis) +
                     " is no multiple of " + dim.toString() + " = " + std::to_string(*value));
      return false;
    }
    made.back() = opened;
    changed = true;
  }
  if (!changed || !isKnown(made)) return false;
  decided_.insert(op.results[0].id);
  note(op, "the sizes become " + bracketed(made), "it resizes an axis that is open",
       request_.second == nullptr);
  replaceByDims(at, kSizes, made);
  return true;
}

}  // namespace dyn
