#include <algorithm>
#include <set>
#include <tuple>

#include "app/engine/generalise/generaliser.h"
#include "app/engine/generalise/reshape_dims.h"
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
  } else if (op.def == &ops::reshapeOp || op.def == &ops::expandOp) {
    const std::optional<Shape> needed = neededBy(at);
    const Type from = operandType(op, 0);
    for (size_t axis = 0; needed && axis < needed->size(); ++axis)
      if (from.dims()[axis].isConstant() && isOpen((*needed)[axis]))
        found.push_back({at, 0, axis, (*needed)[axis]});
  } else {
    for (size_t i = 0; i < count; ++i)
      for (size_t j = 0; j < count; ++j)
        for (int64_t axis = 0; axis < 16; ++axis)
          for (int64_t other = 0; other < 16; ++other) pair(i, axis, j, other);
  }
  return found;
}

// Of a reshape or an expansion to open dims, such as the state before the first step of a recurrent layer:
// what the operand would have to be.
std::optional<Shape> Generaliser::neededBy(size_t at) const {
  const Op& op = *ops_[at];
  const Type from = operandType(op, 0);
  // As it is written: the type of the result has learnt that an open dim would have to be the number.
  const auto known = contents_.find(op.operands[1]);
  if (!from || known == contents_.end()) return std::nullopt;
  const Shape target(known->second.begin(), known->second.end());
  const bool isWhole = std::all_of(target.begin(), target.end(), [&](Dim dim) {
    return dim && isKnown(dim) && valueOf(dim).value_or(0) > 0;
  });
  Shape needed(from.dims().begin(), from.dims().end());
  if (!isWhole) return std::nullopt;
  if (op.def == &ops::expandOp) {
    if (target.size() < needed.size()) return std::nullopt;
    const size_t missing = target.size() - needed.size();
    for (size_t axis = 0; axis < needed.size(); ++axis) {
      const Dim made = target[axis + missing];
      if (!needed[axis].isConstant(1) && valueOf(made) == needed[axis].constant()) needed[axis] = made;
    }
    return needed;
  }
  return shapeBefore(from, target);
}

// Of what is reshaped to these dims, if that is sure.
std::optional<Shape> Generaliser::shapeBefore(Type from, const Shape& made) const {
  if (!from || !isKnown(made)) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Dim dim : from.dims()) {
    const auto value = valueOf(dim);
    if (!value) return std::nullopt;
    numbers.push_back(*value);
  }
  const DimExample example = [&](Dim dim) { return valueOf(dim); };
  const auto before = reshapeDims(made, numbers, example, nullptr);
  const bool isSure = before && before->choicesCount == 1 && isKnown(before->target);
  return isSure ? std::optional<Shape>(before->target) : std::nullopt;
}

// The dims that an axis was made of by a reshape further up, from the outermost; empty: there is none.
Shape Generaliser::partsOf(ValueId value, size_t axis) const {
  const Type type = typeOf(value);
  if (!type || axis >= type.dims().size() || type.dims()[axis].kind() != DimKind::mul) return {};
  for (const Op* op = definition(value); op != nullptr;) {
    const Type made = typeOf(op->results[0].id), from = operandType(*op, 0);
    if (!made || !from) return {};
    size_t slot = 0;
    if (op->def == &ops::reshapeOp) {
      Shape all;
      for (size_t i = 0; i < from.dims().size(); ++i) {
        const Shape inner = partsOf(op->operands[0], i);
        if (inner.empty()) all.push_back(from.dims()[i]);
        all.insert(all.end(), inner.begin(), inner.end());
      }
      size_t next = 0;
      for (size_t i = 0; i < axis; ++i)
        if (takeParts(all, next, made.dims()[i]).empty()) return {};
      const Shape parts = takeParts(all, next, made.dims()[axis]);
      return parts.size() > 1 ? parts : Shape();
    } else if (const auto source = sourceOfAxis(*op, made, axis)) {
      std::tie(slot, axis) = *source;
    } else {
      return {};
    }
    op = definition(op->operands[slot]);
  }
  return {};
}

