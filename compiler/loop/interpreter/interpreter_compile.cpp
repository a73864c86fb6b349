// Kernel → InterpreterProgram.
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "compiler/loop/interpreter/interpreter_program.h"
#include "compiler/loop/interpreter/kernel_interpreter.h"
#include "compiler/loop/scalar_math.h"

namespace dyn::loop {

namespace {

class ProgramBuilder {
 public:
  ProgramBuilder(const Kernel& kernel, InterpreterProgram& program) : k_(kernel), p_(program) {}

  void run() {
    p_.context = k_.context;
    p_.name = k_.name;
    p_.buffers = k_.buffers;
    p_.parameterCount = k_.buffers.size();
    p_.buffers.insert(p_.buffers.end(), k_.scratch.begin(), k_.scratch.end());
    for (size_t i = 0; i < p_.buffers.size(); ++i) bufferNumber_[p_.buffers[i]] = static_cast<uint32_t>(i);
    p_.scalars = k_.scalars;
    p_.sites.push_back({});
    current_ = &p_.prologue;
    for (const Buffer* b : p_.buffers) {
      std::vector<Operand> shape;
      for (Expr e : b->shape) shape.push_back(evaluate(e));
      p_.shapes.push_back(std::move(shape));
    }
    p_.unitCount = evaluate(k_.unitCount);
    flush(StepKind::evaluate);
    p_.unit = define(k_.unit, false);
    block(k_.body, p_.body);
  }

 private:
  Operand newRegister(bool varying) {
    const Operand r{p_.cells, varying ? 1u : 0u};
    p_.cells += varying ? kLanes : 1;
    return r;
  }
  Operand define(Expr variable, bool varying) {
    const Operand r = newRegister(varying);
    remember(variable, r, false);
    return r;
  }
  void remember(Expr e, Operand r, bool isVolatile) {
    known_[e.id()] = r;
    trail_.push_back(e.id());
    if (isVolatile) volatile_.insert(e.id());
  }
  void forget(size_t mark) {
    while (trail_.size() > mark) {
      known_.erase(trail_.back());
      volatile_.erase(trail_.back());
      trail_.pop_back();
    }
  }
  // What was read from outputs and scratch does not survive a store.
  void forgetVolatile() {
    for (uint32_t id : volatile_) known_.erase(id);
    volatile_.clear();
  }

  // Ends the code of a step: everything emitted since the last one.
  Step& flush(StepKind kind) {
    Step s;
    s.kind = kind;
    s.firstInstruction = flushed_;
    s.endInstruction = flushed_ = static_cast<uint32_t>(p_.instructions.size());
    current_->steps.push_back(std::move(s));
    return current_->steps.back();
  }

  Operand constant(Cell value) {
    const Operand r = newRegister(false);
    p_.constants.emplace_back(r.cell, value);
    return r;
  }

  uint32_t newSite(const Buffer* buffer, bool isStore) {
    p_.sites.push_back({buffer, isStore});
    return static_cast<uint32_t>(p_.sites.size() - 1);
  }

  // Emits what is not known yet of the expression; iterative.
  Operand evaluate(Expr root) {
    std::vector<std::pair<Expr, bool>> stack{{root, false}};
    while (!stack.empty()) {
      auto [e, expanded] = stack.back();
      if (known_.contains(e.id())) {
        stack.pop_back();
        continue;
      }
      if (!expanded) {
        stack.back().second = true;
        for (size_t i = e.operands().size(); i-- > 0;)
          if (!known_.contains(e.operands()[i].id())) stack.push_back({e.operands()[i], false});
        continue;
      }
      stack.pop_back();
      emit(e);
    }
    return known_.at(root.id());
  }

