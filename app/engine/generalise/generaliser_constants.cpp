// Constants that an exporter folded at the example's size, made anew at any (constant_pattern.h).
#include <algorithm>
#include <cmath>

#include "app/engine/generalise/constant_pattern.h"
#include "app/engine/generalise/generaliser.h"
#include "compiler/ops/op_table.h"

namespace dyn {

void Generaliser::limit(Dim dim, int64_t most) {
  const auto known = result_.limits.emplace(dim.toString(), most).first;
  known->second = std::min(known->second, most);
}

// one + grows * step * numbers, where the numbers are those of the entries, from the one that stays.
Generaliser::Linear Generaliser::linearConstant(std::vector<const Op*>& made, const ConstantPattern& pattern,
                                                const Wanted& wanted, const HostTensor& constant,
                                                const SourceLocation& place) {
  using Anchor = ConstantPattern::Anchor;
  Linear linear;
  const auto constantOp = [&](HostTensor tensor) { return constantValue(made, std::move(tensor), place); };
  const auto asElements = [&](ValueId value) {
    return constant.dtype() == Dtype::i64
               ? value
               : emit(made, ops::castOp, {value}, Attributes{{"to", constant.dtype()}}, place);
  };
  const Dim dim = wanted.dim, none = ir_.dims().constant(0);
  const Dim start = pattern.anchor == Anchor::start ? none
                    : pattern.anchor == Anchor::end ? ir_.dims().constant(1) - dim
                                                    : none - floorDiv(dim, ir_.dims().constant(2));
  const auto number = [&](Dim one) {
    return emit(made, ops::dim_valueOp, {}, Attributes{{"value", Shape{one}}}, place);
  };
  ValueId numbers = asElements(numbersAlong(made, start, dim, constant.shape().size(), wanted.axis, place));
  std::string by = std::to_string(static_cast<int64_t>(pattern.step));
  const double size = std::abs(pattern.step);
  if (pattern.step != 1) {
    // Numbers of rows count elements: what a row has may be open, too.
    std::vector<Dim> rows;
    if (size > 1 && isInteger(constant.dtype())) rows = dimsOfSize(static_cast<int64_t>(size), dim);
    if (rows.size() > 1) {
      linear.why = "has entries " + by + " apart, which may be " + rows[0].toString() + " or " +
                   rows[1].toString() + ": an export at sizes that differ says which";
      return linear;
    }
    ValueId step = kNoValue;
    if (rows.size() == 1) {
      const Dim apart = pattern.step < 0 ? none - rows[0] : rows[0];
      step = asElements(number(apart));
      by = apart.toString();
      linear.doubtful = true;
    } else {
      step = constantOp(HostTensor::scalar(constant.dtype(), pattern.step));
    }
    numbers = emit(made, ops::mulOp, {numbers, step}, {}, place);
  }
  numbers = emit(made, ops::mulOp, {numbers, constantOp(pattern.grows)}, {}, place);
  linear.value = emit(made, ops::addOp, {constantOp(pattern.one), numbers}, {}, place);
  linear.what = "becomes numbers " + by + " apart, as many as " + dim.toString() +
                (pattern.anchor == Anchor::start ? ""
                 : pattern.anchor == Anchor::end ? ", up to the last"
                                                 : ", on both sides of the middle");
  linear.why = "its elements grow by the same step along axis " + std::to_string(wanted.axis);
  linear.doubtful = linear.doubtful || pattern.anchor != Anchor::start || constant.shape()[wanted.axis] == 2;
  return linear;
}

// one + grows * ((0, 1, ...) + offset) * length / n, where `one` begins.
Generaliser::Linear Generaliser::spanConstant(std::vector<const Op*>& made, const ConstantPattern& pattern,
                                              const Wanted& wanted, const HostTensor& constant,
                                              const SourceLocation& place) {
  Linear linear;
  const Dtype dtype = constant.dtype();
  const Dim dim = wanted.dim;
  const auto constantOp = [&](HostTensor tensor) { return constantValue(made, std::move(tensor), place); };
  const auto number = [&](Dim one) {
    return emit(made, ops::dim_valueOp, {}, Attributes{{"value", Shape{one}}}, place);
  };
  const auto asReal = [&](ValueId value) {
    return emit(made, ops::castOp, {value}, Attributes{{"to", dtype}}, place);
  };
  ValueId value =
      asReal(numbersAlong(made, ir_.dims().constant(0), dim, constant.shape().size(), wanted.axis, place));
  if (pattern.offset != 0)
    value = emit(made, ops::addOp, {value, constantOp(HostTensor::scalar(dtype, pattern.offset))}, {}, place);
  const Dim steps = pattern.reachesEnd ? max(dim - 1, ir_.dims().constant(1)) : dim;
  value = emit(made, ops::mulOp, {value, constantOp(HostTensor::scalar(dtype, pattern.length))}, {}, place);
  value = emit(made, ops::divOp, {value, asReal(number(steps))}, {}, place);
  value = emit(made, ops::mulOp, {value, constantOp(pattern.grows)}, {}, place);
  linear.value = emit(made, ops::addOp, {constantOp(pattern.one), value}, {}, place);
  const auto text = [](double one) { return std::to_string(static_cast<int64_t>(one)); };
  linear.what = "becomes " + dim.toString() + " numbers from " + text(pattern.begin) + " to " +
                text(pattern.begin + pattern.length) +
                (pattern.reachesEnd ? "" : ", which they do not reach");
  linear.why = "they are in equal steps along axis " + std::to_string(wanted.axis);
  linear.doubtful = true;
  return linear;
}

// Open dims, or products of two, that had a size in the example; without the dim that is given where there
// are others.
std::vector<Dim> Generaliser::dimsOfSize(int64_t size, Dim besides) const {
  std::vector<Dim> symbols, found;
  for (const auto& [name, one] : result_.sizes) symbols.push_back(ir_.dims().symbol(name));
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (valueOf(symbols[i]) == size && symbols[i] != besides) found.push_back(symbols[i]);
    for (size_t k = i + 1; k < symbols.size(); ++k) {
      const Dim product = symbols[i] * symbols[k];
      const bool hasOne = valueOf(symbols[i]) == 1 || valueOf(symbols[k]) == 1;
      if (!hasOne && valueOf(product) == size && product != besides) found.push_back(product);
    }
  }
  if (found.empty() && valueOf(besides) == size) found.push_back(besides);
  return found;
}

