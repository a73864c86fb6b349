#include <algorithm>
#include <set>

#include "app/engine/generalise/constant_pattern.h"
#include "app/engine/generalise/generaliser.h"
#include "compiler/ops/op_table.h"

namespace dyn {

std::vector<Generaliser::Wanted> Generaliser::mismatchesOf(size_t at) const {
  const Op& op = *ops_[at];
  std::vector<Wanted> found;
  const auto pair = [&](size_t i, int64_t axis, size_t j, int64_t other) {
    const Type a = operandType(op, i), b = operandType(op, j);
    if (!a || !b || i == j) return;
    if (axis < 0) axis += a.rank();
    if (other < 0) other += b.rank();
    if (axis < 0 || other < 0 || axis >= a.rank() || other >= b.rank()) return;
    const Dim number = a.dims()[static_cast<size_t>(axis)], open = b.dims()[static_cast<size_t>(other)];
    if (!number.isConstant() || !isOpen(open) || valueOf(open) != number.constant()) return;
    found.push_back({at, i, static_cast<size_t>(axis), open});
  };
  const size_t count = op.operands.size();
  const auto alignedBack = [&](int64_t from) {
    for (size_t i = 0; i < count; ++i)
      for (size_t j = 0; j < count; ++j)
        for (int64_t axis = from; axis <= 16; ++axis) pair(i, -axis, j, -axis);
  };
  if (op.def == &ops::matmulOp) {
    const bool a = op.attributes.integer("transpose_a") != 0, b = op.attributes.integer("transpose_b") != 0;
    pair(0, a ? -2 : -1, 1, b ? -1 : -2);
    pair(1, b ? -1 : -2, 0, a ? -2 : -1);
    alignedBack(3);
  } else if (op.def == &ops::concatOp) {
    for (size_t i = 0; i < count; ++i)
      for (size_t j = 0; j < count; ++j)
        for (int64_t axis = 0; axis < 16; ++axis) {
          const Type type = operandType(op, i);
          int64_t along = op.attributes.integer("axis");
          if (type && along < 0) along += type.rank();
          if (axis != along) pair(i, axis, j, axis);
        }
  } else if (op.def->cls == OpClass::elementwise) {
    alignedBack(1);
  } else {
    for (size_t i = 0; i < count; ++i)
      for (size_t j = 0; j < count; ++j)
        for (int64_t axis = 0; axis < 16; ++axis)
          for (int64_t other = 0; other < 16; ++other) pair(i, axis, j, other);
  }
  return found;
}

Result<bool> Generaliser::openMismatch(size_t at) {
  const Op& op = *ops_[at];
  const int demands = demandsOf(op);
  const bool failed = at == failing_;
  const std::string failure = failure_;
  const std::vector<Wanted> mismatches = mismatchesOf(at);
  std::string why;
  for (const Wanted& wanted : mismatches) {
    const Changes before = changes();
    std::string refused = open(wanted);
    if (refused.empty()) {
      const size_t place = positionOf(op);
      DYN_CHECK(infer());
      const bool fails = failing_ <= place;
      const bool less = demandsOf(*ops_[place]) < demands || mismatchesOf(place).size() < mismatches.size();
      if (failed ? !fails || failure_ != failure : !fails && less) return true;
      refused = "its sizes do not fit with " + wanted.dim.toString() +
                ", either: " + (fails ? failure_ : "as many must be equal");
    }
    restore(before);
    DYN_CHECK(infer());
    if (why.empty()) why = std::move(refused);
  }
  if (why.empty()) why = failed ? failure : "a size of its operands must be the example's";
  refuse(op, why);
  return false;
}

size_t Generaliser::positionOf(const Op& op) const {
  size_t at = 0;
  while (at < ops_.size() && (ops_[at]->results.empty() || ops_[at]->results[0].id != op.results[0].id)) ++at;
  return at;
}

std::string Generaliser::open(Wanted first) {
  if (!isKnown(first.dim)) return "the size " + first.dim.toString() + " is known only in a run";
  const Op& demands = *ops_[first.at];
  const Type written = typeOf(demands.operands[first.slot]);
  const bool isInner = demands.def->cls == OpClass::contraction && first.axis + 2 >= written.dims().size();
  if (written.dims()[first.axis].isConstant(1) && !isInner) return repeat(first);
  std::vector<Wanted> list{first};
  const Constants allowed = isInner ? Constants::none
                            : demands.def->cls == OpClass::elementwise || demands.def == &ops::concatOp
                                ? Constants::all
                                : Constants::patterns;
  std::set<std::pair<size_t, size_t>> seen;
  while (!list.empty()) {
    const Wanted wanted = list.back();
    list.pop_back();
    const ValueId value = ops_[wanted.at]->operands[wanted.slot];
    const Type type = typeOf(value);
    // Opened already by another way, or by an operand that it is broadcast from.
    if (!type || !type.dims()[wanted.axis].isConstant()) continue;
    if (const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                        [&](const Parameter& p) { return p.id == value; });
        found != parameters_.end()) {
      const std::string why = openOther(static_cast<size_t>(found - parameters_.begin()), wanted, demands);
      if (!why.empty()) return why;
      continue;
    }
    const Op* maker = definition(value);
    if (maker == nullptr) return "its size is made in another function";
    if (maker->def == &ops::constantOp) {
      const size_t before = ops_.size();
      const std::string why = openConstant(wanted, *maker->attributes.tensor("value"), allowed);
      if (!why.empty()) return why;
      for (Wanted& other : list)
        if (other.at >= wanted.at) other.at += ops_.size() - before;
      continue;
    }
    const size_t place = positionOf(*maker);
    if (!seen.emplace(value, wanted.axis).second) continue;
    const size_t before = ops_.size();
    const std::string why = step(place, wanted, list);
    if (!why.empty()) return why;
    // What was put before the maker moves those behind it.
    for (Wanted& other : list)
      if (other.at >= place) other.at += ops_.size() - before;
  }
  return "";
}