  void emit(Expr e) {
    Cell cell;
    switch (e.kind()) {
      case ExprKind::intConstant:
        cell.i = e.intValue();
        remember(e, constant(cell), false);
        return;
      case ExprKind::realConstant:
        cell.d = e.realValue();
        remember(e, constant(cell), false);
        return;
      case ExprKind::dim: {
        const Operand r = newRegister(false);
        p_.dims.emplace_back(r.cell, e.dimValue());
        remember(e, r, false);
        return;
      }
      case ExprKind::call:
        if (e.function()->backing == FunctionBacking::dimExpression) {
          const Operand r = newRegister(false);
          p_.dims.emplace_back(r.cell, e.function()->dim);
          remember(e, r, false);
          return;
        }
        break;
      default:
        break;
    }
    Instruction in;
    bool varying = false, isVolatile = false;
    for (Expr o : e.operands()) {
      varying |= known_.at(o.id()).stride != 0;
      isVolatile |= volatile_.contains(o.id());
    }
    const auto operand = [&](size_t i) { return known_.at(e.operands()[i].id()); };
    if (!e.operands().empty()) in.dtype = e.operands()[0].dtype();
    switch (e.kind()) {
      case ExprKind::unary: {
        const bool test = e.unaryOp() == UnaryOp::isNan || e.unaryOp() == UnaryOp::isInf;
        in.code = test ? Code::realTest : isReal(in.dtype) ? Code::realUnary : Code::intUnary;
        in.op = static_cast<uint8_t>(e.unaryOp());
        in.a = operand(0);
        break;
      }
      case ExprKind::binary:
        in.code = !isReal(in.dtype)            ? Code::intBinary
                  : isComparison(e.binaryOp()) ? Code::realCompare
                                               : Code::realBinary;
        in.op = static_cast<uint8_t>(e.binaryOp());
        in.a = operand(0);
        in.b = operand(1);
        if (in.code == Code::intBinary && isIntegerDivision(e.binaryOp())) in.site = newSite(nullptr, false);
        break;
      case ExprKind::select:
        in.code = Code::select;
        in.a = operand(0);
        in.b = operand(1);
        in.c = operand(2);
        break;
      case ExprKind::cast:
        in.code = Code::cast;
        in.to = e.dtype();
        in.a = operand(0);
        break;
      default: {  // load, call
        const Buffer* buffer = e.kind() == ExprKind::load ? e.buffer() : e.function()->array;
        in.code = Code::load;
        in.dtype = buffer->dtype;
        in.buffer = bufferNumber_.at(buffer);
        in.firstIndex = static_cast<uint32_t>(p_.indices.size());
        in.indexCount = static_cast<uint32_t>(e.operands().size());
        for (size_t i = 0; i < e.operands().size(); ++i) p_.indices.push_back(operand(i));
        in.site = newSite(buffer, false);
        isVolatile |= buffer->role != BufferRole::input;
        break;
      }
    }
    in.out = newRegister(varying);
    p_.instructions.push_back(in);
    remember(e, in.out, isVolatile);
  }

  bool dependsOn(Expr root, const std::unordered_set<uint32_t>& variables) const {
    for (Expr e : postorder(std::span(&root, 1)))
      if (variables.contains(e.id())) return true;
    return false;
  }

  // May the variable be spread over lanes in this body? All inner extents must be uniform, and iterations
  // independent.
  bool laneable(Expr variable, const std::vector<StmtRef>& children, bool independent) const {
    std::unordered_set<uint32_t> varying{variable.id()};
    std::vector<const Stmt*> stack;
    const auto push = [&](const std::vector<StmtRef>& list) {
      for (size_t i = list.size(); i-- > 0;) stack.push_back(list[i].get());
    };
    push(children);
    int stores = 0;
    while (!stack.empty()) {
      const Stmt& s = *stack.back();
      stack.pop_back();
      switch (s.kind) {
        case StmtKind::block:
        case StmtKind::accumulate:
          for (Expr e : s.extents)
            if (dependsOn(e, varying)) return false;
          if (s.kind == StmtKind::accumulate) varying.insert(s.variable.id());  // at worst it varies
          push(s.children);
          break;
        case StmtKind::let:
          if (dependsOn(s.value, varying)) varying.insert(s.variable.id());
          break;
        case StmtKind::store:
          ++stores;
          break;
        case StmtKind::check:
          break;
        default:
          return false;
      }
      if (independent) continue;
      for (Expr root : expressionsOf(s))
        for (Expr e : postorder(std::span(&root, 1)))
          if (e.kind() == ExprKind::load && e.buffer()->role != BufferRole::input) return false;
    }
    return independent || stores <= 1;
  }

  void block(const StmtRef& body, CodeBlock& into) {
    const size_t mark = trail_.size();
    CodeBlock* outer = current_;
    current_ = &into;
    statements(body);
    current_ = outer;
    forget(mark);
  }

