// What the rule of an operator asks of inference: demands, fresh dims, contents, calls.
#include <algorithm>
#include <set>

#include "compiler/dims/dim_compact.h"
#include "compiler/infer/broadcast_dim.h"
#include "compiler/infer/infer_driver.h"
#include "compiler/infer/infer_functions.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/ops/rules/precondition_rules.h"
#include "compiler/ops/rules/type_zip.h"

namespace dyn {

namespace {

std::string versus(std::string_view what, Dim a, Dim b) {
  return std::string(what) + ": " + a.toString() + " vs " + b.toString();
}

// True: known never to be 1.
bool neverOne(const DimSolver& solver, Dim d) {
  return solver.equal(d, d.context().constant(1)) == Answer::no;
}

}  // namespace

Type InferDriver::operandType(int i) const { return types_[operandId(i)]; }

std::optional<Contents> InferDriver::operandContents(int i) const {
  auto found = contents_.find(operandId(i));
  if (found == contents_.end()) return std::nullopt;
  Contents contents = found->second;
  for (Dim& d : contents) {
    if (d) d = solver_.canonical(d);
  }
  return contents;
}

const HostTensor* InferDriver::operandConstant(int i) const {
  auto found = constants_.find(operandId(i));
  return found == constants_.end() ? nullptr : found->second;
}

Reason InferDriver::reasonHere(std::string_view what) const {
  return {std::string(kCheckReason) + std::string(what), op_ ? op_->place : SourceLocation{}};
}

const Op* InferDriver::checkOp(std::string_view relation, Dim a, Dim b, std::string_view what,
                               const SourceLocation& place) {
  Op check;
  check.def = &ops::checkOp;
  check.attributes = Attributes{
      {"lhs", Shape{a}}, {"rhs", Shape{b}}, {"relation", std::string(relation)}, {"what", std::string(what)}};
  check.place = place;
  ++checksInserted_;
  return ir_.own(std::move(check));
}

void InferDriver::insertCheck(std::string_view relation, Dim a, Dim b, std::string_view what) {
  Frame& frame = stack_.back();
  frame.ops.push_back(checkOp(relation, a, b, what, op_->place));
  frame.changed = true;
}

void InferDriver::remember(char relation, Dim a, Dim b) {
  Demand demand{relation, a.id(), b.id()};
  if (demands_.insert(demand).second) demandLog_.push_back(demand);
}

Status InferDriver::requireEqual(Dim a, Dim b, std::string_view what) {
  a = solver_.canonical(a);
  b = solver_.canonical(b);
  if (a == b) return {};
  switch (solver_.equal(a, b)) {
    case Answer::yes:
      return {};
    case Answer::no: {
      Error wrong = error(DiagnosticId::shapeMismatch, versus(what, a, b));
      for (const Fact& fact : solver_.explainEqual(a, b)) wrong.diagnostic().notes.push_back(fact.toString());
      return wrong;
    }
    case Answer::unknown:
      break;
  }
  if (demanded('=', a, b) || demanded('=', b, a)) return {};
  const std::string demand = std::string(op_->def->name) + ": " + std::string(what);
  insertCheck("eq", a, b, demand);
  return learnRelation("eq", a, b, demand);
}

Status InferDriver::requireLessEqual(Dim a, Dim b, std::string_view what) {
  a = solver_.canonical(a);
  b = solver_.canonical(b);
  switch (solver_.lessEqual(a, b)) {
    case Answer::yes:
      return {};
    case Answer::no: {
      Error wrong = error(DiagnosticId::shapeMismatch,
                          std::string(what) + ": " + a.toString() + " is greater than " + b.toString());
      for (const Fact& fact : solver_.explainLessEqual(a, b))
        wrong.diagnostic().notes.push_back(fact.toString());
      return wrong;
    }
    case Answer::unknown:
      break;
  }
  if (demanded('<', a, b)) return {};
  const std::string demand = std::string(op_->def->name) + ": " + std::string(what);
  insertCheck("le", a, b, demand);
  return learnRelation("le", a, b, demand);
}

// The k of a `cut` that is min(k, whole) with k >= 1 (a slice of a table); null if it is none. Where both go
// together, it is 1 or all of `whole`, so that the result is `whole`.
static Dim tableOf(Dim cut, Dim whole) {
  if (cut.kind() != DimKind::min) return {};
  const Dim a = cut.operands()[0], b = cut.operands()[1];
  const Dim table = a == whole ? b : b == whole ? a : Dim();
  return table && table.constant().value_or(0) >= 1 ? table : Dim();
}

// Groups that passes made are of operations that were checked before.
bool InferDriver::isInGroup() const {
  for (size_t i = 0; i + 1 < stack_.size(); ++i) {
    const Op& owner = *stack_[i].todo[stack_[i].next];
    if (owner.def == &ops::fusedOp || owner.def == &ops::intoOp) return true;
  }
  return false;
}

Status InferDriver::demandElements(const Op& op) {
  const auto isNew = [&](ValueId value, ElementsAre elements) {
    const Demand demand{'v', value, static_cast<uint32_t>(elements)};
    if (!demands_.insert(demand).second) return false;
    demandLog_.push_back(demand);
    return true;
  };
  if (op.def == &ops::check_valuesOp) {
    const ElementsAre elements = elementsOfWord(op.attributes.string("elements"));
    if (elements != ElementsAre::inRange) isNew(operandId(0), elements);
    return {};
  }
  for (const OperandRule& rule : op.def->operandRules) {
    if (rule.operand < 0 || !isCheckedByElements(rule.elements) || !hasOperand(rule.operand)) continue;
    const std::string what = std::string(op.def->name) + ", operand " + std::to_string(rule.operand);
    if (const HostTensor* known = operandConstant(rule.operand)) {
      const std::string fault = elementsFault(*known, rule.elements);
      if (!fault.empty()) return error(DiagnosticId::shapeCheckFailed, what + ": " + fault);
      continue;
    }
    if (isInGroup() || !isNew(operandId(rule.operand), rule.elements)) continue;
    Op check;
    check.def = &ops::check_valuesOp;
    check.operands = {operandId(rule.operand)};
    check.attributes = Attributes{{"elements", std::string(wordOf(rule.elements))}, {"what", what}};
    check.place = op.place;
    stack_.back().ops.push_back(ir_.own(std::move(check)));
    stack_.back().changed = true;
    ++checksInserted_;
  }
  return {};
}

Result<Dim> InferDriver::broadcast(Dim a, Dim b, std::string_view what) {
  a = solver_.canonical(a);
  b = solver_.canonical(b);
  if (a == b || solver_.equal(a, b) == Answer::yes) return a;
  if (a.isConstant(1)) return b;
  if (b.isConstant(1)) return a;
  const bool aNotOne = neverOne(solver_, a), bNotOne = neverOne(solver_, b);
  if (aNotOne && bNotOne) {
    DYN_CHECK(requireEqual(a, b, what));
    return solver_.canonical(a);
  }
  // A slice of a table of more than one row is 1 only where `whole` is: that fits into the table, then.
  const Dim cutB = tableOf(b, a), cutA = tableOf(a, b);
  for (const auto& [table, whole] : {std::pair(cutB, a), std::pair(cutA, b)})
    if (table && *table.constant() > 1) {
      DYN_CHECK(requireLessEqual(whole, table, what));
      return whole;
    }
  // Where one side is 1 it takes the other's size; the side that cannot be 1 is the result.
  const bool aIsWhole = aNotOne || cutB, bIsWhole = bNotOne || cutA;
  const Dim result = aIsWhole ? a : bIsWhole ? b : broadcastDim(solver_, a, b);
  if (demanded('b', a, b) || demanded('b', b, a)) return result;
  const std::string demand = std::string(op_->def->name) + ": " + std::string(what);
  insertCheck("broadcast", a, b, demand);
  DYN_CHECK(learnRelation("broadcast", a, b, demand));
  return result;
}

Status InferDriver::learnRelation(std::string_view relation, Dim a, Dim b, std::string_view what) {
  const char kind = relation == "eq" ? '=' : relation == "le" ? '<' : relation == "broadcast" ? 'b' : '?';
  if (kind == '?')
    return error(DiagnosticId::badAttribute, "unknown relation \"" + std::string(relation) + "\"");
  Status learnt = learnFromCheck(&solver_, relation, a, b, reasonHere(what));
  remember(kind, a, b);
  if (learnt.ok()) return {};
  Error wrong = learnt.takeError();
  if (wrong.diagnostic().op.empty()) wrong.diagnostic().op = op_->def->name;
  return std::move(wrong).at(op_->place);
}

Dim InferDriver::fresh(std::string_view reason) { return freshOr(Dim(), reason); }

Dim InferDriver::freshOr(Dim annotation, std::string_view reason) {
  OpState& state = stack_.back().state;
  if (state.freshUsed == state.fresh.size()) {
    const bool reuse = annotation && annotation.isSymbol() && !inScope(annotation);
    state.fresh.push_back(reuse ? annotation
                                : ir_.dims().any(std::string(op_->def->name) + ": " + std::string(reason)));
  }
  return state.fresh[state.freshUsed++];
}

Dim InferDriver::freshFromOperand(int i, int64_t index, std::string_view reason) {
  const ValueId value = operandId(i);
  auto known = contents_.find(value);
  if (known != contents_.end() && known->second[static_cast<size_t>(index)]) {
    return known->second[static_cast<size_t>(index)];
  }
  const uint64_t key = (static_cast<uint64_t>(value) << 32) + static_cast<uint64_t>(index);
  auto bound = elementDims_.find(key);
  if (bound != elementDims_.end() && inScope(bound->second)) return bound->second;
  Dim symbol = ir_.dims().any(std::string(op_->def->name) + ": " + std::string(reason));
  Op bind;
  bind.def = &ops::bind_dimsOp;
  bind.operands = {value};
  bind.attributes = Attributes{{"dims", Shape{symbol}}, {"elements", std::vector<int64_t>{index}}};
  bind.place = op_->place;
  stack_.back().ops.push_back(ir_.own(std::move(bind)));
  stack_.back().changed = true;
  learnContents(i, index, symbol);
  return symbol;
}

void InferDriver::learnContents(int operand, int64_t index, Dim value) {
  const ValueId id = operandId(operand);
  if (value.isSymbol() && !inScope(value)) {
    // A value is no size: it may be negative.
    (void)solver_.addRange(value, INT64_MIN, std::nullopt, {"element of an integer tensor", op_->place});
    defineSymbols(value);
  }
  elementDims_[(static_cast<uint64_t>(id) << 32) + static_cast<uint64_t>(index)] = value;
  auto known = contents_.find(id);
  if (known == contents_.end()) {
    std::optional<int64_t> count = constantElementCount(types_[id].dims());
    if (!count || *count > kMaxContents || index >= *count) return;
    known = contents_.emplace(id, Contents(static_cast<size_t>(*count))).first;
  }
  if (static_cast<size_t>(index) < known->second.size()) known->second[static_cast<size_t>(index)] = value;
}

// The sizes in few terms: each operation behind would carry the others on.
void InferDriver::setResult(int i, Type type) {
  if (type.isTensor() && std::any_of(type.dims().begin(), type.dims().end(), [](Dim d) {
        return d.kind() == DimKind::add || d.kind() == DimKind::max;
      }))
    type = mapDims(ir_, type, [&](Dim d, const TypePath&) { return withoutFirst(compact(d), solver_); });
  OpState& state = stack_.back().state;
  if (state.results.size() <= static_cast<size_t>(i)) state.results.resize(static_cast<size_t>(i) + 1);
  state.results[static_cast<size_t>(i)] = type;
}

void InferDriver::setResultContents(int i, Contents contents) {
  if (static_cast<int64_t>(contents.size()) > kMaxContents) return;
  for (Dim& d : contents)
    if (d && d.kind() == DimKind::add) d = compact(d);
  for (Dim d : contents) {
    if (d && !d.isInvalid()) {
      stack_.back().state.contents.emplace_back(i, std::move(contents));
      return;
    }
  }
}

Status InferDriver::inferRegion(int region, std::span<const Type> parameters, std::vector<Type>* results) {
  OpState& state = stack_.back().state;
  for (const RegionCall& call : state.regionCalls) {
    if (call.region == region &&
        std::equal(call.parameters.begin(), call.parameters.end(), parameters.begin(), parameters.end())) {
      *results = call.results;
      return {};
    }
  }
  state.pending = RegionCall{region, {parameters.begin(), parameters.end()}, {}, nullptr};
  return error(DiagnosticId::internalError, "region is being inferred");  // the driver starts the rule again
}

bool InferDriver::inScope(Dim dim) const {
  for (SymbolId symbol : symbolsOf(dim)) {
    if (symbol >= inScope_.size() || !inScope_[symbol]) return false;
  }
  return true;
}

Status InferDriver::requireType(Type expected, Type actual, std::string_view what) {
  Result<Type> met =
      zipTypes(ir_, expected, actual, what, [&](Dim e, Dim a, const TypePath& path) -> Result<Dim> {
        if (e == a || !inScope(e)) return a;
        const std::string where = std::string(what) + " " + path.text;
        if (!inScope(a)) {
          return error(DiagnosticId::typeMismatch, versus(where, e, a) + ", which is not known here");
        }
        DYN_CHECK(requireEqual(e, a, where));
        return a;
      });
  if (met.ok()) return {};
  Error wrong = met.takeError();
  wrong.diagnostic().op = op_->def->name;
  return std::move(wrong).at(op_->place);
}

Result<std::vector<Type>> InferDriver::instantiateCall(std::string_view callee,
                                                       std::span<const Type> arguments,
                                                       std::vector<Type>* restParameters) {
  const Function* function = module_.find(callee);
  if (!function) return error(DiagnosticId::textName, "there is no function @" + std::string(callee));
  Signature signature{"@" + std::string(callee), {}, function->resultTypes, true};
  for (const Parameter& parameter : function->parameters) signature.parameters.push_back(parameter.type);
  signature.results.resize(function->results.size());
  for (Type type : signature.results) {
    if (type) continue;
    return error(DiagnosticId::typeMismatch,
                 signature.name + " calls itself: its result types must be written down");
  }
  return instantiate(signature, arguments, restParameters);
}

Result<std::vector<Type>> InferDriver::instantiateValue(Type function, std::span<const Type> arguments) {
  Signature signature{"the function value",
                      {function.elements().begin(), function.elements().end()},
                      {function.results().begin(), function.results().end()},
                      false};
  return instantiate(signature, arguments, nullptr);
}

bool InferDriver::regionResultIs(int region, int k, int64_t constant) const {
  const Function* body = op_->regions[static_cast<size_t>(region)];
  auto found = contents_.find(body->results[static_cast<size_t>(k)]);
  return found != contents_.end() && found->second.size() == 1 && found->second[0] &&
         found->second[0].isConstant(constant);
}

// Bare symbols of the parameters define the callee's names; then everything else is a demand.
Result<std::vector<Type>> InferDriver::instantiate(const Signature& signature,
                                                   std::span<const Type> arguments,
                                                   std::vector<Type>* restParameters) {
  const size_t parameterCount = signature.parameters.size();
  if (arguments.size() > parameterCount || (!restParameters && arguments.size() != parameterCount)) {
    return error(DiagnosticId::badOperands, signature.name + " takes " + std::to_string(parameterCount) +
                                                " arguments, not " + std::to_string(arguments.size()));
  }
  std::unordered_map<SymbolId, Dim> map;
  auto replace = [&](SymbolId symbol) {
    auto found = map.find(symbol);
    return found == map.end() ? Dim() : found->second;
  };
  auto isOpen = [&](SymbolId symbol) {
    return !map.count(symbol) && (signature.ownSymbols || !inScope(ir_.dims().symbolById(symbol)));
  };
  auto isKnown = [&](Dim d) {
    const std::vector<SymbolId> symbols = symbolsOf(d);
    return std::none_of(symbols.begin(), symbols.end(), isOpen);
  };
  auto bindNames = [&](Dim p, Dim a, const TypePath& path) -> Result<Dim> {
    if (p.isSymbol() && !path.nested && isOpen(p.symbol())) map.emplace(p.symbol(), a);
    return a;
  };
  auto demand = [&](Dim p, Dim a, const TypePath& path) -> Result<Dim> {
    const std::string what = signature.name + ", " + path.text;
    if (!isKnown(p)) {
      if (path.nested) return a;
      return error(DiagnosticId::unsupportedFeature,
                   what + ": " + p.toString() + " uses a dim that no axis of a parameter gives");
    }
    const Dim expected = substitute(p, replace);
    if (expected == a) return a;
    if (path.nested && !inScope(a)) return error(DiagnosticId::typeMismatch, versus(what, a, expected));
    DYN_CHECK(requireEqual(a, expected, what));
    return a;
  };
  for (int pass = 0; pass < 2; ++pass) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const std::string what = "argument " + std::to_string(i) + " of " + signature.name;
      Result<Type> met = zipTypes(ir_, signature.parameters[i], arguments[i], what,
                                  pass == 0 ? ZipDims(bindNames) : ZipDims([&](Dim p, Dim a, TypePath path) {
                                    path.text = "argument " + std::to_string(i) + " " + path.text;
                                    return demand(p, a, path);
                                  }));
      if (met.ok()) continue;
      Error wrong = met.takeError();
      wrong.diagnostic().op = op_->def->name;
      return std::move(wrong).at(op_->place);
    }
  }
  // What a call gives can be looked at: an unknown size that stands alone somewhere gets its value there, and
  // others may be computed from it.
  std::set<SymbolId> alone;
  for (Type type : signature.results) {
    (void)mapDims(ir_, type, [&](Dim d, const TypePath& path) {
      if (d.isSymbol() && !path.nested) alone.insert(d.symbol());
      return d;
    });
  }
  auto complete = [&](Type type) {
    return mapDims(ir_, type, [&](Dim d, const TypePath& path) {
      const std::vector<SymbolId> symbols = symbolsOf(d);
      const bool untold = std::any_of(symbols.begin(), symbols.end(),
                                      [&](SymbolId s) { return isOpen(s) && alone.count(s) == 0; });
      if (untold && !restParameters && !path.nested)
        return fresh("a size that " + signature.name + " decides");
      for (SymbolId symbol : symbolsOf(d)) {
        if (isOpen(symbol)) map.emplace(symbol, fresh("a size that " + signature.name + " decides"));
      }
      return substitute(d, replace);
    });
  };
  if (restParameters) {
    for (size_t i = arguments.size(); i < parameterCount; ++i) {
      restParameters->push_back(complete(signature.parameters[i]));
    }
  }
  std::vector<Type> results;
  for (Type type : signature.results) results.push_back(complete(type));
  return results;
}

}  // namespace dyn