std::string Generaliser::openConstant(const Wanted& wanted, const HostTensor& constant, Constants allowed) {
  size_t at = wanted.at;
  const Op& reader = *ops_[at];
  const int64_t size = constant.shape()[wanted.axis];
  const std::string name =
      "the constant " + ir_.valueName(reader.operands[wanted.slot]) + " " + bracketed(constant.shape());
  if (allowed == Constants::none) return name + " is a weight of " + std::to_string(size) + " rows";
  const std::optional<ConstantPattern> pattern = patternOf(constant, wanted.axis);
  if (!pattern) return name + " has elements of a type that is not looked at";
  std::vector<const Op*> made;
  ValueId value = kNoValue;
  std::string what, why;
  bool doubtful = false;
  Shape dims;
  for (const int64_t each : constant.shape()) dims.push_back(ir_.dims().constant(each));
  dims[wanted.axis] = wanted.dim;
  const auto constantOp = [&](HostTensor tensor) {
    return constantValue(made, std::move(tensor), reader.place);
  };
  const auto numbers = [&](int64_t begin, size_t axis) {
    return numbersAlong(made, ir_.dims().constant(begin), wanted.dim, dims.size(), axis, reader.place);
  };
  switch (pattern->kind) {
    case ConstantPattern::Kind::uniform:
      value = emit(made, ops::expandOp, {constantOp(pattern->one), dimsValue(made, dims, reader.place)}, {},
                   reader.place);
      what = "is repeated to " + bracketed(dims);
      why = "its elements are equal along axis " + std::to_string(wanted.axis);
      break;
    case ConstantPattern::Kind::counted: {
      value = numbers(pattern->start, wanted.axis);
      if (constant.dtype() != Dtype::i64)
        value = emit(made, ops::castOp, {value}, Attributes{{"to", constant.dtype()}}, reader.place);
      what = "becomes the numbers from " + std::to_string(pattern->start) + ", as many as " +
             wanted.dim.toString();
      why = "its elements count up";
      break;
    }
    case ConstantPattern::Kind::linear:
    case ConstantPattern::Kind::span: {
      const Linear linear = pattern->kind == ConstantPattern::Kind::span
                                ? spanConstant(made, *pattern, wanted, constant, reader.place)
                                : linearConstant(made, *pattern, wanted, constant, reader.place);
      if (linear.value == kNoValue) return name + " " + linear.why;
      value = linear.value;
      what = linear.what;
      why = linear.why;
      doubtful = linear.doubtful && request_.second == nullptr;
      break;
    }
    case ConstantPattern::Kind::causal: {
      dims[dims.size() - 1] = dims[dims.size() - 2] = wanted.dim;
      const ValueId columns = numbers(0, dims.size() - 1), rows = numbers(0, dims.size() - 2);
      const ValueId isWithin = emit(made, ops::less_equalOp, {columns, rows}, {}, reader.place);
      if (constant.dtype() == Dtype::boolean)
        value = pattern->within.intAt(0) != 0 ? isWithin
                                              : emit(made, ops::logical_notOp, {isWithin}, {}, reader.place);
      else
        value = emit(made, ops::whereOp, {isWithin, constantOp(pattern->within), constantOp(pattern->beyond)},
                     {}, reader.place);
      what = "becomes a causal mask of " + bracketed(dims);
      why = "it has one number up to the diagonal, another beyond";
      break;
    }
    case ConstantPattern::Kind::table: {
      if (allowed != Constants::all) return name + " has " + std::to_string(size) + " learned entries";
      if (!wanted.dim.isSymbol())
        return name + " is a table of learned values, which would have " + wanted.dim.toString() + " entries";
      const std::vector<int64_t> axes{static_cast<int64_t>(wanted.axis)}, start{0};
      value = emit(made, ops::sliceOp,
                   {reader.operands[wanted.slot], constantOp(HostTensor::vectorInt(Dtype::i64, start)),
                    dimsValue(made, Shape{wanted.dim}, reader.place),
                    constantOp(HostTensor::vectorInt(Dtype::i64, axes))},
                   {}, reader.place);
      limit(wanted.dim, size);
      what = "is cut to its first " + wanted.dim.toString() + " entries, at most " + std::to_string(size);
      why = "it has an entry for each place of the example";
      doubtful = request_.second == nullptr;
      break;
    }
  }
  note(reader, name + " " + what, why, doubtful);
  insertBefore(at, made);
  setOperand(at, wanted.slot, value);
  return "";
}

}  // namespace dyn
