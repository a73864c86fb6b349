#include <set>
#include <unordered_set>

#include "compiler/loop/expr_node.h"
#include "compiler/loop/kernel.h"

namespace dyn::loop {

namespace {

constexpr int kMaxVerifiedNesting = 200;

class KernelVerifier {
 public:
  explicit KernelVerifier(const Kernel& kernel) : k_(kernel) {}

  Status run() {
    if (!k_.context || !k_.body || k_.unit.isNull() || k_.unitCount.isNull())
      return fail("a kernel has a context, a unit, a unit count and a body");
    DYN_CHECK(buffers());
    for (Dim d : k_.scalars) {
      scalars_.insert(d.id());
      if (d.isSymbol()) symbols_.insert(d.symbol());
    }
    functions_.insert(k_.functions.begin(), k_.functions.end());
    DYN_CHECK(functions());
    for (const Buffer* b : order_)
      for (Expr e : b->shape) DYN_CHECK(index(e, "shape of `" + b->name + "`"));
    DYN_CHECK(index(k_.unitCount, "the unit count"));
    if (k_.unit.kind() != ExprKind::variable || k_.unit.dtype() != Dtype::i64)
      return fail("the unit is an i64 variable");
    DYN_CHECK(define(k_.unit));
    return statements();
  }

 private:
  Error fail(std::string message) const {
    return makeError(DiagnosticId::invalidIr, "kernel @" + k_.name + ": " + std::move(message));
  }

  Status buffers() {
    bool outputs = false;
    std::set<std::string> names;
    for (const std::vector<const Buffer*>* list : {&k_.buffers, &k_.scratch}) {
      for (const Buffer* b : *list) {
        if (!names.insert(b->name).second) return fail("two buffers are called `" + b->name + "`");
        if (!isNumeric(b->dtype))
          return fail("`" + b->name + "` has an element type kernels do not compute with");
        if ((list == &k_.scratch) != (b->role == BufferRole::scratch))
          return fail("`" + b->name + "` stands in the list of another role");
        if (b->role == BufferRole::input && outputs)
          return fail("inputs come before outputs: `" + b->name + "`");
        outputs |= b->role == BufferRole::output;
        known_.insert(b);
        order_.push_back(b);
      }
    }
    return {};
  }

  Status functions() {
    for (const UninterpretedFunction* f : k_.functions) {
      if (f->backing == FunctionBacking::dimExpression) {
        if (!f->dim || f->arity != 0) return fail("function `" + f->name + "` needs a dim and no parameters");
        DYN_CHECK(dimKnown(f->dim));
        continue;
      }
      if (!f->array || !known_.contains(f->array))
        return fail("the array of function `" + f->name + "` is not a buffer of the kernel");
      if (static_cast<int>(f->array->shape.size()) != f->arity)
        return fail("the array of function `" + f->name +
                    "` has another rank than the function has parameters");
      if (f->array->dtype != Dtype::i64 && f->array->dtype != Dtype::i32)
        return fail("the array of function `" + f->name + "` is neither i64 nor i32");
    }
    return {};
  }

  Status dimKnown(Dim d) const {
    if (scalars_.contains(d.id())) return {};
    for (SymbolId s : symbolsOf(d))
      if (!symbols_.contains(s))
        return fail("dim `" + d.toString() + "` cannot be computed from the scalars");
    return {};
  }

  Status define(Expr variable) {
    if (variable.isNull() || variable.kind() != ExprKind::variable)
      return fail("a definition needs a variable");
    if (!everDefined_.insert(variable.id()).second)
      return fail("variable `" + variable.name() + "` is defined twice");
    scope_.insert(variable.id());
    defined_.push_back(variable.id());
    return {};
  }