std::string Generaliser::step(size_t at, const Wanted& wanted, std::vector<Wanted>& list) {
  const Op& op = *ops_[at];
  const Type made = typeOf(op.results[0].id);
  const size_t axis = wanted.axis;
  const auto follow = [&](size_t slot, size_t operandAxis) {
    list.push_back({at, slot, operandAxis, wanted.dim});
    return std::string();
  };
  const auto resultDims = [&] {
    Shape dims(made.dims().begin(), made.dims().end());
    dims[axis] = wanted.dim;
    return dims;
  };
  if (op.def->cls == OpClass::elementwise) return stepBroadcast(at, wanted, list);
  const bool sameShape = op.def == &ops::softmaxOp || op.def == &ops::log_softmaxOp ||
                         op.def == &ops::layer_normOp || op.def == &ops::cumsumOp || op.def == &ops::triluOp;
  if (sameShape) return follow(0, axis);
  if (op.def == &ops::transposeOp) {
    const std::vector<int64_t> perm = op.attributes.integers("perm");
    return follow(0, perm.empty() ? made.dims().size() - 1 - axis : static_cast<size_t>(perm[axis]));
  }
  if (op.def == &ops::unsqueezeOp || op.def == &ops::squeezeOp) {
    const std::optional<size_t> from = axisBefore(op, axis);
    return from ? follow(0, *from) : "the axes of a squeeze are not constant";
  }
  if (op.def == &ops::concatOp) {
    int64_t along = op.attributes.integer("axis");
    if (along < 0) along += made.rank();
    if (static_cast<size_t>(along) == axis) return "its size is the sum of several parts";
    for (size_t slot = 0; slot < op.operands.size(); ++slot) follow(slot, axis);
    return "";
  }
  if (op.def == &ops::gatherOp) {
    const Type data = operandType(op, 0), index = operandType(op, 1);
    int64_t along = op.attributes.integer("axis");
    if (!data || !index) return "the types of a lookup are not known";
    if (along < 0) along += data.rank();
    const auto first = static_cast<size_t>(along), indices = static_cast<size_t>(index.rank());
    if (axis < first) return follow(0, axis);
    return axis < first + indices ? follow(1, axis - first) : follow(0, axis - indices + 1);
  }
  if (op.def == &ops::gather_elementsOp) return follow(1, axis);
  if (op.def == &ops::splitOp) {
    const int64_t along = op.attributes.integer("axis");
    const bool isParted = static_cast<size_t>(along < 0 ? along + made.rank() : along) == axis;
    return isParted ? "its size is a part of another" : follow(0, axis);
  }
  if (op.def == &ops::matmulOp) {
    const bool isRow = axis + 2 == made.dims().size(), isColumn = axis + 1 == made.dims().size();
    if (isRow || isColumn) {
      const size_t slot = isRow ? 0 : 1;
      const Type type = operandType(op, slot);
      const bool turned = op.attributes.integer(isRow ? "transpose_a" : "transpose_b") != 0;
      const size_t back = (isRow ? 2 : 1) ^ (turned ? 3 : 0);
      if (!type || type.dims().size() < back) return "the types of a product are not known";
      return follow(slot, type.dims().size() - back);
    }
    return stepBroadcast(at, wanted, list);
  }
  if (op.def == &ops::expandOp) {
    const Type from = operandType(op, 0);
    const size_t missing = from ? made.dims().size() - from.dims().size() : 0;
    if (from && axis >= missing && !from.dims()[axis - missing].isConstant(1)) follow(0, axis - missing);
    return setShape(at, 1, resultDims());
  }
  if (op.def == &ops::constant_of_shapeOp) return setShape(at, 0, resultDims());
  if (op.def == &ops::reshapeOp) {
    const Type from = operandType(op, 0);
    // The axis alone, as it was: [128] to [1, 128].
    for (size_t i = 0; from && i < from.dims().size(); ++i) {
      if (from.dims()[i] != made.dims()[axis]) continue;
      follow(0, i);
      return setShape(at, 1, resultDims());
    }
    // It becomes as long as another value, and so does what is reshaped: both go back to one.
    if (const Op* shape = shapeOfTarget(op)) {
      list.push_back({positionOf(*shape), 0, axis, wanted.dim});
      return "";
    }
    return "a reshape makes it of other axes";
  }
  if (op.def == &ops::tileOp) return openTile(at, wanted, list);
  if (op.def == &ops::rangeOp) return openRange(at, wanted);
  if (op.def == &ops::sliceOp) return openEnd(at, wanted, list);
  return std::string("the operator ") + std::string(op.def->name) + " makes it";
}

