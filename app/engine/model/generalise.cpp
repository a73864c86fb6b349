#include "app/engine/model/generalise.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_map>

#include "app/engine/model/constant_pattern.h"
#include "app/engine/model/reshape_dims.h"
#include "compiler/infer/infer.h"
#include "compiler/ir/op_def.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/support/suggestion.h"

namespace dyn {
namespace {

using TypesOfValues = std::unordered_map<ValueId, Type>;

constexpr int kMostChanges = 16;  // for each operation

std::string bracketed(const std::vector<int64_t>& numbers) {
  std::string text;
  for (const int64_t number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return "[" + text + "]";
}

std::string bracketed(const Shape& dims) {
  std::string text;
  for (const Dim dim : dims) text += (text.empty() ? "" : ", ") + dim.toString();
  return "[" + text + "]";
}

TypesOfValues openTypesOf(const Module& module) {
  TypesOfValues types;
  for (const Parameter& parameter : module.main()->parameters) types[parameter.id] = parameter.type;
  for (const Op* op : module.main()->ops)
    for (const ValueDef& result : op->results) types[result.id] = result.type;
  return types;
}

class Generaliser {
 public:
  Generaliser(const Module& module, const GeneraliseRequest& request)
      : module_(module), ir_(*module.context), request_(request), ops_(module.main()->ops),
        parameters_(module.main()->parameters) {
    for (size_t i = 0; i < ops_.size(); ++i)
      for (const ValueDef& result : ops_[i]->results) original_[result.id] = i;
  }

  Result<Generalised> run() {
    for (const OpenAxis& axis : request_.axes) DYN_CHECK(openInput(axis));
    DYN_CHECK(readSecond());
    DYN_CHECK(infer());
    for (size_t at = 0; at < ops_.size() && result_.refused.empty();) {
      if (request_.cancelled != nullptr && *request_.cancelled)
        return makeError(DiagnosticId::cancelled, "interrupted");
      DYN_TRY(const bool changed, repair(at));
      if (!changed) {
        ++at;
        continue;
      }
      DYN_CHECK(infer());
      at = 0;  // a change further up may be seen by others
      if (++changesCount_ > kMostChanges * static_cast<int>(original_.size() + 1))
        refuse(*ops_[0], "the sizes still do not fit after many changes");
    }
    refuseRest();
    if (result_.refused.empty()) compareWithSecond();
    result_.module = changedModule(ops_.size());
    result_.example = example_;
    return std::move(result_);
  }

 private:
  // --- the module as it is now

  Module changedModule(size_t count) const {
    Function main = *module_.main();
    main.parameters = parameters_;
    main.ops.assign(ops_.begin(), ops_.begin() + static_cast<ptrdiff_t>(count));
    if (count < ops_.size()) {
      main.results.clear();
      main.resultTypes.clear();
    } else {
      std::fill(main.resultTypes.begin(), main.resultTypes.end(), Type());
    }
    Module changed = module_;
    for (const Function*& function : changed.functions)
      if (function == module_.main()) function = ir_.own(std::move(main));
    return changed;
  }

  // TypesOfValues of as many operations as fit together, and which of them demand a run-time check. What a check would
  // say of sizes is forgotten: the next one may be of another module.
  Status infer() {
    const size_t mark = ir_.facts().mark();
    Status status = inferHere();
    ir_.facts().rollback(mark);
    return status;
  }
  bool fits(size_t count) {
    const size_t mark = ir_.facts().mark();
    const bool ok = inferTypes(changedModule(count)).ok();
    ir_.facts().rollback(mark);
    return ok;
  }
  Status inferHere() {
    failing_ = ops_.size();
    Result<InferredModule> typed = inferTypes(changedModule(ops_.size()));
    if (!typed.ok()) {
      size_t good = 0, bad = ops_.size();
      failure_ = typed.error().message;
      while (good + 1 < bad) {
        const size_t middle = (good + bad) / 2;
        (fits(middle) ? good : bad) = middle;
      }
      failing_ = good;
      typed = inferTypes(changedModule(good));
      if (!typed.ok()) return typed.takeError();
    }
    types_ = openTypesOf(typed->module);
    checked_.clear();
    int baked = 0;
    for (const Op* op : typed->module.main()->ops) {
      if (op->def == &ops::checkOp) {
        baked += isBaked(*op) ? 1 : 0;
      } else if (!op->results.empty() && op->def != &ops::check_valuesOp) {
        if (baked > 0) checked_[op->results[0].id] = baked;
        baked = 0;
      }
    }
    return {};
  }

  // Must an open size be the number that it was in the example?
  bool isBaked(const Op& check) const {
    if (check.attributes.string("relation") == "le") return false;
    const Dim a = check.attributes.dims("lhs").at(0), b = check.attributes.dims("rhs").at(0);
    if (isOpen(a) == isOpen(b)) return false;
    const auto valueA = valueOf(a), valueB = valueOf(b);
    return valueA && valueA == valueB;
  }

  bool isOpen(Dim dim) const {
    const std::vector<SymbolId> symbols = symbolsOf(dim);
    return std::any_of(symbols.begin(), symbols.end(), [&](SymbolId s) { return example_.get(s).has_value(); });
  }
  bool isOpen(const Shape& dims) const {
    return std::any_of(dims.begin(), dims.end(), [&](Dim dim) { return isOpen(dim); });
  }
  std::optional<int64_t> valueOf(Dim dim) const {
    const Result<int64_t> value = evaluate(dim, example_);
    return value.ok() ? std::optional<int64_t>(*value) : std::nullopt;
  }
  Type typeOf(ValueId value) const {
    const auto found = types_.find(value);
    return found == types_.end() || !found->second || !found->second.isTensor() ? Type() : found->second;
  }
  Type operandType(const Op& op, size_t i) const {
    return i < op.operands.size() && op.operands[i] != kNoValue ? typeOf(op.operands[i]) : Type();
  }

  // --- inputs

  Status openInput(const OpenAxis& axis) {
    size_t index = 0;
    while (index < request_.inputNames.size() && request_.inputNames[index] != axis.input) ++index;
    const std::string text = axis.input + "." + std::to_string(axis.axis);
    if (index >= parameters_.size()) {
      const std::vector<std::string_view> names(request_.inputNames.begin(), request_.inputNames.end());
      const std::string near = suggestion(axis.input, names);
      return makeError(DiagnosticId::usageError, "--at " + text + ": there is no input '" + axis.input + "'")
          .note(near.empty() ? ":info lists the inputs" : "did you mean " + near + "?");
    }
    const Type type = parameters_[index].type;
    if (!type || !type.isTensor() || axis.axis < 0 || axis.axis >= type.rank())
      return makeError(DiagnosticId::usageError, "--at " + text + ": the input has no such axis")
          .note(type ? "it is " + type.toString() : "the file does not say its rank");
    const auto size = type.dims()[static_cast<size_t>(axis.axis)].constant();
    if (!size)
      return makeError(DiagnosticId::usageError,
                       "--at " + text + ": it is open already: " +
                           type.dims()[static_cast<size_t>(axis.axis)].toString());
    const auto known = result_.sizes.find(axis.symbol);
    if (known == result_.sizes.end() && ir_.dims().hasSymbol(axis.symbol))
      return makeError(DiagnosticId::usageError, "--at " + text + "=" + axis.symbol +
                                                     ": the model has a dim of this name");
    if (known != result_.sizes.end() && known->second != *size)
      return makeError(DiagnosticId::usageError,
                       "--at " + text + "=" + axis.symbol + ": it is " + std::to_string(*size) +
                           ", and another axis of that name is " + std::to_string(known->second));
    openParameter(index, static_cast<size_t>(axis.axis), ir_.dims().symbol(axis.symbol), *size);
    return {};
  }

  void openParameter(size_t index, size_t axis, Dim symbol, int64_t size) {
    const Type type = parameters_[index].type;
    Shape dims(type.dims().begin(), type.dims().end());
    dims[axis] = symbol;
    parameters_[index].type = ir_.tensorType(std::move(dims), type.dtype());
    example_.set(symbol, size);
    ir_.dims().setSymbolReason(symbol.symbol(), "axis " + std::to_string(axis) + " of input " +
                                                    request_.inputNames[index] + ", opened");
    result_.sizes[symbol.toString()] = size;
  }

  // --- the second export

  Status readSecond() {
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
        return makeError(DiagnosticId::usageError,
                         "--second: the other model has no other size for " + name + " than " +
                             std::to_string(size));
    }
    // Operations one by one, without those that inference adds.
    std::vector<const Op*> theirs;
    for (const Op* op : main.ops)
      if (op->def != &ops::checkOp && op->def != &ops::check_valuesOp && op->def != &ops::bind_dimsOp)
        theirs.push_back(op);
    size_t i = 0;
    while (i < ops_.size() && i < theirs.size() && ops_[i]->def == theirs[i]->def) ++i;
    if (i < ops_.size() || i < theirs.size())
      return makeError(DiagnosticId::usageError,
                       "--second: the other model is another graph from here on",
                       i < ops_.size() ? ops_[i]->place : theirs[i]->place);
    for (const Op* op : theirs) {
      Type type = op->results.empty() ? Type() : op->results[0].type;
      secondTypes_.push_back(type && type.isTensor() ? type : Type());
    }
    return {};
  }
  std::optional<int64_t> valueInSecond(Dim dim) const {
    const Result<int64_t> value = evaluate(dim, secondSizes_);
    return value.ok() ? std::optional<int64_t>(*value) : std::nullopt;
  }
  // Of the operation's first result there.
  std::optional<std::vector<int64_t>> shapeInSecond(const Op& op) const {
    const auto index = op.results.empty() ? original_.end() : original_.find(op.results[0].id);
    if (request_.second == nullptr || index == original_.end() || !secondTypes_[index->second]) return std::nullopt;
    std::vector<int64_t> shape;
    for (const Dim dim : secondTypes_[index->second].dims()) {
      const auto size = dim.constant();
      if (!size) return std::nullopt;
      shape.push_back(*size);
    }
    return shape;
  }
  void compareWithSecond() {
    for (const Op* op : ops_) {
      const auto shape = shapeInSecond(*op);
      const Type type = shape ? typeOf(op->results[0].id) : Type();
      if (!type) continue;
      for (size_t axis = 0; axis < type.dims().size() && axis < shape->size(); ++axis) {
        const auto here = valueInSecond(type.dims()[axis]);
        if (!here || *here == (*shape)[axis]) continue;
        return refuse(*op, "axis " + std::to_string(axis) + " of its result is " + type.dims()[axis].toString() +
                               ", which would be " + std::to_string(*here) + " in the second export, where it is " +
                               std::to_string((*shape)[axis]));
      }
    }
  }

  // --- repairs

  void refuse(const Op& op, std::string why) {
    result_.refused.push_back({op.place, std::string(op.def->name), std::move(why)});
  }
  void note(const Op& op, std::string what, std::string why, bool doubtful = false) {
    result_.openings.push_back({op.place, std::string(op.def->name), std::move(what), std::move(why), doubtful});
  }

  // Makes one change at or before an operation, whose operands all fit. False: nothing is to be changed.
  Result<bool> repair(size_t at) {
    const Op& op = *ops_[at];
    if (at > failing_) return false;
    if (op.def == &ops::reshapeOp) return openReshape(at);
    if (op.def == &ops::sliceOp && at < failing_ && openSlice(at)) return true;
    if (op.def == &ops::resizeOp && at < failing_ && openResize(at)) return true;
    if (demandsOf(op) == 0 && at != failing_) return false;
    return openMismatch(at);
  }
  int demandsOf(const Op& op) const {
    const auto found = op.results.empty() ? checked_.end() : checked_.find(op.results[0].id);
    return found == checked_.end() ? 0 : found->second;
  }
  // What no rule has looked at and still does not fit.
  void refuseRest() {
    if (!result_.refused.empty()) return;
    if (failing_ < ops_.size()) return refuse(*ops_[failing_], failure_);
    for (const Op* op : ops_)
      if (demandsOf(*op) > 0) return refuse(*op, "a size of its operands must be the example's");
  }

  // The operation again, with another operand.
  void setOperand(size_t at, size_t slot, ValueId value) {
    Op changed = *ops_[at];
    changed.operands[slot] = value;
    ops_[at] = ir_.own(std::move(changed));
  }
  ValueId emit(std::vector<const Op*>& to, const OpDef& def, std::vector<ValueId> operands, Attributes attributes,
               const SourceLocation& place) {
    Op op;
    op.def = &def;
    for (const ValueId operand : operands) op.operands.push_back(operand);
    op.attributes = std::move(attributes);
    op.results.push_back({ir_.newValue("opened"), Type()});
    op.place = place;
    to.push_back(ir_.own(std::move(op)));
    return to.back()->results[0].id;
  }
  void insertBefore(size_t& at, const std::vector<const Op*>& made) {
    ops_.insert(ops_.begin() + static_cast<ptrdiff_t>(at), made.begin(), made.end());
    at += made.size();
  }
  ValueId dimsValue(std::vector<const Op*>& to, const Shape& dims, const SourceLocation& place) {
    return emit(to, ops::dims_valueOp, {}, Attributes{{"value", dims}}, place);
  }
  void replaceByDims(size_t at, size_t slot, const Shape& dims) {
    std::vector<const Op*> made;
    const ValueId value = dimsValue(made, dims, ops_[at]->place);
    insertBefore(at, made);
    setOperand(at, slot, value);
  }

  // Is the dim made of symbols of inputs alone?
  bool isKnown(Dim dim) const { return !dim.isInvalid() && !hasAnonymous(dim); }
  bool isKnown(const Shape& dims) const {
    return std::all_of(dims.begin(), dims.end(), [&](Dim dim) { return isKnown(dim); });
  }

  bool openReshape(size_t at) {
    const Op& op = *ops_[at];
    const Type from = operandType(op, 0);
    if (!from || !isOpen(from.dims())) return false;
    std::vector<int64_t> target;
    const std::optional<Shape> made = targetOf(op, at);
    for (size_t i = 0; made && i < made->size(); ++i)
      if (const auto value = valueOf((*made)[i])) target.push_back(*value);
    if (!made || target.size() != made->size()) {
      if (at == failing_) refuse(op, "its target is not known: " + failure_);
      return false;
    }
    // The numbers of the example: one of them may have been found from the others, in a target with -1.
    const auto second = shapeInSecond(op);
    SecondExample other{[&](Dim dim) { return valueInSecond(dim); }, second.value_or(std::vector<int64_t>())};
    const Shape fromDims(from.dims().begin(), from.dims().end());
    const auto opened = reshapeDims(
        fromDims, target, [&](Dim dim) { return valueOf(dim); }, second ? &other : nullptr);
    if (!opened || !isKnown(opened->target)) {
      refuse(op, "the open dims of " + bracketed(fromDims) + " are not found in its target " + bracketed(target));
      return false;
    }
    if (opened->target == *made && at != failing_) return false;
    const bool isSettled = decided_.count(op.results[0].id) != 0;
    if (isSettled) return false;
    decided_.insert(op.results[0].id);
    note(op, bracketed(target) + " becomes " + bracketed(opened->target),
         "it reshapes " + bracketed(fromDims) + ", and keeps the number of elements",
         opened->doubtful && !second);
    replaceByDims(at, 1, opened->target);
    return true;
  }

  // What a reshape makes as it is written: its result, or where that is refused its constant operand.
  std::optional<Shape> targetOf(const Op& op, size_t at) const {
    if (at != failing_) {
      const Type made = typeOf(op.results[0].id);
      if (!made) return std::nullopt;
      return Shape(made.dims().begin(), made.dims().end());
    }
    const HostTensor* constant = constantOf(op.operands[1]);
    const Type from = operandType(op, 0);
    if (constant == nullptr || constant->dtype() != Dtype::i64) return std::nullopt;
    Shape dims;
    int64_t product = 1, whole = 1;
    for (const Dim dim : from.dims()) whole *= valueOf(dim).value_or(0);
    std::optional<size_t> rest;
    for (int64_t i = 0; i < constant->elementCount(); ++i) {
      int64_t size = constant->intAt(i);
      if (size == 0 && i < from.rank()) size = valueOf(from.dims()[static_cast<size_t>(i)]).value_or(0);
      if (size == -1) rest = static_cast<size_t>(i);
      if (size > 0) product *= size;
      dims.push_back(ir_.dims().constant(size));
    }
    if (rest && product > 0) dims[*rest] = ir_.dims().constant(whole / product);
    return dims;
  }

  const HostTensor* constantOf(ValueId value) const {
    const Op* op = definition(value);
    return op != nullptr && op->def == &ops::constantOp ? op->attributes.tensor("value") : nullptr;
  }
  const Op* definition(ValueId value) const {
    for (const Op* op : ops_)
      for (const ValueDef& result : op->results)
        if (result.id == value) return op;
    return nullptr;
  }
  // A slice that ends where the axis ended in the example takes all of it.
  bool openSlice(size_t at) {
    const Op& op = *ops_[at];
    const Type from = operandType(op, 0), to = typeOf(op.results[0].id);
    const HostTensor* ends = op.operands.size() > 2 ? constantOf(op.operands[2]) : nullptr;
    if (!from || !to || ends == nullptr || from.rank() != to.rank()) return false;
    const HostTensor* axes = op.operands.size() > 3 && op.operands[3] != kNoValue ? constantOf(op.operands[3]) : nullptr;
    if (op.operands.size() > 3 && op.operands[3] != kNoValue && axes == nullptr) return false;
    std::vector<int64_t> changed;
    std::string what;
    for (int64_t k = 0; k < ends->elementCount(); ++k) {
      int64_t axis = axes != nullptr ? axes->intAt(k) : k;
      if (axis < 0) axis += from.rank();
      changed.push_back(ends->intAt(k));
      if (axis < 0 || axis >= from.rank()) return false;
      const Dim dim = from.dims()[static_cast<size_t>(axis)], made = to.dims()[static_cast<size_t>(axis)];
      if (!isOpen(dim) || valueOf(dim) != ends->intAt(k) || made == dim) continue;
      // Where the second export takes less of it, the number is one of the model.
      const auto second = shapeInSecond(op);
      if (second && (*second)[static_cast<size_t>(axis)] != valueInSecond(dim)) continue;
      what += (what.empty() ? "" : ", ") + std::string("the end ") + std::to_string(changed.back()) + " of axis " +
              std::to_string(axis) + " becomes the end of " + dim.toString();
      changed.back() = INT64_MAX;
    }
    if (what.empty()) return false;
    note(op, what, "it ends where the axis ended in the example", request_.second == nullptr);
    std::vector<const Op*> made;
    const ValueId value = emit(made, ops::constantOp, {},
                               Attributes{{"value", HostTensor::vectorInt(ends->dtype(), changed)}}, op.place);
    insertBefore(at, made);
    setOperand(at, 2, value);
    return true;
  }

  // The sizes of a resize: those of an input, or a multiple of what it resizes.
  bool openResize(size_t at) {
    const Op& op = *ops_[at];
    constexpr size_t kSizes = 3;
    const Type from = operandType(op, 0), to = typeOf(op.results[0].id);
    if (op.operands.size() <= kSizes || op.operands[kSizes] == kNoValue || !from || !to) return false;
    if (from.rank() != to.rank() || decided_.count(op.results[0].id) != 0) return false;
    const HostTensor* sizes = constantOf(op.operands[kSizes]);
    if (sizes == nullptr || sizes->elementCount() != from.rank()) return false;
    Shape made;
    bool changed = false, doubtful = false;
    for (size_t axis = 0; axis < from.dims().size(); ++axis) {
      const Dim dim = from.dims()[axis];
      const int64_t size = sizes->intAt(static_cast<int64_t>(axis));
      const auto value = valueOf(dim);
      Dim opened = ir_.dims().constant(size);
      if (isOpen(dim) && value) {
        for (const SymbolId symbol : symbolsOf(dim))
          if (example_.get(symbol) == size) opened = ir_.dims().symbolById(symbol);
        if (*value == size) opened = dim;
        if (opened.isConstant() && *value > 0 && size % *value == 0) opened = dim * (size / *value);
        if (opened.isConstant()) {
          refuse(op, "the size " + std::to_string(size) + " of axis " + std::to_string(axis) + " is no multiple of " +
                         dim.toString() + " = " + std::to_string(*value));
          return false;
        }
        changed = true;
        doubtful = doubtful || request_.second == nullptr;
      }
      made.push_back(opened);
    }
    if (!changed || !isKnown(made)) return false;
    decided_.insert(op.results[0].id);
    note(op, "the sizes become " + bracketed(made), "it resizes an axis that is open", doubtful);
    replaceByDims(at, kSizes, made);
    return true;
  }

  // --- two sizes that must be equal

  // Which constants may be changed: a weight that a product sums over has as many rows as it was trained with.
  enum class Constants : uint8_t { none, patterns, all };

  struct Wanted {
    size_t at = 0, slot = 0;  // the operand of an operation ...
    size_t axis = 0;          // ... whose axis is a number
    Dim dim;                  // that is to be this
  };

  // Pairs of axes that an operation demands to be equal, of which one is open and the other a number.
  std::vector<Wanted> mismatchesOf(size_t at) const {
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

  // The first of the pairs that can be opened so that the operation demands less.
  Result<bool> openMismatch(size_t at) {
    const Op& op = *ops_[at];
    const int demands = demandsOf(op);
    const bool failed = at == failing_;
    const std::string failure = failure_;
    std::string why;
    for (const Wanted& wanted : mismatchesOf(at)) {
      const Changes before{ops_, parameters_, example_, result_};
      std::string refused = open(wanted);
      if (refused.empty()) {
        const size_t place = positionOf(op);
        DYN_CHECK(infer());
        const bool fails = failing_ <= place;
        if (failed ? !fails || failure_ != failure : !fails && demandsOf(*ops_[place]) < demands) return true;
        refused = "its sizes do not fit with " + wanted.dim.toString() + ", either";
      }
      ops_ = before.ops;
      parameters_ = before.parameters;
      example_ = before.example;
      result_ = before.result;
      DYN_CHECK(infer());
      if (why.empty()) why = std::move(refused);
    }
    if (why.empty()) why = failed ? failure : "a size of its operands must be the example's";
    refuse(op, why);
    return false;
  }
  struct Changes {
    std::vector<const Op*> ops;
    std::vector<Parameter> parameters;
    DimBinding example;
    Generalised result;
  };
  // Of the operation with these results, which may have other operands by now.
  size_t positionOf(const Op& op) const {
    size_t at = 0;
    while (at < ops_.size() && (ops_[at]->results.empty() || ops_[at]->results[0].id != op.results[0].id)) ++at;
    return at;
  }

  // Traces a number back to where it is made and opens it there. Empty, or why not.
  std::string open(Wanted first) {
    if (!isKnown(first.dim)) return "the size " + first.dim.toString() + " is known only in a run";
    const Op& demands = *ops_[first.at];
    const Type written = typeOf(demands.operands[first.slot]);
    const bool isInner = demands.def->cls == OpClass::contraction && first.axis + 2 >= written.dims().size();
    if (written.dims()[first.axis].isConstant(1) && !isInner) return repeat(first);
    std::vector<Wanted> list{first};
    const Constants allowed = isInner                                      ? Constants::none
                              : demands.def->cls == OpClass::elementwise ||
                                      demands.def == &ops::concatOp        ? Constants::all
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
        if (other.at > place && ops_.size() > before) other.at += ops_.size() - before;
    }
    return "";
  }

  // One step back from the result of an operation: a change of it, or the operands whose sizes make its own.
  std::string step(size_t at, const Wanted& wanted, std::vector<Wanted>& list) {
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
    const bool sameShape = op.def == &ops::softmaxOp || op.def == &ops::log_softmaxOp || op.def == &ops::layer_normOp ||
                           op.def == &ops::cumsumOp || op.def == &ops::triluOp;
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
      return "a reshape makes it of other axes";
    }
    if (op.def == &ops::tileOp) return openTile(at, wanted);
    if (op.def == &ops::rangeOp) return openRange(at, wanted);
    if (op.def == &ops::sliceOp) return openEnd(at, wanted, list);
    return std::string("the operator ") + std::string(op.def->name) + " makes it";
  }

