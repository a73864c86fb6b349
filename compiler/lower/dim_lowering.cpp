#include "compiler/lower/dim_lowering.h"

#include <algorithm>

#include "compiler/dims/dim_numbers.h"
#include "compiler/infer/infer.h"
#include "compiler/infer/infer_functions.h"
#include "compiler/ir/check_text.h"
#include "compiler/ir/walk.h"
#include "compiler/lower/host_lowering.h"
#include "compiler/ops/op_table.h"

namespace dyn {

using vm::Label;
using vm::Opcode;
using vm::OperandList;

// --- the entry

Status learnFacts(FunctionLowering& c, const Function& function) {
  const bool alone = c.module().functions.size() == 1;
  std::unordered_set<SymbolId> own;
  const auto add = [&](Type type) {
    if (!type) return;
    for (SymbolId s : symbolsOf(type)) own.insert(s);
  };
  for (const FunctionVisit& visit : alone ? std::vector<FunctionVisit>() : functionsOf(function)) {
    for (const Parameter& p : visit.function->parameters) add(p.type);
    for (const Op* op : visit.function->ops) {
      for (const ValueDef& r : op->results) add(r.type);
      for (Dim d : op->attributes.dims("dims"))
        for (SymbolId s : symbolsOf(d)) own.insert(s);
    }
  }
  const auto isOwn = [&](Dim d) {
    if (alone || !d) return true;
    const std::vector<SymbolId> symbols = symbolsOf(d);
    return std::all_of(symbols.begin(), symbols.end(), [&](SymbolId s) { return own.count(s) != 0; });
  };
  for (const Fact& fact : c.ir().facts().facts())
    if (!isOfCheck(fact) && isOwn(fact.a) && isOwn(fact.b)) (void)addFact(&c.facts(), fact);
  return {};
}

namespace {

// A range or a divisor of the value. No symbol is negative.
void checkFact(FunctionLowering& c, const Fact& fact, int32_t value) {
  const int32_t message = c.program().string("dim " + fact.toString());
  if (fact.kind == FactKind::range && fact.low && !(fact.a.isSymbol() && *fact.low <= 0))
    c.emit(Opcode::checkLessEqual, c.dims().emitConstant(*fact.low), value, message);
  if (fact.kind == FactKind::range && fact.high)
    c.emit(Opcode::checkLessEqual, value, c.dims().emitConstant(*fact.high), message);
  if (fact.kind == FactKind::multipleOf) {
    const int32_t rest = c.dims().newScalar();
    c.emit(Opcode::mod, rest, value, c.dims().emitConstant(fact.multiple));
    c.emit(Opcode::checkEqual, rest, c.dims().emitConstant(0), message);
  }
}

// What is stated of several symbols of the inputs together: a sum in a range, an equality.
Status checkStated(FunctionLowering& c, const std::unordered_set<SymbolId>& symbols) {
  for (const Fact& fact : c.ir().facts().facts()) {
    if (!isStated(fact)) continue;
    const bool equality = fact.kind == FactKind::equal || fact.kind == FactKind::equalProduct;
    if (equality ? fact.a == fact.b : fact.a.isSymbol()) continue;  // nothing, or checked with the symbol
    const auto isInput = [&](Dim d) {
      const std::vector<SymbolId> used = d ? symbolsOf(d) : std::vector<SymbolId>();
      return std::all_of(used.begin(), used.end(), [&](SymbolId s) { return symbols.count(s) != 0; });
    };
    if (!isInput(fact.a) || !isInput(fact.b)) continue;
    DYN_TRY(const int32_t value, c.dims().emit(fact.a));
    if (equality) {
      DYN_TRY(const int32_t other, c.dims().emit(fact.b));
      c.emit(Opcode::checkEqual, value, other, c.program().string("dim " + fact.toString()));
    } else {
      checkFact(c, fact, value);
    }
  }
  return {};
}

Status checkDim(FunctionLowering& c, int32_t object, int32_t axis, Dim d, const std::string& what) {
  const int32_t actual = c.dims().newScalar();
  c.emit(Opcode::dim, actual, object, axis);
  DYN_TRY(const int32_t expected, c.dims().emit(d));
  c.emit(Opcode::checkEqual, actual, expected, c.program().string(what));
  return {};
}

// A program has a message for each check, and nobody reads more of a size than this.
constexpr size_t kMostOfDim = 1000;

}  // namespace

Status bindParameters(FunctionLowering& c, const Function& function, FunctionLowering::Entry entry) {
  for (size_t i = 0; i < function.parameters.size(); ++i)
    c.alias(function.parameters[i].id, static_cast<int32_t>(i));
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const Parameter& p = function.parameters[i];
    c.setType(p.id, p.type);
    if (!p.type.isTensor()) continue;
    if (entry == FunctionLowering::Entry::main) {
      const std::string what = "input '" + c.ir().valueName(p.id) + "' must be " + p.type.toString();
      c.emit(Opcode::checkTensor, static_cast<int32_t>(i), static_cast<int32_t>(p.type.dtype()),
             p.type.rank(), c.program().string(what));
    }
    DYN_CHECK(c.bindFromObject(p.type, static_cast<int32_t>(i)));
  }
  if (entry != FunctionLowering::Entry::main) return {};
  // Dims that are constants, expressions, or symbols seen before are checked.
  std::unordered_set<SymbolId> seen;
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const Parameter& p = function.parameters[i];
    if (!p.type.isTensor()) continue;
    for (int axis = 0; axis < p.type.rank(); ++axis) {
      const Dim d = p.type.dims()[axis];
      if (d.isSymbol() && seen.insert(d.symbol()).second) continue;
      const std::string what =
          "input '" + c.ir().valueName(p.id) + "': dim " + std::to_string(axis) + " must be " + d.toString();
      DYN_CHECK(checkDim(c, static_cast<int32_t>(i), axis, d, what));
    }
  }
  // Declared ranges and divisibility of the symbols.
  for (SymbolId s : seen) {
    for (const Fact& fact : c.ir().facts().factsAbout(s)) {
      const Dim symbol = c.ir().dims().symbolById(s);
      if (fact.a != symbol) continue;
      DYN_TRY(int32_t value, c.dims().emit(symbol));
      checkFact(c, fact, value);
    }
  }
  return checkStated(c, seen);
}

