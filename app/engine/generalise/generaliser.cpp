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
    if (result_.refused.empty()) refusePositions();
    if (result_.refused.empty()) refuseFixedResults();
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
  contents_ = std::move(typed->contents);
  checked_.clear();
  joined_.clear();
  int baked = 0;
  const Op* joined = nullptr;
  for (const Op* op : typed->module.main()->ops) {
    for (const Function* region : op->regions)
      for (const Function* body : bodiesOf(region))
        for (const Op* inner : body->ops) baked += inner->def == &ops::checkOp && isBaked(*inner) ? 1 : 0;
    if (op->def == &ops::checkOp) {
      baked += isBaked(*op) ? 1 : 0;
      if (joinsDims(*op)) joined = op;
    } else if (!op->results.empty() && op->def != &ops::check_valuesOp) {
      if (baked > 0) checked_[op->results[0].id] = baked;
      if (joined != nullptr) joined_[op->results[0].id] = joined;
      baked = 0;
      joined = nullptr;
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

bool Generaliser::joinsDims(const Op& check) const {
  const Dim a = check.attributes.dims("lhs").at(0), b = check.attributes.dims("rhs").at(0);
  if (check.attributes.string("relation") == "le" || valueOf(a) != valueOf(b)) return false;
  const auto openOf = [&](Dim dim) {
    std::set<SymbolId> open;
    for (const SymbolId symbol : symbolsOf(dim))
      if (opened_.count(symbol) != 0) open.insert(symbol);
    return open;
  };
  const std::set<SymbolId> ofA = openOf(a), ofB = openOf(b);
  return !ofA.empty() && !ofB.empty() && ofA != ofB;
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
  if (op.def == &ops::gather_ndOp && at < failing_ && openCoordinates(at)) return true;
  if (op.def == &ops::gatherOp && at < failing_) {
    DYN_TRY(const bool changed, openPlaces(at));
    if (changed || !result_.refused.empty()) return changed;
  }
  if (isAdaptive(op)) {
    refuse(op,
           "its windows may be parts of the example's size, of which there is a fixed number: another "
           "export says so (--second)");
    return false;
  }
  if (isUnrolled(at)) {
    refuse(op, "the places of an open axis are taken one by one: the export unrolled a loop over them");
    return false;
  }
  const bool scatters = op.def == &ops::scatter_elementsOp || op.def == &ops::scatter_ndOp;
  if (scatters && at < failing_) {
    DYN_TRY(const bool changed, openBase(at));
    if (changed || !result_.refused.empty()) return changed;
  }
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
  if (const auto joined = op.results.empty() ? joined_.end() : joined_.find(op.results[0].id);
      joined != joined_.end() && !choices_.empty() && at < failing_) {
    const Attributes& dims = joined->second->attributes;
    refuse(op, dims.dims("lhs").at(0).toString() + " and " + dims.dims("rhs").at(0).toString() +
                   " would have to be equal: give their axes one name, or export at sizes that differ");
    return false;
  }
  if (op.def == &ops::reshapeOp && from && isOpen(from.dims())) return openReshape(at);
  if (op.def == &ops::sliceOp && at < failing_ && openSlice(at)) return true;
  if (!result_.refused.empty()) return false;
  if (op.def == &ops::resizeOp && at < failing_ && openResize(at)) return true;
  if (demandsOf(op) == 0 && at != failing_) return false;
  if (op.def == &ops::expandOp && at < failing_ && openExpand(at)) return true;
  return openMismatch(at);
}

int Generaliser::demandsOf(const Op& op) const {
  const auto found = op.results.empty() ? checked_.end() : checked_.find(op.results[0].id);
  return found == checked_.end() ? 0 : found->second;
}

void Generaliser::refuseFixedResults() {
  std::set<SymbolId> inResults;
  for (const ValueId value : module_.main()->results)
    if (const Type type = typeOf(value))
      for (const SymbolId symbol : symbolsOf(type)) inResults.insert(symbol);
  for (const auto& [name, size] : result_.sizes) {
    if (size < 2 || inResults.count(ir_.dims().symbol(name).symbol()) != 0) continue;
    for (const ValueId value : module_.main()->results) {
      const Type type = typeOf(value);
      const Op* op = definition(value);
      for (const Dim dim : type&& op != nullptr ? Shape(type.dims().begin(), type.dims().end()) : Shape())
        if (dim.isConstant(size))
          return refuse(*op, "a result has " + std::to_string(size) + " entries, as many as " + name +
                                 " in the example, and " + name +
                                 " makes no size of a result: another export says which (--second)");
    }
  }
}

bool Generaliser::endsAtExample(Dim dim) const {
  std::vector<Dim> list{dim};
  while (!list.empty()) {
    const Dim one = list.back();
    list.pop_back();
    const bool isLeaf = one.isConstant() || one.isSymbol() || one.isInvalid();
    if (isLeaf) continue;
    const auto parts = one.operands();
    if (one.kind() == DimKind::min)
      for (size_t i = 0; i < 2; ++i) {
        const Dim number = parts[i], other = parts[1 - i];
        const auto table = result_.limits.find(other.toString());
        const bool isSaid = table != result_.limits.end() && number.isConstant(table->second);
        if (number.isConstant() && number.constant().value_or(0) > 1 && isOpen(other) &&
            valueOf(other) == number.constant() && !isSaid)
          return true;
      }
    list.insert(list.end(), parts.begin(), parts.end());
  }
  return false;
}

void Generaliser::refuseRest() {
  if (!result_.refused.empty()) return;
  if (failing_ < ops_.size()) return refuse(*ops_[failing_], failure_);
  for (const Op* op : ops_)
    if (demandsOf(*op) > 0) return refuse(*op, "a size of its operands must be the example's");
  for (const Op* op : ops_) {
    const Type made = op->results.empty() ? Type() : typeOf(op->results[0].id);
    for (const Dim dim : made ? Shape(made.dims().begin(), made.dims().end()) : Shape())
      if (endsAtExample(dim))
        return refuse(*op, "its result would end at the size of the example: " + dim.toString());
  }
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

ValueId Generaliser::constantValue(std::vector<const Op*>& to, HostTensor tensor,
                                   const SourceLocation& place) {
  return emit(to, ops::constantOp, {}, Attributes{{"value", std::move(tensor)}}, place);
}

ValueId Generaliser::numbersAlong(std::vector<const Op*>& to, Dim begin, Dim count, size_t rank, size_t axis,
                                  const SourceLocation& place) {
  const auto number = [&](Dim dim) {
    const std::optional<int64_t> fixed = dim.constant();
    return fixed ? constantValue(to, HostTensor::scalarInt(Dtype::i64, *fixed), place)
                 : emit(to, ops::dim_valueOp, {}, Attributes{{"value", Shape{dim}}}, place);
  };
  const ValueId first = number(begin), end = number(begin + count), step = number(ir_.dims().constant(1));
  Shape shape(rank, ir_.dims().constant(1));
  shape[axis] = count;
  const ValueId numbers = emit(to, ops::rangeOp, {first, end, step}, {}, place);
  return emit(to, ops::reshapeOp, {numbers, dimsValue(to, shape, place)}, {}, place);
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

Result<bool> Generaliser::openReshape(size_t at) {
  const Op& op = *ops_[at];
  const Type from = operandType(op, 0);
  if (!from || !isOpen(from.dims()) || decided_.count(op.results[0].id) != 0) return false;
  std::vector<int64_t> target;
  const std::optional<Shape> made = targetOf(op, at);
  if (made && at != failing_ && followsSizes(op) && isOpen(*made)) {
    if (productOf(*made) == productOf(from.dims())) return false;
    if (isKnown(*made) && neededBy(at)) return openMismatch(at);
  }
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
  const PartsOfAxis parts = [&](size_t axis) { return partsOf(op.operands[0], axis); };
  const auto opened = reshapeDims(fromDims, target, example, secondExample, choice, parts);
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

}  // namespace dyn