  // Of elements that stand for themselves: the operands that have the axis.
  std::string stepBroadcast(size_t at, const Wanted& wanted, std::vector<Wanted>& list) {
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

  std::optional<size_t> axisBefore(const Op& op, size_t axis) const {
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

  std::string setShape(size_t at, size_t slot, const Shape& dims) {
    if (!isKnown(dims)) return "its shape " + bracketed(dims) + " is known only in a run";
    const Op& op = *ops_[at];
    const Type before = typeOf(op.results[0].id);
    note(op, bracketed(Shape(before.dims().begin(), before.dims().end())) + " becomes " + bracketed(dims),
         "what reads it has sizes of the example otherwise");
    replaceByDims(at, slot, dims);
    return "";
  }

  // An axis of size 1 becomes as long as another: what it holds is the same for all.
  std::string repeat(const Wanted& wanted) {
    size_t at = wanted.at;
    const Op& op = *ops_[at];
    const Type type = typeOf(op.operands[wanted.slot]);
    Shape dims(type.dims().begin(), type.dims().end());
    dims[wanted.axis] = wanted.dim;
    if (!isKnown(dims)) return "the sizes " + bracketed(dims) + " are known only in a run";
    const ValueId value = op.operands[wanted.slot];
    if (std::any_of(parameters_.begin(), parameters_.end(), [&](const Parameter& p) { return p.id == value; })) {
      const auto index = static_cast<size_t>(
          std::find_if(parameters_.begin(), parameters_.end(), [&](const Parameter& p) { return p.id == value; }) -
          parameters_.begin());
      return openOther(index, wanted, op);
    }
    note(op, "operand " + std::to_string(wanted.slot) + ", " + type.toString() + ", is repeated to " + bracketed(dims),
         "it depends on nothing that is open along axis " + std::to_string(wanted.axis));
    std::vector<const Op*> made;
    const ValueId shape = dimsValue(made, dims, op.place);
    const ValueId repeated = emit(made, ops::expandOp, {value, shape}, {}, op.place);
    insertBefore(at, made);
    setOperand(at, wanted.slot, repeated);
    return "";
  }

  // Another input that must be as long.
  std::string openOther(size_t index, const Wanted& wanted, const Op& demands) {
    const std::string name = index < request_.inputNames.size() ? request_.inputNames[index] : "";
    const std::string axis = name + "." + std::to_string(wanted.axis);
    if (!wanted.dim.isSymbol()) return "input " + axis + " would have to be " + wanted.dim.toString();
    openParameter(index, wanted.axis, wanted.dim, *valueOf(wanted.dim));
    note(demands, "input " + axis + " becomes " + wanted.dim.toString(), "it must be as long as that dim");
    return "";
  }

  std::string openTile(size_t at, const Wanted& wanted) {
    const Op& op = *ops_[at];
    const Type from = operandType(op, 0), to = typeOf(op.results[0].id);
    Shape repeats;
    for (size_t i = 0; from && i < from.dims().size(); ++i) {
      const auto before = from.dims()[i].constant(), after = to.dims()[i].constant();
      if (!before || !after || *before < 1) return "the sizes of a tile are not numbers";
      if (i == wanted.axis && *before != 1) return "a tile makes it of several elements";
      repeats.push_back(i == wanted.axis ? wanted.dim : ir_.dims().constant(*after / *before));
    }
    note(op, "the repeats become " + bracketed(repeats), "what reads it has sizes of the example otherwise");
    replaceByDims(at, 1, repeats);
    return "";
  }

  std::string openRange(size_t at, const Wanted& wanted) {
    const Op& op = *ops_[at];
    const HostTensor *start = constantOf(op.operands[0]), *delta = constantOf(op.operands[2]);
    if (start == nullptr || delta == nullptr || delta->intAt(0) != 1) return "a range makes it by steps";
    const Dim limit = wanted.dim + start->intAt(0);
    note(op, "the limit " + std::to_string(*valueOf(limit)) + " becomes " + limit.toString(),
         "what reads it has sizes of the example otherwise");
    std::vector<const Op*> made;
    ValueId value = emit(made, ops::dim_valueOp, {}, Attributes{{"value", Shape{limit}}}, op.place);
    if (start->dtype() != Dtype::i64) value = emit(made, ops::castOp, {value}, Attributes{{"to", start->dtype()}}, op.place);
    insertBefore(at, made);
    setOperand(at, 1, value);
    return "";
  }

  // The end of a slice that cuts a table.
  std::string openEnd(size_t at, const Wanted& wanted, std::vector<Wanted>& list) {
    const Op& op = *ops_[at];
    const Type from = operandType(op, 0), to = typeOf(op.results[0].id);
    if (!from || !to || from.dims().size() != to.dims().size()) return "the types of a slice are not known";
    if (from.dims()[wanted.axis] == to.dims()[wanted.axis]) {
      list.push_back({at, 0, wanted.axis, wanted.dim});
      return "";
    }
    const HostTensor *starts = constantOf(op.operands[1]), *ends = constantOf(op.operands[2]);
    const HostTensor* axes = op.operands.size() > 3 && op.operands[3] != kNoValue ? constantOf(op.operands[3]) : nullptr;
    const HostTensor* steps = op.operands.size() > 4 && op.operands[4] != kNoValue ? constantOf(op.operands[4]) : nullptr;
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

  void limit(Dim dim, int64_t most) {
    const auto known = result_.limits.emplace(dim.toString(), most).first;
    known->second = std::min(known->second, most);
  }

  std::string openConstant(const Wanted& wanted, const HostTensor& constant, Constants allowed) {
    size_t at = wanted.at;
    const Op& reader = *ops_[at];
    const int64_t size = constant.shape()[wanted.axis];
    const std::string name = "the constant " + ir_.valueName(reader.operands[wanted.slot]) + " " + bracketed(constant.shape());
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
      return emit(made, ops::rangeOp,
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
        what = "becomes the numbers from " + std::to_string(pattern->start) + ", as many as " + wanted.dim.toString();
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
        value = emit(made, ops::whereOp, {isWithin, constantOp(pattern->within), constantOp(pattern->beyond)}, {},
                     reader.place);
        what = "becomes a causal mask of " + bracketed(dims);
        why = "it has one number up to the diagonal, another beyond";
        break;
      }
      case ConstantPattern::Kind::table: {
        if (allowed != Constants::all)
          return name + " has " + std::to_string(size) + " learned entries";
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

  Module module_;
  IrContext& ir_;
  const GeneraliseRequest& request_;
  std::vector<const Op*> ops_;
  std::vector<Parameter> parameters_;
  std::unordered_map<ValueId, size_t> original_;  // results → number of their operation in the model given
  DimBinding example_, secondSizes_;
  std::vector<Type> secondTypes_;  // of the first result of each operation
  TypesOfValues types_;
  // First results of operations → how often they demand an open size to be a number.
  std::unordered_map<ValueId, int> checked_;
  std::set<ValueId> decided_;  // reshapes and resizes whose target was set
  size_t failing_ = 0;         // the operation that does not fit, if any
  std::string failure_;
  int changesCount_ = 0;
  Generalised result_;
};

}  // namespace

Result<OpenAxis> parseOpenAxis(const std::string& text) {
  const auto bad = [&](const char* why) {
    return makeError(DiagnosticId::usageError, "--at " + text + ": " + why)
        .note("write --at input_ids.1, or --at input_ids.1=seq");
  };
  OpenAxis axis;
  const size_t equals = text.find('=');
  const std::string place = text.substr(0, equals);
  const size_t dot = place.rfind('.');
  if (dot == std::string::npos || dot == 0 || dot + 1 == place.size()) return bad("there is no axis");
  const char* end = place.data() + place.size();
  const auto [read, error] = std::from_chars(place.data() + dot + 1, end, axis.axis);
  if (error != std::errc() || read != end) return bad("the axis is not a number");
  axis.input = place.substr(0, dot);
  axis.symbol = equals == std::string::npos ? axis.input + "_" + std::to_string(axis.axis) : text.substr(equals + 1);
  for (char& c : axis.symbol) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!fits && equals != std::string::npos) return bad("the name of a dim has letters, digits and _");
    if (!fits) c = '_';
  }
  if (axis.symbol.empty() || (axis.symbol[0] >= '0' && axis.symbol[0] <= '9'))
    return bad("the name of a dim begins with a letter");
  return axis;
}

Result<Generalised> generalise(const Module& imported, const GeneraliseRequest& request) {
  if (request.axes.empty()) return makeError(DiagnosticId::usageError, "no axis is to be opened: --at INPUT.AXIS");
  return Generaliser(imported, request).run();
}

}  // namespace dyn