// The first of the parts that are left, up to a product; the last of them may be a number of which a factor
// is left. Empty: no product of them is the dim.
Shape Generaliser::takeParts(Shape& parts, size_t& next, Dim dim) const {
  const Dim one = ir_.dims().constant(1);
  Shape taken;
  Dim product = one;
  while (product != dim || taken.empty()) {
    if (product == dim && dim == one) return {one};
    if (next == parts.size()) return {};
    const Dim part = parts[next];
    if (const auto number = part.constant(); number && product * part != dim) {
      // [batch, 16] is [batch*8, 2].
      for (int64_t factor = 2; factor < *number; ++factor) {
        if (*number % factor != 0 || product * factor != dim) continue;
        taken.push_back(ir_.dims().constant(factor));
        parts[next] = ir_.dims().constant(*number / factor);
        return taken;
      }
    }
    taken.push_back(part);
    product = product * part;
    ++next;
  }
  return taken;
}

// The operand and its axis that an axis of the result is, element by element.
std::optional<std::pair<size_t, size_t>> Generaliser::sourceOfAxis(const Op& op, Type made,
                                                                   size_t axis) const {
  const auto back = made.dims().size() - axis;
  if (op.def == &ops::transposeOp) {
    const std::vector<int64_t> perm = op.attributes.integers("perm");
    return std::pair(size_t{0}, perm.empty() ? back - 1 : static_cast<size_t>(perm[axis]));
  }
  if (op.def == &ops::unsqueezeOp || op.def == &ops::squeezeOp) {
    const auto from = axisBefore(op, axis);
    return from ? std::optional(std::pair(size_t{0}, *from)) : std::nullopt;
  }
  const bool isColumn = op.def == &ops::matmulOp && back == 1;
  if (isColumn ||
      (op.def->cls != OpClass::elementwise && op.def != &ops::matmulOp && op.def != &ops::softmaxOp &&
       op.def != &ops::layer_normOp && op.def != &ops::splitOp && op.def != &ops::convOp))
    return std::nullopt;
  for (size_t slot = 0; slot < op.operands.size(); ++slot) {
    const Type type = operandType(op, slot);
    if (type && type.dims().size() >= back && type.dims()[type.dims().size() - back] == made.dims()[axis])
      return std::pair(slot, type.dims().size() - back);
  }
  return std::nullopt;
}

// Of different axes.
size_t Generaliser::wantedCount(const std::vector<Wanted>& list) {
  std::set<std::pair<size_t, size_t>> axes;
  for (const Wanted& one : list) axes.emplace(one.slot, one.axis);
  return axes.size();
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
      const bool less =
          demandsOf(*ops_[place]) < demands || wantedCount(mismatchesOf(place)) < wantedCount(mismatches);
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
  const auto follow = [&](size_t slot, size_t operandAxis, Dim dim = Dim()) {
    list.push_back({at, slot, operandAxis, dim ? dim : wanted.dim});
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
  if (op.def == &ops::scatter_elementsOp || op.def == &ops::scatter_ndOp || op.def == &ops::eye_likeOp)
    return follow(0, axis);
  if (op.def == &ops::gather_ndOp) {
    const Type data = operandType(op, 0), index = operandType(op, 1);
    const std::optional<int64_t> depth = index && data ? index.dims().back().constant() : std::nullopt;
    if (!depth) return "the types of a lookup are not known";
    const auto batch = static_cast<size_t>(op.attributes.integer("batch_dims", 0));
    const auto indices = static_cast<size_t>(index.rank() - 1);
    if (axis < batch) follow(0, axis);
    return axis < indices ? follow(1, axis) : follow(0, axis - indices + batch + static_cast<size_t>(*depth));
  }
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
    // The axes that are multiplied or parted.
    const std::optional<Shape> before = shapeBefore(from, resultDims());
    for (size_t i = 0; before && i < before->size(); ++i)
      if ((*before)[i] != from.dims()[i]) follow(0, i, (*before)[i]);
    if (before) return setShape(at, 1, resultDims());
    return "a reshape makes it of other axes";
  }
  constexpr size_t kSizesOfResize = 3;
  if (op.def == &ops::resizeOp && op.operands.size() > kSizesOfResize &&
      op.operands[kSizesOfResize] != kNoValue)
    return setShape(at, kSizesOfResize, resultDims());
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

}  // namespace dyn
