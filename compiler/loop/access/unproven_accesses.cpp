#include "compiler/loop/access/access_prover.h"
#include "compiler/loop/access/guard_paths.h"
#include "compiler/loop/kernel.h"

namespace dyn::loop {

namespace {

class AccessWalk {
 public:
  AccessWalk(const Kernel& kernel, const DimSolver* solver) : k_(kernel), prover_(*kernel.context, solver) {}

  std::vector<std::string> run() {
    prover_.addVariable(k_.unit, k_.unitCount);
    events_.push_back({k_.body.get()});
    while (!events_.empty()) {
      const Event event = events_.back();
      events_.pop_back();
      if (event.stmt) {
        statement(*event.stmt, event.keepsFacts);
      } else if (event.value) {
        expressions(std::span(&event.value, 1));
      } else {
        prover_.rollback(event.mark);
      }
    }
    return std::move(unproven_);
  }

 private:
  struct Event {
    const Stmt* stmt = nullptr;
    Expr value;       // of an accumulate, after its children
    size_t mark = 0;  // else: facts to forget
    bool keepsFacts = false;
  };

  void access(const Buffer& buffer, std::span<const Expr> index, const std::string& what) {
    for (size_t axis = 0; axis < index.size(); ++axis) {
      if (prover_.inRange(index[axis], buffer.shape[axis])) continue;
      unproven_.push_back(what + ": index " + index[axis].toString() + " of axis " + std::to_string(axis) +
                          " is not proved to be below " + buffer.shape[axis].toString());
      return;
    }
  }

  void expressions(std::span<const Expr> roots) {
    const GuardPaths guards(roots, true);
    for (Expr e : guards.order()) {
      const bool isLoad = e.kind() == ExprKind::load;
      const bool isArray = e.kind() == ExprKind::call && e.function()->array != nullptr;
      if (!isLoad && !isArray) continue;
      const Buffer& buffer = isLoad ? *e.buffer() : *e.function()->array;
      const size_t before = unproven_.size();
      for (uint32_t path : guards.of(e)) {
        const size_t mark = prover_.mark();
        for (const GuardPath& g : guards.conditions(path)) prover_.assume(g.condition, g.holds);
        access(buffer, e.operands(), "load " + e.toString());
        prover_.rollback(mark);
        if (unproven_.size() > before) break;
      }
      if (!guards.complete() && unproven_.size() == before)
        unproven_.push_back("load " + e.toString() + ": used under too many conditions");
    }
  }

  void pushChildren(const Stmt& s, bool keepsFacts) {
    for (size_t i = s.children.size(); i-- > 0;)
      events_.push_back({.stmt = s.children[i].get(), .keepsFacts = keepsFacts});
  }

  void statement(const Stmt& s, bool keepsFacts) {
    if (s.kind != StmtKind::accumulate) {
      const std::vector<Expr> own = expressionsOf(s);
      if (!own.empty()) expressions(own);
    }
    const auto scope = [&] { events_.push_back({.mark = prover_.mark()}); };
    switch (s.kind) {
      case StmtKind::block:
        if (!keepsFacts) scope();
        pushChildren(s, false);
        break;
      case StmtKind::loop:
        scope();
        prover_.addVariable(s.variable, s.extent);
        pushChildren(s, false);
        break;
      case StmtKind::store:
        access(*s.buffer, s.index, "store to " + s.buffer->name);
        break;
      case StmtKind::let:
        prover_.addLet(s.variable, s.value);
        break;
      case StmtKind::accumulate:
        if (!s.extents.empty()) expressions(s.extents);
        scope();
        for (size_t k = 0; k < s.variables.size(); ++k) prover_.addVariable(s.variables[k], s.extents[k]);
        events_.push_back({.value = s.value});
        pushChildren(s, true);
        break;
      case StmtKind::branch:
        scope();
        prover_.assume(s.condition);
        pushChildren(s, false);
        break;
      case StmtKind::check:
        prover_.assume(s.condition);  // until the enclosing block ends
        break;
    }
  }

  const Kernel& k_;
  AccessProver prover_;
  std::vector<Event> events_;
  std::vector<std::string> unproven_;
};

}  // namespace

std::vector<std::string> unprovenAccesses(const Kernel& kernel, const DimSolver* solver) {
  return AccessWalk(kernel, solver).run();
}

}  // namespace dyn::loop
