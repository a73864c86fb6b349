#include "app/engine/generalise/generaliser.h"

#include <algorithm>
#include <iterator>

#include "app/engine/generalise/reshape_dims.h"
#include "compiler/infer/infer.h"
#include "compiler/infer/infer_functions.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/support/suggestion.h"

namespace dyn {

std::string bracketed(const Shape& dims) {
  std::string text;
  for (const Dim dim : dims) text += (text.empty() ? "" : ", ") + dim.toString();
  return "[" + text + "]";
}

namespace {

constexpr int kMostChanges = 16;  // for each operation
constexpr int kMostChoices = 200;
constexpr int kMostForms = 8;  // of one reshape

template <typename Dims>
Dim productOf(const Dims& dims) {
  Dim product;
  for (const Dim dim : dims) product = product ? product * dim : dim;
  return product;
}

}  // namespace

Generaliser::Generaliser(const Module& module, const GeneraliseRequest& request)
    : module_(module),
      ir_(*module.context),
      request_(request),
      ops_(module.main()->ops),
      parameters_(module.main()->parameters) {
  for (size_t i = 0; i < ops_.size(); ++i)
    for (const ValueDef& result : ops_[i]->results) original_[result.id] = i;
}

Result<Generalised> Generaliser::run() {
  assumeOthers();
  for (const OpenAxis& axis : request_.axes) DYN_CHECK(openInput(axis));
  DYN_CHECK(readSecond());
  openNumbers();
  DYN_CHECK(repairAll());
  while (!result_.refused.empty() && chooseAgain()) {
    DYN_CHECK(repairAll());
  }
  if (!result_.refused.empty() && !refused_.refused.empty()) result_ = refused_;
  if (request_.second == nullptr) {
    while (result_.refused.empty() && openSorted()) DYN_CHECK(repairAll());
    while (result_.refused.empty() && openLength()) DYN_CHECK(infer());
  }
  if (result_.refused.empty()) suspectNumbers();
  result_.module = changedModule(ops_.size());
  return std::move(result_);
}

Status Generaliser::repairAll() {
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
  return {};
}

void Generaliser::restore(const Changes& before) {
  ops_ = before.ops;
  parameters_ = before.parameters;
  opened_ = before.opened;
  example_ = before.example;
  result_ = before.result;
  decided_ = before.decided;
}

bool Generaliser::chooseAgain() {
  if (refused_.refused.empty()) refused_ = result_;
  if (++choicesCount_ > kMostChoices) return false;
  while (!choices_.empty()) {
    Choice& last = choices_.back();
    for (int choice = 0; choice < last.count; ++choice) {
      if (!last.tried.insert(choice).second) continue;
      preferred_[last.form] = choice;
      restore(last.before);
      return true;
    }
    choices_.pop_back();
  }
  return false;
}

Module Generaliser::changedModule(size_t count) const {
  Function main = *module_.main();
  main.parameters = parameters_;
  main.ops.assign(ops_.begin(), ops_.begin() + static_cast<ptrdiff_t>(count));
  if (count < ops_.size()) {
    main.results.clear();
    main.resultTypes.clear();
  } else {
    std::fill(main.resultTypes.begin(), main.resultTypes.end(), Type());
  }
  return withMain(module_, ir_.own(std::move(main)));
}

Status Generaliser::infer() {
  const size_t mark = ir_.facts().mark();
  Status status = inferHere();
  ir_.facts().rollback(mark);
  return status;
}

bool Generaliser::fits(size_t count) {
  const size_t mark = ir_.facts().mark();
  const bool ok = inferTypes(changedModule(count)).ok();
  ir_.facts().rollback(mark);
  return ok;
}

Status Generaliser::inferHere() {
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
  types_ = typesOfValues(typed->module);
  checked_.clear();
  int baked = 0;
  for (const Op* op : typed->module.main()->ops) {
    for (const Function* region : op->regions)
      for (const Function* body : bodiesOf(region))
        for (const Op* inner : body->ops) baked += inner->def == &ops::checkOp && isBaked(*inner) ? 1 : 0;
    if (op->def == &ops::checkOp) {
      baked += isBaked(*op) ? 1 : 0;
    } else if (!op->results.empty() && op->def != &ops::check_valuesOp) {
      if (baked > 0) checked_[op->results[0].id] = baked;
      baked = 0;
    }
  }
  return {};
}

bool Generaliser::isBaked(const Op& check) const {
  const Dim a = check.attributes.dims("lhs").at(0), b = check.attributes.dims("rhs").at(0);
  const auto valueA = valueOf(a), valueB = valueOf(b);
  if (!valueA || valueA != valueB) return false;
  if (check.attributes.string("relation") == "le") {
    const auto table = result_.limits.find(a.toString());  // that ends there is said
    return isOpen(a) && b.isConstant() && (table == result_.limits.end() || !b.isConstant(table->second));
  }
  return isOpen(a) != isOpen(b) || onesOf(a) != onesOf(b);
}

std::set<SymbolId> Generaliser::onesOf(Dim dim) const {
  std::set<SymbolId> ones;
  for (const SymbolId symbol : symbolsOf(dim))
    if (opened_.count(symbol) != 0 && example_.get(symbol) == 1) ones.insert(symbol);
  return ones;
}

bool Generaliser::isOpen(Dim dim) const {
  const std::vector<SymbolId> symbols = symbolsOf(dim);
  return std::any_of(symbols.begin(), symbols.end(), [&](SymbolId s) { return opened_.count(s) != 0; });
}

bool Generaliser::isOpen(const Shape& dims) const {
  return std::any_of(dims.begin(), dims.end(), [&](Dim dim) { return isOpen(dim); });
}

std::optional<int64_t> Generaliser::valueOf(Dim dim) const {
  const Result<int64_t> value = evaluate(dim, example_);
  return value.ok() ? std::optional<int64_t>(*value) : std::nullopt;
}

Type Generaliser::typeOf(ValueId value) const {
  const auto found = types_.find(value);
  return found == types_.end() || !found->second || !found->second.isTensor() ? Type() : found->second;
}

Type Generaliser::operandType(const Op& op, size_t i) const {
  return i < op.operands.size() && op.operands[i] != kNoValue ? typeOf(op.operands[i]) : Type();
}

void Generaliser::assumeOthers() {
  // Primes, which no size of a model is made of by chance.
  constexpr int64_t kPrimes[] = {10007, 10009, 10037, 10039, 10061, 10067, 10069, 10079};
  size_t count = 0;
  for (const Parameter& parameter : parameters_)
    for (const SymbolId symbol : parameter.type ? symbolsOf(parameter.type) : std::vector<SymbolId>())
      if (!example_.get(symbol) && count < std::size(kPrimes)) example_.set(symbol, kPrimes[count++]);
}

Status Generaliser::openInput(const OpenAxis& axis) {
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
  const Dim dim = type.dims()[static_cast<size_t>(axis.axis)];
  if (!dim.isConstant()) return openAgain(axis, dim);
  const int64_t size = *dim.constant();
  if (axis.size && axis.size != size)
    return makeError(DiagnosticId::usageError, "--at " + text + ": its size is " + std::to_string(size));
  const auto known = result_.sizes.find(axis.symbol);
  if (known == result_.sizes.end() && ir_.dims().hasSymbol(axis.symbol))
    return makeError(DiagnosticId::usageError,
                     "--at " + text + "=" + axis.symbol + ": the model has a dim of this name");
  if (known != result_.sizes.end() && known->second != size)
    return makeError(DiagnosticId::usageError,
                     "--at " + text + "=" + axis.symbol + ": it is " + std::to_string(size) +
                         ", and another axis of that name is " + std::to_string(known->second));
  openParameter(index, static_cast<size_t>(axis.axis), ir_.dims().symbol(axis.symbol), size);
  return {};
}

// The axis has a dim, and the model numbers of the example, too: an export with open dims that froze some.
Status Generaliser::openAgain(const OpenAxis& axis, Dim dim) {
  const std::string text = "--at " + axis.input + "." + std::to_string(axis.axis);
  const bool named = dim.isSymbol() && !ir_.dims().isAnonymous(dim.symbol());
  if (!axis.size || !named)
    return makeError(DiagnosticId::usageError, text + ": it is open already: " + dim.toString())
        .note("where numbers of an example are left in the model, " + text + "=" +
              (named ? dim.toString() : axis.symbol) + ":128 says its size");
  if (axis.symbol != dim.toString())
    return makeError(DiagnosticId::usageError,
                     text + "=" + axis.symbol + ": the model calls it " + dim.toString());
  const auto [known, isNew] = result_.sizes.emplace(axis.symbol, *axis.size);
  if (!isNew && known->second != *axis.size)
    return makeError(DiagnosticId::usageError, text + ": " + axis.symbol + " has two sizes, " +
                                                   std::to_string(known->second) + " and " +
                                                   std::to_string(*axis.size));
  example_.set(dim, *axis.size);
  opened_.insert(dim.symbol());
  return {};
}

void Generaliser::openParameter(size_t index, size_t axis, Dim symbol, int64_t size) {
  const Type type = parameters_[index].type;
  Shape dims(type.dims().begin(), type.dims().end());
  dims[axis] = symbol;
  parameters_[index].type = ir_.tensorType(std::move(dims), type.dtype());
  example_.set(symbol, size);
  opened_.insert(symbol.symbol());
  ir_.dims().setSymbolReason(symbol.symbol(), "axis " + std::to_string(axis) + " of input " +
                                                  request_.inputNames[index] + ", opened");
  result_.sizes[symbol.toString()] = size;
}

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

void Generaliser::refuse(const Op& op, std::string why) {
  result_.refused.push_back({op.place, std::string(op.def->name), std::move(why)});
}

void Generaliser::note(const Op& op, std::string what, std::string why, bool doubtful) {
  result_.openings.push_back(
      {op.place, std::string(op.def->name), std::move(what), std::move(why), doubtful});
}

Result<bool> Generaliser::repair(size_t at) {
  const Op& op = *ops_[at];
  if (at > failing_) return false;
  // An element that is picked where the example had one: which is meant among several, the file does not
  // say.
  const bool picks = op.def == &ops::gatherOp || op.def == &ops::gather_ndOp;
  const Type from = operandType(op, 0), to = picks && at < failing_ ? typeOf(op.results[0].id) : Type();
  for (const Dim dim : from&& to ? Shape(from.dims().begin(), from.dims().end()) : Shape())
    for (const SymbolId one : onesOf(dim)) {
      const bool stays = std::any_of(to.dims().begin(), to.dims().end(),
                                     [&](Dim made) { return onesOf(made).count(one) != 0; });
      if (stays) continue;
      if (openLookup(at)) return true;
      refuse(op, "it picks elements along " + dim.toString() + ", and " + ir_.dims().symbolName(one) +
                     " was 1 in the example: an export at 2 or more says which");
      return false;
    }
  if (op.def == &ops::reshapeOp) return openReshape(at);
  if (op.def == &ops::sliceOp && at < failing_ && openSlice(at)) return true;
  if (op.def == &ops::resizeOp && at < failing_ && openResize(at)) return true;
  if (demandsOf(op) == 0 && at != failing_) return false;
  if (op.def == &ops::expandOp && at < failing_ && openExpand(at)) return true;
  return openMismatch(at);
}

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

int Generaliser::demandsOf(const Op& op) const {
  const auto found = op.results.empty() ? checked_.end() : checked_.find(op.results[0].id);
  return found == checked_.end() ? 0 : found->second;
}

void Generaliser::refuseRest() {
  if (!result_.refused.empty()) return;
  if (failing_ < ops_.size()) return refuse(*ops_[failing_], failure_);
  for (const Op* op : ops_)
    if (demandsOf(*op) > 0) return refuse(*op, "a size of its operands must be the example's");
}

void Generaliser::setOperand(size_t at, size_t slot, ValueId value) {
  Op changed = *ops_[at];
  changed.operands[slot] = value;
  ops_[at] = ir_.own(std::move(changed));
}

ValueId Generaliser::emit(std::vector<const Op*>& to, const OpDef& def, std::vector<ValueId> operands,
                          Attributes attributes, const SourceLocation& place) {
  Op op;
  op.def = &def;
  for (const ValueId operand : operands) op.operands.push_back(operand);
  op.attributes = std::move(attributes);
  op.results.push_back({ir_.newValue("opened"), Type()});
  op.place = place;
  to.push_back(ir_.own(std::move(op)));
  return to.back()->results[0].id;
}

void Generaliser::insertBefore(size_t& at, const std::vector<const Op*>& made) {
  ops_.insert(ops_.begin() + static_cast<ptrdiff_t>(at), made.begin(), made.end());
  at += made.size();
}

ValueId Generaliser::dimsValue(std::vector<const Op*>& to, const Shape& dims, const SourceLocation& place) {
  return emit(to, ops::dims_valueOp, {}, Attributes{{"value", dims}}, place);
}

void Generaliser::replaceByDims(size_t at, size_t slot, const Shape& dims) {
  std::vector<const Op*> made;
  const ValueId value = dimsValue(made, dims, ops_[at]->place);
  insertBefore(at, made);
  setOperand(at, slot, value);
}

bool Generaliser::isKnown(const Shape& dims) const {
  return std::all_of(dims.begin(), dims.end(), [&](Dim dim) { return isKnown(dim); });
}

bool Generaliser::openReshape(size_t at) {
  const Op& op = *ops_[at];
  const Type from = operandType(op, 0);
  if (!from || !isOpen(from.dims()) || decided_.count(op.results[0].id) != 0) return false;
  std::vector<int64_t> target;
  const std::optional<Shape> made = targetOf(op, at);
  if (made && at != failing_ && followsSizes(op) && productOf(*made) == productOf(from.dims())) return false;
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
  const SecondExample* secondExample = second ? &other : nullptr;
  const DimExample example = [&](Dim dim) { return valueOf(dim); };
  const std::string form = bracketed(fromDims) + " " + bracketed(target);
  const ValueId result = op.results[0].id;
  const auto again =
      std::find_if(choices_.begin(), choices_.end(), [&](const Choice& c) { return c.reshape == result; });
  const auto preferred = preferred_.find(form);
  const int choice = preferred == preferred_.end() ? 0 : preferred->second;
  const auto opened = reshapeDims(fromDims, target, example, secondExample, choice);
  if (!opened || !isKnown(opened->target)) {
    refuse(op,
           "the open dims of " + bracketed(fromDims) + " are not found in its target " + bracketed(target));
    return false;
  }
  if (opened->choicesCount > 1 && again == choices_.end())
    choices_.push_back({result, form, {choice}, std::min(opened->choicesCount, kMostForms), changes()});
  decided_.insert(result);
  if (opened->target == *made && at != failing_) return false;
  note(op, bracketed(target) + " becomes " + bracketed(opened->target),
       "it reshapes " + bracketed(fromDims) + ", and keeps the number of elements",
       opened->choicesCount > 1 && !second);
  replaceByDims(at, 1, opened->target);
  return true;
}

bool Generaliser::followsSizes(const Op& reshape) const {
  std::vector<ValueId> list{reshape.operands[1]};
  while (!list.empty()) {
    const Op* op = definition(list.back());
    list.pop_back();
    if (op == nullptr || op->def == &ops::constantOp) return false;
    if (op->def == &ops::shapeOp) continue;
    const bool ofFirst = op->def == &ops::gatherOp || op->def == &ops::sliceOp || op->def == &ops::castOp ||
                         op->def == &ops::reduce_prodOp || op->def == &ops::squeezeOp ||
                         op->def == &ops::unsqueezeOp;
    if (ofFirst) {
      list.push_back(op->operands[0]);
    } else if (op->def == &ops::concatOp) {
      list.insert(list.end(), op->operands.begin(), op->operands.end());
    } else {
      return false;
    }
  }
  return true;
}

std::optional<Shape> Generaliser::targetOf(const Op& op, size_t at) const {
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

const HostTensor* Generaliser::constantOf(ValueId value) const {
  const Op* op = definition(value);
  return op != nullptr && op->def == &ops::constantOp ? op->attributes.tensor("value") : nullptr;
}

const Op* Generaliser::definition(ValueId value) const {
  for (const Op* op : ops_)
    for (const ValueDef& result : op->results)
      if (result.id == value) return op;
  return nullptr;
}

bool Generaliser::openSlice(size_t at) {
  const Op& op = *ops_[at];
  const Type from = operandType(op, 0), to = typeOf(op.results[0].id);
  const HostTensor* ends = op.operands.size() > 2 ? constantOf(op.operands[2]) : nullptr;
  if (!from || !to || ends == nullptr || from.rank() != to.rank()) return false;
  const HostTensor* axes =
      op.operands.size() > 3 && op.operands[3] != kNoValue ? constantOf(op.operands[3]) : nullptr;
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
    what += (what.empty() ? "" : ", ") + std::string("the end ") + std::to_string(changed.back()) +
            " of axis " + std::to_string(axis) + " becomes the end of " + dim.toString();
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
    for (const SymbolId symbol : symbolsOf(dim))
      if (example_.get(symbol) == size) opened = ir_.dims().symbolById(symbol);
    if (value == size) opened = dim;
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
