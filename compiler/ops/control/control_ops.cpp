// Control flow and calls. Their evaluation is the interpreter's (reference_interpreter.cpp); here stand their
// type rules.
#include <algorithm>
#include <set>

#include "compiler/ir/verifier.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/control_infer.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/need.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/ops/rules/type_zip.h"

namespace dyn {

int captureCount(const Op& op) {
  const int operands = static_cast<int>(op.operands.size());
  if (op.def == &ops::fusedOp) return operands;
  if (op.def == &ops::ifOp || op.def == &ops::matchOp) return std::max(0, operands - 1);
  if (op.def == &ops::loopOp) {
    return std::max(0, operands - 2 - static_cast<int>(op.attributes.integer("carried")));
  }
  return 0;
}

namespace {

// A scalar (or one-element tensor) of one of the classes.
Status requireScalar(InferContext& c, int i, std::initializer_list<DtypeClass> classes,
                     std::string_view what) {
  DYN_TRY(TensorOperand x, tensorOperand(c, i));
  DYN_CHECK(requireClass(c, x, classes, what));
  for (Dim d : x.dims)
    DYN_CHECK(c.requireEqual(d, constantDim(c, 1), std::string(what) + " has one element"));
  return {};
}

std::optional<int64_t> knownScalar(const InferContext& c, int i) {
  std::optional<std::vector<int64_t>> elements = constantElements(c, i);
  if (!elements || elements->size() != 1) return std::nullopt;
  return elements->front();
}

// Dims that agree and have a value outside of the bodies stay; all others become `?`.
Result<Type> joinTypes(InferContext& c, Type a, Type b, std::string_view what, std::string_view reason) {
  return zipTypes(c.ir(), a, b, what, [&](Dim x, Dim y, const TypePath&) -> Result<Dim> {
    if (x == y || c.solver().equal(x, y) == Answer::yes) {
      if (control(c).inScope(x)) return x;
      if (control(c).inScope(y)) return y;
    }
    return c.fresh(reason);
  });
}

// Symbols that nothing defines here (sizes of list elements, of data fields) become `?` of this operation's
// result.
Type opened(InferContext& c, Type type, std::string_view reason) {
  return mapDims(c.ir(), type,
                 [&](Dim d, const TypePath&) { return control(c).inScope(d) ? d : c.fresh(reason); });
}

Status inferIf(InferContext& c) {
  DYN_CHECK(
      requireScalar(c, 0, {DtypeClass::boolean, DtypeClass::integer, DtypeClass::natural}, "the condition"));
  std::vector<Type> captures;
  for (int i = 1; i < c.operandCount(); ++i) captures.push_back(c.operandType(i));
  std::vector<Type> branches[2];
  DYN_CHECK(c.inferRegion(0, captures, &branches[0]));
  DYN_CHECK(c.inferRegion(1, captures, &branches[1]));
  if (branches[0].size() != branches[1].size()) {
    return c.error(DiagnosticId::badOperands, "the branches give " + std::to_string(branches[0].size()) +
                                                  " and " + std::to_string(branches[1].size()) + " results");
  }
  for (size_t i = 0; i < branches[0].size(); ++i) {
    Result<Type> joined = joinTypes(c, branches[0][i], branches[1][i],
                                    "result " + std::to_string(i) + " of the branches then and else",
                                    "the branches give different sizes");
    if (!joined.ok()) {
      Error wrong = joined.takeError();
      if (wrong.diagnostic().id == DiagnosticId::rankMismatch) {
        wrong.diagnostic().id = DiagnosticId::unsupportedFeature;
        wrong.diagnostic().notes.push_back(
            "branches that give different ranks are not supported: the rank is part of the type");
        tellNeed(c, 0, Need::Kind::contents);
      }
      wrong.diagnostic().op = c.op().def->name;
      return std::move(wrong).at(c.op().place);
    }
    c.setResult(static_cast<int>(i), *joined);
  }
  return {};
}

constexpr std::string_view kChanges = "changes from one iteration of the loop to the next";

struct LoopRule {
  InferContext& c;
  const Function& body;
  size_t carried;
  std::vector<Type> parameters;               // iteration, carried, captures
  std::vector<Type> fixedTypes;               // by carried: the annotation
  std::vector<std::vector<Dim>> widenedDims;  // by carried: `?` symbols of widened axes
  bool changed = false;

