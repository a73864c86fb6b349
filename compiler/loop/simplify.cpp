#include "compiler/loop/simplify.h"

#include <unordered_map>
#include <unordered_set>

namespace dyn::loop {

namespace {

class Simplifier {
 public:
  explicit Simplifier(LoopContext& c) : c_(c) {}

  // Depth is bounded by the nesting the verifier allows.
  StmtRef forwards(const StmtRef& ref) {
    const Stmt& s = *ref;
    Stmt t = s;
    for (Expr* e : {&t.extent, &t.value, &t.condition, &t.subject})
      if (*e) *e = rewrite(*e);
    for (auto* list : {&t.index, &t.extents})
      for (Expr& e : *list) e = rewrite(e);
    switch (s.kind) {
      case StmtKind::let:
        if (isLeaf(t.value)) {
          values_[s.variable.id()] = t.value;
          return nullptr;
        }
        break;
      case StmtKind::loop:
        if (isConstant(t.extent) && t.extent.intValue() <= 0) return nullptr;
        if (isConstant(t.extent) && t.extent.intValue() == 1) {
          values_[s.variable.id()] = c_.integer(0);
          return forwards(s.children[0]);
        }
        break;
      case StmtKind::branch:
        if (isConstant(t.condition)) return t.condition.intValue() ? forwards(s.children[0]) : nullptr;
        break;
      case StmtKind::check:
        if (isConstant(t.condition) && t.condition.intValue()) return nullptr;
        break;
      default:
        break;
    }
    t.children.clear();
    for (const StmtRef& child : s.children) {
      StmtRef r = forwards(child);
      if (!r) continue;
      // A block in a block opens no scope anybody needs: names are unique.
      if (s.kind == StmtKind::block && r->kind == StmtKind::block)
        t.children.insert(t.children.end(), r->children.begin(), r->children.end());
      else
        t.children.push_back(std::move(r));
    }
    // The value of an accumulate may read lets of its body, which are now known.
    if (s.kind == StmtKind::accumulate) t.value = rewrite(s.value);
    if ((s.kind == StmtKind::loop || s.kind == StmtKind::branch) && t.children.empty()) return nullptr;
    return std::make_shared<Stmt>(std::move(t));
  }

  // Drops what nothing reads, from the last statement to the first.
  StmtRef backwards(const StmtRef& ref) {
    Stmt t = *ref;
    const bool defines = t.kind == StmtKind::let || t.kind == StmtKind::accumulate;
    if (defines && !read_.contains(t.variable.id()) && !mayStop(t)) return nullptr;
    if (t.kind == StmtKind::accumulate) note(t.value);
    std::vector<StmtRef> kept;
    for (size_t i = t.children.size(); i-- > 0;)
      if (StmtRef r = backwards(t.children[i])) kept.insert(kept.begin(), std::move(r));
    t.children = std::move(kept);
    if ((t.kind == StmtKind::loop || t.kind == StmtKind::branch) && t.children.empty()) return nullptr;
    if (t.kind == StmtKind::loop && t.children[0]->kind == StmtKind::block && t.children[0]->children.empty())
      return nullptr;
    if (t.kind == StmtKind::accumulate && !t.children.empty() && t.children[0]->kind == StmtKind::block &&
        t.children[0]->children.empty())
      t.children.clear();
    for (Expr e : expressionsOf(t)) note(e);
    return std::make_shared<Stmt>(std::move(t));
  }

 private:
  static bool isConstant(Expr e) { return e.kind() == ExprKind::intConstant; }
  static bool isLeaf(Expr e) {
    return isConstant(e) || e.kind() == ExprKind::realConstant || e.kind() == ExprKind::variable ||
           e.kind() == ExprKind::dim;
  }
  // A check inside an accumulate stops the kernel whether its result is read or not.
  static bool mayStop(const Stmt& s) {
    std::vector<const Stmt*> stack{&s};
    while (!stack.empty()) {
      const Stmt* t = stack.back();
      stack.pop_back();
      if (t->kind == StmtKind::check) return true;
      for (const StmtRef& child : t->children) stack.push_back(child.get());
    }
    return false;
  }

  Expr rewrite(Expr e) {
    return c_.substitute(e, [&](Expr x) {
      auto found = values_.find(x.id());
      return found == values_.end() ? Expr() : found->second;
    });
  }

  void note(Expr root) {
    for (Expr e : postorder(std::span(&root, 1)))
      if (e.kind() == ExprKind::variable) read_.insert(e.id());
  }

  LoopContext& c_;
  std::unordered_map<uint32_t, Expr> values_;
  std::unordered_set<uint32_t> read_;
};

}  // namespace

Kernel simplify(const Kernel& kernel) {
  Kernel k = kernel;
  Simplifier s(*k.context);
  StmtRef body = s.forwards(k.body);
  if (body) body = s.backwards(body);
  k.body = body ? body : block({});
  return k;
}

}  // namespace dyn::loop