std::string Generaliser::stepBroadcast(size_t at, const Wanted& wanted, std::vector<Wanted>& list) {
  const Op& op = *ops_[at];
  const size_t back = typeOf(op.results[0].id).dims().size() - wanted.axis;
  bool any = false;
  for (size_t slot = 0; slot < op.operands.size(); ++slot) {
    const Type type = operandType(op, slot);
    if (!type || type.dims().size() < back) continue;
    const size_t axis = type.dims().size() - back;
    if (type.dims()[axis].isConstant(1)) continue;
    list.push_back({at, slot, axis, wanted.dim});
    any = true;
  }
  return any ? "" : "none of its operands has the axis";
}

const Op* Generaliser::shapeOfTarget(const Op& reshape) const {
  const Op* op = definition(reshape.operands[1]);
  while (op != nullptr && (op->def == &ops::castOp || op->def == &ops::concatOp) && op->operands.size() == 1)
    op = definition(op->operands[0]);
  const bool isWhole =
      op != nullptr && op->def == &ops::shapeOp && !op->attributes.has("start") && !op->attributes.has("end");
  return isWhole ? op : nullptr;
}

std::optional<size_t> Generaliser::axisBefore(const Op& op, size_t axis) const {
  const Type from = operandType(op, 0), to = typeOf(op.results[0].id);
  const bool adds = op.def == &ops::unsqueezeOp;
  const size_t rank = (adds ? to : from).dims().size();
  std::vector<bool> listed(rank, false);
  if (op.operands.size() > 1 && op.operands[1] != kNoValue) {
    const HostTensor* axes = constantOf(op.operands[1]);
    if (axes == nullptr) return std::nullopt;
    for (int64_t i = 0; i < axes->elementCount(); ++i) {
      const int64_t one = axes->intAt(i) < 0 ? axes->intAt(i) + static_cast<int64_t>(rank) : axes->intAt(i);
      if (one >= 0 && one < static_cast<int64_t>(rank)) listed[static_cast<size_t>(one)] = true;
    }
  } else {
    for (size_t i = 0; i < rank; ++i) listed[i] = from.dims()[i].isConstant(1);
  }
  size_t kept = 0;
  for (size_t i = 0; i < rank; ++i) {
    if (adds && i == axis) return listed[i] ? std::nullopt : std::optional<size_t>(kept);
    if (listed[i]) continue;
    if (!adds && kept == axis) return i;
    ++kept;
  }
  return std::nullopt;
}