  bool isWidened(size_t k, Dim d) const {
    return std::find(widenedDims[k].begin(), widenedDims[k].end(), d) != widenedDims[k].end();
  }

  bool isUsed(Dim wish) const {
    for (size_t k = 0; k < widenedDims.size(); ++k) {
      if (wish && isWidened(k, wish)) return true;
    }
    return false;
  }

  // Symbols that operations of the body name (checks, sizes as values): they must keep standing for what they
  // did when it was inferred.
  std::set<SymbolId> namedSymbols() const {
    std::set<SymbolId> named;
    for (const FunctionVisit& visit : functionsOf(body)) {
      for (const Op* op : visit.function->ops) {
        for (const auto& [name, value] : op->attributes.all()) {
          if (kindOf(value) != AttributeKind::dims) continue;
          for (Dim d : std::get<Shape>(value))
            for (SymbolId symbol : symbolsOf(d)) named.insert(symbol);
        }
      }
    }
    return named;
  }

  // The initial value against the user's annotation of the body's parameter.
  Result<Type> start(size_t k, Type initial, std::optional<std::set<SymbolId>>& named) {
    const Type annotation = body.parameters[1 + k].type;
    if (!annotation) return initial;
    const std::string what = "carried value " + std::to_string(k);
    Result<Type> met =
        zipTypes(c.ir(), initial, annotation, what,
                 [&](Dim value, Dim annotated, const TypePath& path) -> Result<Dim> {
                   if (path.nested || value == annotated) return value;
                   if (!control(c).inScope(annotated)) {
                     if (!named) named = namedSymbols();  // walks the whole body: seldom asked for
                     if (!annotated.isSymbol() || named->count(annotated.symbol()) == 0 || isUsed(annotated))
                       return value;
                     widenedDims[k].push_back(control(c).freshOr(annotated, "is carried by the loop"));
                     return widenedDims[k].back();
                   }
                   DYN_CHECK(c.requireEqual(value, annotated, what + " " + path.text));
                   return annotated;
                 });
    if (!met.ok()) return met.takeError().at(c.op().place);
    return met;
  }

  // Axes found to change before are wide from the start. A loop around this one infers it for each of its own
  // rounds; if each of them began from nothing, loops in loops would take time that doubles with their depth.
  void widenAsBefore() {
    for (const auto& [k, axis] : control(c).widenedBefore()) {
      const Type initial = parameters[1 + k], annotation = body.parameters[1 + k].type;
      if (!initial.isTensor() || axis >= initial.dims().size()) continue;
      const bool annotated =
          annotation && annotation.isTensor() && annotation.dims().size() == initial.dims().size();
      const Dim wish = annotated ? annotation.dims()[axis] : Dim();
      if (isWidened(k, initial.dims()[axis]) || (wish && control(c).inScope(wish))) continue;
      Shape dims = initial.dims();
      dims[axis] = control(c).freshOr(isUsed(wish) ? Dim() : wish, kChanges);
      widenedDims[k].push_back(dims[axis]);
      parameters[1 + k] = c.ir().tensorType(dims, initial.dtype());
    }
  }

  std::vector<ControlInferContext::WidenedAxis> widenedAxes() const {
    std::vector<ControlInferContext::WidenedAxis> axes;
    for (size_t k = 0; k < carried; ++k) {
      const Type type = parameters[1 + k];
      for (size_t axis = 0; type.isTensor() && axis < type.dims().size(); ++axis)
        if (isWidened(k, type.dims()[axis])) axes.push_back({k, axis});
    }
    return axes;
  }