  Status expression(Expr root, const std::string& where) {
    if (root.isNull()) return fail("an expression is missing in " + where);
    const std::vector<Expr> nodes = postorder(std::span(&root, 1));
    for (Expr e : nodes)
      if (e.kind() == ExprKind::reduce || e.kind() == ExprKind::checked)
        return fail(std::string("a ") + (e.kind() == ExprKind::reduce ? "reduce" : "checked") +
                    " expression is left in " + where);
    for (Expr e : nodes) {
      switch (e.kind()) {
        case ExprKind::variable:
          if (!scope_.contains(e.id()))
            return fail("variable `" + e.name() + "` is not defined where " + where + " uses it");
          break;
        case ExprKind::dim:
          DYN_CHECK(dimKnown(e.dimValue()));
          break;
        case ExprKind::load:
          if (!known_.contains(e.buffer()))
            return fail("`" + e.buffer()->name + "` is not a buffer of the kernel");
          if (e.operands().size() != e.buffer()->shape.size())
            return fail("a load of `" + e.buffer()->name + "` has the wrong rank");
          break;
        case ExprKind::call:
          if (!functions_.contains(e.function()))
            return fail("`" + e.function()->name + "` is not a function of the kernel");
          break;
        default:
          break;
      }
    }
    return {};
  }

  Status index(Expr e, const std::string& where) {
    DYN_CHECK(expression(e, where));
    if (e.dtype() != Dtype::i64) return fail(where + " is not i64");
    return {};
  }

  struct Event {
    const Stmt* stmt;  // null: leave a scope of `size` definitions
    size_t size = 0;
    int depth = 0;
    bool inAccumulate = false;
    const Stmt* finish = nullptr;  // an accumulate whose children were walked
  };

  void pushChildren(const Stmt& s, int depth, bool inAccumulate) {
    for (size_t i = s.children.size(); i-- > 0;)
      events_.push_back({s.children[i].get(), 0, depth, inAccumulate});
  }
  void leaveAfter(int depth) { events_.push_back({nullptr, defined_.size(), depth}); }

  Status statements() {
    events_.push_back({k_.body.get()});
    while (!events_.empty()) {
      const Event event = events_.back();
      events_.pop_back();
      if (event.finish) DYN_CHECK(finishAccumulate(*event.finish));
      if (!event.stmt && !event.finish) {
        while (defined_.size() > event.size) {
          scope_.erase(defined_.back());
          defined_.pop_back();
        }
      }
      if (!event.stmt) continue;
      if (event.depth > kMaxVerifiedNesting) return fail("statements are nested too deeply");
      DYN_CHECK(statement(*event.stmt, event));
    }
    return {};
  }

  // After its body an accumulate's own variables are gone and its result is there.
  Status finishAccumulate(const Stmt& s) {
    DYN_CHECK(expression(s.value, "accumulate " + s.variable.name()));
    if (s.value.dtype() != s.variable.dtype())
      return fail("accumulate " + s.variable.name() + " has another dtype than its value");
    scope_.insert(s.variable.id());
    return {};
  }