std::string Generaliser::setShape(size_t at, size_t slot, const Shape& dims) {
  if (!isKnown(dims)) return "its shape " + bracketed(dims) + " is known only in a run";
  const Op& op = *ops_[at];
  const Type before = typeOf(op.results[0].id);
  note(op, bracketed(Shape(before.dims().begin(), before.dims().end())) + " becomes " + bracketed(dims),
       "what reads it has sizes of the example otherwise");
  replaceByDims(at, slot, dims);
  return "";
}

std::string Generaliser::repeat(const Wanted& wanted) {
  size_t at = wanted.at;
  const Op& op = *ops_[at];
  const Type type = typeOf(op.operands[wanted.slot]);
  Shape dims(type.dims().begin(), type.dims().end());
  dims[wanted.axis] = wanted.dim;
  if (!isKnown(dims)) return "the sizes " + bracketed(dims) + " are known only in a run";
  const ValueId value = op.operands[wanted.slot];
  if (std::any_of(parameters_.begin(), parameters_.end(),
                  [&](const Parameter& p) { return p.id == value; })) {
    const auto index = static_cast<size_t>(std::find_if(parameters_.begin(), parameters_.end(),
                                                        [&](const Parameter& p) { return p.id == value; }) -
                                           parameters_.begin());
    return openOther(index, wanted, op);
  }
  note(op,
       "operand " + std::to_string(wanted.slot) + ", " + type.toString() + ", is repeated to " +
           bracketed(dims),
       "it depends on nothing that is open along axis " + std::to_string(wanted.axis));
  std::vector<const Op*> made;
  const ValueId shape = dimsValue(made, dims, op.place);
  const ValueId repeated = emit(made, ops::expandOp, {value, shape}, {}, op.place);
  insertBefore(at, made);
  setOperand(at, wanted.slot, repeated);
  return "";
}

std::string Generaliser::openOther(size_t index, const Wanted& wanted, const Op& demands) {
  const std::string name = index < request_.inputNames.size() ? request_.inputNames[index] : "";
  const std::string axis = name + "." + std::to_string(wanted.axis);
  if (!wanted.dim.isSymbol()) return "input " + axis + " would have to be " + wanted.dim.toString();
  openParameter(index, wanted.axis, wanted.dim, *valueOf(wanted.dim));
  note(demands, "input " + axis + " becomes " + wanted.dim.toString(), "it must be as long as that dim");
  return "";
}

std::string Generaliser::openTile(size_t at, const Wanted& wanted, std::vector<Wanted>& list) {
  const Op& op = *ops_[at];
  const Type from = operandType(op, 0), to = typeOf(op.results[0].id);
  Shape repeats;
  for (size_t i = 0; from && i < from.dims().size(); ++i) {
    const auto before = from.dims()[i].constant(), after = to.dims()[i].constant();
    Dim times = before && after && *before > 0 ? ir_.dims().constant(*after / *before) : Dim();
    if (!times && from.dims()[i] == to.dims()[i]) times = ir_.dims().constant(1);
    if (!times) return "the sizes of a tile are not numbers";
    if (i == wanted.axis) {
      Dim more;
      for (const SymbolId one : onesOf(wanted.dim))
        if (before && wanted.dim == ir_.dims().symbolById(one) * *before) more = ir_.dims().symbolById(one);
      if (before == 1) more = wanted.dim;
      if (!more && times.isConstant(1)) {
        // Along an axis that is not repeated, what is tiled has the size.
        list.push_back({at, 0, wanted.axis, wanted.dim});
        return "";
      }
      if (!more) return "a tile makes it of several elements";
      times = more;
    }
    repeats.push_back(times);
  }
  note(op, "the repeats become " + bracketed(repeats), "what reads it has sizes of the example otherwise");
  replaceByDims(at, 1, repeats);
  return "";
}

std::string Generaliser::openRange(size_t at, const Wanted& wanted) {
  const Op& op = *ops_[at];
  const HostTensor *start = constantOf(op.operands[0]), *delta = constantOf(op.operands[2]);
  if (start == nullptr || delta == nullptr || delta->intAt(0) != 1) return "a range makes it by steps";
  const Dim limit = wanted.dim + start->intAt(0);
  note(op, "the limit " + std::to_string(*valueOf(limit)) + " becomes " + limit.toString(),
       "what reads it has sizes of the example otherwise");
  std::vector<const Op*> made;
  ValueId value = emit(made, ops::dim_valueOp, {}, Attributes{{"value", Shape{limit}}}, op.place);
  if (start->dtype() != Dtype::i64)
    value = emit(made, ops::castOp, {value}, Attributes{{"to", start->dtype()}}, op.place);
  insertBefore(at, made);
  setOperand(at, 1, value);
  return "";
}