  // The parameter's type after the body gave `result` for it.
  Result<Type> widen(size_t k, Type result) {
    const Type before = parameters[1 + k];
    const Type annotation = body.parameters[1 + k].type;
    const std::string what = "carried value " + std::to_string(k) + " before and after the body";
    std::vector<Dim> annotated;
    if (annotation && !annotation.isTensor()) {
      (void)mapDims(c.ir(), annotation, [&](Dim d, const TypePath&) { return annotated.push_back(d), d; });
    } else if (annotation) {
      annotated = annotation.dims();
    }
    size_t place = 0;
    Result<Type> joined =
        zipTypes(c.ir(), before, result, what, [&](Dim p, Dim r, const TypePath& path) -> Result<Dim> {
          const Dim wish = place < annotated.size() ? annotated[place] : Dim();
          ++place;
          if (path.nested) return p;
          if (isWidened(k, p) || p == r || c.solver().equal(p, r) == Answer::yes) return p;
          if (wish && control(c).inScope(wish))
            return p;  // the annotation's demand is checked at the end of the body
          const Dim wide = control(c).freshOr(isUsed(wish) ? Dim() : wish, kChanges);
          widenedDims[k].push_back(wide);
          changed = true;
          return wide;
        });
    if (joined.ok() && sameStructure(*joined, before)) return joined;
    if (joined.ok()) {  // an empty list that the body has put something into: List[()] became List[T]
      changed = true;
      return mapDims(c.ir(), *joined, [&](Dim d, const TypePath&) {
        return control(c).inScope(d) ? d : c.fresh("the size of a list element");
      });
    }
    Error wrong = joined.takeError();
    if (wrong.diagnostic().id == DiagnosticId::rankMismatch)
      wrong.diagnostic().id = DiagnosticId::unsupportedFeature;
    return std::move(wrong).at(c.op().place);
  }
};

Status inferLoop(InferContext& c) {
  const int64_t carriedCount = c.attributes().integer("carried");
  if (c.op().regions.size() != 1) return c.error(DiagnosticId::invalidIr, "it needs one body");
  if (carriedCount < 0 || carriedCount > c.operandCount() - 2) {
    return c.error(DiagnosticId::badAttribute, "carried = " + std::to_string(carriedCount) +
                                                   " does not fit " + std::to_string(c.operandCount()) +
                                                   " operands");
  }
  const Function& body = *c.op().regions[0];
  const size_t carried = static_cast<size_t>(carriedCount);
  if (body.parameters.size() != static_cast<size_t>(c.operandCount()) - 1) {
    return c.error(DiagnosticId::badOperands, "its body must have " + std::to_string(c.operandCount() - 1) +
                                                  " parameters, not " +
                                                  std::to_string(body.parameters.size()));
  }
  if (c.hasOperand(0)) DYN_CHECK(requireScalar(c, 0, {DtypeClass::integer}, "the trip count"));
  if (c.hasOperand(1)) DYN_CHECK(requireScalar(c, 1, {DtypeClass::boolean}, "the condition"));

  LoopRule rule{c, body, carried, {}, {}, std::vector<std::vector<Dim>>(carried), false};
  rule.parameters.push_back(c.ir().tensorType(Shape{}, Dtype::i64));
  std::optional<std::set<SymbolId>> named;
  std::vector<Type> expected(1);
  for (size_t k = 0; k < carried; ++k) {
    DYN_TRY(Type initial, rule.start(k, c.operandType(static_cast<int>(2 + k)), named));
    rule.parameters.push_back(initial);
    // Sizes that the annotation leaves open accept anything, also where the body names them.
    const Type annotation = body.parameters[1 + k].type;
    expected.push_back(!annotation ? annotation : mapDims(c.ir(), annotation, [&](Dim d, const TypePath&) {
      return control(c).inScope(d) ? d : c.fresh("any size");
    }));
  }
  for (int i = 2 + static_cast<int>(carried); i < c.operandCount(); ++i)
    rule.parameters.push_back(c.operandType(i));
  control(c).expectResults(0, expected);

  rule.widenAsBefore();
  std::vector<Type> results;
  do {
    rule.changed = false;
    DYN_CHECK(c.inferRegion(0, rule.parameters, &results));
    if (results.size() < 1 + carried)
      return c.error(DiagnosticId::badOperands, "its body gives too few results");
    for (size_t k = 0; k < carried; ++k) {
      DYN_TRY(Type widened, rule.widen(k, results[1 + k]));
      rule.parameters[1 + k] = widened;
    }
  } while (rule.changed);
  control(c).rememberWidened(rule.widenedAxes());

  if (!results[0].isTensor() || results[0].dtype() != Dtype::boolean) {
    return c.error(DiagnosticId::typeMismatch,
                   "the first result of its body must be a boolean scalar, it is " + results[0].toString());
  }
  // As [1] too: exporters write it. No check at run time could come before the iteration that it is about.
  for (Dim d : results[0].dims()) {
    if (c.solver().equal(d, constantDim(c, 1)) == Answer::yes) continue;
    return c.error(
        DiagnosticId::shapeMismatch,
        "the condition that its body returns must have one element, it is " + results[0].toString());
  }
  for (size_t k = 0; k < carried; ++k) {
    c.setResult(static_cast<int>(k),
                mapDims(c.ir(), rule.parameters[1 + k], [&](Dim d, const TypePath& path) {
                  if (path.nested || (control(c).inScope(d) && !rule.isWidened(k, d))) return d;
                  return c.fresh("the size after the last iteration of the loop");
                }));
  }
  const std::optional<Contents> trip = c.hasOperand(0) ? c.operandContents(0) : std::nullopt;
  const bool runsAll = (!c.hasOperand(1) || knownScalar(c, 1) == 1) && control(c).regionResultIs(0, 0, 1);
  Dim iterations;
  for (size_t k = 1 + carried; k < results.size(); ++k) {
    if (!results[k].isTensor())
      return c.error(DiagnosticId::typeMismatch, "a stacked result must be a tensor");
    if (!iterations) {
      iterations = runsAll && trip && trip->size() == 1 && (*trip)[0]
                       ? max((*trip)[0], constantDim(c, 0))
                       : c.fresh("the number of iterations of the loop");
    }
    Shape dims{iterations};
    for (Dim d : results[k].dims()) {
      dims.push_back(control(c).inScope(d) ? d : c.fresh("the size of one slice of the stacked result"));
    }
    setTensor(c, dims, results[k].dtype(), static_cast<int>(k - 1));
  }
  return {};
}

Status inferMatch(InferContext& c) {
  const Type type = c.operandType(0);
  if (type.kind() != TypeKind::data) {
    return c.error(DiagnosticId::typeMismatch, "it needs a data value, not " + type.toString());
  }
  const DataType* data = c.module().findData(type.dataName());
  if (!data) return c.error(DiagnosticId::textName, "there is no data type " + std::string(type.dataName()));
  const std::vector<std::string> names = c.attributes().strings("constructors");
  if (names.size() != c.op().regions.size()) {
    return c.error(DiagnosticId::badAttribute, "it needs one body for each constructor");
  }
  std::vector<Type> joined;
  for (const DataConstructor& constructor : data->constructors) {
    const auto named = std::find(names.begin(), names.end(), constructor.name);
    if (named == names.end())
      return c.error(DiagnosticId::badAttribute, "constructor " + constructor.name + " is not covered");
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const auto found =
        std::find_if(data->constructors.begin(), data->constructors.end(),
                     [&](const DataConstructor& candidate) { return candidate.name == names[i]; });
    if (found == data->constructors.end() ||
        std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
            names.begin() + static_cast<std::ptrdiff_t>(i)) {
      return c.error(DiagnosticId::badAttribute,
                     names[i] + " is not a constructor of " + data->name + ", or stands twice");
    }
    std::vector<Type> parameters;
    for (Type field : found->fields) {
      parameters.push_back(mapDims(c.ir(), field, [&](Dim d, const TypePath& path) {
        return d.isConstant() || path.nested ? d : c.fresh("a field of " + found->name);
      }));
    }
    for (int k = 1; k < c.operandCount(); ++k) parameters.push_back(c.operandType(k));
    std::vector<Type> results;
    DYN_CHECK(c.inferRegion(static_cast<int>(i), parameters, &results));
    if (i == 0) {
      joined = results;
      continue;
    }
    if (results.size() != joined.size())
      return c.error(DiagnosticId::badOperands, "its bodies give different numbers of results");
    for (size_t k = 0; k < results.size(); ++k) {
      Result<Type> both =
          joinTypes(c, joined[k], results[k], "result " + std::to_string(k) + " of the bodies of match",
                    "the bodies give different sizes");
      if (!both.ok()) return both.takeError().at(c.op().place);
      joined[k] = *both;
    }
  }
  for (size_t k = 0; k < joined.size(); ++k) {
    c.setResult(static_cast<int>(k),
                names.size() == 1 ? opened(c, joined[k], "a size found in the data") : joined[k]);
  }
  return {};
}

std::vector<Type> operandTypes(const InferContext& c, int first) {
  std::vector<Type> types;
  for (int i = first; i < c.operandCount(); ++i) types.push_back(c.operandType(i));
  return types;
}

Status setResults(InferContext& c, const std::vector<Type>& types) {
  for (size_t i = 0; i < types.size(); ++i) c.setResult(static_cast<int>(i), types[i]);
  return {};
}

Status inferCall(InferContext& c) {
  DYN_TRY(std::vector<Type> results,
          control(c).instantiateCall(c.attributes().string("callee"), operandTypes(c, 0), nullptr));
  return setResults(c, results);
}

Status inferClosure(InferContext& c) {
  std::vector<Type> rest;
  DYN_TRY(std::vector<Type> results,
          control(c).instantiateCall(c.attributes().string("callee"), operandTypes(c, 0), &rest));
  c.setResult(0, c.ir().functionType(std::move(rest), std::move(results)));
  return {};
}

Status inferInvoke(InferContext& c) {
  const Type function = c.operandType(0);
  if (function.kind() != TypeKind::function) {
    return c.error(DiagnosticId::typeMismatch, "it needs a function value, not " + function.toString());
  }
  DYN_TRY(std::vector<Type> results, control(c).instantiateValue(function, operandTypes(c, 1)));
  return setResults(c, results);
}

Status inferCheck(InferContext& c) {
  const Shape lhs = c.attributes().dims("lhs"), rhs = c.attributes().dims("rhs");
  if (lhs.size() != 1 || rhs.size() != 1)
    return c.error(DiagnosticId::badAttribute, "lhs and rhs are one dim each");
  for (Dim d : {lhs[0], rhs[0]}) {
    if (!control(c).inScope(d)) return c.error(DiagnosticId::textName, d.toString() + " has no value here");
  }
  return control(c).learnRelation(c.attributes().string("relation"), c.solver().canonical(lhs[0]),
                                  c.solver().canonical(rhs[0]), c.attributes().string("what"));
}

constexpr int64_t kElementOfTheRun = INT32_MAX;

Status inferBindDims(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(
      requireClass(c, x, {DtypeClass::integer, DtypeClass::natural, DtypeClass::boolean}, "the operand"));
  const Shape dims = c.attributes().dims("dims");
  const std::vector<int64_t> elements = c.attributes().integers("elements");
  if (dims.size() != elements.size())
    return c.error(DiagnosticId::badAttribute, "dims and elements differ in length");
  const bool from = c.hasOperand(1);
  if (from) {
    DYN_TRY(TensorOperand first, tensorOperand(c, 1, 0));
    DYN_CHECK(requireClass(c, first, {DtypeClass::integer}, "where to count from"));
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!dims[i].isSymbol() || elements[i] < 0)
      return c.error(DiagnosticId::badAttribute, "dims are bare symbols");
    // Counted from an element that the run decides it is none that is known: one behind all there can be.
    control(c).learnContents(0, from ? kElementOfTheRun : elements[i], dims[i]);
  }
  return {};
}

constexpr AttributeSpec kLoopAttributes[] = {
    {"carried", AttributeKind::integer, true,
     "how many of the operands are carried from iteration to iteration",
     Allowed::byRule("0 to the number of operands behind the condition")}};
constexpr AttributeSpec kMatchAttributes[] = {{"constructors", AttributeKind::strings, true,
                                               "the constructor of each body, each of them once",
                                               Allowed::byRule("every constructor of the type once")}};
constexpr AttributeSpec kCalleeAttributes[] = {{"callee", AttributeKind::string, true, "name of the function",
                                                Allowed::byRule("a function of the module")}};
constexpr AttributeSpec kCheckAttributes[] = {
    {"lhs", AttributeKind::dims, true, "one dim", Allowed::byRule("one dim")},
    {"rhs", AttributeKind::dims, true, "one dim", Allowed::byRule("one dim")},
    {"relation", AttributeKind::string, true,
     "\"eq\", \"le\" (lhs <= rhs) or \"broadcast\" (equal, or one of them is 1)",
     Allowed::oneOf("eq le broadcast")},
    {"what", AttributeKind::string, false, "what demands it, shown when the check fails; default \"\"",
     Allowed::any()}};
constexpr AttributeSpec kBindAttributes[] = {
    {"dims", AttributeKind::dims, true, "the symbols that get values", Allowed::byRule("bare symbols")},
    {"elements", AttributeKind::integers, true,
     "the element of the operand that each symbol is, in its flat order", Allowed::atLeast(0)}};

}  // namespace