  // Nesting is bounded by the verifier.
  void statements(const StmtRef& ref) {
    const Stmt& s = *ref;
    switch (s.kind) {
      case StmtKind::block: {
        for (const StmtRef& child : s.children) statements(child);
        break;
      }
      case StmtKind::let: {
        const Operand value = evaluate(s.value);
        flush(StepKind::demand).value = value;
        remember(s.variable, value, false);  // a snapshot: later stores do not change it
        break;
      }
      case StmtKind::store: {
        const Operand value = evaluate(s.value);
        std::vector<Operand> index;
        for (Expr e : s.index) index.push_back(evaluate(e));
        Step& step = flush(StepKind::store);
        step.value = value;
        step.dtype = s.buffer->dtype;
        step.buffer = bufferNumber_.at(s.buffer);
        step.firstIndex = static_cast<uint32_t>(p_.indices.size());
        step.indexCount = static_cast<uint32_t>(index.size());
        p_.indices.insert(p_.indices.end(), index.begin(), index.end());
        step.site = newSite(s.buffer, true);
        forgetVolatile();
        break;
      }
      case StmtKind::check: {
        const Operand value = evaluate(s.condition);
        std::optional<Operand> subject;
        if (!s.subject.isNull()) subject = evaluate(s.subject);
        Step& step = flush(StepKind::check);
        step.value = value;
        step.fault = subject ? s.fault : faultWithoutValue(s);
        step.subject = subject;
        break;
      }
      case StmtKind::branch: {
        const Operand value = evaluate(s.condition);
        const size_t at = current_->steps.size();
        flush(StepKind::branch).value = value;
        CodeBlock body;
        for (const StmtRef& child : s.children) block(child, body);
        current_->steps[at].body = std::move(body);
        forgetVolatile();
        break;
      }
      case StmtKind::loop:
        loop(s);
        break;
      case StmtKind::accumulate:
        accumulate(s);
        break;
    }
  }

  void loop(const Stmt& s) {
    const Operand extent = evaluate(s.extent);
    const bool lanes = !laneActive_ && laneable(s.variable, s.children, s.loopKind == LoopKind::vector);
    const size_t at = current_->steps.size();
    flush(StepKind::loop);
    forgetVolatile();  // the body may store what it reads in its next round
    const size_t mark = trail_.size();
    const Operand variable = define(s.variable, lanes);
    laneActive_ |= lanes;
    CodeBlock body;
    for (const StmtRef& child : s.children) block(child, body);
    laneActive_ = laneActive_ && !lanes;
    forget(mark);
    forgetVolatile();
    Step& step = current_->steps[at];
    step.variables = {variable};
    step.extents = {extent};
    step.lanes = lanes;
    step.body = std::move(body);
  }

  void accumulate(const Stmt& s) {
    std::vector<Operand> extents;
    for (Expr e : s.extents) extents.push_back(evaluate(e));
    const bool lanes = !laneActive_ && laneable(s.variables.back(), s.children, true);
    const size_t at = current_->steps.size();
    flush(StepKind::accumulate);
    const size_t mark = trail_.size();
    std::vector<Operand> variables;
    for (Expr v : s.variables) variables.push_back(define(v, lanes && v.same(s.variables.back())));
    const bool outerLane = laneActive_;
    laneActive_ |= lanes;
    CodeBlock body;
    CodeBlock* outer = current_;
    current_ = &body;
    for (const StmtRef& child : s.children) statements(child);
    const Operand value = evaluate(s.value);
    flush(StepKind::evaluate);
    current_ = outer;
    laneActive_ = outerLane;
    forget(mark);
    const Operand result = newRegister(outerLane);
    Step& step = current_->steps[at];
    step.variables = std::move(variables);
    step.extents = std::move(extents);
    step.lanes = lanes;
    step.body = std::move(body);
    step.value = value;
    step.target = result;
    step.dtype = s.variable.dtype();
    step.reduceOp = s.reduceOp;
    remember(s.variable, result, false);
  }

  const Kernel& k_;
  InterpreterProgram& p_;
  std::unordered_map<const Buffer*, uint32_t> bufferNumber_;
  std::unordered_map<uint32_t, Operand> known_;
  std::vector<uint32_t> trail_;
  std::unordered_set<uint32_t> volatile_;
  CodeBlock* current_ = nullptr;
  uint32_t flushed_ = 0;
  bool laneActive_ = false;
};

}  // namespace

Result<KernelInterpreter> KernelInterpreter::compile(const Kernel& kernel) {
  DYN_CHECK(verify(kernel));
  auto program = std::make_shared<InterpreterProgram>();
  ProgramBuilder(kernel, *program).run();
  KernelInterpreter interpreter;
  interpreter.program_ = std::move(program);
  return interpreter;
}

}  // namespace dyn::loop