  Status statement(const Stmt& s, const Event& event) {
    const bool allowed = s.kind == StmtKind::block || s.kind == StmtKind::let ||
                         s.kind == StmtKind::accumulate || s.kind == StmtKind::check;
    if (event.inAccumulate && !allowed)
      return fail("inside an accumulate stand only let, accumulate and check");
    switch (s.kind) {
      case StmtKind::block:
        leaveAfter(event.depth);
        pushChildren(s, event.depth + 1, event.inAccumulate);
        return {};
      case StmtKind::loop:
        DYN_CHECK(index(s.extent, "the extent of a loop"));
        leaveAfter(event.depth);
        DYN_CHECK(define(s.variable));
        if (s.variable.dtype() != Dtype::i64)
          return fail("loop variable `" + s.variable.name() + "` is not i64");
        pushChildren(s, event.depth + 1, false);
        return {};
      case StmtKind::store:
        if (!s.buffer || !known_.contains(s.buffer))
          return fail("a store to a buffer that is not the kernel's");
        if (s.buffer->role == BufferRole::input) return fail("a store to input `" + s.buffer->name + "`");
        if (s.index.size() != s.buffer->shape.size())
          return fail("a store to `" + s.buffer->name + "` has the wrong rank");
        for (Expr e : s.index) DYN_CHECK(index(e, "an index of `" + s.buffer->name + "`"));
        DYN_CHECK(expression(s.value, "a store to `" + s.buffer->name + "`"));
        if (s.value.dtype() != s.buffer->dtype)
          return fail("a store to `" + s.buffer->name + "` has another dtype");
        return {};
      case StmtKind::let:
        DYN_CHECK(expression(s.value, "a let"));
        DYN_CHECK(define(s.variable));
        if (s.value.dtype() != s.variable.dtype())
          return fail("let " + s.variable.name() + " has another dtype than its value");
        return {};
      case StmtKind::accumulate: {
        if (s.variables.empty() || s.variables.size() != s.extents.size())
          return fail("an accumulate has as many extents as variables");
        for (Expr e : s.extents) DYN_CHECK(index(e, "the extent of an accumulate"));
        const bool logical = s.reduceOp == ReduceOp::logicalAnd || s.reduceOp == ReduceOp::logicalOr;
        if (s.variable.isNull() || (logical && s.variable.dtype() != Dtype::boolean))
          return fail("a logical reduction takes booleans");
        // Undone in this order: walk the body, check the value, drop the own variables, then define the
        // result.
        const size_t outer = defined_.size();
        if (s.variable.kind() != ExprKind::variable) return fail("a definition needs a variable");
        if (!everDefined_.insert(s.variable.id()).second)
          return fail("variable `" + s.variable.name() + "` is defined twice");
        // The result joins the enclosing scope below the inner ones, so that leaving them keeps it; its own
        // body may not read it.
        defined_.push_back(s.variable.id());
        events_.push_back({nullptr, outer + 1, event.depth, false, nullptr});
        for (Expr v : s.variables) {
          DYN_CHECK(define(v));
          if (v.dtype() != Dtype::i64) return fail("variable `" + v.name() + "` of an accumulate is not i64");
        }
        // Lets of the body stay visible to the value: a block of the accumulate opens no scope of its own
        // here.
        events_.push_back({nullptr, 0, event.depth, true, &s});
        for (size_t i = s.children.size(); i-- > 0;) {
          const Stmt& child = *s.children[i];
          if (child.kind == StmtKind::block)
            pushChildren(child, event.depth + 1, true);
          else
            events_.push_back({&child, 0, event.depth + 1, true});
        }
        return {};
      }
      case StmtKind::branch:
        DYN_CHECK(expression(s.condition, "a branch"));
        if (s.condition.dtype() != Dtype::boolean) return fail("the condition of a branch is not boolean");
        leaveAfter(event.depth);
        pushChildren(s, event.depth + 1, false);
        return {};
      case StmtKind::check:
        DYN_CHECK(expression(s.condition, "a check"));
        if (s.condition.dtype() != Dtype::boolean) return fail("the condition of a check is not boolean");
        if (s.fault <= 0) return fail("a check needs a fault code");
        if (s.subject.isNull()) return {};
        DYN_CHECK(expression(s.subject, "a check"));
        if (s.subject.dtype() != Dtype::i64) return fail("the subject of a check is not an i64");
        return {};
    }
    return {};
  }

  const Kernel& k_;
  std::unordered_set<const Buffer*> known_;
  std::vector<const Buffer*> order_;
  std::unordered_set<const UninterpretedFunction*> functions_;
  std::unordered_set<uint32_t> scalars_, symbols_, scope_, everDefined_;
  std::vector<uint32_t> defined_;
  std::vector<Event> events_;
};

}  // namespace

Status verify(const Kernel& kernel) { return KernelVerifier(kernel).run(); }

}  // namespace dyn::loop