namespace ops {

const OpDef ifOp{
    .name = "if",
    .summary = "runs one of two bodies",
    .cls = OpClass::structural,
    .minOperands = 1,
    .maxOperands = -1,
    .results = -1,
    .infer = inferIf,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc = "(condition [], captures...) -> results of the body taken; dims that differ become `?`",
    .example =
        "fn @main(%c: Tensor[(), bool], %x: Tensor[(n), f32]) {\n"
        "  %y = if(%c, %x) then (%p: Tensor[(n), f32]) { return %p } else (%q: Tensor[(n), f32]) { %r = "
        "relu(%q) return %r }\n"
        "  return %y\n}",
};

const OpDef loopOp{
    .name = "loop",
    .summary = "runs its body while the condition holds, at most tripCount times",
    .cls = OpClass::structural,
    .minOperands = 2,
    .maxOperands = -1,
    .results = -1,
    .attributes = kLoopAttributes,
    .infer = inferLoop,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc =
        "(tripCount [] | none, condition [] | none, carried..., captures...) -> carried..., stacked "
        "[iterations, ...]...",
    .example =
        "fn @main(%trip: Tensor[(), i64], %x: Tensor[(n), f32]) {\n"
        "  %y = loop(%trip, _, %x) {carried = 1} body (%i: Tensor[(), i64], %acc: Tensor[(n), f32]) {\n"
        "    %go = constant() {value = bool[] true} %next = add(%acc, %acc) return %go, %next }\n"
        "  return %y\n}",
};

const OpDef matchOp{
    .name = "match",
    .summary = "runs the body of the constructor that made a data value",
    .cls = OpClass::structural,
    .minOperands = 1,
    .maxOperands = -1,
    .results = -1,
    .attributes = kMatchAttributes,
    .infer = inferMatch,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc =
        "(data value, captures...) -> results of the body; its parameters are the fields, then the captures",
    .example =
        "type Shape { Dot(Tensor[(2), f32]), Pair(Tensor[(2), f32], Tensor[(2), f32]) }\n"
        "fn @main(%x: Tensor[(2), f32]) {\n"
        "  %d = construct(%x) {type = \"Shape\", constructor = \"Dot\"}\n"
        "  %y = match(%d) case Dot(%a: Tensor[(2), f32]) { return %a } "
        "case Pair(%b: Tensor[(2), f32], %c: Tensor[(2), f32]) { %s = add(%b, %c) return %s }\n"
        "  return %y\n}",
};

const OpDef callOp{
    .name = "call",
    .summary = "calls a function of the module",
    .cls = OpClass::structural,
    .minOperands = 0,
    .maxOperands = -1,
    .results = -1,
    .attributes = kCalleeAttributes,
    .infer = inferCall,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc = "(arguments...) -> results of the function, its dims replaced by those of the arguments",
    .example =
        "fn @main(%x: Tensor[(n), f32]) { %y = call(%x) {callee = \"f\"} return %y }\n"
        "fn @f(%v: Tensor[(k), f32]) { %r = relu(%v) return %r }",
};

const OpDef closureOp{
    .name = "closure",
    .summary = "a function value: a function with its first parameters given",
    .cls = OpClass::structural,
    .minOperands = 0,
    .maxOperands = -1,
    .attributes = kCalleeAttributes,
    .infer = inferClosure,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc = "(captures...) -> fn(the other parameters) -> (results)",
    .example =
        "fn @main(%x: Tensor[(n), f32]) { %y = closure(%x) {callee = \"f\"} return %y }\n"
        "fn @f(%v: Tensor[(k), f32], %w: Tensor[(k), f32]) { %r = add(%v, %w) return %r }",
};

const OpDef invokeOp{
    .name = "invoke",
    .summary = "calls a function value",
    .cls = OpClass::structural,
    .minOperands = 1,
    .maxOperands = -1,
    .results = -1,
    .infer = inferInvoke,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc = "(function value, arguments...) -> results of the function",
    .example =
        "fn @main(%x: Tensor[(n), f32]) { %g = closure(%x) {callee = \"f\"} %y = invoke(%g, %x) return %y }\n"
        "fn @f(%v: Tensor[(k), f32], %w: Tensor[(k), f32]) { %r = add(%v, %w) return %r }",
};

const OpDef checkOp{
    .name = "check",
    .summary = "stops the program unless a relation of two dims holds",
    .cls = OpClass::check,
    .traits = {.onlyReads = true},
    .minOperands = 0,
    .maxOperands = 0,
    .results = 0,
    .attributes = kCheckAttributes,
    .hasEffects = true,
    .infer = inferCheck,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc = "() -> ()",
    .example =
        "fn @main(%x: Tensor[(n), f32]) {\n"
        "  check() {lhs = dims(n), rhs = dims(9), relation = \"le\", what = \"at most nine\"}\n  return "
        "%x\n}",
};

const OpDef bind_dimsOp{
    .name = "bind_dims",
    .summary = "gives symbols the values of elements of an integer tensor",
    .cls = OpClass::check,
    .traits = {.onlyReads = true},
    .minOperands = 1,
    .maxOperands = 2,
    .results = 0,
    .attributes = kBindAttributes,
    .hasEffects = true,
    .infer = inferBindDims,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc =
        "[...] -> (); a symbol bound so may be negative. A second operand, an integer [], is the element "
        "from which elements are counted",
    .example =
        "fn @main(%k: Tensor[(2), i64]) {\n  bind_dims(%k) {dims = dims(rows), elements = [0]}\n"
        "  %y = dim_value() {value = dims(rows + 1)}\n  return %y\n}",
};

}  // namespace ops
}  // namespace dyn