std::string Generaliser::openEnd(size_t at, const Wanted& wanted, std::vector<Wanted>& list) {
  const Op& op = *ops_[at];
  const Type from = operandType(op, 0), to = typeOf(op.results[0].id);
  if (!from || !to || from.dims().size() != to.dims().size()) return "the types of a slice are not known";
  if (from.dims()[wanted.axis] == to.dims()[wanted.axis]) {
    list.push_back({at, 0, wanted.axis, wanted.dim});
    return "";
  }
  const HostTensor *starts = constantOf(op.operands[1]), *ends = constantOf(op.operands[2]);
  const HostTensor* axes =
      op.operands.size() > 3 && op.operands[3] != kNoValue ? constantOf(op.operands[3]) : nullptr;
  const HostTensor* steps =
      op.operands.size() > 4 && op.operands[4] != kNoValue ? constantOf(op.operands[4]) : nullptr;
  const auto length = from.dims()[wanted.axis].constant();
  if (starts == nullptr || ends == nullptr || !length) return "the bounds of a slice are not constant";
  Shape made;
  bool found = false;
  for (int64_t k = 0; k < ends->elementCount(); ++k) {
    int64_t axis = axes != nullptr ? axes->intAt(k) : k;
    if (axis < 0) axis += from.rank();
    made.push_back(ir_.dims().constant(ends->intAt(k)));
    if (axis != static_cast<int64_t>(wanted.axis)) continue;
    if (steps != nullptr && steps->intAt(k) != 1) return "a slice takes it by steps";
    const int64_t start = starts->intAt(k);
    if (start < 0) return "a slice begins at the end of its axis";
    made.back() = wanted.dim + start;
    limit(wanted.dim, *length - start);
    found = true;
  }
  if (!found) return "the bounds of a slice are not constant";
  note(op, "the ends become " + bracketed(made), "what reads it has sizes of the example otherwise");
  replaceByDims(at, 2, made);
  return "";
}

void Generaliser::limit(Dim dim, int64_t most) {
  const auto known = result_.limits.emplace(dim.toString(), most).first;
  known->second = std::min(known->second, most);
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
    return emit(made, ops::constantOp, {}, Attributes{{"value", std::move(tensor)}}, reader.place);
  };
  const auto counted = [&](int64_t start) {
    return emit(
        made, ops::rangeOp,
        {constantOp(HostTensor::scalarInt(Dtype::i64, start)),
         emit(made, ops::dim_valueOp, {}, Attributes{{"value", Shape{wanted.dim + start}}}, reader.place),
         constantOp(HostTensor::scalarInt(Dtype::i64, 1))},
        {}, reader.place);
  };
  switch (pattern->kind) {
    case ConstantPattern::Kind::uniform:
      value = emit(made, ops::expandOp, {constantOp(pattern->one), dimsValue(made, dims, reader.place)}, {},
                   reader.place);
      what = "is repeated to " + bracketed(dims);
      why = "its elements are equal along axis " + std::to_string(wanted.axis);
      break;
    case ConstantPattern::Kind::counted: {
      value = counted(pattern->start);
      if (constant.dtype() != Dtype::i64)
        value = emit(made, ops::castOp, {value}, Attributes{{"to", constant.dtype()}}, reader.place);
      value = emit(made, ops::reshapeOp, {value, dimsValue(made, dims, reader.place)}, {}, reader.place);
      what = "becomes the numbers from " + std::to_string(pattern->start) + ", as many as " +
             wanted.dim.toString();
      why = "its elements count up";
      break;
    }
    case ConstantPattern::Kind::causal: {
      dims[dims.size() - 1] = dims[dims.size() - 2] = wanted.dim;
      const auto positions = [&](Shape shape) {
        const ValueId numbers = counted(0);
        return emit(made, ops::reshapeOp, {numbers, dimsValue(made, shape, reader.place)}, {}, reader.place);
      };
      Shape columns(dims.size(), ir_.dims().constant(1)), rows = columns;
      columns[dims.size() - 1] = rows[dims.size() - 2] = wanted.dim;
      const ValueId isWithin =
          emit(made, ops::less_equalOp, {positions(columns), positions(rows)}, {}, reader.place);
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
