// if, loop and match as jumps in the function around them; calls, variants and checks.
#include <algorithm>

#include "compiler/dims/dim_numbers.h"
#include "compiler/infer/infer.h"
#include "compiler/ir/check_text.h"
#include "compiler/lower/function_lowering.h"
#include "compiler/ops/op_table.h"

namespace dyn {

using vm::Immediate;
using vm::Label;
using vm::Opcode;
using vm::OperandList;

namespace {

// Registers and labels that the tasks of one loop share.
struct LoopState {
  Label head, end;
  int32_t trip = -1, iteration = -1, condition = -1;
  std::vector<int32_t> carried, scans;
};

}  // namespace

// Moves a region's results to the registers where the code around expects them; values of the region's own
// give their registers back.
Status FunctionLowering::moveResults(const Function& region, std::span<const int32_t> to) {
  if (ended_) return {};
  for (size_t i = 0; i < to.size(); ++i) {
    DYN_TRY(int32_t from, object(region.results[i]));
    code_.emit(Opcode::moveObject, to[i], from);
  }
  // One value may be several results: it goes when all of them have it.
  for (ValueId value : region.results) {
    auto it = objects_.find(value);
    if (it == objects_.end() || borrowed_.count(value)) continue;
    code_.emit(Opcode::kill, it->second);
    freeObjects_.push_back(it->second);
    objects_.erase(it);
  }
  return {};
}

// A region's parameter stands for a value of the function around: the same contents, or the same register.
Status FunctionLowering::bindCapture(const Parameter& parameter, ValueId captured) {
  if (onDevice_.count(captured)) onDevice_.insert(parameter.id);
  if (auto lazy = lazy_.find(captured); lazy != lazy_.end()) {
    lazy_[parameter.id] = lazy->second;
    if (auto made = materialised_.find(captured); made != materialised_.end())
      materialised_[parameter.id] = made->second;
    return {};
  }
  DYN_TRY(int32_t from, object(captured));
  alias(parameter.id, from);
  borrowed_.insert(parameter.id);
  return bindFromObject(parameter.type, from);
}

Status FunctionLowering::lowerIf(const Op& op, Body& body) {
  DYN_TRY(int32_t condition, element(op.operands[0], 0));
  const bool tail = isTail(op, body);
  std::vector<int32_t> results;
  for (const ValueDef& r : op.results) results.push_back(define(r.id));
  const Label otherwise = code_.newLabel(), join = code_.newLabel();
  auto thenEnded = std::make_shared<bool>(false);
  const Op* self = &op;

  // The stack runs the last pushed task first: join, else, then.
  tasks_.push_back([this, self, results, join, thenEnded]() -> Status {
    code_.bind(join);
    ended_ = ended_ && *thenEnded;
    for (size_t i = 0; i < results.size(); ++i)
      if (onDevice_.count(self->regions[0]->results[i])) onDevice_.insert(self->results[i].id);
    if (ended_) return {};
    for (size_t i = 0; i < results.size(); ++i) DYN_CHECK(bindFromObject(self->results[i].type, results[i]));
    return {};
  });
  auto enter = [this, self](const Function& region) -> Status {
    openScope();
    for (size_t i = 0; i < region.parameters.size(); ++i) {
      const Parameter& p = region.parameters[i];
      types_[p.id] = p.type;
      DYN_CHECK(bindCapture(p, self->operands[i + 1]));
    }
    return {};
  };
  const Function& thenRegion = *op.regions[0];
  const Function& elseRegion = *op.regions[1];
  pushRegion(elseRegion, tail, [this, results, &elseRegion] { return moveResults(elseRegion, results); });
  tasks_.push_back([this, enter, &elseRegion, otherwise, thenEnded, join]() -> Status {
    if (!ended_) code_.emit(Opcode::jump, join);
    *thenEnded = ended_;
    ended_ = false;
    code_.bind(otherwise);
    return enter(elseRegion);
  });
  pushRegion(thenRegion, tail, [this, results, &thenRegion] { return moveResults(thenRegion, results); });
  code_.emit(Opcode::jumpIfNot, condition, otherwise);
  return enter(thenRegion);
}

// Does nobody but the loop's first turn read that operand? Then the turn may work in its memory.
bool FunctionLowering::isHandedOver(const Op& loop, ValueId operand, const Body& body) const {
  if (borrowed_.count(operand) || std::count(loop.operands.begin(), loop.operands.end(), operand) != 1)
    return false;
  const std::vector<const Op*>& ops = body.function->ops;
  for (size_t i = body.next; i < ops.size() && ops[i]->def == &ops::killOp; ++i)
    if (ops[i]->operands[0] == operand) return true;
  return false;
}

Status FunctionLowering::lowerLoop(const Op& op, Body& body) {
  const Function& region = *op.regions[0];
  const size_t carriedCount = static_cast<size_t>(op.attributes.integer("carried"));
  const size_t scanCount = op.results.size() - carriedCount;
  const Op* self = &op;
  auto state = std::make_shared<LoopState>();
  state->head = code_.newLabel();
  state->end = code_.newLabel();
  if (op.operands[0] != kNoValue) {
    DYN_TRY(int32_t trip, element(op.operands[0], 0));
    state->trip = trip;
  }
  if (op.operands[1] != kNoValue) {
    DYN_TRY(int32_t first, element(op.operands[1], 0));
    state->condition = dims_.newScalar();
    code_.emit(Opcode::move, state->condition, first);
  } else {
    state->condition = dims_.emitConstant(1);
  }
  state->iteration = dims_.newScalar();
  code_.emit(Opcode::constInt, state->iteration, Immediate{0});
  for (size_t k = 0; k < carriedCount; ++k) {
    DYN_TRY(int32_t initial, object(op.operands[2 + k]));
    const int32_t carried = define(op.results[k].id);
    code_.emit(Opcode::moveObject, carried, initial);
    if (onDevice_.count(op.operands[2 + k])) {
      onDevice_.insert(op.results[k].id);
      onDevice_.insert(region.parameters[1 + k].id);
    }
    state->carried.push_back(carried);
    const auto held = objects_.find(op.operands[2 + k]);
    if (held == objects_.end() || !isHandedOver(op, op.operands[2 + k], body)) continue;
    code_.emit(Opcode::kill, initial);
    freeObjects_.push_back(initial);
    objects_.erase(held);
  }
  for (size_t k = 0; k < scanCount; ++k) {
    state->scans.push_back(newObject());
    code_.emit(Opcode::makeList, state->scans.back(), OperandList());
  }
  // Captured values of known contents are made once, before the loop, not in every iteration.
  for (size_t k = 2 + carriedCount; k < op.operands.size(); ++k) {
    const ValueId captured = op.operands[k];
    const bool constantTensor = constant(captured) != nullptr && !contents(captured);
    if (constantTensor && !objects_.count(captured)) {
      DYN_TRY(int32_t made, object(captured));
      materialised_[captured] = made;
    }
  }

  tasks_.push_back([this, self, state, carriedCount]() -> Status {
    // after the loop
    ended_ = false;
    code_.bind(state->end);
    for (size_t k = 0; k < carriedCount; ++k)
      DYN_CHECK(bindFromObject(self->results[k].type, state->carried[k]));
    for (size_t k = 0; k < state->scans.size(); ++k) {
      const ValueDef& result = self->results[carriedCount + k];
      std::vector<int32_t> elementShape;
      for (int axis = 1; axis < result.type.rank(); ++axis) {
        const Dim d = result.type.dims()[axis];
        // A dim that only an iteration could tell is 0 when there was none.
        if (!dims_.computable(d)) {
          elementShape.push_back(dims_.emitConstant(0));
          continue;
        }
        DYN_TRY(int32_t scalar, dims_.emit(d));
        elementShape.push_back(scalar);
      }
      const int32_t stacked = define(result.id);
      // No iteration: nothing to stack, but the shape is known all the same.
      const Label some = code_.newLabel(), done = code_.newLabel();
      code_.emit(Opcode::jumpIf, state->iteration, some);
      std::vector<int32_t> emptyShape{dims_.emitConstant(0)};
      emptyShape.insert(emptyShape.end(), elementShape.begin(), elementShape.end());
      code_.emit(Opcode::newTensor, stacked, static_cast<int32_t>(result.type.dtype()), vm::kHostDevice,
                 OperandList(emptyShape));
      code_.emit(Opcode::jump, done);
      code_.bind(some);
      const int32_t axis = dims_.emitConstant(0);
      code_.emit(Opcode::callBuiltin, program_.builtin(calls::ListStack::kRow), OperandList{stacked},
                 OperandList{state->scans[k]}, OperandList{axis}, OperandList());
      code_.bind(done);
      code_.emit(Opcode::kill, state->scans[k]);
      freeObjects_.push_back(state->scans[k]);
      DYN_CHECK(bindFromObject(result.type, stacked));
    }
    return {};
  });

  auto finish = [this, &region, state, carriedCount]() -> Status {
    if (ended_) return makeError(DiagnosticId::internalError, "a tail call inside a loop");
    DYN_TRY(int32_t next, element(region.results[0], 0));
    code_.emit(Opcode::move, state->condition, next);
    // The condition may be carried or stacked too.
    const bool isMore = std::count(region.results.begin() + 1, region.results.end(), region.results[0]) > 0;
    if (auto it = objects_.find(region.results[0]);
        it != objects_.end() && !isMore && !borrowed_.count(region.results[0])) {
      code_.emit(Opcode::kill, it->second);
      freeObjects_.push_back(it->second);
      objects_.erase(it);
    }
    for (size_t k = 0; k < state->scans.size(); ++k) {
      DYN_TRY(int32_t item, object(region.results[1 + carriedCount + k]));
      code_.emit(Opcode::listInsert, state->scans[k], state->scans[k], item, state->iteration);
    }
    // All new carried values are collected before any is overwritten: the body may have swapped them.
    std::vector<int32_t> fresh;
    for (size_t k = 0; k < carriedCount; ++k) {
      DYN_TRY(int32_t value, object(region.results[1 + k]));
      fresh.push_back(newObject());
      code_.emit(Opcode::moveObject, fresh.back(), value);
    }
    for (size_t i = 1; i < region.results.size(); ++i) {
      auto it = objects_.find(region.results[i]);
      if (it == objects_.end() || borrowed_.count(region.results[i])) continue;
      code_.emit(Opcode::kill, it->second);
      freeObjects_.push_back(it->second);
      objects_.erase(it);
    }
    for (size_t k = 0; k < carriedCount; ++k) {
      code_.emit(Opcode::moveObject, state->carried[k], fresh[k]);
      code_.emit(Opcode::kill, fresh[k]);
      freeObjects_.push_back(fresh[k]);
    }
    code_.emit(Opcode::addImmediate, state->iteration, state->iteration, Immediate{1});
    code_.emit(Opcode::jump, state->head);
    return {};
  };
  pushRegion(region, false, finish);

  // the head and the body's parameters
  code_.bind(state->head);
  if (state->trip >= 0) {
    const int32_t inside = dims_.newScalar();
    code_.emit(Opcode::less, inside, state->iteration, state->trip);
    code_.emit(Opcode::jumpIfNot, inside, state->end);
  }
  code_.emit(Opcode::jumpIfNot, state->condition, state->end);
  openScope();
  for (size_t i = 0; i < region.parameters.size(); ++i) {
    const Parameter& p = region.parameters[i];
    types_[p.id] = p.type;
    if (i == 0) {
      lazy_[p.id] = Lazy{nullptr, state->iteration};
      continue;
    }
    borrowed_.insert(p.id);
    if (i <= carriedCount) {
      alias(p.id, state->carried[i - 1]);
      carried_.insert(p.id);
      DYN_CHECK(bindFromObject(p.type, state->carried[i - 1]));
      continue;
    }
    DYN_CHECK(bindCapture(p, op.operands[i + 1]));
  }
  return {};
}

Status FunctionLowering::lowerMatch(const Op& op, Body& body) {
  // The bodies may stand in any order; a tag is the place of its constructor in the declaration.
  std::vector<int64_t> tags;
  const DataType* data = module_.findData(typeOf(op.operands[0]).dataName());
  if (!data) return makeError(DiagnosticId::internalError, "a match of no declared data type");
  for (const std::string& name : op.attributes.strings("constructors")) {
    for (size_t i = 0; i < data->constructors.size(); ++i)
      if (data->constructors[i].name == name) tags.push_back(static_cast<int64_t>(i));
  }
  DYN_TRY(int32_t subject, object(op.operands[0]));
  const bool tail = isTail(op, body);
  std::vector<int32_t> results;
  for (const ValueDef& r : op.results) results.push_back(define(r.id));
  const Label join = code_.newLabel();
  const int32_t tag = dims_.newScalar();
  code_.emit(Opcode::getTag, tag, subject);
  const Op* self = &op;
  auto allEnded = std::make_shared<bool>(true);

  tasks_.push_back([this, self, results, join, allEnded]() -> Status {
    code_.bind(join);
    ended_ = *allEnded;
    if (ended_) return {};
    for (size_t i = 0; i < results.size(); ++i) DYN_CHECK(bindFromObject(self->results[i].type, results[i]));
    return {};
  });
  for (size_t r = op.regions.size(); r-- > 0;) {
    const Function& region = *op.regions[r];
    const Label next = code_.newLabel();
    const bool last = r + 1 == op.regions.size();
    tasks_.push_back([this, join, next, last, allEnded]() -> Status {
      if (!ended_) {
        *allEnded = false;
        code_.emit(Opcode::jump, join);
      }
      ended_ = false;
      code_.bind(next);
      if (last) code_.emit(Opcode::fatal, program_.string("match: no case for this constructor"));
      return {};
    });
    pushRegion(region, tail, [this, results, &region] { return moveResults(region, results); });
    const int64_t constructorTag = tags.at(r);
    tasks_.push_back([this, self, &region, constructorTag, tag, subject, next]() -> Status {
      const int32_t expected = dims_.emitConstant(constructorTag), matches = dims_.newScalar();
      code_.emit(Opcode::equal, matches, tag, expected);
      code_.emit(Opcode::jumpIfNot, matches, next);
      openScope();
      const size_t captures = self->operands.size() - 1;
      const size_t fields = region.parameters.size() - captures;
      for (size_t i = 0; i < region.parameters.size(); ++i) {
        const Parameter& p = region.parameters[i];
        types_[p.id] = p.type;
        if (i < fields) {
          const int32_t field = nextObject_++;
          code_.emit(Opcode::getField, field, subject, static_cast<int32_t>(i));
          alias(p.id, field);
          borrowed_.insert(p.id);
          DYN_CHECK(bindFromObject(p.type, field));
          continue;
        }
        DYN_CHECK(bindCapture(p, self->operands[1 + i - fields]));
      }
      return {};
    });
  }
  return {};
}

Status FunctionLowering::lowerCall(const Op& op, Body& body) {
  const bool direct = op.def == &ops::callOp;
  std::span<const ValueId> arguments(op.operands);
  int32_t closure = -1;
  if (!direct) {
    DYN_TRY(closure, object(op.operands[0]));
    arguments = arguments.subspan(1);
  }
  DYN_TRY(std::vector<int32_t> objects, objectsOf(arguments));
  if (direct) {
    const int32_t callee = program_.functionIndex(op.attributes.string("callee"));
    if (callee < 0)
      return makeError(DiagnosticId::textName, "unknown function @" + op.attributes.string("callee"));
    if (isTail(op, body)) {
      code_.emit(Opcode::tailInvoke, callee, OperandList(objects));
      ended_ = true;
      return {};
    }
    std::vector<int32_t> results;
    for (const ValueDef& r : op.results) results.push_back(define(r.id));
    code_.emit(Opcode::invoke, OperandList(results), callee, OperandList(objects));
  } else {
    std::vector<int32_t> results;
    for (const ValueDef& r : op.results) results.push_back(define(r.id));
    code_.emit(Opcode::invokeClosure, OperandList(results), closure, OperandList(objects));
  }
  for (const ValueDef& r : op.results) DYN_CHECK(bindFromObject(r.type, objects_.at(r.id)));
  return {};
}

Status FunctionLowering::lowerVariant(const Op& op, Body&) {
  const Shape lhs = op.attributes.dims("lhs"), rhs = op.attributes.dims("rhs");
  const bool equal = op.attributes.string("relation") == "eq";
  const int32_t callee = program_.functionIndex(op.attributes.string("callee"));
  if (callee < 0)
    return makeError(DiagnosticId::textName, "unknown function @" + op.attributes.string("callee"));
  DYN_TRY(std::vector<int32_t> objects, objectsOf(op.operands));
  // Registers are filled ahead of the jumps: what is behind them finds them, too.
  std::vector<std::pair<int32_t, int32_t>> compared;
  for (size_t i = 0; i < lhs.size(); ++i) {
    DYN_TRY(int32_t a, dims_.emit(lhs[i]));
    DYN_TRY(int32_t b, dims_.emit(rhs.at(i)));
    compared.emplace_back(a, b);
  }
  const Label otherwise = code_.newLabel();
  for (const auto& [a, b] : compared) {
    const int32_t holds = dims_.newScalar();
    code_.emit(equal ? Opcode::equal : Opcode::lessEqual, holds, a, b);
    code_.emit(Opcode::jumpIfNot, holds, otherwise);
  }
  code_.emit(Opcode::tailInvoke, callee, OperandList(objects));
  code_.bind(otherwise);
  return {};
}

// A program has a message for each check, and nobody reads more of a size than this.
constexpr size_t kMostOfDim = 1000;

Status FunctionLowering::lowerCheck(const Op& op, Body&) {
  const Dim lhs = op.attributes.dims("lhs").at(0), rhs = op.attributes.dims("rhs").at(0);
  const std::string relation = op.attributes.string("relation");
  DYN_TRY(int32_t a, dims_.emit(lhs));
  DYN_TRY(int32_t b, dims_.emit(rhs));
  const auto shown = [](Dim dim) { return shortText(dim, kMostOfDim); };
  const int32_t message =
      program_.string(op.attributes.string("what") + ": " + checkText(relation, lhs, rhs, shown));
  if (relation == "eq") {
    code_.emit(Opcode::checkEqual, a, b, message);
  } else if (relation == "le") {
    code_.emit(Opcode::checkLessEqual, a, b, message);
  } else {
    const int32_t one = dims_.emitConstant(1), isOne = dims_.newScalar();
    const Label fine = code_.newLabel();
    for (const int32_t side : {a, b}) {
      code_.emit(Opcode::equal, isOne, side, one);
      code_.emit(Opcode::jumpIf, isOne, fine);
    }
    code_.emit(Opcode::checkEqual, a, b, message);
    code_.bind(fine);
  }
  (void)learnCheck(op, &facts_);  // what contradicts the rest is not learnt: the check fails
  return {};
}

}  // namespace dyn