Status checkJoined(FunctionLowering& c, const Op& op, int32_t object) {
  const Type type = op.results[0].type;
  const int64_t named = op.attributes.integer("axis", 0);
  const auto axis = static_cast<int32_t>(named < 0 ? named + type.rank() : named);
  const Dim d = type.dims()[axis];
  if (d.isSymbol() && !c.dims().bound(d.symbol())) return {};
  return checkDim(c, object, axis, d,
                  "axis " + std::to_string(named) + " of a joined list must be " + shortText(d, kMostOfDim));
}

// --- operators

namespace {

Status lowerCheck(FunctionLowering& c, const Op& op, LoweredBody&) {
  const Dim lhs = op.attributes.dims("lhs").at(0), rhs = op.attributes.dims("rhs").at(0);
  const std::string relation = op.attributes.string("relation");
  DYN_TRY(int32_t a, c.dims().emit(lhs));
  DYN_TRY(int32_t b, c.dims().emit(rhs));
  const auto shown = [](Dim dim) { return shortText(dim, kMostOfDim); };
  const int32_t message =
      c.program().string(op.attributes.string("what") + ": " + checkText(relation, lhs, rhs, shown));
  if (relation == "eq") {
    c.emit(Opcode::checkEqual, a, b, message);
  } else if (relation == "le") {
    c.emit(Opcode::checkLessEqual, a, b, message);
  } else {
    const int32_t one = c.dims().emitConstant(1), isOne = c.dims().newScalar();
    const Label fine = c.code().newLabel();
    for (const int32_t side : {a, b}) {
      c.emit(Opcode::equal, isOne, side, one);
      c.emit(Opcode::jumpIf, isOne, fine);
    }
    c.emit(Opcode::checkEqual, a, b, message);
    c.code().bind(fine);
  }
  (void)learnCheck(op, &c.facts());  // what contradicts the rest is not learnt: the check fails
  return {};
}

Status lowerBindDims(FunctionLowering& c, const Op& op, LoweredBody&) {
  const Shape symbols = op.attributes.dims("dims");
  const std::vector<int64_t> elements = op.attributes.integers("elements");
  // A scalar that is known without its bytes, as a loop's number is, costs nothing here.
  int32_t first = -1;
  if (op.operands.size() > 1) {
    DYN_TRY(first, c.element(op.operands[1], 0));
  }
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (!symbols[i].isSymbol() || c.dims().bound(symbols[i].symbol())) continue;
    int32_t scalar = -1;
    if (first < 0) {
      DYN_TRY(scalar, c.element(op.operands[0], elements.at(i)));
    } else {
      DYN_TRY(int32_t from, c.objectOn(false, op.operands[0]));
      const int32_t at = c.dims().newScalar();
      scalar = c.dims().newScalar();
      c.emit(Opcode::addImmediate, at, first, vm::Immediate{elements.at(i)});
      c.emit(Opcode::item, scalar, from, at);
    }
    c.dims().bind(symbols[i].symbol(), scalar);
  }
  return {};
}

Status lowerShape(FunctionLowering& c, const Op& op, LoweredBody&) {
  const Type type = op.results[0].type;
  const Shape& from = c.typeOf(op.operands[0]).dims();
  const int64_t rank = static_cast<int64_t>(from.size());
  Shape dims;
  if (op.def == &ops::sizeOp) {
    dims = {elementCount(c.ir().dims(), from)};
  } else {
    auto clamp = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
    const int64_t start = clamp(op.attributes.integer("start", 0));
    const int64_t end = op.attributes.has("end") ? clamp(op.attributes.integer("end")) : rank;
    for (int64_t i = start; i < end; ++i) dims.push_back(from[static_cast<size_t>(i)]);
  }
  DYN_TRY(std::vector<int32_t> scalars, c.shapeRegisters(dims));
  const int32_t result = c.define(op.results[0].id);
  if (type.rank() == 0)
    c.emit(Opcode::fromScalar, result, static_cast<int32_t>(type.dtype()), scalars.at(0));
  else
    c.emit(Opcode::fromScalars, result, static_cast<int32_t>(type.dtype()), OperandList(scalars));
  return {};
}

}  // namespace

std::span<const HostRow> dimRows() {
  static constexpr HostRow kRows[] = {
      {&ops::checkOp, lowerCheck},
      {&ops::bind_dimsOp, lowerBindDims},
      {&ops::shapeOp, lowerShape},
      {&ops::sizeOp, lowerShape},
  };
  return kRows;
}

}  // namespace dyn
